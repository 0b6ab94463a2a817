"""How many messages a worker process may request from its queues: the rule that leaves messages to other processes.

Only the process that received a message can run it. So a receiver requests messages only while bodies could begin, and not more than could
begin. Several receivers poll their queues at the same time and may get messages together: then at most `AHEAD` messages wait for a short
time. Each receiver requests only its share, so that receivers of empty queues, whose polls take long, leave capacity for the others.
"""

from __future__ import annotations

AHEAD = 10
"""The most messages that may wait in a process for a body to end: those of one receipt."""
GIVE_BACK_S, LEAST_POLL_S = 2.0, 1.0
"""The seconds between the end of the longest poll and the end of a drain, in which the received messages are returned; and the shortest
poll.
"""


def asks(concurrency: int, held: int, asked: int, at_once: int) -> int:
    """Return how many messages a receiver requests now; 0: none until a body has ended.

    Args:
        concurrency: bodies that run at once.
        held: messages that were received and are not finished.
        asked: messages that other receivers request now.
        at_once: the most that a queue returns.
    """
    free = concurrency - held
    return max(0, min(at_once, free, free + AHEAD - asked))


def waits(working: int, found: int, at_once: int) -> bool:
    """Return whether a receiver that may request *found* messages waits a moment for more bodies to end, so that it requests more at once.

    It does not when no lane works (*working*: how many do), or when the queue returns no more than that (*at_once*).
    """
    return 0 < found < at_once and working > 0


def share(concurrency: int, receivers: int, at_once: int) -> int:
    """Return the most messages that one of *receivers* receivers requests from queues that return at most *at_once*."""
    return min(at_once, max(1, (concurrency + AHEAD) // receivers))


def poll_within(drain: float, longest: float) -> float:
    """Return how many seconds a receiver polls, so that an open request ends within the *drain* of its process.

    SQS also delivers a message to a request whose caller has ended, and hides it; so a process waits for its open requests before it ends.
    """
    return min(longest, max(LEAST_POLL_S, drain - GIVE_BACK_S))
