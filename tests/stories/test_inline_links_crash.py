"""Stories of inline links under deaths, copies and outages: each link has one effect, and no chain is lost."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest

from sedano import chain
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Unavailable
from sedano.model import states
from sedano.ports import PARKED, Outgoing
from tests.commands import command_in
from tests.stories.chained import LINKS, Line
from tests.stories.mutants import Delegating
from tests.stories.processes import COMMANDS, INVOCATION_S, LONG_S
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, away, tapped


@pytest.mark.parametrize("side", SIDES)
def test_a_death_at_any_call_loses_no_link_and_doubles_none(side: Side) -> None:
    counted, undisturbed = Watch(ports=OUTSIDE), Line()
    undisturbed.processes.restart(tapped(undisturbed.stage.ports, counted))
    whole = undisturbed.delay()
    undisturbed.processes.drain()
    undisturbed.assert_whole(whole)
    assert len(counted.calls) > 2 * LINKS
    for at, call in enumerate(counted.calls):
        line, watch, where = Line(), Watch(at, side, ports=OUTSIDE), f"died {side} call {at}, {call}"
        result = line.delay()

        def live(line: Line = line, watch: Watch = watch) -> None:
            line.processes.restart(tapped(line.stage.ports, watch))
            line.processes.drain()

        with pytest.raises(Crash):
            live()
        line.processes.recover()
        line.assert_whole(result, where)
        assert max(line.bodies.values()) <= 2, where
        assert sum(line.bodies.values()) <= LINKS + 1, where


def test_a_second_death_at_any_call_loses_nothing() -> None:
    for first in range(4, 12, 3):
        for second in range(0, 16, 2):
            line, result = Line(4), None
            result = line.delay()
            for at in (first, second):
                try:
                    line.processes.restart(tapped(line.stage.ports, Watch(at, "after", ports=OUTSIDE)))
                    line.processes.drain()
                except Crash:
                    continue
            line.processes.recover()
            line.assert_whole(result, f"died after calls {first} and {second}")


def test_a_carrier_that_comes_again_while_the_dead_workers_claim_lasts_waits_for_it() -> None:
    for at in range(3, 16):
        line = Line(5)
        line.processes.invocation = LONG_S
        result = line.delay()
        try:
            line.processes.restart(tapped(line.stage.ports, Watch(at, "after", ports=OUTSIDE)))
            line.processes.drain()
        except Crash:
            line.processes.recover()
        line.assert_whole(result, f"died after call {at}")


def test_a_carrier_that_comes_again_sends_the_next_link_and_what_takes_over_goes_on_inline() -> None:
    line = Line(4)
    result = line.delay()

    def dies(number: int) -> None:
        if number == 2 and line.bodies[2] == 1:
            raise Crash

    line.during = dies
    with pytest.raises(Crash):
        line.processes.deliver()
    assert [end.name for end in line.stage.audit.ends] == ["step", "step"]
    line.processes.restart()
    line.stage.pass_time(61)
    (again,) = line.processes.deliver()
    assert again.receives == 2
    assert len(line.stage.audit.ends) == 2, "it runs nothing; it sends"
    (sent,) = line.processes.deliver()
    assert command_in(sent.body).task_id == line.ids()[1]
    assert len(line.stage.audit.ends) == 2, "what the dead worker began is not taken over inline; it is sent"
    (begun,) = line.processes.deliver()
    assert begun.receives == 1
    assert line.stage.peek(COMMANDS) == []
    line.assert_whole(result)
    assert line.bodies == {0: 1, 1: 1, 2: 2, 3: 1}


def test_a_link_that_kills_each_worker_is_poison_and_the_links_before_run_once() -> None:
    line = Line(4)
    result = line.delay()

    def kills(number: int) -> None:
        if number == 2:
            raise Crash

    line.during = kills
    line.outlive(Crash, line.processes.restart, rounds=40)
    assert result.state in states.UNSUCCESSFUL
    assert line.bodies[0] == line.bodies[1] == 1
    assert line.bodies[2] == WorkerSettings().poison_after
    assert line.bodies[3] == 0
    ended = line.stage.audit.effects()
    assert ended[("step", states.POISON)] == 1
    assert line.stage.dead() == []


def test_links_that_each_kill_one_worker_do_not_add_up_on_one_message() -> None:
    line = Line(30)
    result = line.delay()

    def kills(number: int) -> None:
        if line.bodies[number] == 1:
            raise Crash

    line.during = kills
    line.outlive(Crash, line.processes.restart, rounds=200)
    line.assert_whole(result)
    assert set(line.bodies.values()) == {2}


@pytest.mark.parametrize("calls", range(1, 8))
def test_while_a_service_is_away_nothing_is_lost(calls: int) -> None:
    for at in range(2, 20):
        line = Line(5)
        result = line.delay()
        watch = Watch(at, error=away, ports=OUTSIDE - {"events", "members", "control"}, times=calls)
        line.processes.restart(tapped(line.stage.ports, watch))
        line.outlive(Unavailable)  # what feeds the worker did not get an answer
        line.assert_whole(result, f"away at call {at} for {calls}")
        assert set(line.bodies.values()) <= {1, 2}


class TakesNoCommand(Delegating):
    """Queues whose answer to a command is one that no rule foresees."""

    def send(self, queue: str, messages: Sequence[Outgoing]) -> object:
        """Raise for commands."""
        if queue == COMMANDS:
            raise RuntimeError("a malformed answer")
        return self.inner.send(queue, messages)


def test_a_link_that_cannot_be_sent_for_an_unforeseen_error_is_sent_by_its_carrier() -> None:
    line = Line(1)
    late = line.shop.task("late", lambda before: before + 1)
    result = chain(line.step.s(0, 0), late.s()).delay()
    line.shop.app.control.pause(task="late", until=datetime.fromtimestamp(line.stage.clock.now() + 100, UTC))
    line.processes.restart(replace(line.stage.ports, queues=TakesNoCommand(line.stage.ports.queues)))
    (carrier,) = line.processes.deliver()
    assert line.stage.telemetry.counted("UnexpectedErrors") == 2, "when it is deferred, and when it is sent"
    assert "a link was not sent; its carrier is redelivered" in line.stage.telemetry.messages("warning")
    assert command_in(carrier.body).task_id == line.ids()[0]
    line.processes.recover()
    assert (result.get(timeout=1), line.bodies, line.shop.ran["late"]) == (2, {0: 1}, 1)
    assert (line.stage.peek(PARKED), line.stage.dead()) == ([], [])


def test_messages_that_all_come_twice_change_nothing() -> None:
    line = Line()
    result = line.delay()
    (first,) = line.stage.peek(COMMANDS)
    line.stage.ports.queues.send(COMMANDS, [first])
    line.processes.drain()
    line.stage.ports.queues.send(COMMANDS, [first])
    line.processes.restart()
    line.processes.drain()
    line.assert_whole(result)
    assert set(line.bodies.values()) == {1}


@pytest.mark.parametrize("block", range(2))
def test_in_a_hundred_random_lives_of_a_chain_no_link_is_lost_or_doubled(block: int) -> None:
    deaths = 0
    for seed in range(100 * block, 100 * block + 100):
        dice = Random(seed)
        line = Line(dice.randint(2, 8))
        line.processes.invocation = dice.choice([INVOCATION_S, LONG_S])
        result, died = line.delay(), 0
        for _ in range(dice.randint(1, 4)):
            watch = Watch(dice.randrange(30), dice.choice(SIDES), dice.choice([Crash, away]), ports=OUTSIDE, times=dice.randint(1, 4))
            waiting = line.stage.peek(COMMANDS)
            if waiting and dice.random() < 0.5:
                line.stage.ports.queues.send(COMMANDS, [dice.choice(waiting)._replace(delay=0)])
            line.processes.restart(tapped(line.stage.ports, watch))
            try:
                for _ in range(dice.randint(1, 3)):
                    line.processes.step()
            except (Crash, Unavailable) as ended:
                died += isinstance(ended, Crash)
        line.processes.recover()
        line.assert_whole(result, f"seed {seed}")
        deaths += died
    assert deaths > 20
