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
from sedano.engine.worker_events import Host
from sedano.errors import ConfigurationError
from sedano.model.messages.message import NOTHING
from sedano.model.sources.streams import StreamRecord, TableChange
from sedano.model.tasks.signature import Signature
from sedano.ports.webhook_secrets import SecretTexts

_OF_A_TABLE = ":dynamodb:"


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
    """Return the reader of the streams of *app*; *arns*: the ARN of each, where records are identified by ARN.

    Raises:
        ConfigurationError: one that has an ARN is not declared, or a Kinesis stream is asked for a table's operations.
    """
    _check(app, arns)
    outlet = app.outlet

    def called(task: str, record: TableChange | StreamRecord, task_id: str) -> CommandDraft:
        return outlet.drafting.call(Signature(task, (record,)), task_id)

    return Streams(app.streams, called, outlet.ports, Host(f"{app.name}@{socket.gethostname()}", os.getpid()), outlet.lamport)


def _check(app: StreamReaderApp, arns: Mapping[str, str]) -> None:
    for name, arn in arns.items():
        if name not in app.streams:
            raise ConfigurationError(
                f"SEDANO_STREAMS: no task of the app reads the stream {name}, but on {', '.join(sorted(app.streams)) or 'none'}; "
                f"put @app.stream({name!r}) above one, or leave it out of the setting streams; and deploy the stage again"
            )
        if _OF_A_TABLE not in arn and any(app.streams[name].values()):
            raise ConfigurationError(f"stream {name}: operations are those of a table, and {arn} is none; leave them out of @app.stream")


def answering(app: WebhookReceiverApp, secrets: SecretTexts | None = None) -> Webhooks:
    """Return what answers for the webhooks of *app*, or takes parked requests once more where there are no *secrets*."""
    outlet = app.outlet
    return Webhooks(app.webhooks, outlet.ports, Host(f"{app.name}@{socket.gethostname()}", os.getpid()), outlet.lamport, secrets)
