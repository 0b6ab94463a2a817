"""The app: it declares tasks and events, and publishes them.

    app = Sedano("shop")

    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    add.delay(2, 3).get()   # 5

An app is a value in the user's module, not a global of the library. It reaches other services through ports that are bound at the first
use: to AWS by environment variables, or to the ports given to `attach` (`sedano.testing`).
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Never, ParamSpec, TypeVar, Unpack, overload

from sedano.api.boot import Booting
from sedano.api.checks_and_budgets import Guarded
from sedano.api.configuration import Configured
from sedano.api.declaration import app_name, queue_names
from sedano.api.hooks import Hooked
from sedano.api.leases_and_partitions import Exclusion
from sedano.api.periodic import PeriodicTasks
from sedano.api.sinks import Documents
from sedano.api.sources import Sources
from sedano.api.tables import Tables
from sedano.engine.declaration_origins import may_declare
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import ConfigurationError, OptionError, UnknownOption
from sedano.errors.hints import Hinting
from sedano.event import DomainEvent, EventType
from sedano.model.retry import DEFAULT, Retry, policy_of
from sedano.model.tasks.signature import Signature, given
from sedano.ports import Ports, deadlines
from sedano.task import Task

if TYPE_CHECKING:
    from sedano.api.control import Control
    from sedano.api.timers import Scheduled
    from sedano.canvas import Sig
    from sedano.model.brokers import SqsBroker
    from sedano.model.priority import Strategy as Preference
    from sedano.model.tasks.published_options import LinkedOptions, PublishedOptions
    from sedano.ports.backlog import Backlog
    from sedano.result import AsyncResult, GroupResult

C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")
Named = TypeVar("Named", bound=DomainEvent)
AWS = "sedano.aws.deployment:connect"
"""The function that binds an app to AWS, by name: `import sedano` does not import boto3."""
OPTIONS = ("queues", "retry", "connect", "call_timeout", "worker", "brokers", "routes", "backlog", "raises")


class Sedano(Documents, PeriodicTasks, Sources, Guarded, Exclusion, Tables, Booting, Configured, Hooked, Hinting):
    """An application: its tasks, its events, and its connection to a deployment.

    Args:
        name: the app's name; task names are ``<module>.<function>`` and do not depend on it.
        queues: the names of the command queues that its tasks may use; each must exist in the deployment. A queue whose name ends in
            ``.fifo`` keeps order within a key (``serial_key=``); the first queue must not be one.
        retry: the retry policy of tasks that declare none; ``False``: no retries.
        connect: ``module:function`` of a function that returns the ports. It is called at the first use, also in every deployed function.
            The default, `sedano.aws.deployment:connect`, binds to AWS; your own function may call it and replace some of its ports.
        call_timeout: seconds within which each publication and each read of a program ends (0.05 to 300), even if AWS does not answer; by
            default SEDANO_CALL_TIMEOUT, else 5.
        worker: the settings of its workers, wherever they are deployed.
        brokers: where its programs and `sedano worker` send messages, in order of preference, as in
            ``[sqs(), sqs(region="eu-west-1")]``; by default the stage's own queues. Lambda functions, events and queues that keep order use
            the stage's own Region alone. SEDANO_BROKERS overrides it.
        routes: the queues of tasks that name none, by patterns of their names, as in ``{"mail.*": "mail"}``; the first match holds.
        backlog: where its programs store messages that no broker accepts: ``"disk"``, ``"dynamodb:TABLE"``, ``"memory"`` or ``"off"``; the
            default is the disk, where it outlives the process. SEDANO_BACKLOG overrides it.
        raises: classes of exceptions that `get` of a result raises again, if a body raised exactly such a class with arguments that JSON
            can hold (1 000 bytes); the `RemoteError` is their ``__cause__``. All other exceptions are raised as `RemoteError`.
    """

    def __init__(
        self, name: str, *, queues: Sequence[str] = ("default",), retry: Retry | bool = DEFAULT, connect: str = AWS,
        call_timeout: float | None = None, worker: WorkerSettings | None = None, brokers: Sequence[SqsBroker] = (),
        routes: Mapping[str, str] | None = None, backlog: str | None = None, raises: Sequence[type[Exception]] = (), **unknown: Never,
    ) -> None:  # fmt: skip
        """Declare an app; nothing is imported, read or connected before the first use.

        Raises:
            OptionError: an option is unknown or cannot be honoured.
        """
        for option in unknown:
            raise UnknownOption(option, OPTIONS, "an app")
        self.name, self.queues, self.retry, self.connect = app_name(name), queue_names(queues), policy_of(retry, DEFAULT), connect
        self.call_timeout = deadlines.checked(call_timeout)
        self.worker: WorkerSettings | None = worker
        if worker is not None:
            from sedano.api.worker_options import check

            check(worker)
        self.registry = Registry()
        self.brokers: Sequence[SqsBroker] = ()
        self.backlog = backlog
        if brokers or routes is not None or backlog is not None:
            self._place(brokers, routes, backlog)
        if raises != ():
            from sedano.model.ledger import raised_errors

            self.registry.raises = raised_errors.checked(raises)
        self._outlet: Outlet | None = None
        self._lock = threading.Lock()
        self._unknown: set[str] = set()

    def _place(self, brokers: Sequence[SqsBroker], routes: Mapping[str, str] | None, backlog: str | None) -> None:
        """Check and set where messages go: to which brokers, to which queues, and to which backlog."""
        from sedano.api.backlog import named
        from sedano.model import brokers as broking
        from sedano.model import routes as routing

        self.brokers = broking.checked(brokers, self.queues)
        self.registry.routes = {} if routes is None else routing.checked(routes, self.queues)
        if backlog is not None:
            named(backlog)

    @overload
    def event(self, cls: type[Named]) -> type[Named]: ...  # type: ignore[overload-overlap]

    @overload
    def event(self, cls: type[C]) -> EventType[C]: ...

    def event(self, cls: type[Any]) -> Any:
        """Declare a domain event: a class whose annotated fields are its data.

        Raises:
            OptionError: another event has the name.
        """
        event: EventType[Any] = EventType(cls, self)
        if not may_declare(self.registry, f"event {event.name}", cls, event.name in self.registry.subscriptions):
            raise OptionError(f"event {event.name}: declared twice")
        self.registry.subscriptions.setdefault(event.name, [])
        return event

    def prefer(self, strategy: Preference) -> None:
        """Set the order in which a worker starts the tasks of one batch. The queue itself is not reordered.

        Args:
            strategy: ``"short"``, ``"long"``, ``"rare"``, ``"saturation"`` (I/O-bound tasks while a worker is full of CPU-bound ones, and
                the reverse), or a function that takes a `sedano.Candidate` and returns a sort key, lowest first.

        Raises:
            OptionError: *strategy* is not one of these.
        """
        from sedano.api.limits import preference

        self.registry.prefer = preference(strategy)

    def election_topic(
        self, name: str, *, on_winner: bool = False, queue: str = "default"
    ) -> Callable[[Callable[..., Any]], Task[Any, Any]]:
        """Declare the handler of elections on the topic *name*: it is called once, as a separate task, with the election's action.

        Args:
            name: the topic.
            on_winner: run it on the winning worker. The election waits ten seconds for it in each term; then the next candidate leads, and
                finally the worker that holds the message.
            queue: the command queue it is sent to.

        Raises:
            OptionError: the topic is declared twice, or is ``task``, which is built in.
        """
        if name == "task":
            raise OptionError("topic: 'task' is built in: it dispatches a signature")
        from sedano.api import elections

        self.registry.need("elections", f"the election topic {name!r}")
        task: str = elections.topic_task(name)
        if on_winner:
            self.registry.led.add(task)
        return lambda handler: self.task(name=task, queue=queue)(elections.handling(handler))

    def send_task(
        self, name: str, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, **options: Unpack[PublishedOptions]
    ) -> AsyncResult[Any]:
        """Publish a task by name, even if this process does not declare it (Celery's `send_task`).

        If the name closely resembles a task of this app, it may be a misspelling, and a warning is logged once.
        """
        if name not in self.registry.tasks and name not in self._unknown:
            self._unknown.add(name)
            from sedano.errors.celery_names import misspelt

            near = misspelt(str(name), self.registry.tasks)
            if near:
                self.outlet.ports.telemetry.log("warning", "send_task: this app has no task of this name", task=name, did_you_mean=near)
        from sedano.result.publication import publish

        return publish(self.outlet, Signature(name, *given(args, kwargs)).set(**options))

    def signature(
        self, name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, immutable: bool = False,
        **options: Unpack[LinkedOptions],
    ) -> Sig[Any]:  # fmt: skip
        """Return the signature of the task *name* of this app, with options; ``immutable=True``: results of previous tasks are not passed
        to it."""
        from sedano.canvas import signature

        return signature(name, args, kwargs, app=self, immutable=immutable, **options)

    @overload
    def invoke(self, task: Task[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def invoke(self, task: Sig[R], *, timeout: float = ...) -> R: ...

    def invoke(self, task: Any, *args: Any, **kwargs: Any) -> Any:
        """Run *task* in the worker function now and return its value: one call of Lambda, and no queue.

        The task has its whole life: claim and fence, limits, revocation, retries, history, hooks. If it cannot run at once (a pause, a
        limit, a retry, another worker that runs it), it waits in its queue, and this call waits for its result.

        Args:
            task: a task, with its arguments after it; or a signature, whose options count: ``add.s(2, 3).set(task_id="invoice-17")``.
            args: the arguments.
            kwargs: the keyword arguments; of a signature only ``timeout``: the seconds to wait at most (60, at most 900).

        Raises:
            RemoteError: the task failed; and the other errors of `AsyncResult.get`.
            KeyReused: its deduplication key was used before with other arguments.
            MessageRefused: the worker does not know the task, or refused the call; nothing of it has run.
            ResultTimeout: it did not end in time, and may still do so.
            Unavailable: the worker could not be called, or ended without an answer. Nothing repeats the call but its caller: the same
                ``task_id`` again has no second effect.
            OptionError: an option needs a queue: ``countdown``, ``eta``, a FIFO queue, `debounce` and `batch`.
        """
        from sedano.api.direct_calls import invoked

        return invoked(self.outlet, task, args, kwargs)

    def result(self, task_id: str) -> AsyncResult[Any]:
        """Return the result of the task with this id, whichever program published it."""
        from sedano.result import AsyncResult

        return AsyncResult(self.outlet, task_id)

    def group_result(self, group_id: str) -> GroupResult[Any]:
        """Return the results of the group that was saved under this id (`GroupResult.save`) by any program.

        Raises:
            NoResult: it was not saved, was deleted, or has expired.
        """
        from sedano.result import GroupResult

        return GroupResult.restore(group_id, self)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Send the messages of this block in batches of ten; the rest is sent when the block ends, even with an error."""
        with self.outlet.batch():
            yield

    def scheduled(self) -> Scheduled:
        """Return the tasks that are due in more than 900 s, to list, move or cancel them (Celery's `inspect().scheduled()`)."""
        from sedano.api.timers import Scheduled

        return Scheduled(self.outlet.ports)

    @cached_property
    def control(self) -> Control:
        """The control panel: inspect the cluster and change what runs in it."""
        from sedano.api.control import Control

        return Control(self)

    @property
    def outlet(self) -> Outlet:
        """The publisher, connected at the first use."""
        with self._lock:
            if self._outlet is None:
                from sedano.engine.publisher.process_exit import survive_exit

                self._outlet = self._connected()
                survive_exit(self._outlet)
            return self._outlet

    def _connected(self) -> Outlet:
        """Return the publisher over the ports that `connect` names, with call timeouts and a backlog if the host can store one."""
        from sedano.api.backlog import backlog_of
        from sedano.api.connector import connected
        from sedano.engine.publisher.backlog import of

        with deadlines.chosen(self.call_timeout):
            (ports, may_spool), patience = connected(self.connect, self.brokers), deadlines.patience()
        self.registry.bind(ports)
        backlog = backlog_of(self.name, self.backlog, of) if may_spool else None
        return Outlet(self.name, self.registry, ports, self.queues, patience=patience, backlog=backlog)

    def attach(self, ports: Ports | None, *, backlog: Backlog | None = None) -> None:
        """Bind this app to *ports*; None unbinds it, so that the next use connects again.

        If a queue does not accept a message, the message is stored in *backlog* and the publication succeeds; without a backlog, it raises
        `PublishError`.

        Raises:
            PortMissing: *ports* lacks an optional port that a declaration of this app needs.
            QueueUnfit: its queues lack a capability that a declaration of this app needs.
        """
        with self._lock:
            self.registry.bind(ports)
            self._outlet = Outlet(self.name, self.registry, ports, self.queues, backlog=backlog) if ports is not None else None

    def close(self) -> None:
        """Send pending messages. Those that cannot be sent are stored on disk for the next process, which is logged."""
        with self._lock:
            outlet = self._outlet
        if outlet is not None:
            outlet.close()

    def run_loop(self) -> Any:
        """Return the runner of async bodies; None if no task of this app is async, so that asyncio is not imported."""
        if not any(spec.is_async for spec in self.registry.tasks.values()):
            return None
        from sedano.engine.worker.event_loop import run_together

        return run_together


def load(reference: str, setting: str = "SEDANO_APP") -> Sedano:
    """Return the app that ``module:attribute`` names; *setting* names that setting in errors.

    Raises:
        ConfigurationError: the module or the attribute is missing, or it is not an app.
    """
    module, _, attribute = reference.partition(":")
    apps: list[str] = []
    try:
        imported = importlib.import_module(module)
        apps = [name for name, value in vars(imported).items() if isinstance(value, Sedano)]
        found = getattr(imported, attribute or "app")
    except (ImportError, AttributeError, ValueError) as wrong:
        example = f", such as {module}:{apps[0]}" if apps else ""
        raise ConfigurationError(f"app {reference!r} ({setting}): {wrong}; expected module:attribute of a Sedano app{example}") from wrong
    if not isinstance(found, Sedano):
        raise ConfigurationError(f"app {reference!r} ({setting}) is a {type(found).__name__}, not a Sedano app")
    return found
