"""What an annotation accepts, restores and refuses, with all the words; and the ranges of options."""

import math
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple, NewType, Protocol, TypedDict
from uuid import UUID

import pytest

from sedano.errors import ArgumentError, OptionError, UnknownOption
from sedano.model.messages.message import TimeLimits
from sedano.model.number_ranges import is_count, is_number
from sedano.model.tasks.annotations import Wrong, hints, kind_of
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import MAX_DELAY_S, Options, changed, delay_of, given, time_limits_of


class Pair(NamedTuple):
    """Two fields, one with a default."""

    left: int
    right: str = "r"


@dataclass
class Box:
    """Fields of each kind."""

    size: int
    names: list[str] = field(default_factory=list)
    area: int = field(init=False, default=0)


class Row(TypedDict, total=False):
    """A field that is needed, and one that is not."""

    key: typing.Required[int]
    note: str


class Shape(Protocol):
    """A protocol."""


class Plain(tuple[int, ...]):
    """A tuple without named fields."""

    __slots__ = ()


class Fielded:
    """Names of fields without a tuple."""

    _fields = ("a",)


Number = NewType("Number", int)
NO_FORM = "has no JSON form; use a dataclass, a TypedDict or JSON's own types"


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (int, "5", "expected int, got str"), (type(None), 5, "expected NoneType, got int"),
        (int | str, 1.5, "expected int or str, got float"),
        (list[int], 5, "expected list[int], got int"), (list[int], [1, True], "expected list[int]: item 1: expected int, got bool"),
        (Sequence[date], "ab", "expected Sequence[date], got str"), (tuple, 5, "expected tuple, got int"),
        (tuple[int, ...], [1, "x"], "expected tuple[int, ...]: item 1: expected int, got str"),
        (tuple[int, str], [1, 2], "expected tuple[int, str]: item 1: expected str, got int"),
        (tuple[str, str], "ab", "expected tuple[str, str], got str"), (Pair, "ab", "expected Pair, got str"),
        (tuple[int, str], [1, "a", 2], "expected tuple[int, str]: expected 2 items, got 3"),
        (dict[str, int], {"a": "b"}, "expected dict[str, int]: a: expected int, got str"),
        (dict[str, int], [], "expected dict[str, int], got list"),
        (dict[UUID, int], {"x": 1}, "expected dict[uuid.UUID, int]: a key: expected UUID, got str"),
        (Mapping[str, Any], [], "expected Mapping[str, Any], got list"), (Literal["a", 1], 2, "expected one of 'a', 1, got int"),
        (Literal[1], True, "expected one of 1, got bool"), (date, 5, "expected date, got int"), (date, "x", "expected date, got str"),
        (Pair, [1, 2], "expected Pair: right: expected str, got int"), (Pair, [1, "a", 2], "expected Pair: expected 2 items, got 3"),
        (Pair, {}, "expected Pair, got dict"), (Box, {"names": []}, "expected Box: size is missing"), (Box, [], "expected Box, got list"),
        (Box, {"size": "x"}, "expected Box: size: expected int, got str"), (Box, {"size": 1, "z": 1, "b": 2}, "expected Box: b is unknown"),
        (Row, {"note": "x"}, "expected Row: key is missing"), (Row, {"key": 1, "x": 1}, "expected Row: x is unknown"),
        (Annotated[int, "x"], "5", "expected int, got str"), (Number, "5", "expected int, got str"),
        (int | list[int], ["x"], "expected int or list[int]: item 0: expected int, got str"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_described(annotation: Any, value: Any, words: str) -> None:
    kind = kind_of(annotation)
    with pytest.raises(Wrong) as caught:
        kind.read(value)
    assert str(caught.value) == words
    assert (kind.accepts(value), kind.restored(value)) == (False, value)


@pytest.mark.parametrize(
    ("annotation", "value", "seen"),
    [
        (list[int], (1, 2), [1, 2]), (tuple[int, ...], [1], (1,)), (tuple[()], [], ()), (tuple[int, str], (1, "a"), (1, "a")),
        (Box, {"size": 1, "area": 9}, Box(1)), (Box, {"size": 1, "names": ["a"]}, Box(1, ["a"])), (Pair, (1,), Pair(1)),
        (Row, {"key": 1, "note": "x"}, {"key": 1, "note": "x"}), (Collection[int], [1], [1]), (Iterable[str], ["a"], ["a"]),
        (Shape, 5, 5), (object, 5, 5), (Callable, 5, 5), (list, [1, "x"], [1, "x"]), (list[Any], [1, "x"], [1, "x"]),
        (Sequence[Any], (1, "x"), (1, "x")), (typing.TypeGuard[int], 5, 5),
        (SimpleNamespace(__value__=date), "2026-01-01", date(2026, 1, 1)),
        (dict[str, Any], {"a": 1}, {"a": 1}), (int | Any, "x", "x"), (typing.TypeVar("T"), 5, 5), (Number, 5, 5),
    ],
)  # fmt: skip
def test_a_value_that_fits_is_restored(annotation: Any, value: Any, seen: Any) -> None:
    found = kind_of(annotation).restored(value)
    assert (found, type(found)) == (seen, type(seen))
    assert kind_of(annotation).accepts(value)


@dataclass
class Derived:
    """A field that the class computes, of a type that JSON cannot carry."""

    size: int
    seen: set[int] = field(init=False)

    def __post_init__(self) -> None:
        """Compute it."""
        self.seen = {self.size}


def test_a_field_that_is_computed_is_neither_needed_nor_sent() -> None:
    kind = kind_of(Derived)
    assert (kind.refusal, kind.read({"size": 1}), kind.read({"size": 1, "seen": [9]})) == ("", Derived(1), Derived(1))
    assert not kind.accepts(MappingProxyType({"size": 1}))
    assert not kind_of(dict[str, int]).accepts(MappingProxyType({"size": 1}))


class Unread(TypedDict):
    """A field whose annotation names nothing."""

    one: "Missing"  # type: ignore[name-defined] # noqa: F821
    two: int


class Count(int):
    """A number with a name."""


def test_fields_whose_annotations_cannot_be_read_are_known_by_name_only() -> None:
    kind = kind_of(Unread)
    assert kind.read({"one": 5, "two": "x"}) == {"one": 5, "two": "x"}
    with pytest.raises(Wrong, match=r"^expected Unread: three is unknown$"):
        kind.read({"one": 1, "two": 2, "three": 3})
    assert (kind_of(Count).read(5), kind_of(Count).accepts(True)) == (Count(5), False)


@pytest.mark.parametrize(
    ("bare", "plain", "value"),
    [
        ("List", list, [1, "x"]), ("Dict", dict, {"a": 1}), ("Tuple", tuple, [1, "x"]), ("Sequence", Sequence, (1, "x")),
        ("Mapping", Mapping, {"a": 1}), ("Iterable", Iterable, [1]),
    ],
)  # fmt: skip
def test_a_name_of_typing_without_items_is_the_type_that_it_stands_for(bare: str, plain: Any, value: Any) -> None:
    found, expected = kind_of(getattr(typing, bare)), kind_of(plain)
    assert (found.label, found.types, found.read(value)) == (expected.label, expected.types, expected.read(value))


def test_an_empty_tuple_stays_empty() -> None:
    for empty in (tuple[()], typing.Tuple[()]):  # noqa: UP006
        assert (kind_of(empty).read([]), kind_of(empty).accepts([1])) == ((), False)


def test_an_array_whose_items_fit_is_not_copied() -> None:
    numbers, words, mixed = [1, 2], ("a", "b"), (1, "x")
    assert kind_of(list[int]).read(numbers) is numbers
    assert kind_of(tuple[str, ...]).read(words) is words
    assert kind_of(tuple[Any, ...]).read(mixed) is mixed


def test_items_of_any_type_are_not_looked_at() -> None:
    kinds = [kind_of(one) for one in (list[Any], Sequence[Any], dict[str, Any], dict[UUID, Any])]
    assert [(kind.types, len(kind.readers)) for kind in kinds] == [({list}, 0), ({list, tuple}, 0), ({dict}, 0), (set(), 1)]
    assert not kind_of(list[Any]).accepts((1, "x"))


@pytest.mark.parametrize(
    ("annotation", "refusal"),
    [
        (int, ""), (object, ""), (Shape, ""), (Plain, f"Plain {NO_FORM}"), (Fielded, f"Fielded {NO_FORM}"),
        (bytes, "bytes has no JSON form; send text, such as base64"), (set, "set has no JSON form; use a list"),
        (frozenset, "frozenset has no JSON form; use a tuple"), (tuple[int, set[int]], "set has no JSON form; use a list"),
        (complex, "complex has no JSON form; use a dataclass, a TypedDict or JSON's own types"),
        (tuple[set[int], ...], "set has no JSON form; use a list"),
        (dict[int, str], "the keys of a JSON object are strings"), (dict[UUID, str], ""), (dict[Any, str], ""),
        (dict[int, set[int]], "set has no JSON form; use a list"),
        (int | set[int], "set has no JSON form; use a list"), (list[bytes], "bytes has no JSON form; send text, such as base64"),
    ],
)  # fmt: skip
def test_a_kind_without_a_json_form_has_its_reason(annotation: Any, refusal: str) -> None:
    assert kind_of(annotation).refusal == refusal


def test_a_field_without_a_json_form_is_named() -> None:
    @dataclass
    class Bad:
        good: int
        bad: set[int]

    assert kind_of(Bad).refusal == "bad: set has no JSON form; use a list"

    def task(one: int, two: Bad) -> None:
        """Take it."""

    task.__annotations__["two"] = Bad
    assert Parameters(task).refusal == "parameter two: bad: set has no JSON form; use a list"
    assert (Parameters(print).refusal, hints(test_a_field_without_a_json_form_is_named)) == ("", {"return": type(None)})


def shop(what: str, amount: int = 1, *tags: str, note: str | None = None) -> None:
    """A task."""


@pytest.mark.parametrize(
    ("args", "kwargs", "field", "words"),
    [
        ((), {}, "data", "missing a required argument: 'what'; shop.buy takes (what, amount=1, *tags, note=None)"),
        (("a",), {"size": 1, "note": "x"}, "data",
         "got an unexpected keyword argument 'size'; shop.buy takes (what, amount=1, *tags, note=None)"),
        (("a", "b"), {}, "data.args[1]", "parameter amount of shop.buy: expected int, got str"),
        (("a", 1, "b", 2), {}, "data.args[3]", "parameter tags of shop.buy: expected str, got int"),
        (("a",), {"note": 5}, "data.kwargs.note", "parameter note of shop.buy: expected str or NoneType, got int"),
    ],
)  # fmt: skip
def test_an_argument_that_does_not_fit_is_named_with_its_task(args: Any, kwargs: Any, field: str, words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Parameters(shop, of="shop.buy").fit(args, kwargs)
    assert (caught.value.field, caught.value.detail) == (field, words)


@pytest.mark.parametrize(
    ("value", "number", "count"),
    [(1, True, True), (3, True, True), (0, False, False), (4, False, False), (2.5, True, False), (2.0, True, False), (True, False, False),
     ("2", False, False), (None, False, False), (math.nan, False, False)],
)  # fmt: skip
def test_a_number_is_in_its_range(value: object, number: bool, count: bool) -> None:
    assert (is_number(value, 1, 3), is_count(value, 1, 3)) == (number, count)
    assert not is_number(math.inf, 1, math.inf)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_limit": 0}, "time_limit: 0 is not a number of seconds above 0, at most 9999999"),
        ({"soft_time_limit": 9_999_999.5}, "soft_time_limit: 9999999.5 is not a number of seconds above 0, at most 9999999"),
        ({"expires": 250_000_000_000.0}, "expires: 250000000000.0 is not a valid time; give seconds from now, at most 250000000000"),
        ({"expires": -250_000_000_000.0}, "expires: -250000000000.0 is not a valid time; give seconds from now, at most 250000000000"),
        ({"serial_key": ""}, "serial_key: is empty; omit it or give a value"),
        ({"stamps": 5}, "stamps: expected a mapping of names to strings, got int"),
        ({"headers": [1]}, "headers: expected a mapping of names to JSON values, got list"),
        ({"budget": True}, "budget: expected an integer, got bool"),
    ],
)
def test_an_option_beyond_its_range_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError) as caught:
        Options(**options)
    assert str(caught.value) == words
    Options(time_limit=9_999_999.0, soft_time_limit=1e-6, expires=249_999_999_999.0)


