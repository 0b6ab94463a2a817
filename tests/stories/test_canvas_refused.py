"""`Reject` and `Ignore` inside every form: the canvas learns of a failure; a rejected message is set aside, as Celery's goes to the dead
letters, an ignored one is not.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sedano import Ignore, Reject, chain, chord, fork, group
from sedano.canvas import Form
from sedano.errors import RemoteError
from sedano.model import states
from sedano.ports import PARKED
from tests.commands import command_in
from tests.stories.guide import Guide
from tests.stories.kept import assert_effects, assert_kept, succeeded
from tests.stories.processes import Processes
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Crash, Watch, away, tapped

FORMS: Mapping[str, Callable[[Guide, str], Form]] = {
    "alone": lambda g, name: g.sig(name),
    "in a chain": lambda g, name: chain(g.add.s(1, 1), g.sig(name), g.add.s(1)),
    "at the end of a chain": lambda g, name: chain(g.add.s(1, 1), g.sig(name)),
    "in a group": lambda g, name: group(g.add.s(1, 1), g.sig(name)),
    "in a group in a group": lambda g, name: group(g.add.s(1, 1), group(g.sig(name), g.add.s(1, 1))),
    "in a header": lambda g, name: chord([g.add.s(1, 1), g.sig(name)], g.sig("tsum")),
    "in a chain in a header": lambda g, name: chord([g.add.s(1, 1), g.add.s(1, 1) | g.sig(name)], g.sig("tsum")),
    "as a body": lambda g, name: chord([g.add.s(1, 1), g.add.s(2, 2)], g.sig(name)),
    "before a group": lambda g, name: chain(g.sig(name), group(g.add.s(1), g.add.s(2)), g.sig("tsum")),
    "in what replaces a task": lambda g, name: g.task("swaps", lambda: g.add.replace(g.add.s(1, 1) | g.sig(name))).s() | g.add.s(1),
    "in a map": lambda g, name: g.task("maps", g.app.registry.tasks[name].function).map([1, 2]),
}
"""Forms in which the task of the name that they are given refuses, and what waits for it fails."""
ASIDE: Mapping[str, Callable[[Guide, str], Form]] = {
    "in a fork": lambda g, name: g.add.s(1, 1) | fork(g.sig(name)) | g.add.s(1),
    "in a link": lambda g, name: g.add.s(1, 2).set(link=g.sig(name)),
    "in an error callback": lambda g, name: chord([g.fails.s()], g.sig("same"), on_failure="outcomes").on_error(g.sig(name)),
}
"""Forms whose own result does not depend on the task that refuses."""


def parked(stage: Stage) -> list[tuple[str, str, str]]:
    """Return reason, detail and task of what was set aside."""
    found = []
    for message in stage.peek(PARKED):
        command = command_in(message.body)
        found.append((message.attributes["reason"], message.attributes["detail"], command.task))
    return found


@pytest.fixture
def g() -> Guide:
    """The guide's tasks, one that rejects and one that ignores."""
    found = Guide()
    found.task("rejects", refusing(Reject("no such customer")))
    found.task("ignores", refusing(Ignore("no such customer")))
    return found


ENDS = {"rejects": states.FAILURE, "ignores": states.REVOKED}


def refusing(error: Exception) -> Callable[..., Any]:
    """Return a body that raises *error*."""

    def refuse(*_: Any) -> None:
        raise error

    return refuse


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "raised"), [("rejects", "Reject"), ("ignores", "Ignore")])
def test_what_waits_for_a_task_that_refuses_fails_with_it_and_only_a_rejected_message_is_set_aside(
    g: Guide, form: str, name: str, raised: str
) -> None:
    result = FORMS[form](g, name).delay()
    g.processes.drain()
    with pytest.raises(RemoteError, match="no such customer") as failed:
        result.get(timeout=1)
    assert failed.value.type_name == raised
    refused = "sedano.map" if form == "in a map" else name
    assert parked(g.stage) == ([("rejected", "no such customer", refused)] if name == "rejects" else [])
    assert g.ran[name] == 1, "never tried again"


@pytest.mark.parametrize("form", ASIDE)
@pytest.mark.parametrize("name", ["rejects", "ignores"])
def test_what_stands_aside_and_refuses_fails_alone(g: Guide, form: str, name: str) -> None:
    result = ASIDE[form](g, name).delay()
    g.processes.drain()
    assert result.get(timeout=1) is not None
    assert parked(g.stage) == ([("rejected", "no such customer", name)] if name == "rejects" else [])
    assert g.stage.audit.effects()[name, ENDS[name]] == 1


@pytest.mark.parametrize("delivery", ["claimed", "record_once", "at_least_once"])
def test_a_rejected_message_is_set_aside_however_it_is_delivered(stage: Stage, delivery: str) -> None:
    g = Guide(stage)
    g.task("refuses", refusing(Reject("not mine")), delivery=delivery)
    result = g.sig("refuses", 5).delay()
    g.processes.drain()
    assert parked(stage) == [("rejected", "not mine", "refuses")]
    if delivery != "at_least_once":
        assert result.state == states.FAILURE


def _refused(form: str) -> tuple[Guide, Processes]:
    g = Guide(in_memory())
    g.task("rejects", refusing(Reject("no such customer")))
    FORMS[form](g, "rejects").delay()
    return g, g.processes


EFFECTS = {("rejects", states.FAILURE): 1, ("tsum", states.FAILURE): 1, **succeeded(launch=1, add=1)}


def test_a_crash_at_any_call_does_not_lose_a_rejected_message() -> None:
    g, processes = _refused("in a header")
    watch = Watch(ports=OUTSIDE)
    processes.restart(tapped(g.stage.ports, watch))
    processes.drain()
    assert_kept(g.stage, EFFECTS, ("rejected",))
    assert len(watch.calls) > 10
    for at in range(len(watch.calls)):
        for side in SIDES:
            g, processes = _refused("in a header")
            processes.restart(tapped(g.stage.ports, Watch(at, side, ports=OUTSIDE)))
            with pytest.raises(Crash):
                processes.drain()
            processes.recover()
            assert_kept(g.stage, EFFECTS, ("rejected",))
            assert 1 <= len(parked(g.stage)) <= 2, "set aside once more when nobody knows whether it was"


def test_a_rejected_message_that_cannot_be_set_aside_comes_again_until_it_can() -> None:
    g, processes = _refused("alone")
    watch = Watch(0, error=away, ports=frozenset({"queues"}), times=3)
    processes.restart(tapped(g.stage.ports, watch))
    processes.feed = g.stage.ports.queues
    processes.drain()
    assert watch.fired
    assert_effects(g.stage, {("rejects", states.FAILURE): 1}, ("rejected",))
    assert parked(g.stage) == [("rejected", "no such customer", "rejects")]


def test_a_message_cannot_be_put_back_by_rejecting_it() -> None:
    def again() -> None:
        raise Reject("later", requeue=True)

    g = Guide()
    g.task("again", again, retry=False)
    with pytest.raises(RemoteError, match="OptionError: requeue"):
        g.value(g.sig("again"))
    assert parked(g.stage) == []
