"""The backlog: what it has accepted is there, in order, until it was sent; on the disk, in memory and in a DynamoDB table."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest

from sedano.aws.backlog import ROUNDS, DynamoBacklog, client_for
from sedano.aws.client.session import Session
from sedano.engine.publisher.backlog import DiskBacklog
from sedano.errors import BacklogFull, ConfigurationError, Unavailable
from sedano.memory import MemoryBacklog
from sedano.ports import Addressed, Outgoing
from sedano.ports.backlog import TAKEN_S, Backlog, Stored, delay_left
from tests.conformance.worlds import losing_answers, session_of
from tests.plugins.resources import Resources

NOW = 1_800_000_000.0
QUEUE = "commands:default"
KEYS = [("pk", "HASH"), ("sk", "RANGE")]


def table_of(client: Any) -> str:
    """Make the table of a backlog and return its name."""
    name = f"backlog-{secrets.token_hex(6)}"
    client.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in KEYS],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key, _ in KEYS],
    )  # fmt: skip
    return name


class Place:
    """Where the messages of a backlog are; `open` returns it as another process sees it."""

    def __init__(self, name: str, opened: Callable[[], Backlog]) -> None:
        self.name, self.open = name, opened


@pytest.fixture(params=["memory", "disk", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An empty place for messages."""
    match request.param:
        case "memory":
            one = MemoryBacklog()
            yield Place("memory", lambda: one)
        case "disk":
            folder = request.getfixturevalue("tmp_path") / "own" / "app" / "spool"
            yield Place("disk", lambda: DiskBacklog(folder))
        case name:
            resources: Resources = request.getfixturevalue("resources" if name == "moto" else "ministack_resources")
            client = session_of(resources).client("dynamodb")
            table = table_of(client)
            yield Place(name, lambda: DynamoBacklog(client, table, "shop"))
            client.delete_table(TableName=table)


def messages(*bodies: str, delay: int = 0, tenant: str | None = None) -> list[Addressed]:
    return [Addressed(QUEUE, Outgoing(body, delay, tenant)) for body in bodies]


def bodies(taken: Any) -> list[str]:
    return [one.message.outgoing.body for one in taken]


def emptied(backlog: Backlog, now: float, page: int = 100) -> list[str]:
    """Take and forget until nothing is left."""
    found: list[str] = []
    while some := backlog.take(page, now):
        found += bodies(some)
        backlog.done(some)
        backlog.give_back([])
    return found


def test_what_is_kept_is_taken_as_it_was_and_once(place: Place) -> None:
    kept = [*messages("{}", '{"é":"\\u0001 <&>"}', tenant="acme"), Addressed("events", Outgoing("[]"))]
    place.open().keep(kept, NOW)
    backlog = place.open()
    assert backlog.exists()
    taken = backlog.take(10, NOW + 1)
    assert [one.message for one in taken] == kept
    backlog.done(taken)
    backlog.give_back([])
    assert backlog.take(10, NOW + 2) == []
    assert place.open().take(10, NOW + 2) == []


def test_pages_come_in_the_order_of_storing(place: Place) -> None:
    backlog = place.open()
    for number in range(4):
        backlog.keep(messages(*(f"{number}-{one}" for one in range(3))), NOW + number)
    assert emptied(place.open(), NOW + 10, 5) == [f"{number}-{one}" for number in range(4) for one in range(3)]


def test_a_batch_larger_than_a_transaction_is_kept_whole_and_in_order(place: Place) -> None:
    wanted = [f'{{"number":{number}}}' for number in range(230)]
    place.open().keep(messages(*wanted), NOW)
    assert emptied(place.open(), NOW + 1) == wanted


def test_large_messages_are_kept(place: Place) -> None:
    wanted = [str(number) * 120_000 for number in range(10)] * 4
    place.open().keep(messages(*wanted), NOW)
    assert emptied(place.open(), NOW + 1, 10) == wanted


def test_what_was_given_back_comes_after_what_was_not_tried(place: Place) -> None:
    backlog = place.open()
    backlog.keep(messages("a", "b", "c", "d"), NOW)
    first = backlog.take(2, NOW + 1)
    backlog.done(first[:1])
    backlog.give_back(first[1:])
    assert emptied(place.open(), NOW + 1) == ["c", "d", "b"]


