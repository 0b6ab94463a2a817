"""`sedano scale`: processes divide the wished bodies at once and follow within seconds; Lambda has the rest with the next round."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.errors import OptionError
from sedano.host import one_file
from sedano.memory import MemoryTelemetry
from sedano.model.cluster.members import ACTIVE, MemberRecord
from sedano.model.cluster.worker_report import LAMBDA, PROCESS, READY, WorkerReport, text_of
from sedano.ports import Ports, command_queue
from sedano.views.stage_changes import changes
from sedano.views.workers import workers
from tests.stories.lanes_in_threads import SECONDS, Process
from tests.stories.test_controller import Office
from tests.waiting import until

QUEUES = ("default", "mail")
FOLLOWS_S = 2.0
SLACK_S = 4.0
"""The machine may be busy."""


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", QUEUES, 6, MemoryTelemetry())


@pytest.fixture
def app() -> Sedano:
    return Sedano("scaled", retry=Retry(max_retries=0), queues=QUEUES)


@pytest.fixture
def start(app: Sedano, ports: Ports) -> Iterator[Callable[..., Process]]:
    """Start processes, which have ended when the test has."""
    made: list[Process] = []

    def started(**settings: Any) -> Process:
        before = len(app.attach(ports) or app.control.members())
        made.append(Process(app, ports, **settings))
        until(lambda: len(app.control.members()) >= before + settings["concurrency"])
        return made[-1]

    yield started
    for one in made:
        one.end()


class Bodies:
    """Tasks of both queues whose bodies wait until they may end, and the most of each that ran at once."""

    def __init__(self, app: Sedano) -> None:
        self.go, self.lock = threading.Event(), threading.Lock()
        self.running, self.most = dict.fromkeys(QUEUES, 0), dict.fromkeys(QUEUES, 0)
        self.tasks = {queue: app.task(name=f"hold.{queue}", queue=queue)(lambda queue=queue: self.hold(queue)) for queue in QUEUES}

    def hold(self, queue: str) -> None:
        """Count this body while it waits."""
        with self.lock:
            self.running[queue] += 1
            self.most[queue] = max(self.most[queue], self.running[queue])
        assert self.go.wait(SECONDS)
        with self.lock:
            self.running[queue] -= 1


def lanes(app: Sedano) -> dict[str, int]:
    """How many lanes each process has now, by its name."""
    return {one.report.process: one.report.lanes for one in workers(app).rows if one.state == ACTIVE}


def test_two_processes_divide_the_bodies_of_a_queue_within_two_seconds(app: Sedano, start: Callable[..., Process]) -> None:
    bodies = Bodies(app)
    for _ in range(2):
        start(concurrency=1, queues=("mail",))
    with app.batch():
        results = [bodies.tasks["mail"].delay() for _ in range(20)]
    until(lambda: bodies.running["mail"] == 2)
    began = time.monotonic()
    assert app.control.scale("mail", 7) == {"mail": 7}
    until(lambda: bodies.running["mail"] == 7)
    assert time.monotonic() - began < FOLLOWS_S + SLACK_S
    assert sorted(lanes(app).values()) == [3, 4]
    bodies.go.set()
    for one in results:
        one.get(timeout=SECONDS)
    assert bodies.most["mail"] == 7
    app.control.scale("mail", None)
    until(lambda: sorted(lanes(app).values()) == [1, 1])


def test_a_scaled_queue_has_no_more_bodies_and_the_other_queues_of_its_process_keep_their_lanes(
    app: Sedano, start: Callable[..., Process]
) -> None:
    bodies = Bodies(app)
    start(concurrency=3)
    app.control.scale("mail", 1)
    telemetry: Any = app.outlet.ports.telemetry
    until(lambda: "the process takes its share of the scaled concurrency" in telemetry.messages())
    assert [*lanes(app).values()] == [3]
    results = [bodies.tasks["mail"].delay() for _ in range(3)]
    until(lambda: bodies.running["mail"] == 1)
    results += [bodies.tasks["default"].delay() for _ in range(3)]
    until(lambda: bodies.running["default"] == 2)
    bodies.go.set()
    for one in results:
        one.get(timeout=SECONDS)
    assert bodies.most["mail"] == 1, "the lanes that were free took tasks of the other queue"


def test_a_process_that_begins_later_takes_a_share_and_one_that_ends_leaves_it(app: Sedano, start: Callable[..., Process]) -> None:
    first = start(concurrency=2, queues=("mail",))
    app.control.scale("mail", 6)
    until(lambda: [*lanes(app).values()] == [6])
    second = start(concurrency=2, queues=("mail",))
    until(lambda: min(lanes(app).values()) == 3)
    second.end()
    assert first.end() < 10


# ── in memory: the controller and the command ────────────────────────────────────────────────────────

office = Office()
office_app = office.app
APP = ("--app", "tests.stories.test_scale:office_app")


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The office in memory, with a process of four bodies and a function at work on its queue `bulk`."""
    with testing.world(office.app) as world:
        now = world.clock.now()
        process = WorkerReport(host=PROCESS, condition=READY, queues=("bulk",), process="p", started=4, lanes=4)
        function = WorkerReport(host=LAMBDA, condition=READY, queues=("bulk", "default"), lanes=1)
        for name, report in (("p.0", process), ("f", function)):
            world.ports.members.beat(MemberRecord(name, 1, ACTIVE, 0, now, report=text_of(report)))
        yield world


