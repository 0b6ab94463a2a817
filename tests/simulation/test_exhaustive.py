"""Small worlds, all of them: every order of arrival, loss, repetition and death, and the shortest way into each planted fault."""

from dataclasses import replace

import pytest

from sedano.aws.expressions import Write, leases, tasks
from sedano.model.claim import Action
from sedano.model.records import Claim, TaskRecord
from tests.simulation.exhaustive.claims import ClaimModel
from tests.simulation.exhaustive.elections import ElectionModel
from tests.simulation.exhaustive.follow import FollowModel, shipped
from tests.simulation.exhaustive.joins import JoinModel
from tests.simulation.exhaustive.leases import LeaseModel
from tests.simulation.exhaustive.sizes import SMALL
from tests.simulation.weaken import ALWAYS


def weak(write: Write, *dropped: str) -> Write:
    """Return *write* without some of its conjuncts."""
    text = write.condition
    for atom in dropped:
        assert atom in text
        text = text.replace(atom, ALWAYS)
    return replace(write, condition=text)


def nobody_answers(claim: Claim, record: TaskRecord, now: float, most: int) -> Action:
    """Acknowledge whatever has ended, also what this message claimed."""
    found = shipped(claim, record, now, most)
    return Action.ACKNOWLEDGE if found is Action.FOLLOW_AGAIN else found


def steals_across_retries(claim: Claim, record: TaskRecord, now: float, most: int) -> Action:
    """Take over whatever has expired, also a later attempt."""
    return Action.STEAL if record.state == "RUNNING" and now > record.expires else shipped(claim, record, now, most)


def acknowledges_running(claim: Claim, record: TaskRecord, now: float, most: int) -> Action:
    """Take a task that runs elsewhere for done."""
    found = shipped(claim, record, now, most)
    return Action.ACKNOWLEDGE if found is Action.WAIT else found


@pytest.mark.parametrize("name", SMALL)
def test_no_state_that_can_be_reached_breaks_a_promise(name: str) -> None:
    found = SMALL[name]()
    assert not found.violation, "\n".join(found.path)
    assert found.states > 500


FAULTY = {
    "a claim of what runs": lambda: ClaimModel(2, 1, claim=weak(tasks.CLAIM, "st IN (:pending, :retry)")),
    "a steal of whatever is there": lambda: ClaimModel(
        2, 2, steal=weak(tasks.STEAL, "st = :running", "att = :att", "nc = :seen", "exp = :lapsed")
    ),
    "a record over anybody's claim": lambda: ClaimModel(2, 1, end=weak(tasks.RECORD, "nc = :nc", "att = :att")),
    "a record over the end": lambda: ClaimModel(2, 1, end=weak(tasks.RECORD, "st = :running")),
    "a fence that stands still": lambda: ClaimModel(
        2, 1, steal=replace(tasks.STEAL, update=tasks.STEAL.update.replace("att = att + :one", "att = att"))
    ),
    "nobody follows again": lambda: FollowModel(1, 2, nobody_answers),
    "a steal across retries": lambda: FollowModel(2, 3, steals_across_retries),
    "an acknowledgement while it runs": lambda: FollowModel(1, 2, acknowledges_running),
    "a take of what changed": lambda: LeaseModel(2, 1, {"TAKE": weak(leases.TAKE, "tok = :seen", "rv = :version")}),
    "a release of anybody's lease": lambda: LeaseModel(2, 1, {"RELEASE": weak(leases.RELEASE, "nc = :nc", "tok = :tok")}),
    "a renewal of anybody's lease": lambda: LeaseModel(2, 1, {"RENEW": weak(leases.RENEW, "nc = :nc", "tok = :tok")}),
    "a renewal of a released lease": lambda: LeaseModel(2, 1, {"RENEW": weak(leases.RENEW, "st = :held")}),
    "a close without the version": lambda: ElectionModel(3, 2, "no version"),
    "a close of what is closed": lambda: ElectionModel(3, 2, "not open"),
    "a dispatch after the close": lambda: ElectionModel(3, 2, "two steps"),
    "a registration after the close": lambda: ElectionModel(3, 2, "late register"),
    "a counter of members": lambda: JoinModel(4, 2, 2, counts=True),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_planted_fault_is_found_with_its_shortest_story(fault: str) -> None:
    found = FAULTY[fault]().run()
    assert found.violation
    assert found.path
