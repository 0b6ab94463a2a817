"""The scenarios of Celery's userguide "Canvas: Designing Work-flows", one each, in its order. What differs is said where it differs."""

from typing import Any

import pytest

from sedano import Retry, Sedano, chain, chord, fork, group, signature
from sedano.errors import ArgumentError, RemoteError
from sedano.task import Task
from tests.stories.guide import Guide


@pytest.fixture
def g() -> Guide:
    """The guide's tasks and their processes."""
    return Guide()


def test_a_signature_by_name_with_options(g: Guide) -> None:
    sig = signature("add", args=(2, 2), countdown=10)
    sig.app = g.app
    assert g.value(sig) == 4
    assert g.value(g.app.signature("add", (2, 2), queue="bulk")) == 4


def test_a_signature_from_its_task_and_its_shortcut_are_the_same(g: Guide) -> None:
    assert g.add.signature((2, 2)) == g.add.s(2, 2)
    assert g.add.signature((2,), {"b": 3}, countdown=10) == g.add.s(2, b=3).set(countdown=10)


def test_calling_a_signature_runs_the_body_here_and_now(g: Guide) -> None:
    assert g.add.s(2, 2)() == 4
    assert g.add.s(2)(4) == 6
    assert g.stage.peek("commands:default") == []


def test_a_tilde_publishes_and_waits(g: Guide) -> None:
    task_id = "0b7e2c1a-54d3-4c9f-8a61-7f0e9d2c3b4a"
    assert g.value(g.add.s(2, 2).set(task_id=task_id)) == 4
    assert ~g.add.s(2, 2).set(task_id=task_id) == 4


def test_partial_arguments_come_first_and_keyword_arguments_are_merged(g: Guide) -> None:
    g.task("both", lambda a, b: [a, b])
    assert g.value(g.sig("both", 4), 2) == [2, 4]
    assert g.value(g.sig("same").clone((), {"x": 1}).clone((), {"x": 2})) == 2


def test_options_are_merged_and_a_clone_leaves_the_original_alone(g: Guide) -> None:
    partial = g.add.s(2).set(queue="bulk")
    assert partial.clone((4,)).set(tenant="acme").spec.options.queue == "bulk"
    assert partial.spec.args == (2,)


def test_an_immutable_signature_takes_no_partial_arguments(g: Guide) -> None:
    g.add.apply_async((2, 2), link=g.sig("log_result", "reset", immutable=True))
    g.processes.drain()
    assert g.seen == ["reset"]
    assert g.add.signature((2, 2), immutable=True) == g.add.si(2, 2)


def test_a_callback_is_handed_the_result(g: Guide) -> None:
    assert g.add.apply_async((2, 2), link=g.sig("log_result")) is not None
    s = g.add.s(2, 2)
    s.link(g.sig("mul", 4))
    s.link(g.sig("log_result"))
    assert g.value(s) == 4
    assert (g.seen, g.ran["mul"]) == ([4, 4], 1)


def test_several_callbacks_are_all_called(g: Guide) -> None:
    g.add.apply_async((2, 2), link=[g.sig("log_result"), g.sig("same")])
    g.processes.drain()
    assert (g.seen, g.ran["same"]) == ([4], 1)


def test_a_simple_chain(g: Guide) -> None:
    result = chain(g.add.s(2, 2), g.add.s(4), g.add.s(8))()
    g.processes.drain()
    assert result.get() == 16
    assert (result.parent.get(), result.parent.parent.get()) == (8, 4)


def test_a_chain_by_pipes(g: Guide) -> None:
    assert g.value(g.add.s(2, 2) | g.add.s(4) | g.add.s(8)) == 16


def test_a_chain_of_immutable_signatures_is_a_sequence(g: Guide) -> None:
    result = (g.add.si(2, 2) | g.add.si(4, 4) | g.add.si(8, 8)).delay()
    g.processes.drain()
    assert [r.get() for r in (result, result.parent, result.parent.parent)] == [16, 8, 4]


def test_a_simple_group(g: Guide) -> None:
    assert g.value(group(g.add.s(i, i) for i in range(10))) == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]


def test_a_simple_chord(g: Guide) -> None:
    result = chord((g.add.s(i, i) for i in range(10)), g.sig("tsum"))()
    g.processes.drain()
    assert result.get() == 90


def test_a_chain_with_a_group_of_a_new_user(g: Guide) -> None:
    flow = g.sig("same") | group(g.sig("log_result"), g.sig("mul", 2))
    assert g.value(flow, 21) == [21, 42]


