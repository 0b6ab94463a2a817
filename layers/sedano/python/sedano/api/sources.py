"""`@app.webhook(…)` and `@app.stream(…)`: input from outside the app. Part of `Sedano`; loaded only by an app that declares one.

@app.webhook("github", verify=hmac_sha256(header="X-Hub-Signature-256", prefix="sha256="), delivery="X-GitHub-Delivery")
def closed(request: WebhookRequest) -> IssueClosed | None: ...

@app.stream("orders")
@app.task
def ordered(record: TableChange) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sedano.engine.registry import Registry

if TYPE_CHECKING:
    from sedano.engine.sources.webhooks import Hook
    from sedano.model.sources.signature_schemes import Scheme
    from sedano.model.sources.streams import Operation
    from sedano.model.sources.webhooks import WebhookRequest
    from sedano.task import Task

Called = TypeVar("Called", bound="Task[Any, Any]")
Reader = TypeVar("Reader", bound="Callable[[WebhookRequest], Any]")


class Sources:
    """The webhooks and streams of an app."""

    registry: Registry

    @cached_property
    def webhooks(self) -> dict[str, Hook]:
        """The declared webhooks, by name."""
        return {}

    def webhook(
        self, name: str, *, verify: Scheme, delivery: str | Callable[[WebhookRequest], str] | None = None
    ) -> Callable[[Reader], Reader]:
        """Declare a webhook: the function below makes events of what is posted to `/NAME` of the stage's webhook URL.

        It returns an event (`IssueClosed(number=5)`), a list of events, or None when a request is of no interest. It is the user's own
        afterwards, to be called in tests. If it raises, the request is parked; the events that it returns are published once for each
        delivery.

        Args:
            name: the last part of the address: a-z, then a-z, 0-9, - and _, at most 40 in all.
            verify: how the sender signs, from `sedano.webhooks`: `hmac_sha256(…)`, `secret_token(…)`, `stripe()`, `slack()`,
                `standard_webhooks()`; or `unsigned()`, which accepts every request.
            delivery: the sender's own id of a delivery, the same when it is repeated: the name of the header that holds it, or a function
                of the request. By default what `verify` knows of this kind of sender, else the body is its own id.

        Raises:
            OptionError: an option cannot be honoured, or another webhook has the name.
        """

        def declare(reader: Reader) -> Reader:
            from sedano.api import webhooks

            webhooks.declare(self, name, verify, delivery, reader)
            return reader

        return declare

    @cached_property
    def streams(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """By the names of streams: the names of the tasks that read each, with the operations that each wants; an empty list: all."""
        return {}

    def stream(self, name: str, *, operations: Sequence[Operation] = ()) -> Callable[[Called], Called]:
        """Subscribe the task below to a stream: it is called with each record, a `TableChange` or `StreamRecord` (`sedano.streams`).

        Each record is a call of its own, the same one however often Lambda delivers it, so retries, limits, order and parking are those
        of the task; a webhook makes events instead, because its sender waits for an answer that depends on what he posted. Records are
        published in the order of their shard; a queue that keeps order (``serial_key="{record[keys][id]}"``) keeps it as far as the
        body. Several tasks may read a stream, and one task may read several. The deployment says where the stream is.

        Args:
            name: what the stream is called in this app: a-z, then a-z, 0-9, - and _, at most 40 in all.
            operations: of a table's changes only these: ``INSERT``, ``MODIFY``, ``REMOVE``; by default all.

        Raises:
            OptionError: an option cannot be honoured, or the decorated object is not a task that takes one argument.
        """

        from sedano.api import streams

        streams.check_name(name)

        def stand(task: Called) -> Called:
            streams.declare(self, name, operations, task)
            return task

        return stand
