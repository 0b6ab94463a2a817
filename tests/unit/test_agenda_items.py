"""Agendas in DynamoDB: states beside their definitions, also if another program writes between two reads; and a stage
of the version that kept both in one text."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import boto3
import pytest
from moto import mock_aws

from benchmarks.write_units import Meter
from sedano import memory
from sedano.aws.client import keys
from sedano.aws.schedules import AGAIN_S, CONFLICT_S, DynamoSchedules
from sedano.engine.schedules.scheduler import Scheduler, SchedulerRound
from sedano.errors import MessageRefused, Unavailable
from sedano.memory import START
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.schedules.agenda import AGENDAS, HOLD_S, Agenda, AgendaChanged, Periodic, ScheduledCall, agenda_of, declaration
from sedano.model.schedules.schedule import Schedule, State, occurrence
from sedano.model.schedules.timetable import Every
from sedano.ports import Ports
from tests.simulation.dynamodb import CANCELLED, error
from tests.simulation.older_schedules import OlderSchedules
from tests.unit.engine.gated import QUEUE, advance

NOW = int(START)
TABLE = "control"
CALL = ScheduledCall("report", "default")
DAILY = Periodic(Schedule("daily", Every(30)), CALL, State(NOW))
OTHER = Periodic(Schedule("another", Every(600)), CALL, State(NOW, missed=3))
FIRST = Agenda(3, {"daily": DAILY}, "n1")
BOTH = Agenda(3, {"another": OTHER, "daily": DAILY}, "n2")
EMPTY = Agenda(3)
DECLARED = {"daily": declaration(DAILY.schedule, CALL)}
NUMBER = agenda_of("daily")


@pytest.fixture
def client(moto_session: boto3.Session) -> Iterator[Any]:
    """A DynamoDB client, and an empty control table."""
    with mock_aws():
        found = moto_session.client("dynamodb")
        found.create_table(
            TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        )  # fmt: skip
        yield found


class Between:
    """A client that lets something happen before its next reads, once each."""

    def __init__(self, inner: Any, *happen: Callable[[], object]) -> None:
        """Stand before *inner*."""
        self.inner, self.happen = inner, [*happen]

    def __getattr__(self, name: str) -> Any:
        if name in ("get_item", "batch_get_item") and self.happen:
            self.happen.pop(0)()
        return getattr(self.inner, name)


def item(client: Any, key: str) -> dict[str, Any]:
    """The item at *key*."""
    found: dict[str, Any] = client.get_item(TableName=TABLE, Key={"pk": {"S": key}}).get("Item", {})
    return found


def test_states_alone_leave_the_definitions_alone(client: Any) -> None:
    meter = Meter(client)
    store = DynamoSchedules(meter, TABLE)
    assert store.change(BOTH, EMPTY).done
    before, meter.units = item(client, keys.definitions(3)), 0
    moved = BOTH._replace(periodics={**BOTH.periodics, "daily": DAILY._replace(state=State(NOW + 90))}, nonce="n3", held=7)
    assert store.change(moved, BOTH) == AgendaChanged(True, moved)
    assert (meter.units, item(client, keys.definitions(3))) == (1, before)
    assert item(client, keys.agenda(3))["dg"] == before["dg"]
    assert DynamoSchedules(client, TABLE).read()[3] == moved


def test_a_store_that_knows_the_definitions_reads_them_once(client: Any) -> None:
    assert DynamoSchedules(client, TABLE).change(BOTH, EMPTY).done
    meter = Meter(client)
    store = DynamoSchedules(meter, TABLE)
    asked = []
    for _ in range(3):
        meter.read_units = 0
        assert store.read()[3] == BOTH
        asked.append(meter.read_units)
    assert asked == [AGENDAS + 1, AGENDAS, AGENDAS]
    other = DynamoSchedules(client, TABLE)
    other.read()
    assert other.change(FIRST._replace(nonce="n3"), BOTH).done
    assert store.read()[3] == FIRST._replace(nonce="n3")


@pytest.mark.parametrize("times", [1, 2, len(AGAIN_S)])
def test_what_is_written_between_two_reads_is_read_again(client: Any, times: int) -> None:
    other, written = DynamoSchedules(client, TABLE), [BOTH]
    assert other.change(BOTH, EMPTY).done

    def written_by_another() -> None:
        new = (FIRST if len(written) % 2 else BOTH)._replace(nonce=f"m{len(written)}")
        assert other.change(new, written[-1]).done
        written.append(new)

    assert DynamoSchedules(Between(client, lambda: None, *[written_by_another] * times), TABLE).read()[3] == written[-1]
    assert len(written) == times + 1


def test_an_agenda_that_others_change_during_each_read_is_unavailable_and_the_others_are_read(client: Any) -> None:
    other, written = DynamoSchedules(client, TABLE), [BOTH]
    assert other.change(BOTH, EMPTY).done
    assert other.change(FIRST._replace(number=4), Agenda(4)).done

    def written_by_another() -> None:
        new = (FIRST if len(written) % 2 else BOTH)._replace(nonce=f"m{len(written)}")
        assert other.change(new, written[-1]).done
        written.append(new)

    reads = 2 * (len(AGAIN_S) + 1)
    store = DynamoSchedules(Between(client, lambda: None, *[written_by_another] * (reads - 1)), TABLE, sleep=lambda _: None)
    found = store.read()
    assert isinstance(found[3], Unavailable)
    assert str(found[3]) == f"agenda 3: others changed it during each of {len(AGAIN_S) + 1} attempts to read it"
    assert found[4] == FIRST._replace(number=4)
    assert store.read()[3] == written[-1]


def test_the_refusal_of_an_agenda_is_not_kept_and_its_repair_is_seen(client: Any) -> None:
    store = DynamoSchedules(client, TABLE)
    assert store.change(BOTH, EMPTY).done
    good = item(client, keys.definitions(3))
    client.put_item(TableName=TABLE, Item={**good, "body": {"S": "!"}})
    fresh = DynamoSchedules(client, TABLE)
    first, second = fresh.read()[3], fresh.read()[3]
    assert isinstance(first, MessageRefused)
    assert isinstance(second, MessageRefused)
    assert first is not second, "a raised one has a traceback, which grows"
    client.put_item(TableName=TABLE, Item=good)
    assert fresh.read()[3] == BOTH


def test_states_without_their_definitions_are_refused_and_the_others_are_read(client: Any) -> None:
    store = DynamoSchedules(client, TABLE)
    assert store.change(BOTH, EMPTY).done
    assert store.change(FIRST._replace(number=4), Agenda(4)).done
    client.delete_item(TableName=TABLE, Key={"pk": {"S": keys.definitions(3)}})
    fresh = DynamoSchedules(client, TABLE)
    found = fresh.read()
    assert isinstance(found[3], MessageRefused)
    assert str(found[3]) == "schema: agenda 3: its definitions are missing"
    assert found[4] == FIRST._replace(number=4)
    with pytest.raises(MessageRefused, match="its definitions are missing"):
        fresh.change(FIRST._replace(nonce="n4"), FIRST._replace(nonce="n3"))


@pytest.mark.parametrize("attribute", ["body of the states", "body of the definitions"])
def test_an_agenda_that_is_damaged_is_refused(client: Any, attribute: str) -> None:
    assert DynamoSchedules(client, TABLE).change(BOTH, EMPTY).done
    key = keys.agenda(3) if "states" in attribute else keys.definitions(3)
    values = {":body": {"S": "!"}}
    client.update_item(TableName=TABLE, Key={"pk": {"S": key}}, UpdateExpression="SET body = :body", ExpressionAttributeValues=values)
    assert isinstance(DynamoSchedules(client, TABLE).read()[3], MessageRefused)


def test_states_are_not_written_beside_definitions_that_their_writer_does_not_know(client: Any) -> None:
    mine, other = DynamoSchedules(client, TABLE), DynamoSchedules(client, TABLE)
    assert mine.change(FIRST, EMPTY).done
    assert other.change(BOTH, FIRST).done
    back = FIRST._replace(nonce="n3")
    assert mine.change(back, BOTH) == AgendaChanged(False, BOTH), "it still knew the definitions of the first agenda"
    assert mine.change(back, BOTH) == AgendaChanged(True, back)
    assert DynamoSchedules(client, TABLE).read()[3] == back


def test_a_transaction_whose_answer_was_lost_is_recognised_as_ones_own(client: Any) -> None:
    assert DynamoSchedules(client, TABLE).change(FIRST, EMPTY).done
    for agenda, seen in ((FIRST, EMPTY), (BOTH, FIRST), (BOTH, FIRST)):
        assert DynamoSchedules(client, TABLE).change(agenda, seen) == AgendaChanged(True, agenda)


def test_a_table_that_is_away_is_unavailable(client: Any) -> None:
    class Busy:
        def transact_write_items(self, **asked: Any) -> Any:
            raise client.exceptions.TransactionCanceledException(
                {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": [{"Code": "ThrottlingError"}]}, "x"
            )

    with pytest.raises(Unavailable, match=r"dynamodb\.TransactWriteItems"):
        DynamoSchedules(Busy(), TABLE).change(FIRST, EMPTY)


@pytest.fixture
def ports(client: Any) -> Ports:
    """The ports of a scheduler of this version over that table."""
    return replace(memory.ports(), schedules=DynamoSchedules(client, TABLE))


def older(ports: Ports, client: Any) -> Scheduler:
    """A scheduler of the version before."""
    return scheduler(replace(ports, schedules=OlderSchedules(client, TABLE)))


def scheduler(ports: Ports) -> Scheduler:
    """A scheduler over *ports*."""
    return Scheduler(ports, LamportClock(lambda: 1), "me")


def sent(ports: Ports) -> list[str]:
    """The ids of the tasks that were sent."""
    queues: Any = ports.queues
    return [codec.decode(one.body).task_id for one in queues.peek(QUEUE)]  # type: ignore[union-attr]


def ids(*seconds: int) -> list[str]:
    """The ids of the occurrences so many seconds after the beginning."""
    return [occurrence(DAILY.schedule, NOW + one).task_id for one in seconds]


def test_a_stage_goes_on_where_the_version_before_has_stopped(client: Any, ports: Ports) -> None:
    assert older(ports, client).round(DECLARED).published == 3
    assert scheduler(ports).round(DECLARED) == SchedulerRound()
    assert "dg" not in item(client, keys.agenda(NUMBER)), "what is not due is not written"
    advance(ports, 30.0)
    assert scheduler(ports).round(DECLARED).published == 1
    assert "dg" in item(client, keys.agenda(NUMBER))
    advance(ports, 30.0)
    assert older(ports, client).round(DECLARED) == SchedulerRound(failed=1)
    assert scheduler(ports).round(DECLARED).published == 1
    assert sent(ports) == ids(30, 60, 90, 120, 150)


def test_what_a_scheduler_of_the_version_before_has_claimed_is_left_to_it_and_then_taken_over(client: Any, ports: Ports) -> None:
    pending = DECLARED["daily"]._replace(state=State(NOW + 90, (NOW + 30, NOW + 60, NOW + 90)))
    agenda = Agenda(NUMBER, {"daily": pending}, "died", NOW + HOLD_S)
    assert OlderSchedules(client, TABLE).change(agenda, Agenda(NUMBER)).done
    assert scheduler(ports).round(DECLARED) == SchedulerRound()
    advance(ports, float(HOLD_S))
    assert scheduler(ports).round(DECLARED).published == 3
    assert sent(ports) == ids(30, 60, 90)
    crossed = agenda._replace(periodics={"daily": pending._replace(state=State(NOW + 90))}, nonce="late", held=0)
    with pytest.raises(MessageRefused):  # the late write of the older one is refused, and it cannot read why
        OlderSchedules(client, TABLE).change(crossed, agenda)
    assert scheduler(ports).round(DECLARED) == SchedulerRound()


class Transacting:
    """A client whose writes meet a transaction of another in progress, by DynamoDB's rule: so many of them are refused, each after
    something has happened."""

    def __init__(self, inner: Any, conflicts: int = 0, happen: Callable[[], object] = lambda: None) -> None:
        """Stand before *inner*."""
        self.inner, self.conflicts, self.happen = inner, conflicts, happen

    def __getattr__(self, name: str) -> Any:
        if name in ("update_item", "transact_write_items") and self.conflicts:
            self.conflicts -= 1
            self.happen()
            return self.refuse_one if name == "update_item" else self.refuse_all
        return getattr(self.inner, name)

    def refuse_one(self, **_: Any) -> Any:
        raise error("TransactionConflictException", "UpdateItem")

    def refuse_all(self, **_: Any) -> Any:
        reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}]
        raise error(CANCELLED, "TransactWriteItems", CancellationReasons=reasons)


@pytest.mark.parametrize("conflicts", range(len(CONFLICT_S) + 2))
@pytest.mark.parametrize("new", [BOTH._replace(nonce="n3", held=7), FIRST._replace(nonce="n3")], ids=["states", "definitions"])
def test_a_write_that_meets_a_transaction_is_made_again_and_then_counts_as_not_done(client: Any, new: Agenda, conflicts: int) -> None:
    pauses: list[float] = []
    transacting = Transacting(client)
    store = DynamoSchedules(transacting, TABLE, sleep=pauses.append)
    assert store.change(BOTH, EMPTY).done
    transacting.conflicts = conflicts
    done = conflicts <= len(CONFLICT_S)
    assert store.change(new, BOTH) == AgendaChanged(done, new if done else BOTH)
    assert tuple(pauses) == CONFLICT_S[:conflicts]
    assert DynamoSchedules(client, TABLE).read()[3] == (new if done else BOTH)


def test_two_operators_who_edit_an_agenda_at_the_same_time_both_succeed(client: Any) -> None:
    names = [name for name in map(str, range(1_000)) if agenda_of(name) == NUMBER][:2]
    mine, theirs = (Periodic(Schedule(name, Every(86_400, NOW + 86_400)), CALL, State(NOW)) for name in names)
    ports = memory.ports()  # both draw their nonces from it
    other = scheduler(replace(ports, schedules=DynamoSchedules(client, TABLE)))
    transacting = Transacting(client, 10, lambda: other.change(names[1], lambda _: theirs))
    store = DynamoSchedules(transacting, TABLE, sleep=lambda _: None)
    assert scheduler(replace(ports, schedules=store)).change(names[0], lambda _: mine) == mine
    assert set(other.read()) == set(names)


@pytest.mark.parametrize("conflicts", [1, len(CONFLICT_S) + 1])
def test_a_round_that_meets_an_operators_transaction_after_it_has_sent_is_no_failure(client: Any, conflicts: int) -> None:
    transacting = Transacting(client)
    ports = replace(memory.ports(), schedules=DynamoSchedules(transacting, TABLE, sleep=lambda _: None))
    scheduler(ports).change("daily", lambda _: DECLARED["daily"]._replace(state=State(NOW + 90)))
    advance(ports, 60.0)
    sending = ports.queues

    class Sends:
        """The queues, after whose sending an operator's transaction begins."""

        def __getattr__(self, name: str) -> Any:
            transacting.conflicts = conflicts
            return getattr(sending, name)

    queues: Any = Sends()
    assert scheduler(replace(ports, queues=queues)).round(DECLARED) == SchedulerRound(published=2)
    assert transacting.conflicts == 0


