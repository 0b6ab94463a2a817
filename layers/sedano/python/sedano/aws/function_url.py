"""Requests and responses of a Lambda function URL, in its payload format 2.0: those of webhooks, and those of JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from sedano.model.direct_calls import MOST_BYTES, MOST_DEPTH
from sedano.model.messages.strict_json import load
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


def is_request(event: Mapping[str, Any]) -> bool:
    """Return whether *event* is a request to a function URL."""
    return "requestContext" in event


def json_of(event: Mapping[str, Any]) -> Any:
    """Return the JSON value in the body of the request in *event*; None for any other body."""
    try:
        return load(arrived(event).body, MOST_BYTES, MOST_DEPTH)
    except ValueError:  # also what is no base64, and what strict JSON refuses
        return None


def json_response(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response with *value* as its body."""
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(value)}
