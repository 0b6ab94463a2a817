"""The declaration of order within a key: `@app.task(queue="orders.fifo", serial_key="{order_id}")`.

    app = Sedano("shop", queues=("default", "orders.fifo"))

    @app.task(queue="orders.fifo", serial_key="{order_id}")
    def ship(order_id: int, step: str) -> None: ...

This module refuses calls that cannot run in order, with an error that says what to do; only apps with such a queue load it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.api.call_keys import key_of
from sedano.errors import OptionError
from sedano.model.order import APART
from sedano.model.queues import FIFO, is_fifo
from sedano.model.tasks.task_spec import TaskSpec


def in_order(spec: TaskSpec, options: Mapping[str, Any]) -> TaskSpec:
    """Return *spec* as a task whose calls run in order within its ``serial_key``.

    Raises:
        OptionError: its queue keeps no order, or keeps one and no key is given, or another option contradicts order.
    """
    key = options["serial_key"]
    if not is_fifo(spec.queue):
        raise OptionError(
            f"serial_key: the queue {spec.queue!r} keeps no order; use a FIFO queue, whose name ends in {FIFO}: queue='orders{FIFO}'; "
            "to run one at a time in any order, write concurrency=1 with concurrency_key=, or singleton="
        )
    if key is None:
        raise OptionError(f"queue: {spec.queue!r} keeps order within a key; name the key: serial_key='{{order_id}}'")
    for name, why in APART.items():
        if name in options:
            raise OptionError(f"{name}: cannot be combined with serial_key=: {why}")
    if spec.delivery != "claimed":
        raise OptionError(f"serial_key: a task with delivery={spec.delivery!r} may run twice at a time; only a claimed task runs in order")
    return spec._replace(serial_key=key_of("serial_key", key, spec.parameters))
