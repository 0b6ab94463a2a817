"""An exception is written as the name of its class and JSON arguments, and made again only of a class that the app names."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.ledger.raised_errors import MOST_ARGUMENTS, checked, name_of, recorded, restored
from sedano.model.ledger.records import ErrorRecord

ERROR = ErrorRecord("Refused", "no", "text", cause="t1", notes="two")
TOLD: list[tuple[Any, ...]] = []


class Refused(Exception):
    """An exception of the app."""


class Other(Refused):
    """A subclass, which is another class."""


class Two(Exception):
    """An exception whose constructor does not take its arguments."""

    def __init__(self, a: int, b: int) -> None:
        """Keep one of the two as the argument."""
        super().__init__(a)


class Odd(Exception):
    """An exception whose class makes another object."""

    def __new__(cls, *args: Any) -> Any:
        """Return a `Refused` for one argument."""
        return super().__new__(Refused if args == ("odd",) else cls)


class Evil(Exception):
    """An exception whose arguments cannot be read."""

    @property
    def args(self) -> Any:  # type: ignore[override]
        """Raise."""
        raise RuntimeError("no arguments")


CLASSES = checked([Refused, Two, Odd, Evil, KeyError])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(JSON, max_size=3))
def test_an_exception_comes_back_with_its_class_and_its_arguments(arguments: list[Any]) -> None:
    kept = recorded(ERROR, Refused(*arguments), CLASSES)
    assert kept[:5] == ERROR[:5]
    assert (kept.raised, json.loads(kept.arguments), kept.arguments.isascii()) == (f"{__name__}:Refused", arguments, True)
    again = restored(kept, CLASSES)
    assert type(again) is Refused
    assert json.dumps(again.args) == json.dumps(arguments)


@pytest.mark.parametrize(
    "argument",
    [
        (1, 2), b"x", {1}, float("nan"), float("inf"), object(), {1: 2}, {"a": 1, None: 2}, [(1,)], {"a": (1,)}, Refused("x"),
        "\ud800" * 200, "x" * MOST_ARGUMENTS, type("Text", (str,), {})("x"),
        type("Number", (int,), {})(1), [True, type("Deep", (str,), {})("x")],
    ],
    ids=lambda argument: type(argument).__name__,
)  # fmt: skip
def test_arguments_that_json_changes_or_that_are_too_long_are_not_written(argument: object) -> None:
    assert recorded(ERROR, Refused(argument), CLASSES) is ERROR


def test_the_longest_arguments_are_written() -> None:
    assert len(recorded(ERROR, Refused("x" * 996), CLASSES).arguments) == MOST_ARGUMENTS == 1_000
    assert recorded(ERROR, Refused("x" * 997), CLASSES) is ERROR


def test_the_classes_of_an_app_are_found_by_module_and_name() -> None:
    assert checked([KeyError, Refused]) == {"builtins:KeyError": KeyError, f"{__name__}:Refused": Refused}


@pytest.mark.parametrize("thrown", [Other("x"), ValueError("x"), Evil("x"), SystemExit(1)])
def test_other_classes_and_exceptions_that_cannot_be_read_are_not_written(thrown: BaseException) -> None:
    assert recorded(ERROR, thrown, CLASSES) is ERROR


def test_a_class_of_the_same_name_that_is_not_the_named_one_is_not_written() -> None:
    twin = type("Refused", (Exception,), {"__module__": __name__})
    assert name_of(twin) == name_of(Refused)
    assert recorded(ERROR, twin("x"), CLASSES) is ERROR


@pytest.mark.parametrize(
    ("raised", "arguments"),
    [
        ("", ""), ("os:system", '["x"]'), ("builtins:ValueError", "[]"), (f"{__name__}:Other", "[]"), (f"{__name__}:TOLD", "[]"),
        (f"{__name__}:Two", "[1]"), (f"{__name__}:Refused", "{"), (f"{__name__}:Refused", "7"), (f"{__name__}:Odd", '["odd"]'),
        (f"{__name__}:Refused", ""),
    ],
)  # fmt: skip
def test_nothing_but_a_named_class_with_fitting_arguments_is_made(raised: str, arguments: str) -> None:
    assert restored(ERROR._replace(raised=raised, arguments=arguments), CLASSES) is None


def test_a_named_class_of_python_is_made() -> None:
    again = restored(recorded(ERROR, KeyError("x"), CLASSES), CLASSES)
    assert (type(again), again and again.args) == (KeyError, ("x",))


@pytest.mark.parametrize("wrong", ["ValueError", ValueError("x"), int, object, BaseException, SystemExit, None])
def test_only_classes_of_exceptions_can_be_named(wrong: Any) -> None:
    with pytest.raises(OptionError, match="is not a class of exceptions; write raises="):
        checked([wrong])
