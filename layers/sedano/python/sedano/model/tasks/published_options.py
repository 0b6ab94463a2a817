"""The options of one publication as keywords: `Options` for type checkers. Only type checkers load this module."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from sedano.model.tasks.signature import OnDuplicate


class PublishedOptions(TypedDict, total=False):
    """The options of one publication; see `sedano.model.tasks.signature.Options`."""

    queue: str | None
    priority: str | None
    task_id: str | None
    countdown: float | None
    eta: datetime | None
    expires: float | datetime | None
    dedup_key: str | None
    on_duplicate: OnDuplicate | None
    ignore_result: bool | None
    tenant: str | None
    traceparent: str | None
    tracestate: str | None
    budget: int | None
    stamps: Mapping[str, str] | None
    headers: Mapping[str, Any] | None
    time_limit: float | None
    soft_time_limit: float | None
    serial_key: str | None


class LinkedOptions(PublishedOptions, total=False):
    """The options of a publication with callbacks: *link* and *link_error* are a signature or a list of signatures."""

    link: Any
    link_error: Any