def operator(ports: Ports, client: Any) -> Scheduler:
    """A process of this version that is not the scheduler of its stage, such as the command on a laptop."""
    return scheduler(replace(ports, schedules=DynamoSchedules(client, TABLE, converts=False)))


def rest(found: Periodic | None, *, paused: bool) -> Periodic:
    """Pause or resume."""
    assert found is not None
    return found._replace(schedule=found.schedule._replace(paused=paused))


def test_an_older_scheduler_still_reads_what_a_newer_program_has_changed(client: Any, ports: Ports) -> None:
    assert older(ports, client).round(DECLARED).published == 3
    for paused in (True, False):
        operator(ports, client).change("daily", partial(rest, paused=paused))
    assert "dg" not in item(client, keys.agenda(NUMBER))
    advance(ports, 30.0)
    assert older(ports, client).round(DECLARED) == SchedulerRound(published=1)
    advance(ports, 30.0)
    assert scheduler(ports).round(DECLARED) == SchedulerRound(published=1)
    assert "dg" in item(client, keys.agenda(NUMBER)), "the stage's own scheduler converts it"
    operator(ports, client).change("daily", partial(rest, paused=True))
    assert "dg" in item(client, keys.agenda(NUMBER))
    assert scheduler(ports).read()["daily"].schedule.paused


