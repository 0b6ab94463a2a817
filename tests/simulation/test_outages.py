"""Outages of any length in random combinations: every task ends as it would have without them, and planted faults are found."""

from typing import Any

import pytest

from sedano.engine.batch import Batch
from sedano.engine.worker.claims import Claiming
from tests.simulation.outages import Broken, OutageWorld

SEEDS = range(100)


def test_every_task_ends_after_any_combination_of_outages_and_wrong_clocks() -> None:
    broken = {}
    for seed in SEEDS:
        try:
            OutageWorld(seed).run()
        except Broken as found:
            broken[seed] = str(found)
    assert broken == {}


def _given_back(worker: Any) -> None:
    """What was deferred is given back instead: receipts are counted out, as before."""

    def settle(batch: Batch) -> None:
        batch.deferred.clear()

    worker._defer = settle


def _forgotten(worker: Any) -> None:
    """What was deferred is acknowledged without being sent anew."""

    def settle(batch: Batch) -> None:
        batch.given_back[:] = [one for one in batch.given_back if one.message_id not in batch.deferred]
        batch.deferred.clear()

    worker._defer = settle


def _counted(worker: Any) -> None:
    """Every wait counts as an execution."""
    sent = worker._defer

    def settle(batch: Batch) -> None:
        batch.deferred = {name: one._replace(ran=True) for name, one in batch.deferred.items()}
        sent(batch)

    worker._defer = settle


def _hasty(worker: Any) -> None:
    """A run without a claim that could not be recorded begins again though the ledger does not answer."""

    class Hasty(Claiming):
        def _is_recordable(self, *_: Any) -> bool:
            return True

    worker._claiming = Hasty(*worker._claiming)


@pytest.mark.parametrize("plant", [_given_back, _forgotten, _counted, _hasty])
def test_a_planted_fault_is_found(plant: Any) -> None:
    for seed in SEEDS:
        try:
            OutageWorld(seed, plant).run()
        except Broken:
            return
    raise AssertionError(f"{plant.__name__}: not found in {len(SEEDS)} schedules")
