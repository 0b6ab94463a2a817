"""The running task: its identity for the user, and its outbox for the messages that it publishes.

A publication of a running task is not sent at once: it is kept in the outbox, recorded together with the outcome and sent before the
message is acknowledged (the transactional outbox). So after a crash either all or none of its messages are sent, and an attempt that will
be retried sends nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from sedano.engine.drafts import CommandDraft, Draft
from sedano.errors import ConfigurationError, OptionError, SedanoError, WaitInsideLoop, WaitInsideTask
from sedano.model.messages import headers
from sedano.model.messages.message import Command
from sedano.model.messages.stamps import read
from sedano.model.messages.trace import Span, span
from sedano.model.retry import Mark, mark

if TYPE_CHECKING:
    from sedano.engine.effects import TableWrites
    from sedano.model.effects import TableWrite
    from sedano.model.ledger.outcome import NextAttempt

Vote = Callable[["TaskContext", str, bool, Sequence[Any]], None]
"""Takes part in an election on behalf of a running command: its id, whether its time is over, and what a `fast` one carries."""


class BodyChecks(Protocol):
    """The checks and the custom states of a claimed task's body, while it runs."""

    def __call__(self) -> None:
        """Raise if the body must end."""

    def show(self, custom: str) -> None:
        """Show the *custom* state of the task (`sedano.model.ledger.custom_states`)."""


class BodyLimits(Protocol):
    """The time limits of a body, while it runs."""

    def check(self) -> None:
        """Raise a limit that has passed."""

    def again(self) -> None:
        """Restart the limits, for the next call of a map."""


class Replaced(Exception):
    """The running task is replaced by the canvas that *draft* begins. A body must not catch this."""

    def __init__(self, draft: CommandDraft) -> None:
        """Carry *draft*."""
        super().__init__("replaced by another canvas")
        self.draft = draft


class RetryRequested(Exception):
    """The body asked for another attempt after *error* (None: without one). A body must not catch this."""

    def __init__(self, wishes: NextAttempt, error: BaseException | None) -> None:
        """Carry *wishes*."""
        super().__init__("the body asked for another attempt")
        self.wishes, self.error = wishes, error


