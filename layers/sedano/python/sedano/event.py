"""Domain events: a class with fields, tasks that subscribe to it, and `delay` to publish it (CEP, Message Types)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Generic, Protocol, TypeVar, dataclass_transform

from sedano.engine.declaration_origins import module_of
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.errors import ArgumentError, OptionError
from sedano.model.queues import is_fifo
from sedano.model.tasks.parameters import Parameters
from sedano.task import Task

C = TypeVar("C")
T = TypeVar("T", bound="Task[Any, Any]")


class EventApp(Protocol):
    """The part of an app that an event needs."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""

    @property
    def registry(self) -> Registry:
        """The tasks and subscriptions."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class DomainEvent:
    """The type of an event's class for type checkers; deriving from it is optional and changes nothing at run time.

    mypy ignores the return type of class decorators: it treats ``@app.event class Ordered`` as a plain class and reports
    ``Ordered.subscribe`` as an error. ``@app.event class Ordered(DomainEvent)`` is the same event, and every type checker knows its
    methods.
    """

    @classmethod
    def subscribe(cls, task: T) -> T:
        """See `EventType.subscribe`."""
        raise OptionError(f"{cls.__qualname__}: declare it with @app.event before tasks subscribe to {task.name}")

    @classmethod
    def delay(cls, **fields: Any) -> str:
        """See `EventType.delay`."""
        said = ", ".join(f"{name}=…" for name in fields or cls.__annotations__)
        raise OptionError(f"{cls.__qualname__}: declare it with @app.event, then publish it with {cls.__qualname__}.delay({said})")


class EventType(Generic[C]):
    """One kind of domain event. Calling it makes a value of the class; `delay` publishes one; `subscribe` adds a task."""

    def __init__(self, cls: type[C], app: EventApp) -> None:
        """Declare *cls* as an event of *app*; a class that is not a dataclass becomes one."""
        if not isinstance(cls, type):
            raise OptionError(f"an event is a class with annotated fields, not a {type(cls).__name__}")
        self.cls: type[C] = cls if is_dataclass(cls) else dataclass(frozen=True)(cls)
        self.name = f"{module_of(cls)}.{cls.__qualname__}"
        self._app = app
        self._parameters = Parameters(self.cls.__init__, 1, self.name)

    def __call__(self, **fields: Any) -> C:
        """Return an event as a value, unpublished."""
        return self.cls(**fields)

    def __or__(self, other: Any) -> Any:
        """Return the type of `Ordered | None` in an annotation: the class or another type."""
        return self.cls | other

    def __ror__(self, other: Any) -> Any:
        """Return the type of `None | Ordered` in an annotation."""
        return other | self.cls

    def subscribe(self, task: T) -> T:
        """Run *task* with the event's fields as keyword arguments whenever the event happens; usable as a decorator.

        Raises:
            OptionError: it is not a task of the event's app, or its parameters do not take the event's fields.
        """
        subscribe(self._app.registry, self.name, task, self._parameters.signature.parameters)
        return task

    def delay(self, **fields: Any) -> str:
        """Publish the event with these fields and return its id.

        Raises:
            ArgumentError: a field is missing, unknown or of the wrong type.
        """
        try:
            fitted = self._parameters.fit((), fields)[1]
        except ArgumentError as wrong:
            raise ArgumentError(wrong.field.replace("data.kwargs", "data"), wrong.detail) from None
        value: Any = self.cls(**fitted)
        return self._app.outlet.announce(self.name, asdict(value))


def subscribe(registry: Registry, event: str, task: object, fields: Iterable[str]) -> None:
    """Run *task* with these *fields* once per *event*, even if it is subscribed several times.

    Raises:
        OptionError: it is not a task of the event's app, its queue keeps order, or its parameters do not take the fields.
    """
    if not isinstance(task, Task) or registry.tasks.get(task.name) is not task.spec:
        who = getattr(task, "name", getattr(task, "__qualname__", repr(task)))
        raise OptionError(f"{who} cannot subscribe to {event}: it is not a task of the same app; declare it with @app.task first")
    if is_fifo(task.spec.queue):
        raise OptionError(
            f"task {task.name} cannot subscribe to {event}: its queue {task.spec.queue!r} keeps order, but events have no order; "
            "subscribe a task of another queue"
        )
    try:
        task.spec.parameters.signature.bind(**dict.fromkeys(fields))
    except TypeError as wrong:
        raise OptionError(f"task {task.name} cannot subscribe to {event}: {wrong}") from None
    if task.name not in registry.subscriptions[event]:
        registry.subscriptions[event].append(task.name)
