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
    from sedano.model.sources.challenges import Challenge
    from sedano.model.sources.queue_messages import Format
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
        self, name: str, *, verify: Scheme, delivery: str | Callable[[WebhookRequest], str] | None = None,
        challenge: Challenge | None = None,
    ) -> Callable[[Reader], Reader]:
        """Declare a webhook: the decorated function turns a request to `/NAME` of the stage's webhook URL into events.

        It returns an event (`IssueClosed(number=5)`), a list of events, or None to ignore the request. It stays a plain function, which
        tests can call. If it raises, the request is parked; the events that it returns are published once for each delivery.

        Args:
            name: the last part of the address: a-z, then a-z, 0-9, - and _, at most 40 in all.
            verify: how the sender signs, by a function of `sedano.webhooks`: `hmac_sha256(…)`, `secret_token(…)`, `stripe()`, `slack()`,
                `standard_webhooks()`; or `unsigned()`, which accepts every request.
            delivery: the sender's id of a delivery, which a repetition repeats: the name of the header that holds it, or a function of the
                request. By default as `verify` defines for this kind of sender, else a digest of the body.
            challenge: how the sender checks the address with a GET request, by a function of `sedano.webhooks`: `hub()` (Meta), `echo()`
                (Dropbox), `response_check()` (X). A HEAD request is answered for every webhook.

        Raises:
            OptionError: an option cannot be honoured, or another webhook has the name.
        """

        def declare(reader: Reader) -> Reader:
            from sedano.api import webhooks

            webhooks.declare(self, name, webhooks.Checks(verify, delivery, challenge), reader)
            return reader

        return declare

    @cached_property
    def streams(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each stream, by its name: the names of the tasks that read it, with the operations that each reads; an empty list means
        all."""
        return {}

    @cached_property
    def formats(self) -> dict[str, str]:
        """The format of the messages of each stream that is read from a queue, if its declaration names one."""
        return {}

    def stream(self, name: str, *, operations: Sequence[Operation] = (), reads: Format | None = None) -> Callable[[Called], Called]:
        """Subscribe the decorated task to a stream: it is called with each record, a `TableChange` or `StreamRecord` (`sedano.streams`), or
        with each message of a foreign queue, a `QueueMessage`, `TopicMessage`, `ObjectChange` or `BusEvent`.

        Each record becomes one call, however often Lambda delivers it, and the task's retries, limits, order and parking apply. (A webhook
        makes events instead, because its sender waits for an answer that depends on the request.) Records are published in the order of
        their shard; a queue that keeps order (``serial_key="{record[keys][id]}"``) preserves it up to the body. Several tasks may read a
        stream, and one task may read several. The deployment configures the location of the stream: a table, a Kinesis stream, or a queue,
        whose messages have no order unless it is a FIFO queue.

        Args:
            name: the name of the stream in this app: a-z, then a-z, 0-9, - and _, at most 40 in all.
            operations: the kinds of table changes to read: ``INSERT``, ``MODIFY``, ``REMOVE``; by default all.
            reads: the format of the messages of a queue: ``"s3"`` for the notifications of a bucket, ``"sns"`` for the messages of a topic,
                ``"eventbridge"`` for events of a bus; by default each message as it is, a `QueueMessage`.

        Raises:
            OptionError: an option cannot be honoured, or the decorated object is not a task that takes one argument.
        """

        from sedano.api import streams

        streams.check_name(name)

        def stand(task: Called) -> Called:
            streams.declare(self, name, operations, task, reads)
            return task

        return stand
