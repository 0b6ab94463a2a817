"""A long read of the history says how far it is; a short one says nothing, and no object is lost."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from sedano import Sedano, memory
from sedano.cli.cost_tables import of_tasks
from sedano.cli.exits import Exit
from sedano.cli.read_progress import reported
from sedano.memory import START, VirtualClock
from sedano.memory.events import MemoryEvents


def ticking(step: float) -> Callable[[], float]:
    """Return a clock on which *step* seconds pass between two looks."""
    looks = iter(range(1_000))
    return lambda: next(looks) * step


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (1.0, ["5 objects of the history were read in 5 s", "10 objects of the history were read in 10 s"]),
        (6.0, [f"{n} objects of the history were read in {6 * n} s" for n in range(1, 13)]),
        (0.4, []),
    ],
)  # fmt: skip
def test_a_line_is_printed_for_each_five_seconds(step: float, words: list[str]) -> None:
    said = list[str]()
    objects = [bytes([n]) for n in range(12)]
    assert list(reported(iter(objects), "cost", ticking(step), said.append)) == objects
    assert said == [f"sedano cost: {one}; it goes on" for one in words]


class SlowEvents(MemoryEvents):
    """A history of which each object takes ten seconds."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def read(self, since: str = "") -> Iterator[bytes]:
        """Read it slowly."""
        for one in super().read(since):
            self._clock.advance(10.0)
            yield one


def test_the_cost_of_a_long_history_says_on_stderr_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = VirtualClock(START)
    events, app = SlowEvents(clock), Sedano("long")
    for lines in (b"{}", b"[]"):
        events.append("2030-01-01", lines)
    app.attach(replace(memory.ports(), clock=clock, events=events))
    assert of_tasks(app, 1, as_json=True) == Exit.DONE
    out, err = capsys.readouterr()
    assert json.loads(out)["items"] == []
    assert err.splitlines()[:2] == [f"sedano cost: {n} objects of the history were read in {n}0 s; it goes on" for n in (1, 2)]