def requested(error: BaseException | None) -> RetryRequested | None:
    """Return the request for another attempt that *error* is, or that is alone in its group (`asyncio.TaskGroup`, a nursery of trio)."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error if isinstance(error, RetryRequested) else None


NO_TABLES: Mapping[str, tuple[str, ...]] = {}


class TaskContext:
    """The running task. *deadline* is the end of its claim (epoch s); *fence* increases with every claim: pass it with your writes.

    *added*: the members that it adds to its chord. *before*: attempts of the task that it replaces. *token*: the fencing token of a
    singleton, or of a permit, which increases with each run; 0 for other tasks. *permit*: the number of the permit, from 0. *over*: the
    body has ended; leases taken for it are void from then on. *limits*: its time limits, if it has some. *cancel*: cancels an async body
    that runs. *revoked*: the body was ended because its task is revoked. *tables*: the tables to which its effects may write
    (`effects`); *recorded*: its success leaves a record. *snapshot*: see `config`; None in an app without a configuration.
    """

    __slots__ = (
        "_effects", "_span", "added", "before", "cancel", "checkpoint", "clock", "command", "deadline", "fence", "limits", "outbox", "over",
        "permit", "published", "recorded", "revoked", "sections", "snapshot", "tables", "token", "vote",
    )  # fmt: skip

    def __init__(
        self, command: Command, fence: int, deadline: float, clock: int, token: int = 0, permit: int = 0,
        checkpoint: BodyChecks | None = None, vote: Vote | None = None, before: int = 0,
    ) -> None:  # fmt: skip
        """Run *command*; `check` calls *checkpoint*, and *vote* takes part in an election."""
        self.command, self.fence, self.deadline, self.clock = command, fence, deadline, clock
        self.token, self.permit, self.checkpoint, self.vote, self.before = token, permit, checkpoint, vote, before
        self.outbox: list[Draft] = []
        self.added: list[CommandDraft] = []
        self.published = 0
        self.sections: dict[str, int] = {}
        self.over = False
        self._span: Span | None = None
        self._effects: TableWrites | None = None
        self.tables, self.recorded = NO_TABLES, True
        self.limits: BodyLimits | None = None
        self.cancel: Callable[[], object] | None = None
        self.revoked = False
        self.snapshot: Any = None

    def check(self) -> None:
        """Raise `TaskRevoked` if this task was revoked with *terminate* while it runs; call this where a long body can stop.

        It reads the ledger at most once a second. A body that does not catch the exception ends as REVOKED.
        """
        if self.limits is not None:
            self.limits.check()
        if self.checkpoint is not None:
            self.checkpoint()

    def update_state(self, state: str, meta: Mapping[str, Any] | None = None) -> None:
        """Show a state of your own while this body runs, such as ``update_state("PROGRESS", {"done": 3, "of": 10})``.

        Until the body ends, or shows another one, it is the state of the task for `AsyncResult.state`, with *meta* as `AsyncResult.info`;
        `sedano explain` and the page of the task show it too. Each call is one write of the task's record. A write that the ledger does not
        answer is logged as a warning, and the body goes on. A worker whose claim was taken over shows nothing.

        Args:
            state: capital letters, digits and underscores, up to 40; not a state of the task's life, such as ``RUNNING``.
            meta: values by name, which JSON can hold; with the state up to 1 000 bytes.

        Raises:
            OptionError: *state* or *meta* is invalid.
            TooLarge: they are longer.
            SedanoError: the task has no claim, because it is delivered as ``record_once`` or ``at_least_once``.
        """
        if self.checkpoint is None:
            raise unclaimed()
        from sedano.model.ledger.custom_states import custom_state_text

        self.checkpoint.show(custom_state_text(self.fence, state, meta))

    def retry(
        self, args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None, *, countdown: float | None = None
    ) -> NoReturn:
        """End this attempt as failed and let the next one run with other arguments, or after another pause (Celery's ``self.retry``).

        The policy of the task, or of the `with retry(…):` section around this call, counts and limits the attempts. The error of the
        attempt is the exception that is being handled, if there is one; after the last attempt the task fails with it. The id of the task,
        its place in a canvas, its headers and its stamps stay. In the body of a chord, *args* replaces the results too.

        Args:
            args: all positional arguments of the next attempt; None: those of this one.
            kwargs: all keyword arguments of the next attempt; None: those of this one.
            countdown: the seconds until the next attempt, at most a day; None: the pause of the policy.

        Raises:
            RetryRequested: always, to leave the body; do not catch it.
            ArgumentError: *args* is not a list or a tuple, or *kwargs* is not a mapping; as with each error below, the task then fails
                without a retry.
            OptionError: *countdown* is out of its range, or the task is a map.
            SedanoError: the task has no claim, because it is delivered as ``record_once`` or ``at_least_once``.
        """
        from sedano.model.ledger.outcome import wished

        handled = sys.exc_info()[1]
        try:
            if self.checkpoint is None:
                raise SedanoError("retry: this task has no record while it runs; declare it with delivery='claimed'")
            if self.command.task.startswith("sedano."):
                raise OptionError("retry: a map runs many calls as one task, which have no other attempt each; raise the error instead")
            wishes = wished(args, kwargs, countdown)
        except SedanoError as wrong:
            mark(wrong, Mark(poisonous=True))  # another attempt would have the arguments that the body does not want
            raise
        raise RetryRequested(wishes, handled)

    @property
    def config(self) -> Any:
        """The app's configuration (`app.configure`) as it was when this body began; a new version applies from the next body on.

        Raises:
            ConfigurationError: the app declares no configuration.
        """
        if self.snapshot is None:
            raise ConfigurationError("this app has no configuration; declare a frozen dataclass with app.configure(…)")
        return self.snapshot

    @property
    def effects(self) -> TableWrites:
        """Collect writes to tables that the app declares (`app.table`); they are made together with the record of this task's success, or
        not at all.

        Raises:
            SedanoError: this task leaves no record.
        """
        if self._effects is None:
            from sedano.engine.effects import collecting

            self._effects = collecting(self.tables, self.recorded)
        return self._effects

    @property
    def collected(self) -> Sequence[TableWrite]:
        """The effects that the body has collected."""
        return () if self._effects is None else tuple(self._effects.writes)

    @property
    def id(self) -> str:
        """The task's id."""
        return self.command.task_id

    @property
    def task(self) -> str:
        """The task's name."""
        return self.command.task

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 0; those of a task that this one replaces are not counted."""
        return self.command.attempt - self.before

    @property
    def root_id(self) -> str:
        """The id of the first task of the canvas."""
        return self.command.lineage.root_id or self.command.task_id

    @property
    def parent_id(self) -> str | None:
        """The id of the task that published this one, if one did."""
        return self.command.lineage.parent_id

    @property
    def tenant(self) -> str | None:
        """The tenant of this task."""
        return self.command.tenant

    @property
    def stamps(self) -> Mapping[str, str]:
        """The stamps of this task, by name; all tasks that it publishes inherit them."""
        return read(self.command.stamps)

    @property
    def headers(self) -> Mapping[str, Any]:
        """The headers of this call, by name; its retries keep them, and what it publishes does not inherit them."""
        return headers.read(self.command.headers)

    @property
    def span(self) -> Span:
        """This execution in its trace (W3C): `trace_id`, its own `span_id`, the `parent_id` of the span that caused it, the flags."""
        if self._span is None:
            self._span = span_of(self.command, self.fence, self.clock)
        return self._span

    @property
    def traceparent(self) -> str:
        """The W3C trace parent for the messages that this execution publishes."""
        return self.span.traceparent

    @property
    def tracestate(self) -> str | None:
        """The W3C trace state of its publisher, if any; all messages that this task publishes carry it."""
        return self.command.tracestate


def span_of(command: Command, fence: int, clock: int) -> Span:
    """Return the span of the execution of *command* under *fence*; without a claim, of the execution that began at *clock*."""
    execution = f"{command.task_id}/{command.attempt}/{fence or f'{command.id}/{clock}'}"
    return span(command.traceparent, command.lineage.root_id or command.task_id, execution)


def unclaimed() -> SedanoError:
    """Return the error of a task that can show no state, because it has no record while it runs."""
    return SedanoError("update_state: this task has no record while it runs; declare it with delivery='claimed'")


CURRENT: ContextVar[TaskContext | None] = ContextVar("sedano_task", default=None)


def must_not_hold_up() -> None:
    """Raise if the caller must not wait here for a task to end.

    Raises:
        WaitInsideTask: a task is running here, and the awaited task may need its worker.
        WaitInsideLoop: see `must_not_stop_loop`.
    """
    if CURRENT.get() is not None:
        raise WaitInsideTask("a task must not wait for another task's result; use a chord, or link a callback")
    must_not_stop_loop(
        "`await result` (in a notebook, too), with a limit `await asyncio.wait_for(result, 10)`, as they arrive "
        "`async for value in results.iterate()`; `result.ready()` looks without waiting"
    )


def must_not_stop_loop(instead: str) -> None:
    """Return if the caller may block this thread; otherwise raise an error that says what to write *instead*.

    Raises:
        WaitInsideLoop: an event loop runs on this thread, and all of its other tasks would stop meanwhile.
    """
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:  # then no loop of it runs, and a program that waits without one does not pay for its import
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise WaitInsideLoop(f"this would block the running event loop; write {instead}")


def current() -> TaskContext:
    """Return the task that is running here: its id, attempt, fence, deadline, clock.

    Raises:
        SedanoError: no task is running here.
    """
    context = CURRENT.get()
    if context is None:
        raise SedanoError("no task is running here; use `current()` in the body of a task")
    return context
