"""An exception is written as the name of its class and JSON arguments, and made again only of a class that the app names."""

import json
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.ledger.raised_errors import MOST_ARGUMENTS, caused, checked, name_of, recorded, restored
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


class Coded(Exception):
    """An exception with an attribute that is one of its arguments."""

    def __init__(self, code: int) -> None:
        """Keep the code."""
        super().__init__(code)
        self.code = code


class Wrapped(Exception):
    """An exception whose only argument is another text than the one it takes."""

    def __init__(self, text: str) -> None:
        """Add words."""
        super().__init__(f"it failed: {text}")


class Defaulted(Exception):
    """An exception with an attribute that is none of its arguments."""

    def __init__(self, text: str, status: int = 500) -> None:
        """Keep the status."""
        super().__init__(text)
        self.status = status


class Slotted(Exception):
    """An exception with an attribute in a slot."""

    __slots__ = ("extra",)


class Exits(Exception):
    """An exception whose constructor ends the program when it is told to."""

    ends: BaseException | None = None

    def __init__(self, *args: Any) -> None:
        """End the program, or not."""
        super().__init__(*args)
        if Exits.ends is not None:
            raise Exits.ends


class Rude:
    """A value that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        """Raise."""
        raise SystemError("no")

    __hash__ = None  # type: ignore[assignment] # as of any value that defines only equality


class Incomparable(Exception):
    """An exception with a value that cannot be compared."""

    def __init__(self) -> None:
        """Keep such a value."""
        super().__init__()
        self.value = Rude()


class Causeless(Exception):
    """An exception whose cause cannot be set."""

    @property
    def __cause__(self) -> None:  # type: ignore[override]
        """Return none."""


class Forgetful(Exception):
    """An exception that forgets its cause."""

    def __setattr__(self, name: str, value: object) -> None:
        """Do nothing."""


class Noteless(Exception):
    """An exception that takes no notes."""

    def add_note(self, note: str) -> None:
        """Raise."""
        raise ValueError(note)


class Leaving(SystemExit, Exception):
    """An exception that ends the program."""


def with_(error: Exception, **attributes: Any) -> Exception:
    """The exception with these attributes."""
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


CLASSES = checked([
    Refused, Two, Odd, Evil, KeyError, Coded, Wrapped, Defaulted, Slotted, Exits, Incomparable, OSError, FileNotFoundError, ImportError,
    AttributeError, UnicodeDecodeError,
])  # fmt: skip
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
        (1, 2), b"x", {1}, float("nan"), float("inf"), object(), {1: 2}, {"a": 1, None: 2}, [(1,)], {"a": 1, "b": (1,)}, Refused("x"),
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
    "thrown",
    [
        Wrapped("x"), Defaulted("x", 404), with_(Refused("x"), extra=1), with_(Slotted("x"), extra=1), FileNotFoundError(2, "no", "a.txt"),
        ImportError("no", name="a"), Incomparable(), Two(1, 2), UnicodeDecodeError("utf8", b"a", 0, 1, "x"), with_(Coded(5), code=6),
    ],
    ids=repr,
)  # fmt: skip
def test_an_exception_that_its_class_does_not_make_again_is_not_written(thrown: Exception) -> None:
    assert recorded(ERROR, thrown, CLASSES) is ERROR


@pytest.mark.parametrize(
    "thrown",
    [
        Coded(5), Defaulted("x"), with_(Refused("x"), __notes__=["n"], __sedano_mark__=1), OSError("no"), FileNotFoundError(2, "no"),
        ImportError("no"), AttributeError("no", name="a", obj=7), Slotted("x"), Exits("x"), Refused({"a": [1, {"b": None}], "c": {}}, "x"),
    ],
    ids=repr,
)  # fmt: skip
def test_an_exception_that_its_class_makes_again_is_written(thrown: Exception) -> None:
    again = restored(recorded(ERROR, thrown, CLASSES), CLASSES)
    assert again is not None
    assert (type(again), again.args) == (type(thrown), thrown.args)


def test_an_exception_that_is_referred_to_weakly_is_written() -> None:
    thrown = Refused("x")
    watched = weakref.ref(thrown)
    assert recorded(ERROR, thrown, CLASSES).arguments == '["x"]'
    assert watched() is thrown


@pytest.mark.parametrize("ends", [SystemExit(3), GeneratorExit(), MemoryError()])
def test_a_constructor_that_raises_anything_neither_ends_the_worker_nor_the_reader(ends: BaseException) -> None:
    thrown = Exits("x")
    kept = recorded(ERROR, thrown, CLASSES)
    Exits.ends = ends
    try:
        assert restored(kept, CLASSES) is None
        assert recorded(ERROR, thrown, CLASSES) is ERROR
        Exits.ends = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            restored(kept, CLASSES)
    finally:
        Exits.ends = None


def test_an_exception_gets_its_cause_and_its_notes() -> None:
    remote, made = ValueError("remote"), Refused("x")
    assert caused(made, remote, "") is made
    assert (made.__cause__, getattr(made, "__notes__", [])) == (remote, [])
    assert caused(made, remote, "n") is made
    assert made.__notes__ == ["n"]


@pytest.mark.parametrize("kind", [Causeless, Forgetful, Noteless])
def test_an_exception_that_takes_no_cause_or_no_note_is_replaced_by_the_remote_one(kind: type[Exception]) -> None:
    remote = ValueError("remote")
    assert caused(kind("x"), remote, "n") is remote


@pytest.mark.parametrize("wrong", [Refused, 5, None, object(), "", {}, set(), {KeyError}, iter([KeyError])])
def test_the_classes_are_given_as_a_list(wrong: Any) -> None:
    with pytest.raises(OptionError, match=r"is not a list of classes; write raises=\["):
        checked(wrong)


def test_a_tuple_of_classes_is_a_list_and_one_that_is_named_twice_counts_once() -> None:
    assert checked((KeyError, KeyError)) == {"builtins:KeyError": KeyError}


@pytest.mark.parametrize("wrong", [StopIteration, StopAsyncIteration, Leaving, type("Ends", (StopIteration,), {})])
def test_a_class_that_would_end_the_reader_or_its_loop_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError, match=f"{wrong.__name__} would end the reader, or a loop of it; raise a class of your own"):
        checked([KeyError, wrong])
    assert checked([ExceptionGroup])


def test_two_classes_of_one_name_are_refused() -> None:
    twin = type("Refused", (Exception,), {"__module__": __name__})
    with pytest.raises(OptionError, match=f"two classes are named {name_of(twin)}"):
        checked([Refused, twin])


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
