"""The life of a process: boot steps start in order and stop in reverse, failed optional ones are tried again, services run in between.

The rule is `sedano.model.boot`. A step runs on the calling thread, or on its own thread if it has a timeout, because Python cannot end a
call that waits for the system. If a step succeeds after its timeout, it counts as started at the next look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from sedano.engine.registry import Registry
from sedano.errors import BootFailed
from sedano.model import boot
from sedano.model.boot import STARTED, BootStep, StepProgress
from sedano.ports import Ports

if TYPE_CHECKING:
    from sedano.engine.services import Services


class BoundedCall:
    """One call of a function, on its own thread if its time is limited. It stores an error instead of raising it."""

    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        """Call *function* when it is run."""
        self._function = function
        self._thread = threading.Thread(target=self._call_all, name=f"sedano-boot-{name}", daemon=True)
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self, timeout: float | None) -> bool:
        """Call it; return whether it ended within *timeout* seconds."""
        if timeout is None:
            self._call()
            return True
        self._thread.start()
        self._thread.join(timeout)
        return self.is_over

    @property
    def is_over(self) -> bool:
        """Whether the call has ended on its own thread."""
        return not self._thread.is_alive()

    def _call(self) -> None:
        try:
            self.value = self._function()
        except Exception as error:  # noqa: BLE001 - a step may raise anything; its answer is a value
            self.error = error

    def _call_all(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - on its own thread nothing else would hear of it
            self.error = error


class Boot:
    """The boot steps and the services of one process. `begin`, `look` and `end` are called on one thread."""

    def __init__(self, registry: Registry, ports: Ports) -> None:
        """Order the steps of *registry*; nothing is started yet.

        Raises:
            OptionError: a step names an unknown step, steps wait for one another, or a mandatory step follows an optional one.
        """
        self._registry, self._ports = registry, ports
        self._order = boot.ordered(declared.step for declared in registry.boot.values())
        self._standings: dict[str, StepProgress] = {}
        self._reasons: dict[str, str] = {}
        self._running: dict[str, Generator[Any, Any, Any] | None] = {}
        self._late: dict[str, BoundedCall] = {}
        self._services: Services | None = None
        self._is_begun = self._is_ended = self._is_hastened = False

    def begin(self) -> None:
        """Start all steps, then the services; a second call does nothing. An optional step that fails is logged.

        Raises:
            BootFailed: a mandatory step failed; the steps that had started were stopped in reverse order.
        """
        if self._is_begun:
            return
        self._is_begun = True
        try:
            self._start_all()
            if self._registry.hooks:
                from sedano.engine import hooks

                hooks.start(self._registry.hooks, self._ports.telemetry)
            if self._registry.services:
                from sedano.engine.services import Services

                self._services = Services(self._registry.services, self._ports.telemetry)
                self._services.begin()
        except BaseException:
            self.end()
            raise

    def look(self) -> None:
        """Try optional steps again whose pause has passed, and start the steps that they blocked. Called between batches."""
        if not self._is_begun or self._is_ended:
            return
        self._take_over_late_tries()
        if self._is_hastened:
            self._is_hastened, self._standings = False, boot.hastened(self._standings)
        while (step := self._next()) is not None:
            self._try(step)

    def hasten(self) -> None:
        """Let the next `look` try all failed and abandoned steps again. May be called by any thread."""
        self._is_hastened = True

    def end(self) -> None:
        """Cancel the services, then stop the steps in the reverse of the order in which they started; a second call does nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        if self._services is not None:
            self._services.end()
        self._take_over_late_tries()
        for name, generator in reversed(self._running.items()):
            if generator is not None:
                self._stop(name, generator)
        for name in self._late:
            self._log("warning", "a boot step has not ended; its code after yield does not run", name)

    def states(self) -> dict[str, str]:
        """Return the state of each step by its name: waiting, started, failed, given up or blocked."""
        return boot.states(self._order, self._standings)

    def unstarted(self) -> dict[str, tuple[str, str]]:
        """Return the steps that have not started, by their names: the state of each, and the reason of its last failure ("": none)."""
        return {name: (state, self._reasons.get(name, "")) for name, state in self.states().items() if state != STARTED}

    @property
    def is_degraded(self) -> bool:
        """Whether a step has not started."""
        return any(state != STARTED for state in self.states().values())

    def _next(self) -> BootStep | None:
        return boot.next_step(self._order, self._standings, self._ports.clock.now(), self._late.keys())

    def _start_all(self) -> None:
        clock = self._ports.clock
        while True:
            step = self._next()
            if step is not None:
                error = self._try(step)
                if step.name == boot.refusal(self._order, self._standings) or self._is_stuck(step):
                    raise BootFailed(step.name, error)
            elif (due := boot.awaited(self._order, self._standings)) is not None:
                clock.sleep(max(0.0, due - clock.now()))
            else:
                return

    def _is_stuck(self, step: BootStep) -> bool:
        """Return whether a try of the mandatory *step* has not ended; a second try would start it twice."""
        return not step.optional and step.name in self._late

    def _try(self, step: BootStep) -> BaseException | None:
        """Try to start *step*; return why it failed, or None."""
        function = self._registry.boot[step.name].function
        call = BoundedCall(step.name, lambda: _begun(function()))
        if call.run(step.timeout):
            error = call.error
        else:
            error = TimeoutError(f"it has not ended after its timeout of {step.timeout:g} s")
            self._late[step.name] = call
        before = self._standings.get(step.name, boot.NEW)
        if error is None:
            self._standings[step.name] = boot.started(before)
            self._running[step.name] = call.value
        else:
            self._standings[step.name] = after = boot.failed(step, before, self._ports.clock.now())
            self._tell(step, after, error)
        return error

    def _tell(self, step: BootStep, after: StepProgress, error: BaseException) -> None:
        self._ports.telemetry.count("BootStepsFailed", step=step.name)
        self._reasons[step.name] = _reason(error)
        blocked = sorted(name for name, state in self.states().items() if state == boot.BLOCKED)
        given_up = after.state == boot.GIVEN_UP
        words = "a boot step failed and is not tried again" if given_up else "a boot step failed; it is tried again later"
        self._log("error" if given_up else "warning", words, step.name, error, attempt=after.tried, blocked=blocked)

    def _take_over_late_tries(self) -> None:
        """Take over the results of tries that ended after their timeout."""
        for name, call in [*self._late.items()]:
            if not call.is_over:
                continue
            del self._late[name]
            if call.error is None:
                self._standings[name] = boot.started(self._standings[name])
                self._running[name] = call.value
                self._log("info", "a boot step has started after its timeout", name)

    def _stop(self, name: str, generator: Generator[Any, Any, Any]) -> None:
        call = BoundedCall(name, lambda: _ended(generator))
        if not call.run(self._registry.boot[name].step.timeout):
            self._log("error", "a boot step has not stopped within its timeout", name)
        elif call.error is not None:
            self._log("error", "a boot step failed while it was stopped; the others are stopped", name, call.error)

    def _log(self, level: str, words: str, name: str, error: BaseException | None = None, **fields: Any) -> None:
        why: Mapping[str, Any] = {} if error is None else {"error": _reason(error)}
        self._ports.telemetry.log(level, words, step=name, **why, **fields)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _begun(answer: Any) -> Generator[Any, Any, Any] | None:
    """Run a generator to its `yield`; return it, or None if there is nothing to stop."""
    if not isinstance(answer, Generator):
        return None
    try:
        next(answer)
    except StopIteration:
        return None
    return answer


def _ended(generator: Generator[Any, Any, Any]) -> None:
    """Run the code of *generator* after its `yield`.

    Raises:
        RuntimeError: it has a second `yield`.
    """
    try:
        next(generator)
    except StopIteration:
        return
    generator.close()
    raise RuntimeError("it has a second yield; a boot step has one yield, after its start and before its stop")
