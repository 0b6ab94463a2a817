"""The join of a chord: a tree of member sets, never a counter (PROTOCOLS §4).

A member that ended adds its index to the set of its shard; adding twice changes nothing, so a redelivered header is harmless where a
counter would end the chord. A shard holds at most `WIDTH` members; a full shard adds itself to its parent; the full root means that every
member is terminal, and the body is published under its derived id. One write a member, each item at most 1 KB, progress is the sets' sizes.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.model.messages.message import BlobRef

WIDTH = 128


class Node(NamedTuple):
    """One item of the tree: *level* 0 holds members, the root is the last level; *width* children make it full."""

    level: int
    number: int
    width: int

    @property
    def key(self) -> str:
        """The node's name within its join."""
        return f"{self.level}.{self.number}"


class Arrival(NamedTuple):
    """Member or full shard *child* arrives at *node* of join *join_id*; *failed* when a member did not succeed."""

    join_id: str
    node: Node
    child: int
    failed: bool = False


class Arrived(NamedTuple):
    """The node's sets after an arrival: which children are done, and which of them failed."""

    done: frozenset[int]
    failed: frozenset[int] = frozenset()


class Join(NamedTuple):
    """An opened join: its size, and the encoded command of the body (or where that lies) with the queue it goes to."""

    join_id: str
    size: int
    body: str
    queue: str
    body_ref: BlobRef | None = None


def path(index: int, size: int) -> tuple[tuple[Node, int], ...]:
    """Return the nodes from the shard of member *index* up to the root, each with the child number that arrives there."""
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
    """Return the nodes that the *size* members of a join arrive at themselves, in order."""
    return [Node(0, number, min(WIDTH, size - number * WIDTH)) for number in range(-(-size // WIDTH))]


def is_full(node: Node, arrived: Arrived) -> bool:
    """Return whether every child of *node* has arrived."""
    return len(arrived.done) >= node.width
