"""What runs where: each worker reports its host, its queues, its versions and what keeps it back; one view shows all of them."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sedano import Sedano, __version__, testing
from sedano.cli import main
from sedano.host import one_file
from sedano.host.worker_reports import CODE, Reporter, code_version, host_kind
from sedano.memory import MemoryTelemetry
from sedano.model.cluster.members import LEFT
from sedano.model.cluster.worker_report import (
    DEGRADED,
    DRAINING,
    FARGATE,
    LAMBDA,
    PAUSED,
    PROCESS,
    READY,
    UnstartedStep,
    WorkerReport,
    report_of,
    text_of,
)
from sedano.ports import MemberRecord, Ports
from sedano.views.panels import ScreenQuery
from sedano.views.screens import SCREENS
from sedano.views.worker_panels import served_by
from sedano.views.workers import WorkerRow, workers
from tests.stories.lanes_in_threads import SECONDS, Process
from tests.waiting import until

QUEUES = ("default", "mail")
APP = ("--app", "tests.stories.test_what_runs_where:shown")
shown = Sedano("shown-here", queues=QUEUES)


@dataclass(frozen=True)
class Options:
    """The configuration of the app."""

    pool: int = 3


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", QUEUES, 6, MemoryTelemetry())


@pytest.fixture
def app(tmp_path: Path) -> Sedano:
    found = Sedano("lived", queues=QUEUES)
    found.configure(Options, layers=[f"toml:{tmp_path}/lived.toml?"])
    return found


@pytest.fixture
def start(app: Sedano, ports: Ports) -> Iterator[Callable[..., Process]]:
    """Start processes, which have ended when the test has."""
    made: list[Process] = []

    def started(**settings: Any) -> Process:
        made.append(Process(app, ports, **settings))
        until(lambda: len(workers(app).rows) >= settings.get("concurrency", 4))
        return made[-1]

    yield started
    for one in made:
        one.end()


def conditions(app: Sedano) -> set[str]:
    """The conditions of all workers, as the view shows them."""
    return {one.report.condition for one in workers(app).rows}


def test_a_process_reports_its_host_its_queues_its_versions_and_its_lanes(app: Sedano, start: Callable[..., Process]) -> None:
    start(concurrency=2, queues=("mail",))
    view = workers(app)
    assert len({one.report for one in view.rows}) == 1, "the lanes of one process are one host"
    report = view.rows[0].report
    assert report == WorkerReport(
        host=PROCESS, condition=READY, queues=("mail",), code=code_version(os.environ), library=__version__, config=report.config,
        lanes=2, prefetch=10, beat=60.0, process=report.process, started=2,
    )  # fmt: skip
    assert len(report.config) == 8
    assert {one.name.rpartition(".")[0] for one in view.rows} == {report.process}
    assert [(one.queue, dict(one.served_by)) for one in view.queues] == [("default", {}), ("mail", {PROCESS: 2})]


def test_a_boot_step_that_fails_is_named_with_its_reason_and_the_report_changes_when_it_has_started(
    app: Sedano, start: Callable[..., Process]
) -> None:
    broken = [True]

    @app.boot(name="cache", optional=True)
    def cache() -> None:
        if broken:
            raise OSError("no route to 10.0.0.7")

    app.boot(name="warm", after=["cache"], optional=True)(lambda: None)
    start(concurrency=1)
    (row,) = workers(app).rows
    assert row.report.condition == DEGRADED
    assert row.report.steps == (UnstartedStep("cache", "failed", "OSError: no route to 10.0.0.7"), UnstartedStep("warm", "blocked"))
    assert row.hindrances == ("boot step cache failed: OSError: no route to 10.0.0.7", "boot step warm blocked")
    broken.clear()
    app.control.broadcast("retry_boot")
    until(lambda: conditions(app) == {READY})
    assert workers(app).rows[0].report.steps == ()


def test_a_process_that_pauses_drains_and_leaves_reports_that(app: Sedano, start: Callable[..., Process]) -> None:
    began, go = threading.Event(), threading.Event()

    @app.task(name="slow")
    def slow() -> None:
        began.set()
        assert go.wait(SECONDS)

    one = start(concurrency=1)
    app.control.broadcast("pause")
    until(lambda: conditions(app) == {PAUSED})
    app.control.broadcast("resume")
    until(lambda: conditions(app) == {READY})
    slow.delay()
    assert began.wait(SECONDS)
    one.process.stop()
    until(lambda: conditions(app) == {DRAINING})
    go.set()
    one.end()
    (row,) = workers(app).rows
    assert (row.state, row.report.host, row.report.condition) == (LEFT, PROCESS, DRAINING)
    assert dict(workers(app).queues[0].served_by) == {}, "a worker that has left serves nothing"


def test_a_change_of_the_configuration_is_another_version_in_the_report(
    app: Sedano, start: Callable[..., Process], tmp_path: Path
) -> None:
    start(concurrency=1)
    before = workers(app).rows[0].report.config
    (tmp_path / "lived.toml").write_text("pool = 4\n")
    app.control.broadcast("reload")
    until(lambda: workers(app).rows[0].report.config != before)


def test_a_host_is_known_by_its_environment() -> None:
    assert host_kind({}) == PROCESS
    assert host_kind({"ECS_CONTAINER_METADATA_URI_V4": "x"}) == FARGATE
    assert host_kind({"AWS_LAMBDA_FUNCTION_NAME": "worker", "ECS_CONTAINER_METADATA_URI_V4": "x"}) == LAMBDA
    assert code_version({"AWS_LAMBDA_FUNCTION_VERSION": "$LATEST"}) == ""
    assert code_version({"AWS_LAMBDA_FUNCTION_VERSION": "7"}) == "7"
    assert code_version({"AWS_LAMBDA_FUNCTION_VERSION": "7", CODE: "v42"}) == "v42"


def test_a_function_reports_the_queues_that_it_has_received_from(app: Sedano) -> None:
    found = report_of(Reporter(app, None, LAMBDA, {}).of_function({"mail", "default"}))
    assert (found.host, found.queues, found.condition, found.steps, found.prefetch) == (LAMBDA, ("default", "mail"), READY, (), 0)
    assert found.lanes >= 1


FLEET = WorkerReport(
    host=FARGATE, condition=DEGRADED, queues=("mail",), code="v7", library="0.1.0", config="1234abcd", lanes=8, prefetch=10, beat=60.0,
    steps=(UnstartedStep("cache", "given up", "OSError: away"),), stuck=("keeper",),
)  # fmt: skip


@pytest.fixture
def world() -> Iterator[testing.World]:
    """An app with a worker of an older version, one of Fargate, one of Lambda, and one of Lambda that has left."""
    with testing.world(shown) as world:
        now = world.clock.now()
        function = text_of(WorkerReport(host=LAMBDA, condition=READY, queues=("default",), beat=60.0, lanes=1))
        for name, state, report in (
            ("a", "ACTIVE", ""), ("b", "ACTIVE", text_of(FLEET)), ("c", "ACTIVE", function), ("d", LEFT, function),
        ):  # fmt: skip
            world.ports.members.beat(MemberRecord(name, 1, state, 0, now, report=report))
        yield world


def test_the_page_and_the_verb_show_the_same(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    shown.control.scale("mail", 8)
    screen = SCREENS["workers"](shown, ScreenQuery("workers"))
    rows = {row[0].text: [cell.text for cell in row] for row in screen.tables[0].rows}
    assert rows["b"][3:] == [
        "fargate", "mail", "degraded", "8", "10", "60 s", "v7", "0.1.0", "1234abcd",
        "boot step cache given up: OSError: away; loop keeper stuck", "",
    ]  # fmt: skip
    assert [[cell.text for cell in row] for row in screen.tables[1].rows] == [["default", "1 lambda", ""], ["mail", "1 fargate", "8"]]
    assert main(["workers", "--json", *APP]) == 0
    said = json.loads(capsys.readouterr().out)
    (b,) = [one for one in said["items"] if one["worker"] == "b"]
    assert said["served_by"] == {"default": {"lambda": 1}, "mail": {"fargate": 1}}
    assert said["scaled"] == {"mail": 8}
    assert b["steps"] == [{"name": "cache", "state": "given up", "reason": "OSError: away"}]
    assert (b["host"], b["condition"], b["stuck"], b["lanes"]) == ("fargate", "degraded", ["keeper"], 8)
    assert main(["workers", *APP]) == 0
    written = capsys.readouterr()
    (line,) = [one.split("\t") for one in written.out.splitlines() if one.startswith("b\t")]
    assert line[3:6] == ["fargate", "mail", "degraded"]
    assert written.err.splitlines() == ["queue default: 1 lambda", "queue mail: 1 fargate, scaled to 8"]


def test_a_worker_of_an_older_version_has_an_empty_report(world: testing.World) -> None:
    row: WorkerRow = workers(shown).rows[0]
    assert (row.name, row.report, row.hindrances) == ("a", WorkerReport(), ())
    assert served_by({}) == "none seen"
