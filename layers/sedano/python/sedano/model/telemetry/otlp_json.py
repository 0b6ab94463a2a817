"""Spans and counts in the JSON form of OTLP, the protocol of OpenTelemetry, and the settings of its exporters. Pure.

Ids are hex texts and 64-bit numbers are texts, as the mapping of protobuf to JSON in the protocol's document demands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from sedano.errors import ConfigurationError
from sedano.model.telemetry.execution_spans import ExportedSpan, Value

PORT = 4318
"""The port at which collectors receive OTLP over HTTP."""
TIMEOUT_S = 10.0
"""How long an exporter waits for an answer, unless OTEL_EXPORTER_OTLP_TIMEOUT says otherwise."""
RETRYABLE = frozenset({429, 502, 503, 504})
"""The answers after which the same data may be sent again."""
ERROR = 2
SCOPE = {"name": "sedano"}
_MICRO = 1_000_000
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_dump = json.JSONEncoder(separators=(",", ":")).encode


class OtlpEndpoint(NamedTuple):
    """Where an exporter sends: the *url*, the *headers* of each request, and the seconds that it waits for an answer."""

    url: str
    headers: Mapping[str, str]
    seconds: float


def otlp_endpoint(variable: str, signal: str, address: str, environment: Mapping[str, str]) -> OtlpEndpoint:
    """Return where *signal* (traces or metrics) is sent: to the *address* of the adapter's name, or as the variables of OpenTelemetry say.

    Raises:
        ConfigurationError: a variable has a value that cannot be used; it names the variable.
    """
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
    where = variable if address else own if environment.get(own) else _ENDPOINT
    if where == own:
        url = environment[own]
    else:
        given = f"http://{address}" if address else environment.get(_ENDPOINT) or f"http://127.0.0.1:{PORT}"
        url = f"{given.rstrip('/')}/v1/{signal}"
    if environment.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc":
        raise ConfigurationError("OTEL_EXPORTER_OTLP_PROTOCOL: sedano sends OTLP over HTTP only; write http/json, with the port of HTTP")
    if not _is_url(url):
        raise ConfigurationError(f"{where}: {url[:80]!r} is not a URL of a collector; write http://127.0.0.1:{PORT}")
    return OtlpEndpoint(url, _headers(environment.get("OTEL_EXPORTER_OTLP_HEADERS", "")), _seconds(environment))


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _headers(text: str) -> dict[str, str]:
    pairs = [one.partition("=") for one in text.split(",") if one.strip()]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise ConfigurationError("OTEL_EXPORTER_OTLP_HEADERS: write name=value, with commas between the headers")
    return {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}


def _seconds(environment: Mapping[str, str]) -> float:
    text = environment.get("OTEL_EXPORTER_OTLP_TIMEOUT", "")
    if not text:
        return TIMEOUT_S
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise ConfigurationError(f"OTEL_EXPORTER_OTLP_TIMEOUT: {text[:20]!r} is not a number of milliseconds; write 10000")
    return int(text[:9]) / 1000


def traces_body(spans: Iterable[ExportedSpan], service: str) -> str:
    """Return *spans* of *service* as the body of a request to `/v1/traces`."""
    scope = {"scope": SCOPE, "spans": [span_json(one) for one in spans]}
    return _dump({"resourceSpans": [{"resource": _resource(service), "scopeSpans": [scope]}]})


def span_json(span: ExportedSpan) -> dict[str, Any]:
    """Return *span* as OTLP writes it."""
    found: dict[str, Any] = {
        "traceId": span.trace_id, "spanId": span.span_id, "name": span.name, "kind": span.kind, "startTimeUnixNano": _nano(span.begin),
        "endTimeUnixNano": _nano(span.end), "attributes": _attributes(span.attributes),
    }  # fmt: skip
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    if span.tracestate:
        found["traceState"] = span.tracestate
    if span.links:
        found["links"] = [{"traceId": link.trace_id, "spanId": link.span_id} for link in span.links]
    if span.error:
        found["status"] = {"code": ERROR, "message": span.error}
    return found


def _resource(service: str) -> dict[str, Any]:
    return {"attributes": _attributes({"service.name": service})}


def _attributes(values: Mapping[str, Value]) -> Sequence[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _nano(seconds: float) -> str:
    return str(round(seconds * _MICRO) * 1000)  # the clock is no finer than microseconds, nor is a float of today
