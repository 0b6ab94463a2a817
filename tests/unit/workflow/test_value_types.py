"""The types of values that travel between steps: which words name them, what fits what, and what a part of a value is."""

import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, Optional, TypedDict, Union
from uuid import UUID

import pytest

from sedano.model.workflow import value_types as kinds
from sedano.model.workflow.value_types import NoSuchPart, fits, from_words, in_words, item, part, returned, shown, taken


class Colour(Enum):
    """Values of two types."""

    RED = "red"
    FIVE = 5


class Size(IntEnum):
    """Values of one type."""

    SMALL = 1
    LARGE = 2


class Price(TypedDict):
    """Two fields."""

    total: int
    lines: list[str]


class Other:
    """A class of the user."""


@pytest.mark.parametrize(
    ("words", "annotation"),
    [
        *((word, kind) for word, kind in (("any", Any), ("int", int), ("float", float), ("str", str), ("bool", bool), ("list", list),
                                          ("dict", dict), ("None", type(None)), ("UUID", UUID), ("datetime", datetime), ("date", date),
                                          ("Decimal", Decimal))),
        ("list[int]", list[int]), ("list[list[str]]", list[list[str]]), ("int | None", int | None), ("list[int | None]", list[int | None]),
        ("list[int | str] | None | float", list[int | str] | None | float), ("  int|str ", int | str),
    ],
)  # fmt: skip
def test_words_name_a_type(words: str, annotation: Any) -> None:
    assert from_words(words) == annotation
    assert in_words(annotation) == words.strip().replace("int|str", "int | str")


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Other, "any"), (Other | None, "any"), (int | Any, "any"), (Optional[int], "int | None"), (Union[int, str], "int | str"),  # noqa: UP007, UP045
        (list[Other], "list[any]"), (tuple[int, int], "any"), (dict[str, int], "any"),
    ],
)  # fmt: skip
def test_a_type_without_words_is_any(annotation: Any, words: str) -> None:
    assert in_words(annotation) == words


@pytest.mark.parametrize(
    ("words", "wrong"), [("integer", "integer"), ("list[x]", "x"), ("int |", ""), ("list[int", "list[int"), ("[int]", "[int]")]
)
def test_other_words_name_no_type(words: str, wrong: str) -> None:
    known = "any, int, float, str, bool, list, dict, None, UUID, datetime, date, Decimal"
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are compared
        from_words(words)
    assert str(caught.value) == f"{wrong!r} is not a type; known are {known}, list[…], and several joined by |"


def typed(one: int, two, *rest: str, **more: float) -> list[int]:  # type: ignore[no-untyped-def]
    """Have annotations."""
    raise NotImplementedError


def untyped(one):  # type: ignore[no-untyped-def]
    """Have none."""


def unknown(one: "Missing", two: int) -> int:  # type: ignore[name-defined] # noqa: F821
    """Have one that names nothing."""
    raise NotImplementedError


def unreadable(one: "int.missing", two: int) -> "int.missing":  # type: ignore[name-defined]
    """Have one that names no attribute."""
    raise NotImplementedError


