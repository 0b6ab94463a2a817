"""Stories of singletons: one run at a time; a call that waits does not poll, is not lost, and runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, current
from sedano.changes.locks import release
from sedano.engine.worker.pipeline import Worker
from sedano.errors import OptionError, RemoteError, TaskRevoked, Unavailable
from sedano.model.messages.message import BlobRef
from sedano.ports import PARKED, Blobs
from tests.stories.processes import COMMANDS, INVOCATION_S, Processes
from tests.stories.stage import QUEUES, Stage, in_memory
from tests.stories.taps import Crash


class Unreachable:
    """Blobs whose first reads find the store away."""

    def __init__(self, blobs: Blobs, reads: int) -> None:
        """Fail the first *reads*."""
        self.put, self._get, self._left = blobs.put, blobs.get, reads

    def get(self, ref: BlobRef) -> bytes:
        """Read, later."""
        self._left -= 1
        if self._left >= 0:
            raise Unavailable("the blob store is away")
        return self._get(ref)


class Shift:
    """An app with one singleton, two workers, and what happened: *inside* is called by the run of number 0 while it runs."""

    def __init__(self, stage: Stage, **options: Any) -> None:
        """Declare the singleton with *options*."""
        self.stage, self.app = stage, Sedano("shift", queues=QUEUES)
        self.ran: list[int] = []
        self.tokens: list[int] = []
        self.running = 0
        self.inside: Callable[[], Any] = lambda: None
        self.only = self.app.task(name="only", retry=False, **{"singleton": True, **options})(self._body)
        self.processes = Processes(stage, self.app)
        self.other = self.processes.another_worker(name="other")

    def _body(self, number: int, key: str = "") -> int:
        self.running += 1
        try:
            self.ran.append(number)
            self.tokens.append(current().token)
            if number == 0:
                self.inside()
            return self.running
        finally:
            self.running -= 1

    def deliver_one(self, worker: Worker) -> int:
        """Deliver one message to *worker* and acknowledge it if it may be; return how many were acknowledged."""
        deliveries = self.stage.ports.queues.receive(COMMANDS, 1)
        given_back = worker.work(deliveries, self.stage.clock.now() + INVOCATION_S)
        done = [delivery for delivery in deliveries if delivery not in given_back]
        if done:
            self.stage.ports.queues.delete(done)
        return len(done)

    def meet(self, second: int = 1, key: str = "") -> Any:
        """Publish number 0 and *second*, and deliver the second to another worker while the first one runs; return the second's result."""
        self.only.delay(0)
        result = self.only.delay(second, key)
        self.inside = lambda: self.deliver_one(self.other)
        self.deliver_one(self.processes.worker)
        return result


def test_the_second_run_waits_as_a_message_and_is_woken_when_the_first_one_ends(stage: Stage) -> None:
    shift = Shift(stage)
    result = shift.meet()
    assert shift.ran == [0]
    assert stage.hidden_for([COMMANDS]) == pytest.approx(0, abs=0.5)
    assert shift.deliver_one(shift.other) == 1
    assert shift.ran == [0, 1]
    assert result.get() == 1
    assert shift.tokens[1] > shift.tokens[0] > 0


def test_who_waits_is_not_seen_again_before_the_first_run_ends_or_its_time_is_over(stage: Stage) -> None:
    shift = Shift(stage)
    hidden = []

    def look() -> None:
        shift.deliver_one(shift.other)
        hidden.append(stage.hidden_for([COMMANDS]))

    shift.only.delay(0)
    shift.only.delay(1)
    shift.inside = look
    shift.deliver_one(shift.processes.worker)
    assert hidden[0] is not None
    assert hidden[0] > INVOCATION_S - 1


def test_of_different_keys_two_may_run_at_a_time(stage: Stage) -> None:
    shift = Shift(stage, singleton="key")
    shift.meet(key="another")
    assert shift.ran == [0, 1]


def test_a_key_may_be_a_function_of_the_arguments(stage: Stage) -> None:
    shift = Shift(stage, singleton=lambda number, key="": number % 2)
    shift.meet(second=2)
    assert shift.ran == [0]
    shift.processes.drain()
    assert shift.ran == [0, 2]


