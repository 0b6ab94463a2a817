"""What signs and verifies: keys are read when they are needed and no oftener, kept through an outage, and made where there are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import ConfigurationError, OptionError, SedanoError, Unavailable
from sedano.memory import MemoryKeyStore, MemoryTelemetry, SeededEntropy, VirtualClock
from sedano.model.seals import key_set
from sedano.ports.seals import Seals

TEXT = key_set.written(key_set.first("ab" * 32))


class Counted(MemoryKeyStore):
    """A store that counts how often it is read, and may be away."""

    reads = 0
    away: SedanoError | None = None

    def read(self) -> str | None:
        """Count, and answer if it is there."""
        self.reads += 1
        if self.away is not None:
            raise self.away
        return super().read()


class Process:
    """One process: a clock, and what it signs and verifies with."""

    def __init__(self, store: MemoryKeyStore, seed: int = 0) -> None:
        """Start over *store*."""
        self.clock, self.telemetry = VirtualClock(1e9), MemoryTelemetry()
        self.seals = Seals(store, self.clock, SeededEntropy(seed), self.telemetry)


def test_nothing_is_read_before_it_is_needed_and_then_once_in_300_s() -> None:
    store = Counted()
    process = Process(store)
    assert store.reads == 0
    assert not process.seals.is_marked("", "slot", "1")
    assert store.reads == 0
    marks = {process.seals.mark("slot", str(n)) for n in range(100)}
    assert len(marks) == 100
    assert all(process.seals.is_marked(process.seals.mark("slot", str(n)), "slot", str(n)) for n in range(100))
    assert store.reads == 1
    process.clock.advance(299)
    assert process.seals.ready()
    assert store.reads == 1
    process.clock.advance(1)
    assert process.seals.ready()
    assert store.reads == 2


def test_the_keys_of_a_new_stage_are_random_and_kept() -> None:
    first, second = MemoryKeyStore(), MemoryKeyStore()
    assert Process(first, 1).seals.ready()
    assert Process(second, 2).seals.ready()
    assert first.text is not None
    assert first.text != second.text
    assert len(key_set.read(first.text).keys["k1"]) == 32


def test_an_unknown_key_is_looked_for_at_most_every_30_s() -> None:
    store = Counted(TEXT)
    process = Process(store)
    assert process.seals.ready()
    stranger = Process(MemoryKeyStore(key_set.written(key_set.signing(key_set.added(key_set.first("cd" * 32), "ef" * 32), "k2"))))
    forged = stranger.seals.mark("slot", "1")
    for _ in range(1_000):
        assert not process.seals.is_marked(forged, "slot", "1")
    assert store.reads == 1
    process.clock.advance(30)
    for _ in range(1_000):
        assert not process.seals.is_marked(forged, "slot", "1")
    assert store.reads == 2
    assert process.telemetry.counted("MarksRefused", kind="slot") == 2_000


def test_a_key_that_was_added_meanwhile_is_found() -> None:
    store = Counted(TEXT)
    process = Process(store)
    assert process.seals.ready()
    store.replace(key_set.written(key_set.signing(key_set.added(key_set.read(TEXT), "ef" * 32), "k2")))
    process.clock.advance(31)
    given_mark = Process(store).seals.mark("slot", "1")
    assert given_mark.startswith("k2;")
    assert process.seals.is_marked(given_mark, "slot", "1")
    assert process.telemetry.counted("MarksRefused", kind="slot") == 0


def test_a_mark_of_a_known_key_that_does_not_fit_asks_nobody() -> None:
    store = Counted(TEXT)
    process = Process(store)
    given_mark = process.seals.mark("slot", "1")
    process.clock.advance(31)
    assert not process.seals.is_marked(given_mark, "slot", "2")
    assert store.reads == 1


@pytest.mark.parametrize("error", [Unavailable("no answer"), ConfigurationError("denied")])
def test_keys_stay_what_they_were_while_the_store_is_away(error: SedanoError) -> None:
    store = Counted(TEXT)
    process = Process(store)
    given_mark = process.seals.mark("slot", "1")
    store.away = error
    process.clock.advance(10_000)
    assert process.seals.is_marked(given_mark, "slot", "1")


def test_without_keys_nothing_is_marked_and_the_store_is_asked_less_and_less() -> None:
    store = Counted(TEXT)
    store.away = Unavailable("no way to it")
    process = Process(store)
    for _ in range(3_600):
        assert not process.seals.ready()
        assert process.seals.mark("slot", "1") == ""
        assert process.seals.attached("slot", "1") == ""
        process.clock.advance(1)
    assert store.reads <= 16
    store.away = None
    process.clock.advance(300)
    assert process.seals.ready()


def test_a_store_that_holds_something_else_gives_no_keys_and_is_left_alone() -> None:
    store = Counted('{"sign":"k1","keys":{}}')
    process = Process(store)
    assert not process.seals.ready()
    assert store.text == '{"sign":"k1","keys":{}}'


@given(st.text(max_size=40), st.lists(st.text(max_size=10), max_size=3), st.text(max_size=40))
def test_what_was_attached_is_detached_with_its_parts_alone(text: str, parts: list[str], other: str) -> None:
    seals = Process(MemoryKeyStore(TEXT)).seals
    marked = seals.attached("slot", text, *parts)
    assert seals.detached("slot", marked, *parts) == text
    assert seals.detached("quiet", marked, *parts) == ""
    assert seals.detached("slot", marked, *parts, "more") == ""
    assert seals.detached("slot", other, *parts) == ""
    assert seals.detached("slot", marked + "0", *parts) == ""


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "5", '{"sign":"k1"}', '{"sign":"k1","keys":[]}', '{"sign":"k2","keys":{"k1":"' + "ab" * 32 + '"}}',
     '{"sign":["k1"],"keys":{"k1":"' + "ab" * 32 + '"}}', '{"sign":"k1","keys":{"k1":"ab"}}', '{"sign":"k1","keys":{"k1":5}}',
     '{"sign":"k1","keys":{"k1":"' + "AB" * 32 + '"}}', '{"sign":"k;1","keys":{"k;1":"' + "ab" * 32 + '"}}', "[" * 100_000],
)  # fmt: skip
def test_what_is_no_set_of_keys_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read") as refused:
        key_set.read(text)
    assert "abab" not in str(refused.value).lower()


def test_keys_are_in_no_representation() -> None:
    keys = key_set.read(TEXT)
    assert repr(keys) == f"{keys}" == "KeySet(sign='k1', keys=['k1'])"
    assert key_set.written(keys) == TEXT


def test_a_key_is_added_signs_and_goes_in_that_order() -> None:
    keys = key_set.added(key_set.read(TEXT), "cd" * 32)
    assert (keys.sign, [*keys.keys]) == ("k1", ["k1", "k2"])
    with pytest.raises(OptionError, match="this is the signing key"):
        key_set.without(keys, "k1")
    keys = key_set.without(key_set.signing(keys, "k2"), "k1")
    assert (keys.sign, [*keys.keys]) == ("k2", ["k2"])
    with pytest.raises(OptionError, match="not a key of this stage"):
        key_set.signing(keys, "k1")
    for _ in range(3):
        keys = key_set.added(keys, "ef" * 32)
    with pytest.raises(OptionError, match="already has 4"):
        key_set.added(keys, "ef" * 32)
