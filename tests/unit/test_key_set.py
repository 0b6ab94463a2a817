"""The keys of a stage as a value: their text, their times, and how a rotation changes them."""

import json
from typing import Any

import pytest

from sedano.errors import ConfigurationError, OptionError
from sedano.model.seals import key_set
from sedano.model.seals.key_set import KeySet, Times

A, B, C = "0a" * 32, "0b" * 32, "0c" * 32
KEYS = KeySet("k1", {"k1": bytes.fromhex(A), "k2": bytes.fromhex(B)}, {"k1": Times(5), "k2": Times(7, 0)})
DAY = 86_400


def text(sign: Any = "k1", keys: Any = None, **more: Any) -> str:
    """Return the text of some keys."""
    return json.dumps({"sign": sign, "keys": {"k1": A} if keys is None else keys, **more}, separators=(",", ":"))


def test_new_keys_begin_at_their_time_and_those_that_replace_others_have_another_id() -> None:
    assert key_set.first(A) == KeySet("k1", {"k1": bytes.fromhex(A)}, {})
    assert key_set.first(A, 9.9) == KeySet("k1", {"k1": bytes.fromhex(A)}, {"k1": Times(9, 0)})
    assert key_set.instead('{"k7":1,"k12":2,"k012":3}', A, 9.9) == KeySet("k13", {"k13": bytes.fromhex(A)}, {"k13": Times(9, 0)})
    assert key_set.instead("nothing", A, 0.0) == KeySet("k1", {"k1": bytes.fromhex(A)}, {})


@pytest.mark.parametrize(
    ("keys", "written"),
    [
        (KEYS, f'{{"sign":"k1","keys":{{"k1":"{A}","k2":"{B}"}},"times":{{"k1":[5,0],"k2":[7,0]}}}}'),
        (KEYS._replace(times={}), f'{{"sign":"k1","keys":{{"k1":"{A}","k2":"{B}"}}}}'),
    ],
)
def test_keys_are_written_and_read_back(keys: KeySet, written: str) -> None:
    assert key_set.written(keys) == written
    assert key_set.read(written) == keys


def test_one_to_four_keys_and_times_up_to_the_latest_are_read() -> None:
    four = {f"k{number}": A for number in range(4)}
    assert len(key_set.read(text("k0", four)).keys) == 4
    assert key_set.read(text(times={"k1": [0, 2**36]})).times == {"k1": Times(0, 2**36)}
    assert key_set.read(text("x" * 64, {"x" * 64: A})).sign == "x" * 64
    assert (key_set.KEPT_S, key_set.OLD_S, key_set.KEY_BYTES, key_set.LATEST) == (300.0, 14 * DAY + 300.0, 32, 68_719_476_736)


