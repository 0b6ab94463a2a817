"""A canvas with a mistake is refused where it is written, with what to do about it, and nothing of it is published."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sedano import chain, chord, current, fork, group
from sedano.canvas import Form
from sedano.errors import (
    ArgumentError,
    CanvasError,
    DuplicateTask,
    OptionError,
    RemoteError,
    ResultTimeout,
    SedanoError,
    UnknownTask,
    Unserialisable,
    WaitInsideTask,
)  # fmt: skip
from sedano.model import states
from sedano.model.ledger.records import RESERVATION_S
from tests.stories.guide import Guide
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import COMMANDS
from tests.stories.stage import Stage

LOOP: list[Any] = []
LOOP.append(LOOP)
FAR = datetime.now(UTC) + timedelta(days=400)

WRONG: dict[str, tuple[Callable[[Guide], Form], type[SedanoError], str]] = {
    "an unknown task in the middle": (lambda g: g.add.s(1, 1) | g.sig("nobody") | g.add.s(1), UnknownTask, "'nobody'"),
    "an unknown task in a header": (lambda g: chord([g.add.s(1, 1), g.sig("nobody")], g.sig("tsum")), UnknownTask, "'nobody'"),
    "an unknown error callback": (lambda g: g.add.s(1, 1).on_error(g.sig("nobody")), UnknownTask, "'nobody'"),
    "an error callback of two parameters": (lambda g: g.add.s(1, 1).on_error(g.sig("add")), ArgumentError, "missing .* takes"),
    "an error callback with too much": (lambda g: g.add.s(1, 1).on_error(g.sig("on_id", 1, 2)), ArgumentError, "too many"),
    "an argument too many": (lambda g: g.add.s(1, 1) | g.add.s(1, 2), ArgumentError, "too many"),
    "an argument too few": (lambda g: g.add.s(1, 1) | g.sig("same") | g.add.s(), ArgumentError, "missing"),
    "an argument too many for a member": (lambda g: group(g.add.s(1, 1), g.add.s(1, 1) | g.add.s(2, 3)), ArgumentError, "too many"),
    "an argument of a wrong name": (lambda g: g.add.s(1, 1) | g.add.s(1, c=1), ArgumentError, "c"),
    "an argument that is not JSON": (lambda g: g.add.s(1, 1) | g.add.s(object()), Unserialisable, r"data.args\[0\]"),
    "an argument that contains itself": (lambda g: g.add.s(1, 1) | g.add.s(LOOP), Unserialisable, "contains itself"),
    "a callback whose argument is not JSON": (lambda g: _linked(g.add.s(1, 1), g.add.s({1})), Unserialisable, "set"),
    "a body that is missing": (lambda g: chord([g.add.s(1, 1)]), CanvasError, "needs a body"),
    "a key of its own in a canvas": (lambda g: g.add.s(1, 1) | g.add.s(1).set(dedup_key="k"), OptionError, "dedup_key"),
    "a step too far away": (lambda g: g.add.s(1, 1) | g.add.s(1).set(eta=FAR), OptionError, "eta"),
    "a canvas nested without an end": (lambda g: _nested(g.add.s(1, 1), 200), CanvasError, "levels"),
}


def _linked(form: Form, callback: Form) -> Form:
    form.link(callback)
    return form


def _nested(form: Form, depth: int) -> Form:
    for _ in range(depth):
        form = group(form)
    return form


@pytest.fixture
def g() -> Guide:
    """The guide's tasks and their processes."""
    return Guide()


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_published_of_a_canvas_with(name: str, g: Guide) -> None:
    make, error, says = WRONG[name]
    with pytest.raises(error, match=says):
        make(g).delay()
    assert g.stage.peek(COMMANDS) == []


@pytest.mark.parametrize(
    "make",
    [
        chain, fork, lambda: chain(5), lambda: group("add"), lambda: group([1]), lambda: chord([], 5), lambda: fork(5),
        lambda: chain(Guide().add), lambda: chord(Guide().add.s(1, 1), on_failure="maybe"),
    ],
)  # fmt: skip
def test_what_is_no_form_is_refused_where_it_stands(make: Callable[[], Any]) -> None:
    with pytest.raises(CanvasError):
        make()


def test_two_bodies_are_refused(g: Guide) -> None:
    with pytest.raises(CanvasError, match="one body"):
        chord([g.add.s(1, 1)], g.sig("tsum"))(g.sig("tsum"))


def test_a_fork_needs_a_step_before_it_and_takes_no_link(g: Guide) -> None:
    with pytest.raises(CanvasError, match="fork"):
        chain(fork(g.add.s(1, 1)), g.add.s(1)).delay()
    with pytest.raises(CanvasError, match="fork"):
        (g.add.s(1, 1) | fork(g.sig("same"))).link(g.sig("same"))


def test_an_error_callback_has_no_callbacks_of_its_own(g: Guide) -> None:
    with pytest.raises(CanvasError, match="one signature without callbacks"):
        g.add.s(1, 1).on_error(g.sig("on_id") | g.sig("same"))


def test_a_frozen_part_of_a_canvas_is_refused_but_a_frozen_step_keeps_its_id(g: Guide) -> None:
    part = g.add.s(1, 1) | g.add.s(1)
    part.freeze()
    with pytest.raises(CanvasError, match="freeze the whole"):
        chain(part, g.add.s(1))
    step = g.add.s(1, 1)
    known = step.freeze()
    assert g.value(step | g.add.s(1)) == 3
    assert known.get(timeout=1) == 2


