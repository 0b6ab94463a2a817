"""Drafts become messages: stamped with clock, lineage and a fresh id; what is long travels by claim check."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from sedano import memory
from sedano.engine.drafts import SHORT_BYTES, Addressed, CommandDraft, Composer, _short, weight_of
from sedano.engine.lineage_marks import granted
from sedano.engine.outbox import restored, stored
from sedano.errors import TooLarge, Unserialisable
from sedano.model import states
from sedano.model.ledger import dedup_keys
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import BlobRef, Command, Document, Event
from sedano.model.queues import CLAIM_CHECK_BYTES, SQS
from sedano.ports import EVENTS, Blobs, Outgoing
from tests.unit import generated

STAMPS = {"id", "source", "time", "clock", "lineage"}
"""What a draft's command does not hold yet."""


def composer() -> tuple[Composer, Blobs]:
    """A composer over memory."""
    ports = memory.ports()
    clock = LamportClock(lambda: int(ports.clock.now() * 1_000_000))
    return Composer("shop@host", clock, ports), ports.blobs


def command(draft: CommandDraft, lineage: Lineage | None = None) -> Command:
    """The command that *draft* becomes."""
    compose, _ = composer()
    found = codec.decode(compose.compose(draft, lineage or Lineage()).outgoing.body)
    assert isinstance(found, Command)
    return found


def test_each_stamp_has_a_fresh_id_and_a_later_clock() -> None:
    compose, _ = composer()
    draft = CommandDraft("default", Command("", "t-1", "add", args=(1, 2)))
    first, second = (codec.decode(compose.compose(draft).outgoing.body) for _ in range(2))
    assert first.id != second.id
    assert first.clock < second.clock
    assert isinstance(first, Command)
    assert (first.task_id, first.source, list(first.args)) == ("t-1", "shop@host", [1, 2])


@given(generated.commands())
def test_whatever_a_command_holds_travels_and_only_its_stamps_are_new(asked: Command) -> None:
    sent = command(CommandDraft("default", asked))
    assert {name for name, own in asked._asdict().items() if getattr(sent, name) != own} <= STAMPS


def test_the_lineage_travels() -> None:
    found = command(CommandDraft("default", Command("", "t-1", "add")), Lineage("r-1", "p-1", 3, 50))
    assert found.lineage == Lineage("r-1", "p-1", 3, 50)


def test_queue_delay_and_tenant_are_the_envelopes() -> None:
    compose, _ = composer()
    sent = compose.compose(CommandDraft("bulk", Command("", "t-1", "add", tenant="north"), delay=30))
    assert (sent.queue, sent.outgoing.delay, sent.outgoing.tenant) == ("commands:bulk", 30, "north")


@pytest.mark.parametrize("over", [0, 1])
def test_data_beyond_the_limit_travels_by_claim_check(over: int) -> None:
    compose, blobs = composer()
    frame = len(codec.encode_data(("",), {}))
    text = "x" * (CLAIM_CHECK_BYTES - frame + over)
    found = codec.decode(compose.compose(CommandDraft("default", Command("", "t-1", "add", args=(text,)))).outgoing.body)
    assert isinstance(found, Command)
    assert (found.data_ref is not None) == bool(over)
    args, _ = codec.decode_data(blobs.get(found.data_ref)) if found.data_ref else (found.args, {})
    assert list(args) == [text]


def test_an_event_goes_to_the_event_queue_and_long_ones_by_claim_check() -> None:
    compose, blobs = composer()
    sent = compose.compose(Event("e-1", "shop.Sold", data={"what": "x" * CLAIM_CHECK_BYTES}))
    found = codec.decode(sent.outgoing.body)
    assert isinstance(found, Event)
    assert sent.queue == EVENTS
    assert len(sent.outgoing.body) < 1_000
    assert found.data_ref is not None
    assert codec.decode_event_data(blobs.get(found.data_ref)) == {"what": "x" * CLAIM_CHECK_BYTES}


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", float("inf"), {"a": [1j]}])
def test_what_cannot_travel_is_named(value: Any) -> None:
    with pytest.raises(Unserialisable, match=r"data\.args\[1\]|args\[1\]"):
        command(CommandDraft("default", Command("", "t-1", "add", args=(1, value))))


def test_a_few_scalars_are_not_encoded_twice() -> None:
    compose, blobs = composer()
    assert compose.check((1, "a", None, 2.5, True), {}) is None
    assert compose.check(("x" * 70_000,), {}) is not None
    assert compose.check((), {"long": "x" * 70_000}) is not None
    assert isinstance(blobs, memory.MemoryBlobs)


def test_what_drafts_cost_their_publisher_is_their_weight_without_those_of_an_ancestry_of_their_own() -> None:
    draft, event = CommandDraft("default", Command("", "t", "add")), Event("e", "shop.Sold")
    assert weight_of([draft, draft._replace(weight=5), event]) == 7
    assert weight_of([draft._replace(weight=5, lineage=Lineage()), event]) == 1
    assert weight_of([]) == 0


@pytest.mark.parametrize("over", [0, 1])
def test_the_payload_of_a_key_is_named_as_its_worker_will_read_the_arguments(over: int) -> None:
    compose, _ = composer()
    text = "x" * (CLAIM_CHECK_BYTES - len(codec.encode_data(("",), {})) + over)
    draft = CommandDraft("default", Command("", "t", "add", args=(text,)))
    found = command(draft)
    assert (found.data_ref is not None) == bool(over)
    assert compose.payload(draft) == dedup_keys.payload("t", found.args, found.kwargs, found.data_ref)


