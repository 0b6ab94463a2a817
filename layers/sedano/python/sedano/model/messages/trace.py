"""W3C trace context: the trace of a message, and the span of one execution of its task. Pure.

A message carries the `traceparent` and `tracestate` of its publisher. Each execution of a task is a new span, a child of the span that the
message names; the body's publications name the execution's span as their parent. The id of a span is derived from the identity of the
execution (task, attempt, fencing token), so it costs nothing until it is needed, and a claim that is taken over has another span.

A message without a trace parent, or with one that cannot be read, belongs to the trace that is derived from its root task: all tasks of one
tree share a trace even if no client uses tracing.
"""

from __future__ import annotations

from hashlib import sha1
from typing import NamedTuple
from uuid import UUID, uuid5

from sedano.model.messages.lineage import NAMESPACE

VERSION = "00"
SAMPLED = "01"
_NIL = UUID(int=0)
_SPACE = NAMESPACE.bytes


class Span(NamedTuple):
    """One execution: its trace, its own id, the id of the span that caused it ("" for a root), and the trace flags."""

    trace_id: str
    span_id: str
    parent_id: str
    flags: str

    @property
    def traceparent(self) -> str:
        """The `traceparent` of the messages that this execution publishes."""
        return f"{VERSION}-{self.trace_id}-{self.span_id}-{self.flags}"


def span(traceparent: str | None, root_id: str, execution: str) -> Span:
    """Return the span of *execution* (a string that is unique to it) of a task whose message carries *traceparent*."""
    digest = sha1(_SPACE + f"span/{execution}".encode(), usedforsecurity=False).hexdigest()
    own = f"{digest[:12]}5{digest[13:16]}"  # the first half of `uuid5`, in a tenth of the time: its version is one of the digits
    if traceparent is None:
        return Span(trace_of(root_id), own, "", SAMPLED)
    _, trace_id, parent_id, flags = traceparent.split("-")[:4]
    return Span(trace_id, own, parent_id, flags)


def trace_of(root_id: str) -> str:
    """Return the trace id of a tree of tasks without a trace parent: the root's id if that is a UUID, else a hash of it."""
    try:
        found = UUID(root_id)
    except ValueError:
        found = _NIL
    return (found if found != _NIL else uuid5(NAMESPACE, f"trace/{root_id}")).hex
