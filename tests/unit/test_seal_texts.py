"""The texts of seals and marks as they are described, and the first and the last second in which a seal holds."""

import base64
import hashlib
import hmac

import pytest

from sedano.errors import OptionError
from sedano.model.seals import seal
from sedano.model.seals.key_set import KeySet

KEY, OTHER = bytes(range(32)), bytes(32)
KEYS = KeySet("k2", {"k1": OTHER, "k2": KEY})
NOW = 1_767_225_600


def sealed(issued: int, expires: int, audience: str = "worker/orders") -> str:
    """Return the seal of the body *b* as the format describes it."""
    said = f"sedano-seal-v1\nk2\n{issued}\n{expires}\n{audience}\nb".encode()
    signature = base64.urlsafe_b64encode(hmac.new(KEY, said, hashlib.sha256).digest()).decode().rstrip("=")
    return f"v1;k=k2;t={issued};x={expires};to={audience};s={signature}"


@pytest.mark.parametrize(("issued", "expires"), [(0, 0), (0, 900), (5, 5), (NOW, NOW + 300), (NOW, NOW + 900)])
@pytest.mark.parametrize("audience", ["a", "worker/orders", "A-Z_a.z:0/9#" * 10 + "12345678"])
def test_a_seal_is_written_as_it_is_described(issued: int, expires: int, audience: str) -> None:
    assert seal.seal(b"b", KEYS, audience, issued, expires) == sealed(issued, expires, audience)
    assert seal.refusal(sealed(issued, expires, audience), b"b", KEYS.keys, audience, issued) is None


@pytest.mark.parametrize(("issued", "expires"), [(-1, 5), (5, 4), (NOW, NOW + 901), (NOW, NOW - 1)])
def test_a_seal_ends_at_most_900_seconds_after_it_begins(issued: int, expires: int) -> None:
    with pytest.raises(OptionError) as caught:
        seal.seal(b"b", KEYS, "a", issued, expires)
    assert str(caught.value) == f"expires: {expires} is not between the time of issue, {issued}, and 900 s later"


@pytest.mark.parametrize("audience", ["", "a b", "ä", "a\n", "a" * 129])
def test_an_audience_of_other_characters_is_refused(audience: str) -> None:
    with pytest.raises(OptionError) as caught:
        seal.seal(b"b", KEYS, audience, 0, 0)
    assert str(caught.value) == f"audience: {audience[:40]!r} is not 1 to 128 of A-Z a-z 0-9 _ . : / # -"


@pytest.mark.parametrize(
    ("life", "after", "code"),
    [
        (300, -60, None),
        (300, -60.5, seal.FROM_THE_FUTURE),
        (300, 360, None),
        (300, 360.5, seal.EXPIRED),
        (0, 0, None),
        (900, 960, None),
        (901, 0, seal.LIVES_TOO_LONG),
        (901, 962, seal.LIVES_TOO_LONG),
        (-1, 0, seal.MALFORMED),
    ],
)
def test_a_seal_holds_a_minute_before_its_beginning_and_after_its_end(life: int, after: float, code: str | None) -> None:
    assert seal.refusal(sealed(NOW, NOW + life), b"b", KEYS.keys, "worker/orders", NOW + after) == code


@pytest.mark.parametrize(
    ("kind", "parts", "said"), [("slot", ("a", "b\n"), r"('a', 'b\n')"), ("quiet", (), "()"), ("x", ("é",), r"('\xe9',)")]
)
def test_a_mark_is_written_as_it_is_described(kind: str, parts: tuple[str, ...], said: str) -> None:
    wanted = "k2;" + hmac.new(KEY, f"sedano-mark-v1\n{kind}\nk2\n{said}".encode(), hashlib.sha256).hexdigest()[:32]
    assert seal.mark(KEYS, kind, *parts) == wanted
    assert seal.is_marked(wanted, KEYS.keys, kind, *parts)
    assert not seal.is_marked(wanted, {"k2": OTHER}, kind, *parts)
    assert not seal.is_marked(wanted, {"k1": KEY}, kind, *parts)
    assert not seal.is_marked(wanted[:-1], KEYS.keys, kind, *parts)


def test_marks_and_seals_name_their_key() -> None:
    assert [seal.kid_of(text) for text in (sealed(0, 1), seal.mark(KEYS, "slot"), "", "k2;" + "0" * 31)] == ["k2", "k2", "", ""]