TIMES, OBJECT = "the times of a key are two whole numbers of seconds since 1970", "it is not an object with sign and keys"
BYTES, KID = "is not 32 bytes as 64 hexadecimal digits", "the id of a key is 1 to 64 of A-Z a-z 0-9 _ . -"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("{", "it is not JSON"), ("[]", OBJECT), ("{}", OBJECT), (text(keys=[]), OBJECT), (text(more=1), OBJECT), (text(keys=5), OBJECT),
        (text(keys={}), "it has 0 keys; a stage has 1 to 4"),
        (text(keys={f"k{n}": A for n in range(5)}), "it has 5 keys; a stage has 1 to 4"),
        (text(keys={"": A}), KID), (text(keys={"x" * 65: A}), KID), (text(keys={"a b": A}), KID),
        (text(keys={"k1": 5}), f"k1 {BYTES}"), (text(keys={"k1": A[1:]}), f"k1 {BYTES}"), (text(keys={"k1": A.upper()}), f"k1 {BYTES}"),
        (text(sign="k2"), "the signing key is not among its keys"), (text(sign=5), "the signing key is not among its keys"),
        (text(times=[]), "it has times of unknown keys"), (text(times={"k2": [1, 2]}), "it has times of unknown keys"),
        *((text(times={"k1": times}), TIMES) for times in (5, [], [1], [1, 2, 3], {"a": 1, "b": 2}, "ab", [1, True], [1.0, 2], ["1", 2])),
        *((text(times={"k1": times}), TIMES) for times in ([-1, 0], [0, -1], [2**36 + 1, 0], [0, 2**36 + 1])),
    ],
)  # fmt: skip
def test_what_is_no_set_of_keys_is_refused_with_the_reason(wrong: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        key_set.read(wrong)
    assert str(caught.value).startswith(f"the stage's keys cannot be read: {why}; ")


def test_a_key_is_added_under_the_next_number() -> None:
    more = key_set.added(KEYS, C, 9.9)
    assert more == KeySet("k1", {**KEYS.keys, "k3": bytes.fromhex(C)}, {**KEYS.times, "k3": Times(9, 0)})
    assert key_set.added(KEYS, C).times == KEYS.times
    named = KeySet("mine", {"mine": bytes(32), "k07": bytes(32)})
    assert [*key_set.added(named, C).keys] == ["mine", "k07", "k1"]
    full = key_set.added(more, C)
    with pytest.raises(OptionError, match=r"^keys: the stage already has 4 \(k1, k2, k3, k4\); revoke one with `sedano keys revoke`$"):
        key_set.added(full, C)


def test_the_key_that_signed_is_noted_with_the_time_at_which_another_one_takes_over() -> None:
    after = key_set.signing(KEYS, "k2", 99.9)
    assert after == KEYS._replace(sign="k2", times={"k1": Times(5, 99), "k2": Times(7, 0)})
    back = key_set.signing(after, "k1", 200.0)
    assert back == KEYS._replace(sign="k1", times={"k1": Times(5, 0), "k2": Times(7, 200)})
    assert key_set.signing(KEYS, "k2") == KEYS._replace(sign="k2")
    assert key_set.signing(KEYS, "k1", 99.9) == KEYS
    bare = KEYS._replace(times={})
    assert key_set.signing(bare, "k1", 99.9) == bare
    assert key_set.signing(bare, "k2") == bare._replace(sign="k2")
    assert key_set.signing(bare, "k2", 99.9) == bare._replace(sign="k2", times={"k1": Times(0, 99), "k2": Times(0, 0)})


def test_a_key_goes_with_its_times_unless_it_signs() -> None:
    assert key_set.without(KEYS, "k2") == KeySet("k1", {"k1": bytes.fromhex(A)}, {"k1": Times(5)})
    for change in (key_set.without, key_set.signing):
        with pytest.raises(OptionError, match=r"^k9: not a key of this stage; it has k1, k2$"):
            change(KEYS, "k9")
    with pytest.raises(OptionError, match=r"^k1: this is the signing key; rotate first: `sedano keys rotate`, with --at-once if k1 "):
        key_set.without(KEYS, "k1")


@pytest.mark.parametrize(
    ("times", "kid"),
    [
        ({}, None),
        ({"k1": Times(5)}, None),
        ({"k2": Times(7)}, "k2"),
        ({"k2": Times(0)}, None),
        ({"k2": Times(7, 9)}, None),
        ({"k2": Times(7), "k3": Times(8)}, "k3"),
        ({"k2": Times(9), "k3": Times(8)}, "k2"),
    ],
)
def test_the_key_that_comes_next_is_the_latest_that_never_signed(times: dict[str, Times], kid: str | None) -> None:
    assert key_set.coming(KEYS._replace(times=times)) == kid


@pytest.mark.parametrize(
    ("times", "until"),
    [({}, None), ({"k2": Times(7)}, None), ({"k2": Times(7, 9)}, 9 + 14 * DAY + 300.0), ({"k2": Times(0, 1)}, 1 + 14 * DAY + 300.0)],
)
def test_a_key_is_kept_for_two_weeks_after_it_last_signed(times: dict[str, Times], until: float | None) -> None:
    keys = KEYS._replace(times=times)
    assert key_set.kept_until(keys, "k2") == until
    assert key_set.kept_until(keys._replace(sign="k2"), "k2") is None
    for now in (0.0, 5.0) if until is None else (until - 0.5,):
        assert key_set.current(keys, now) == keys
    if until is not None:
        assert key_set.current(keys, until) == key_set.without(keys, "k2")
