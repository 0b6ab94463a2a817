"""How many messages a process that runs workers may ask its queues for: the rule that keeps others from waiting for it.

A message that one process has received waits for that process alone. So a receiver asks only while a body could begin, and for no more than
could begin. Several receivers wait on their queues at once and may be answered together: then messages wait for a moment, at most `AHEAD`.
"""

from __future__ import annotations

AHEAD = 10
"""How many messages may wait in a process for a body to end: those of one receipt."""


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
