"""How many messages a process that runs workers may ask its queues for: the rule that keeps others from waiting for it.

A message that one process has received waits for that process alone. So a receiver asks only while a body could begin, and for no more than
could begin. Several receivers wait on their queues at once and may be answered together: then messages wait for a moment, at most `AHEAD`.
Each asks for its share, so that receivers of empty queues, which wait for long, leave something to those of the others.
"""

from __future__ import annotations

AHEAD = 10
"""How many messages may wait in a process for a body to end: those of one receipt."""
GIVE_BACK_S, LEAST_POLL_S = 2.0, 1.0
"""The time between the end of the longest poll and that of a drain, in which what it brought goes back; the shortest poll."""


def asks(concurrency: int, held: int, asked: int, at_once: int) -> int:
    """Return for how many messages a receiver asks now; 0: for none until a body has ended.

    Args:
        concurrency: bodies that run at once.
        held: messages that were received and are not finished.
        asked: messages that other receivers ask for now.
        at_once: the most that a queue returns.
    """
    free = concurrency - held
    return max(0, min(at_once, free, concurrency + AHEAD - held - asked)) if free > 0 else 0


def share(concurrency: int, receivers: int, at_once: int) -> int:
    """Return for how many messages one of so many *receivers* asks at most, of queues that return *at_once* at most."""
    return min(at_once, max(1, (concurrency + AHEAD) // receivers))


def poll_within(drain: float, longest: float) -> float:
    """Return for how many seconds a receiver waits for a message, so that an open request ends within the *drain* of its process.

    SQS hands a message also to a request whose caller has gone, and hides it: so a process waits for its open requests before it ends.
    """
    return min(longest, max(LEAST_POLL_S, drain - GIVE_BACK_S))
