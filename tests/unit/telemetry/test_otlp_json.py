"""OTLP in JSON, byte by byte, and the variables of OpenTelemetry that say where it goes."""

import json

import pytest

from sedano.errors import ConfigurationError
from sedano.model.telemetry.execution_spans import ExportedSpan, TraceLink
from sedano.model.telemetry.otlp_json import RETRYABLE, TIMEOUT_S, OtlpEndpoint, otlp_endpoint, span_json, traces_body

SPAN = ExportedSpan(
    trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331", parent_id="00f067aa0ba902b7", name="shop.add", kind=5,
    begin=1_764_316_800.25, end=1_764_316_801.5, attributes={"text": "a", "number": 2, "share": 0.5, "flag": True}, error="ValueError: no",
    links=[TraceLink("1" * 32, "2" * 16)], tracestate="a=1",
)  # fmt: skip
GENERAL = "OTEL_EXPORTER_OTLP_ENDPOINT"


def test_a_span_value_by_value() -> None:
    assert span_json(SPAN) == {
        "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331", "parentSpanId": "00f067aa0ba902b7",
        "name": "shop.add", "kind": 5, "startTimeUnixNano": "1764316800250000000", "endTimeUnixNano": "1764316801500000000",
        "attributes": [
            {"key": "text", "value": {"stringValue": "a"}}, {"key": "number", "value": {"intValue": "2"}},
            {"key": "share", "value": {"doubleValue": 0.5}}, {"key": "flag", "value": {"boolValue": True}},
        ],
        "status": {"code": 2, "message": "ValueError: no"}, "links": [{"traceId": "1" * 32, "spanId": "2" * 16}], "traceState": "a=1",
    }  # fmt: skip


def test_a_root_without_links_or_an_error_has_no_field_for_them() -> None:
    plain = SPAN._replace(parent_id="", error="", links=(), tracestate="")
    assert {"parentSpanId", "status", "links", "traceState"}.isdisjoint(span_json(plain))


def test_the_body_of_a_request_names_the_service_and_the_scope() -> None:
    assert json.loads(traces_body([SPAN, SPAN], "sedano-worker")) == {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "sedano-worker"}}]},
                "scopeSpans": [{"scope": {"name": "sedano"}, "spans": [span_json(SPAN)] * 2}],
            }
        ]
    }
    assert sorted(RETRYABLE) == [429, 502, 503, 504]


@pytest.mark.parametrize(
    ("address", "environment", "found"),
    [
        ("", {}, ("http://127.0.0.1:4318/v1/traces", {}, 10.0)),
        ("", {GENERAL: ""}, ("http://127.0.0.1:4318/v1/traces", {}, 10.0)),
        ("c:1", {GENERAL: "https://x"}, ("http://c:1/v1/traces", {}, 10.0)),
        ("c:1/", {}, ("http://c:1/v1/traces", {}, 10.0)),
        ("", {GENERAL: "https://x:2/otlp/"}, ("https://x:2/otlp/v1/traces", {}, 10.0)),
        ("", {GENERAL: "https://x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://y/own"}, ("http://y/own", {}, 10.0)),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a=b%20c, d = e=f ,"}, ("http://127.0.0.1:4318/v1/traces", {"a": "b c", "d": "e=f"}, 10.0)),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "%41=1,, b ="}, ("http://127.0.0.1:4318/v1/traces", {"A": "1", "b": ""}, 10.0)),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": ""}, ("http://127.0.0.1:4318/v1/traces", {}, 10.0)),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "1"}, ("http://127.0.0.1:4318/v1/traces", {}, 0.001)),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "1234567899"}, ("http://127.0.0.1:4318/v1/traces", {}, 123_456.789)),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "000000001"}, ("http://127.0.0.1:4318/v1/traces", {}, 0.001)),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "2500"}, ("http://127.0.0.1:4318/v1/traces", {}, 2.5)),
        ("", {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, ("http://127.0.0.1:4318/v1/traces", {}, 10.0)),
    ],
)
def test_the_collector_is_that_of_the_name_or_of_the_variables(
    address: str, environment: dict[str, str], found: tuple[str, dict[str, str], float]
) -> None:
    assert otlp_endpoint("SEDANO_TRACES", "traces", address, environment) == OtlpEndpoint(*found)
    assert TIMEOUT_S == 10


@pytest.mark.parametrize(
    ("address", "environment", "words"),
    [
        ("", {GENERAL: "collector:4318"}, f"{GENERAL}: 'collector:4318/v1/traces' is not a URL of a collector; write http://127.0.0.1:4318"),
        ("", {GENERAL: "http://"}, f"{GENERAL}: 'http:/v1/traces' is not a URL of a collector"),
        ("", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "x"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'x' is not a URL of a collector"),
        (":1", {}, "SEDANO_TRACES: 'http://:1/v1/traces' is not a URL of a collector"),
        ("c:x", {}, "SEDANO_TRACES: 'http://c:x/v1/traces' is not a URL of a collector"),
        ("c:65536", {}, "SEDANO_TRACES: 'http://c:65536/v1/traces' is not a URL of a collector"),
        ("h" * 90 + ":0", {}, f"SEDANO_TRACES: 'http://{'h' * 73}' is not a URL of a collector"),
        ("", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "ftp:x"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'ftp:x' is not a URL of a collector"),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "x" * 21}, f"OTEL_EXPORTER_OTLP_TIMEOUT: '{'x' * 20}' is not a number of milliseconds"),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "²"}, "OTEL_EXPORTER_OTLP_TIMEOUT: '²' is not a number of milliseconds"),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a=1, =b"}, "OTEL_EXPORTER_OTLP_HEADERS: write name=value"),
        ("", {GENERAL: "ftp://x"}, f"{GENERAL}: 'ftp://x/v1/traces' is not a URL of a collector"),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "0000000001"}, "OTEL_EXPORTER_OTLP_TIMEOUT: '0000000001' is not a number"),
        ("c:0", {}, "SEDANO_TRACES: 'http://c:0/v1/traces' is not a URL of a collector"),
        ("", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL: sedano sends OTLP over HTTP only; write http/json"),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a"}, "OTEL_EXPORTER_OTLP_HEADERS: write name=value, with commas between the headers"),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "=b"}, "OTEL_EXPORTER_OTLP_HEADERS: write name=value"),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "OTEL_EXPORTER_OTLP_TIMEOUT: '10s' is not a number of milliseconds; write 10000"),
        ("", {"OTEL_EXPORTER_OTLP_TIMEOUT": "0"}, "OTEL_EXPORTER_OTLP_TIMEOUT: '0' is not a number of milliseconds"),
    ],
)
def test_a_variable_that_cannot_be_used_is_refused_by_its_name(address: str, environment: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        otlp_endpoint("SEDANO_TRACES", "traces", address, environment)
    assert str(refused.value).startswith(words)
