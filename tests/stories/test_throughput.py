"""What got done in a window: the same figures as those of the events, without reading them, on the terminal, as JSON and on the page."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from sedano import Retry, Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.engine.history.invocation_costs import RECORDER
from sedano.errors import OptionError
from sedano.memory import MemoryRollups
from sedano.model import states
from sedano.views.cluster import timelines
from sedano.views.costs import costs
from sedano.views.panels import ScreenQuery
from sedano.views.screens import screen
from sedano.views.throughput import NO_ROLLUPS, SLOTS, ThroughputView, throughput

app = Sedano("mill")
APP = ["--app", f"{__name__}:app"]


@app.task(name="mill.grind", retry=False)
def grind(grain: int) -> int:
    """Fail for the third grain."""
    if grain == 3:
        raise ValueError("a stone")
    return grain


@app.task(name="mill.sift", retry=Retry(max_retries=1, interval_start=1.0, jitter=False))
def sift(grain: int) -> int:
    """Fail once."""
    raise KeyError(grain)


def worked(world: testing.World) -> None:
    """Let ten minutes of work pass, and the minute in which the recorder collects."""
    for minute in range(10):
        for grain in range(4):
            grind.delay(grain)
        if not minute:
            sift.delay(1)
        world.elapse(60)
    world.elapse(120)


def test_the_figures_are_those_of_the_events_and_no_event_is_read() -> None:
    with testing.world(app) as world:
        worked(world)
        view = throughput(app)
        tasks, _ = timelines(world.ports, 2)
        names = Counter((str(one.fields["name"]), one.state == states.FAILURE) for one in tasks)
        assert {one.task: one.failed for one in view.tasks} == {one.task: names[one.task, True] for one in view.tasks}
        assert sum(one.ended - one.retried for one in view.tasks) == names.total()
        assert [(one.task, one.queue, one.retried) for one in view.tasks] == [("mill.grind", "default", 0), ("mill.sift", "default", 1)]
        assert sum(one.ended for one in view.slots) == sum(one.ended for one in view.tasks)
        assert len(view.slots) == SLOTS
        assert (view.about.certainty, set(view.about.reads.calls), view.again) == ("settled", {"dynamodb.Query"}, 0)


def test_the_cost_of_the_workers_is_that_of_the_events_and_is_shared_by_the_time_of_runs() -> None:
    with testing.world(app) as world:
        worked(world)
        view, read = throughput(app), costs(app, 2)
        if not read.workers.nanodollars:
            assert all(one.nanodollars is None for one in view.tasks)
        assert view.spent.get("worker", 0) == read.workers.nanodollars
        assert set(view.spent) <= {"worker", "router", RECORDER.partition("-")[0]}


def test_runs_of_the_last_minute_and_of_before_the_window_are_left_out() -> None:
    with testing.world(app) as world:
        grind.delay(1)
        world.elapse(3_600 + 180)
        grind.delay(2)
        world.elapse(5)
        assert throughput(app).tasks == ()
        assert [one.ended for one in throughput(app, "6h").tasks] == [1]
        world.elapse(180)
        assert [one.ended for one in throughput(app).tasks] == [1]


def test_a_stage_of_an_earlier_version_says_what_to_do() -> None:
    class Unindexed(MemoryRollups):
        def read(self, since: int, until: int) -> None:  # type: ignore[override]
            return None

    with testing.world(app) as world:
        app.attach(replace(world.ports, rollups=Unindexed()))
        assert throughput(app).notes == (NO_ROLLUPS,)


def test_a_window_that_is_not_one_is_refused_with_those_that_are() -> None:
    with testing.world(app), pytest.raises(OptionError, match="1h, 6h, 24h, 7d"):
        throughput(app, "2h")


def test_terminal_document_and_page_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app) as world:
        worked(world)
        assert main(["throughput", *APP]) == Exit.DONE
        out, err = capsys.readouterr()
        assert [line.split("\t")[0] for line in out.splitlines()] == ["mill.grind", "mill.sift"]
        assert "42 runs ended from" in err
        assert main(["throughput", *APP, "--json", "--last", "24h"]) == Exit.DONE
        found = json.loads(capsys.readouterr().out)
        assert [one["ended"] for one in found["items"]] == [40, 2]
        assert len(found["slots"]) == SLOTS
        page = screen(app, ScreenQuery("throughput"))
        assert isinstance(page.view, ThroughputView)
        assert [row[0].text for row in page.tables[0].rows] == ["mill.grind", "mill.sift"]
        assert [(row[4].text, row[5].text) for row in page.tables[0].rows] == [("10", "25.0%"), ("1", "100.0%")]
        assert page.command == "sedano throughput --last 1h"