def test_members_that_are_immutable_are_not_handed_what_came_before(g: Guide) -> None:
    assert g.value(g.add.s(4, 4) | group(g.add.si(i, i) for i in range(3))) == [0, 2, 4]


def test_a_chain_of_a_group_and_a_task_is_a_chord(g: Guide) -> None:
    assert g.value(group(g.add.s(i, i) for i in range(10)) | g.sig("tsum")) == 90
    assert g.value(chain(g.add.s(1, 1), group(g.add.s(i) for i in range(3)), g.sig("tsum"), g.add.s(1))) == 10


def test_a_chord_within_a_chain_goes_on_after_its_body(g: Guide) -> None:
    assert g.value(chord([g.add.s(1, 1), g.add.s(2, 2)], g.sig("tsum")) | g.sig("mul", 7)) == 42


def test_two_groups_after_one_another_are_a_chord_whose_body_is_a_group(g: Guide) -> None:
    assert g.value(group(g.add.s(1, 1), g.add.s(2, 2)) | group(g.sig("tsum"), g.sig("same"))) == [6, [2, 4]]


def test_a_group_of_one_in_a_chain_hands_on_a_list_of_one(g: Guide) -> None:
    """Celery unrolls it, so that what follows is handed a list or not depending on the number of members. Here it is a list always."""
    assert g.value(chain(g.add.s(2, 2), group(g.add.s(1)), g.sig("same"))) == [5]


def test_a_group_tells_how_far_it_is(g: Guide) -> None:
    result = group(g.add.s(2, 2), g.add.s(4, 4)).delay()
    assert (result.ready(), result.waiting(), result.completed_count()) == (False, True, 0)
    g.processes.drain()
    assert (result.ready(), result.successful(), result.failed(), result.completed_count(), result.join()) == (True, True, False, 2, [4, 8])


def test_an_error_callback_is_called_with_the_request_the_exception_and_the_traceback(g: Guide) -> None:
    g.app.send_task("fail")
    g.sig("fail").apply_async(link_error=g.sig("log_error"))
    g.sig("fail").on_error(g.sig("log_error")).delay()
    g.processes.drain()
    assert g.seen == [("fail", "ValueError", "out of stock", True)] * 2


def test_an_error_callback_that_takes_one_argument_is_called_with_the_failed_tasks_id(g: Guide) -> None:
    result = g.sig("fail").on_error(g.sig("on_id")).delay()
    g.processes.drain()
    assert g.seen == [result.id]


def test_an_immutable_error_callback_is_called_with_its_own_arguments(g: Guide) -> None:
    g.sig("fail").on_error(g.sig("on_id", "alarm", immutable=True)).delay()
    g.processes.drain()
    assert g.seen == ["alarm"]


def test_an_error_callback_of_a_chain_is_called_for_whichever_step_failed_once(g: Guide) -> None:
    result = (g.add.s(1, 1) | g.sig("fail") | g.add.s(1)).on_error(g.sig("log_error")).delay()
    g.processes.drain()
    assert g.seen == [("fail", "ValueError", "out of stock", True)]
    with pytest.raises(RemoteError, match="out of stock"):
        result.get()


def test_an_error_callback_of_a_group_is_called_for_each_member_that_failed(g: Guide) -> None:
    flow = group(g.sig("fail"), g.add.s(1, 1), g.sig("fail"))
    flow.link_error(g.sig("on_id"))
    result = flow.delay()
    g.processes.drain()
    assert sorted(g.seen) == sorted([result[0].id, result[2].id])


def test_a_callback_of_a_group_is_handed_the_list_once(g: Guide) -> None:
    """Celery links it to the first member, without its result, and says that this is misleading. Here it is handed the list."""
    flow = group(g.add.s(2, 2), g.add.s(4, 4))
    flow.link(g.sig("log_result"))
    assert g.value(flow) == [4, 8]
    assert g.seen == [[4, 8]]


def test_a_chord_whose_header_failed_raises_what_its_member_raised(g: Guide) -> None:
    """Celery raises a `ChordError` around it, or sometimes the error itself; here it is always the error itself."""
    result = chord([g.add.s(4, 4), g.sig("fail"), g.add.s(8, 8)], g.sig("tsum"))()
    g.processes.drain()
    with pytest.raises(RemoteError, match="out of stock") as failed:
        result.get()
    assert failed.value.type_name == "ValueError"
    assert "1 of 3 members of the header" in failed.value.__notes__[0]
    assert g.ran["tsum"] == 0


