"""The parked queue for people, alone: how it is read, where each message would go, and what is left of it after it was sent again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.parked import redrive
from sedano.engine.parked.parking import SEAL, proof
from sedano.engine.parked.redrive import Going, Parked
from sedano.engine.registry import Registry
from sedano.engine.reruns import rerun_of
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, Unavailable, UnknownQueue
from sedano.memory import START
from sedano.model import refusals, states
from sedano.model.ledger.records import Outcome, Posted
from sedano.model.messages import codec
from sedano.model.messages.lineage import rerun_id
from sedano.model.messages.message import Command, Document, Event
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import COLLECT, TaskSpec
from sedano.model.timers import Timer, sealed
from sedano.ports import EVENTS, PARKED, Delivery, Outgoing, Ports, command_queue
from tests.unit.engine.gated import asked, world
from tests.unit.engine.test_pacing import without_keys

QUEUE = command_queue("default")
COMMAND = Command("m-1", "t-1", "shop.sell", "host", START, 1, args=("tea",), tenant="acme")
BODY = codec.encode(COMMAND)


class Slow(memory.MemoryQueues):
    """Queues that answer *polls* in turn: with nothing where the poll is empty; then always with nothing."""

    def __init__(self, clock: Any, polls: Sequence[int]) -> None:
        """Note the numbers that are asked for."""
        super().__init__(clock, memory.queue_keys(("default",)))
        self.polls, self.most = [*polls], list[int]()

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Answer the next poll."""
        self.most.append(most)
        number = self.polls.pop(0) if self.polls else 0
        return super().receive(queue, min(most, number)) if number else []


def slow(*polls: int) -> tuple[Ports, Slow]:
    """Ports over such queues."""
    ports = memory.ports()
    queues = Slow(ports.clock, polls)
    return replace(ports, queues=queues), queues


def park(ports: Ports, body: str = BODY, is_marked: bool = True, **attributes: str) -> None:
    """Put a message into the parked queue, with the mark of this stage as its functions do, or without."""
    said = {"reason": "malformed", "queue": QUEUE, "message_id": "m-1", **attributes}
    said = {name: text for name, text in said.items() if text}
    mark = {SEAL: ports.seals.mark(PARKED, *proof(body, said))} if is_marked else {}
    ports.queues.send(PARKED, [Outgoing(body, attributes={**said, **mark})])


def one_of(ports: Ports) -> Parked:
    """The one message that is parked."""
    (one,) = redrive.parked(ports, lambda _: True)
    return one


def going(ports: Ports, **options: Any) -> Going:
    """Where the one message that is parked would go."""
    (found,) = redrive.planned(ports, [one_of(ports)], **options)
    return found


@pytest.mark.parametrize(
    ("polls", "number", "asked_for"),
    [([], 0, 3), ([0, 0, 1], 1, 6), ([0, 0, 0, 1], 0, 3), ([1, 0, 0, 1, 0, 0, 0, 1], 2, 7)],
)  # fmt: skip
def test_a_queue_counts_as_read_after_three_empty_answers_in_a_row(polls: list[int], number: int, asked_for: int) -> None:
    ports, queues = slow(*polls)
    for name in range(3):
        park(ports, message_id=f"m-{name}")
    assert [one.message_id for one in redrive.parked(ports, lambda _: True)] == [f"m-{name}" for name in range(number)]
    assert queues.most == [10] * asked_for


@pytest.mark.parametrize(("most", "polled"), [(1, [1]), (10, [10]), (11, [10, 1]), (25, [10, 10, 5])])
def test_no_more_are_received_than_are_asked_for_wanted_or_not(most: int, polled: list[int]) -> None:
    ports, queues = slow(*[10] * 9)
    for number in range(30):
        park(ports, message_id=f"m-{number}", field="odd" if number % 2 else "even")
    found = redrive.parked(ports, lambda one: one.field == "odd", most)
    assert queues.most == polled
    assert {one.message_id for one in found} == {f"m-{number}" for number in range(1, most, 2)}


def test_by_default_a_thousand_are_read_and_a_blob_is_one_of_16_mebibytes_at_most() -> None:
    assert (redrive.MOST, redrive.EMPTY_POLLS, redrive.MOST_BLOB_BYTES) == (1_000, 3, 16_777_216)


def test_what_is_not_wanted_is_visible_at_once_and_what_is_wanted_when_it_is_given_back() -> None:
    ports = world()
    for name in ("wanted", "other"):
        park(ports, message_id=name)
    found = redrive.parked(ports, lambda one: one.message_id == "wanted")
    assert [one.attributes["message_id"] for one in ports.queues.receive(PARKED)] == ["other"]
    redrive.give_back(ports, found)
    assert [one.attributes["message_id"] for one in ports.queues.receive(PARKED)] == ["wanted"]
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [0.0, 0.0]