def limit(world: testing.World, queue: str = "bulk") -> int | None:
    """The limit in force."""
    return world.ports.consumers.limit(command_queue(queue))


def test_a_round_gives_lambda_the_rest_of_the_budget_once(world: testing.World) -> None:
    office.app.control.scale("bulk", 30)
    consumers: Any = world.ports.consumers
    office.controller().round()
    assert limit(world) == 26, "the process has four"
    before = consumers.changes
    office.controller().round()
    office.app.control.scale("bulk", 5)
    office.controller().round()
    office.controller().round()
    assert limit(world) == 2, "AWS allows no less"
    assert consumers.changes == before + 1


def test_a_queue_with_a_budget_follows_the_wish_while_there_is_one(world: testing.World) -> None:
    for number in range(500):
        office.report.apply_async(task_id=f"t-{number}")
    office.app.control.scale("default", 12)
    for _ in range(3):
        office.controller().round()
        assert limit(world, "default") == 12
        world.clock.advance(120)
    office.app.control.scale("default", None)
    office.controller().round()
    found = limit(world, "default")
    assert found is not None
    assert found > 12


def test_a_limit_that_a_deployment_sets_meanwhile_is_set_again(world: testing.World) -> None:
    office.app.control.scale("bulk", 30)
    office.controller().round()
    world.ports.consumers.set_limit(command_queue("bulk"), 10)
    world.clock.advance(60)
    office.controller().round()
    assert limit(world) == 26


def test_a_queue_that_lambda_does_not_serve_is_left_to_processes(world: testing.World) -> None:
    class Away:
        """Consumers that know no mapping."""

        def __init__(self) -> None:
            self.set = list[str]()

        def __getattr__(self, name: str) -> Any:
            return getattr(world.ports.consumers, name)

        def limit(self, queue: str) -> None:
            return None

        def set_limit(self, queue: str, limit: int) -> None:
            self.set.append(queue)

    consumers = Away()
    world.ports.members.beat(MemberRecord("f", 2, ACTIVE, 0, world.clock.now(), report=""))
    office.app.control.scale("bulk", 30)
    office.controller(replace(world.ports, consumers=consumers)).round()
    assert command_queue("bulk") not in consumers.set


def test_the_verb_shows_the_shares_asks_and_leaves_an_event(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", "bulk", "30", "--dry-run", *APP]) == Exit.DONE
    assert capsys.readouterr().err.splitlines() == [
        "sedano scale: scale 1 queue, bulk: 30 bodies at once; as started until now", "sedano scale: p takes 4 within 2 s",
        "sedano scale: Lambda takes 26 in the next round of the controller", "sedano scale: nothing was changed (--dry-run)",
    ]  # fmt: skip
    assert office.app.control.hello().wished == {}
    assert main(["scale", "bulk", "30", "--yes", "--reason", "campaign", "--json", *APP]) == Exit.DONE
    assert json.loads(capsys.readouterr().out) == {"queue": "bulk", "bodies": 30}
    assert office.app.control.hello().wished == {"bulk": 30}
    world.drain()
    (row,) = changes(office.app, 1).rows
    assert (row.verb, row.what, row.reason) == ("scale", "bulk: 30 bodies at once", "campaign")
    assert main(["scale", "bulk", "--restore", "--yes", *APP]) == Exit.DONE
    assert capsys.readouterr().out == "queue bulk as started\n"
    assert office.app.control.hello().wished == {}


@pytest.mark.parametrize(("arguments", "words"), [
    (["bulk"], "scale to what? give a number of bodies at once, or --restore"),
    (["bulk", "4", "--restore"], "scale to what?"),
    (["bulk", "0"], "number: 0 is not a whole number from 1 to 10000; to stop a queue, pause it"),
    (["bulk", "--restore"], "bulk: it is not scaled, so there is nothing to restore"),
    (["blk", "4"], "blk: the app has no queue of this name; did you mean bulk?"),
])
def test_a_scale_that_cannot_be_is_refused_with_words(
    world: testing.World, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["scale", *arguments, "--yes", *APP]) != Exit.DONE
    assert words in capsys.readouterr().err
    assert office.app.control.hello().wished == {}


def test_a_program_scales_only_queues_of_its_app(world: testing.World) -> None:
    with pytest.raises(OptionError, match="queue: 'blk' is none of this app's queues"):
        office.app.control.scale("blk", 4)
