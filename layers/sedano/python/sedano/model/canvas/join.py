"""The join of a chord: a tree of member sets, never a counter (PROTOCOLS §4).

When a member ends, it adds its index to the set of its shard. Adding it twice changes nothing, so a member that is delivered again is
harmless; a counter would start the body of the chord too early. A shard holds at most `WIDTH` members, and a full shard adds itself to its
parent. If the root is full, every member is terminal, and the body is published under its derived id. Each member costs one write, an item
has at most 1 KB, and the sizes of the sets give the progress.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.model.messages.message import BlobRef

WIDTH = 128


class Node(NamedTuple):
    """One item of the tree. *level* 0 holds members, and the root is the last level; the node is full with *width* children."""

    level: int
    number: int
    width: int

    @property
    def key(self) -> str:
        """The node's name within its join."""
        return f"{self.level}.{self.number}"


class Arrival(NamedTuple):
    """The member or the full shard *child* arrives at *node* of the join *join_id*; *failed*: a member did not succeed."""

    join_id: str
    node: Node
    child: int
    failed: bool = False


class Arrived(NamedTuple):
    """The node's sets after an arrival: the children that are done, and those that failed."""

    done: frozenset[int]
    failed: frozenset[int] = frozenset()


class Join(NamedTuple):
    """An open join: its size, the encoded command of the body (or its reference in the blob store), and the queue for the body."""

    join_id: str
    size: int
    body: str
    queue: str
    body_ref: BlobRef | None = None


def path(index: int, size: int) -> tuple[tuple[Node, int], ...]:
    """Return the nodes from the shard of member *index* up to the root, each with the number of the child that arrives there."""
    if not 0 <= index < size:
        raise ValueError(f"member {index} of a join of {size}")
    steps, level, count, child = [], 0, size, index
    while True:
        number, nodes = child // WIDTH, -(-count // WIDTH)
        width = min(WIDTH, count - number * WIDTH)
        steps.append((Node(level, number, width), child % WIDTH))
        if nodes == 1:
            return tuple(steps)
        level, count, child = level + 1, nodes, number


def nodes_of(size: int) -> list[Node]:
    """Return the nodes of level 0, at which the *size* members of a join arrive, in order."""
    return [Node(0, number, min(WIDTH, size - number * WIDTH)) for number in range(-(-size // WIDTH))]


def is_full(node: Node, arrived: Arrived) -> bool:
    """Return whether every child of *node* has arrived."""
    return len(arrived.done) >= node.width
