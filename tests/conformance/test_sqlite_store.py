"""The SQLite file of a deployment: whose it may be, which layout it has, and that many threads and processes may use it at once."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sedano.errors import ConfigurationError, OptionError, Unavailable
from sedano.memory import START, MemoryTelemetry, SeededEntropy, VirtualClock
from sedano.model import states
from sedano.model.effects import TableWrite
from sedano.model.leases import Term
from sedano.model.memos import Memo
from sedano.model.order import MAX_RECEIVES
from sedano.model.store_clock import Moment
from sedano.model.timers import EARLY_S, Timer, opened
from sedano.ports import PARKED, Outgoing, Ports, command_queue
from sedano.sqlite import queues
from sedano.sqlite.deployment import connect
from sedano.sqlite.schema import VERSION
from sedano.sqlite.store import Store
from sedano.sqlite.webhook_secrets import SqliteSecretTexts
from tests.conformance.tasks import claimed, stored, success
from tests.conformance.worlds import COMMANDS

ORDERS = command_queue("orders.fifo")
PROCESSES, EACH = 8, 40
BOUND_S = 60


def ports_at(path: Path, max_receives: int = 25) -> tuple[Ports, VirtualClock]:
    """The ports of a process of its own over the file, on a clock of its own."""
    clock = VirtualClock(START)
    queues = ("default", "orders.fifo")
    return connect(path, queues, clock, SeededEntropy(), MemoryTelemetry(), visibility=30.0, max_receives=max_receives), clock


def used(path: Path) -> None:
    store = Store(path)
    store.rows("SELECT 1")
    store.close()


def refused(path: Path, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        used(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "sedano.db"


def test_only_its_owner_can_read_what_is_made(path: Path) -> None:
    ports = ports_at(path)[0]
    ports.queues.send(COMMANDS, [Outgoing("{}")])
    assert {found.name for found in path.parent.iterdir()} == {"sedano.db", "sedano.db-wal", "sedano.db-shm"}
    assert [found for found in (path.parent, *path.parent.iterdir()) if found.stat().st_mode & 0o077] == []


def test_a_file_that_others_can_read_is_refused(path: Path) -> None:
    used(path)
    path.chmod(0o640)
    refused(path, "is not a file that only you can read; take it away, or `chmod 600")


def test_a_directory_that_others_can_write_to_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.parent.chmod(0o770)
    refused(path, "is not a directory that only you can write to")
    assert not path.exists()


def test_a_link_is_refused(path: Path, tmp_path: Path) -> None:
    used(tmp_path / "other" / "sedano.db")
    path.parent.mkdir(mode=0o700)
    path.symlink_to(tmp_path / "other" / "sedano.db")
    refused(path, "is not a file that only you can read")


@pytest.mark.parametrize("content", [b"short", b"x" * 5_000])
def test_what_is_no_database_is_refused_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700)
    path.touch(0o600)
    path.write_bytes(content)
    refused(path, "is not a database; name another file")
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (one)")
    path.chmod(0o600)
    refused(path, "is a database of another program")


def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    used(path)
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    refused(path, f"has the layout {VERSION + 1}, and this version of sedano supports {VERSION}")


def test_a_file_of_the_first_layout_is_changed_and_keeps_what_it_holds(path: Path) -> None:
    held = claimed(ports_at(path)[0].ledger)
    with sqlite3.connect(path) as database:
        before = layout(database)
        database.execute("DROP INDEX task_failed")
        for column in ("failed_day", "failed", "error", "place", "custom", "followed", "marks"):
            database.execute(f"ALTER TABLE task DROP COLUMN {column}")
        for column in ("answers", "report"):
            database.execute(f"ALTER TABLE member DROP COLUMN {column}")
        for table in ("effect", "rollup", "document"):
            database.execute(f"DROP TABLE {table}")
        database.execute("PRAGMA user_version = 1")
        assert layout(database) != before
    ledger = ports_at(path)[0].ledger
    assert stored(ledger) == held
    ledger.record([success(state=states.FAILURE)])
    assert [one.task_id for one in ledger.failures("2026-01-01", 10) or ()] == [held.task_id]
    with sqlite3.connect(path) as database:
        assert layout(database) == before
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)


@pytest.mark.parametrize("had_effects", [True, False])
def test_a_file_of_the_layout_in_which_effects_made_their_own_table_is_changed_and_keeps_them(path: Path, had_effects: bool) -> None:
    first, key = ports_at(path)[0], {"id": "a"}
    claimed(first.ledger)
    if had_effects:
        first.effects.record(success(), [TableWrite("orders", "put", key, item={**key, "n": 1})], claimed=True)
    with sqlite3.connect(path) as database:
        before = layout(database)
        database.execute("DROP TABLE rollup")
        database.execute("DROP TABLE document")
        if not had_effects:
            database.execute("DROP TABLE effect")
        database.execute("ALTER TABLE member DROP COLUMN report")
        for column in ("custom", "followed", "marks"):
            database.execute(f"ALTER TABLE task DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 3")
    second = ports_at(path)[0].effects
    assert second.read("orders", key) == ({**key, "n": 1} if had_effects else None)
    with sqlite3.connect(path) as database:
        assert (layout(database), database.execute("PRAGMA user_version").fetchone()) == (before, (VERSION,))


def layout(database: sqlite3.Connection) -> list[object]:
    """The columns and indexes of the tables that have changed."""
    changed = ("task", "member", "effect", "rollup", "document")
    return [database.execute(f"PRAGMA {one}({table})").fetchall() for one in ("table_info", "index_list") for table in changed]


def test_a_damaged_file_says_what_to_do(path: Path) -> None:
    used(path)
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xff" * 8_192)
    with pytest.raises(ConfigurationError, match=r"cannot be used: .*; repair it, or move it away with its -wal and -shm"):
        ports_at(path)[0].ledger.read(["t"])


def test_who_has_to_wait_too_long_is_told_to_try_later_and_nothing_was_written(path: Path) -> None:
    other = Store(path)
    store = Store(path, busy=0.05)
    with other.changing():
        with pytest.raises(Unavailable, match="locked"), store.changing():
            raise AssertionError("two may write at once")
        assert store.rows("SELECT count(*) FROM memo") == [(0,)], "who reads waits for nobody"
    with store.changing() as database:
        database.execute("INSERT INTO memo VALUES ('a', 'b', 'c')")


def test_what_fails_is_undone_as_a_whole_and_its_error_comes_through(path: Path) -> None:
    store = Store(path)
    with pytest.raises(KeyError), store.changing() as database:
        _ = database.execute("INSERT INTO memo VALUES ('a', 'b', 'c')").rowcount, {}["missing"]
    assert store.rows("SELECT count(*) FROM memo") == [(0,)]
    with store.changing() as database:
        database.execute("INSERT INTO memo VALUES ('a', 'b', 'c')")
    store.close()
    assert store.rows("SELECT count(*) FROM memo") == [(1,)], "after it was closed it is opened anew"


def each_in_a_process(do: Callable[[int], None]) -> None:
    """Do it in so many children at once; each must end well."""
    children = []
    for number in range(PROCESSES):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(BOUND_S)
                do(number)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * PROCESSES, f"a child failed, or took {BOUND_S} s"


def test_processes_that_open_a_new_file_at_once_all_find_it_whole(path: Path) -> None:
    each_in_a_process(lambda number: ports_at(path)[0].queues.send(COMMANDS, [Outgoing(str(number))]))
    assert ports_at(path)[0].consumers.load(COMMANDS).waiting == PROCESSES


def test_processes_that_were_forked_change_one_memo_and_lose_no_change(path: Path) -> None:
    ports, _ = ports_at(path)
    ports.memos.change(Memo("sum", "0", "first"), Memo("sum"))

    def add(number: int) -> None:
        for count in range(EACH):
            done = False
            while not done:
                seen = ports.memos.read(["sum"])["sum"]
                done = ports.memos.change(Memo("sum", str(int(seen.text) + 1), f"{number}.{count}"), seen).done

    each_in_a_process(add)
    assert ports.memos.read(["sum"])["sum"].text == str(PROCESSES * EACH)


def test_processes_that_receive_at_once_each_get_messages_of_their_own(path: Path) -> None:
    ports, _ = ports_at(path)
    ports.queues.send(COMMANDS, [Outgoing(str(number)) for number in range(PROCESSES * EACH)])

    def receive(number: int) -> None:
        while found := ports.queues.receive(COMMANDS, most=3):
            ports.queues.send(PARKED, [Outgoing(delivery.body) for delivery in found])
            ports.queues.delete(found)

    each_in_a_process(receive)
    moved = []
    while found := ports.queues.receive(PARKED):
        moved += [int(delivery.body) for delivery in found]
    assert sorted(moved) == list(range(PROCESSES * EACH))


def test_a_store_stays_at_its_file_when_the_working_directory_changes(tmp_path: Path) -> None:
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        store = Store(Path("dev.db"))
        os.chdir(before)
        store.rows("SELECT 1")
    finally:
        os.chdir(before)
    assert (tmp_path / "dev.db").exists()


def test_what_a_receiver_asks_is_answered_by_indexes_without_sorting(path: Path) -> None:
    store = Store(path)
    for statement in (queues._ANY, queues._NEXT, queues._NEXT_IN_ORDER, queues._DELETE, queues._HIDE):
        steps = [step for *_, step in store.rows(f"EXPLAIN QUERY PLAN {statement}", *[1] * statement.count("?"))]
        assert [step for step in steps if "SCAN" in step or "TEMP B-TREE" in step] == [], statement


def test_threads_share_a_store(path: Path) -> None:
    ports, _ = ports_at(path)
    threads = [threading.Thread(target=ports.queues.send, args=(COMMANDS, [Outgoing("{}")] * 20)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ports.consumers.load(COMMANDS).waiting == 160


def test_a_receipt_outlives_its_process_and_an_old_one_deletes_nothing(path: Path) -> None:
    ports_at(path)[0].queues.send(COMMANDS, [Outgoing("{}")])
    (first,) = ports_at(path)[0].queues.receive(COMMANDS)
    ports, clock = ports_at(path)
    clock.advance(31)
    (second,) = ports.queues.receive(COMMANDS)
    ports.queues.delete([first, first._replace(receipt="no receipt")])
    ports.queues.hold(first, 0)
    assert ports.consumers.load(COMMANDS).running == 1
    ports_at(path)[0].queues.delete([second])
    assert ports.consumers.load(COMMANDS) == (0, 0)


def test_a_message_that_died_leaves_its_place_in_the_order_to_the_next(path: Path) -> None:
    ports, _ = ports_at(path)
    ports.queues.send(ORDERS, [Outgoing("first", serial_key="a"), Outgoing("second", serial_key="a")])
    with Store(path).changing() as database:
        database.execute("UPDATE message SET receives = ? WHERE body = 'first'", (MAX_RECEIVES,))
    assert [delivery.body for delivery in ports.queues.receive(ORDERS)] == ["second"]
    assert [letter.body for letter in ports.consumers.dead(ORDERS, 5)] == ["first"]


def test_a_parked_message_never_dies(path: Path) -> None:
    ports, _ = ports_at(path, max_receives=1)
    ports.queues.send(PARKED, [Outgoing("{}")])
    for _ in range(4):
        (delivery,) = ports.queues.receive(PARKED)
        ports.queues.hold(delivery, 0)


def test_a_timer_fires_early_in_its_envelope_whoever_receives_and_stands_no_more(path: Path) -> None:
    ports, _ = ports_at(path)
    mine = Timer("t-1", START + 1_000, COMMANDS, "{}", "acme")
    ports.timers.set(mine)
    other, clock = ports_at(path)
    clock.advance(1_000 - EARLY_S - 1)
    assert other.queues.receive(COMMANDS) == []
    clock.advance(1)
    (delivery,) = other.queues.receive(COMMANDS)
    assert (opened(delivery.body), delivery.sent) == (mine, mine.fires)
    assert other.timers.list() == []
    assert not other.timers.cancel(mine.name)
    assert other.timers.set(mine._replace(at=START + 9_000)), "its name is free"


def test_a_timer_that_is_moved_or_cancelled_leaves_no_message_behind(path: Path) -> None:
    ports, clock = ports_at(path)
    for name in ("moved", "gone"):
        ports.timers.set(Timer(name, START + 1_000, COMMANDS, "{}"))
    assert ports.timers.edit("moved", START + 2_000)
    assert ports.timers.cancel("gone")
    clock.advance(1_500)
    assert ports.queues.receive(COMMANDS) == []
    clock.advance(500)
    assert [opened(delivery.body).name for delivery in ports.queues.receive(COMMANDS)] == ["moved"]


def test_limits_of_consumers_are_kept_for_whoever_runs_workers(path: Path) -> None:
    consumers = ports_at(path)[0].consumers
    assert consumers.limit(COMMANDS) is None
    consumers.set_limit(COMMANDS, 5)
    assert ports_at(path)[0].consumers.limit(COMMANDS) == 5
    for limit in (1, 1_001):
        with pytest.raises(OptionError, match="is not a whole number from 2 to 1000"):
            consumers.set_limit(COMMANDS, limit)


def test_secrets_of_webhooks_are_kept_a_line_each(path: Path) -> None:
    secrets = SqliteSecretTexts(Store(path))
    with pytest.raises(ConfigurationError, match=r"webhook github: .* has no secret; store it with .SqliteSecretTexts\.put"):
        secrets.read("github")
    secrets.put("github", "old")
    secrets.put("github", "new\nold\n")
    assert SqliteSecretTexts(Store(path)).read("github") == ("new", "old")


def test_a_term_is_no_part_of_another_databases_transactions(path: Path) -> None:
    with pytest.raises(OptionError, match="transaction"):
        ports_at(path)[0].leases.proof(Term("k", 1, "n", "one", 1_000, 5, Moment(0.0, 0.0)))
