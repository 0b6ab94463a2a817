"""The outputs for traces: every adapter keeps the promises of `Traces`; the collector is an HTTP server of this machine."""

import io
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from sedano.memory import MemoryTraces
from sedano.model.telemetry.execution_spans import ExportedSpan, TraceLink
from sedano.model.telemetry.otlp_json import OtlpEndpoint, otlp_endpoint
from sedano.ports.telemetry import Traces
from sedano.telemetry.composed import LOST_SPANS, ComposedTelemetry, Outputs
from sedano.telemetry.otlp import MOST_AT_ONCE, MOST_WAITING, OtlpTraces
from sedano.telemetry.streams import NoMetrics, StreamTraces, json_logs
from tests.conformance.collector import Collector
from tests.waiting import until

SOON_S = 0.01


def span(number: int) -> ExportedSpan:
    """Span *number* of a trace."""
    return ExportedSpan(
        trace_id="1" * 32, span_id=f"{number + 1:016x}", parent_id="", name=f"task{number}", kind=5, begin=1.0, end=2.0,
        attributes={"sedano.attempt": number}, links=[TraceLink("3" * 32, "4" * 16)],
    )  # fmt: skip


def endpoint(address: str, seconds: float = 5.0) -> OtlpEndpoint:
    """The endpoint of a collector, with a header."""
    return otlp_endpoint("SEDANO_TRACES", "traces", address, {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=k"})._replace(seconds=seconds)


class Exporter(NamedTuple):
    """An adapter, and the names of the spans that arrived."""

    traces: Traces
    read: Callable[[], list[str]]


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that takes everything."""
    made = Collector()
    yield made
    made.close()


@pytest.fixture(params=["memory", "json", "otlp", "otlp of a function"])
def exporter(request: pytest.FixtureRequest, collector: Collector) -> Exporter:
    """Each adapter that exports."""
    stream, memory = io.StringIO(), MemoryTraces()

    def of_collector() -> list[str]:
        return [one["name"] for one in collector.spans()]

    made = {
        "memory": (memory, lambda: [one.name for one in memory.spans]),
        "json": (
            StreamTraces(json_logs("sedano-worker", stream)),
            lambda: [json.loads(line)["fields"]["name"] for line in stream.getvalue().splitlines()],
        ),
        "otlp": (OtlpTraces(endpoint(collector.address), "sedano-worker", every=SOON_S), of_collector),
        "otlp of a function": (OtlpTraces(endpoint(collector.address), "sedano-worker", background=False), of_collector),
    }
    return Exporter(*made[request.param])


def test_all_spans_arrive_once_and_none_is_lost(exporter: Exporter) -> None:
    for number in range(5):
        exporter.traces.export([span(2 * number), span(2 * number + 1)])
        exporter.traces.flush()
    exporter.traces.export([])
    exporter.traces.close()
    assert exporter.read() == [f"task{number}" for number in range(10)]
    assert exporter.traces.lost() == 0


def test_a_request_has_the_path_the_headers_and_the_form_of_otlp(collector: Collector) -> None:
    traces = OtlpTraces(endpoint(collector.address), "sedano-worker", background=False)
    traces.export([span(0)])
    traces.flush()
    ((path, headers, body),) = collector.requests
    assert (path, headers["Content-Type"], headers["x-key"]) == ("/v1/traces", "application/json", "k")
    ((found,),) = ([scope["spans"] for scope in one["scopeSpans"]] for one in body["resourceSpans"])
    assert found[0]["links"] == [{"traceId": "3" * 32, "spanId": "4" * 16}]


def test_spans_are_sent_without_a_flush_and_many_need_several_requests(collector: Collector) -> None:
    traces = OtlpTraces(endpoint(collector.address), "sedano-worker", every=SOON_S)
    traces.export([span(number) for number in range(MOST_AT_ONCE * 2 + 1)])
    until(lambda: len(collector.spans()) == MOST_AT_ONCE * 2 + 1)
    assert max(len(one["scopeSpans"][0]["spans"]) for _, _, body in collector.requests for one in body["resourceSpans"]) == MOST_AT_ONCE
    traces.close()


@pytest.mark.parametrize(("answers", "arrivals", "lost"), [((503, 429), 3, 0), ((503, 503, 503), 3, 1), ((400,), 1, 1), ((404,), 1, 1)])
def test_a_busy_collector_is_asked_again_and_a_refusal_is_final(answers: tuple[int, ...], arrivals: int, lost: int) -> None:
    collector = Collector(*answers)
    traces = OtlpTraces(endpoint(collector.address), "sedano-worker", every=SOON_S)
    traces.export([span(0)])
    until(lambda: len(collector.requests) == arrivals)
    traces.close()
    assert traces.lost() == lost
    assert traces.lost() == 0, "a loss is reported once"
    assert len(collector.requests) == arrivals
    collector.close()


@pytest.mark.parametrize("background", [True, False])
def test_a_collector_that_is_away_loses_spans_and_raises_nothing(background: bool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    traces = OtlpTraces(endpoint(address), "sedano-worker", background=background, every=SOON_S)
    traces.export([span(0), span(1)])
    traces.close()
    assert traces.lost() == 2


def test_a_collector_that_never_answers_holds_up_no_task_and_is_given_up_at_its_deadline() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(8)
        traces = OtlpTraces(endpoint(f"127.0.0.1:{deaf.getsockname()[1]}", 0.05), "sedano-worker", every=SOON_S)
        began = time.monotonic()
        traces.export([span(number) for number in range(MOST_WAITING + MOST_AT_ONCE)])
        assert time.monotonic() - began < 2
        assert traces.lost() >= MOST_AT_ONCE - 1
        traces.close()


def test_a_loss_of_spans_is_logged_at_the_next_flush() -> None:
    stream = io.StringIO()
    broken = io.StringIO()
    broken.close()
    traces = StreamTraces(json_logs("sedano-worker", broken))
    telemetry = ComposedTelemetry(Outputs(json_logs("sedano-worker", stream), NoMetrics(), traces), "sedano-lost-spans", dict)
    traces.export([span(0), span(1)])
    telemetry.flush()
    telemetry.close()
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["level"], line["message"], line["fields"]) == ("WARNING", LOST_SPANS, {"spans": 2})
