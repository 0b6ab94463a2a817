"""Drafts of a program's own tasks: the declaration and the options of a call become one message that is not stamped yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sedano.engine.drafts import CommandDraft, Composer
from sedano.engine.registry import Registry
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import OptionError
from sedano.model.messages import headers
from sedano.model.messages.lineage import dedup_id, derived_id
from sedano.model.messages.message import Command, TimeLimits
from sedano.model.messages.stamps import joined
from sedano.model.queues import band_of, is_fifo
from sedano.model.tasks.signature import Options, Signature, delay_of, expiry_of, time_limits_of
from sedano.model.tasks.task_spec import BUILT_IN, TaskSpec
from sedano.ports import Ports
from sedano.ports.absent import require

if TYPE_CHECKING:
    from sedano.model.canvas.pages import Entry


class Drafting:
    """Makes drafts of signatures of one app's tasks."""

    __slots__ = ("_composer", "_queues", "ports", "registry")

    def __init__(self, registry: Registry, ports: Ports, composer: Composer, queues: Sequence[str]) -> None:
        """Draft for the app whose tasks are in *registry* and use *queues*; *composer* keeps long data."""
        self.registry, self.ports, self._composer, self._queues = registry, ports, composer, queues

    def call(self, signature: Signature, task_id: str) -> CommandDraft:
        """Return *signature*, a task outside a canvas, as a draft under *task_id*, with the key of a queue that keeps order."""
        options, spec = signature.options, self.registry.tasks.get(signature.task)
        if spec is not None:
            spec.parameters.fit(signature.args, signature.kwargs)
            if options.dedup_key is not None and spec.delivery == "at_least_once":
                raise OptionError(f"dedup_key: the task {spec.name} is delivered at_least_once and keeps no record to compare with")
        now = self.ports.clock.now()
        ignore = options.ignore_result if options.ignore_result is not None else (spec is not None and spec.ignore_result) or None
        context = CURRENT.get()
        tenant, stamps = (context.tenant, context.command.stamps) if context is not None else (None, None)
        traceparent, tracestate = trace(context, options.traceparent, options.tracestate)
        queue, delay = options.queue or (spec.queue if spec is not None else self.registry.queue_of(signature.task)), delay_of(options, now)
        if options.priority is not None:
            queue = self.band(signature, queue)
        if delay and delay > (most := self.ports.queues.bounds.max_delay):
            require(self.ports.timers, f"a delay of {delay} s, which is more than the {most} s that a queue can delay a message")
        command = Command(
            id="", task_id=task_id, task=signature.task, args=signature.args, kwargs=signature.kwargs,
            expires=expiry_of(options, spec.expires if spec is not None else None, now),
            tenant=options.tenant or _tenant(spec, signature) or tenant, traceparent=traceparent, ignore_result=ignore,
            time_limits=_time_limits(spec, options), stamps=joined(stamps, options.stamps), tracestate=tracestate,
            headers=_headers(spec, options.headers) if options.headers else None,
        )  # fmt: skip
        return CommandDraft(queue, command, delay, serial_key=self._serial_key(spec, signature, queue, delay))

    def draft(self, signature: Signature, task_id: str) -> CommandDraft:
        """Return *signature*, a task of a canvas, as a draft under *task_id*; its arguments must be complete."""
        from sedano.model.canvas.pages import refuse_options

        refuse_options(signature)
        return _unordered(self.call(signature, task_id), "a canvas publishes its tasks")

    def entry(self, signature: Signature, handed: int, queue: str) -> Entry:
        """Return *signature* as a page of a canvas holds it (`sedano.model.canvas.pages`); see `sedano.engine.canvas.page_entries`."""
        from sedano.engine.canvas.page_entries import entry

        return entry(self, signature, handed, queue)

    def keeps(self, signature: Signature) -> bool:
        """Return whether the task of *signature* keeps a result."""
        ignore, spec = signature.options.ignore_result, self.registry.tasks.get(signature.task)
        return not (ignore if ignore is not None else spec is not None and spec.ignore_result)

    def band(self, signature: Signature, queue: str) -> str:
        """Return the queue of the priority of *signature*, which would be sent to *queue*: a band of that queue, or of its task's.

        Raises:
            OptionError: the app has no queue of this band, or one run takes many calls of the task.
        """
        if signature.options.priority is None:
            return queue
        spec = self.registry.tasks.get(signature.task)
        if _collects(spec):
            raise OptionError("priority: one run takes many calls of this task (batch=); declare its priority on the task, for all of them")
        if signature.options.queue is None and spec is not None and spec.band:
            queue = queue.removesuffix(f"-{spec.band}")
        return band_of(queue, signature.options.priority, self._queues)

    @property
    def first_queue(self) -> str:
        """The queue of tasks that name none: the first queue of the app."""
        own = (spec.queue for name, spec in self.registry.tasks.items() if name not in BUILT_IN)
        return next((queue for queue in own if not is_fifo(queue)), self._queues[0])

    def prepare(self, signature: Signature, task_id: str) -> CommandDraft:
        """Return *signature* as a draft that another process may publish later; long data goes to the blob store."""
        return _unordered(self.checked(self.call(signature, task_id)), "the worker that wins publishes it")

    def checked(self, draft: CommandDraft) -> CommandDraft:
        """Put long data into the blob store now, so that the message that carries the draft stays small."""
        ref = self._composer.check(draft.command.args, draft.command.kwargs)
        return draft.asking(args=(), kwargs={}, data_ref=ref) if ref is not None else draft

    def _serial_key(self, spec: TaskSpec | None, signature: Signature, queue: str, delay: int) -> str | None:
        """Return the key within which *queue* keeps order; None if no order is requested."""
        if signature.options.serial_key is None and (spec is None or spec.serial_key is None) and not is_fifo(queue):
            return None
        from sedano.engine.publisher.order_keys import key_for

        return key_for(self.ports, spec, signature, queue, delay)

    def fresh_id(self) -> str:
        """Return the id of the next publication: derived inside a task, so that a second run of the task derives the same one."""
        context = CURRENT.get()
        if context is None:
            return self.ports.entropy.uuid()
        context.published += 1
        salt = f"{context.attempt}/" if context.attempt else ""
        return derived_id(context.id, f"{salt}{context.published}")

    def task_id(self, signature: Signature) -> str:
        """Return the id of the task of *signature*: from its deduplication key, its own, or a new one."""
        options = signature.options
        if options.dedup_key is not None:
            return dedup_id(signature.task, options.dedup_key)
        if options.on_duplicate is not None:
            raise OptionError("on_duplicate: has no meaning without a dedup_key")
        return options.task_id or self.fresh_id()


