"""The page about workflows runs as it stands."""

from pathlib import Path
from typing import Any, TypedDict, TypeVar

from sedano import Sedano, testing
from tests.docs.pages import page

PAGE = page("workflow.md")
T = TypeVar("T")


class Price(TypedDict):
    """What an order costs."""

    total: int
    lines: list[str]


class Shop:
    """What the page takes as given: an app with eight tasks; *done*: those that ended well, in order; *broken*: those that fail."""

    def __init__(self) -> None:
        """Declare the tasks."""
        self.app, self.done, self.broken = Sedano("page"), list[str](), set[str]()
        bodies = (self.price_order, self.reserve, self.release, self.charge, self.refund, self.pack, self.wrap, self.ship)
        self.tasks = {body.__name__: self.app.task(name=f"shop.{body.__name__}", retry=False)(body) for body in bodies}

    def names(self) -> dict[str, Any]:
        """The names that the page uses."""
        return {**self.tasks, "app": self.app, "done": self.done, "broken": self.broken}

    def price_order(self, order: int) -> Price:
        """Price an order."""
        return self._ended("price_order", Price(total=30, lines=["tea", "pot"]))

    def reserve(self, order: int) -> str:
        """Reserve its goods."""
        return self._ended("reserve", f"shelf {order}")

    def release(self, shelf: str) -> None:
        """Release them."""
        self._ended("release", None)

    def charge(self, total: int) -> str:
        """Charge the card."""
        return self._ended("charge", f"paid {total}")

    def refund(self, paid: str) -> None:
        """Refund it."""
        self._ended("refund", None)

    def pack(self, line: str) -> str:
        """Pack a line."""
        return self._ended("pack", line.upper())

    def wrap(self, order: int) -> str:
        """Wrap a gift."""
        return self._ended("wrap", "bow")

    def ship(self, parcels: list[str], express: bool = False, gift: str | None = None) -> str:
        """Hand the parcels over."""
        return self._ended("ship", "+".join(parcels))

    def _ended(self, name: str, value: T) -> T:
        if f"shop.{name}" in self.broken:
            raise RuntimeError("the bank is closed" if name == "refund" else "no truck")
        self.done.append(f"shop.{name}")
        return value


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    names = {**Shop().names(), "folder": tmp_path, "__name__": "page"}
    with testing.world(names["app"]) as world:
        for block in PAGE.blocks:
            PAGE.run(block, names)
        world.drain()
        assert world.parked() == []


def test_every_option_that_the_page_names_stands_in_a_block() -> None:
    shown = " ".join(PAGE.blocks)
    words = ["after=", "when=", "compensate=", "retry=", "time_limit=", "each(", "own", ".or_none", "load(", ".retry()", ".svg()", "find("]
    assert [word for word in words if word not in shown] == []