def test_the_limits_of_a_call_override_those_of_its_task() -> None:
    assert time_limits_of(Options(), TimeLimits(1, 2)) is None
    assert time_limits_of(Options(time_limit=5), TimeLimits(1, 2)) == TimeLimits(None, 5)
    assert time_limits_of(Options(time_limit=5), None) == TimeLimits(None, 5)
    assert time_limits_of(Options(soft_time_limit=1), None) == TimeLimits(1, None)
    with pytest.raises(OptionError, match=r"^soft_time_limit: 5 is not below time_limit: 2$"):
        time_limits_of(Options(soft_time_limit=5), TimeLimits(None, 2))


def test_a_delay_is_at_most_what_can_wait() -> None:
    assert [delay_of(Options(countdown=seconds), 0.0, 900.0) for seconds in (0, 0.5, 899.5, 900)] == [0, 1, 900, 900]
    with pytest.raises(
        OptionError, match=r"^countdown: 901 s is longer than a task can wait here, 86400 s \(1 days\)$".replace("901", "86401")
    ):
        delay_of(Options(countdown=86_401), 0.0, 86_400.0)


def test_arguments_as_data_are_a_list_and_a_mapping() -> None:
    assert (given([1], None), given((1,), {"a": 2}), given((), {})) == (((1,), {}), ((1,), {"a": 2}), ((), {}))
    for args, kwargs, words in (("ab", {}, "args: expected a list or a tuple of arguments, got str"),
                                ([], [1], "kwargs: expected a mapping of names to arguments, got list")):  # fmt: skip
        with pytest.raises(ArgumentError) as caught:
            given(args, kwargs)  # type: ignore[arg-type]
        assert str(caught.value).endswith(words)