def test_what_fails_again_and_again_is_tried_behind_the_others(place: Place) -> None:
    backlog = place.open()
    backlog.keep(messages("a"), NOW)
    for _ in range(12):
        backlog.give_back(backlog.take(1, NOW + 1))
    backlog.keep(messages("b"), NOW + 1)
    assert emptied(backlog, NOW + 2) == ["b", "a"]


def test_two_senders_do_not_take_the_same_until_the_first_has_had_its_time(place: Place) -> None:
    place.open().keep(messages("a", "b"), NOW)
    first, second = place.open(), place.open()
    assert bodies(first.take(2, NOW)) == ["a", "b"]
    assert second.take(2, NOW + 1) == []
    assert bodies(place.open().take(2, NOW + TAKEN_S)) == ["a", "b"]


def test_a_sender_that_got_nothing_leaves_the_messages_to_the_one_that_has_them(place: Place) -> None:
    place.open().keep(messages("a", "b"), NOW)
    first, second = place.open(), place.open()
    taken = first.take(2, NOW)
    for nothing in (second.take(2, NOW + 1), first.take(2, NOW + 2)):
        assert nothing == []
        second.done(nothing)
        second.give_back(nothing)
        first.give_back(nothing)
    assert place.open().take(2, NOW + 3) == []
    first.done(taken)
    assert place.open().take(2, NOW + 4) == []


def test_what_another_sender_has_sent_does_not_come_back_with_what_is_given_back(place: Place) -> None:
    place.open().keep(messages("a", "b", "c"), NOW)
    first, late = place.open(), place.open()
    taken, again = first.take(3, NOW), late.take(3, NOW + TAKEN_S)
    first.done(taken[:2])
    late.give_back(again)
    assert emptied(place.open(), NOW + TAKEN_S + 1) == ["c"]


def test_a_sender_that_comes_too_late_does_not_end_the_time_of_the_next(place: Place) -> None:
    place.open().keep(messages("a"), NOW)
    late, second = place.open(), place.open()
    taken = late.take(1, NOW)
    assert bodies(second.take(1, NOW + TAKEN_S)) == ["a"]
    late.done(taken)
    late.give_back([])
    place.open().keep(messages("b"), NOW + TAKEN_S)
    assert bodies(place.open().take(1, NOW + TAKEN_S + 1)) == ([] if place.name in ("moto", "ministack") else ["b"])


def test_messages_that_another_sender_has_still_exist_until_they_are_sent(place: Place) -> None:
    place.open().keep(messages("a"), NOW)
    first, second = place.open(), place.open()
    taken = first.take(1, NOW)
    assert (second.take(1, NOW + 1), second.exists()) == ([], True)
    first.done(taken)
    assert (second.take(1, NOW + 2), second.exists()) == ([], False)
    second.keep(messages("b"), NOW + 3)
    assert second.exists()
    assert bodies(second.take(1, NOW + 3)) == ["b"]


def test_a_clock_that_was_set_back_hides_nothing_for_longer(place: Place) -> None:
    place.open().keep(messages("a"), NOW)
    place.open().take(1, NOW + 5_000)
    assert bodies(place.open().take(1, NOW)) == ["a"]


def test_a_delay_runs_while_its_message_waits(place: Place) -> None:
    backlog = place.open()
    backlog.keep([*messages("early", delay=10), *messages("late", delay=900)], NOW + 0.5)
    assert [one.message.outgoing.delay for one in backlog.take(2, NOW + 60)] == [0, 841]


def test_a_message_that_was_given_back_keeps_its_moment(place: Place) -> None:
    backlog = place.open()
    backlog.keep(messages("late", delay=900, tenant="acme"), NOW)
    backlog.give_back(backlog.take(1, NOW + 100))
    (again,) = backlog.take(1, NOW + 200)
    assert again.message == Addressed(QUEUE, Outgoing("late", 700, "acme"))


def test_what_is_done_or_given_back_twice_or_unknown_harms_nothing(place: Place) -> None:
    backlog = place.open()
    backlog.keep(messages("a", "b"), NOW)
    taken = backlog.take(1, NOW)
    backlog.done(taken)
    backlog.done(taken)
    backlog.give_back([])
    backlog.done([])
    assert emptied(place.open(), NOW + 1) == ["b"]


