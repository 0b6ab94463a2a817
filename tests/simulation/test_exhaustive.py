"""Small worlds, all of them: every order of arrival, loss, repetition and death, and the shortest way into each planted fault."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from sedano.aws.expressions import Write, elections, leases, tasks
from sedano.aws.expressions.statements import END, INSERT
from sedano.model.ledger.claims import Action
from sedano.model.ledger.records import Claim, TaskRecord
from tests.simulation.exhaustive.claims import ClaimModel
from tests.simulation.exhaustive.elections import ElectionModel
from tests.simulation.exhaustive.extensions import ExtensionModel
from tests.simulation.exhaustive.follow import FollowModel, shipped
from tests.simulation.exhaustive.groups import GroupModel
from tests.simulation.exhaustive.groups import shipped as statement
from tests.simulation.exhaustive.joins import JoinModel
from tests.simulation.exhaustive.leases import LeaseModel
from tests.simulation.exhaustive.network import Model, State
from tests.simulation.exhaustive.search import Searched, reachable
from tests.simulation.exhaustive.sizes import SMALL
from tests.simulation.weaken import ALWAYS


def weak(write: Write, *dropped: str) -> Write:
    """Return *write* without some of its conjuncts."""
    text = write.condition
    for atom in dropped:
        assert atom in text
        text = text.replace(atom, ALWAYS)
    return replace(write, condition=text)


UNCONDITIONAL = replace(elections.DISPATCH, condition="")


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


@cache
def searched(name: str) -> Searched:
    """Search a small world once."""
    return SMALL[name]()


@pytest.mark.parametrize("name", SMALL)
def test_no_state_that_can_be_reached_breaks_a_promise(name: str) -> None:
    found = searched(name)
    assert not found.violation, "\n".join(found.path)
    assert found.states > 1_000


def test_more_than_a_million_states_are_searched() -> None:
    states = sum(searched(name).states for name in SMALL)
    print(f"{states} states")
    assert states > 1_000_000


WHOLE: dict[str, tuple[Callable[[], Model], int]] = {
    "claim, whose requests arrive twice": (lambda: ClaimModel(2, 1), 2),
    "claim of two deliveries": (lambda: ClaimModel(2, 2), 1),
    "group commit, whose requests arrive twice": (lambda: GroupModel(2, 1), 2),
    "lease, whose requests arrive twice": (lambda: LeaseModel(2, 1), 2),
    "lease of three processes": (lambda: LeaseModel(3, 1), 1),
    "election, whose requests arrive twice": (lambda: ElectionModel(2, 1), 2),
}


def seen(states: set[State]) -> set[Any]:
    """Return what of *states* does not depend on how a network is taken: the record and the processes."""
    return {(state.record, state.processes) for state in states}


@pytest.mark.parametrize("name", WHOLE)
def test_whatever_a_network_that_is_taken_literally_reaches_is_searched(name: str) -> None:
    model, times = WHOLE[name][0](), WHOLE[name][1]
    literally = seen(reachable(model.literally_first(times), partial(model.literal, times=times)))
    assert literally <= seen(reachable(model.first, model.soup))


def test_a_search_that_leaves_out_refusals_is_found_out_so() -> None:
    class Deaf(ClaimModel):
        """Nobody hears a refusal."""

        def refused(self, record: Any, process: Any) -> list[Any]:
            """Return nothing."""
            return []

    model = ClaimModel(2, 1)
    literally = seen(reachable(model.literally_first(2), partial(model.literal, times=2)))
    assert not literally <= seen(reachable(Deaf(2, 1).first, Deaf(2, 1).soup))


FAULTY: dict[str, Callable[[], Any]] = {
    "a claim of what runs": lambda: ClaimModel(2, 1, claim=weak(tasks.CLAIM, "st IN (:pending, :retry)")),
    "a steal of whatever is there": lambda: ClaimModel(
        2, 2, steal=weak(tasks.STEAL, "st = :running", "att = :att", "nc = :seen", "exp = :lapsed")
    ),
    "a record over anybody's claim": lambda: ClaimModel(2, 1, end=weak(tasks.RECORD, "nc = :nc", "att = :att")),
    "a record over the end": lambda: ClaimModel(2, 1, end=weak(tasks.RECORD, "st = :running")),
    "a fence that stands still": lambda: ClaimModel(
        2, 1, steal=replace(tasks.STEAL, update=tasks.STEAL.update.replace("att = att + :one", "att = att"))
    ),
    "an INSERT over what is there": lambda: GroupModel(2, 1, insert=replace(statement(INSERT), condition="")),
    "an END of what has ended": lambda: GroupModel(2, 1, end=weak(statement(END), "st = :running")),
    "an END of anybody's claim": lambda: GroupModel(2, 1, end=weak(statement(END), "nc = :nc", "att = :att")),
    "nobody follows again": lambda: FollowModel(1, 2, nobody_answers),
    "a steal across retries": lambda: FollowModel(2, 3, steals_across_retries),
    "an acknowledgement while it runs": lambda: FollowModel(1, 2, acknowledges_running),
    "a take of what changed": lambda: LeaseModel(2, 1, {"TAKE": weak(leases.TAKE, "tok = :seen", "rv = :version")}),
    "a release of anybody's lease": lambda: LeaseModel(2, 1, {"RELEASE": weak(leases.RELEASE, "nc = :nc", "tok = :tok")}),
    "a renewal of anybody's lease": lambda: LeaseModel(2, 1, {"RENEW": weak(leases.RENEW, "nc = :nc", "tok = :tok")}),
    "a renewal of a released lease": lambda: LeaseModel(2, 1, {"RENEW": weak(leases.RENEW, "st = :held")}),
    "a close without the version": lambda: ElectionModel(3, 2, {"close": weak(elections.CLOSE, "ver = :ver")}),
    "a close of what is closed": lambda: ElectionModel(3, 2, {"close": weak(elections.CLOSE, "st = :open"), "dispatch": UNCONDITIONAL}),
    "a dispatch apart from the close": lambda: ElectionModel(3, 2, apart=True),
    "a registration after the close": lambda: ElectionModel(3, 2, {"register": weak(elections.REGISTER, "st = :open")}),
    "a worker that registers twice": lambda: ElectionModel(3, 2, {"register": weak(elections.REGISTER, "NOT contains(voters, :name)")}),
    "a pass from anybody": lambda: ElectionModel(3, 2, {"pass": weak(elections.PASS, "win = :seen", "term = :before", "#until = :lapsed")}),
    "a counter of members": lambda: JoinModel(4, 2, 2, counts=True),
    "an extension of what has ended": lambda: ExtensionModel(writes={"EXTEND": weak(tasks.EXTEND, "st = :running")}),
    "an extension of anybody's claim": lambda: ExtensionModel(writes={"EXTEND": weak(tasks.EXTEND, "nc = :nc", "att = :att")}),
    "an extension that makes a claim shorter": lambda: ExtensionModel(
        flying=2, copies=0, writes={"EXTEND": weak(tasks.EXTEND, "exp < :exp")}
    ),
    "a steal of what was extended": lambda: ExtensionModel(writes={"STEAL": weak(tasks.STEAL, "exp = :lapsed")}),
    "a steal of a claim that lasts": lambda: ExtensionModel(fault="steals what lasts"),
    "a record over the claim of who took over": lambda: ExtensionModel(writes={"RECORD": weak(tasks.RECORD, "nc = :nc", "att = :att")}),
    "a belief from the time of the answer": lambda: ExtensionModel(fault="believes from the answer"),
    "a belief to the end of the claim": lambda: ExtensionModel(guard=0, ahead=(0, 1)),
    "a guard of less than the clocks differ": lambda: ExtensionModel(ahead=(-1, 1)),
    "an acknowledgement of a refused record": lambda: ExtensionModel(fault="acknowledges a refusal"),
    "a visibility that is not extended": lambda: ExtensionModel(length=4, copies=0, prompt=2, fault="leaves visibility alone"),
    "a claim that is not extended": lambda: ExtensionModel(length=4, copies=0, prompt=2, fault="never beats"),
}


def test_with_beats_in_time_a_body_of_any_length_is_delivered_once() -> None:
    found = ExtensionModel(length=4, copies=0, prompt=2).run()
    assert not found.violation, "\n".join(found.path)
    assert found.states > 50


def test_conjuncts_of_an_extension_that_guard_each_other_break_nothing_alone() -> None:
    for conjunct in ("nc = :nc", "att = :att"):  # a nonce has one fence
        found = ExtensionModel(length=2, copies=0, writes={"EXTEND": weak(tasks.EXTEND, conjunct)}).run()
        assert not found.violation, "\n".join(found.path)


@pytest.mark.parametrize("fault", FAULTY)
def test_a_planted_fault_is_found_with_its_shortest_story(fault: str) -> None:
    found = FAULTY[fault]().run()
    print("\n".join((found.violation, *found.path)))
    assert found.violation
    assert found.path
