"""The limit of executions alone: which receipts count, and where a message ends that was delivered too often."""

from typing import Any

import pytest

from sedano.engine.batch import Job, Stillborn
from sedano.engine.worker.poison_messages import Poison
from sedano.model import refusals, states
from sedano.model.deferrals import WAITED, Waited, written
from sedano.model.ledger.claims import CUT_OFF
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import Delivery
from tests.unit.engine.gated import job

POISON_AFTER = 5


class Spares:
    """Receipts that do not count: so many of each message."""

    def __init__(self, count: int) -> None:
        """Spare so many."""
        self._count = count

    def count(self, delivery: Delivery) -> int:
        """Return how many."""
        return self._count


def opened(one: Job, spares: int = 0) -> Stillborn | None:
    """What the gate says of *one*."""
    spared: Any = Spares(spares)
    return Poison(spared, POISON_AFTER).open(one)


def unclaimed(receives: int, runs: int | None = None, serial_key: str | None = None) -> Job:
    """A message of a task without a claim."""
    one = job("a", receives=receives, delivery="at_least_once")
    attributes = {WAITED: written(Waited(1, runs))} if runs is not None else {}
    return one._replace(delivery=one.delivery._replace(attributes=attributes, serial_key=serial_key))


def end(code: str, detail: str) -> Stillborn:
    """The end of a poison."""
    return Stillborn(states.POISON, code, "receives", detail)


@pytest.mark.parametrize(("receives", "spares", "is_over"), [(5, 0, False), (6, 0, True), (7, 2, False), (8, 2, True)])
def test_a_message_without_a_claim_ends_after_its_receipts(receives: int, spares: int, is_over: bool) -> None:
    without = f"received {receives} times without an end; {CUT_OFF}"
    assert opened(unclaimed(receives), spares) == (end(refusals.POISON, without) if is_over else None)


@pytest.mark.parametrize("receives", [MAX_EXECUTIONS, MAX_EXECUTIONS + 1])
def test_a_claimed_message_ends_beyond_the_count_of_claims(receives: int) -> None:
    without = f"received {receives} times without an end; {CUT_OFF}"
    assert opened(job("a", receives=receives)) == (end(refusals.EXECUTIONS, without) if receives > MAX_EXECUTIONS else None)


@pytest.mark.parametrize("runs", [MAX_EXECUTIONS - 1, MAX_EXECUTIONS])
def test_a_message_that_was_sent_anew_remembers_its_executions(runs: int) -> None:
    said = f"executed {runs} times without an end"
    assert opened(unclaimed(1, runs)) == (end(refusals.EXECUTIONS, said) if runs >= MAX_EXECUTIONS else None)
    assert opened(unclaimed(2, runs), spares=1) == opened(unclaimed(1, runs))


def test_executions_that_a_claimed_message_remembers_do_not_count_since_its_claims_do() -> None:
    one = job("a")
    assert opened(one._replace(delivery=one.delivery._replace(attributes={WAITED: written(Waited(1, MAX_EXECUTIONS))}))) is None


def test_the_second_receipt_ends_a_message_where_one_is_the_most() -> None:
    spared: Any = Spares(0)
    assert Poison(spared, 1).open(unclaimed(1)) is None
    assert Poison(spared, 1).open(unclaimed(2)) == end(refusals.POISON, f"received 2 times without an end; {CUT_OFF}")


def test_what_waits_for_its_turn_may_be_received_for_long() -> None:
    assert opened(unclaimed(MAX_EXECUTIONS + 1, serial_key="k")) is None
    assert opened(unclaimed(1)) is None
