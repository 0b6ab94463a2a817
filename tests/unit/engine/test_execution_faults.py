"""An error of the code around a body: it fails that attempt, whichever way the body runs, and no other."""

from collections.abc import Callable
from typing import Any

import pytest

from sedano.engine.batch import Later, Stillborn
from sedano.engine.worker.event_loop import run_together
from sedano.engine.worker.start_check import LOOK_S
from sedano.errors import Unavailable
from sedano.model import refusals, states
from tests.unit.engine.gated import FailsOnce, batch, job
from tests.unit.engine.test_worker_faults import run_of
from tests.unit.engine.test_worker_steps import Stage, message


class Quiet:
    """Stands for a second look that never has anything to look at."""

    def begin(self, _: Any) -> None:
        """Begin a round."""

    def due(self, _: float) -> bool:
        """Say that no look is due."""
        return False

    def at(self, *_: Any) -> None:
        """Stop nothing."""


async def waits() -> None:
    """A body on the loop."""


def ends() -> None:
    """A body on a thread."""


@pytest.mark.parametrize(("body", "settings"), [(ends, {}), (ends, {"concurrency": 2}), (waits, {})])
def test_an_error_around_a_body_fails_its_attempt_and_no_other(body: Callable[[], Any], settings: dict[str, Any]) -> None:
    stage = Stage(body, **settings)
    if body is waits:
        stage.registry.tasks["claimed"] = stage.registry.tasks["claimed"]._replace(is_async=True)
    execution = stage.worker._execution._replace(look=FailsOnce(Quiet(), "due", RuntimeError("a defect")), run_loop=run_together)
    object.__setattr__(stage.worker, "_execution", execution)
    assert stage.work(message("a"), message("b")) == []
    assert (stage.state("a"), stage.state("b")) == (states.RETRY, states.SUCCESS)
    assert stage.telemetry.counted("UnexpectedErrors") == 1
    (told,) = [line.fields for line in stage.telemetry.lines if line.fields.get("error_type") == "RuntimeError"]
    assert told["task_id"] == "a"


def test_an_async_task_that_a_worker_without_a_loop_gets_comes_again() -> None:
    stage = Stage(waits)
    stage.registry.tasks["claimed"] = stage.registry.tasks["claimed"]._replace(is_async=True)
    assert stage.work(message("a")) == ["a"]
    assert "an async task was registered after the worker was built" in str(stage.telemetry.lines)


def test_a_body_that_must_not_begin_waits_where_its_end_cannot_be_determined() -> None:
    stage = Stage()

    def away(*_: Any) -> Any:
        raise Unavailable("no bucket")

    preparation: Any = type("Preparation", (), {"stillborn": away})()
    execution = stage.worker._execution._replace(preparation=preparation)
    why = Stillborn(states.EXPIRED, refusals.EXPIRED, "expires", "too late")
    found = execution.hindered(run_of().held, why, batch(stage.ports))
    assert found == Later("its end cannot be determined now: no bucket", LOOK_S)
    assert execution.hindered(run_of().held, Later("paused", 5.0), batch(stage.ports)) == Later("paused", 5.0)
    assert job("a").stillborn is None
