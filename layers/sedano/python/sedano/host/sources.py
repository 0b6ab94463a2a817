"""The reader of an app's streams and the receiver of its webhooks."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Protocol

from sedano.api import streams, webhooks
from sedano.engine.drafts import CommandDraft
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.sources.streams import Streams
from sedano.engine.sources.webhooks import Webhooks
from sedano.errors import ConfigurationError
from sedano.model.history.run_rows import Host
from sedano.model.messages.message import NOTHING
from sedano.model.sources.streams import Record
from sedano.model.tasks.signature import Signature
from sedano.ports.webhook_secrets import SecretTexts

_OF_A_TABLE, _OF_A_QUEUE = ":dynamodb:", ":sqs:"


class StreamReaderApp(streams.StreamApp, Protocol):
    """The part of an app that the stream reader needs."""

    name: str

    @property
    def outlet(self) -> Outlet:
        """The publisher."""


class WebhookReceiverApp(webhooks.WebhookApp, Protocol):
    """The part of an app that the webhook receiver needs."""

    name: str

    @property
    def outlet(self) -> Outlet:
        """The publisher."""


def reading(app: StreamReaderApp, arns: Mapping[str, str] = NOTHING) -> Streams:
    """Return the reader of the streams of *app*; *arns*: the ARN of each stream whose records are identified by ARN.

    Raises:
        ConfigurationError: a stream with an ARN is not declared, or a Kinesis stream is declared with operations of a table.
    """
    _check(app, arns)
    outlet = app.outlet

    def called(task: str, record: Record, task_id: str) -> CommandDraft:
        return outlet.drafting.call(Signature(task, (record,)), task_id)

    host = Host(f"{app.name}@{socket.gethostname()}", os.getpid())
    return Streams(app.streams, called, outlet.ports, host, outlet.lamport, formats=app.formats)


def _check(app: StreamReaderApp, arns: Mapping[str, str]) -> None:
    for name, arn in arns.items():
        if name not in app.streams:
            raise ConfigurationError(
                f"SEDANO_STREAMS: no task of the app reads the stream {name}; it declares {', '.join(sorted(app.streams)) or 'no stream'}; "
                f"put @app.stream({name!r}) above a task, or remove the name from the setting streams, and deploy the stage again"
            )
        if _OF_A_TABLE not in arn and any(app.streams[name].values()):
            raise ConfigurationError(f"stream {name}: only a table has operations, and {arn} is not a table; remove them from @app.stream")
        if _OF_A_QUEUE not in arn and name in app.formats:
            raise ConfigurationError(f"stream {name}: only a queue has a format, and {arn} is not a queue; remove reads= from @app.stream")


def answering(app: WebhookReceiverApp, secrets: SecretTexts | None = None) -> Webhooks:
    """Return the receiver of the webhooks of *app*; without *secrets*, it only takes parked requests again."""
    outlet = app.outlet
    return Webhooks(app.webhooks, outlet.ports, Host(f"{app.name}@{socket.gethostname()}", os.getpid()), outlet.lamport, secrets)
