"""The failures of a stage are found by the ledger's index, and by the history what the index does not have; the view says which."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, group, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.errors import OptionError
from sedano.views import failures as of_failures
from sedano.views.failures import KEPT_DAYS, MOST, NO_INDEX, failures
from sedano.views.now import now
from sedano.views.screens import ScreenQuery, screen
from tests.stories.terminals import items

app = Sedano("kiosk")
lean = Sedano("lean")
APP = ("--app", "tests.stories.test_failures_found:app")
S3 = {"s3.GetObject", "s3.ListObjectsV2"}
DAY = 86_400


@app.task(name="kiosk.sell", retry=False)
def sell(n: int) -> int:
    """Sell; two kinds of numbers cannot be sold."""
    if n % 2:
        raise ValueError(n)
    return low(n)


def low(n: int) -> int:
    """Return a small number."""
    if n > 100:
        raise ValueError("too many")
    return n


@app.task(name="kiosk.total")
def total(numbers: list[int]) -> int:
    """Return the sum."""
    return sum(numbers)


@app.task(name="kiosk.call_out", retry=False, delivery="at_least_once", ignore_result=True)
def call_out(n: int) -> None:
    """Leave no record."""
    raise KeyError(n)


@lean.task(name="lean.sell", retry=False)
def sell_lean() -> None:
    """Fail."""
    raise ValueError


class WithoutIndex:
    """A ledger as an earlier version deployed it."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    def failures(self, day: str, most: int) -> None:
        """Answer as `DynamoLedger` does when the table has no such index."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


@pytest.fixture
def world() -> Iterator[testing.World]:
    """A world in which four tasks failed: two in one place, one in another, one without a record."""
    with testing.world(app) as world:
        for task_id, n in (("s-1", 1), ("s-2", 2), ("s-3", 3), ("s-200", 200)):
            world.clock.advance(1)
            sell.apply_async((n,), task_id=task_id)
            world.drain()
        call_out.apply_async((5,), task_id="c-5")
        world.drain()
        yield world


def test_failures_are_grouped_by_task_error_and_place(world: testing.World) -> None:
    found = failures(app, 1)
    assert [(one.task, one.error, one.number, one.example, one.where.rpartition(" ")[2]) for one in found.groups] == [
        ("kiosk.sell", "ValueError", 2, "s-3", "sell"), ("kiosk.call_out", "KeyError", 1, "c-5", ""),
        ("kiosk.sell", "ValueError", 1, "s-200", "low"),
    ]  # fmt: skip
    assert found.failed == 4
    assert found.groups[0].last - found.groups[0].first == 2


def test_a_task_without_a_record_is_found_in_the_history_and_the_view_says_so(world: testing.World) -> None:
    found = failures(app, 1)
    assert found.notes == (
        "Tasks that leave no record (at_least_once): kiosk.call_out. Their failures were read from the event history, which has no frames.",
    )
    assert set(found.about.reads.calls) >= S3


def test_an_app_whose_tasks_all_leave_records_reads_no_history() -> None:
    with testing.world(lean) as world:
        sell_lean.delay()
        world.drain()
        found = failures(lean, 2)
    assert (found.failed, found.notes) == (1, ())
    assert (dict(found.about.reads.calls), found.about.reads.units) == ({"dynamodb.GetItem": 1, "dynamodb.Query": 8}, 5)


def test_a_task_that_ended_by_the_failure_of_another_is_no_cause(world: testing.World) -> None:
    before = failures(app, 1).failed
    (group(sell.s(n) for n in (2, 7)) | total.s()).delay()
    world.drain()
    assert failures(app, 1).failed == before + 1, "the member failed, and the body of the chord never ran"


def test_a_task_without_a_record_for_this_call_alone_is_listed_once(world: testing.World) -> None:
    call_out.apply_async((7,), task_id="c-7", ignore_result=False)
    world.drain()
    assert "c-7" in world.ports.ledger.read(["c-7"])
    known = [one for one in failures(app, 1).groups if one.task == "kiosk.call_out"]
    assert sorted((one.number, one.example, one.where != "") for one in known) == [(1, "c-5", False), (1, "c-7", True)]


def test_a_stage_of_an_earlier_version_is_read_by_its_history_and_the_view_says_so(world: testing.World) -> None:
    app.attach(replace(world.ports, ledger=WithoutIndex(world.ports.ledger)))
    found = failures(app, 1)
    assert [(one.task, one.error, one.number, one.where) for one in found.groups] == [
        ("kiosk.sell", "ValueError", 3, ""), ("kiosk.call_out", "KeyError", 1, ""),
    ]  # fmt: skip
    assert found.notes == (f"{NO_INDEX} The failures were read from the event history, which has no frames.",)
    seen = now(app)
    assert (seen.notes, [one.name for one in seen.needs]) == (found.notes, ["kiosk.sell", "kiosk.call_out"])
    bare = now(app, days=0)
    assert (bare.needs, bare.notes) == ((), (f"{NO_INDEX} The failures are in the event history, which was not read.",))


def test_now_finds_failures_without_the_history_and_names_those_that_it_cannot(world: testing.World) -> None:
    bare = now(app, days=0)
    assert not S3 & set(bare.about.reads.calls)
    assert [one.sentence.partition(", last")[0] for one in bare.needs] == [
        one.sentence.partition(", last")[0] for one in now(app).needs if one.name == "kiosk.sell"
    ]
    assert bare.notes[0].endswith("kiosk.call_out. Their failures are in the event history, which was not read.")


def test_the_days_are_those_that_are_asked_for(world: testing.World) -> None:
    world.clock.advance(DAY)
    sell.apply_async((9,), task_id="s-9")
    world.drain()
    assert (failures(app, 1).failed, failures(app, 2).failed, failures(app, 3).failed) == (1, 5, 5)
    with pytest.raises(OptionError, match="days: 0 is less than 1"):
        failures(app, 0)


def test_no_more_than_a_thousand_are_read_the_latest_first_and_the_view_says_so() -> None:
    with testing.world(lean) as world:
        for number in range(MOST + 1):
            sell_lean.apply_async(task_id=f"{number:04}")
            world.clock.advance(0.01)
            if number % 50 == 0:
                world.drain()
        world.drain()
        found = failures(lean, 2)
        assert (found.failed, found.notes) == (MOST, ("Only the latest 1,000 failures were read.",))
        assert found.about.reads.calls == {"dynamodb.GetItem": 1, "dynamodb.Query": 4}, "yesterday is not read any more"
        assert found.groups[0].example == f"{MOST:04}"


def test_a_question_beyond_the_life_of_a_record_says_where_the_rest_is() -> None:
    with testing.world(lean):
        found = failures(lean, KEPT_DAYS + 6)
    older = f"`sedano list --state FAILURE --days {KEPT_DAYS + 6}` reads the event history"
    assert found.notes == (f"The ledger keeps a record for 44 days; {older}.",)
    assert found.about.reads.calls == {"dynamodb.GetItem": 1, "dynamodb.Query": 4 * KEPT_DAYS}


def test_many_tasks_without_records_are_counted_not_listed() -> None:
    many = Sedano("many")
    for name in "abcde":
        many.task(name=name, delivery="at_least_once", ignore_result=True)(len)
    with testing.world(many):
        assert "at_least_once): a, b, c and 2 more. Their" in failures(many, 1).notes[0]


def test_the_verb_and_the_screens_print_the_notes(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    (note,) = of_failures.failures(app, 2).notes
    capsys.readouterr()
    assert main(["failures", *APP]) == Exit.DONE
    printed = capsys.readouterr()
    assert (len(printed.out.splitlines()), printed.err) == (3, f"{note}\n")
    assert main(["failures", "--json", *APP]) == Exit.DONE
    printed = capsys.readouterr()
    assert (len(items(printed.out)), json.loads(printed.out)["notes"], printed.err) == (3, [note], "")
    assert note in screen(app, ScreenQuery("failures")).notes
    assert screen(app, ScreenQuery("now")).notes == now(app).notes
