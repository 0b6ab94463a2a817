"""A join is full exactly when every member has ended, whatever the order and however often each arrives."""

import itertools
import random
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sedano.model.canvas.join import WIDTH, Arrived, Node, is_full, nodes_of, path

sizes = st.sampled_from([1, 2, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, WIDTH**2 - 1, WIDTH**2, WIDTH**2 + 1, WIDTH**3 + 1]) | st.integers(
    1, 10**9
)


class Tree:
    """A join as the ledger keeps it: sets that only grow."""

    def __init__(self, size):
        self.size = size
        self.done = defaultdict(set)
        self.writes = 0

    def arrive(self, index):
        """Let member *index* arrive: at its shard, and as long as nodes are full at their parents. Tell whether the root is full."""
        for node, child in path(index, self.size):
            self.writes += 1
            self.done[node.key].add(child)
            if not is_full(node, Arrived(frozenset(self.done[node.key]))):
                return False
        return True


@settings(max_examples=30)
@given(
    st.sampled_from([1, 2, 5, WIDTH - 1, WIDTH, WIDTH + 1, 300, 2 * WIDTH * 3 + 7]), st.randoms(use_true_random=False), st.integers(0, 50)
)
def test_the_body_is_due_when_the_last_member_arrives_and_not_before(size, random_source, copies):
    tree, order = Tree(size), list(range(size))
    random_source.shuffle(order)
    for position, index in enumerate(order):
        again = order[random_source.randrange(position)] if position and copies else None
        if again is not None:
            assert not tree.arrive(again)
            copies -= 1
        assert tree.arrive(index) == (position == size - 1)
    assert all(tree.arrive(index) for index in (0, size - 1))


def test_three_levels_fill_in_any_order_too():
    size = WIDTH * WIDTH + 1
    tree, order = Tree(size), list(range(size))
    random.Random(7).shuffle(order)
    assert [tree.arrive(index) for index in order] == [False] * (size - 1) + [True]
    assert tree.writes <= size * (1 + 2 / WIDTH) + 2


@given(sizes, st.data())
def test_a_member_walks_from_its_shard_to_the_one_root(size, data):
    index = data.draw(st.integers(0, size - 1))
    steps = path(index, size)
    assert [node.level for node, _ in steps] == list(range(len(steps)))
    assert steps[-1][0].number == 0
    assert all(1 <= node.width <= WIDTH and 0 <= child < node.width for node, child in steps)
    assert path(0, size)[-1][0] == path(size - 1, size)[-1][0] == steps[-1][0]
    for (below, _), (above, child) in itertools.pairwise(steps):
        assert below.number == above.number * WIDTH + child


@given(sizes)
def test_the_last_node_of_a_level_waits_for_what_there_is(size):
    count = size
    for node, child in path(size - 1, size):
        assert node.number * WIDTH + node.width == count
        assert child == node.width - 1
        count = node.number + 1


@given(sizes, st.data())
def test_members_meet_at_a_node_only_as_different_children(size, data):
    one, other = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    mine, its = {node.key: child for node, child in path(one, size)}, {node.key: child for node, child in path(other, size)}
    shard = path(one, size)[0][0].key
    assert (one == other) == (mine[shard] == its.get(shard))


def test_the_path_is_as_long_as_the_tree_is_high():
    for size, height in ((1, 1), (WIDTH, 1), (WIDTH + 1, 2), (WIDTH**2, 2), (WIDTH**2 + 1, 3), (WIDTH**3, 3)):
        assert len(path(0, size)) == height


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0), (0, -1)])
def test_there_is_no_way_for_a_member_that_is_none(index, size):
    with pytest.raises(ValueError, match=f"member {index} of a join of {size}"):
        path(index, size)


def test_a_node_is_full_by_its_members_and_not_by_their_number_of_arrivals():
    node = Node(0, 0, 2)
    assert not is_full(node, Arrived(frozenset({1})))
    assert is_full(node, Arrived(frozenset({0, 1}), frozenset({1})))


@pytest.mark.parametrize("size", [1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH + 2])
def test_the_nodes_of_a_join_are_the_first_ones_on_the_ways_of_its_members(size):
    assert nodes_of(size) == [path(number, size)[0][0] for number in range(0, size, WIDTH)]


def test_the_tree_of_a_join_has_the_same_nodes_in_every_version():
    assert nodes_of(300) == [Node(0, 0, 128), Node(0, 1, 128), Node(0, 2, 44)], "members of one join may run in two versions"


def test_a_member_arrives_at_its_shard_and_the_shard_at_its_parent_under_their_numbers_there():
    assert path(16_385, 16_386) == ((Node(0, 128, 2), 1), (Node(1, 1, 1), 0), (Node(2, 0, 2), 1))