def test_an_error_callback_of_a_chords_body_is_called_when_the_header_failed(g: Guide) -> None:
    body = g.sig("tsum").on_error(g.sig("on_id"))
    result = (group(g.sig("fail"), g.add.s(1, 1)) | body).delay()
    g.processes.drain()
    assert g.seen == [result.id]


def test_an_error_callback_of_a_chord_is_called_for_members_and_body_but_not_twice_for_one_failure(g: Guide) -> None:
    flow = chord([g.sig("fail"), g.sig("fail")], g.sig("tsum"))
    flow.link_error(g.sig("on_id"))
    result = flow.delay()
    good = chord([g.add.s(1, 1)], g.sig("fail"))
    good.link_error(g.sig("on_id"))
    other = good.delay()
    g.processes.drain()
    assert sorted(g.seen) == sorted([*(m.id for m in result.parent), other.id])


def test_the_body_of_a_chord_may_be_immutable(g: Guide) -> None:
    result = chord(g.add.s(i, i) for i in range(3))(g.sig("same", "done", immutable=True))
    g.processes.drain()
    assert result.get() == "done"


def test_the_header_of_a_chord_may_ignore_its_results(g: Guide) -> None:
    """Celery forbids it."""
    assert g.value(chord([g.add.s(1, 1).set(ignore_result=True), g.add.s(2, 2)], g.sig("tsum"))) == 6


def test_map_and_starmap_are_one_message(g: Guide) -> None:
    tsum, add = g.task("tsum2", sum), g.add
    before = len(g.stage.audit.ends)
    assert g.value(tsum.map([list(range(10)), list(range(100))])) == [45, 4950]
    assert g.value(add.starmap(zip(range(10), range(10), strict=True))) == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert len(g.stage.audit.ends) - before == 2


def test_a_worker_that_never_made_a_map_runs_one(g: Guide) -> None:
    published = g.add.starmap([(1, 2), (3, 4)]).delay()
    worker = Guide(g.stage)
    worker.processes.drain()
    assert published.get(timeout=1) == [3, 7]
    assert worker.ran == {"add": 2}
    assert g.ran == {}


def test_map_starmap_and_chunks_after_a_step_are_not_handed_its_value(g: Guide) -> None:
    add, tsum = g.add, Task(g.app.registry.tasks["tsum"], g.app)
    assert g.value(add.s(1, 1) | tsum.map([[1, 2], [3]])) == [3, 3]
    assert g.value(add.s(1, 1) | add.chunks([(1, 2), (3, 4)], 1) | tsum.map([[5]]) | add.starmap([(1, 1)])) == [2]


@pytest.mark.parametrize(("policy", "runs"), [(False, 1), (Retry(max_retries=1, interval_start=1), 2)])
def test_a_map_that_fails_is_tried_again_as_its_task_would_be(g: Guide, policy: Any, runs: int) -> None:
    fails = g.task("picky", lambda value: 1 // value, retry=policy)
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        g.value(fails.map([0, 2]))
    assert g.ran["picky"] == runs


def test_a_map_is_put_together_without_a_connection() -> None:
    app = Sedano("elsewhere")
    half = app.task(name="half")(lambda n: n // 2)
    assert len(group(half.map([2, 4]), half.starmap([(2,)]), half.chunks([(2,), (4,)], 1)).members) == 3


def test_chunks_are_a_group_of_few_messages(g: Guide) -> None:
    parts = g.add.chunks(zip(range(100), range(100), strict=True), 10)
    assert g.value(parts) == [[2 * (10 * c + i) for i in range(10)] for c in range(10)]
    assert len(parts.group().members) == 10
    with pytest.raises(ArgumentError, match="missing"):
        g.add.chunks([(1,)], 1)


def test_a_group_is_skewed_so_that_its_members_begin_one_after_another(g: Guide) -> None:
    parts = g.add.chunks(zip(range(30), range(30), strict=True), 10).group().skew(start=1, stop=2)
    assert [m.signature.options.countdown for m in parts.members] == [1, 2, 2]
    assert len(g.value(parts)) == 3


def test_everything_nests_in_everything(g: Guide) -> None:
    inner = chord([g.add.s(1), group(g.add.s(2), g.add.s(3)) | g.sig("tsum")], g.sig("tsum"))
    flow = chain(g.add.s(1, 1), group(inner, g.add.s(5) | g.sig("mul", 2)), fork(g.sig("log_result")), g.sig("tsum"), group(g.add.s(1)))
    assert g.value(flow) == [27]
    assert g.seen == [[12, 14]]
