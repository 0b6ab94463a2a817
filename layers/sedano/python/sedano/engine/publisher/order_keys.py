"""The key within which a queue keeps the order of a call; only a program that has such a queue loads this."""

from __future__ import annotations

from sedano.engine.registry import ORDER, require_of
from sedano.errors import ArgumentError, OptionError
from sedano.model.order import APART, group_of
from sedano.model.queues import FIFO, is_fifo
from sedano.model.tasks.signature import Signature
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Ports


def key_for(ports: Ports, spec: TaskSpec | None, signature: Signature, queue: str, delay: int) -> str:
    """Return the key within which *queue* keeps the order of *signature*, a call of *spec* (None: a task that this app does not know).

    Raises:
        OptionError: the queue keeps no order, or an option contradicts it.
        ArgumentError: its arguments have no such key.
        QueueUnfit: the queues of this deployment keep no order.
    """
    options = signature.options
    if not is_fifo(queue):
        if options.serial_key is None:
            raise OptionError(f"queue: {signature.task} is declared with serial_key=, and {queue!r} keeps no order; leave the queue out")
        raise OptionError(f"serial_key: the queue {queue!r} keeps no order; the name of one that does ends in {FIFO}")
    require_of(ports, ORDER, f"a call on the queue {queue!r}")
    if spec is not None and spec.serial_key is None:
        raise OptionError(f"queue: {queue!r} keeps order, and {spec.name} is declared without serial_key=; declare it with such a queue")
    if delay:
        raise OptionError(
            f"countdown, eta: {queue!r} keeps the order of publication, and a message that waits would delay all messages behind it; "
            "let a task of another queue wait, and publish this one when it runs"
        )
    if options.tenant is not None:
        raise OptionError(f"tenant: {APART['tenant']}; leave it out")
    key = options.serial_key if options.serial_key is not None else _own_key(spec, signature, queue)
    if not key:
        raise ArgumentError("serial_key", "is empty; which calls must not pass one another?")
    return group_of(key)


def _own_key(spec: TaskSpec | None, signature: Signature, queue: str) -> str:
    key_of = spec.serial_key if spec is not None else None
    if key_of is None:
        raise OptionError(f"serial_key: {queue!r} keeps order within a key, and this app does not know {signature.task}; give serial_key=")
    try:
        return key_of(signature.args, signature.kwargs)
    except Exception as lacking:
        raise ArgumentError("serial_key", f"{type(lacking).__name__}: {lacking}") from lacking
