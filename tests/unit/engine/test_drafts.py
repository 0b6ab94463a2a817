"""Drafts become messages: stamped with clock, lineage and a fresh id; what is long travels by claim check."""

from typing import Any

import pytest
from hypothesis import given

from sedano import memory
from sedano.engine.drafts import CommandDraft, Composer
from sedano.errors import Unserialisable
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import Command, Event
from sedano.model.queues import CLAIM_CHECK_BYTES
from sedano.ports import EVENTS, Blobs
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
