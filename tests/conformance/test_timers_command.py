"""`sedano timers foreign` over memory, moto and a real endpoint: it shows and deletes what is no timer, and leaves timers alone."""

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.cli import main
from sedano.errors import Unavailable
from sedano.memory import START
from sedano.model.timers import Timer
from sedano.ports import Ports
from tests.conformance.worlds import COMMANDS, World
from tests.stories import bakery
from tests.stories.terminals import items

LATER = max(START, time.time()) + 40 * 86_400
APP = ["--app", "tests.stories.bakery:app"]
ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e"
Run = Callable[..., tuple[int, str, str]]
PLANTED = {
    "ScheduleExpression": "rate(1 minute)",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {
        "Arn": "arn:aws:lambda:eu-central-1:123456789012:function:theirs", "RoleArn": "arn:aws:iam::123456789012:role/theirs",
        "Input": json.dumps({"id": ESCAPES, "at": ESCAPES}),
    },
}  # fmt: skip


@pytest.fixture
def ports(world: World) -> Iterator[Ports]:
    """The bakery over the world's timers; two tasks wait."""
    ports = replace(memory.ports(), timers=world.timers)
    bakery.app.attach(ports)
    for name in ("t-1", "t-2"):
        world.timers.set(Timer(name, LATER, COMMANDS, "{}"))
    yield ports
    bakery.app.attach(None)


@pytest.fixture
def run(ports: Ports, capsys: pytest.CaptureFixture[str]) -> Run:
    """What `sedano timers …` answers; no control character is in it."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["timers", *arguments, *APP])
        said = capsys.readouterr()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", said.out + said.err)
        return status, said.out, said.err

    return run


def leave(world: World, name: str, **other: Any) -> None:
    """Put a schedule that is no timer among the timers, as a stranger with a worker's role can."""
    timers: Any = world.timers
    if world.name == "sqlite":
        pytest.skip("a file holds timers alone: no stranger has another way into it")
    schedule = {**PLANTED, "Name": name, **other}
    if world.name == "memory":
        timers.leave(schedule)
    else:
        timers._client.create_schedule(GroupName=timers._group.name, **schedule)


def names(world: World) -> set[str]:
    """The timers that stand."""
    return {timer.name for timer in world.timers.list()}


def test_timers_are_not_foreign(run: Run, world: World) -> None:
    status, out, err = run("foreign")
    assert (status, out) == (0, "")
    assert err == "sedano timers: every schedule of the group is a timer of this stage\n"
    status, out, _ = run("foreign", "--json")
    assert (status, items(out)) == (0, [])
    assert names(world) == {"t-1", "t-2"}


def test_what_recurs_among_the_timers_is_shown_with_everything_that_no_timer_has(run: Run, world: World) -> None:
    leave(world, "beacon")
    status, out, err = run("foreign")
    assert (status, err) == (0, "")
    (row,) = out.splitlines()
    assert row.startswith("beacon\t")
    (found,) = items(run("foreign", "--json")[1])
    assert (found["name"], found["expression"], found["target"]) == ("beacon", "rate(1 minute)", PLANTED["Target"]["Arn"])  # type: ignore[index]
    told = "; ".join(found["why"])
    words = ("recurs: rate(1 minute)", "target: arn:aws:lambda", "role: arn:aws:iam", "is not deleted", "message: ")
    assert all(word in told for word in words)


def test_all_are_deleted_and_the_timers_stay(run: Run, world: World) -> None:
    for name in ("beacon", "beacon.2"):
        leave(world, name)
    status, out, err = run("foreign", "--delete", "--yes")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["beacon", "beacon.2"]
    assert err.splitlines() == [
        "sedano timers: delete 2 foreign schedules: beacon, beacon.2; timers stay",
        "sedano timers: beacon deleted", "sedano timers: beacon.2 deleted",
    ]  # fmt: skip
    assert run("foreign")[1] == ""
    assert names(world) == {"t-1", "t-2"}


def test_one_is_deleted_by_its_name_and_a_timer_never_is(run: Run, world: World) -> None:
    for name in ("beacon", "other"):
        leave(world, name)
    status, out, err = run("foreign", "other", "t-1", "--delete", "--yes")
    assert status == 3
    assert [line.split()[0] for line in out.splitlines()] == ["other"]
    assert "no foreign schedule is called t-1" in err
    assert [one["name"] for one in items(run("foreign", "--json")[1])] == ["beacon"]
    assert names(world) == {"t-1", "t-2"}


def test_a_group_of_several_pages_is_looked_at_whole(run: Run, world: World) -> None:
    """moto's pages have 50 schedules; the endpoint lists 100 and no second page."""
    for number in range(40):
        world.timers.set(Timer(f"more-{number}", LATER, COMMANDS, "{}"))
        leave(world, f"beacon-{number}")
    assert len(items(run("foreign", "--json")[1])) == 40
    assert run("foreign", "--delete", "--yes")[0] == 0
    assert len(names(world)) == 42


def test_what_waits_is_still_listed_beside_what_is_foreign(run: Run, world: World) -> None:
    leave(world, "beacon")
    leave(world, "empty", Target={**PLANTED["Target"], "Input": " "})  # type: ignore[dict-item]
    assert names(world) == {"t-1", "t-2"}
    assert not world.timers.edit("beacon", LATER)


def test_what_cannot_be_deleted_is_named_and_the_others_are(run: Run, world: World, ports: Ports) -> None:
    for name in ("beacon", "held"):
        leave(world, name)
    cancel = world.timers.cancel

    class Held:
        """Timers of which one cannot be taken away."""

        def __getattr__(self, name: str) -> Any:
            return getattr(world.timers, name)

        def cancel(self, name: str) -> bool:
            """Take away what is not held."""
            if name == "held":
                raise Unavailable(f"scheduler.DeleteSchedule: {ESCAPES}")
            return cancel(name)

    bakery.app.attach(replace(ports, timers=Held()))
    status, _, err = run("foreign", "--delete", "--yes")
    assert (status, err.splitlines()[1]) == (1, "sedano timers: beacon deleted")
    assert err.splitlines()[2].startswith("sedano timers: held stays: scheduler.DeleteSchedule: \\x1b]52")


@pytest.mark.parametrize("words", [(), ("foreign", "--what"), ("sweep",)])
def test_a_wrong_command_line_exits_with_2(words: tuple[str, ...]) -> None:
    assert main(["timers", *words]) == 2