def test_a_key_that_raises_fails_its_task_and_no_other(stage: Stage) -> None:
    shift = Shift(stage, singleton=lambda number, key="": 1 // number)
    bad, good = shift.only.delay(0), shift.only.delay(1)
    shift.processes.drain()
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        bad.get()
    assert good.get() == 1


def test_a_key_that_is_no_value_fails_its_task(stage: Stage) -> None:
    shift = Shift(stage, singleton=lambda number, key="": object())
    result = shift.only.delay(1)
    shift.processes.drain()
    with pytest.raises(RemoteError, match="Unserialisable"):
        result.get()
    assert shift.ran == []


def test_arguments_that_are_out_of_reach_are_no_reason_to_run_without_the_lease(stage: Stage) -> None:
    shift = Shift(stage, singleton="key")
    result = shift.only.delay(1, "x" * 70_000)
    (delivery,) = stage.ports.queues.receive(COMMANDS, 1)
    blobs, ports = stage.ports.blobs, stage.ports
    for broken in (1, 0):
        worker = shift.processes.another_worker(replace(ports, blobs=Unreachable(blobs, broken)))
        assert worker.work([delivery], stage.clock.now() + INVOCATION_S) == []
        assert (len(stage.peek(COMMANDS)), shift.ran) == ((2, []) if broken else (2, [1]))
    assert result.get() == 1


def test_a_singleton_that_is_dropped_ends_as_revoked(stage: Stage) -> None:
    shift = Shift(stage, on_busy="drop")
    result = shift.meet()
    shift.processes.drain()
    assert shift.ran == [0]
    with pytest.raises(TaskRevoked):
        result.get()
    assert stage.peek(PARKED) == []
    counted = {name: stage.telemetry.counted(name, task="only") for name in ("SingletonsDropped", "TasksExpired", "TasksRevoked")}
    assert counted == {"SingletonsDropped": 1, "TasksExpired": 0, "TasksRevoked": 0}


def test_a_singleton_that_raises_fails_with_the_name_of_who_runs(stage: Stage) -> None:
    shift = Shift(stage, on_busy="raise")
    result = shift.meet()
    shift.processes.drain()
    with pytest.raises(RemoteError, match=r"SingletonBusy.*is held by only"):
        result.get()


@pytest.mark.parametrize("on_busy", ["wait", "drop", "raise"])
def test_a_run_that_died_runs_again_and_is_not_in_its_own_way(stage: Stage, on_busy: str) -> None:
    shift = Shift(stage, on_busy=on_busy)
    result = shift.only.delay(0)

    def die() -> None:
        shift.inside = lambda: None
        raise Crash

    shift.inside = die
    with pytest.raises(Crash):
        shift.deliver_one(shift.processes.worker)
    shift.processes.restart()
    stage.pass_time(INVOCATION_S + 1.1)
    shift.processes.drain()
    assert shift.ran == [0, 0]
    assert result.get() == 1


def test_whoever_waits_for_a_run_that_died_runs_when_its_time_is_over(stage: Stage) -> None:
    shift = Shift(stage)
    shift.only.delay(0)
    shift.only.delay(1)
    begun = stage.clock.now()

    def die() -> None:
        shift.inside = lambda: None
        shift.deliver_one(shift.other)
        raise Crash

    shift.inside = die
    with pytest.raises(Crash):
        shift.deliver_one(shift.processes.worker)
    while 1 not in shift.ran:
        stage.pass_time(1)
        shift.deliver_one(shift.other)
    assert INVOCATION_S < stage.clock.now() - begun <= INVOCATION_S + 6


def test_a_run_that_died_is_released_by_a_person_and_the_next_one_runs_at_once(stage: Stage) -> None:
    shift = Shift(stage)
    shift.only.delay(0)
    shift.only.delay(1)

    def die() -> None:
        shift.inside = lambda: None
        shift.deliver_one(shift.other)
        raise Crash

    shift.inside = die
    with pytest.raises(Crash):
        shift.deliver_one(shift.processes.worker)
    plan = release(shift.app, "singleton/only/", shift.tokens[0])
    assert "1 message waits for it" in plan.lines[1]
    assert plan.make().left == ()
    assert shift.deliver_one(shift.other) == 1
    assert shift.ran == [0, 1]
    assert shift.tokens[1] > shift.tokens[0]
    assert "is free" in release(shift.app, "singleton/only/", shift.tokens[0]).hindrance


def test_many_that_come_at_once_all_run_one_after_the_other(stage: Stage) -> None:
    shift = Shift(stage)
    results = [shift.only.delay(number) for number in range(1, 16)]
    shift.processes.drain()
    assert sorted(shift.ran) == list(range(1, 16))
    assert [result.get() for result in results] == [1] * 15
    assert shift.tokens == sorted(set(shift.tokens))
    assert stage.peek(PARKED) == []


def test_a_long_line_moves_on_though_only_ten_can_be_woken() -> None:
    stage = in_memory()
    shift = Shift(stage)
    shift.processes.invocation = 900.0
    for _ in range(60):
        shift.only.delay(0)
    shift.inside = lambda: stage.pass_time(1)
    begun = stage.clock.now()
    shift.processes.drain()
    assert len(shift.ran) == 60
    assert stage.clock.now() - begun < 240
    assert stage.peek(PARKED) == []


def test_a_line_longer_than_an_invocation_loses_nobody_to_the_limit_of_receives() -> None:
    stage = in_memory()
    shift = Shift(stage)
    for _ in range(40):
        shift.only.delay(0)

    def meanwhile() -> None:
        for _ in range(5):
            stage.pass_time(5)
            while shift.deliver_one(shift.other) or stage.hidden_for([COMMANDS]) == 0:
                pass

    shift.inside = meanwhile
    shift.processes.drain()
    assert len(shift.ran) == 40
    assert stage.peek(PARKED) == []


def test_a_failed_run_gives_way_to_the_next(stage: Stage) -> None:
    shift = Shift(stage)
    shift.inside = lambda: 1 // 0
    shift.only.delay(0)
    shift.only.delay(1)
    shift.processes.drain()
    assert sorted(shift.ran) == [0, 1]


@pytest.mark.parametrize(
    "options",
    [{"singleton": True, "on_busy": "queue"}, {"singleton": "nothing"}, {"singleton": True, "delivery": "at_least_once"}],
    ids=["on_busy", "parameter", "delivery"],
)
def test_an_option_without_a_meaning_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"on_busy|singleton"):
        Sedano("x").task(name="t", **options)(lambda a: a)