def test_those_that_were_parked_first_come_first() -> None:
    ports = memory.ports()
    clock: Any = ports.clock
    for name in ("first", "second"):
        park(ports, message_id=name)
        clock.advance(1.0)
    found = redrive.parked(ports, lambda _: True)
    assert [(one.message_id, one.at) for one in found] == [("first", START), ("second", START + 1.0)]


@pytest.mark.parametrize(
    ("body", "name", "task_id"),
    [(BODY, "shop.sell", "t-1"), (codec.encode(Event("e-1", "Sold", "host", START)), "Sold", "e-1"), ("{", "", "")],
)
def test_a_parked_message_shows_its_task_as_far_as_it_can_be_read(body: str, name: str, task_id: str) -> None:
    ports = memory.ports()
    park(ports, body, field="f", detail="d")
    one = one_of(ports)
    assert one[1:] == ("malformed", "f", "d", QUEUE, "m-1", START, name, task_id)
    assert [one.is_named(given) for given in (task_id, "m-1", one.delivery.message_id, "x")] == [True, True, True, False]


def test_a_message_without_attributes_is_parked_for_an_unknown_reason() -> None:
    ports = memory.ports()
    ports.queues.send(PARKED, [Outgoing("{")])
    one = one_of(ports)
    assert one[1:] == ("unknown", "-", "-", "-", one.delivery.message_id, START, "", "")


@pytest.mark.parametrize("queue", ["", "-", PARKED])
def test_a_message_that_does_not_name_its_queue_stays(queue: str) -> None:
    ports = memory.ports()
    park(ports, queue=queue)
    found = going(ports)
    assert (found.queue, found.rerun, type(found.error)) == ("", None, UnknownQueue)
    assert str(found.error) == "it does not name its queue; send its body there by hand (`sedano parked show`)"


def failure(message_id: str = "m-1") -> Outcome:
    """The end of the task of the command."""
    return Outcome(
        task_id="t-1", state=states.FAILURE, nonce="n", fence=0, message_id=message_id, attempt=0, clock=1, name="shop.sell", at=1.0,
        call=Posted(QUEUE, BODY),
    )  # fmt: skip


TIMED = sealed(Timer("t-1", START + 900, QUEUE, BODY, "acme"))
EVENT = codec.encode(Event("m-1", "Sold", "host", START))


@pytest.mark.parametrize(
    ("body", "attributes", "ended_by", "is_rerun"),
    [
        (BODY, {}, "m-1", True), (BODY, {}, "m-2", False), (BODY, {}, "", False), (TIMED, {}, "m-1", True),
        (BODY, {"reason": refusals.UNEXPECTED}, "m-1", False), (BODY, {"reason": refusals.TAKEN}, "m-1", False),
        (BODY, {"queue": EVENTS}, "m-1", False), (EVENT, {}, "m-1", False), ("{", {}, "m-1", False),
        (codec.encode(COMMAND._replace(task=COLLECT)), {}, "m-1", False),
    ],
)  # fmt: skip
def test_a_message_that_ended_its_task_runs_it_again_as_a_new_one(
    body: str, attributes: dict[str, str], ended_by: str, is_rerun: bool
) -> None:
    ports = memory.ports()
    if ended_by:
        ports.ledger.keep([failure(ended_by)])
    park(ports, body, serial_key="k", **attributes)
    found = going(ports)
    assert found[1:3] == (attributes.get("queue", QUEUE), None)
    assert found.rerun == (rerun_of(COMMAND, QUEUE, "k", ports.most_budget) if is_rerun else None)
    assert found.task_id == (rerun_id("t-1") if is_rerun else found.one.task_id)


def test_a_message_that_stays_is_not_looked_up() -> None:
    ports = world(0.25, "ledger")
    ports.ledger.keep([failure()])
    park(ports, queue="-")
    assert going(ports).rerun is None
    assert asked(ports.ledger, "read") == []


def registry() -> Registry:
    """The tasks of an app: one."""
    found = Registry(documents={"known": ["shop.sell"]}, subscriptions={"Known": ["shop.sell"]})
    found.tasks["shop.sell"] = TaskSpec("shop.sell", print, Parameters(lambda *_, **__: None), queue="bulk")
    return found


DOCUMENT = Document("d-1", "t-1", "known", "host", START, value=1)
LOST = "this app has no task or event of its name, and so no queue to send it to"


