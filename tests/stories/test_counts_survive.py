"""What rings an alarm when workers die is counted although the one that counts may die as well, before or after any call of a port."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import states
from sedano.model.ledger.records import Claim, ClaimAnswer, Outcome, RecordAnswer, TaskRecord
from sedano.ports import Ports
from tests.stories.mutants import Delegating
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, tapped
from tests.stories.workshop import Killed

SETTINGS = WorkerSettings(lanes=0, poison_after=3)
MOST_DEATHS = 12
WATCHED = OUTSIDE | {"telemetry"}
POISONS = ("kills", "kills-too")


class Happened(Delegating):
    """Stands closest to the ledger and counts what really happened there, whether or not anybody lives to learn of it."""

    def __init__(self, inner: object, stage: Stage) -> None:
        """Watch *inner*."""
        super().__init__(inner)
        self.seen: Counter[str] = Counter()
        self._stage = stage

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Steal, and count it when it was granted."""
        answer: ClaimAnswer = self.inner.steal(claim, seen)
        self.seen["ClaimsStolen"] += answer.granted
        return answer

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record, and count each poison that was accepted."""
        return self._counted(self.inner.record(outcomes))

    def keep(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Keep, and count each poison that was accepted."""
        return self._counted(self.inner.keep(outcomes))

    def _counted(self, answers: list[RecordAnswer]) -> list[RecordAnswer]:
        self.seen["TasksPoisoned"] = sum(end.state == states.POISON for end in self._stage.audit.ends)
        return answers


def deadly(delivery: str) -> tuple[Stage, Processes, Happened]:
    """A stage with two tasks that kill whoever runs them, and one that does no harm."""
    stage, shop = in_memory(), Shop()

    def kill() -> None:
        raise Killed

    for name in POISONS:
        shop.task(name, kill, delivery=delivery)
    processes = Processes(stage, shop.app, SETTINGS)
    shop.together([*map(shop.app_sig, POISONS), shop.add.s(1, 1)])
    return stage, processes, Happened(stage.ports.ledger, stage)


def survive(processes: Processes, ports: Ports) -> int:
    """Replace each worker that dies until the queues are empty; return how many did."""
    for deaths in range(MOST_DEATHS):
        processes.restart(ports)
        try:
            processes.drain()
        except (Killed, Crash):
            continue
        return deaths
    raise AssertionError("a poison must be set aside at last")


def walked(delivery: str, at: int = -1, side: Side = "before") -> tuple[Watch, Stage, Happened]:
    """Let the poisons kill until they are set aside; one worker dies at call *at* as well."""
    stage, processes, happened = deadly(delivery)
    watch = Watch(at, side, ports=WATCHED)
    survive(processes, tapped(replace(stage.ports, ledger=happened), watch))
    return watch, stage, happened


@pytest.mark.parametrize("delivery", ["claimed", "record_once"])
def test_poisons_and_take_overs_are_counted_once_each(delivery: str) -> None:
    _, stage, happened = walked(delivery)
    assert happened.seen == {"ClaimsStolen": 7 if delivery == "claimed" else 1, "TasksPoisoned": 2}, "one is of the harmless task"
    assert {metric: stage.telemetry.counted(metric) for metric in happened.seen} == happened.seen


@pytest.mark.parametrize("delivery", ["claimed", "record_once"])
def test_no_death_of_the_worker_that_counts_loses_a_count(delivery: str) -> None:
    watch, *_ = walked(delivery)
    for at, call in enumerate(watch.calls):
        for side in SIDES:
            killed, stage, happened = walked(delivery, at, side)
            assert killed.fired
            assert happened.seen["TasksPoisoned"] == 2
            for metric, number in happened.seen.items():
                assert stage.telemetry.counted(metric) >= number, f"{metric}: died {side} call {at}, {call}"
