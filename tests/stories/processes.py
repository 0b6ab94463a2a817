"""The processes of a stage: worker, router and recorder of one app, fed as Lambda's event source mappings feed them.

A process that dies is replaced by a new one (`restart`) that knows nothing; the queue delivers again what was not acknowledged.
"""

from collections.abc import Callable, Sequence

from sedano import Sedano
from sedano.engine.history.recorder import Recorder
from sedano.engine.router import Router
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import EVENTS, RECORDS, Delivery, Ports, command_queue
from tests.stories.stage import QUEUES, Stage

INVOCATION_S = 30.0
LONG_S = 200.0
"""An invocation longer than the visibility: messages come again while the dead holder's claims stand."""
MOST_ROUNDS = 2_000
COMMANDS = command_queue("default")
WORKED = (*(command_queue(name) for name in QUEUES), EVENTS, RECORDS)
Mutation = Callable[[Worker], None]


def untouched(_: Worker) -> None:
    """Leave a worker as it is."""


class Processes:
    """One generation of processes after another over one stage. *mutate* changes each worker that is built: a planted fault."""

    def __init__(self, stage: Stage, app: Sedano, settings: WorkerSettings | None = None, mutate: Mutation = untouched) -> None:
        """Start the first generation and bind *app*'s publishing side to the stage."""
        self.stage, self.app, self.settings, self.mutate = stage, app, settings or WorkerSettings(lanes=0), mutate
        self.generation = 0
        self.invocation = INVOCATION_S
        app.attach(stage.ports)
        self.restart(stage.ports)

    def restart(self, ports: Ports | None = None) -> None:
        """Begin a new generation over *ports*, by default the stage's own; what feeds them uses the same queues.

        What the last one counted and had not written is gone with it.
        """
        self.generation += 1
        self.stage.telemetry.lose()
        ports = ports or self.stage.ports
        self.feed = ports.queues
        self.worker = self.another_worker(ports)
        router = Router(self.app.registry, ports, Host(f"router.{self.generation}", 2))
        recorder = Recorder(ports, Host(f"recorder.{self.generation}", 3))
        works: dict[str, Callable[[Sequence[Delivery], float], list[Delivery]]] = {EVENTS: router.route, RECORDS: recorder.record}
        self._works = {queue: works.get(queue, self.worker.work) for queue in WORKED}

    def another_worker(self, ports: Ports | None = None, name: str = "worker") -> Worker:
        """Return one more worker of this app."""
        host = Host(f"{name}.{self.generation}", 1)
        worker = Worker(self.app.registry, ports or self.stage.ports, host, self.settings, self.app.run_loop())
        self.mutate(worker)
        return worker

    def deliver(self, queue: str = COMMANDS) -> list[Delivery]:
        """Deliver one batch of *queue*; return what was delivered."""
        deliveries = self.feed.receive(queue)
        if deliveries:
            given_back = {d.message_id for d in self._works[queue](deliveries, self.stage.clock.now() + self.invocation)}
            done = [d for d in deliveries if d.message_id not in given_back]
            if done:
                self.feed.delete(done)
        return deliveries

    def step(self) -> bool:
        """Deliver one batch of each queue; return whether there was any."""
        return sum(bool(self.deliver(queue)) for queue in WORKED) > 0

    def drain(self) -> None:
        """Deliver until the queues are empty, letting time pass for what is held or delayed."""
        for _ in range(MOST_ROUNDS):
            if self.step():
                continue
            wait = self.stage.hidden_for(WORKED)
            if wait is None:
                return
            self.stage.pass_time(wait + 0.001)
        raise AssertionError(f"not drained after {MOST_ROUNDS} rounds")

    def recover(self) -> None:
        """A new generation takes over; time passes until the dead one's messages and claims have lapsed."""
        self.restart()
        self.drain()
