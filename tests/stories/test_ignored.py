"""A body that raises `Ignore` has not failed: its task ends as REVOKED, in the ledger, the metrics, the history and the view."""

from collections.abc import Callable
from typing import Any

import pytest

from sedano import Breaker, Ignore, Sedano, chain, chord, group, testing
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import RemoteError
from sedano.model import states
from sedano.views.cluster import cluster
from sedano.workflow import Step, Workflow
from tests.stories.kept import assert_view_agrees

SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)


class Refunds:
    """An app whose task ignores what was done already."""

    def __init__(self, delivery: Any = "claimed") -> None:
        """Declare it."""
        self.app, self.ran, self.told = Sedano("refunds"), list[str](), list[str]()

        @self.app.task(name="refund", delivery=delivery, circuit=Breaker(failures=1))
        def refund(*_: Any) -> None:
            self.ran.append("refund")
            raise Ignore("already refunded")

        @self.app.task(name="mail")
        def mail(*_: Any) -> int:
            self.ran.append("mail")
            return 1

        @self.app.task(name="tell")
        def tell(task_id: str) -> None:
            self.told.append(task_id)

        self.refund, self.mail, self.tell = refund, mail, tell


@pytest.mark.parametrize("delivery", ["claimed", "record_once"])
def test_an_ignored_task_is_no_failure_anywhere(delivery: str) -> None:
    refunds = Refunds(delivery)
    with testing.world(refunds.app, settings=SETTINGS) as world:
        results = [refunds.refund.delay() for _ in range(3)]
        world.drain()
        telemetry: Any = world.telemetry
        assert [result.state for result in results] == [states.REVOKED] * 3, "the circuit with failures=1 let all of them run"
        assert len(refunds.ran) == 3, "none was tried again"
        assert {name: telemetry.counted(name) for name in ("TasksIgnored", "TasksFailed", "TasksRevoked")} == {
            "TasksIgnored": 3, "TasksFailed": 0, "TasksRevoked": 0,
        }  # fmt: skip
        with pytest.raises(RemoteError, match="Ignore: already refunded"):
            results[0].get(timeout=1)
        assert "it ended as REVOKED" in refunds.app.control.explain(results[0].id).sentence
        assert {task.state for task in cluster(world.ports, latest=10, days=10).latest} == {states.REVOKED}
        assert_view_agrees(world.ports)


FORMS: dict[str, Callable[[Refunds], Any]] = {
    "a chain": lambda r: chain(r.refund.s(), r.mail.s()),
    "a header": lambda r: chord([r.mail.s(), r.refund.s()], r.mail.s()),
    "a header of chains": lambda r: chord([r.mail.s(), chain(r.refund.s(), r.mail.s())], r.mail.s()),
    "a chord in a chain": lambda r: chain(r.mail.s(), group(r.refund.s(), r.mail.s()), r.mail.s(), r.mail.s()),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_needs_the_result_of_an_ignored_task_ends_as_it_does(form: str) -> None:
    refunds = Refunds()
    with testing.world(refunds.app, settings=SETTINGS) as world:
        sig = FORMS[form](refunds).on_error(refunds.tell.s())
        result = sig.delay()
        world.drain()
        telemetry: Any = world.telemetry
        assert result.state == states.REVOKED
        assert telemetry.counted("TasksFailed") == 0
        with pytest.raises(RemoteError, match="Ignore: already refunded"):
            result.get(timeout=1)
        assert refunds.told, "an error callback is called: the canvas has no value"
        assert_view_agrees(world.ports)


def test_a_workflow_ends_with_an_ignored_step_and_does_not_begin_it_again() -> None:
    refunds = Refunds()

    class Refunded(Workflow, app=refunds.app):
        refunded = Step(refunds.refund.s(), retry=2, time_limit=300)
        mailed = Step(refunds.mail.s(), after=refunded)

    with testing.world(refunds.app, settings=SETTINGS) as world:
        result = Refunded.delay()
        world.drain()
        assert (result.state, refunds.ran) == ("FAILED", ["refund"])
