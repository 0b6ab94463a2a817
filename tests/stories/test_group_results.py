"""Results of several tasks: how sets and groups are waited for, counted, revoked, saved and drawn."""

from typing import Any

import pytest

from sedano import AsyncResult, GroupResult, chord, group
from sedano.errors import NoResult, OptionError, RemoteError, ResultTimeout
from sedano.model.canvas.join import WIDTH, Arrival, path
from sedano.result import Derived, Progress, ResultSet
from sedano.result.waits import READ_AT_ONCE
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop; waiting for a result lets them work."""
    return Processes(stage, shop.app)


def after(shop: Shop, parent: Any, task: str = "pack") -> AsyncResult[Any]:
    """Return the result of a task that was never published, because what it waits for did not end well."""
    return AsyncResult(shop.app.outlet, f"after {parent.id}", parent=parent, name=task)


def test_values_of_a_group_come_in_order_and_of_groups_within_as_lists(stage: Stage, shop: Shop, processes: Processes) -> None:
    flat = group(shop.add.s(n, n) for n in range(READ_AT_ONCE + 1)).delay()
    inner = group(shop.add.s(n, 1) for n in range(2)).delay()
    single = shop.add.delay(9, 9)
    processes.drain()
    before = stage.audit.reads
    assert flat.get() == [2 * n for n in range(READ_AT_ONCE + 1)]
    assert stage.audit.reads - before == 2
    seen: list[tuple[str, Any]] = []
    nested = ResultSet([single, inner, GroupResult([])])
    assert nested.get(callback=lambda task_id, value: seen.append((task_id, value))) == [18, [1, 2], []]
    assert seen == [(single.id, 18), (inner[0].id, 1), (inner[1].id, 2)]
    assert ResultSet([]).get() == GroupResult([]).join() == list(ResultSet([]).iterate()) == []


def test_the_first_failure_in_order_is_raised_and_nothing_after_it_is_waited_for(shop: Shop, processes: Processes) -> None:
    some = group([shop.add.s(1, 1), shop.fails.s(), shop.add.s(2, 2).set(countdown=900)]).delay()
    for _ in range(3):
        processes.deliver()
    with pytest.raises(RemoteError, match="out of stock"):
        some.get(timeout=0)
    assert (some.progress(), some.completed_count(), some.ready(), some.failed()) == (Progress(2, 1, 3), 1, False, True)
    with pytest.raises(RemoteError, match="out of stock"):
        some.maybe_throw()
    processes.drain()
    assert [str(value) for value in some.get(propagate=False)] == ["2", "ValueError: out of stock", "4"]
    assert (some.ready(), some.successful(), some.waiting()) == (True, False, False)


def test_values_come_as_the_tasks_end(stage: Stage, shop: Shop, processes: Processes) -> None:
    some = group([shop.add.s(1, 1).set(countdown=60), shop.add.s(2, 2), shop.add.s(3, 3).set(countdown=30)]).delay()
    arriving = some.iterate()
    got = []
    processes.deliver(COMMANDS)
    for wait in (0, 30, 30):
        stage.pass_time(wait + 0.001)
        processes.deliver(COMMANDS)
        got.append(next(arriving))
    assert got == [4, 6, 2]
    assert list(arriving) == []
    with pytest.raises(ResultTimeout, match="1 of 2 tasks did not end within 3 s"):
        list(ResultSet([some[0], shop.add.apply_async((1, 1), countdown=900)]).iterate(timeout=3))


def test_failures_among_values_as_they_come_are_raised_or_yielded(shop: Shop, processes: Processes) -> None:
    some = group([shop.fails.s(), shop.add.s(2, 2)]).delay()
    processes.drain()
    with pytest.raises(RemoteError, match="out of stock"):
        list(some.iterate())
    assert {one.id: str(value) for one, value in some.iter_native()} == {some[0].id: "ValueError: out of stock", some[1].id: "4"}


def test_a_set_of_results_can_be_changed(shop: Shop, processes: Processes) -> None:
    first, second = shop.add.delay(1, 1), shop.add.delay(2, 2)
    some = ResultSet([first])
    some.update([second, first, shop.app.result(second.id)])
    processes.drain()
    assert (len(some), some.get(), second in some, some[1]) == (2, [2, 4], True, second)
    some.remove(first)
    assert some == ResultSet([second])
    with pytest.raises(KeyError):
        some.remove(first)
    some.discard(first)
    some.clear()
    assert (some.get(), some.ready(), some.progress()) == ([], True, Progress(0, 0, 0))


class Compared(AsyncResult[Any]):
    """A result that counts how often it is compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        """Count, and compare."""
        Compared.times += 1
        return super().__eq__(other)

    __hash__ = AsyncResult.__hash__