def test_the_first_schedule_of_an_agenda_is_added_by_a_newer_program_so_that_an_older_scheduler_reads_it(client: Any, ports: Ports) -> None:
    name = next(name for name in map(str, range(1_000)) if agenda_of(name) == 3)
    mine = operator(ports, client)
    for number in (1, 2):
        added = Periodic(Schedule(name, Every(86_400 * number, NOW + 86_400)), CALL, State(NOW))
        assert mine.change(name, lambda _, added=added: added) == added  # type: ignore[misc] # its default is what it keeps
        assert older(ports, client).read() == operator(ports, client).read() == scheduler(ports).read() == {name: added}


@pytest.mark.parametrize("form", ["one text", "two items"])
def test_a_program_that_has_not_read_an_agenda_finds_out_in_which_form_it_is(client: Any, form: str) -> None:
    store = OlderSchedules(client, TABLE) if form == "one text" else DynamoSchedules(client, TABLE)
    assert store.change(FIRST, EMPTY).done
    assert DynamoSchedules(client, TABLE, converts=False).change(BOTH, FIRST) == AgendaChanged(True, BOTH)
    assert ("dg" in item(client, keys.agenda(3))) == (form == "two items")
    assert DynamoSchedules(client, TABLE).read()[3] == BOTH
    assert DynamoSchedules(client, TABLE, converts=False).change(BOTH, FIRST) == AgendaChanged(True, BOTH), "its own write"
    late = FIRST._replace(nonce="n3")
    assert DynamoSchedules(client, TABLE, converts=False).change(late, FIRST) == AgendaChanged(False, BOTH)


