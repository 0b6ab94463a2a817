"""Stamps: what is written is read back, what cannot travel is refused by its name, and the newer word wins."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.cluster.control_record import ControlRecord, pair, pairs_of, revoked_by, with_revoked
from sedano.model.messages import stamps
from sedano.model.messages.stamps import HEADERS, LONGEST, is_written, joined, read, write
from sedano.model.tasks.signature import Options, Signature
from tests.unit.generated import ADD, fits
from tests.unit.generated import stamps as some


def test_the_example_of_the_room_holds() -> None:
    assert doctest.testmod(stamps).failed == 0


@given(some.filter(fits))
def test_what_is_written_is_read_back(given_stamps: dict[str, str]) -> None:
    text = write(given_stamps)
    assert read(text) == given_stamps
    assert is_written(text)
    assert text.isascii()


@given(st.text(max_size=12) | st.from_regex(r"([a-b]=[%0-9a-f]{1,4},?){1,3}", fullmatch=True))
def test_a_text_lists_stamps_or_is_refused_and_is_never_half_read(text: str) -> None:
    if is_written(text):
        assert len(read(text)) == text.count("=")


def test_the_order_in_which_they_are_given_does_not_matter() -> None:
    assert write({"b": "1", "a": "2"}) == write({"a": "2", "b": "1"}) == "a=2,b=1"


@pytest.mark.parametrize("name", ["", "1a", "a b", "a=b", "a,b", "ü", "x" * 65, *HEADERS])
def test_a_name_that_none_can_have_is_refused_by_it(name: str) -> None:
    with pytest.raises(OptionError, match=r"^stamps: "):
        write({name: "x"})


@pytest.mark.parametrize("value", ["", 1, None, ["x"], "\ud800"])
def test_a_value_that_is_no_text_is_refused_by_its_name(value: object) -> None:
    with pytest.raises(OptionError, match=r"^stamps: team: "):
        Options(stamps={"team": value})  # type: ignore[dict-item] # that is the point


@pytest.mark.parametrize(("length", "refused"), [(LONGEST - 3, False), (LONGEST - 2, False), (LONGEST - 1, True)])
def test_all_together_have_a_limit(length: int, refused: bool) -> None:
    if refused:
        with pytest.raises(OptionError, match="257 characters"):
            write({"a": "b" * length})
    else:
        assert len(write({"a": "b" * length})) == length + 2


def test_own_stamps_win_over_inherited_ones_and_none_are_lost() -> None:
    assert joined("a=1,b=2", {"b": "3", "c": "4"}) == "a=1,b=3,c=4"
    assert joined("a=1", None) == joined("a=1", {}) == "a=1"
    assert joined(None, None) is None
    with pytest.raises(OptionError, match="all stamps of a task together"):
        joined("a=" + "x" * 200, {"b": "y" * 60})


def test_a_signature_gathers_stamps() -> None:
    signature = Signature("shop.add").set(stamps={"a": "1"}).set(stamps={"b": "2"})
    assert signature.options.stamps == {"a": "1", "b": "2"}
    assert signature.set(stamps=None).options.stamps is None


def test_a_task_is_revoked_by_a_stamp_that_it_bears_and_by_no_other() -> None:
    record = with_revoked(ControlRecord(), pair("cost_centre", "ä 1"), 1, "n")
    assert revoked_by(record, ADD._replace(stamps=write({"cost_centre": "ä 1", "team": "core"}))) == "cost_centre=ä 1"
    assert revoked_by(record, ADD._replace(stamps=write({"cost_centre": "a1"}))) is None
    assert revoked_by(record, ADD) is None


def test_a_stamp_never_passes_for_a_header() -> None:
    assert pairs_of(ADD._replace(stamps="task=other"))["task"] == ADD.task


@given(some.filter(fits), st.none() | st.text(min_size=1, max_size=40))
def test_an_event_says_the_stamps_and_the_tenant(given_stamps: dict[str, str], tenant: str | None) -> None:
    told = stamps.for_event(write(given_stamps) or None, tenant)
    named = {} if tenant is None else {"tenant": tenant.encode(errors="replace").decode()}
    assert stamps.from_event(told) == {**given_stamps, **named}


@pytest.mark.parametrize(("said", "expected"), [
    ({"tenant": "acme", "n": 7}, {"tenant": "acme"}), ('{"tenant": "acme"}', {"tenant": "acme"}), ("tenant=%ff", {"tenant": "\ufffd"}),
    ("{", {}), ("[]", {}), ("a=b,,", {}), (7, {}), (None, {}), ("a=" + "b" * 5_000, {}), ("{" * 100_000, {}), ("[1]", {}),
])  # fmt: skip
def test_whatever_an_event_says_of_stamps_is_read_or_left_out(said: object, expected: dict[str, str]) -> None:
    assert stamps.from_event(said) == expected
