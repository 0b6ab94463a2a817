"""Stories of inline links and time: each link that begins has the time that it needs, and a chain holds up nothing else for long."""

import json
from collections.abc import Sequence
from contextvars import Context
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sedano import chain
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import states
from sedano.model.inline_links import MOST_S, TELL_S
from sedano.ports import RECORDS, Outgoing
from sedano.ports.limits import Limits
from tests.stories.chained import OFF, Line
from tests.stories.mutants import Delegating
from tests.stories.processes import COMMANDS, INVOCATION_S
from tests.stories.taps import Crash
from tests.stories.test_extended_claims import VISIBILITY, Hosts

ON = WorkerSettings(lanes=0)


class SlowPermits(Delegating):
    """Limits whose permits take *seconds* to give back."""

    def __init__(self, inner: Limits, line: Line, seconds: float) -> None:
        """Pass the time of *line*."""
        super().__init__(inner)
        self._line, self._seconds = line, seconds

    def give_back(self, *arguments: object) -> object:
        """Give back slowly."""
        self._line.stage.pass_time(self._seconds)
        return self.inner.give_back(*arguments)


class RefusesHistory(Delegating):
    """Queues whose first message of the history raises an error that no rule foresees."""

    raised = False

    def send(self, queue: str, messages: Sequence[Outgoing]) -> object:
        """Raise once."""
        if queue == RECORDS and not self.raised:
            self.raised = True
            raise RuntimeError("a malformed answer")
        return self.inner.send(queue, messages)


class CannotFlush(Delegating):
    """Telemetry whose first flush raises."""

    raised = False

    def flush(self) -> None:
        """Raise once."""
        if not self.raised:
            self.raised = True
            raise RuntimeError("no room for the log")
        self.inner.flush()


def rows(line: Line) -> int:
    """How many runs are in the history."""
    return sum(len(json.loads(message.body)["rows"]) for message in line.stage.peek(RECORDS))


def test_a_link_whose_limit_no_longer_fits_when_it_is_taken_is_sent() -> None:
    line, limit = Line(1), 20.0
    first = line.shop.task("first", lambda: line.stage.pass_time(INVOCATION_S - ON.guard - limit - 0.02) or 1, concurrency=5)
    second = line.shop.task("second", lambda before: before + 1, time_limit=limit)
    line.processes.restart(replace(line.stage.ports, limits=SlowPermits(line.stage.ports.limits, line, 0.05)))
    result = chain(first.s(), second.s()).delay()
    line.processes.deliver()
    assert (line.shop.ran["first"], line.shop.ran["second"], len(line.stage.peek(COMMANDS))) == (1, 0, 1)
    assert line.stage.audit.writes["record"] == 2, "the claim of the link that did not begin is released"
    line.processes.drain()
    assert (result.get(timeout=1), line.shop.ran["second"]) == (2, 1)


def test_a_message_whose_limit_never_fits_still_fails() -> None:
    line = Line(1)
    second = line.shop.task("second", lambda before: before + 1, time_limit=INVOCATION_S)
    result = chain(line.step.s(0, 0), second.s()).delay()
    line.processes.drain()
    assert (result.state, line.shop.ran["second"]) == (states.FAILURE, 0)
    with pytest.raises(Exception, match="OptionError"):
        result.get(timeout=1)


@pytest.mark.parametrize("settings", [ON, OFF])
def test_a_body_that_nearly_fills_an_invocation_runs_once_after_another_one(settings: WorkerSettings) -> None:
    """Lambda ends an environment whose time is over: a link that began too late would be killed, and run twice."""
    line = Line(2, settings)
    took, ends = {0: 12.0, 1: 27.0}, [0.0]

    def during(number: int) -> None:
        left = ends[0] - line.stage.clock.now()
        line.stage.pass_time(min(took[number], left))
        if took[number] > left:
            raise Crash

    line.during = during
    result = line.delay()
    while result.state != states.SUCCESS:
        ends[0] = line.stage.clock.now() + INVOCATION_S
        assert line.processes.deliver()
    assert line.bodies == {0: 1, 1: 1}


@pytest.mark.parametrize("by_call", [False, True])
@pytest.mark.parametrize(("over", "inline"), [(0.0, 1), (0.1, 0)])
def test_a_link_with_a_limit_may_use_the_time_that_is_left(by_call: bool, over: float, inline: int) -> None:
    line, limit = Line(1), INVOCATION_S - 9.0 - ON.guard + over
    slow = line.shop.task("slow", lambda: line.stage.pass_time(9.0) or 1)
    timed = line.shop.task("timed", lambda before: before + 1, time_limit=25.0 if by_call else limit)
    chain(slow.s(), timed.s().set(time_limit=limit) if by_call else timed.s()).delay()
    line.processes.deliver()
    assert (line.shop.ran["slow"], line.shop.ran["timed"]) == (1, inline)


def test_where_claims_are_extended_each_link_has_a_whole_deadline() -> None:
    """`--timeout 40` means that a body may take 40 s: also one that begins 19 s after its carrier."""
    hosts = Hosts(workers=6, lasts=40.0)
    result = chain(hosts.long.s("a", 19.0), hosts.long.s(36.0)).delay()
    hosts.rest()
    assert (hosts.began, len(hosts.received), result.state) == (["a"] * 2, 1, states.SUCCESS)