def _collects(spec: TaskSpec | None) -> bool:
    """Return whether one run of *spec* takes many calls, which then have no message of their own."""
    return spec is not None and spec.limits is not None and spec.limits.batch is not None and not spec.limits.runs


def _headers(spec: TaskSpec | None, given: Mapping[str, Any]) -> str:
    if _collects(spec):
        raise OptionError("headers: one run takes many calls of this task (batch=), and has no headers; pass the values as arguments")
    return headers.write(given)


def trace(context: TaskContext | None, traceparent: str | None, tracestate: str | None) -> tuple[str | None, str | None]:
    """Return the trace context of a publication: the caller's own, or that of the running task."""
    if traceparent is not None or context is None:
        return traceparent, tracestate
    return context.traceparent, tracestate or context.tracestate


def inherited() -> dict[str, Any]:
    """Return what an event or a document takes over from the running task: tenant, stamps and trace context."""
    context = CURRENT.get()
    if context is None:
        return {}
    traceparent, tracestate = trace(context, None, None)
    return {"tenant": context.tenant, "stamps": context.command.stamps, "traceparent": traceparent, "tracestate": tracestate}


def _tenant(spec: TaskSpec | None, signature: Signature) -> str | None:
    """Return the tenant of a call by its arguments, if its task declares how to find it."""
    return spec.tenant_of(signature.args, signature.kwargs) if spec is not None else None


def _unordered(draft: CommandDraft, who: str) -> CommandDraft:
    """Return *draft*, which *who* publishes without order; raise `OptionError` if its queue keeps order."""
    if is_fifo(draft.queue):
        from sedano.model.order import unordered

        raise unordered(who, draft.queue)
    return draft


def _time_limits(spec: TaskSpec | None, options: Options) -> TimeLimits | None:
    """Return the time limits of one call; raise `OptionError` if it cannot have its own limits."""
    found = time_limits_of(options, spec.time_limits if spec is not None else None)
    limits = spec.limits if spec is not None and found is not None else None
    if limits is not None and limits.batch is not None and not limits.runs:
        raise OptionError("time_limit, soft_time_limit: one run takes many calls of this task; declare them on the task, for a whole run")
    return found
