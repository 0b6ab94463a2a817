"""An event that derives from `DomainEvent`, for type checkers, is the event that it would be without."""

import pytest

from sedano import DomainEvent, Sedano, testing
from sedano.errors import OptionError

app = Sedano("domain-events")


@app.event
class Ordered(DomainEvent):
    item: str


class Undeclared(DomainEvent):
    item: str


@Ordered.subscribe
@app.task
def ship(item: str) -> str:
    return item


def test_an_event_for_type_checkers_reaches_its_subscribers_like_any_other() -> None:
    with testing.world(app) as world:
        Ordered.delay(item="tea")
        world.drain()
        assert world.sent(ship.name) == [{"args": [], "kwargs": {"item": "tea"}}]


def test_an_event_that_was_not_declared_says_how_to_declare_it() -> None:
    with pytest.raises(OptionError, match=r"Undeclared: declare it with @app\.event"):
        Undeclared.delay(item="tea")
    with pytest.raises(OptionError, match=r"Undeclared: declare it with @app\.event"):
        Undeclared.subscribe(ship)


def test_an_annotation_may_say_an_event_or_nothing() -> None:
    class_of = type(Ordered(item="tea"))
    assert (Ordered | None) == (class_of | None)
    assert (None | Ordered) == (None | class_of)
    assert (Ordered | int | None) == (class_of | int | None)
