"""A chord whose plan is gone when its header is full ends: its body fails, its error callbacks are called, nobody waits for ever."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from sedano import chain, chord, group
from sedano.errors import MessageRefused, RemoteError
from sedano.model import refusals, states
from sedano.model.messages import codec
from sedano.model.messages.message import BlobRef, Command
from sedano.ports import PARKED, RECORDS
from tests.stories.guide import Guide
from tests.stories.processes import COMMANDS
from tests.stories.taps import SIDES, Crash, Watch, tapped

PAD = "p" * 1_900
"""Long enough for the plan to lie in the blob store."""


@pytest.fixture
def g() -> Guide:
    """The guide's tasks and their processes."""
    guide = Guide()
    guide.task("first", lambda n, _: n)
    return guide


def header(g: Guide, size: int = 3) -> list[Any]:
    """Return the members of a header whose plan is long."""
    return [g.sig("first", n, PAD) for n in range(size)]


def launch(g: Guide) -> None:
    """Deliver the launch of the one canvas, and lose its plan."""
    (message,) = g.stage.peek(COMMANDS)
    command = codec.decode(message.body)
    assert isinstance(command, Command)
    assert command.place is not None
    g.processes.deliver()
    lose(g, command.place.plan)


def lose(g: Guide, plan: str) -> None:
    """Lose a page."""
    _, digest, size = plan.split(":")
    g.stage.damage(BlobRef(digest, int(size)), None)
    g.processes.restart()


def assert_ended(g: Guide, body: Any) -> None:
    """Assert that *body* failed for want of its plan, that nothing is parked and nothing waits."""
    g.processes.drain()
    with pytest.raises(RemoteError, match="no such blob"):
        body.get(timeout=1)
    assert g.stage.peek(PARKED) == []
    assert g.stage.peek(COMMANDS) == []


def test_a_chord_whose_plan_is_gone_fails_its_body_and_calls_its_error_callbacks(g: Guide) -> None:
    result = chord(header(g), g.sig("tsum").on_error(g.sig("on_id")).on_error(g.sig("log_error"))).delay()
    launch(g)
    assert_ended(g, result)
    assert g.seen == [result.id, ("tsum", "MessageRefused", g.seen[1][2], False)]
    assert g.stage.telemetry.counted("CanvasesCut", task="first") == 1
    assert g.stage.audit.effects()["tsum", states.FAILURE] == 1


def test_what_follows_the_body_ends_too(g: Guide) -> None:
    result = chain(group(*header(g)), g.sig("tsum").on_error(g.sig("on_id")), g.sig("same")).delay()
    launch(g)
    assert_ended(g, result)
    assert result.parent.state == states.FAILURE
    assert g.seen == [result.parent.id]


def test_the_loss_reaches_the_chords_around_it(g: Guide) -> None:
    inner = chord(header(g), g.sig("tsum", PAD))
    result = chord([inner, g.sig("first", 1, PAD)], g.sig("tsum").on_error(g.sig("on_id"))).delay()
    g.processes.deliver()
    places = [c.place for m in g.stage.peek(COMMANDS) if isinstance(c := codec.decode(m.body), Command) and c.place is not None]
    g.processes.deliver()
    for plan in {place.plan for place in places if place.plan.startswith("blob:")}:
        lose(g, plan)
    assert_ended(g, result)
    assert g.seen == [result.id]


def test_a_header_that_failed_is_the_reason_that_is_told(g: Guide) -> None:
    result = chord([*header(g, 2), g.sig("fail", PAD)], g.sig("tsum").on_error(g.sig("on_id"))).delay()
    launch(g)
    g.processes.drain()
    with pytest.raises(RemoteError, match="out of stock"):
        result.get(timeout=1)
    assert g.seen == [result.id]


@dataclass
class Forgetful:
    """A blob store that does not find anything for the first *times* reads."""

    blobs: Any
    times: int

    def get(self, ref: BlobRef) -> bytes:
        """Read, or find nothing."""
        if self.times > 0:
            self.times -= 1
            raise MessageRefused(refusals.BLOB, "dataref", "no such blob")
        return bytes(self.blobs.get(ref))

    def put(self, data: bytes) -> BlobRef:
        """Keep *data*."""
        found: BlobRef = self.blobs.put(data)
        return found


@pytest.mark.parametrize("times", [1, 4])
def test_a_plan_that_is_not_found_for_a_moment_is_read_again_before_anything_ends(g: Guide, times: int) -> None:
    result = chord(header(g), g.sig("tsum").on_error(g.sig("on_id"))).delay()
    g.processes.deliver()
    g.processes.restart(replace(g.stage.ports, blobs=Forgetful(g.stage.ports.blobs, times)))
    g.processes.drain()
    assert result.get(timeout=1) == 3
    assert g.seen == []
    assert g.stage.peek(PARKED) == []


def begun() -> tuple[Guide, Any]:
    """Return a guide with a launched chord of one member whose plan is lost."""
    g = Guide()
    g.task("first", lambda n, _: n)
    result = chord(header(g, 1), g.sig("tsum").on_error(g.sig("on_id"))).delay()
    launch(g)
    return g, result


@pytest.mark.parametrize("side", SIDES)
def test_a_crash_at_any_step_of_the_end_ends_it_all_the_same(side: Any) -> None:
    g, _ = begun()
    watch = Watch()
    g.processes.restart(tapped(g.stage.ports, watch))
    g.processes.drain()
    for at in range(len(watch.calls)):
        g, result = begun()
        watch = Watch(at, side)
        try:
            g.processes.restart(tapped(g.stage.ports, watch))
            g.processes.drain()
        except Crash:
            g.processes.recover()
        assert_ended(g, result)
        assert g.seen in ([result.id], [result.id, result.id]), (at, side)
        assert g.stage.audit.effects()["on_id", states.SUCCESS] == 1, (at, side)


def test_a_body_that_was_published_before_the_plan_was_lost_runs_and_nothing_is_cut(g: Guide) -> None:
    """The last member's message comes twice: once with the plan, and once without it."""
    result = chord(header(g, 1), g.sig("tsum").on_error(g.sig("on_id"))).delay()
    (message,) = g.stage.peek(COMMANDS)
    place = codec.decode(message.body)
    assert isinstance(place, Command)
    assert place.place is not None
    g.processes.deliver()
    (member,) = g.stage.ports.queues.receive(COMMANDS)
    g.processes.worker.work([member], g.stage.clock.now() + 30)
    g.processes.deliver()
    assert result.get(timeout=1) == 0
    lose(g, place.place.plan)
    g.stage.pass_time(120.0)
    g.processes.drain()
    assert result.get(timeout=1) == 0
    assert g.seen == []
    assert g.stage.audit.effects()["tsum", states.SUCCESS] == 1
    assert g.stage.peek(RECORDS) == []
