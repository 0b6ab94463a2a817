"""What does a deployment break? Causes that were not seen before it are marked, on every face, and can be listed alone."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sedano import Sedano, testing
from sedano.changes.deployments import deployed as deployed_plan
from sedano.changes.plan import apply
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.engine.deployments import keep, last
from sedano.errors import OptionError, Unavailable
from sedano.model.deployments import LAST, DeploymentMark
from sedano.model.memos import Memo, MemoChanged
from sedano.ports import Ports
from sedano.views.failures import failures
from sedano.views.now import now
from sedano.views.panels import ScreenQuery
from sedano.views.screens import screen
from tests.stories.terminals import items

app = Sedano("canary")
APP = ("--app", "tests.stories.test_new_failures:app")
DAY = 86_400.0


@app.task(name="canary.sing", retry=False)
def sing(error: str) -> None:
    """Fail with a kind of error."""
    raise {"key": KeyError, "value": ValueError}[error]


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory, on which a task failed with KeyError an hour ago."""
    with testing.world(app) as world:
        world.clock.advance(DAY)
        fail("key", world)
        world.clock.advance(3_600)
        yield world


def fail(error: str, world: testing.World) -> None:
    """Let one task fail."""
    sing.delay(error)
    world.drain()


def deploy(world: testing.World, version: str = "v2") -> None:
    """Mark a deployment, and let a minute pass before and after it."""
    world.clock.advance(60)
    assert main(["deployed", *APP, version, "--yes", "--reason", "a test"]) == Exit.DONE
    world.clock.advance(60)


def marks(**given: bool) -> dict[str, bool]:
    """The causes of two days, each with whether it is new."""
    return {one.error: one.new for one in failures(app, 2, **given).groups}


def test_only_a_cause_that_was_not_seen_before_the_deployment_is_new(world: testing.World) -> None:
    deploy(world)
    fail("key", world)
    assert marks() == {"KeyError": False}
    fail("value", world)
    assert marks() == {"KeyError": False, "ValueError": True}
    assert marks(only_new=True) == {"ValueError": True}
    assert failures(app, 2).notes[0].endswith("; 1 of 2 causes are new since then.")
    deploy(world, "v3")
    assert marks() == {"KeyError": False, "ValueError": False}, "it was there before the last deployment"


def test_now_the_page_and_the_verb_say_what_is_new(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    deploy(world)
    fail("value", world)
    assert ["new since the last deployment" in one.sentence for one in now(app).needs] == [False, True]
    (table,) = screen(app, ScreenQuery("failures", query="new")).tables
    assert [row[1].text for row in table.rows] == ["new"]
    capsys.readouterr()
    assert main(["failures", *APP, "--new", "--json", "--fail"]) == Exit.PROBLEMS
    assert [(one["error"], one["new"]) for one in items(capsys.readouterr().out)] == [("ValueError", True)]
    deploy(world, "v3")
    assert main(["failures", *APP, "--new", "--fail"]) == Exit.DONE


def test_where_it_is_not_known_nothing_counts_as_new_and_the_question_is_refused(
    world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (marks(), failures(app, 2).notes) == ({"KeyError": False}, ())
    with pytest.raises(OptionError, match="no deployment is known: `sedano deploy` marks each"):
        failures(app, 2, only_new=True)
    deploy(world)
    world.clock.advance(2 * DAY)
    fail("value", world)
    assert marks() == {"ValueError": False}, "the days before the deployment are not read"
    assert failures(app, 2).notes == ("The last deployment of v2 was at 2026-01-02 01:01:00Z, before the failures that were read.",)
    assert main(["failures", *APP, "--new"]) == Exit.USAGE
    assert "read more days" in capsys.readouterr().err
    assert {one.error: one.new for one in failures(app, 4).groups} == {"KeyError": False, "ValueError": True}
    with pytest.raises(OptionError, match="'old' is not a filter of this page; write new"):
        screen(app, ScreenQuery("failures", query="old"))


def test_of_two_deployments_the_later_one_is_kept_whichever_is_written_last(world: testing.World) -> None:
    ports = world.ports
    assert keep(ports, DeploymentMark(200.0, "ana", "v2")) == DeploymentMark(200.0, "ana", "v2")
    assert keep(ports, DeploymentMark(100.0, "bo", "v1")) == DeploymentMark(200.0, "ana", "v2")
    assert last(ports) == DeploymentMark(200.0, "ana", "v2")
    assert ports.memos.change(Memo(LAST, "not JSON", "n"), ports.memos.read([LAST])[LAST]).done
    assert (last(ports), keep(ports, DeploymentMark(50.0))) == (None, DeploymentMark(50.0)), "another version's text is replaced"


class Contended:
    """Memos that someone else changes first, so many times."""

    def __init__(self, ports: Ports, times: int) -> None:
        """Write to *ports* after that."""
        self._memos, self.left = ports.memos, times
        self.read = ports.memos.read

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Refuse while it is not the turn of the writer."""
        self.left -= 1
        return MemoChanged(False, seen) if self.left >= 0 else self._memos.change(memo, seen)


def test_a_contended_write_is_tried_again_and_given_up_with_an_error(world: testing.World) -> None:
    keep(replace(world.ports, memos=Contended(world.ports, 3)), DeploymentMark(1.0))
    assert last(world.ports) == DeploymentMark(1.0)
    with pytest.raises(Unavailable, match="others changed it under each of 4 attempts"):
        keep(replace(world.ports, memos=Contended(world.ports, 4)), DeploymentMark(2.0))


def test_a_mark_is_a_change_that_says_who_made_it(world: testing.World) -> None:
    done = apply(app, deployed_plan(app), "canary")
    assert done.effects[0].text == "the last deployment was at 2026-01-02 01:00:00Z"
    found = last(world.ports)
    assert found is not None
    assert (found.at, found.version, bool(found.by)) == (world.clock.now(), "", True)
