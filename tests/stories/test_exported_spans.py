"""One trace through everything that a task causes: its attempts, its canvases, its events; and no effect of an exporter on a task."""

import pytest

from sedano import Retry, Sedano, chain, chord, testing
from sedano.model.telemetry.execution_spans import CONSUMER, PRODUCER, ExportedSpan

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, CALLER = PARENT.split("-")[1:3]


def _declare_failing(app: Sedano) -> None:
    failed: list[int] = []

    @app.task(name="fails_once")
    def fails_once() -> None:
        if not failed:
            failed.append(1)
            raise ValueError("once")


@pytest.fixture
def app() -> Sedano:
    """An app whose tasks publish events, are members of canvases, and fail once."""
    app = Sedano("traced", retry=Retry(max_retries=1))
    _declare_failing(app)

    @app.task(name="add")
    def add(one: int, two: int) -> int:
        return one + two

    @app.task(name="total")
    def total(values: list[int]) -> int:
        return sum(values)

    @app.task(name="sum_up")
    def sum_up() -> None:
        chord([app.signature("add", (1, 2)), app.signature("add", (3, 4))], app.signature("total")).delay()

    @app.event
    class Sold:
        order: int

    @Sold.subscribe
    @app.task(name="note")
    def note(order: int) -> None:
        add.delay(order, 1)

    @app.task(name="sell")
    def sell(order: int) -> None:
        Sold.delay(order=order)

    return app


@pytest.fixture
def spans() -> list[ExportedSpan]:
    """The spans that the workers of a world export."""
    return []


def executions(spans: list[ExportedSpan]) -> list[ExportedSpan]:
    """Those of the spans that are executions."""
    return [one for one in spans if one.kind == CONSUMER]


def assert_one_tree(spans: list[ExportedSpan]) -> None:
    """All spans are of the caller's trace, and each has its parent among them, up to the caller."""
    assert {one.trace_id for one in spans} == {TRACE}
    known = {one.span_id for one in spans}
    assert {one.parent_id for one in spans} <= {*known, CALLER}


def test_a_task_has_its_publication_its_wait_and_its_execution(app: Sedano, spans: list[ExportedSpan]) -> None:
    with testing.world(app, spans=spans) as world:
        app.send_task("add", (1, 2), traceparent=PARENT, countdown=5)
        world.drain()
        published, waited, ran = spans
    assert [one.name for one in spans] == ["publish add", "wait in default", "add"]
    assert (published.parent_id, waited.parent_id, ran.parent_id) == (CALLER, published.span_id, published.span_id)
    assert waited.end - waited.begin >= 5
    assert_one_tree(spans)


def test_the_retries_of_a_task_are_in_its_trace(app: Sedano, spans: list[ExportedSpan]) -> None:
    with testing.world(app, spans=spans) as world:
        app.send_task("fails_once", (), traceparent=PARENT)
        world.drain()
    found = [(one.attributes["sedano.state"], one.error) for one in executions(spans)]
    assert found == [("RETRY", "ValueError: once"), ("SUCCESS", "")]
    assert len({one.span_id for one in spans}) == 6
    assert_one_tree(spans)


def test_the_body_of_a_chord_is_in_the_trace_and_links_to_its_members(app: Sedano, spans: list[ExportedSpan]) -> None:
    with testing.world(app, spans=spans) as world:
        app.send_task("sum_up", (), traceparent=PARENT)
        world.drain()
    body = next(one for one in executions(spans) if one.name == "total")
    waits = {one.span_id for one in spans if one.name.startswith("wait") and one.attributes["sedano.task"] == "add"}
    assert {link.span_id for link in body.links} == waits
    assert {link.trace_id for link in body.links} == {TRACE}
    assert_one_tree(spans)


def test_a_chain_and_the_subscribers_of_an_event_are_in_the_trace(app: Sedano, spans: list[ExportedSpan]) -> None:
    with testing.world(app, spans=spans) as world:
        chain(app.signature("add", (1, 2)), app.signature("add", (3,))).apply_async(traceparent=PARENT)
        app.send_task("sell", (7,), traceparent=PARENT)
        world.drain()
    assert sorted(one.name for one in executions(spans)) == ["add", "add", "add", "note", "sell"]
    sell, note = (next(one for one in spans if one.name == name) for name in ("sell", "note"))
    published = next(one for one in spans if one.span_id == note.parent_id)
    assert (published.kind, published.parent_id) == (PRODUCER, sell.span_id)
    assert_one_tree(spans)


def test_without_a_trace_of_the_caller_all_tasks_of_one_root_share_a_trace(app: Sedano, spans: list[ExportedSpan]) -> None:
    with testing.world(app, spans=spans) as world:
        app.send_task("sell", (7,))
        world.drain()
    assert len({one.trace_id for one in spans}) == 1
    assert [one.name for one in spans if not one.parent_id] == ["publish sell"]


def test_a_trace_that_is_not_sampled_is_not_exported(app: Sedano, spans: list[ExportedSpan]) -> None:
    with testing.world(app, spans=spans) as world:
        app.send_task("add", (1, 2), traceparent=PARENT.removesuffix("01") + "00")
        world.drain()
    assert spans == []