def test_memory_and_the_disk_refuse_more_than_they_hold_and_keep_none_of_it() -> None:
    backlog = MemoryBacklog(3)
    backlog.keep(messages("a", "b"), NOW)
    with pytest.raises(BacklogFull, match="2 messages wait in memory already, of at most 3; publish again later"):
        backlog.keep(messages("c", "d"), NOW)
    assert emptied(backlog, NOW) == ["a", "b"]
    assert not backlog.exists()
    backlog.keep(messages("e", "f", "g"), NOW)
    assert backlog.exists()


def test_another_sender_takes_the_rest_in_memory() -> None:
    backlog = MemoryBacklog()
    backlog.keep(messages("a", "b", "c"), NOW)
    first = backlog.take(1, NOW)
    assert bodies(backlog.take(5, NOW + 1)) == ["b", "c"]
    backlog.give_back(first)
    assert bodies(backlog.take(5, NOW + 1)) == ["a"]
    backlog.done(first)
    backlog.give_back(first)
    assert bodies(backlog.take(5, NOW + 2 * TAKEN_S)) == ["b", "c"]


@pytest.mark.parametrize(
    ("delay", "due", "left"), [(900, 100.0, 0), (900, 100.5, 1), (900, 1_100.0, 900), (30, 1_100.0, 30), (0, 200.0, 0), (-5, 200.0, 0)]
)
def test_the_delay_that_is_left_is_whole_and_never_longer_than_it_was(delay: int, due: float, left: int) -> None:
    assert delay_left(delay, due, 100.0) == left


class InTables:
    """Backlogs in one table on moto."""

    def __init__(self, resources: Resources) -> None:
        self.client = session_of(resources).client("dynamodb")
        self.table = table_of(self.client)

    def open(self, scope: str = "shop", client: Any = None) -> DynamoBacklog:
        return DynamoBacklog(client or self.client, self.table, scope)


@pytest.fixture
def tables(resources: Resources) -> InTables:
    return InTables(resources)


def test_the_messages_of_one_app_or_deployment_are_never_those_of_another(tables: InTables) -> None:
    tables.open().keep(messages("a"), NOW)
    tables.open("other").keep(messages("b"), NOW)
    assert emptied(tables.open("other"), NOW + 1) == ["b"]
    assert emptied(tables.open(), NOW + 1) == ["a"]


def test_a_clock_that_is_a_little_slow_takes_no_lease(tables: InTables) -> None:
    tables.open().keep(messages("a"), NOW)
    assert bodies(tables.open().take(1, NOW)) == ["a"]
    assert tables.open().take(1, NOW - 0.05) == []
    assert tables.open().take(1, NOW - TAKEN_S) == []
    assert bodies(tables.open().take(1, NOW - TAKEN_S - 0.05)) == ["a"]


def test_a_table_is_asked_once_when_nothing_waits(tables: InTables) -> None:
    backlog = tables.open()
    assert backlog.exists()
    assert backlog.take(10, NOW) == []
    assert not backlog.exists()
    backlog.keep(messages("a"), NOW)
    assert backlog.exists()


def test_a_lost_answer_raises_and_leaves_what_was_written_to_the_next_sender(tables: InTables) -> None:
    with losing_answers(tables.client, "TransactWriteItems", send=False), pytest.raises(Unavailable, match=r"dynamodb\.TransactWriteItems"):
        tables.open().keep(messages("a"), NOW)
    assert emptied(tables.open(), NOW + 1) == ["a"]


def test_a_table_that_does_not_exist_is_named(tables: InTables) -> None:
    missing = DynamoBacklog(tables.client, "no-such-table", "shop")
    with pytest.raises(ConfigurationError, match=r"dynamodb\.TransactWriteItems"):
        missing.keep(messages("a"), NOW)
    with pytest.raises(ConfigurationError, match=r"dynamodb\.Query"):
        missing.take(1, NOW)


FOREIGN = [
    {"q": {"S": QUEUE}}, {"q": {"S": QUEUE}, "body": {"S": "x"}, "delay": {"N": "1.5"}, "due": {"N": "1"}},
    {"q": {"S": QUEUE}, "body": {"S": "x"}, "delay": {"S": "1"}, "due": {"N": "1"}},
    {"q": {"S": QUEUE}, "body": {"S": "x"}, "delay": {"N": "1"}, "due": {"N": "1"}, "tenant": {"N": "1"}},
]  # fmt: skip


