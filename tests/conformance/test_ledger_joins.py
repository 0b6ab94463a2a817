"""Joins: sets of members, so that arriving twice changes nothing (PROTOCOLS §4)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sedano.model.canvas.join import WIDTH, Arrival, Arrived, Join, Node, is_full, path
from sedano.model.messages.message import BlobRef
from tests.conformance.worlds import World

NODE = Node(0, 0, 3)


def arrivals(*children: int, failed: tuple[int, ...] = (), join_id: str = "join-1", node: Node = NODE) -> list[Arrival]:
    """Arrivals of *children* at one node."""
    return [Arrival(join_id, node, child, child in failed) for child in children]


def test_an_arrival_is_answered_with_the_sets_as_they_are_then(world: World) -> None:
    assert world.ledger.arrive(arrivals(1)) == [Arrived(frozenset({1}))]
    assert world.ledger.arrive(arrivals(0, failed=(0,))) == [Arrived(frozenset({0, 1}), frozenset({0}))]
    assert world.ledger.arrive(arrivals(2)) == [Arrived(frozenset({0, 1, 2}), frozenset({0}))]


def test_arriving_twice_changes_nothing(world: World) -> None:
    world.ledger.arrive(arrivals(1, failed=(1,)))
    assert world.ledger.arrive(arrivals(1, failed=(1,))) == [Arrived(frozenset({1}), frozenset({1}))]


def test_arriving_again_after_a_lost_answer_changes_nothing(world: World) -> None:
    with world.losing("UpdateItem"):
        world.ledger.arrive(arrivals(1))
    assert world.ledger.arrive(arrivals(1)) == [Arrived(frozenset({1}))]


def test_a_failure_once_said_stays(world: World) -> None:
    world.ledger.arrive(arrivals(1, failed=(1,)))
    assert world.ledger.arrive(arrivals(1)) == [Arrived(frozenset({1}), frozenset({1}))]


def test_arrivals_of_one_call_at_one_node_see_each_other(world: World) -> None:
    full = Arrived(frozenset({0, 1, 2}), frozenset({1}))
    assert world.ledger.arrive(arrivals(0, 1, 2, failed=(1,))) == [full, full, full]


def test_nodes_and_joins_are_apart(world: World) -> None:
    other = Node(1, 0, 3)
    batch = [*arrivals(0), *arrivals(1, node=other), *arrivals(2, join_id="join-2")]
    assert world.ledger.arrive(batch) == [Arrived(frozenset({child})) for child in (0, 1, 2)]
    assert world.ledger.arrive([]) == []


def test_nodes_are_read_as_they_are_without_arriving(world: World) -> None:
    nodes = [Node(0, number, WIDTH) for number in range(150)]
    world.ledger.arrive(arrivals(1, 5, failed=(5,), node=nodes[0]))
    world.ledger.arrive(arrivals(0, node=nodes[149]))
    empty = Arrived(frozenset())
    for _ in range(2):
        found = world.ledger.read_nodes("join-1", nodes)
        assert (found[0], found[149]) == (Arrived(frozenset({1, 5}), frozenset({5})), Arrived(frozenset({0})))
        assert found[1:149] == [empty] * 148
    assert world.ledger.read_nodes("join-2", nodes[:1]) == [empty]
    assert world.ledger.read_nodes("join-1", []) == []


def test_a_join_is_opened_once(world: World) -> None:
    join = Join("join-1", 3, '{"specversion":"1.0"}', "commands:default", BlobRef("ab" * 32, 70_000))
    world.ledger.open_join(join)
    world.ledger.open_join(Join("join-1", 4, "{}", "commands:bulk"))
    assert world.ledger.read_join("join-1") == join
    assert world.ledger.read_join("join-2") is None


def test_a_join_without_a_claim_check_is_read_back(world: World) -> None:
    join = Join("join-1", 1, "{}", "commands:default")
    world.ledger.open_join(join)
    assert world.ledger.read_join("join-1") == join


def test_a_join_fills_exactly_when_its_last_member_arrives_however_often_each_does(world: World) -> None:
    size = WIDTH + 2
    full_roots = 0
    for index in [*range(size), *range(0, size, 7)]:
        for node, child in path(index, size):
            (arrived,) = world.ledger.arrive([Arrival("join-1", node, child)])
            assert isinstance(arrived, Arrived)
            if not is_full(node, arrived):
                break
        else:
            full_roots += 1
            assert index == size - 1 or full_roots > 1
    assert full_roots == 1 + len(range(0, size, 7))


def test_members_that_arrive_at_once_are_all_counted(world: World) -> None:
    if not world.concurrent:
        pytest.skip("moto is not atomic across threads")
    node = Node(0, 0, 16)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda child: world.ledger.arrive(arrivals(child, node=node))[0], range(16)))
    assert any(isinstance(answer, Arrived) and is_full(node, answer) for answer in answers)
