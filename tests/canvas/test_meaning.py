"""The oracle itself, on canvases whose meaning everybody knows by heart."""

from typing import Any

import pytest

from tests.canvas.meaning import FAILED, Ended, Failure, Meaning, Value, digest, meaning_of
from tests.canvas.sketch import Chain, Chord, Errback, Fork, Group, Sketch, Step

A, B, C, D = (Step(number) for number in range(1, 5))
BAD, LATER = Step(9, "fail"), Step(8, "retried")
TELL, SHOW = Errback(0, "id"), Errback(1, "context")


def value(step: Step, *args: Any) -> str:
    """Return what *step* returns when it is handed *args*."""
    return digest(step.name, [*args, step.number], {})


def ends(sketch: Sketch) -> Ended | list[Ended]:
    """Return how *sketch* ends."""
    return meaning_of(sketch).result


def effects(meaning: Meaning) -> set[str]:
    """Return the names of the tasks that ended by themselves."""
    return {name for name, _ in meaning.effects}


@pytest.mark.parametrize(
    ("sketch", "wanted"),
    [
        (A, Value(value(A))),
        (Chain((A, B)), Value(value(B, value(A)))),
        (Chain((A, B._replace(immutable=True))), Value(value(B))),
        (Chain((A, Chain((B,)), C)), Value(value(C, value(B, value(A))))),
        (Group((A, B)), [Value(value(A)), Value(value(B))]),
        (Group(()), []),
        (Chain((A, Group((B, C)))), [Value(value(B, value(A))), Value(value(C, value(A)))]),
        (Chord((A, B), C), Value(value(C, [value(A), value(B)]))),
        (Chain((Group((A, B)), C)), Value(value(C, [value(A), value(B)]))),
        (Chord((), C), Value(value(C, []))),
        (Chord((A,), C), Value(value(C, [value(A)]))),
        (Chain((Group((A,)), Group((B, C)))), [Value(value(B, [value(A)])), Value(value(C, [value(A)]))]),
        (Group((Group((A, B)), C)), [Value([value(A), value(B)]), Value(value(C))]),
        (Chain((A, Fork((B,)), C)), Value(value(C, value(A)))),
        (Chain((Group((A, B)), Fork((C,)), D)), Value(value(D, [value(A), value(B)]))),
        (Step(7, "replace", instead=Chain((A, B))), Value(value(B, value(A)))),
        (Chain((Step(7, "replace", instead=Group((A, B))), C)), Value(value(C, [value(A), value(B)]))),
        (Chain((A, LATER)), Value(value(LATER, value(A)))),
        (Chain((A, BAD, C)), Failure(frozenset({"fail-9"}), "fail-9")),
        (Chord((A, BAD), C), Failure(frozenset({"fail-9"}), "ok-3")),
        (Group((A, BAD)), [Value(value(A)), Failure(frozenset({"fail-9"}), "fail-9")]),
        (Chain((Group((A, BAD)), Group((B,)))), Failure(frozenset({"fail-9"}))),
        (Chord((A, BAD), C, outcomes=True), Value(value(C, [["ended well", value(A)], [FAILED]]))),
    ],
)
def test_a_canvas_ends_as_everybody_knows(sketch: Sketch, wanted: Ended | list[Ended]) -> None:
    assert ends(sketch) == wanted


def test_what_comes_after_a_failure_never_runs_and_what_stands_beside_it_does() -> None:
    meaning = meaning_of(Chain((Group((A, Chain((BAD, B)))), C)))
    assert meaning.effects == {("ok-1", value(A)): 1, ("fail-9", FAILED): 1}
    assert meaning.runs == {"ok-1": 1, "fail-9": 1}


def test_links_and_forks_are_handed_the_value_and_change_nothing() -> None:
    meaning = meaning_of(Chain((A._replace(links=(B,)), Fork((BAD,)), C)))
    assert meaning.result == Value(value(C, value(A)))
    assert meaning.effects["ok-2", value(B, value(A))] == 1
    assert meaning.effects["fail-9", FAILED] == 1
    of_a_group = meaning_of(Group((A, B), links=(C,)))
    assert of_a_group.effects["ok-3", value(C, [value(A), value(B)])] == 1
    assert "ok-3" not in effects(meaning_of(Group((A, BAD), links=(C,))))


@pytest.mark.parametrize(
    ("sketch", "calls"),
    [
        (BAD._replace(errors=(TELL, TELL, SHOW)), {("id-errback-0", "fail-9"): 1, ("context-errback-1", "fail-9"): 1}),
        (Chain((A, BAD), errors=(TELL,)), {("id-errback-0", "fail-9"): 1}),
        (Chain((A._replace(errors=(TELL,)), BAD, C._replace(errors=(SHOW,)))), {}),
        (Group((BAD, Step(6, "fail")), errors=(TELL,)), {("id-errback-0", "fail-9"): 1, ("id-errback-0", "fail-6"): 1}),
        (Chord((A, BAD), C._replace(errors=(TELL,))), {("id-errback-0", "ok-3"): 1}),
        (Chord((A, BAD), C, errors=(TELL,)), {("id-errback-0", "fail-9"): 1}),
        (Chord((A,), BAD, errors=(TELL,)), {("id-errback-0", "fail-9"): 1}),
        (Chain((BAD._replace(errors=(TELL,)),), errors=(TELL,)), {("id-errback-0", "fail-9"): 1}),
        (Chain((A, Fork((BAD,))), errors=(TELL,)), {("id-errback-0", "fail-9"): 1}),
        (A._replace(links=(BAD,), errors=(TELL,)), {}),
        (BAD._replace(errors=(Errback(2, "own"),)), {("own-errback-2", None): 1}),
        (Step(7, "replace", errors=(TELL,), instead=Chain((A, BAD, B))), {("id-errback-0", "fail-9"): 1}),
    ],
)
def test_error_callbacks_are_called_once_for_each_failure_of_a_task(sketch: Sketch, calls: dict[tuple[str, str | None], int]) -> None:
    assert meaning_of(sketch).calls == calls


def test_every_task_bears_the_stamps_of_everything_around_it() -> None:
    sketch = Chain((A._replace(stamped=True), Group((B,), stamped=True), C), stamped=True)
    assert meaning_of(sketch).stamps == {
        "ok-1": {"chain_1", "step_1"}, "ok-2": {"chain_1", "group_2"}, "ok-3": {"chain_1"},
    }  # fmt: skip


def test_bodies_begin_as_often_as_their_retries_need() -> None:
    meaning = meaning_of(Group((LATER, Step(5, "tired"), Step(6, "poisonous"))))
    assert meaning.runs == {"retried-8": 3, "tired-5": 2, "poisonous-6": 1}
