"""The export of spans: for each run that is recorded, its spans go to the traces of the process. Without traces nothing of this runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from sedano.engine.batch import Judged, Ran
from sedano.engine.task_context import span_of
from sedano.model.queues import queue_of
from sedano.model.telemetry.execution_spans import TracedRun, execution_spans
from sedano.ports import Telemetry
from sedano.ports.telemetry import Traces

Listener = Callable[[Ran, Judged | None], None]


class SpanListener:
    """Exports the spans of each recorded run to *traces*, after the call of another listener."""

    def __init__(self, traces: Traces, worker: str, listener: Listener | None) -> None:
        """Name the *worker* in its spans; call *listener* first."""
        self._traces, self._worker, self._listener = traces, worker, listener

    def __call__(self, ran: Ran, judged: Judged | None) -> None:
        """Export the spans of *ran*, unless its end was not recorded: then it is delivered again."""
        if self._listener is not None:
            self._listener(ran, judged)
        if judged is not None:
            with suppress(Exception):  # an exporter that does not work must not cost a task
                self._traces.export(execution_spans(self._execution(ran, judged)))

    def _execution(self, ran: Ran, judged: Judged) -> TracedRun:
        job, record, _ = ran.held
        return TracedRun(
            command=job.command, span=span_of(job.command, record.fence if record is not None else 0, ran.started_clock),
            queue=queue_of(job.delivery.queue), worker=self._worker, received=job.received, started=ran.started, ended=ran.ended,
            state=judged.verdict.state, error=ran.run.error,
        )  # fmt: skip


def traced(telemetry: Telemetry, worker: str, listener: Listener | None = None) -> Listener | None:
    """Return the listener of the worker named *worker*: one that exports spans and calls *listener*, if *telemetry* has traces."""
    traces: Traces | None = getattr(telemetry, "traces", None)
    return listener if traces is None else SpanListener(traces, worker, listener)
