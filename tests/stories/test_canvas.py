"""Groups and chords: published whole, joined once, with results in order and failures with their causes."""

import pytest

from sedano import chord, group
from sedano.errors import ArgumentError, RemoteError
from sedano.model import states
from sedano.model.canvas.join import WIDTH
from sedano.ports import Ports
from tests.commands import command_in
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import Crash, Watch, tapped


def test_a_group_returns_its_results_in_order(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    results = group(shop.add.s(n, 1) for n in range(12)).delay()
    processes.drain()
    assert results.get() == list(range(1, 13))
    assert results.completed_count() == len(results) == 12
    assert_kept(stage, succeeded(launch=1, add=12))


def test_an_empty_group_is_done_at_once(stage: Stage, shop: Shop) -> None:
    Processes(stage, shop.app)
    assert group([]).delay().get() == []


def test_a_group_tells_which_member_failed(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    results = group([shop.add.s(1, 1), shop.fails.s()]).delay()
    processes.drain()
    with pytest.raises(RemoteError, match="out of stock"):
        results.get()
    kept = results.get(propagate=False)
    assert kept[0] == 2
    assert isinstance(kept[1], RemoteError)


@pytest.mark.parametrize("size", [0, 1, 2, 11])
def test_the_body_gets_all_results_in_order(stage: Stage, shop: Shop, size: int) -> None:
    shop.task("listed", lambda xs: xs)
    processes = Processes(stage, shop.app)
    result = chord(shop.add.s(n, n) for n in range(size))(shop.app_sig("listed"))
    processes.drain()
    assert result.get() == [2 * n for n in range(size)]
    assert result.parent is not None
    assert result.parent.completed_count() == size
    assert_kept(stage, succeeded(launch=1, listed=1) + succeeded(**({"add": size} if size else {})))


def test_a_header_wider_than_a_shard_is_joined_as_a_tree(shop: Shop) -> None:
    stage = in_memory()
    processes = Processes(stage, shop.app)
    size = 2 * WIDTH + 3
    result = chord(shop.add.s(n, 1) for n in range(size))(shop.total.s())
    processes.drain()
    assert result.get() == sum(range(1, size + 1))
    assert_kept(stage, succeeded(launch=1, add=size, total=1))


def _told(watch: Watch) -> tuple[Stage, Processes, Ports]:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app)
    chord(shop.add.s(n, 1) for n in range(WIDTH + 1))(shop.total.s())
    return stage, processes, tapped(stage.ports, watch)


def test_a_tree_survives_a_crash_at_each_arrival() -> None:
    watch = Watch(ports=frozenset({"ledger"}))
    _, processes, ports = _told(watch)
    processes.restart(ports)
    processes.drain()
    points = [at for at, call in enumerate(watch.calls) if call in ("ledger.arrive", "ledger.read_join", "ledger.open_join")]
    assert len(points) >= 16
    for at in points:
        stage, processes, ports = _told(Watch(at, "after", ports=frozenset({"ledger"})))
        processes.restart(ports)
        with pytest.raises(Crash):
            processes.drain()
        processes.recover()
        assert_kept(stage, succeeded(launch=1, add=WIDTH + 1, total=1))


def test_an_immutable_body_is_not_handed_the_results(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = chord([shop.add.s(1, 1)])(shop.add.si(20, 22))
    processes.drain()
    assert result.get() == 42


def test_results_come_before_the_bodys_own_arguments(stage: Stage, shop: Shop) -> None:
    shop.task("both", lambda xs, end: [*xs, end])
    processes = Processes(stage, shop.app)
    result = chord([shop.add.s(1, 1)])(shop.app_sig("both").clone(("end",)))
    processes.drain()
    assert result.get() == [2, "end"]


def test_a_body_does_not_run_when_members_failed_and_says_why(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = chord([shop.fails.s(), shop.add.s(1, 1), shop.fails.s()])(shop.total.s())
    processes.drain()
    with pytest.raises(RemoteError) as failed:
        result.get()
    assert (failed.value.type_name, failed.value.message) == ("ValueError", "out of stock")
    record = result.record()
    assert record is not None
    assert record.error is not None
    assert "2 of 3 members of the header did not succeed: member 0 (fails, " in record.error.notes
    assert "ValueError: out of stock; member 2" in record.error.notes
    assert record.error.cause in {member.id for member in result.parent}
    assert shop.ran["total"] == 0
    effects = {**succeeded(launch=1, add=1), ("fails", states.FAILURE): 2, ("total", states.FAILURE): 1}
    assert_kept(stage, effects)


def test_a_member_that_keeps_no_result_is_still_joined(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = chord([shop.loose.s(1), shop.add.s(1, 1)])(shop.total.s())
    processes.drain()
    assert result.get() == 3
    assert_kept(stage, succeeded(launch=1, loose=1, add=1, total=1, pack=1))


def test_a_chord_in_a_chord_is_published_from_inside_a_task(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.plan.delay(3)
    processes.drain()
    assert_kept(stage, succeeded(plan=1, launch=1, add=3, total=1))


def test_the_message_of_a_chord_has_an_upper_bound(stage: Stage, shop: Shop) -> None:
    Processes(stage, shop.app)
    for size in (500, 5_000):
        chord(shop.add.s(n, n) for n in range(size))(shop.total.s())
    assert [len(one.body) < 2_700 for one in stage.peek(COMMANDS)] == [True, True]


def test_a_member_with_wrong_arguments_is_refused_where_it_is_written(stage: Stage, shop: Shop) -> None:
    Processes(stage, shop.app)
    with pytest.raises(ArgumentError, match=r"data: missing a required argument: 'b'"):
        chord([shop.add.s(1)])(shop.total.s())
    assert stage.peek(COMMANDS) == []


def test_members_and_body_know_where_they_come_from(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    chord([shop.add.s(1, 1)])(shop.total.s())
    (launch,) = [command_in(m.body) for m in stage.peek(COMMANDS)]
    processes.deliver()
    (member,) = [command_in(m.body) for m in stage.peek(COMMANDS)]
    processes.deliver()
    (body,) = [command_in(m.body) for m in stage.peek(COMMANDS)]
    assert member.lineage.root_id == body.lineage.root_id == launch.task_id
    assert launch.clock < member.clock < body.clock
