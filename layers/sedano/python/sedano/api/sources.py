"""`@app.webhook(…)`, `@app.stream(…)` and `@app.poll(…)`: input from outside the app. Part of `Sedano`; loaded only by an app that declares
one.

@app.webhook("github", verify=hmac_sha256(header="X-Hub-Signature-256", prefix="sha256="), delivery="X-GitHub-Delivery")
def closed(request: WebhookRequest) -> IssueClosed | None: ...

@app.stream("orders")
@app.task
def ordered(record: TableChange) -> None: ...

@app.poll("invoices", every(300), http("https://api.example.com/invoices"), identity="id")
@app.task
def booked(invoice: dict[str, Any]) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from sedano.engine.registry import Registry

if TYPE_CHECKING:
    from sedano.api.polls import PollApp, Source
    from sedano.api.task_options import TaskOptions
    from sedano.engine.sources.polls import Poll
    from sedano.engine.sources.webhooks import Hook
    from sedano.model.schedules.timetable import Timetable
    from sedano.model.sources.challenges import Challenge
    from sedano.model.sources.polls import Identity
    from sedano.model.sources.queue_messages import Format
    from sedano.model.sources.signature_schemes import Scheme
    from sedano.model.sources.streams import Operation
    from sedano.model.sources.webhooks import WebhookRequest
    from sedano.task import Task

Called = TypeVar("Called", bound="Task[Any, Any]")
Reader = TypeVar("Reader", bound="Callable[[WebhookRequest], Any]")


class Sources:
    """The webhooks, streams and polls of an app."""

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

    @cached_property
    def polls(self) -> dict[str, Poll]:
        """The declared polls, by name."""
        return {}

    def poll(
        self, name: str, timetable: Timetable, source: Source, /, *, identity: str | Identity | None = None, **options: Unpack[TaskOptions]
    ) -> Callable[[Called], Called]:  # fmt: skip
        """Read *source* at intervals, and call the decorated task with each new item (docs/polls.md).

        Each item becomes one call, whichever poll reads it and however often: the id of the call is derived from the item. The cursor moves
        after the calls of a page are published. Items are published in the order of the page; a queue that keeps order
        (``serial_key="{order[customer]}"``) preserves it up to the body.

        Each poll is a run of a task of its own, ``poll.NAME``, with a queue, retries and time limits like any other.

        Args:
            name: the name of the poll in this app: a-z, then a-z, 0-9, - and _, at most 40 in all. It is part of the ids of the calls.
            timetable: when to read: `every(…)` or `cron(…)`.
            source: `sedano.polls.http(…)`, or a plain function of the cursor (None at first) that returns `Polled(items, cursor)`, or None
                if nothing has changed. It raises `SourceBusy(seconds)` if the source asks to wait.
            identity: how an item is known again: the name of the field, or a function of the item that returns a text or a number; by
                default its content, so that a changed item is a new one.
            options: options of the task ``poll.NAME``, such as ``queue=``, ``retry=``, ``time_limit=``.

        Raises:
            OptionError: an option cannot be honoured, or the decorated object is not a task that takes one argument.
        """
        from sedano.api import polls

        polls.check(name, source, identity, options)

        def feed(task: Called) -> Called:
            polls.declare(cast("PollApp", self), (name, timetable), source, identity, options, task)
            return task

        return feed