def test_stamps_are_added_to_those_that_are_there() -> None:
    one = Options(stamps={"a": "1", "b": "2"})
    assert changed(one, {"stamps": {"b": "3"}}).stamps == {"a": "1", "b": "3"}
    assert changed(one, {"queue": "q"}) == Options(queue="q", stamps={"a": "1", "b": "2"})
    assert changed(Options(), {"stamps": {"b": "3"}}).stamps == {"b": "3"}
    with pytest.raises(UnknownOption, match=r"^alpha: not an option"):
        changed(one, {"zeta": 1, "alpha": 2})


def mixed(one: int, two: int | str, three: Any) -> None:
    """Take three by position."""


def named(one: int, *, two: int) -> None:
    """Take one by name."""


class Called:
    """An object that is called."""

    def __call__(self, one: int, two: int, **more: int) -> None:
        """Take two."""


def test_arguments_that_fit_are_given_on_as_they_are() -> None:
    for args in ((1, 2, object()), (1, "x", None)):
        found, names = Parameters(mixed).fit(args, {})
        assert (found is args, names) == (True, {})
    assert Parameters(named).fit((1,), {"two": 2}) == ([1], {"two": 2})


KEYWORD_ONLY = "keyword-only " if sys.version_info >= (3, 13) else ""
"""`inspect` says so since Python 3.13."""


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "words"),
    [
        (named, (1,), {}, f"missing a required {KEYWORD_ONLY}argument: 'two'; named takes (one, *, two)"),
        (mixed, (1, 2, 3), {"four": 4}, "got an unexpected keyword argument 'four'; mixed takes (one, two, three)"),
        (mixed, (1,), {"two": 2}, "missing a required argument: 'three'; mixed takes (one, two, three)"),
        (Called(), (1,), {"other": 2}, "missing a required argument: 'two'; Called takes (one, two, **more)"),
    ],
)
def test_arguments_that_cannot_be_bound_are_refused_with_the_parameters(function: Any, args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Parameters(function).fit(args, kwargs)
    assert (caught.value.field, caught.value.detail) == ("data", words)


def test_too_many_arguments_are_told_before_a_wrong_one() -> None:
    with pytest.raises(ArgumentError) as caught:
        Parameters(mixed).takes(2, ("x", "y"), {})
    assert (caught.value.field, kind_of(int | set[int]).unchecked) == ("data", False)
    with pytest.raises(ArgumentError) as caught:
        Parameters(mixed).takes(0, ("x",), {})
    assert caught.value.field == "data"


def test_a_year_is_the_longest_delay_and_stamps_are_checked_at_once() -> None:
    assert (delay_of(Options(countdown=31_622_400), 0.0), MAX_DELAY_S) == (31_622_400, 31_622_400.0)
    with pytest.raises(OptionError, match=r"^countdown: 31622400 s is longer than a task can wait here, 31622400 s \(366 days\)$"):
        delay_of(Options(countdown=31_622_400.25), 0.0)
    with pytest.raises(OptionError):
        Options(stamps={"a b": "x"})
