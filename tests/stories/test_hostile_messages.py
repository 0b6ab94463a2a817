"""Whatever a message says, its neighbours run: it is set aside alone, at a cost that its size bounds, and counted under names from code."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, testing
from sedano.engine.canvas.chord_results import Gathering
from sedano.engine.canvas.continuation import MOST_PARTS
from sedano.engine.canvas.page_cache import Plans
from sedano.engine.worker.pipeline import Worker
from sedano.model import states
from sedano.model.canvas.page_reader import PAGE_MEMBERS
from sedano.model.limits.task_limits import QUIET, SLOT
from sedano.ports import PARKED, Outgoing, command_queue
from tests.stories.hostile import EVERY, LAUNCHED, Hostile, command, planned
from tests.stories.kept import assert_effects, succeeded
from tests.stories.mutants import Delegating
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import in_memory

GOOD = 200
every_kind = pytest.mark.parametrize("hostile", EVERY, ids=[one.name[:60] for one in EVERY])


@every_kind
def test_a_hostile_message_is_set_aside_with_its_reason_and_its_nine_neighbours_run_in_the_same_batch(hostile: Hostile) -> None:
    shop, stage = Shop(), in_memory()
    processes = Processes(stage, shop.app)
    stage.ports.queues.send(COMMANDS, [hostile.message])
    shop.together(shop.add.s(n, n) for n in range(9))
    assert len(processes.deliver()) == 10
    assert shop.ran["add"] == 9, "a neighbour did not run"
    processes.drain()
    (parked,) = stage.peek(PARKED)
    assert parked.attributes["reason"] == hostile.reason, dict(parked.attributes)
    assert parked.body == hostile.message.body
    assert stage.telemetry.counted("UnexpectedErrors") == 0, "a parser let it through to the last resort"
    assert stage.telemetry.counted("MessagesParked", reason=hostile.reason) == 1
    assert shop.ran["add"] == 9


def test_two_hundred_good_messages_run_beside_fifty_hostile_ones() -> None:
    shop, stage = Shop(), in_memory()
    processes = Processes(stage, shop.app)
    assert len(EVERY) >= 50
    for n in range(GOOD):
        shop.add.delay(n, n)
        if n % 4 == 0:
            stage.ports.queues.send(COMMANDS, [EVERY[n // 4].message])
    processes.drain()
    sent = EVERY[: GOOD // 4]
    assert shop.ran["add"] == GOOD
    assert stage.audit.effects()["add", states.SUCCESS] == GOOD
    assert stage.dead() == []
    assert Counter(m.attributes["reason"] for m in stage.peek(PARKED)) == Counter(one.reason for one in sent)
    assert stage.telemetry.counted("MessagesParked") == len(sent)
    assert stage.telemetry.counted("UnexpectedErrors") == 0


def test_metrics_are_counted_under_names_from_the_registry_whatever_a_message_says() -> None:
    """Duplicates too: a metric a name costs money, and messages could make any number."""
    shop, stage = Shop(), in_memory()
    processes = Processes(stage, shop.app)
    for n in range(5):
        body = command(n, subject=f"nobody-{n}")
        stage.ports.queues.send(COMMANDS, [Outgoing(body), Outgoing(body)])
        known = command(100 + n)
        stage.ports.queues.send(COMMANDS, [Outgoing(known), Outgoing(known)])
    processes.drain()
    for n in range(5):  # a copy by its id, whatever task it names
        stage.ports.queues.send(COMMANDS, [Outgoing(command(100 + n, subject=f"nobody-{n}"))])
    processes.drain()
    values = {value for (_, dimensions) in stage.telemetry._counts for name, value in dimensions if name == "task"}
    assert values <= {*shop.app.registry.tasks, "unknown"}
    assert stage.telemetry.counted("Duplicates", task="add") == 5
    assert stage.telemetry.counted("Duplicates", task="unknown") == 5


def limited() -> tuple[Sedano, list[int]]:
    """An app with a task of each kind of limit."""
    app, ran = Sedano("limited"), list[int]()
    app.task(name="paced", rate="100/s")(ran.append)
    app.task(name="quiet", debounce=1.0)(ran.append)
    return app, ran


SLOTS = ["9" * 18 + "/0/10000x1", "9" * 18 + "/999/10000x1", "²/0/10000x1", "1/²/10000x1", "-1/0/10000x1", "/", "//", "1e9/0/10000x1"]


@pytest.mark.parametrize("slot", SLOTS)
def test_a_hostile_slot_is_no_slot_and_the_task_takes_a_ticket(slot: str) -> None:
    app, ran = limited()
    with testing.world(app) as world:
        body = command(1, subject="paced", data={"args": [7]})
        world.queues.send(command_queue("default"), [Outgoing(body, attributes={SLOT: slot})])
        world.drain()
        assert ran == [7]
        assert world.telemetry.counted("UnexpectedErrors") == 0


@pytest.mark.parametrize("since", ["9" * 18, "²", "-1", "1e9"])
def test_a_hostile_mark_of_quiet_is_none_and_the_task_waits_for_quiet(since: str) -> None:
    app, ran = limited()
    with testing.world(app) as world:
        body = command(1, subject="quiet", data={"args": [7]})
        world.queues.send(command_queue("default"), [Outgoing(body, attributes={QUIET: since})])
        world.drain()
        assert ran == [7]
        assert world.telemetry.counted("UnexpectedErrors") == 0


DAMAGED = [
    "{", "[]", "5", '{"paces":5}', '{"paces":[[1]]}', '{"paces":[[0,1]]}', '{"paces":[["a","b"]]}', '{"concurrency":"many"}',
    '{"concurrency":-2}', '{"concurrency":true}', '{"time":5}', '{"time":[1]}', '{"time":["a",null]}', '{"time":[NaN,null]}', "[" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_text_of_limits_is_refused_and_counted_and_the_last_good_one_holds(text: str) -> None:
    app, starts = Sedano("limits"), list[float]()

    @app.task(name="send")
    def send() -> None:
        starts.append(world.clock.now())

    with testing.world(app) as world:
        app.control.rate_limit("send", "1/m")
        _two(world, send)
        assert starts[1] - starts[0] >= 60
        record = world.ports.control.read()
        damaged = record._replace(limits={"send": text}, nonce="damaged")
        assert world.ports.control.change(damaged, record).done
        world.elapse(120.0)
        starts.clear()
        _two(world, send)
        assert starts[1] - starts[0] >= 60, "the last limit that could be read does not hold any more"
        assert world.telemetry.counted("LimitsRefused") == 1
        app.control.rate_limit("send", None)
        assert world.ports.control.read().limits["send"] != text, "an operator can replace it"


def _two(world: Any, task: Any) -> None:
    task.delay()
    task.delay()
    world.drain()


def test_a_worker_that_never_read_good_limits_runs_a_task_as_it_was_declared() -> None:
    app, ran = Sedano("limits"), list[int]()
    send: Any = app.task(name="send")(ran.append)
    with testing.world(app) as world:
        record = world.ports.control.read()
        assert world.ports.control.change(record._replace(limits={"send": "{", "other": '{"paces":[[0,0]]}'}, nonce="n"), record).done
        send.delay(1)
        world.drain()
        assert ran == [1]
        assert world.telemetry.counted("LimitsRefused") == 2


def test_nothing_hostile_leaves_an_effect() -> None:
    shop, stage = Shop(), in_memory()
    processes = Processes(stage, shop.app)
    stage.ports.queues.send(COMMANDS, [one.message for one in EVERY if one.reason != "schema"])
    shop.add.delay(1, 2)
    processes.drain()
    assert_effects(stage, succeeded(add=1), ("malformed", "too-deep"))


class Counting(Delegating):
    """Counts what is read and written for one delivery."""

    def __init__(self, inner: Any) -> None:
        """Count from zero."""
        super().__init__(inner)
        self.ids = 0

    def read(self, task_ids: Any) -> Any:
        """Count the ids."""
        self.ids += len(task_ids)
        return self.inner.read(task_ids)

    def keep(self, outcomes: Any) -> Any:
        """Count the ends."""
        self.ids += len(outcomes)
        return self.inner.keep(outcomes)


LOST = "blob:" + "0" * 64 + ":5"
COSTLY = [
    Hostile("the ends of a million members of a lost page", Outgoing(planned(1, LOST, "0.pages.1000000", **LAUNCHED)), "blob"),
    Hostile("with a budget for all", Outgoing(planned(2, LOST, "0.pages.1000000", budget=2**31 - 1, **LAUNCHED)), "blob"),
    Hostile(
        "in a join that was not opened", Outgoing(planned(3, LOST, "0.pages.1000000", joinid="j", joinindex=0, joinsize=10**6, **LAUNCHED)),
        "blob",
    ),
]  # fmt: skip


@pytest.mark.parametrize("hostile", [*EVERY, *COSTLY], ids=[one.name[:60] for one in [*EVERY, *COSTLY]])
def test_a_delivery_reads_and_sends_no_more_than_a_page_whatever_its_message_says(hostile: Hostile) -> None:
    """149 bytes once made a million ids and as many reads: 8 s of CPU and 718 MB."""
    shop, stage = Shop(), in_memory()
    counting = Counting(stage.ports.ledger)
    stage.ports = replace(stage.ports, ledger=counting)
    processes = Processes(stage, shop.app)
    stage.ports.queues.send(COMMANDS, [hostile.message])
    processes.deliver()
    assert counting.ids <= 2 * PAGE_MEMBERS
    assert len(stage.peek(COMMANDS)) <= MOST_PARTS + 1


class LoadsUnchecked(Plans):
    """Reads pages as any JSON."""

    def load(self, name: str) -> Any:
        """Return whatever stands there."""
        return json.loads(name)


class BelievesSizes(Gathering):
    """Takes the size that a message says for the stored one."""

    def is_open(self, join_id: str, size: int) -> bool:
        """Believe it."""
        return True


def _preparing(worker: Worker, conducting: Any) -> None:
    preparation = worker._execution.preparation._replace(conducting=conducting)
    worker._execution = worker._execution._replace(preparation=preparation)


def loading_unchecked(worker: Worker) -> None:
    """Let a worker read pages as any JSON."""
    conducting = replace(worker._following.conducting, plans=LoadsUnchecked(worker.ports.blobs))
    worker._following = replace(worker._following, conducting=conducting)
    _preparing(worker, conducting)


def believing(worker: Worker) -> None:
    """Let a worker believe the sizes of gatherings."""
    conducting = replace(worker._following.conducting, gathering=BelievesSizes(worker.ports))
    _preparing(worker, conducting)


def outcome_of(hostile: Hostile, mutate: Any) -> list[str]:
    """Return with which reasons *hostile* is set aside by a mutant."""
    shop, stage = Shop(), in_memory()
    processes = Processes(stage, shop.app, mutate=mutate)
    stage.ports.queues.send(COMMANDS, [hostile.message])
    processes.drain()
    return [one.attributes["reason"] for one in stage.peek(PARKED)]


@pytest.mark.parametrize(("mutate", "least"), [(loading_unchecked, 10), (believing, 1)])
def test_a_worker_without_a_parser_is_found_out(mutate: Any, least: int) -> None:
    assert sum(outcome_of(one, mutate) != [one.reason] for one in EVERY) >= least
