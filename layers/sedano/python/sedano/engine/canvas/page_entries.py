"""A signature in a page of a canvas: everything that a worker needs to publish its task later, without a further read.

Moments that count from the publication (`expires` in seconds, `countdown`) stay relative, because a step is published when its turn is.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from sedano.engine.canvas.map_tasks import built_in
from sedano.engine.registry import Registry
from sedano.engine.task_context import CURRENT
from sedano.errors import OptionError, TooLarge, UnknownTask
from sedano.model.canvas.continuation import told_to_errback
from sedano.model.canvas.pages import CONTEXT, Entry, refuse_options
from sedano.model.messages import codec, headers
from sedano.model.messages.attributes import MAX_DATA_DEPTH
from sedano.model.messages.message import COLLECT
from sedano.model.messages.plain_json import dump
from sedano.model.messages.stamps import joined
from sedano.model.order import unordered
from sedano.model.queues import is_fifo
from sedano.model.tasks.signature import Signature, delay_of, time_limits_of
from sedano.ports import Ports

MOST_IN_CANVAS_S = 30 * 86_400.0
"""How long a task of a canvas may wait: the records of the tasks around it are kept for 44 days."""
INLINE_ARGUMENTS = 8_000
"""Arguments longer than this (JSON) are separate objects in the blob store, so that a page is read quickly."""


class Writes(Protocol):
    """The part of the publisher that writing an entry needs."""

    ports: Ports
    registry: Registry

    @property
    def first_queue(self) -> str:
        """The queue of tasks that name none."""

    def band(self, signature: Signature, queue: str) -> str:
        """Return the queue of the priority of *signature*, which would be sent to *queue*."""


def entry(outlet: Writes, signature: Signature, handed: int, queue: str) -> Entry:
    """Return *signature* written down; *handed* values will precede its arguments (`CONTEXT`: an error callback's); *queue*: where the
    step before it is queued.

    Raises:
        UnknownTask: the app does not declare the task.
        ArgumentError: its arguments do not fit.
        OptionError: an option has no meaning within a canvas, or the task runs many calls as one.
        Unserialisable, TooLarge: a message cannot carry an argument.
    """
    refuse_options(signature)
    options, registry = signature.options, outlet.registry
    spec = registry.tasks.get(signature.task) or built_in(registry, signature.task)
    if spec is None:
        raise UnknownTask(f"no task {signature.task!r} in this app: a canvas is checked before it is published; declare it here")
    if spec.limits is not None and spec.limits.batch is not None and not spec.limits.runs:
        what = f"batch: {signature.task!r} runs many calls as one, so nothing can wait for one of them in a canvas"
        raise OptionError(f"{what}; publish its calls one by one, under `with app.batch():` in tens")
    told = told_to_errback(spec.parameters.room(len(signature.args), signature.kwargs)) if handed == CONTEXT else handed
    spec.parameters.takes(0 if signature.immutable else told, signature.args, signature.kwargs)
    usual = (queue or outlet.first_queue) if signature.task == COLLECT else spec.queue
    named = outlet.band(signature, options.queue or usual)
    if is_fifo(named) or options.serial_key is not None:
        raise unordered("a canvas publishes its tasks", named)
    fields: dict[str, Any] = {"task": signature.task, "queue": named, **_times(signature, spec.expires, outlet.ports.clock.now())}
    own = spec.tenant_of(signature.args, signature.kwargs) if signature.immutable or not handed else None
    context = CURRENT.get()
    tenant, stamps = (context.tenant, context.command.stamps) if context is not None else (None, None)
    fields |= {
        "tenant": options.tenant or own or tenant, "traceparent": options.traceparent, "stamps": joined(stamps, options.stamps),
        "ignore_result": options.ignore_result if options.ignore_result is not None else spec.ignore_result or None,
        "immutable": signature.immutable, "id": options.task_id, "time_limits": time_limits_of(options, spec.time_limits),
        "headers": headers.write(options.headers) if options.headers else None,
    }  # fmt: skip
    given = {name: value for name, value in fields.items() if value is not None and (value is not False or name == "ignore_result")}
    text = dump(given, "options", MAX_DATA_DEPTH)[1:-1]
    common = {name: fields[name] for name in ("tenant", "stamps") if fields[name]}
    return Entry(text + _arguments(outlet, signature), named, dump(common, "options", MAX_DATA_DEPTH)[1:-1])


def _times(signature: Signature, lifetime: float | None, now: float) -> dict[str, Any]:
    options, times = signature.options, dict[str, Any]()
    delay_of(options, now, MOST_IN_CANVAS_S)
    if options.eta is not None:
        times["eta"] = options.eta.timestamp()
    elif options.countdown:
        times["delay"] = options.countdown
    if isinstance(options.expires, datetime):
        times["expires"] = options.expires.timestamp()
    else:
        times["lifetime"] = options.expires if options.expires is not None else lifetime
    return times


def _arguments(outlet: Writes, signature: Signature) -> str:
    """Return the arguments' members of the entry, with a comma before them: themselves, or where they lie."""
    room = MAX_DATA_DEPTH - 1
    args = dump(list(signature.args), "data.args", room) if signature.args else ""
    kwargs = dump(dict(signature.kwargs), "data.kwargs", room) if signature.kwargs else ""
    if len(args) + len(kwargs) <= INLINE_ARGUMENTS:
        return (f',"args":{args}' if args else "") + (f',"kwargs":{kwargs}' if kwargs else "")
    data = codec.encode_data(signature.args, signature.kwargs)
    if len(data) > codec.MAX_DATA_BYTES:
        raise TooLarge(f"data: {len(data)} bytes; arguments may have {codec.MAX_DATA_BYTES} together")
    ref = outlet.ports.blobs.put(data)
    return f',"ref":["{ref.digest}",{ref.size}]'
