"""Every write to an item that may age out pushes its TTL out, so nothing in use is deleted. On AWS alone: memory has no TTL."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sedano.aws.client import keys
from sedano.model import states
from sedano.model.canvas.join import Arrival, Node
from sedano.model.collection import Latest, written
from sedano.model.elections import Election, closed
from sedano.model.leases import LeaseRecord, Term
from sedano.model.ledger.records import Claim, Extension, Outcome
from sedano.model.limits.concurrency import Permit
from sedano.model.limits.rate import Line, Pace
from sedano.model.messages.message import BlobRef
from sedano.model.store_clock import Moment
from sedano.model.workflow.flow_run import FlowRun
from sedano.ports import MemberRecord
from tests.conformance.tasks import NOW, holding
from tests.conformance.worlds import World, over_aws
from tests.plugins.resources import Resources

DAY = 86_400
STEP = 3
"""So many days lie between two writes: more than a day, because an item is kept for eight, and asked to be kept for seven."""
PACES = (Pace(1_000_000),)
LEDGER, CONTROL = "SEDANO_LEDGER_TABLE", "SEDANO_CONTROL_TABLE"


class Life(NamedTuple):
    """An item: in which table, its key, and the writes to it, each at a day of its own (0, 3, 6 …) that it must live beyond."""

    table: str
    key: str
    writes: tuple[Callable[[World, float], Any], ...]
    days: int = 7
    """How long after a write it must live at least."""


RUN = FlowRun("k", "fulfil", "3", BlobRef("ab" * 32, 812), NOW, "{}", nonce="a")


def at(day: float) -> int:
    """Return the microsecond of a day."""
    return int((NOW + day * DAY) * 1_000_000)


def claim(day: float) -> Claim:
    """Return a claim that ends on this day."""
    return Claim("t", 0, "m", "n", NOW + day * DAY, 1, "shop.add")


def outcome(day: float, state: str = states.SUCCESS) -> Outcome:
    """Return an outcome of this day."""
    return Outcome("t", state, "n", 1, "m", 0, 1, "shop.add", NOW + day * DAY)


def line(day: float, nonce: str) -> Line:
    """Return a line whose turn is on this day."""
    return Line(at(day), 1, (at(day),), nonce)


def permit(day: float, token: int) -> Permit:
    """Return a permit that ends on this day."""
    return Permit(0, token, f"n{token}", "one", at(day) // 1000)


def lined_up(world: World, day: float, token: int) -> None:
    """Let a message wait for a permit that another holds: a line exists beside held permits alone."""
    world.limits.take("k", permit(day, token), "m", at(day) // 1000)
    world.limits.line_up("k", f"message {token}", at(day) // 1000)


LIVES = {
    "a claim, its record": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.claim([claim(day)]),
        lambda world, day: world.ledger.record([outcome(day)]),
    )),
    "a claim, its failure": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.claim([claim(day)]),
        lambda world, day: world.ledger.record([outcome(day, states.FAILURE)]),
    )),
    "a reservation, its failure": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.reserve("t", "m", NOW, NOW + day * DAY),
        lambda world, day: world.ledger.keep([outcome(day, states.FAILURE)]),
    )),
    "a stolen claim": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.claim([claim(day)]),
        lambda world, day: world.ledger.steal(claim(day)._replace(nonce="n2"), world.ledger.read(["t"])["t"]),
    )),
    "a claim, its extension": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.claim([claim(day)]),
        lambda world, day: world.ledger.extend([Extension("t", "n", 1, NOW + day * DAY)]),
    )),
    "a reservation, its claim": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.reserve("t", "m", NOW, NOW + day * DAY),
        lambda world, day: world.ledger.claim([claim(day)._replace(must_exist=True)]),
    )),
    "a reservation, its repetition, its end": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.reserve("t", "m", NOW, NOW + day * DAY),
        lambda world, day: world.ledger.reserve("t", "m2", NOW + day * DAY - 1, NOW + day * DAY),
        lambda world, day: world.ledger.keep([outcome(day)]),
    )),
    "a reservation, its revocation": Life(LEDGER, keys.task("t"), (
        lambda world, day: world.ledger.reserve("t", "m", NOW, NOW + day * DAY),
        lambda world, day: world.ledger.revoke("t", 1, NOW + day * DAY),
    )),
    "a member": Life(CONTROL, keys.member("k"), (
        lambda world, day: world.members.beat(MemberRecord("k", 1, "ACTIVE", 0, NOW + day * DAY, ())),
        lambda world, day: world.members.beat(MemberRecord("k", 2, "ACTIVE", 0, NOW + day * DAY, ())),
    ), days=3),
    "a run of a workflow": Life(CONTROL, keys.flow_run("k"), (
        lambda world, day: world.flow_runs.begin(RUN, NOW + day * DAY),
        lambda world, day: world.flow_runs.change(RUN._replace(nonce="b"), RUN, NOW + day * DAY),
    )),
    "a line": Life(CONTROL, keys.rate("k"), (
        lambda world, day: world.limits.begin("k", line(day, "a"), PACES),
        lambda world, day: world.limits.begin("k", line(day, "b"), PACES),
        lambda world, day: world.limits.turn("k", line(day, "c"), line(day - STEP, "b")),
        lambda world, day: world.limits.join("k", PACES, STEP * DAY + 1, at(day - STEP) - 1),
    )),
    "a permit": Life(CONTROL, keys.permits("k"), (
        lambda world, day: world.limits.take("k", permit(day, 1), "m", at(day) // 1000),
        lambda world, day: world.limits.take("k", permit(day, 2), "m", at(day) // 1000),
    )),
    "a permit above the first ten": Life(CONTROL, keys.permits("k", 1), (
        lambda world, day: world.limits.take("k", permit(day, 1)._replace(number=10), "m", at(day) // 1000),
    )),
    "the line of a limit": Life(CONTROL, keys.permit_line("k"), (
        lambda world, day: lined_up(world, day, 1),
        lambda world, day: lined_up(world, day, 2),
    )),
    "the latest call": Life(CONTROL, keys.latest("k"), (
        lambda world, day: world.limits.note("k", Latest(1, "a"), NOW + day * DAY),
        lambda world, day: world.limits.note("k", Latest(2, "b"), NOW + day * DAY),
    )),
    "a basket": Life(CONTROL, keys.basket("k"), (
        lambda world, day: world.limits.put("k", [written("1", [], {})], 9, NOW + day * DAY),
        lambda world, day: world.limits.put("k", [written("2", [], {})], 9, NOW + day * DAY),
        lambda world, day: world.limits.shut("k", NOW + day * DAY),
        lambda world, day: world.limits.shut("k", NOW + day * DAY),
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", LIVES)
def test_each_write_lets_its_item_live_longer(name: str, resources: Resources) -> None:
    table, key, writes, days = LIVES[name]
    client, world = resources.session.client("dynamodb"), over_aws(resources)
    before = 0
    for number, write in enumerate(writes):
        day = number * STEP
        write(world, day)
        item = client.get_item(TableName=resources.settings[table], Key={"pk": {"S": key}})["Item"]
        ttl = int(item["ttl"]["N"])
        assert max(before + 1, NOW + (day + days) * DAY) <= ttl < NOW + (day + 100) * DAY, f"write {number}"
        before = ttl


@pytest.mark.parametrize("failed", [False, True])
def test_a_node_of_a_join_lives_from_its_last_arrival_on(failed: bool, resources: Resources) -> None:
    arrival = Arrival("j", Node(0, 0, 3), 1, failed)
    over_aws(resources).ledger.arrive([arrival])
    items = resources.session.client("dynamodb").scan(TableName=resources.settings[LEDGER])["Items"]
    assert [int(item["ttl"]["N"]) > 7 * DAY for item in items] == [True]


def test_what_an_election_dispatched_is_remembered(resources: Resources) -> None:
    world = over_aws(resources)
    world.elections.open(election := Election("e", "task", "t", "{}", "n"), NOW)
    world.elections.register("e", "a", 1)
    found = world.elections.read("e")
    assert found is not None
    fence = holding(world.ledger, "closer")
    assert world.elections.close(closed(found, "closer", round(NOW * 1000)), NOW, fence).done
    key = {"pk": {"S": keys.task(election.task_id)}}
    item = resources.session.client("dynamodb").get_item(TableName=resources.settings[LEDGER], Key=key)["Item"]
    assert int(item["ttl"]["N"]) >= NOW + 7 * DAY


def test_a_lease_ages_out_only_while_it_is_free(resources: Resources) -> None:
    client, world = resources.session.client("dynamodb"), over_aws(resources)
    now = round(NOW * 1000)

    def ttl() -> bool:
        return "ttl" in client.get_item(TableName=resources.settings[CONTROL], Key={"pk": {"S": keys.lease("k")}})["Item"]

    world.leases.take(LeaseRecord("k", 1, "n", "one", 1, True, 1_000, now), None)
    assert not ttl()
    world.leases.release(Term("k", 1, "n", "one", 1_000, now, Moment(0.0, 0.0)), now)
    assert ttl()
    free = world.leases.read(["k"])["k"]
    world.leases.take(LeaseRecord("k", 2, "n2", "two", 3, True, 1_000, now), free)
    assert not ttl()
