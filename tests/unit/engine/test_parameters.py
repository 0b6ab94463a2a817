"""Do these arguments fit? Checked against the annotations of the task, for a message can come from anyone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import pydantic
import pytest

from sedano import Sedano, testing
from sedano.errors import ArgumentError, OptionError
from sedano.model.messages import codec
from sedano.model.tasks.parameters import Parameters

ID = "0af76519-16cd-43dd-8448-eb211c80319c"


class Colour(Enum):
    """An enum whose values are texts."""

    RED = "red"


class Line(NamedTuple):
    """A named tuple with a default."""

    item: str
    amount: int = 1


@dataclass(frozen=True)
class Order:
    """A dataclass that holds others."""

    day: date
    lines: list[Line]
    note: str | None = None
    total: int = field(init=False, default=0)


@dataclass
class Tree:
    """A dataclass that holds itself."""

    leaves: "list[Tree]"


class Placed(TypedDict):
    """A typed dictionary."""

    at: date


class Model(pydantic.BaseModel):
    """A pydantic model."""

    model_config = pydantic.ConfigDict(extra="forbid")
    at: date


class Key(str):
    """A text with a name."""

    __slots__ = ()


def fit(annotation: Any, value: Any) -> Any:
    """What a parameter with this annotation makes of *value*."""

    def task(x: Any) -> None:
        """Take one argument."""

    task.__annotations__["x"] = annotation
    args, _ = Parameters(task).fit([value], {})
    return args[0]


FITS: list[tuple[Any, Any, Any]] = [
    (int, 5, 5), (str, "a", "a"), (bool, True, True), (float, 2.5, 2.5), (float, 2, 2), (None, None, None), (list, [1], [1]),
    (list[int], [1], [1]), (dict, {"a": 1}, {"a": 1}), (dict[str, int], {}, {}), (tuple, [1], (1,)), (Sequence[int], [1], [1]),
    (Mapping[str, int], {"a": 1}, {"a": 1}), (int | None, None, None), (int | str, "a", "a"), (Any, object, object),
    (UUID, ID, UUID(ID)), (UUID, UUID(ID), UUID(ID)), (date, "2026-01-01", date(2026, 1, 1)), (Decimal, "1.10", Decimal("1.10")),
    (datetime, "2026-01-01T00:00:00+00:00", datetime(2026, 1, 1, tzinfo=UTC)), (Colour, "red", Colour.RED), (Literal["a", 1], 1, 1),
    (UUID | None, ID, UUID(ID)), (UUID | None, None, None),
    (list[date], ["2026-01-01"], [date(2026, 1, 1)]), (tuple[int, str], [1, "a"], (1, "a")), (tuple[date, ...], [], ()),
    (dict[str, Decimal], {"a": "1.5"}, {"a": Decimal("1.5")}), (dict[UUID, int], {ID: 1}, {UUID(ID): 1}),
    (Order, {"day": "2026-01-01", "lines": [["tea", 2]]}, Order(date(2026, 1, 1), [Line("tea", 2)])),
    (Order, {"day": "2026-01-01", "lines": [], "note": None}, Order(date(2026, 1, 1), [])), (Line, ["tea"], Line("tea")),
    (Placed, {"at": "2026-01-01"}, {"at": date(2026, 1, 1)}), (Tree, {"leaves": [{"leaves": []}]}, Tree([Tree([])])),
    (Model, {"at": "2026-01-01"}, Model(at=date(2026, 1, 1))), (Key, "k", Key("k")), (Annotated[date, "x"], "2026-01-01", date(2026, 1, 1)),
    (Order | None, None, None), (list[Order | None], [None], [None]), (date | str, "2026-01-01", "2026-01-01"),
]  # fmt: skip
MISFITS: list[tuple[Any, Any, str]] = [
    (int, "5", "expected int, got str"), (int, True, "expected int, got bool"), (int, 5.0, "expected int, got float"),
    (str, 5, "expected str, got int"), (bool, 1, "expected bool, got int"), (float, "2", "expected float, got str"),
    (list, {}, "expected list"), (dict, [], "expected dict"), (int | None, "x", "expected int or None"), (UUID, "x", "expected UUID"),
    (UUID, 5, "expected UUID"), (date, "tomorrow", "expected date"), (Decimal, "x", "expected Decimal"), (Decimal, 1.1, "expected Decimal"),
    (list[int], ["x"], "item 0: expected int, got str"), (tuple[int, str], [1], "expected 2 items, got 1"),
    (Order, {"lines": []}, "day is missing"), (Order, {"day": "2026-01-01", "lines": [], "x": 1}, "x is unknown"),
    (Order, {"day": "2026-01-01", "lines": [["tea", "2"]]}, "lines: expected list"), (Model, {"at": 5, "x": 1}, "expected Model"),
    (dict[str, int], {"a": "b"}, "a: expected int, got str"), (Placed, {}, "at is missing"), (Line, [], "expected 2 items"),
    (Colour, "blue", "expected Colour"), (Literal["a", 1], True, "expected one of 'a', 1"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "value", "seen"), FITS)
def test_it_fits_and_becomes(annotation: Any, value: Any, seen: Any) -> None:
    assert fit(annotation, value) == seen


@pytest.mark.parametrize(("annotation", "value", "said"), MISFITS)
def test_it_does_not_fit_and_is_named(annotation: Any, value: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        fit(annotation, value)
    assert refused.value.field == "data.args[0]"
    assert said in refused.value.detail


def order(what: str, amount: int = 1, *tags: str, note: str | None = None, **more: int) -> None:
    """A task with every kind of parameter."""


@pytest.mark.parametrize(
    ("args", "kwargs", "field"),
    [
        ((), {}, "data"), (("tea", "two"), {}, "data.args[1]"), (("tea", 2, "a", 5), {}, "data.args[3]"),
        (("tea",), {"amount": "two"}, "data.kwargs.amount"), (("tea",), {"note": 5}, "data.kwargs.note"),
        (("tea",), {"size": "large"}, "data.kwargs.size"), (("tea",), {"what": "coffee"}, "data"), ((5,), {}, "data.args[0]"),
    ],
)  # fmt: skip
def test_the_wrong_argument_is_named(args: tuple[Any, ...], kwargs: dict[str, Any], field: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        Parameters(order).fit(args, kwargs)
    assert refused.value.field == field


def test_everything_that_fits_passes() -> None:
    args, kwargs = Parameters(order).fit(("tea", 2, "hot"), {"note": None, "size": 3})
    order(*args, **kwargs)
    assert (list(args), dict(kwargs)) == (["tea", 2, "hot"], {"note": None, "size": 3})


def test_a_bound_self_is_skipped() -> None:
    class Box:
        def __init__(self, size: int) -> None:
            self.size = size

    assert Parameters(Box.__init__, skip=1).fit((), {"size": 3}) == ([], {"size": 3})


def test_annotations_that_cannot_be_read_check_nothing() -> None:
    def task(x: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821 - a name that exists nowhere is the point
        """Take anything."""

    assert Parameters(task).fit([object], {})[0] == [object]


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "room"),
    [
        (lambda: 0, 0, {}, 0), (lambda a: 0, 0, {}, 1), (lambda a, b, c: 0, 0, {}, 3), (lambda a, b, c: 0, 1, {"c": 1}, 1),
        (lambda a: 0, 2, {}, 0), (lambda a, *rest: 0, 5, {}, 1_000), (lambda a, *, b: 0, 0, {}, 1),
    ],
)  # fmt: skip
def test_how_much_room_is_left_decides_what_an_error_callback_is_called_with(function, args, kwargs, room):
    assert Parameters(function).room(args, kwargs) == room


def test_arguments_are_checked_beside_a_value_that_is_not_known_yet():
    def both(first: int, second: str, *, third: int = 0) -> None:
        """Take two."""

    parameters = Parameters(both)
    parameters.takes(1, ("x",), {"third": 3})
    named: dict[str, Any] = {"third": "3"}
    wrongs: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((5,), {}, "data.args[0]"), (("x", "y"), {}, "data"), ((), {}, "data"), (("x",), named, "data.kwargs.third"),
    ]  # fmt: skip
    for args, kwargs, place in wrongs:
        with pytest.raises(ArgumentError) as wrong:
            parameters.takes(1, args, kwargs)
        assert wrong.value.field == place


RESTORED = [
    date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), UUID(ID), Decimal("1.10"), Colour.RED, Line("tea", 2), (1, "a"), Key("k"),
    Order(date(2026, 1, 1), [Line("tea", 2)]), Model(at=date(2026, 1, 1)), Tree([Tree([])]), [date(2026, 1, 1)], {"a": Decimal(2)},
]  # fmt: skip


@pytest.mark.parametrize("value", RESTORED, ids=repr)
def test_what_is_written_is_restored_by_its_annotation(value: Any) -> None:
    annotations = {list: list[date], dict: dict[str, Decimal], tuple: tuple[int, str]}
    written = codec.decode_value(codec.encode_value(value, "value"))
    restored = fit(annotations.get(type(value), type(value)), written)
    assert (restored, type(restored)) == (value, type(value))


@pytest.mark.parametrize("value", RESTORED, ids=repr)
def test_a_body_and_its_caller_see_what_the_annotations_say(value: Any) -> None:
    annotations = {list: list[date], dict: dict[str, Decimal], tuple: tuple[int, str]}
    app, seen = Sedano("shop"), []

    def echo(x: Any) -> Any:
        seen.append(x)
        return x

    echo.__annotations__ = dict.fromkeys(("x", "return"), annotations.get(type(value), type(value)))
    task = app.task(name="echo")(echo)
    with testing.world(app):
        answers = [task.delay(value).get(), app.result(task.delay(value).id).get()]
    assert [(one, type(one)) for one in (*seen, *answers)] == [(value, type(value))] * 4


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (bytes, "bytes has no JSON form; send text"), (set[int], "set has no JSON form; use a list"),
        (list[set[int]], "set has no JSON form"), (dict[int, str], "the keys of a JSON object are strings"),
        (Sedano, "Sedano has no JSON form; use a dataclass"), (complex | None, "complex has no JSON form"),
    ],
)  # fmt: skip
def test_an_annotation_that_json_cannot_carry_is_refused_where_it_is_declared(annotation: Any, said: str) -> None:
    def task(x: Any) -> None:
        """Take one argument."""

    def giving() -> Any:
        """Return a value."""

    task.__annotations__["x"] = giving.__annotations__["return"] = annotation
    for function in (task, giving):
        with pytest.raises(OptionError, match=said):
            Sedano("shop").task(function)
    Sedano("shop").task(ignore_result=True)(giving)


def test_a_result_that_its_annotation_does_not_fit_is_given_as_it_was_recorded() -> None:
    app = Sedano("shop")

    @app.task
    def late() -> date:
        return "tomorrow"  # type: ignore[return-value] # that is the point

    with testing.world(app):
        assert late.delay().get() == "tomorrow"
