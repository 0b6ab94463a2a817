"""A call goes to the band that it names, of its own queue or of its task's."""

from typing import Any

import pytest

from sedano import Sedano, chain, every, group
from sedano.errors import OptionError
from sedano.model.messages.codec import decode
from sedano.model.messages.message import Command
from sedano.testing import World, world

QUEUES = ("default", "default-high", "default-low", "mail", "mail-high")


@pytest.fixture
def app() -> Sedano:
    """An app with bands."""
    app = Sedano("shop", queues=QUEUES)
    for name, options in {"plain": {}, "low": {"priority": "low"}, "mailed": {"queue": "mail"}}.items():
        app.task(name=name, **options)(_nothing)  # type: ignore[call-overload]
    return app


def _nothing(*_: Any) -> None:
    return None


def waiting(here: World) -> dict[str, str]:
    """Return the queues by the names of the tasks that wait in them."""
    found = {}
    for queue in QUEUES:
        for message in here.ports.queues.peek(f"commands:{queue}"):  # type: ignore[attr-defined]
            command = decode(message.body)
            assert isinstance(command, Command)
            found[command.task] = queue
    return found


def test_a_call_goes_to_the_band_of_its_tasks_queue(app: Sedano) -> None:
    with world(app) as here:
        for name in ("plain", "low", "mailed"):
            app.signature(name).apply_async(priority="high")
        assert waiting(here) == {"plain": "default-high", "low": "default-high", "mailed": "mail-high"}
        here.drain()


def test_a_band_is_one_of_the_queue_of_the_call(app: Sedano) -> None:
    with world(app) as here:
        app.signature("low").apply_async(priority="high", queue="mail")
        app.signature("plain").apply_async()
        assert waiting(here) == {"low": "mail-high", "plain": "default"}
        here.drain()


def test_a_step_of_a_canvas_goes_to_its_band(app: Sedano) -> None:
    with world(app) as here:
        chain(app.signature("plain").set(priority="low"), app.signature("mailed").set(priority="high")).delay()
        assert waiting(here) == {"plain": "default-low"}
        here.drain()
        low = app.signature("low").set(priority="high")
        chain(app.signature("plain"), group(low, low)).delay()
        found = waiting(here)
        while here.step():
            found |= waiting(here)
        assert found == {"plain": "default", "low": "default-high"}


@pytest.mark.parametrize(
    ("band", "said"), [("urgent", "add it$"), ("", "omit it"), (5, "expected the name of a band, such as 'high', whose")]
)
def test_a_band_without_a_queue_is_refused_at_the_call(app: Sedano, band: Any, said: str) -> None:
    with world(app), pytest.raises(OptionError, match=rf"^priority: .*{said}"):
        app.signature("plain").apply_async(priority=band)


def test_a_schedule_refuses_a_priority(app: Sedano) -> None:
    with world(app), pytest.raises(OptionError, match="priority"):
        app.schedules.add("nightly", every(days=1), app.signature("plain").set(priority="high"))
