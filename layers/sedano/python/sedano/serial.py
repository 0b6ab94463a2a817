"""Order within a key, as it is declared and published: `@app.task(queue="orders.fifo", serial_key="{order_id}")`.

    app = Sedano("shop", queues=("default", "orders.fifo"))

    @app.task(queue="orders.fifo", serial_key="{order_id}")
    def ship(order_id: int, step: str) -> None: ...

What cannot be done in order is refused here, with what to do instead; only apps with such a queue load this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.engine.registry import TaskSpec
from sedano.errors import ArgumentError, OptionError
from sedano.keys import key_of
from sedano.model.serial import group_of
from sedano.model.signature import Signature
from sedano.model.transport import FIFO, is_fifo

_APART: Mapping[str, str] = {
    "tenant": "on a FIFO queue the key stands where the tenant stands on others",
    "priority": "there is no order between two bands",
    "rate": "a call that waits for its slot would have to step out of the line; give concurrency=, or deploy with a queue_concurrency",
    "debounce": "the calls that are left out are part of the order",
    "batch": "calls of many keys would run as one",
}


def in_order(spec: TaskSpec, options: Mapping[str, Any]) -> TaskSpec:
    """Return *spec* as a task whose calls run in order within its ``serial_key``.

    Raises:
        OptionError: its queue keeps no order, or keeps one and no key is given, or another option contradicts order.
    """
    key = options["serial_key"]
    if not is_fifo(spec.queue):
        raise OptionError(
            f"serial_key: the queue {spec.queue!r} keeps no order; give queue='orders{FIFO}', or any name that ends so: a FIFO queue; "
            "for one at a time in no order give concurrency=1 with concurrency_key=, or singleton="
        )
    if key is None:
        raise OptionError(f"queue: {spec.queue!r} keeps order within a key; say within which: serial_key='{{order_id}}'")
    for name, why in _APART.items():
        if name in options:
            raise OptionError(f"{name}: cannot go with serial_key=: {why}")
    if spec.delivery != "claimed":
        raise OptionError(f"serial_key: a task that is delivered {spec.delivery} may run twice at a time; only a claimed one runs in order")
    return spec._replace(serial_key=key_of("serial_key", key, spec.parameters))


def key_for(spec: TaskSpec | None, signature: Signature, queue: str, delay: int) -> str:
    """Return the key within which *queue* keeps the order of *signature*, a call of *spec* (None: a task that this app does not know).

    Raises:
        OptionError: the queue keeps no order, or an option contradicts it.
        ArgumentError: its arguments have no such key.
    """
    options = signature.options
    if not is_fifo(queue):
        if options.serial_key is None:
            raise OptionError(f"queue: {signature.task} is declared with serial_key=, and {queue!r} keeps no order; leave the queue out")
        raise OptionError(f"serial_key: the queue {queue!r} keeps no order; the name of one that does ends in {FIFO}")
    if spec is not None and spec.serial_key is None:
        raise OptionError(f"queue: {queue!r} keeps order, and {spec.name} is declared without serial_key=; declare it with such a queue")
    if delay:
        raise OptionError(
            f"countdown, eta: {queue!r} keeps the order of publication, and who waits for a moment would hold up all behind it; "
            "let a task of another queue wait, and publish this one when it runs"
        )
    if options.tenant is not None:
        raise OptionError(f"tenant: {_APART['tenant']}; leave it out")
    key = options.serial_key if options.serial_key is not None else _own_key(spec, signature, queue)
    if not key:
        raise ArgumentError("serial_key", "is empty; which calls must not pass one another?")
    return group_of(key)


def _own_key(spec: TaskSpec | None, signature: Signature, queue: str) -> str:
    if spec is None or spec.serial_key is None:
        raise OptionError(f"serial_key: {queue!r} keeps order within a key, and this app does not know {signature.task}; give serial_key=")
    try:
        return spec.serial_key(signature.args, signature.kwargs)
    except Exception as lacking:
        raise ArgumentError("serial_key", f"{type(lacking).__name__}: {lacking}") from lacking
