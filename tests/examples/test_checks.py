"""The demo's checks accept a good run and catch every wrong number that is planted in its evidence."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from examples.census.checks import BY_PROCESSES, Evidence, Findings, complaints, findings
from examples.census.tasks import measure, summarise
from examples.local_run.changes import Change, Held
from sedano.model import states
from tests.examples.runs import FUNCTION, PROCESS, end, material

ENDED, HELD = Held(states.SUCCESS, "a", 1, FUNCTION), Held(states.RUNNING, "b", 2, FUNCTION)
Plant = Callable[[Evidence], Evidence]


def one(name: str) -> str:
    """The id of a task with this name in the good run."""
    return next(task for task, its_name in material().expected.tasks.items() if its_name == name)


def judged(plant: Plant, kills: int = 0) -> tuple[Findings, list[str]]:
    """What the checks make of the good run's evidence after *plant* changed it."""
    expected, evidence = replace(material().expected, kills=kills), plant(material().evidence)
    found = findings(expected, evidence)
    return found, complaints(expected, evidence, found)


def written(name: str, before: Held | None, after: Held) -> Plant:
    """Plant one more write to a task's record."""
    return lambda good: replace(good, changes=[*good.changes, Change(one(name), name, before, after)])


def recorded(task: str | None, state: str) -> Plant:
    """Plant a state of *task* (None: of a task of the run) in the ledger."""
    return lambda good: replace(good, ledger={**good.ledger, task or one(measure.name): (measure.name, state)})


def elsewhere(name: str, owner: str) -> Plant:
    """Plant an end of a task in a worker called *owner*."""

    def plant(good: Evidence) -> Evidence:
        ended = next(change for change in good.changes if change.name == name and change.is_end)
        moved = replace(ended, after=replace(ended.after, owner=owner))
        return replace(good, changes=[moved if change is ended else change for change in good.changes])

    return plant


def without_record(good: Evidence) -> Evidence:
    """Plant a task that the ledger does not know."""
    return replace(good, ledger={task: record for task, record in good.ledger.items() if task != one(measure.name)})


def without_body(good: Evidence) -> Evidence:
    """Plant a chord whose body never ran."""
    return replace(good, changes=[change for change in good.changes if change.name != summarise.name])


def test_a_good_run_is_accepted_and_counted() -> None:
    found, said = judged(lambda good: good)
    assert said == []
    assert found == Findings(
        tasks=11, effects=11, lost=0, double_effects=0, chord_body_runs=1, events_delivered=3, kills=0, process_kills=0,
        served_by_lambda=8, served_by_processes=3, strayed=0,
    )  # fmt: skip


PLANTED: dict[str, tuple[Plant, str, int]] = {
    "a task without a record": (without_record, "lost", 1),
    "a task that never ended": (recorded(None, states.RUNNING), "lost", 1),
    "messages left in a dead letter queue": (lambda good: replace(good, left={"dead": 2}), "lost", 2),
    "a task that ended twice": (written(measure.name, ENDED, ENDED), "double_effects", 1),
    "an end that was run over": (written(measure.name, ENDED, HELD), "double_effects", 1),
    "an end told under two clocks": (
        lambda good: replace(good, told={**good.told, one(measure.name): frozenset({1, 2})}), "double_effects", 1,
    ),
    "a task that nobody ordered": (recorded("stranger", states.SUCCESS), "double_effects", 1),
    "a body that was recorded twice": (written(summarise.name, ENDED, ENDED), "chord_body_runs", 2),
    "a second body under another id": (
        lambda good: replace(good, changes=[*good.changes, *end("other", summarise.name)]), "chord_body_runs", 2,
    ),
    "a body that never ran": (without_body, "chord_body_runs", 0),
    "a task of Lambda's that a process ended": (elsewhere(measure.name, PROCESS), "strayed", 1),
    "a task of the processes that Lambda ended": (elsewhere(BY_PROCESSES, FUNCTION), "strayed", 1),
}  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED)
def test_the_checks_catch(planted: str) -> None:
    plant, figure, value = PLANTED[planted]
    found, said = judged(plant)
    assert getattr(found, figure) == value
    assert said


@pytest.mark.parametrize(
    ("plant", "complaint"),
    [
        (lambda good: replace(good, spark_mismatches=2), "Spark reports another end of 2 tasks"),
        (lambda good: replace(good, spark_tasks=10), "Spark found 10 tasks of 11"),
        (lambda good: replace(good, totals=replace(good.totals, lines=1)), "the census says"),
        (lambda good: replace(good, totals=None), "the census says None"),
        (recorded(None, states.FAILURE), "1 tasks did not succeed"),
    ],
)
def test_the_checks_say_in_words(plant: Plant, complaint: str) -> None:
    assert any(complaint in said for said in judged(plant)[1])


def steal(expires: int, owner: str = FUNCTION) -> Change:
    """A claim of *owner* that lapsed at *expires* and was taken over."""
    return Change(one(measure.name), measure.name, Held(states.RUNNING, "dead", expires, owner), Held(states.RUNNING, "new", 9_000))


@pytest.mark.parametrize(("kills", "expires", "counted"), [(3, [1, 1, 2], 2), (1, [1, 2], 1), (2, [], 0)])
def test_a_kill_counts_when_an_invocation_died_and_its_tasks_were_taken_over(kills: int, expires: list[int], counted: int) -> None:
    found, said = judged(lambda good: replace(good, kills=kills, changes=[*good.changes, *map(steal, expires)]), kills=2)
    assert found.kills == counted
    assert bool(said) == (counted == 0), "fewer kills than planned prove less; none proves nothing"


@pytest.mark.parametrize(("owners", "counted"), [([PROCESS, PROCESS], 1), (["host.78.01234567.0"], 0), ([FUNCTION], 0), ([], 0)])
def test_a_kill_of_a_process_counts_when_tasks_that_it_held_were_taken_over(owners: list[str], counted: int) -> None:
    expected = replace(material().expected, process_kills=2)
    evidence = replace(material().evidence, changes=[*material().evidence.changes, *(steal(1, owner) for owner in owners)])
    found = findings(expected, evidence)
    assert found.process_kills == counted, "one process was killed: 77"
    assert bool(complaints(expected, evidence, found)) == (counted == 0)
