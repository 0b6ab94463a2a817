"""Health checks: check functions, tasks and watchers that report states, circuits that watch them (CEP, Health Checks).

    payments = app.health_check("payments")

    @payments
    def answers() -> str:
        return "healthy" if requests.options(URL, timeout=2).ok else "unhealthy"

    @app.task(circuit=Breaker(checks={"payments": {"unhealthy": 2}}, window=10))
    def charge(order: int) -> None: ...

A check runs when its last result has expired and a task whose circuit watches it is about to run. A check function that raises reports no
state: the error is logged and otherwise ignored.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from sedano.engine import health as checking
from sedano.engine.declaration_origins import may_declare
from sedano.engine.health import Look, Report
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.engine.task_context import CURRENT
from sedano.engine.task_log import notice
from sedano.errors import OptionError
from sedano.event import subscribe
from sedano.model import health
from sedano.model.circuits import Breaker
from sedano.model.health import DEGRADED, HEALTHY, INSECURE, STATES, UNAVAILABLE, UNHEALTHY, Health
from sedano.model.retry import NEVER
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.task import Task

__all__ = ["DEGRADED", "HEALTHY", "INSECURE", "STATES", "UNAVAILABLE", "UNHEALTHY", "Check", "declared", "guarded"]

L = TypeVar("L", bound=Look)
W = TypeVar("W", bound=Callable[[Report], None])


class HealthApp(Protocol):
    """The part of an app that a health check needs."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""

    @property
    def registry(self) -> Registry:
        """The tasks, the subscriptions and the checks."""


class Check:
    """One health check. Used as a decorator, it adds a check function."""

    def __init__(self, app: HealthApp, kept: checking.RegisteredCheck) -> None:
        """Refer to the check *kept* of *app*."""
        self._app, self._kept = app, kept
        self.name, self.states = kept.spec.name, kept.spec.states

    def __call__(self, look: L) -> L:
        """Add *look* as a check function: it takes no arguments and returns a state, or a state and a short reason.

        Raises:
            OptionError: *look* is async, or needs arguments.
        """
        given: object = look
        if not callable(given) or inspect.iscoroutinefunction(given) or Parameters(given).signature.parameters:
            raise OptionError(f"health check {self.name}: decorate a plain function without parameters that returns the state")
        self._kept.functions.append(look)
        return look

    def watch(self, watcher: W) -> W:
        """Run *watcher* permanently in a thread of each worker. It is called with a function `report(state, why="")`.

        On Lambda a worker and its watchers are frozen between invocations.
        """
        self._kept.watchers.append(watcher)
        return watcher

    def subscribe(self, task: Task[..., object]) -> Task[..., object]:
        """Also run *task* whenever the event ``<name>_expired`` is published; it is called without arguments and may `report`.

        Raises:
            OptionError: the check is not shared: sedano publishes no events about the state of one worker; or the task belongs to another
                app, needs arguments, or keeps order.
        """
        if not self._kept.spec.shared:
            raise OptionError(f"health check {self.name}: only a shared one has an event that tasks can subscribe to; declare shared=True")
        subscribe(self._app.registry, self._kept.spec.expired, task, ())
        return task

    def report(self, state: str, why: str = "") -> None:
        """Report *state* as the check's current state, for example from a task that observed it. Circuits that watch the check count it.

        Outside a task only a shared check can be reported; workers see the state when they next read the check.

        Raises:
            OptionError: the check declares no such state, or no worker would receive it.
            SedanoError: the state of a shared check could not be written.
        """
        health.reported(self._kept.spec, Health(self.name), state, 0.0)
        if CURRENT.get() is not None:
            self._kept.inbox.append((state, why))
        elif not self._kept.spec.shared:
            raise OptionError(
                f"health check {self.name} is not shared and no task runs here: no worker would receive the state; declare shared=True"
            )
        else:
            ports = self._app.outlet.ports
            now = ports.clock.now()
            checking.share(ports, lambda known: health.reported(self._kept.spec, known, state, now, why), self.name)

    def read(self) -> Health:
        """Return the state of a shared check. Other checks have a separate state in each worker.

        Raises:
            OptionError: the check is not shared.
        """
        if not self._kept.spec.shared:
            raise OptionError(f"health check {self.name} is not shared: its state is in the memory of each worker; declare shared=True")
        return checking.known(self._app.outlet.ports, [self._kept])[self.name]


def declared(app: HealthApp, name: str, states: Sequence[str] | None, every: float, shared: bool) -> Check:
    """Declare a check of *app*; see `Sedano.health_check`."""
    spec = health.health_check(name, STATES if states is None else states, every, shared)
    registry = app.registry
    if not may_declare(registry, f"health check {name}", name, name in registry.checks):
        raise OptionError(f"health check {name}: declared twice")
    if shared:
        registry.need("memos", f"the shared health check {name!r}")
    kept = registry.checks[name] = checking.RegisteredCheck(spec)
    if shared:
        task = f"sedano.health.{name}"
        asked = partial(_asked, kept)
        registry.tasks[task] = TaskSpec(
            name=task, function=asked, parameters=Parameters(asked), is_async=False, delivery="at_least_once", retry=NEVER,
            ignore_result=True, queue=app_queue(app),
        )  # fmt: skip
        registry.subscriptions.setdefault(spec.expired, [task])
    return Check(app, kept)


def app_queue(app: HealthApp) -> str:
    """Return the queue for requests of checks: the app's first."""
    queues: Sequence[str] = getattr(app, "queues", ("default",))
    return queues[0]


def guarded(spec: TaskSpec, circuit: object, registry: Registry) -> TaskSpec:
    """Return *spec* with its circuit: a `Breaker`, or True for the CEP's defaults.

    Raises:
        OptionError: *circuit* is neither of these, it watches an unknown check or state, or another task has the same circuit with other
            rules.
    """
    if circuit is not True and not isinstance(circuit, Breaker):
        raise OptionError(f"circuit: {circuit!r} is neither True nor a sedano.Breaker(…)")
    breaker = Breaker() if circuit is True else circuit
    breaker = replace(breaker, name=breaker.name or spec.name)
    for name, counts in breaker.checks.items():
        if name not in registry.checks:
            raise OptionError(f"circuit: no health check {name!r} in this app; declare it with app.health_check({name!r}) first")
        unknown = next((state for state in counts if state not in registry.checks[name].spec.states), None)
        if unknown is not None:
            raise OptionError(f"circuit: {unknown!r} is not a state of health check {name}, which has {registry.checks[name].spec.states}")
    others = (t for t in registry.tasks.values() if t.name != spec.name)  # of its own name there is one only if it is declared again
    other = next((t for t in others if t.circuit is not None and t.circuit.name == breaker.name), None)
    if other is not None and other.circuit != breaker:
        raise OptionError(f"circuit: {breaker.name} is declared with other rules by task {other.name}; give both the same Breaker")
    return spec._replace(circuit=breaker)


def _asked(kept: checking.RegisteredCheck) -> None:
    """Run the check, because its event reported that it is due; the circuits of this worker record the result."""
    found = checking.look(kept, notice)
    if found is not None:
        kept.inbox.append(found)