@pytest.mark.parametrize(("foreign", "sk"), [*((one, "m#00000#0") for one in FOREIGN), (FOREIGN[0], "m#x"), (FOREIGN[1], "m##0#0")])
def test_what_is_not_a_message_of_this_version_stays_and_is_logged_once(
    tables: InTables, foreign: Any, sk: str, caplog: pytest.LogCaptureFixture
) -> None:
    tables.client.put_item(TableName=tables.table, Item={"pk": {"S": "shop"}, "sk": {"S": sk}, **foreign})
    backlog = tables.open()
    backlog.keep(messages("a", "b"), NOW)
    assert emptied(backlog, NOW) == ["a", "b"]
    assert (backlog.take(2, NOW), backlog.exists()) == ([], True)
    (left,) = tables.client.scan(TableName=tables.table)["Items"]
    assert {name: value for name, value in left.items() if name not in ("pk", "sk")} == foreign
    lines = [line.message for line in caplog.records if line.name == "sedano"]
    assert lines == [f"items of the backlog are not messages of this version table={tables.table} sk={sk}"]


def test_what_is_not_a_message_holds_up_no_message(tables: InTables) -> None:
    for number in range(2):
        tables.client.put_item(TableName=tables.table, Item={"pk": {"S": "shop"}, "sk": {"S": f"m#00000#{number}"}, **FOREIGN[0]})
    tables.open().keep(messages("a", "b", "c"), NOW)
    assert tables.open().take(2, NOW) == []
    assert bodies(tables.open().take(2, NOW)) == ["a", "b"]


class Partly:
    """A client whose second transaction fails, and which deletes nothing of a batch in so many calls."""

    def __init__(self, inner: Any, transactions: int = 0, undeleted: int = 0) -> None:
        self.inner, self.transactions, self.undeleted = inner, transactions, undeleted

    def __getattr__(self, operation: str) -> Any:
        """The operation of the client."""
        return getattr(self.inner, operation)

    def transact_write_items(self, **parameters: Any) -> Any:
        """Fail after so many."""
        self.transactions -= 1
        if self.transactions < 0:
            return self.inner.transact_write_items(**{**parameters, "TransactItems": [{"Delete": {"TableName": "none", "Key": {}}}]})
        return self.inner.transact_write_items(**parameters)

    def batch_write_item(self, **parameters: Any) -> Any:
        """Delete nothing, so many times."""
        self.undeleted -= 1
        return {"UnprocessedItems": parameters["RequestItems"]} if self.undeleted >= 0 else self.inner.batch_write_item(**parameters)


def test_of_a_batch_whose_second_transaction_fails_nothing_is_kept(tables: InTables) -> None:
    with pytest.raises(ConfigurationError):
        tables.open(client=Partly(tables.client, transactions=1)).keep(messages(*map(str, range(150))), NOW)
    assert tables.open().take(100, NOW + 1) == []


def test_what_dynamodb_leaves_is_deleted_again_a_few_times(tables: InTables) -> None:
    backlog = tables.open(client=Partly(tables.client, transactions=9, undeleted=ROUNDS - 1))
    backlog.keep(messages("a", "b"), NOW)
    taken: list[Stored] = [*backlog.take(2, NOW)]
    backlog.done(taken)
    assert tables.open().take(2, NOW) == []
    tables.open().keep(messages("c"), NOW)
    never = tables.open(client=Partly(tables.client, undeleted=ROUNDS))
    with pytest.raises(Unavailable, match="did not delete all items; their messages are sent again"):
        never.done(never.take(1, NOW + 2 * TAKEN_S))


def test_the_client_of_a_table_waits_for_a_bounded_time() -> None:
    client = client_for(Session(aws_session), "eu-west-1")
    config = client.meta.config
    assert (client.meta.region_name, config.connect_timeout, config.read_timeout) == ("eu-west-1", 1.0, 2.0)
    assert config.retries["total_max_attempts"] == 2


def aws_session() -> Any:
    """A session with credentials."""
    made = botocore.session.Session()
    made.set_credentials("test", "test")
    return made
