"""A workflow's run survives a process that dies at any call, messages that come twice, and services that are away."""

import random

import pytest

from sedano.model import states
from sedano.ports import Outgoing
from sedano.workflow import FlowResult
from tests.stories.conftest import Stages
from tests.stories.kept import assert_effects, assert_history_tells_what_the_ledger_holds
from tests.stories.processes import WORKED, Processes
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Crash, Watch, away, tapped
from tests.stories.test_workflows import UNDONE, WHOLE
from tests.stories.workshop import Workshop

STORIES = {"that succeeds": (set[str](), WHOLE, "SUCCEEDED"), "that fails": ({"ship"}, UNDONE, "FAILED")}
READS = ("read", "get", "receive", "read_join")
"""After a call that leaves nothing behind is before the next one."""
STORES = frozenset({"ledger", "flow_runs", "blobs"})
every_story = pytest.mark.parametrize("story", STORIES)


@pytest.fixture(autouse=True)
def _known() -> None:
    """Have this process know the definition, as every worker does but for its first look at one: then each walk makes the same calls."""
    _, processes = begun(in_memory(), "that succeeds", Watch(ports=frozenset()))
    processes.drain()


def begun(stage: Stage, story: str, watch: Watch) -> tuple[FlowResult, Processes]:
    """Begin a run on *stage* whose processes are watched."""
    workshop = Workshop()
    workshop.broken = STORIES[story][0]
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    ports = tapped(stage.ports, watch)
    workshop.app.attach(ports)
    processes.restart(ports)
    return result, processes


def ended(stage: Stage, story: str, result: FlowResult) -> None:
    """Assert that the run ended as it has to, each effect once."""
    _, effects, state = STORIES[story]
    patrol = ("sedano.workflow.patrol", states.SUCCESS)
    looked = stage.audit.effects()[patrol]  # as often as the time that passed asks for
    assert looked >= 1
    assert_effects(stage, {**effects, patrol: looked})
    assert result.state == state


def recovered(stage: Stage, processes: Processes) -> None:
    """New processes take over, over ports that nothing watches."""
    processes.app.attach(stage.ports)
    processes.recover()


@every_story
def test_a_crash_at_any_call_loses_nothing_and_doubles_nothing(story: str) -> None:
    stage, watch = in_memory(), Watch(ports=OUTSIDE)
    result, processes = begun(stage, story, watch)
    processes.drain()
    calls = watch.calls[:]
    ended(stage, story, result)
    assert_history_tells_what_the_ledger_holds(stage)
    assert len(calls) > 60
    for at, call in enumerate(calls):
        for side in SIDES if call.rpartition(".")[2] not in READS else SIDES[:1]:
            stage, watched = in_memory(), Watch(at, side, ports=OUTSIDE)
            result, processes = begun(stage, story, watched)
            with pytest.raises(Crash):
                processes.drain()
            recovered(stage, processes)
            try:
                ended(stage, story, result)
            except AssertionError as broken:
                raise AssertionError(f"crashed {side} call {at}, {call}: {broken}") from broken


@every_story
def test_a_service_that_is_away_for_a_while_delays_and_changes_nothing(story: str) -> None:
    watch = Watch(ports=STORES)
    _, processes = begun(in_memory(), story, watch)
    processes.drain()
    assert len(watch.calls) > 30
    for at in range(0, len(watch.calls), 3):
        stage, watched = in_memory(), Watch(at, "before", away, STORES, times=2)
        result, processes = begun(stage, story, watched)
        processes.drain()
        ended(stage, story, result)


@pytest.mark.parametrize("seed", range(20))
@every_story
def test_messages_that_come_twice_and_in_any_order_change_nothing(story: str, seed: int) -> None:
    dice, stage = random.Random(seed), in_memory()
    result, processes = begun(stage, story, Watch(ports=frozenset()))
    for _ in range(600):
        for queue in WORKED:
            bodies = [message.body for message in stage.peek(queue)]
            copies = [Outgoing(body) for body in bodies if dice.random() < 0.15]
            if copies:
                stage.ports.queues.send(queue, copies)
        if not processes.step():
            break
    processes.drain()
    ended(stage, story, result)


@every_story
def test_a_crash_after_any_write_to_aws_loses_nothing_and_doubles_nothing(story: str, moto_stages: Stages) -> None:
    watch = Watch(ports=OUTSIDE)
    with moto_stages() as stage:
        result, processes = begun(stage, story, watch)
        processes.drain()
        ended(stage, story, result)
    points = [at for at, call in enumerate(watch.calls) if call.startswith("flow_runs.") and "read" not in call]
    points += [at for at, call in enumerate(watch.calls) if call in ("queues.send", "ledger.record")][::5]
    assert len(points) > 8
    for at in points:
        with moto_stages() as stage:
            result, processes = begun(stage, story, Watch(at, "after", ports=OUTSIDE))
            with pytest.raises(Crash):
                processes.drain()
            recovered(stage, processes)
            ended(stage, story, result)


def test_two_workers_at_once_direct_one_run_as_one_would() -> None:
    for seed in range(10):
        dice, stage = random.Random(seed), in_memory()
        result, processes = begun(stage, "that fails", Watch(ports=frozenset()))
        workers = [processes.worker, processes.another_worker(name="other")]
        while True:
            found = [stage.ports.queues.receive(queue, most=1) for queue in WORKED[:2]]
            if not any(found):
                break
            for deliveries in found:
                back = {d.message_id for d in dice.choice(workers).work(deliveries, stage.clock.now() + 30)} if deliveries else set()
                stage.ports.queues.delete([d for d in deliveries if d.message_id not in back])
        processes.drain()
        ended(stage, "that fails", result)