@pytest.mark.parametrize(
    ("body", "known", "queue", "error"),
    [
        (BODY, registry(), command_queue("bulk"), None), (TIMED, registry(), command_queue("bulk"), None),
        (BODY, None, "", LOST), (codec.encode(COMMAND._replace(task="other")), registry(), "", LOST), (EVENT, registry(), "", LOST),
        (EVENT.replace("Sold", "Known"), registry(), EVENTS, None), (codec.encode(DOCUMENT), registry(), EVENTS, None),
        (codec.encode(DOCUMENT._replace(task="other")), registry(), "", LOST),
        ("[]", registry(), "", "schema: body: a message is a JSON object"),
    ],
)  # fmt: skip
def test_a_foreign_message_goes_to_the_queue_of_its_task(body: str, known: Registry | None, queue: str, error: str | None) -> None:
    ports = memory.ports()
    park(ports, body, is_marked=False)
    found = going(ports, registry=known, foreign=True)
    assert (found.queue, str(found.error) if found.error else None) == (queue, error)


NO_MARK = "it has no valid mark of a function of this stage"
NO_KEYS = "the stage's keys cannot be read (ssm:GetParameter on /sedano/STAGE/keys), so its mark cannot be verified"


@pytest.mark.parametrize(("has_keys", "why"), [(True, NO_MARK), (False, NO_KEYS)])
def test_a_foreign_message_stays_unless_it_is_asked_for(has_keys: bool, why: str) -> None:
    ports = memory.ports() if has_keys else without_keys(memory.ports())
    ports.queues.send(PARKED, [Outgoing(BODY, attributes={"queue": QUEUE, SEAL: "forged"})])
    found = going(ports, registry=registry())
    named = found.one.delivery.message_id
    then = f"look at it with `sedano parked show {named}`, then `sedano parked redrive --foreign {named}` sends it to its task's queue"
    assert (found.queue, type(found.error), str(found.error)) == ("", ConfigurationError, f"{why}; {then}")


@pytest.mark.parametrize("queue", ["webhook:door", "stream:orders"])
def test_a_foreign_request_or_record_is_not_processed_again(queue: str) -> None:
    ports = memory.ports()
    park(ports, queue=queue, is_marked=False)
    found = going(ports, registry=registry(), foreign=True)
    said = "it has no proof that it was accepted, so it is not processed again; ask its sender to deliver it again"
    assert (found.queue, type(found.error), str(found.error)) == ("", ConfigurationError, said)


@pytest.mark.parametrize(
    "blob", ["x", "0" * 64, "0" * 64 + " 01", "0" * 64 + f" {redrive.MOST_BLOB_BYTES + 1}", "0" * 63 + " 1", "0" * 64 + " 1234567890"]
)
def test_what_is_no_claim_check_is_refused_with_its_text(blob: str) -> None:
    ports = memory.ports()
    park(ports, blob=blob)
    with pytest.raises(MessageRefused) as refused:
        redrive.whole_body(ports, one_of(ports))
    assert (refused.value.code, refused.value.field) == (refusals.BLOB, "blob")
    assert refused.value.detail == f"{blob[:80]!r} is not the claim check of a parked message"


def test_a_blob_may_be_as_long_as_the_longest_message_that_is_parked() -> None:
    ports = memory.ports()
    park(ports, blob="0" * 64 + f" {16 * 1_048_576}")
    with pytest.raises(MessageRefused) as refused:
        redrive.whole_body(ports, one_of(ports))
    assert "is not the claim check" not in refused.value.detail


@pytest.mark.parametrize(("data", "text"), [(b"long", "long"), (b"\xed\xa0\x80", "\ud800"), (b"\xff", None)])
def test_a_long_message_is_read_from_the_blob_store(data: bytes, text: str | None) -> None:
    ports = memory.ports()
    ref = ports.blobs.put(data)
    park(ports, blob=f"{ref.digest} {ref.size}")
    if text is not None:
        assert redrive.whole_body(ports, one_of(ports)) == text
        return
    with pytest.raises(MessageRefused) as refused:
        redrive.whole_body(ports, one_of(ports))
    assert (refused.value.code, refused.value.field, refused.value.detail) == (refusals.BLOB, "blob", "its bytes are not UTF-8")


def test_what_was_sent_again_is_deleted_and_what_was_refused_stays_and_is_visible_at_once() -> None:
    ports = world()
    for number, queue in enumerate((QUEUE, command_queue("gone"), QUEUE)):
        park(ports, message_id=f"m-{number}", queue=queue)
    found = redrive.planned(ports, redrive.parked(ports, lambda _: True))
    answers = redrive.redrive(ports, found)
    assert [type(answer) for answer in answers] == [type(None), UnknownQueue, type(None)]
    assert [one.attributes["message_id"] for one in ports.queues.receive(PARKED)] == ["m-1"]
    ids = [one.one.delivery.message_id for one in found]
    assert asked(ports.queues, "hold") == [(found[1].one.delivery, 0.0)]
    assert ports.queues.peek(QUEUE) == [Outgoing(BODY, tenant="acme", once=ids[0]), Outgoing(BODY, tenant="acme", once=ids[2])]


