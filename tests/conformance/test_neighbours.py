"""A write changes what it names and nothing beside it, also where what lies beside it looks exactly the same."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sedano.model.canvas.join import Arrival, Join, Node
from sedano.model.collection import Latest, written
from sedano.model.elections import Election, closed
from sedano.model.leases import LeaseRecord, Term
from sedano.model.ledger.records import TERMINATE, Extension
from sedano.model.limits.concurrency import Permit
from sedano.model.limits.rate import Line, Pace
from sedano.model.memos import Memo
from sedano.model.messages.message import BlobRef
from sedano.model.schedules.agenda import Agenda
from sedano.model.store_clock import Moment
from sedano.model.workflow.flow_run import FlowRun
from sedano.ports import MemberRecord
from tests.conformance.tasks import CLAIM, NOW, claimed, retry, stored, success
from tests.conformance.worlds import World

MINE, OTHER = "mine", "other"
MS, US = round(NOW * 1000), round(NOW * 1_000_000)
PACES = (Pace(1_000_000),)
NODE = Node(0, 0, 3)
Step = Callable[[World, str], Any]


class Twins(NamedTuple):
    """What is made of two items alike, how one *reads* them, and the *writes* that are made to one of them."""

    make: tuple[Step, ...]
    reads: Step
    writes: tuple[Step, ...]


def held(key: str) -> LeaseRecord:
    return LeaseRecord(key, 1, "n", "one", 1, True, 1_000, MS)


def term(key: str) -> Term:
    return Term(key, 1, "n", "one", 1_000, MS, Moment(0.0, 0.0))


def run(key: str, nonce: str) -> FlowRun:
    return FlowRun(key, "fulfil", "3", BlobRef("ab" * 32, 812), NOW, "{}", nonce=nonce)


def permit(token: int) -> Permit:
    return Permit(0, token, f"n{token}", "one", MS)


def found(world: World, key: str) -> Election:
    election = world.elections.read(key)
    assert election is not None
    return election


def closes(world: World, key: str) -> Any:
    claimed(world.ledger, CLAIM._replace(task_id="closer"))
    return world.elections.close(closed(found(world, key), "closer", MS), NOW, 1)


CLAIMED: Step = lambda world, key: claimed(world.ledger, CLAIM._replace(task_id=key))  # noqa: E731 - a step of several twins
RECORD: Step = lambda world, key: stored(world.ledger, key)._replace(task_id="")  # noqa: E731 - what is read of several twins
TWINS = {
    "a task that waits": Twins(
        (lambda world, key: world.ledger.reserve(key, "m", NOW, NOW + 60),), RECORD,
        (lambda world, key: world.ledger.reserve(key, "m2", NOW + 61, NOW + 99),
         lambda world, key: world.ledger.claim([CLAIM._replace(task_id=key, must_exist=True)])),
    ),
    "a task that is revoked": Twins(
        (lambda world, key: world.ledger.reserve(key, "m", NOW, NOW + 60),), RECORD,
        (lambda world, key: world.ledger.revoke(key, 9, NOW),),
    ),
    "a task that is kept": Twins(
        (lambda world, key: world.ledger.reserve(key, "m", NOW, NOW + 60),), RECORD,
        (lambda world, key: world.ledger.keep([success()._replace(task_id=key)]),),
    ),
    "a task that is retried": Twins(
        (CLAIMED, lambda world, key: world.ledger.record([retry()._replace(task_id=key)])), RECORD,
        (lambda world, key: world.ledger.claim([CLAIM._replace(task_id=key, attempt=1, must_exist=True)]),),
    ),
    "a task that runs": Twins(
        (CLAIMED,), RECORD,
        (lambda world, key: world.ledger.extend([Extension(key, CLAIM.nonce, 1, NOW + 500)]),
         lambda world, key: world.ledger.ask(key, TERMINATE),
         lambda world, key: world.ledger.steal(CLAIM._replace(task_id=key, nonce="thief"), stored(world.ledger, key))),
    ),
    "a task that ends": Twins(
        (CLAIMED,), RECORD,
        (lambda world, key: world.ledger.record([success()._replace(task_id=key)]), lambda world, key: world.ledger.forget([key])),
    ),
    "a join": Twins(
        (lambda world, key: world.ledger.open_join(Join(key, 3, "{}", "commands:default")),
         lambda world, key: world.ledger.arrive([Arrival(key, NODE, 0)])),
        lambda world, key: world.ledger.read_nodes(key, [NODE]),
        (lambda world, key: world.ledger.arrive([Arrival(key, NODE, 1, True)]),),
    ),
    "a lease": Twins(
        (lambda world, key: world.leases.take(held(key), None),), lambda world, key: world.leases.read([key])[key]._replace(name=""),
        (lambda world, key: world.leases.renew(term(key), MS + 9),
         lambda world, key: world.leases.want(held(key), "who"),
         lambda world, key: world.leases.wait(held(key), "first"),
         lambda world, key: world.leases.release(term(key), MS + 99),
         lambda world, key: world.leases.call(world.leases.read([key])[key], "first"),
         lambda world, key: world.leases.take(held(key)._replace(token=9, version=9), world.leases.read([key])[key])),
    ),
    "an election": Twins(
        (lambda world, key: world.elections.open(Election(key, "task", f"task-of-{key}", "{}", "n"), NOW),),
        lambda world, key: found(world, key)._replace(election_id="", task_id=""),
        (lambda world, key: world.elections.register(key, "a", 5),
         closes,
         lambda world, key: world.elections.advance(found(world, key)._replace(winner="b", term=1), found(world, key))),
    ),
    "a line": Twins(
        (lambda world, key: world.limits.begin(key, Line(US, 1, (US + 9_000_000,), "a"), PACES),),
        lambda world, key: world.limits.line(key, PACES),
        (lambda world, key: world.limits.join(key, PACES, 2, US),
         lambda world, key: world.limits.turn(key, Line(US, 7, (US,), "b"), world.limits.line(key, PACES) or Line(0, 0, ()))),
    ),
    "a board of permits": Twins(
        (lambda world, key: world.limits.take(key, permit(1), "m", MS),
         lambda world, key: world.limits.take(key, permit(1)._replace(number=1), "m", MS)),
        lambda world, key: world.limits.board(key)._replace(name=""),
        (lambda world, key: world.limits.wait(key, permit(1), "first", MS - 1),
         lambda world, key: world.limits.give_back(key, permit(1)),
         lambda world, key: world.limits.call(key, permit(1), "first", "who", MS + 5_000),
         lambda world, key: world.limits.take(key, permit(2), "who", MS)),
    ),
    "a line of messages": Twins(
        (lambda world, key: world.limits.line_up(key, "first", MS),),
        lambda world, key: world.limits.boards(key, 0)._replace(name=""),
        (lambda world, key: world.limits.line_up(key, "second", MS), lambda world, key: world.limits.leave_line(key, "first")),
    ),
    "a board above the first": Twins(
        (lambda world, key: world.limits.take(key, permit(1)._replace(number=10), "m", MS),),
        lambda world, key: world.limits.boards(key, 2)._replace(name=""),
        (lambda world, key: world.limits.give_back(key, permit(1)._replace(number=10)),
         lambda world, key: world.limits.keep(key, permit(1)._replace(number=10), "who", MS + 5_000)),
    ),
    "a latest call": Twins(
        (lambda world, key: world.limits.note(key, Latest(1, "a"), NOW),), lambda world, key: world.limits.latest(key),
        (lambda world, key: world.limits.note(key, Latest(2, "b"), NOW),),
    ),
    "a basket": Twins(
        (lambda world, key: world.limits.put(key, [written("1", [], {})], 9, NOW),),
        lambda world, key: world.limits.put(key, [written("1", [], {})], 0, NOW),
        (lambda world, key: world.limits.put(key, [written("2", [], {})], 9, NOW), lambda world, key: world.limits.shut(key, NOW)),
    ),
    "a memo": Twins(
        (lambda world, key: world.memos.change(Memo(key, "old", "1"), Memo(key)),),
        lambda world, key: world.memos.read([key])[key]._replace(name=""),
        (lambda world, key: world.memos.change(Memo(key, "new", "2"), Memo(key, "old", "1")),),
    ),
    "a run of a workflow": Twins(
        (lambda world, key: world.flow_runs.begin(run(key, "1"), NOW),), lambda world, key: (world.flow_runs.read(key) or run("", ""))[1:],
        (lambda world, key: world.flow_runs.change(run(key, "2"), run(key, "1"), NOW),),
    ),
    "an agenda": Twins(
        (lambda world, key: world.schedules.change(Agenda(len(key), {}, "1"), Agenda(len(key))),),
        lambda world, key: world.schedules.read()[len(key)]._replace(number=0),  # type: ignore[union-attr]
        (lambda world, key: world.schedules.change(Agenda(len(key), {}, "2"), Agenda(len(key), {}, "1")),),
    ),
    "a member": Twins(
        (lambda world, key: world.members.beat(MemberRecord(key, 1, "ACTIVE", 1, NOW)),),
        lambda world, key: next(one for one in world.members.read() if one.name == key)._replace(name=""),
        (lambda world, key: world.members.beat(MemberRecord(key, 2, "ACTIVE", 2, NOW)),
         lambda world, key: world.members.lose(key, 3, NOW + 1)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TWINS)
def test_a_write_to_one_of_two_that_are_alike_leaves_the_other_as_it_was(world: World, name: str) -> None:
    twins = TWINS[name]
    for make in twins.make:
        for key in (MINE, OTHER):
            make(world, key)
    untouched = before = twins.reads(world, OTHER)
    assert twins.reads(world, MINE) == untouched, "they are alike"
    for number, write in enumerate(twins.writes):
        write(world, MINE)
        assert twins.reads(world, OTHER) == untouched, f"write {number} reached its neighbour"
        assert twins.reads(world, MINE) != before, f"write {number} changed nothing"
        before = twins.reads(world, MINE)


def test_each_lease_has_a_line_of_its_own(world: World) -> None:
    for key in (MINE, OTHER):
        world.leases.take(held(key), None)
    assert [world.leases.wait(held(MINE), f"message {number}") for number in range(10)] == [True] * 10
    assert world.leases.wait(held(OTHER), "late"), "the other lease has room"
    world.leases.release(term(OTHER), MS)
    assert world.leases.call(world.leases.read([OTHER])[OTHER], "late"), "what waits for the other lease came earlier"
    assert world.leases.read([MINE])[MINE].waiting == tuple(f"message {number}" for number in range(10))


def test_each_board_has_a_line_of_its_own(world: World) -> None:
    for key in (MINE, OTHER):
        world.limits.take(key, permit(1), "m", MS)
    assert [world.limits.wait(MINE, permit(1), f"message {number}", MS - 1).done for number in range(10)] == [True] * 10
    assert world.limits.wait(OTHER, permit(1), "late", MS - 1).done, "the other board has room"
    world.limits.give_back(OTHER, permit(1))
    assert world.limits.call(OTHER, permit(1), "late", "late", MS + 5_000).done, "what waits for the other board came earlier"
    assert world.limits.board(MINE).waiting == tuple(f"message {number}" for number in range(10))