def no_type(one: "int | 5", two: int) -> int:  # type: ignore[valid-type]
    """Have one that is no type."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        (typed, {"one": int, "two": Any, "rest": str, "more": float}, list[int]),
        (untyped, {"one": Any}, Any),
        (unknown, {"one": Any, "two": Any}, Any),
        (unreadable, {"one": Any, "two": Any}, Any),
        (no_type, {"one": Any, "two": Any}, Any),
    ],
)
def test_a_function_takes_and_returns_what_it_is_annotated_with(function: Callable[..., Any], arguments: Any, result: Any) -> None:
    assert taken(function) == arguments
    assert list(taken(function)) == list(arguments)
    assert returned(function) == result


@pytest.mark.parametrize(
    ("given", "wanted", "answer"),
    [
        (int, int, True), (int, float, True), (float, int, False), (int, str, False), (bool, int, False), (bool, float, False),
        (str, bool, False), (type(None), int, False), (None, None, True), (None, int, False),
        (None, int | None, True), (int, int | None, True),
        (int | None, int, False), (int | None, int | None, True), (int | str, int, False), (int | str, str | float, True),
        (Any, int, True), (int, Any, True), (Other, int, True), (int, Other, True), (Other, list[int], True), (Any | int, str, False),
        (UUID, str, True), (str, UUID, True), (UUID, UUID, True), (UUID, date, False), (Decimal, str, True), (Decimal, datetime, False),
        (date, int, False), (int, UUID, False), (datetime, date, False),
        (list[int], list[int], True), (list[int], list[float], True), (list[float], list[int], False), (list, list[int], True),
        (list[int], list, True), (tuple[int, ...], list[int], True), (tuple[str, ...], list[int], False), (Sequence[int], list[int], True),
        (list[int], Sequence[str], False), (tuple[int, int], list[str], True), (list[list[int]], list[list[str]], False),
        (list[int], dict, False), (list, str, False), (list[int | None], list[int], False),
        (dict[str, int], dict[str, int], True), (dict[str, int], Mapping[str, float], True), (dict[str, float], dict[str, int], False),
        (dict, dict[str, int], True), (dict[str, int], dict, True), (Price, dict[str, str], True), (dict[str, int], Price, True),
        (Price, int, False), (Price, list, False),
        (Literal[1, 2], int, True), (Literal[1, 2], str, False), (Literal[1, "x"], int, False), (Literal["x"], str, True),
        (Size, int, True), (Size, str, False), (Colour, int, False), (Colour, int | str, True), (int, Size, True), (float, Size, False),
        (str, Colour, True), (Annotated[int, "text"], int, True), (Annotated[int | None, "text"], int, False),
        (Optional[int], int, False), (Union[int, str], int | str, True), (int, Annotated[float, "text"], True),  # noqa: UP007, UP045
    ],
)  # fmt: skip
def test_only_a_certain_mismatch_does_not_fit(given: Any, wanted: Any, answer: bool) -> None:
    assert fits(given, wanted) is answer


@pytest.mark.parametrize(
    ("annotation", "path", "expected"),
    [
        (int, (), int),
        (list[int], (0,), int),
        (list[dict[str, float]], (3, "x"), float),
        (Price, ("lines", 0), str),
        (Price, ("total",), int),
        (dict[str, list[int]], ("any", 5), int),
        (dict, ("x",), Any),
        (dict, (0,), Any),
        (list, (0,), Any),
        (tuple[int, ...], (0,), int),
        (tuple[int, str], (0,), Any),
        (Any, ("x", 0), Any),
        (Other, ("x",), Any),
        (list[int] | None, (0,), int),
        (list[int] | list[str], (0,), Any),
        (Price | None, ("lines",), list[str]),
        (Annotated[list[int], "text"], (0,), int),
        (Mapping[str, int], ("x",), int),
    ],
)
def test_a_part_of_a_value_has_a_type(annotation: Any, path: tuple[Any, ...], expected: Any) -> None:
    assert part(annotation, path) == expected


@pytest.mark.parametrize(
    ("annotation", "path", "words"),
    [
        (int, ("x",), "int has no part 'x'"),
        (list[int], ("x",), "list[int] has no part 'x'"),
        (list[int], (0, 1), "int has no part 1"),
        (Price, ("sum",), "Price has no 'sum'; it has total, lines"),
        (Price, (0,), "Price has no 0; it has total, lines"),
        (UUID, (0,), "UUID has no part 0"),
        (int | None, ("x",), "int has no part 'x'"),
        (list[int] | str, (0,), "str has no part 0"),
        (typing.List[int], ("x",), "List[int] has no part 'x'"),  # noqa: UP006
    ],
)
def test_a_part_that_cannot_exist_is_refused(annotation: Any, path: tuple[Any, ...], words: str) -> None:
    with pytest.raises(NoSuchPart) as caught:
        part(annotation, path)
    assert str(caught.value) == words


def test_the_items_of_a_list_have_a_type() -> None:
    assert [item(one) for one in (list[int], tuple[str, ...], list, Any, Other, Sequence[float])] == [int, str, Any, Any, Any, float]
    assert (item(list[int] | list[str]), item(tuple[int, str]), item(set[int])) == (Any, Any, Any)
    for annotation, words in ((int, "int"), (Price, "Price"), (list[int] | None, "None"), (dict[str, int], "dict[str, int]")):
        with pytest.raises(NoSuchPart) as caught:
            item(annotation)
        assert str(caught.value) == f"expected a list, not {words}"


def test_a_type_is_shown_as_source_code() -> None:
    assert [shown(one) for one in (int, None, type(None), int | None, list[int], Price, Any)] == [
        "int", "None", "None", "int | None", "list[int]", "Price", "Any",
    ]  # fmt: skip
    assert (shown(Literal[1, 2]), shown(typing.Sequence[int])) == ("Literal[1, 2]", "Sequence[int]")
    assert kinds.NONE is type(None)