def test_where_nothing_was_sent_again_nothing_is_deleted() -> None:
    ports = world()
    park(ports, queue="-")
    (answer,) = redrive.redrive(ports, [going(ports)])
    assert isinstance(answer, UnknownQueue)
    assert asked(ports.queues, "delete") == []


@pytest.mark.parametrize(("reason", "sent"), [("malformed", [rerun_id("t-1")]), (refusals.EXECUTIONS, [rerun_id("t-1"), "t-1"])])
def test_a_rerun_is_published_and_the_message_too_where_its_end_was_not_recorded_by_it(reason: str, sent: list[str]) -> None:
    ports = memory.ports()
    ports.ledger.keep([failure()])
    park(ports, reason=reason)
    assert redrive.redrive(ports, [going(ports)]) == [None]
    commands = [codec.decode(one.body) for one in ports.queues.peek(QUEUE)]
    assert [one.task_id for one in commands if isinstance(one, Command)] == sent
    assert ports.queues.depth(PARKED) == 0


class Refusing(memory.MemoryQueues):
    """Queues that refuse some sends to a command queue, by their numbers."""

    def __init__(self, clock: Any, *refused: int) -> None:
        """Count from the first."""
        super().__init__(clock, memory.queue_keys(("default",)))
        self.refused, self.sends = refused, 0

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse, or send."""
        self.sends += queue == QUEUE
        refuses = queue == QUEUE and self.sends in self.refused
        return [Unavailable("away")] * len(messages) if refuses else super().send(queue, messages)


@pytest.mark.parametrize(("is_ended", "refused", "depth"), [(False, 1, 0), (True, 1, 0), (True, 2, 1)])
def test_a_message_that_its_queue_refuses_stays_parked(is_ended: bool, refused: int, depth: int) -> None:
    ports = memory.ports()
    queues = Refusing(ports.clock, refused)
    ports = replace(ports, queues=queues)
    if is_ended:
        ports.ledger.keep([failure()])
    park(ports, reason=refusals.EXECUTIONS)
    assert [str(answer) for answer in redrive.redrive(ports, [going(ports)])] == [str(Unavailable("away"))]
    assert (queues.depth(QUEUE), queues.depth(PARKED), queues.sends) == (depth, 1, refused)


class Broken(memory.MemoryQueues):
    """Queues that hold nothing, and of which the command queue raises."""

    error: Exception = Unavailable("away")

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Raise."""
        raise Unavailable("away")

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Raise, unless it is to be parked."""
        if queue != PARKED:
            raise self.error
        return super().send(queue, messages)


@pytest.mark.parametrize(
    ("error", "said"),
    [(Unavailable("away"), str(Unavailable("away"))), (LookupError("secret"), "schema: body: it cannot be sent again: LookupError")],
)
def test_what_raises_stays_and_a_message_that_cannot_be_shown_at_once_is_logged(error: Exception, said: str) -> None:
    ports = memory.ports()
    queues = Broken(ports.clock, memory.queue_keys(("default",)))
    ports, queues.error = replace(ports, queues=queues), error
    park(ports)
    found = going(ports)
    assert [str(answer) for answer in redrive.redrive(ports, [found])] == [said]
    telemetry: Any = ports.telemetry
    (line,) = telemetry.lines
    assert (line.level, line.message) == ("warning", "parked message not visible again at once")
    assert line.fields == {"message_id": found.one.delivery.message_id, "error": str(Unavailable("away"))}


def test_a_request_and_a_record_are_read_again_by_name_where_someone_can() -> None:
    ports, read = memory.ports(), list[tuple[str, str, str]]()
    for queue in ("webhook:door", "stream:orders"):
        park(ports, "body", queue=queue)
    found = redrive.planned(ports, redrive.parked(ports, lambda _: True))
    answers = redrive.redrive(ports, found)
    assert [type(answer) for answer in answers] == [UnknownQueue] * 2
    found = redrive.planned(ports, redrive.parked(ports, lambda _: True))
    answers = redrive.redrive(ports, found, lambda *got: read.append(("webhook", *got)), lambda *got: read.append(("stream", *got)))
    assert (answers, read) == ([None, None], [("webhook", "door", "body"), ("stream", "orders", "body")])
    assert ports.queues.depth(PARKED) == 0