def test_a_program_that_meets_the_conversion_of_an_agenda_goes_on_with_its_new_form(client: Any) -> None:
    assert OlderSchedules(client, TABLE).change(FIRST, EMPTY).done
    mine = DynamoSchedules(client, TABLE, converts=False)
    assert mine.read()[3] == FIRST
    assert DynamoSchedules(client, TABLE).change(BOTH, FIRST).done
    late = FIRST._replace(nonce="n3")
    assert mine.change(late, FIRST) == AgendaChanged(False, BOTH)
    assert mine.change(late, BOTH) == AgendaChanged(True, late)
    assert "dg" in item(client, keys.agenda(3))


def test_a_process_that_stays_converts_again_what_an_older_version_began_anew_after_a_rollback(client: Any, ports: Ports) -> None:
    stays = scheduler(ports)
    assert stays.round(DECLARED).published == 3
    client.delete_item(TableName=TABLE, Key={"pk": {"S": keys.agenda(NUMBER)}})
    advance(ports, 60.0)
    assert older(ports, client).round(DECLARED).published == 3
    for _ in range(2):
        advance(ports, 30.0)
        assert stays.round(DECLARED) == SchedulerRound(published=1)


def test_an_empty_agenda_of_this_version_is_read_by_none_of_the_version_before(client: Any, ports: Ports) -> None:
    scheduler(ports).round(DECLARED)
    scheduler(ports).round({})
    assert item(client, keys.agenda(NUMBER))["body"]["S"] == "0"
    assert older(ports, client).round(DECLARED) == SchedulerRound(failed=1)
    assert scheduler(ports).read() == {}
