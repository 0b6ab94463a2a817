"""The page about hooks runs as it stands, its recipes against a transport of Sentry and an emitter of X-Ray that keep what they get."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import sentry_sdk
from aws_xray_sdk.core import AWSXRayRecorder
from aws_xray_sdk.core.models.segment import Segment
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from sedano import Retry, Sedano, testing
from sedano.engine.hooks import NAMES, EndedRun, Publication
from tests.docs.pages import page

PAGE = page("hooks.md")
FIRST, RUN, REVOKED, SKIPPED, MIDDLEWARE, SENTRY, XRAY = PAGE.blocks


@pytest.fixture
def app() -> Sedano:
    """An app that tries nothing again."""
    return Sedano("page", retry=Retry(max_retries=0))


class Kept(Transport):
    """A transport of Sentry that keeps its events."""

    events: list[Any]

    def capture_envelope(self, envelope: Envelope) -> None:
        """Keep the event."""
        self.events.append(envelope.get_event())


@pytest.fixture
def sentry() -> Iterator[list[Any]]:
    """What Sentry was sent."""
    transport = Kept()
    transport.events = []
    sentry_sdk.init(dsn="https://key@sentry.invalid/1", transport=transport, default_integrations=False)
    yield transport.events
    sentry_sdk.get_client().close()
    sentry_sdk.init(default_integrations=False)


def test_the_page_runs_from_top_to_bottom(app: Sedano) -> None:
    names: dict[str, Any] = {"app": app, "testing": testing}
    for block in (FIRST, RUN, REVOKED, SKIPPED, MIDDLEWARE):
        PAGE.run(block, names)
    with testing.world(app):
        names["charge"].delay("milk")
    assert names["counted"].sent == 1


def test_the_page_lists_every_hook_and_every_field() -> None:
    for name in NAMES:
        assert f"| `{name}` |" in PAGE.text
    for field in (*Publication._fields, *EndedRun._fields):
        assert f"`{field}`" in PAGE.text


def test_sentry_gets_the_exception_with_its_traceback_when_the_task_has_failed_for_good(sentry: list[Any]) -> None:
    app = Sedano("page", retry=Retry(max_retries=1, interval_start=1))
    PAGE.run(SENTRY, {"app": app, "sentry_sdk": sentry_sdk, "EndedRun": EndedRun})

    @app.task(name="charge")
    def charge() -> None:
        raise ValueError("no price")

    with testing.world(app) as shop:
        result = charge.delay()
        shop.drain()
    (event,) = sentry
    (exception,) = event["exception"]["values"]
    assert (exception["type"], exception["value"]) == ("ValueError", "no price")
    assert [frame["function"] for frame in exception["stacktrace"]["frames"]][-1] == "charge"
    assert event["tags"] == {"task": "charge", "tenant": "-"}
    assert event["contexts"]["sedano"] == {"task_id": result.id, "root_id": result.id, "attempt": 1, "state": "FAILURE"}


def test_x_ray_gets_a_subsegment_for_each_body(app: Sedano) -> None:
    recorder, sent = AWSXRayRecorder(), list[Any]()
    recorder.configure(service="shop", sampling=False, plugins=(), context_missing="IGNORE_ERROR")
    recorder.emitter = SimpleNamespace(send_entity=sent.append)
    names: dict[str, Any] = {"app": app, "xray_recorder": recorder}
    PAGE.run("from sedano import TaskContext\n" + XRAY, names)

    @app.task(name="shop.charge")
    def charge(fails: bool) -> None:
        if fails:
            raise ValueError("no price")

    recorder.begin_segment("shop", traceid=None)
    with testing.world(app) as shop:
        ids = [charge.delay(fails).id for fails in (False, True)]
        shop.drain()
    recorder.end_segment()
    (segment,) = (one for one in sent if isinstance(one, Segment))
    well, failed = segment.subsegments
    assert [one.name for one in (well, failed)] == ["shop-charge", "shop-charge"]
    assert [one.annotations["task_id"] for one in (well, failed)] == ids
    assert "cause" not in well.to_dict()
    assert failed.to_dict()["cause"]["exceptions"][0]["type"] == "ValueError"
    assert failed.start_time <= failed.end_time <= time.time()
