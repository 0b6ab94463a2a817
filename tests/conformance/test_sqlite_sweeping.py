"""What has aged out of a SQLite file is deleted, and nothing that is in use: the lifetimes are those of the tables on AWS."""

from pathlib import Path

import pytest

from sedano.memory import START
from sedano.model.canvas.join import Arrival, Join, Node
from sedano.model.elections import Election
from sedano.model.leases import LeaseRecord, Term
from sedano.model.store_clock import Moment
from sedano.ports import Outgoing
from sedano.sqlite.retention import AGAIN_S, BLOB_LIFETIME_S, EVERY_S, FIRST_S, MOST, RETENTION_S, Sweeper, sweep
from sedano.sqlite.store import Store
from tests.conformance.tasks import NOW
from tests.conformance.test_lifetimes import DAY, LIVES, STEP
from tests.conformance.worlds import COMMANDS, World, on_one_file

EVER = 200 * DAY
NODE = Node(0, 0, 3)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return on_one_file(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sedano.db")


def counts(store: Store) -> dict[str, int]:
    """How many rows each table has that has any."""
    tables = [name for (name,) in store.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sqlite_sequence'")]
    found = {name: store.rows(f"SELECT count(*) FROM {name}")[0][0] for name in tables}  # noqa: S608 - names of our own tables
    return {name: number for name, number in found.items() if number}


@pytest.mark.parametrize("name", LIVES)
def test_each_write_lets_its_row_live_longer_and_in_the_end_it_goes(world: World, store: Store, name: str) -> None:
    _, _, writes, days = LIVES[name]
    for number, write in enumerate(writes):
        day = number * STEP
        write(world, day)
        before = counts(store)
        sweep(store, NOW + (day + days) * DAY - 1)
        assert counts(store) == before, f"write {number}"
    sweep(store, NOW + EVER)
    assert counts(store) == {}


def test_a_node_of_a_join_lives_from_its_last_arrival_on(world: World, store: Store) -> None:
    world.ledger.open_join(Join("j", 3, "{}", COMMANDS))
    world.ledger.arrive([Arrival("j", NODE, 0)])
    world.ledger._clock.advance(40 * DAY)  # type: ignore[attr-defined]
    world.ledger.arrive([Arrival("j", NODE, 1)])
    sweep(store, START + 60 * DAY)
    assert counts(store) == {"arrival": 2}, "the join was opened 60 days ago; the node was reached 20 days ago"
    sweep(store, START + EVER)
    assert counts(store) == {}


def test_an_election_goes_with_its_candidates(world: World, store: Store) -> None:
    world.elections.open(Election("e", "task", "t", "{}", "n"), NOW)
    world.elections.register("e", "a", 1)
    sweep(store, NOW + 7 * DAY)
    assert counts(store) == {"election": 1, "candidate": 1}
    sweep(store, NOW + 9 * DAY)
    assert counts(store) == {}


def test_a_lease_ages_out_only_while_it_is_free(world: World, store: Store) -> None:
    now = round(NOW * 1000)
    held = LeaseRecord("k", 1, "n", "one", 1, True, 1_000, now)
    world.leases.take(held, None)
    world.leases.wait(held, "message")
    sweep(store, NOW + EVER)
    assert counts(store) == {"lease": 1, "waiting": 1}
    world.leases.release(Term("k", 1, "n", "one", 1_000, now, Moment(0.0, 0.0)), now)
    sweep(store, NOW + 7 * DAY)
    assert counts(store) == {"lease": 1, "waiting": 1}
    sweep(store, NOW + 9 * DAY)
    assert counts(store) == {}


def test_messages_and_blobs_are_kept_as_long_as_queues_and_buckets_keep_them(world: World, store: Store) -> None:
    world.queues.send(COMMANDS, [Outgoing("{}")])
    world.blobs.put(b"text")
    sweep(store, START + RETENTION_S - 1)
    assert counts(store) == {"message": 1, "blob": 1}
    sweep(store, START + BLOB_LIFETIME_S - 1)
    assert counts(store) == {"blob": 1}
    world.blobs._clock.advance(DAY)  # type: ignore[attr-defined]
    world.blobs.put(b"text")
    sweep(store, START + BLOB_LIFETIME_S + 1)
    assert counts(store) == {"blob": 1}, "who puts it again lets it live longer"
    sweep(store, START + EVER)
    assert counts(store) == {}


def test_what_people_and_declarations_wrote_stays(world: World, store: Store) -> None:
    world.consumers.set_limit(COMMANDS, 5)
    world.events.append("2026-01-01", b"{}")
    sweep(store, NOW + EVER)
    assert counts(store) == {"consumer": 1, "event": 1}


def test_a_process_sweeps_once_an_hour_and_at_once_again_where_much_is_left(store: Store) -> None:
    with store.changing() as database:
        database.executemany("INSERT INTO latest VALUES (?, 1, 't', 0)", [(str(number),) for number in range(MOST + 1)])
    sweeper = Sweeper(store)
    sweeper.look(NOW)
    sweeper.look(NOW + FIRST_S - 0.1)
    assert counts(store) == {"latest": MOST + 1}
    sweeper.look(NOW + FIRST_S)
    assert counts(store) == {"latest": 1}
    sweeper.look(NOW + FIRST_S + AGAIN_S)
    assert counts(store) == {}
    with store.changing() as database:
        database.execute("INSERT INTO latest VALUES ('late', 1, 't', 0)")
    sweeper.look(NOW + FIRST_S + AGAIN_S + EVERY_S - 0.1)
    assert counts(store) == {"latest": 1}
    sweeper.look(NOW + FIRST_S + AGAIN_S + EVERY_S)
    assert counts(store) == {}


def test_who_receives_sweeps(world: World, store: Store) -> None:
    with store.changing() as database:
        database.execute("INSERT INTO latest VALUES ('old', 1, 't', 0)")
    world.queues.receive(COMMANDS)
    world.queues._clock.advance(FIRST_S)  # type: ignore[attr-defined]
    world.queues.receive(COMMANDS)
    assert counts(store) == {}
