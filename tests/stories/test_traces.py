"""Each execution is a span of the trace of its message; everything that a body publishes carries that span as its parent."""

import json
from typing import Any

import pytest

from sedano import Retry, Sedano, chain, chord, current, group, testing
from sedano.model.messages.attributes import is_traceparent
from sedano.model.messages.lineage import NAMESPACE
from sedano.model.messages.trace import Span, span, trace_of
from sedano.testing import World
from tests.commands import command_in

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OUTSIDE = f"00-{TRACE}-00f067aa0ba902b7-01"
STATE = "rojo=00f067aa,congo=t61"


class Tree:
    """An app whose tasks note their spans, and whose `root` publishes in every way that there is."""

    def __init__(self) -> None:
        """Declare it."""
        self.app, self.seen = Sedano("tree", retry=Retry(max_retries=1, interval_start=1, jitter=False)), list[tuple[str, Span, Any]]()
        self.leaf: Any = self.app.task(name="leaf")(self._noted("leaf"))
        self.Grown: Any = self.app.event(type("Grown", (), {"__annotations__": {"n": int}, "__module__": "tree"}))
        self.Grown.subscribe(self.app.task(name="heard")(lambda n: self._note("heard")))
        self.root: Any = self.app.task(name="root")(self._root)

    def _note(self, name: str) -> None:
        self.seen.append((name, current().span, current().tracestate))

    def _noted(self, name: str) -> Any:
        return lambda *_: self._note(name)

    def _root(self, how: str) -> None:
        self._note("root")
        if how == "plain":
            self.leaf.delay()
        elif how == "event":
            self.Grown.delay(n=1)
        elif how == "canvas":
            chain(self.leaf.si(), group(self.leaf.si(), self.leaf.si()), self.leaf.si()).delay()
        elif how == "chord":
            chord([self.leaf.si(), self.leaf.si()])(self.leaf.s())
        elif how == "later":
            self.leaf.apply_async(countdown=2_000)
        elif how == "retry" and current().attempt == 0:
            raise ValueError("once more")

    def of(self, name: str) -> list[tuple[Span, Any]]:
        """The spans and states of the executions of *name*."""
        return [(found, state) for seen, found, state in self.seen if seen == name]


def spans_told(world: World) -> list[dict[str, Any]]:
    """The spans that the history tells."""
    lines = [json.loads(line) for blob in world.ports.events.read() for line in blob.splitlines()]
    return [line for line in lines if line["type"] == "span"]


@pytest.mark.parametrize(("how", "name", "most"), [
    ("plain", "leaf", 1), ("event", "heard", 1), ("canvas", "leaf", 4), ("chord", "leaf", 3), ("later", "leaf", 1),
])  # fmt: skip
def test_all_that_a_body_publishes_is_in_its_trace_with_its_span_as_the_parent(how: str, name: str, most: int) -> None:
    tree = Tree()
    with testing.world(tree.app) as world:
        tree.root.apply_async((how,), traceparent=OUTSIDE, tracestate=STATE)
        world.drain()
        told = spans_told(world)
    ((root, state),) = tree.of("root")
    assert (root.trace_id, root.parent_id, state) == (TRACE, "00f067aa0ba902b7", STATE)
    leaves = tree.of(name)
    assert len(leaves) == most
    assert {found.trace_id for found, _ in leaves} == {TRACE}
    assert {found.parent_id for found, _ in leaves} == {root.span_id}
    assert {state for _, state in leaves} == {STATE}
    spans = [root, *(found for found, _ in leaves)]
    assert len({found.span_id for found in spans}) == len(spans)
    assert {(line["trace_id"], line["span_id"], line["parent_span_id"]) for line in told} >= {found[:3] for found in spans}


def test_a_retry_is_another_span_of_the_same_parent() -> None:
    tree = Tree()
    with testing.world(tree.app) as world:
        tree.root.apply_async(("retry",), traceparent=OUTSIDE, tracestate=STATE)
        world.drain()
    (first, _), (second, state) = tree.of("root")
    assert first.span_id != second.span_id
    assert (first.parent_id, second.parent_id, state) == ("00f067aa0ba902b7", "00f067aa0ba902b7", STATE)


def test_a_task_that_nobody_traces_begins_the_trace_of_its_tree_which_the_history_does_not_repeat() -> None:
    tree = Tree()
    with testing.world(tree.app) as world:
        result = tree.root.delay("plain")
        world.drain()
        assert spans_told(world) == []
    ((root, _),), ((leaf, _),) = tree.of("root"), tree.of("leaf")
    assert root.trace_id == leaf.trace_id == result.id.replace("-", "")
    assert (root.parent_id, leaf.parent_id) == ("", root.span_id)


def test_a_trace_that_is_given_wins_over_the_one_of_the_running_task() -> None:
    app = Sedano("tree")
    leaf = app.task(name="leaf")(lambda: None)
    root = app.task(name="root")(lambda: leaf.apply_async(traceparent=OUTSIDE))
    with testing.world(app) as world:
        root.apply_async(tracestate=STATE)
        world.drain()
        (command,) = [command_in(body) for body in world.queues.sent if '"subject":"leaf"' in body]
    assert (command.traceparent, command.tracestate) == (OUTSIDE, None)


@pytest.mark.parametrize("root", ["order-4711", "00000000-0000-0000-0000-000000000000", str(NAMESPACE), "x" * 256])
def test_any_id_of_a_root_gives_a_trace_that_the_protocol_takes(root: str) -> None:
    found = span(None, root, "execution")
    assert is_traceparent(found.traceparent)
    assert found.trace_id == trace_of(root)
    assert is_traceparent(span(found.traceparent, "other", "another").traceparent)
