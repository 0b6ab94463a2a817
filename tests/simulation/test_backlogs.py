"""Waiting messages never fill a queue: what has no reason to wait goes on, and planted faults are found."""

from typing import Any

import pytest

from sedano.engine.batch import Batch
from tests.simulation.backlogs import CAUSES, BacklogWorld
from tests.simulation.outages import Broken

SCALE = 0.002
"""400 messages in a queue that allows 240 in flight."""


@pytest.mark.parametrize("cause", CAUSES)
def test_what_has_no_reason_to_wait_goes_on_beside_a_crowd_that_waits(cause: str) -> None:
    BacklogWorld(cause, scale=SCALE).run()


def _in_flight(worker: Any) -> None:
    """What has to wait is hidden instead of sent anew: it stays in flight."""

    def settle(batch: Batch) -> None:
        for one in batch.deferred.values():
            worker.ports.queues.hold(one.delivery, one.seconds or 60.0)
        batch.deferred.clear()

    worker._defer = settle


def _acknowledged(worker: Any) -> None:
    """What has to wait is acknowledged and never sent anew."""

    def settle(batch: Batch) -> None:
        batch.given_back[:] = [one for one in batch.given_back if one.message_id not in batch.deferred]
        batch.deferred.clear()

    worker._defer = settle


@pytest.mark.parametrize(("plant", "found"), [(_in_flight, "B[12]"), (_acknowledged, "B3")])
def test_a_planted_fault_is_found(plant: Any, found: str) -> None:
    with pytest.raises(Broken, match=found):
        BacklogWorld("task", scale=SCALE, plant=plant).run()
