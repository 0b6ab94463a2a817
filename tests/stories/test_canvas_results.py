"""The results of real canvases: what their handles know without asking, what they tell while it runs, and how all of it is stopped."""

from typing import Any

import pytest

from sedano import AsyncResult, GroupResult, chain, chord, fork, group
from sedano.errors import NoResult, RemoteError, TaskRevoked
from sedano.model import states
from sedano.model.canvas.join import WIDTH
from sedano.result import Derived, Progress
from tests.stories.kept import told
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop."""
    return Processes(stage, shop.app)


def every(result: Any) -> list[AsyncResult[Any]]:
    """Return the results of all tasks up to *result*."""
    found: list[AsyncResult[Any]] = []
    while result is not None:
        found += [one for member in result.results for one in every(member)] if isinstance(result, GroupResult) else [result]
        result = result.parent
    return list({one.id: one for one in found}.values())


def test_handles_know_the_ancestry_that_the_messages_bear(stage: Stage, shop: Shop, processes: Processes) -> None:
    members = group(shop.pack.s(), shop.label.s() | shop.mail.s())
    result = (shop.add.s(1, 1) | shop.pack.s() | members | shop.label.s() | group(shop.count.s(), shop.mail.s())).delay()
    alone = group(shop.add.s(1, 1), shop.add.s(2, 2)).delay()
    header = chord([shop.add.s(1, 1), shop.add.s(2, 2)], shop.total.s()).delay()
    processes.drain()
    history = told(stage)
    known = [*every(result), *every(alone), *every(header)]
    assert len(known) == 13
    for one in known:
        fields = history[one.id].fields
        assert (one.root_id, one.parent_id, one.name) == (fields["root_id"], fields["parent_id"], fields["name"]), one.name
    assert [member.group_id for member in result.parent.parent] == [result.parent.parent.id] * 2


def test_a_canvas_is_walked_from_its_first_step_to_its_last(shop: Shop, processes: Processes) -> None:
    result = (shop.add.s(1, 1) | shop.pack.s() | shop.label.s()).delay()
    first = result.parent.parent
    processes.drain()
    assert [(one.name, value) for one, value in first.collect()] == [("add", 2), ("pack", 2), ("label", 2)]
    branched = chain(shop.add.s(1, 1), group(shop.pack.s(), shop.label.s()), shop.total.si([5])).delay()
    processes.drain()
    first_of_it = branched.parent.parent
    assert [value for _, value in first_of_it.collect()] == [2, [2, 2], 2, 2, 5]
    assert first.graph.edges == [(first.id, result.parent.id), (result.parent.id, result.id)]


def test_the_progress_of_a_chord_is_told_while_it_runs(stage: Stage, shop: Shop, processes: Processes) -> None:
    size = WIDTH + 1
    result = chord([shop.add.s(n, n) for n in range(size)], shop.total.s()).delay()
    header = result.parent
    assert header.progress() == Progress(0, 0, size)
    processes.deliver(COMMANDS)
    processes.deliver(COMMANDS)
    before = stage.audit.reads
    assert header.progress() == Progress(10, 0, size)
    assert stage.audit.reads - before == 1
    processes.drain()
    assert (header.progress(), header.ready(), result.progress()) == (Progress(size, 0, size), True, Progress(size + 1, 0, size + 1))
    assert result.get() == 2 * sum(range(size))


def test_the_results_of_a_hundred_thousand_members_are_not_made_before_they_are_looked_at(shop: Shop, processes: Processes) -> None:
    many = group(shop.add.si(1, 1) for _ in range(100_000)).freeze()
    assert isinstance(many.results, Derived)
    assert (len(many), many[99_999].group_id) == (100_000, many.id)
    assert processes.generation == 1


def test_a_canvas_that_is_revoked_stops_where_it_is_and_everybody_learns_of_it(shop: Shop, processes: Processes) -> None:
    result = (shop.add.s(1, 1) | group(shop.pack.s(), shop.label.s()) | shop.total.si([1]) | shop.mail.s()).delay()
    processes.deliver(COMMANDS)
    result.revoke(canvas=True)
    processes.drain()
    assert shop.ran == {"add": 1}
    assert {one.name: one.state for one in every(result)} == {
        "add": states.SUCCESS, **dict.fromkeys(("pack", "label", "total", "mail"), states.REVOKED),
    }  # fmt: skip
    for one in (result, result.parent, *result.parent.parent):
        with pytest.raises(TaskRevoked):
            one.get()


@pytest.mark.parametrize("nothing", [group, lambda: group(group(), group())], ids=["a group of nothing", "a group of such groups"])
def test_a_group_of_nothing_is_revoked_and_forgotten_with_what_stands_before_it(nothing: Any, shop: Shop, processes: Processes) -> None:
    lone = nothing().delay()
    lone.revoke(canvas=True)
    lone.forget()
    result = (shop.add.s(1, 1) | nothing()).delay()
    result.revoke(canvas=True)
    processes.drain()
    assert shop.ran.get("add", 0) == 0
    assert result.parent.state == states.REVOKED
    ended = (shop.add.s(1, 1) | nothing()).delay()
    processes.drain()
    assert ended.parent.get() == 2
    ended.forget()
    with pytest.raises(NoResult):
        ended.parent.get()


def test_one_step_that_is_revoked_ends_the_canvas_after_it(shop: Shop, processes: Processes) -> None:
    result = chord([shop.add.s(1, 1), shop.pack.s(2)], shop.total.s()).delay()
    result.parent[1].revoke()
    processes.drain()
    assert shop.ran == {"add": 1}
    with pytest.raises(TaskRevoked, match=result.parent[1].id):
        result.get()
    with pytest.raises(TaskRevoked):
        result.parent.get()


def test_every_cause_is_visible_and_the_first_is_raised(shop: Shop, processes: Processes) -> None:
    result = chord([shop.add.s(1, 1), shop.fails.s(), chain(shop.fails.s(), shop.pack.s())], shop.total.s()).delay()
    processes.drain()
    with pytest.raises(RemoteError, match="out of stock") as raised:
        result.get()
    assert str(raised.value) == "ValueError: out of stock"
    assert raised.value.task_id in {result.parent[1].id, result.parent[2].parent.id}
    assert "2 of 3 members of the header did not succeed: member 1" in "".join(raised.value.__notes__)


def test_a_published_canvas_is_saved_and_restored_with_everything_in_it(stage: Stage, shop: Shop, processes: Processes) -> None:
    nested = group(group(shop.add.s(n) for n in range(3)), shop.pack.s() | shop.label.s(), shop.fails.si())
    result = (shop.add.s(1, 1) | nested).delay()
    result.save()
    other = Shop()
    other.app.attach(stage.ports)
    found = other.app.group_result(result.id)
    processes.drain()
    assert found.ids() == result.ids()
    assert [one.id for one in every(found)] == [one.id for one in every(result)]
    assert [str(value) for value in found.get(propagate=False)] == [str(value) for value in result.get(propagate=False)]
    found.forget()
    with pytest.raises(NoResult, match="forgotten"):
        found.parent.get()


def test_side_branches_are_seen_and_not_waited_for(shop: Shop, processes: Processes) -> None:
    result = chain(shop.add.s(1, 1), fork(shop.fails.si(), shop.pack.s()), shop.label.s()).delay()
    processes.drain()
    assert result.get() == 2
    failed, packed = result.forks
    assert (failed.state, packed.get()) == (states.FAILURE, 2)
