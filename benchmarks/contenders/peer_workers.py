"""The workers of other task queues over SQS, with ten tasks at once, as `benchmarks.worker_peers` compares them.




Each is set up as its own documentation does it: one process, no result stored, and its SQS broker with the client that the broker brings
(Celery: pycurl, Dramatiq: boto3, Taskiq: an asyncio client).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

AT_ONCE = 10
QUEUE = "bench"


class Peer(NamedTuple):
    """A task queue: *work* runs its worker, *body* returns one message."""

    work: Callable[[], object]
    body: Callable[[], str]


def serve_peer(peer: Peer) -> None:
    """Print one message if the command line asks for it, else work until the process is ended."""
    if "--body" in sys.argv[1:]:
        print(peer.body())
    else:
        peer.work()
