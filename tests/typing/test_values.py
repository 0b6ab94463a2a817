"""The types tell the truth: the program that both checkers accept runs in memory, and each value has the type that is asserted."""

import asyncio
import sys
import types
from datetime import timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import pytest

from sedano import testing

SHOP = Path(__file__).parent / "shop.py"
WORKER = Path(__file__).parent / "worker.py"


def is_one(value: Any, kind: Any) -> bool:
    """Return whether *value* has the type *kind*, down to what it holds."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, UnionType):
        return any(is_one(value, one) for one in inside)
    if kind is None or kind is NoneType:
        return value is None
    if origin is list:
        return type(value) is list and all(is_one(one, inside[0]) for one in value)
    if origin is dict:
        return type(value) is dict and all(is_one(name, inside[0]) and is_one(one, inside[1]) for name, one in value.items())
    if origin is tuple:
        return type(value) is tuple and len(value) == len(inside) and all(map(is_one, value, inside))
    return isinstance(value, origin) if origin is not None else type(value) is kind


class Shop:
    """A program, run with an `assert_type` that looks at the value."""

    def __init__(self, program: Path = SHOP) -> None:
        """Load it."""
        self.asserted = 0
        text = program.read_text(encoding="utf-8").replace(", assert_type\n", "\n")
        assert "import assert_type" not in text
        self.names: dict[str, Any] = {"__name__": program.stem, "assert_type": self.assert_type}
        sys.modules[program.stem] = types.ModuleType(program.stem)  # dataclasses look up their module
        try:
            exec(compile(text, program.name, "exec"), self.names)  # noqa: S102 - the program is ours
        finally:
            del sys.modules[program.stem]

    def assert_type(self, value: Any, kind: Any) -> None:
        """Check that *value* is a *kind*."""
        self.asserted += 1
        assert is_one(value, kind), f"{value!r} is a {type(value)}, but the checkers say {kind}"


@pytest.mark.parametrize(("function", "asserted"), [("published", 23), ("awaited", 9), ("signed", 17), ("together", 13)])
def test_each_value_is_of_the_type_that_both_checkers_say(function: str, asserted: int) -> None:
    shop = Shop()
    with testing.world(shop.names["app"]):
        ran = shop.names[function]()
        if ran is not None:
            asyncio.run(ran)
    assert shop.asserted == asserted


def test_what_a_worker_declares_works_as_its_types_say() -> None:
    program = Shop(WORKER)
    names = program.names
    with testing.world(names["app"]) as world:
        assert names["connections"] == ["open"]
        assert names["order"].delay("o-1").get() == len("shop@example.com")
        assert world.boot.states() == {"database": "started", "warm": "started"}
        program.assert_type(names["settings"]().patience, timedelta)
        program.assert_type(names["settings"].origins(), dict[str, str])
        program.assert_type(names["app"].control.broadcast("ping"), str)
    assert names["begun"] == [names["order"].name]
    assert names["connections"] == []


@pytest.mark.parametrize(
    ("value", "kind"), [("2026-01-01", int), ([1, "a"], list[int]), ((1, 2, 3), tuple[int, int]), ({"a": 1}, dict[str, str]), (None, int)]
)
def test_a_value_of_another_type_is_noticed(value: object, kind: object) -> None:
    assert not is_one(value, kind)


def test_the_members_of_a_large_group_within_another_are_restored_each_by_its_own_task() -> None:
    shop = Shop()
    names = shop.names
    with testing.world(names["app"]):
        one, other = names["price"].s(1), names["pair"].s(2)
        many = names["group"]([*[one] * 100, other])
        same = names["group"]([names["group"]([one] * 2), names["size"].s("a")])
        [found, [nested, length], last] = names["group"](many, same, other).delay().get()
    price, pair = names["price"](1), names["pair"](2)
    assert found == [*[price] * 100, pair]
    assert (nested, length, last) == ([price, price], 1, pair)
