"""Requests and responses of a Lambda function URL, in its payload format 2.0."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from sedano.model.sources.webhooks import Answer, ReceivedRequest


def arrived(event: Mapping[str, Any]) -> ReceivedRequest:
    """Return the request that *event* holds."""
    body = event.get("body") or ""
    method = event.get("requestContext", {}).get("http", {}).get("method", "")
    data = base64.b64decode(body) if event.get("isBase64Encoded") else body.encode("utf-8", "surrogatepass")
    return ReceivedRequest(method, event.get("rawPath", ""), event.get("headers") or {}, data, event.get("rawQueryString") or "")


def response(answer: Answer) -> dict[str, Any]:
    """Return *answer* in Lambda's format."""
    headers = {"content-type": "text/plain; charset=utf-8", **answer.headers}
    return {"statusCode": answer.status, "headers": headers, "body": answer.text}
