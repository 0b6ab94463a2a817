"""An exception that no rule foresaw costs one message, which is set aside as `unexpected`; nothing is lost and nothing is doubled.

Each story breaks one call of a port with an exception that is none of sedano's, as a defect or a page of HTML instead of an answer would.
"""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from sedano import Sedano, every, testing
from sedano.engine.batch import Batch, Job
from sedano.engine.redelivery import rounds
from sedano.engine.schedules.scheduler import Scheduler
from sedano.engine.worker.follow_ups import Due, Following
from sedano.engine.worker.pipeline import Worker
from sedano.errors import SedanoError
from sedano.host.sources import reading
from sedano.memory.stream_records import table_record
from sedano.model.messages.lamport import LamportClock
from sedano.ports import PARKED, Delivery, Outgoing
from tests.stories.forge import SECRET, closed, github
from tests.stories.kept import assert_effects
from tests.stories.mutants import following
from tests.stories.opening import opened_depot, opened_forge
from tests.stories.processes import Mutation, untouched
from tests.stories.scenarios import SCENARIOS, Scenario
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Side, Watch, tapped
from tests.stories.test_crash import calls_of

FEED = ("queues.receive", "queues.delete")
"""What the event source mapping calls, not an engine."""
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])


def unforeseen() -> BaseException:
    """What no rule expects; its text must not be seen anywhere."""
    return RuntimeError("a secret of 4711")


def redrive(stage: Stage) -> int:
    """Send what was set aside as unexpected to where it came from, as an operator does when the cause is mended."""
    parked = stage.ports.queues.receive(PARKED)
    again = [one for one in parked if one.attributes["reason"] == "unexpected"]
    for one in again:
        stage.ports.queues.send(one.attributes["queue"], [Outgoing(one.body)])
    stage.ports.queues.delete(again)
    for one in parked:
        stage.ports.queues.hold(one, 0.0)
    return len(again)


def surprise(scenario: Scenario, at: int, side: Side, mutate: Mutation = untouched) -> Stage:
    """Walk the scenario with an unforeseen exception at one call, send again what was set aside for it, and check what was kept."""
    stage, watch = in_memory(), Watch(at, side, unforeseen, OUTSIDE)
    _, processes = scenario.begin(stage)
    processes.mutate = mutate
    processes.restart(tapped(stage.ports, watch))
    processes.drain()
    processes.mutate = untouched
    assert watch.fired
    for _ in range(10):
        if not redrive(stage):
            break
        processes.recover()
    assert_effects(stage, scenario.effects, scenario.parked)
    return stage


@every_scenario
def test_an_unforeseen_exception_at_any_call_leaves_no_engine_and_loses_and_doubles_nothing(scenario: Scenario) -> None:
    calls = calls_of(scenario, in_memory(), OUTSIDE)
    for at, call in enumerate(calls):
        if call in FEED:
            continue
        for side in SIDES:
            try:
                stage = surprise(scenario, at, side)
            except Exception as broken:
                raise AssertionError(f"raised {side} call {at}, {call}: {type(broken).__name__}: {broken}") from broken
            assert stage.telemetry.counted("UnexpectedErrors") >= 1, f"{side} {call} was not counted"
            assert "4711" not in repr(stage.telemetry.lines), "an exception's text is a value"


class SendsTogether(Following):
    """Lets an exception of one message's follow-ups through."""

    def _sent_apart(self, due: Due, batch: Batch) -> dict[str, SedanoError]:
        return self._sent(due, batch)


def uncontained(worker: Worker) -> None:
    """Take the last resort out of a worker's walk."""
    following(SendsTogether)(worker)

    def walk_all(deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> None:
        for together in rounds(jobs):
            worker._walk(together, batch)

    def leave(jobs: Sequence[Job], answer: SedanoError, batch: Batch) -> None:
        raise answer

    worker._walk_all, worker._return = walk_all, leave  # type: ignore[method-assign]


def hidden(worker: Worker) -> None:
    """Let a worker take what was not contained for done."""
    worker._return = lambda jobs, answer, batch: None  # type: ignore[method-assign]
    following(SendsTogether)(worker)


@pytest.mark.parametrize("mutate", [uncontained, hidden])
def test_a_worker_without_the_last_resort_is_found_out(mutate: Mutation) -> None:
    """Without it the exception is logged for the whole batch at best, and what was to follow is lost."""
    (scenario,) = (one for one in SCENARIOS if one.name == "chord")
    calls = calls_of(scenario, in_memory(), OUTSIDE)
    sends = [at for at, call in enumerate(calls) if call == "queues.send"]
    assert any(_fails(scenario, at, mutate) for at in sends)


def _fails(scenario: Scenario, at: int, mutate: Mutation) -> bool:
    try:
        stage = surprise(scenario, at, "before", mutate)
    except (AssertionError, RuntimeError, SedanoError):
        return True
    return not stage.telemetry.counted("UnexpectedErrors")


def test_an_exception_beside_a_schedule_leaves_no_scheduler_and_each_occurrence_runs_once() -> None:
    ports = OUTSIDE | {"schedules"}
    for at in range(30):
        app, ran = Sedano("rounds"), dict[str, list[float]](one=[], two=[])

        def note(name: str, ran: dict[str, list[float]] = ran) -> None:
            ran[name].append(round(world.clock.now()))

        for name in ran:
            app.periodic(every(60), schedule=name, args=(name,))(app.task(name=name)(note))
        with testing.world(app) as world:
            watch = Watch(at, "before", unforeseen, ports)
            world.scheduler = Scheduler(tapped(world.ports, watch), LamportClock(lambda now=world.clock.now: int(now() * 1e6)), "s")
            try:
                world.elapse(300.0)
            except RuntimeError:  # where nothing can be read the round fails, and the next one does it all
                assert watch.calls[-1] == "schedules.read", watch.calls[-1]
            world.elapse(300.0)
            for name, moments in ran.items():
                assert len(moments) >= 5, (at, name, watch.calls[at : at + 1])
                assert [later - one for one, later in pairwise(moments)] == [60] * (len(moments) - 1), (at, name, watch.calls[at : at + 1])


def test_an_exception_beside_a_record_leaves_no_stream_and_its_neighbours_are_called() -> None:
    with opened_depot() as world:
        watch = Watch(0, "before", unforeseen, frozenset({"queues"}), times=2)
        world.app.attach(tapped(world.ports, watch))
        records = [table_record(n, world.clock.now(), {"id": n}, {"id": n, "step": n}, None) for n in range(1, 6)]
        assert reading(world.app).take("orders", records, world.clock.now() + 900) == 5
        world.drain()
        parked = [one.attributes["reason"] for one in world.parked()]
        assert watch.fired
        assert set(parked) == {"unexpected"}
        assert len(parked) == 1
        assert world.telemetry.counted("UnexpectedErrors") >= 1


def test_an_exception_beside_a_signed_request_sets_it_aside_and_the_sender_is_answered() -> None:
    with opened_forge() as world:
        world.app.attach(tapped(world.ports, Watch(0, "before", unforeseen, frozenset({"queues"}))))
        body = closed(5)
        answer = world.post("/github", body, github(body, "72d3162e", SECRET))
        assert answer.status == 202
        assert [one.attributes["reason"] for one in world.parked()] == ["unexpected"]
        assert world.telemetry.counted("UnexpectedErrors") == 1