def test_arguments_that_a_queue_of_short_messages_cannot_carry_travel_by_claim_check() -> None:
    ports = memory.ports()
    bounds = SQS._replace(max_bytes=400)
    ports = replace(ports, queues=memory.MemoryQueues(ports.clock, [], bounds=bounds))
    compose = Composer("shop@host", LamportClock(lambda: 1), ports)
    assert compose.check(("x" * 200,), {}) is not None
    assert compose.check(("x",), {}) is None


def test_seven_texts_of_characters_that_are_written_in_twelve_bytes_each_travel_by_claim_check_where_they_are_long() -> None:
    compose, _ = composer()
    for characters in (499, 999):
        args = ("\U0001f600" * characters,) * 7
        draft = CommandDraft("default", Command("", "t", "add", args=args))
        found, size = command(draft), len(codec.encode_data(args, {}))
        assert (found.data_ref is not None) == (size > CLAIM_CHECK_BYTES) == (characters == 999)
        assert not _short(args) or size < SHORT_BYTES
        assert compose.payload(draft) == dedup_keys.payload("t", found.args, found.kwargs, found.data_ref)


def test_a_draft_that_descends_from_another_task_says_so_and_keeps_its_claim_check() -> None:
    own = Lineage("r-2", "p-2", 1, 5)
    ref = BlobRef("0" * 64, 9)
    found = command(CommandDraft("default", Command("", "t", "add", data_ref=ref), lineage=own), Lineage("r-1", "p-1", 3, 50))
    assert (found.lineage, found.data_ref) == (own, ref)


def test_a_budget_above_the_ceiling_is_marked_for_the_task_the_event_or_the_document_that_has_it() -> None:
    ports = replace(memory.ports(), most_budget=100)
    compose = Composer("shop@host", LamportClock(lambda: 1), ports)
    for draft, own_id, name in (
        (CommandDraft("default", Command("", "t", "add")), "t", "add"),
        (Event("e", "shop.Sold"), "e", "shop.Sold"),
        (Document("d", "a", "shop.Price"), "d", "shop.Price"),
    ):
        lineage = codec.decode(compose.compose(draft, Lineage(budget=500)).outgoing.body).lineage
        assert lineage.mark
        assert granted(ports, lineage, own_id, name) == lineage


@pytest.mark.parametrize("over", [0, 1])
def test_an_event_or_a_document_that_its_queue_can_carry_travels_whole_and_at_once(over: int) -> None:
    compose, _ = composer()
    event, document = Event("e", "shop.Sold"), Document("d", "a", "shop.Price")

    def written(text: str) -> list[tuple[Outgoing, Any]]:
        both = [compose.compose(one).outgoing for one in (event._replace(data={"what": text}), document._replace(value=text))]
        return [(sent, codec.decode(sent.body)) for sent in both]

    for index, (sent, _) in enumerate(written("")):
        whole, found = written("x" * (CLAIM_CHECK_BYTES - len(sent.body) + over))[index]
        content = found.data if isinstance(found, Event) else found.value
        assert ((found.data_ref is not None), bool(content), whole.delay) == (bool(over), not over, 0)


@pytest.mark.parametrize(
    ("draft", "limit"),
    [
        (lambda text: CommandDraft("default", Command("m", "t", "a", args=(text,))), "arguments may have 67108864 together"),
        (lambda text: Event("e", "shop.Sold", data={"what": text}), "an event may have at most 67108864"),
        (lambda text: Document("d", "a", "shop.Price", value=text), "a document may have at most 67108864"),
    ],
)
def test_what_no_reader_reads_is_not_sent(draft: Callable[[str], Any], limit: str) -> None:
    """Without the refusal it would be sent, and parked by its first reader."""
    compose, _ = composer()
    ref = codec.decode(compose.compose(draft("x" * CLAIM_CHECK_BYTES)).outgoing.body).data_ref
    assert ref is not None
    room, weighed = codec.MAX_DATA_BYTES - (ref.size - CLAIM_CHECK_BYTES), Weighed()
    compose._ports = replace(compose._ports, blobs=weighed)
    compose.compose(draft("x" * room))
    with pytest.raises(TooLarge, match=f"^data: 67108865 bytes; {limit}$"):
        compose.compose(draft("x" * (room + 1)))
    assert weighed.sizes == [67_108_864]


class Weighed:
    """Stands for the blobs, and notes how long each one is."""

    def __init__(self) -> None:
        """Nothing was kept yet."""
        self.sizes = list[int]()

    def put(self, data: bytes) -> BlobRef:
        """Keep nothing."""
        self.sizes.append(len(data))
        return BlobRef("0" * 64, len(data))

    def get(self, ref: BlobRef) -> bytes:
        """Nothing is here."""
        raise AssertionError(ref)


class Word(str):
    """A text of a type of its own, which may be encoded otherwise."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("args", "short"),
    [
        ((), True), ((1,) * 7, True), ((1,) * 8, False), (("x" * 499,), True), (("x" * 500,), False), ((1, 2.0, True, None, "a"), True),
        ((1, [2]), False), ((Word("a"),), False), (("a", Word("b")), False),
    ],
)  # fmt: skip
def test_a_few_scalars_and_short_texts_are_known_to_be_short(args: Any, short: bool) -> None:
    assert _short(args) is short


@pytest.mark.parametrize("over", [0, 1])
def test_an_outbox_is_kept_inline_up_to_a_length_and_comes_back_as_it_was(over: int) -> None:
    blobs = memory.ports().blobs
    messages = [Addressed("q", Outgoing("x" * 60, 5, "acme")), Addressed("q.fifo", Outgoing("y" * (40 + over), serial_key="k"))]
    posted, ref = stored(messages, blobs, 100)
    assert (len(posted), ref is not None) == ((0, True) if over else (2, False))
    assert restored(TaskRecord("t", states.SUCCESS, outbox=posted, outbox_ref=ref), blobs) == messages
