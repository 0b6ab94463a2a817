"""The cost of a canvas, counted at the ports: ledger writes, sends, pages, and the size of its messages.

The shipped engine runs in memory, in one worker that gets batches of ten. A write corresponds to one `UpdateItem` or `PutItem`: each claim
and each record is one, and the arrivals of one batch at one node of a join are one. A send is one `SendMessageBatch` of up to ten.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sedano import Sedano, memory
from sedano.canvas import Form
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import RECORDS, Delivery, Outgoing, Ports, command_queue

READ_AT_ONCE = 100
"""Records that one call reads (BatchGetItem)."""
QUEUE = command_queue("default")
BATCH = 10
SETTINGS = WorkerSettings(lanes=0)
app = Sedano("canvas")


@app.task(name="add")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@app.task(name="total")
def total(values: list[int]) -> int:
    """Add all."""
    return sum(values)


@dataclass
class Cost:
    """The counts: *calls* by name, *messages*, CPU seconds.

    *longest*: bytes of the longest message without its arguments; *longest_body* and *first*: of the longest and the first message whole.
    """

    calls: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    longest_body: int = 0
    first: int = 0
    messages: int = 0
    cpu: float = 0.0

    @property
    def writes(self) -> int:
        """The ledger's writes."""
        return sum(self.calls[name] for name in ("claim", "record", "keep", "arrive", "open_join"))


class Counting:
    """Wraps one port and counts its calls."""

    def __init__(self, port: Any, cost: Cost) -> None:
        """Count on *cost*."""
        self._port, self._cost = port, cost

    def __getattr__(self, operation: str) -> Any:
        """Return the operation of the port, counted, or a value of the port."""
        method = getattr(self._port, operation)
        if not callable(method):
            return method

        def counted(*args: Any, **kwargs: Any) -> Any:
            self._count(operation, args)
            return method(*args, **kwargs)

        return counted

    def _count(self, operation: str, args: Sequence[Any]) -> None:
        calls = self._cost.calls
        if operation == "send":
            calls["send history" if args[0] == RECORDS else "send"] += -(-len(args[1]) // BATCH)
            for message in args[1] if args[0] == QUEUE else ():
                self._measure(message)
        elif operation == "arrive":
            calls[operation] += len({(one.join_id, one.node) for one in args[0]})
        elif operation in ("read", "read_nodes"):
            calls[operation] += -(-len(args[-1]) // READ_AT_ONCE)
        elif operation in ("claim", "record", "keep"):
            calls[operation] += len(args[0])
        else:
            calls[operation] += 1

    def _measure(self, message: Outgoing) -> None:
        self._cost.messages += 1
        self._cost.first = self._cost.first or len(message.body)
        self._cost.longest_body = max(self._cost.longest_body, len(message.body))
        if len(message.body) > self._cost.longest:
            envelope = json.loads(message.body)
            envelope.pop("data", None)
            self._cost.longest = max(self._cost.longest, len(json.dumps(envelope, separators=(",", ":"))))


def cost_of(forms: Sequence[Form], most_batches: int = 10**9, settings: WorkerSettings = SETTINGS) -> tuple[Cost, list[Any]]:
    """Publish *forms* together, run at most *most_batches* batches in a worker with *settings*, and return the cost and the results."""
    cost, plain = Cost(), memory.ports()
    ledger, queues, blobs = (Counting(port, cost) for port in (plain.ledger, plain.queues, plain.blobs))
    ports = replace(plain, ledger=ledger, queues=queues, blobs=blobs)
    app.attach(ports)
    try:
        worker = Worker(app.registry, ports, Host("bench.1.00000000", 1), settings, None)
        worker.work([], ports.clock.now() + 900)
        cost.calls.clear()
        began = time.process_time()
        results = [form.delay() for form in forms]
        for _ in range(most_batches):
            deliveries = plain.queues.receive(QUEUE, BATCH)
            if not deliveries:
                break
            _work(worker, plain, deliveries)
        cost.cpu = time.process_time() - began
        return cost, results if most_batches < 10**9 else [result.get(timeout=1) for result in results]
    finally:
        app.attach(None)


def _work(worker: Worker, ports: Ports, deliveries: list[Delivery]) -> None:
    if worker.work(deliveries, ports.clock.now() + 900):
        raise AssertionError("a message was returned to the queue")
    ports.queues.delete(deliveries)
    ports.queues.delete(ports.queues.receive(RECORDS, BATCH))
