"""Stories of inline links and time: each link that begins has the time that it needs, and a chain holds up nothing else for long."""

from dataclasses import replace

import pytest

from sedano import chain
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import states
from sedano.ports.limits import Limits
from tests.stories.chained import Line
from tests.stories.mutants import Delegating
from tests.stories.processes import COMMANDS, INVOCATION_S

ON = WorkerSettings(lanes=0)


class SlowPermits(Delegating):
    """Limits whose permits take *seconds* to give back."""

    def __init__(self, inner: Limits, line: Line, seconds: float) -> None:
        """Pass the time of *line*."""
        super().__init__(inner)
        self._line, self._seconds = line, seconds

    def give_back(self, *arguments: object) -> object:
        """Give back slowly."""
        self._line.stage.pass_time(self._seconds)
        return self.inner.give_back(*arguments)


def test_a_link_whose_limit_no_longer_fits_when_it_is_taken_is_sent() -> None:
    line, limit = Line(1), 20.0
    first = line.shop.task("first", lambda: line.stage.pass_time(INVOCATION_S - ON.guard - limit - 0.02) or 1, concurrency=5)
    second = line.shop.task("second", lambda before: before + 1, time_limit=limit)
    line.processes.restart(replace(line.stage.ports, limits=SlowPermits(line.stage.ports.limits, line, 0.05)))
    result = chain(first.s(), second.s()).delay()
    line.processes.deliver()
    assert (line.shop.ran["first"], line.shop.ran["second"], len(line.stage.peek(COMMANDS))) == (1, 0, 1)
    assert line.stage.audit.writes["record"] == 2, "the claim of the link that did not begin is released"
    line.processes.drain()
    assert (result.get(timeout=1), line.shop.ran["second"]) == (2, 1)


def test_a_message_whose_limit_never_fits_still_fails() -> None:
    line = Line(1)
    second = line.shop.task("second", lambda before: before + 1, time_limit=INVOCATION_S)
    result = chain(line.step.s(0, 0), second.s()).delay()
    line.processes.drain()
    assert (result.state, line.shop.ran["second"]) == (states.FAILURE, 0)
    with pytest.raises(Exception, match="OptionError"):
        result.get(timeout=1)
