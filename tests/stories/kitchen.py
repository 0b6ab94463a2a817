"""A kitchen whose stove may break, for stories of circuits; and a second worker beside the world's own."""

from typing import Any

from sedano import Retry, Sedano, testing
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import Ports, command_queue

COMMANDS = command_queue("default")
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)
"""The settings of a worker that notices each change at its next message."""
NEVER = Retry(max_retries=0)


class Kitchen:
    """An app whose task `cook` fails while the stove is broken, and `serve`, which knows nothing of it."""

    def __init__(self, circuit: Any, retry: Retry = NEVER) -> None:
        self.app, self.cooked, self.broken = Sedano("kitchen", retry=retry), list[int](), False
        self.cook: Any = self.app.task(name="cook", circuit=circuit)(self._cook)
        self.serve: Any = self.app.task(name="serve")(lambda: "served")

    def _cook(self, n: int) -> int:
        if self.broken:
            raise RuntimeError("the stove is broken")
        self.cooked.append(n)
        return n


def told(world: testing.World, message: str) -> list[dict[str, Any]]:
    """What the worker's log says under *message*."""
    return [line.fields | {"level": line.level} for line in world.telemetry.lines if line.message == message]


def another_worker(world: testing.World, ports: Ports | None = None) -> Worker:
    return Worker(world.app.registry, ports or world.ports, Host("memory.9.00000000", 9), SETTINGS, None)


def deliver(world: testing.World, worker: Worker) -> None:
    deliveries = world.ports.queues.receive(COMMANDS)
    back = {d.message_id for d in worker.work(deliveries, world.clock.now() + 900)}
    world.ports.queues.delete([d for d in deliveries if d.message_id not in back])
