"""AWS clients for a local stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sedano.local import LocalStage


class Clients(NamedTuple):
    """A client for each service whose data a demo reads or writes."""

    dynamodb: Any
    streams: Any
    sqs: Any
    s3: Any
    ssm: Any

    @classmethod
    def of(cls, stage: LocalStage) -> Clients:
        """Create the clients."""
        make: Callable[..., Any] = stage.endpoint.session().client
        return cls(*(make(name, endpoint_url=stage.endpoint.url) for name in ("dynamodb", "dynamodbstreams", "sqs", "s3", "ssm")))
