"""Stories of inline links in a process of lanes: a chain goes on only while the process may begin further bodies."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sedano import COLD, Retry, Sedano, chain
from sedano.host import one_file
from sedano.host.engine_process import ProcessSettings
from sedano.host.worker_process import LaneSettings, WorkerProcess
from sedano.model import states
from sedano.model.cluster.inbox import PAUSE, RESUME
from sedano.result import AsyncResult
from tests.stories.lanes_in_threads import PATIENT, SECONDS, VISIBILITY_S
from tests.waiting import until

LINKS = 20


@dataclass(frozen=True)
class Mail:
    """A configuration that a process takes over only while no body runs."""

    pool: int = field(default=1, metadata=COLD)


class Chained:
    """An app with one chain in one process; *during* is called by each link with its number."""

    def __init__(self, folder: Path, lanes: int = 1, most_tasks: int = 0) -> None:
        """Start the process; nothing is published yet."""
        self.layer = folder / "layer.toml"
        self.layer.write_text("pool = 1\n")
        ports = one_file.ports(folder / "own" / "sedano.db", ("default",), VISIBILITY_S)
        self.app = Sedano("lines", retry=Retry(max_retries=0))
        self.configuration = self.app.configure(Mail, layers=[f"toml:{self.layer}"])
        self.during: Callable[[int], object] = lambda _: None
        self.bodies: list[int] = []
        self.pools: list[int] = []
        self.step = self.app.task(name="step")(self._step)
        self.app.attach(ports)
        settings = ProcessSettings(seconds=SECONDS * 60, visibility=VISIBILITY_S, allowed=PATIENT)
        self.process = WorkerProcess(self.app, ports, settings, LaneSettings(lanes, 20.0, 0.1, most_tasks))
        self.thread = threading.Thread(target=self.process.run)
        self.thread.start()

    def _step(self, before: int, number: int) -> int:
        self.bodies.append(number)
        self.pools.append(self.configuration().pool)
        self.during(number)
        return before + 1

    def delay(self) -> AsyncResult[Any]:
        """Publish the chain."""
        return chain(self.step.s(0, 0), *(self.step.s(number) for number in range(1, LINKS))).delay()

    def end(self) -> None:
        """Stop the process."""
        self.process.stop()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Chained]]:
    """Start processes, which have ended when the test has."""
    made: list[Chained] = []

    def started(**settings: Any) -> Chained:
        made.append(Chained(tmp_path, **settings))
        return made[-1]

    yield started
    for one in made:
        one.end()


def test_a_cold_configuration_takes_its_place_before_the_next_link(start: Callable[..., Chained]) -> None:
    line = start()

    def change(number: int) -> None:
        if number == 2:
            line.layer.write_text("pool = 9\n")
            line.app.registry.configuration.reload()  # type: ignore[union-attr]

    line.during = change
    assert line.delay().get(timeout=SECONDS) == LINKS
    assert line.pools == [1] * 3 + [9] * (LINKS - 3)


def test_a_process_that_is_paused_begins_no_further_link(start: Callable[..., Chained]) -> None:
    line = start()
    (worker,) = line.process._workers()
    line.during = lambda number: worker.commands.host[PAUSE]() if number == 2 else None
    result = line.delay()
    until(lambda: len(line.bodies) == 3 and not line.process.running())
    assert (line.bodies, result.state) == ([0, 1, 2], states.PENDING)
    worker.commands.host[RESUME]()
    assert result.get(timeout=SECONDS) == LINKS


def test_a_surplus_lane_ends_before_the_next_link(start: Callable[..., Chained]) -> None:
    line = start(lanes=2)
    line.during = lambda number: line.process.resize(0) if number == 2 else None
    result = line.delay()
    until(lambda: not line.process._lanes)
    assert (line.bodies, result.state) == ([0, 1, 2], states.PENDING)
    line.process.resize(1)
    assert result.get(timeout=SECONDS) == LINKS


def test_links_count_as_tasks_of_the_process(start: Callable[..., Chained]) -> None:
    line = start(most_tasks=4)
    result = line.delay()
    line.thread.join(SECONDS)
    assert (line.bodies, result.state) == ([0, 1, 2, 3], states.PENDING)
