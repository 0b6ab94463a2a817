"""The settings of a worker, of Lambda functions and of processes alike."""

from __future__ import annotations

from typing import NamedTuple


class WorkerSettings(NamedTuple):
    """The settings of a worker.

    *concurrency*: `def` bodies at once (1: inline); *lanes*: outcomes recorded at once while bodies run (0: none, on the caller's
    thread); *window*: message ids remembered by the idempotent receiver; *guard*: seconds before the deadline after which nothing is
    started; *poison_after*: claims of one attempt, or receives of an unclaimed message, that end without a record; *heartbeat*: seconds
    between membership writes, and between looks at pauses, revocations and limits; *visibility*: seconds for which the queue hides a
    received message, where bodies may take longer: claims and visibilities are extended then, up to the deadline of `Worker.work`
    (`engine.worker.claim_extension`). None: the queue hides messages until that deadline, as on Lambda, and nothing is extended;
    *unsigned_inbox*: whether commands without a seal are obeyed, which is logged as a warning at each start; *inline_links*: whether the
    next link of a chain may run in the invocation of the link before (`sedano.model.inline_links`); False sends each as a message.
    """

    concurrency: int = 1
    lanes: int = 4
    window: int = 100
    guard: float = 1.0
    poison_after: int = 5
    heartbeat: float = 60.0
    visibility: float | None = None
    unsigned_inbox: bool = False
    inline_links: bool = True