def test_a_canvas_is_frozen_with_the_result_that_it_will_have(g: Guide) -> None:
    flow = chord([g.add.s(1, 1), g.add.s(2, 2)], g.sig("tsum"))
    known = flow.freeze("0b7e2c1a-54d3-4c9f-8a61-7f0e9d2c3b4a")
    assert g.value(flow) == 6
    assert (known.id, known.get(timeout=1), known.parent.get(timeout=1)) == ("0b7e2c1a-54d3-4c9f-8a61-7f0e9d2c3b4a", 6, [2, 4])


def test_a_group_that_something_is_linked_to_is_frozen_and_published_as_a_group_and_knows_its_forks(g: Guide) -> None:
    flow = group(g.add.s(1, 1), g.add.s(2, 2)) | fork(g.sig("log_result"))
    known, made = flow.freeze(), flow.delay()
    g.processes.drain()
    assert (known, known.get(timeout=1), g.seen) == (made, [2, 4], [[2, 4]])
    assert [side.get(timeout=1) for side in made.forks] == [[2, 4]]


def test_waiting_has_an_end_and_is_refused_inside_a_task(g: Guide) -> None:
    result = (g.add.s(1, 1) | g.add.s(1)).delay()
    with pytest.raises(ResultTimeout):
        result.get(timeout=0)
    g.task("waits", lambda: (g.add.s(1, 1) | g.add.s(1)).delay().get(), retry=False)
    with pytest.raises(RemoteError, match=WaitInsideTask.__name__):
        g.value(g.sig("waits"))


def test_a_result_that_was_forgotten_before_the_body_ran_fails_the_body_and_says_so(g: Guide) -> None:
    result = chord([g.add.s(1, 1), g.add.s(2, 2)], g.sig("tsum")).delay()
    g.processes.deliver()
    g.processes.deliver()
    result.parent[1].forget()
    g.processes.drain()
    with pytest.raises(RemoteError, match="was forgotten before it was used"):
        result.get()


def test_a_result_that_aged_out_before_the_body_ran_fails_the_body_and_says_so(g: Guide) -> None:
    result = chord([g.add.s(1, 1), g.add.s(2, 2)], g.sig("tsum").set(expires=None)).delay()
    g.processes.deliver()
    g.processes.deliver()
    g.stage.audit.inner._records.pop(result.parent[0].id)  # type: ignore[attr-defined] # what the table's TTL does
    g.processes.drain()
    with pytest.raises(RemoteError, match="ResultGone: the record of a member does not exist"):
        result.get()


def test_adding_to_a_chord_where_there_is_none_is_refused(g: Guide) -> None:
    g.task("adds", lambda: g.app.task(name="x")(len).add_to_chord(g.add.s(1, 1)), retry=False)
    with pytest.raises(RemoteError, match="not a member of a chord"):
        g.value(g.sig("adds"))
    with pytest.raises(SedanoError, match="no task is running here"):
        g.add.add_to_chord(g.add.s(1, 1))
    with pytest.raises(SedanoError, match="no task is running here"):
        g.add.replace(g.add.s(1, 1))


def test_a_task_that_replaces_itself_without_an_end_is_stopped(g: Guide) -> None:
    again = g.task("again", lambda: g.add.replace(g.sig("again")))
    with pytest.raises(RemoteError, match="HopLimit: replace"):
        g.value(again.s())
    assert g.ran["again"] == 20


def test_a_task_that_does_not_try_a_revoked_canvas_leaves_nobody_waiting(g: Guide) -> None:
    result = chain(g.add.s(1, 1), group(g.add.s(1), g.add.s(2)), g.sig("tsum")).delay()
    result.revoke(canvas=True)
    g.processes.drain()
    assert result.state == states.REVOKED
    assert g.ran["add"] == 0


def test_the_running_task_is_told_from_none(g: Guide) -> None:
    with pytest.raises(SedanoError, match="no task is running"):
        current()


def test_a_group_whose_id_is_used_again_is_told(stage: Stage) -> None:
    g = Guide(stage)
    for made in (chord([g.add.s(1, 1)], g.sig("tsum")), group(g.add.s(1, 1), g.add.s(2, 2)), g.add.s(1, 1) | g.add.s(1)):
        made.freeze()
        first = made.delay()
        for step in (lambda: None, g.processes.deliver, g.processes.drain):
            step()
            with pytest.raises(DuplicateTask, match=str(first.id)):
                made.delay()
        assert first.get() is not None


def test_an_id_that_is_used_again_before_anything_of_the_first_is_known_runs_once(g: Guide) -> None:
    canvas = chord([g.add.s(1, 1), g.add.s(2, 2)], g.sig("tsum"))
    canvas.freeze()
    first = canvas.delay()
    g.stage.pass_time(RESERVATION_S + 1)
    second = canvas.delay()
    g.processes.drain()
    assert (first.get(), second.get(), g.ran["tsum"]) == (6, 6, 1)
    assert_kept(g.stage, succeeded(launch=1, add=2, tsum=1))


def test_a_canvas_with_a_mistake_does_not_use_its_id_up(g: Guide) -> None:
    known = "5f0f7a6e-9f0f-4a57-8f25-55b3a3f8f0a1"
    with pytest.raises(ArgumentError):
        (g.add.s(1, 1) | g.add.s(1, 2)).apply_async(task_id=known)
    (g.add.s(1, 1) | g.add.s(1)).apply_async(task_id=known)
    g.processes.drain()
    assert g.app.result(known).get() == 3