def test_equal_sets_of_results_are_one_key_and_adding_many_compares_few(shop: Shop, processes: Processes) -> None:
    first, second = shop.add.delay(1, 1), shop.add.delay(2, 2)
    again = [shop.app.result(first.id), shop.app.result(second.id)]
    assert len({ResultSet([first, second]), ResultSet(again), ResultSet([ResultSet([first]), second]), ResultSet([second])}) == 2
    assert {ResultSet([]), GroupResult([]), ResultSet([GroupResult([])])} == {ResultSet([])}
    some = ResultSet([first])
    some.update(Compared(shop.app.outlet, f"t-{n}") for n in range(1_000))
    assert len(some) == 1_001
    assert Compared.times < 1_000


def test_the_progress_of_a_join_is_read_from_its_sets(stage: Stage, shop: Shop) -> None:
    shop.app.attach(stage.ports)
    size = 3 * WIDTH + 5
    joined = GroupResult(Derived(shop.app.outlet, "j", size), group_id="j", join_id="j")
    for index in range(0, size, 2):
        node, child = path(index, size)[0]
        stage.ports.ledger.arrive([Arrival("j", node, child, index % 10 == 0)])
    before = stage.audit.reads
    assert joined.progress() == Progress(195, 39, size)
    assert stage.audit.reads - before == 1


def test_the_results_of_a_large_group_are_made_when_they_are_looked_at(stage: Stage, shop: Shop, processes: Processes) -> None:
    parent = shop.add.delay(1, 1)
    many = Derived(shop.app.outlet, "base", 100_000, "m", group_id="g", parent=parent)
    held = GroupResult(many, group_id="g", parent=parent)
    assert (len(held), held[99_999], held[-1].group_id, held[7].parent) == (100_000, held[-1], "g", parent)
    assert [one.id for one in many[3:5]] == [many.id_of(3), many.id_of(4)]
    assert parent.followers == [held]
    with pytest.raises(IndexError):
        held[100_000]
    before = stage.audit.reads
    with pytest.raises(ResultTimeout):
        held.get(timeout=0)
    assert stage.audit.reads - before == 1
    processes.drain()


def test_revoking_a_canvas_stops_everything_that_has_not_ended(shop: Shop, processes: Processes) -> None:
    ended = shop.add.delay(1, 1)
    processes.drain()
    members = group(shop.add.s(n, n) for n in range(3)).delay()
    header = GroupResult(members.results, group_id="h", parent=ended)
    body = after(shop, header)
    body.revoke(canvas=True)
    processes.drain()
    assert [r.state for r in (ended, *members, body)] == ["SUCCESS", "REVOKED", "REVOKED", "REVOKED", "REVOKED"]
    lone = group(shop.add.s(n, n) for n in range(2)).delay()
    lone.revoke()
    processes.drain()
    assert [r.state for r in lone] == ["REVOKED", "REVOKED"]
    assert shop.ran["add"] == 1