def test_where_claims_are_extended_a_link_that_hangs_is_taken_over_after_its_own_deadline() -> None:
    hosts, began = Hosts(workers=6, lasts=20.0), list[float]()
    hosts.during = lambda passed: began.append(hosts.ports.clock.now()) if passed == 0.0 else None
    chain(hosts.long.s("a", 10.0), hosts.long.s(10.0), hosts.long.s(27.0)).delay()
    hosts.rest(40.0)
    first, second, third, again, *_ = began
    assert (second - first, third - second) == (10.0, 10.0)
    assert 20.0 - VISIBILITY < again - third <= 20.0 + VISIBILITY + 1.0


@pytest.mark.parametrize("lasts", [900.0, 3_600.0])
def test_a_chain_makes_way_after_half_a_minute(lasts: float) -> None:
    line = Line(20)
    line.processes.invocation = lasts
    line.during = lambda _: line.stage.pass_time(4.0)
    result = line.delay()
    line.processes.deliver()
    assert len(line.stage.audit.ends) == MOST_S // 4 + 1
    line.processes.drain()
    line.assert_whole(result)


def test_a_chain_of_extended_claims_makes_way_after_half_a_minute() -> None:
    hosts, waits, began = Hosts(workers=1), list[Any](), list[float]()
    other = hosts.app.task(name="other")(lambda: began.append(hosts.ports.clock.now()))

    def publish(_: float) -> None:  # as another program does: what a body publishes would follow its link
        if not waits:
            waits.append(hosts.ports.clock.now())
            Context().run(other.delay)

    hosts.during = publish
    chain(hosts.long.s("a", 4.0), *(hosts.long.s(4.0) for _ in range(19))).delay()
    hosts.rest(120.0)
    assert MOST_S < began[0] - waits[0] < MOST_S + 2 * 4.0


def test_ends_of_links_are_seen_while_their_chain_goes_on() -> None:
    line, seen = Line(12), list[int]()
    line.processes.invocation = 900.0

    def during(_: int) -> None:
        seen.append(rows(line))
        line.stage.pass_time(1.0)

    line.during = during
    line.delay()
    line.processes.deliver()
    assert seen == [0] * 5 + [5] * 5 + [10] * 2, f"each {TELL_S:g} s"
    assert rows(line) == 12
    lines = [one for message in line.stage.peek(RECORDS) for one in json.loads(message.body)["lines"]]
    assert [one["type"] for one in lines] == ["worker-online", "worker-invocation"], "each event is sent once"
    assert lines[1]["messages"] == 1


@pytest.mark.parametrize("broken", ["queues", "telemetry"])
def test_ends_of_links_are_counted_once_when_they_cannot_be_sent(broken: str) -> None:
    line = Line(4)
    line.processes.invocation = 900.0
    line.during = lambda _: line.stage.pass_time(TELL_S)
    faulty = {"queues": RefusesHistory, "telemetry": CannotFlush}[broken](getattr(line.stage.ports, broken))
    line.processes.restart(replace(line.stage.ports, **{broken: faulty}))
    line.delay()
    line.processes.deliver()
    lines = [one["type"] for message in line.stage.peek(RECORDS) for one in json.loads(message.body)["lines"]]
    assert (rows(line), lines) == (4, ["worker-online", "worker-invocation"])
    assert line.stage.telemetry.counted("TasksSucceeded", task="step") == 4
    assert "unexpected error in a step of the batch" in line.stage.telemetry.messages("error")


def test_a_quick_chain_is_one_message_of_the_history() -> None:
    line = Line(10)
    line.processes.invocation = 900.0
    line.during = lambda _: line.stage.pass_time(TELL_S / 10 - 0.01)
    line.delay()
    line.processes.deliver()
    assert (rows(line), len(line.stage.peek(RECORDS))) == (10, 1)


def test_a_death_loses_the_counts_of_the_last_seconds_alone() -> None:
    line = Line(10)
    line.processes.invocation = 900.0

    def during(number: int) -> None:
        line.stage.pass_time(TELL_S)
        if number == 4 and line.bodies[4] == 1:
            raise Crash

    line.during = during
    line.delay()
    with pytest.raises(Crash):
        line.processes.deliver()
    line.processes.restart()
    line.stage.telemetry.flush()
    assert rows(line) == 4
    assert line.stage.telemetry.counted("TasksSucceeded", task="step") == 4


def test_a_worker_counts_each_link_that_ended() -> None:
    line, follows = Line(1), list[int]()
    late = line.shop.task("late", lambda before: before)
    line.processes.worker.inline.follows = lambda: follows.append(len(line.stage.audit.ends))
    chain(line.step.s(0, 0), line.step.s(1), line.step.s(2), late.s()).delay()
    line.shop.app.control.pause(task="late", until=datetime.fromtimestamp(line.stage.clock.now() + 100, UTC))
    line.processes.deliver()
    assert (line.processes.worker.commands.worked, follows) == (3, [1, 2, 3]), "the last link waits"