def test_forgetting_drops_what_everything_before_said_too(shop: Shop, processes: Processes) -> None:
    first, members = shop.add.delay(1, 1), group(shop.add.s(n, n) for n in range(2)).delay()
    processes.drain()
    header = GroupResult(members.results, group_id="h", parent=first)
    assert (first.get(), header.get()) == (2, [0, 2])
    header.forget()
    for forgotten in (first, header, members[1]):
        with pytest.raises(NoResult, match="forgotten"):
            forgotten.get()


def test_a_group_is_saved_and_found_again_by_another_process(stage: Stage, shop: Shop, processes: Processes) -> None:
    first = shop.add.delay(1, 1)
    members = group(shop.add.s(n, n) for n in range(3)).delay()
    second = AsyncResult[Any](shop.app.outlet, members[1].id, parent=first)
    inner = GroupResult([AsyncResult(shop.app.outlet, members[2].id, parent=second)], group_id="i")
    large = GroupResult(Derived(shop.app.outlet, "base", 20_000, "m", group_id="l"), group_id="l", join_id="j")
    whole = GroupResult([members[0], inner, large], group_id="g", parent=first)
    whole.save()
    whole.save()
    processes.drain()
    other = Shop()
    other.app.attach(stage.ports)
    found = GroupResult.restore("g", other.app)
    assert (found.id, found.parent, len(found)) == ("g", first, 3)
    assert (found[1].get(), found[0].get(), found.parent.get()) == ([4], 0, 2)
    assert (found[1][0].parent.parent, found[2].join_id, found[2][5].group_id) == (first, "j", "l")
    assert other.app.group_result("g") == whole, "all ids are equal"
    found.delete()
    with pytest.raises(NoResult, match="no group is saved as g"):
        GroupResult.restore("g", other.app)


def test_a_group_that_cannot_be_saved_or_found_says_why(shop: Shop, processes: Processes) -> None:
    some = group(shop.add.s(n, n) for n in range(2)).delay()
    for nameless in (GroupResult(some.results), GroupResult([], group_id="g")):
        with pytest.raises(OptionError, match="no id or no results and cannot be saved"):
            nameless.save()
    GroupResult(some.results, group_id="g").save()
    with pytest.raises(OptionError, match="the id g belongs to another saved or deleted group"):
        GroupResult(some.results[:1], group_id="g").save()
    with pytest.raises(NoResult, match="no group is saved as unknown"):
        GroupResult.restore("unknown", shop.app)
    assert processes.generation == 1


def test_a_canvas_is_drawn_with_what_waits_for_what(shop: Shop, processes: Processes) -> None:
    first = shop.add.delay(1, 1)
    outlet = shop.app.outlet
    packs = [AsyncResult[Any](outlet, f"m{n}", parent=first, name="pack", follows=False) for n in range(2)]
    header = GroupResult(packs, group_id="h", parent=first)
    large = GroupResult(Derived(outlet, "b", 1000, parent=header), group_id="l", parent=header)
    body = AsyncResult[Any](outlet, "body", parent=large, name='to"tal')
    processes.drain()
    graph = first.graph
    assert graph.edges == [(first.id, "m0"), (first.id, "m1"), ("m0", "group l"), ("m1", "group l"), ("group l", "body")]
    assert sorted(graph.edges) == sorted(body.graph.edges) == sorted(header.graph.edges)
    drawn = graph.to_mermaid(live=True).splitlines()
    assert drawn[:2] == ["graph LR", f'  t0["{first.id[:8]}<br/>SUCCESS"]:::done']
    assert '  t3["1000 tasks"]' in drawn
    assert '  t4["to#quot;tal"]' in drawn
    assert "  t3 --> t4" in drawn
    assert "SUCCESS" not in graph.to_mermaid()


def test_a_chords_result_knows_its_header(shop: Shop, processes: Processes) -> None:
    result = chord([shop.add.s(n, n) for n in range(3)])(shop.total.s())
    processes.drain()
    assert (result.get(), result.parent.get(), result.progress()) == (6, [0, 2, 4], Progress(4, 0, 4))
