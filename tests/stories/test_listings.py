"""Lists from the command line: a terminal gets a table in colour, a pipe rows with tabs, and a program JSON, with the same facts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano import Breaker, Sedano, every, testing
from sedano.cli import listings, main
from sedano.cli.exits import Exit
from sedano.cli.tables import relative
from sedano.model.limits.concurrency import Permit
from sedano.model.messages.timestamps import read
from tests.stories.terminals import items, on_terminal

app = Sedano("shelf", queues=("default", "mail"))
APP = ("--app", "tests.stories.test_listings:app")
NASTY = "\x1b[2J\u202e\nx"
HARMLESS = "\\x1b[2J\\u202e\\nx"


@app.task(name="shelf.fill", retry=False, circuit=Breaker(failures=100, shared=True))
def fill(n: int) -> int:
    """Fill the shelf; an odd number does not fit."""
    if n % 2:
        raise ValueError(f"{n} {NASTY}")
    return n


@app.task(name="shelf.break", retry=False)
def fall() -> None:
    """Fall off the wall."""
    raise OSError(NASTY)


@app.periodic(every(3_600), name="shelf.dust")
def dust() -> None:
    """Dust it."""


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory after five tasks, three of which failed."""
    with testing.world(app) as world:
        for n in range(4):
            fill.apply_async((n,), task_id=f"t-{n}")
            world.clock.advance(1)
            world.drain()
        fall.apply_async(task_id="t-4")
        world.drain()
        with app.lock("nightly", duration=60):
            yield world


def piped(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = Exit.DONE) -> str:
    """What a verb writes to a pipe."""
    capsys.readouterr()
    assert main([*arguments, *APP]) == code
    return capsys.readouterr().out


LISTS = (["queues"], ["workers"], ["locks", "nightly"], ["circuits"], ["schedules"], ["list"], ["failures"])


GOLDEN: dict[str, tuple[str, str, str]] = {
    "queues": (
        ("<b>QUEUE    WAIT  RUN  INVOCATIONS  PAUSED  BY  REASON  AGE</>\n"
        "default  0     0    10           no      -   -       0.000 s\nmail     0     0    10           no      -   -       0.000 s\n"),
        "queue|wait|run|invocations|paused|by|reason|age\ndefault|0|0|10|no|||0.000000\nmail|0|0|10|no|||0.000000\n",
        ('{"queue": "default", "wait": 0, "run": 0, "invocations": 10, "paused": false, "by": "", "reason": "", "age": 0.0}, '
        '{"queue": "mail", "wait": 0, "run": 0, "invocations": 10, "paused": false, "by": "", "reason": "", "age": 0.0}'),
    ),
    "circuits": (
        "<b>CIRCUIT     STATE   SINCE  CAUSE  TASKS</>\nshelf.fill  closed  -      -      shelf.fill\n",
        "circuit|state|since|cause|tasks\nshelf.fill|closed|||shelf.fill\n",
        '{"name": "shelf.fill", "tasks": ["shelf.fill"], "shared": true, "open": false, "since": null, "until": null, "cause": ""}',
    ),
    "schedules": (
        ("<b>SCHEDULE    TASK        WHEN          NEXT       PAUSED  MISSED  LATE</>\n"
        "shelf.dust  shelf.dust  every 3600 s  in 59 min  no      0       no\n"),
        "schedule|task|when|next|paused|missed|late\nshelf.dust|shelf.dust|every 3600 s|2026-01-01T01:00:00.000000Z|no|0|no\n",
        ('{"schedule": "shelf.dust", "task": "shelf.dust", "when": "every 3600 s", '
        '"next": "2026-01-01T01:00:00.000000Z", "paused": false, "missed": 0, '
        '"late": false}'),
    ),
    "list": (
        ("<b>ID   NAME         STATE    AT       QUEUE    WAITED   RAN      WORKER             ERROR</>\n"
        "t-4  shelf.break  <red>FAILURE</>  now      default  0.000 s  0.000 s  memory.1.00000000  "
        "OSError('\\x1b[2J\\u202e\\nx')\n"
        "t-2  shelf.fill   <green>SUCCESS</>  1 s ago  default  1.000 s  0.000 s  memory.1.00000000  -\n"),
        ("id|name|state|at|queue|waited|ran|worker|error\n"
        "t-4|shelf.break|FAILURE|2026-01-01T00:00:04.000000Z|default|0.000000|0.000000|memory.1.00000000|OSError('\\x1b[2J\\u202e\\nx')\n"
        "t-2|shelf.fill|SUCCESS|2026-01-01T00:00:03.000000Z|default|1.000000|0.000000|memory.1.00000000|\n"),
        ('{"id": "t-4", "name": "shelf.break", "state": "FAILURE", '
        '"at": "2026-01-01T00:00:04.000000Z", "queue": "default", "waited": 0.0, "ran": 0.0, '
        '"worker": "memory.1.00000000", "error": "OSError(\'\\\\x1b[2J\\\\u202e\\\\nx\')"}, '
        '{"id": "t-2", "name": "shelf.fill", "state": "SUCCESS", '
        '"at": "2026-01-01T00:00:03.000000Z", "queue": "default", "waited": 1.0, "ran": 0.0, '
        '"worker": "memory.1.00000000", "error": ""}'),
    ),
}
"""What a terminal gets, a pipe with `--header`, and the items of `--json`; a tab is written as a bar, and colours by their names."""
COLOURS = {"<b>": "\x1b[1m", "<red>": "\x1b[31m", "<green>": "\x1b[32m", "</>": "\x1b[0m"}
CHOSEN = {"list": ["id:t-[24]"]}


def coloured(golden: str) -> str:
    """The text that a golden one stands for."""
    for name, sequence in COLOURS.items():
        golden = golden.replace(name, sequence)
    return golden


@pytest.mark.parametrize("verb", GOLDEN)
def test_a_terminal_a_pipe_and_a_program_get_what_each_needs(
    verb: str, world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal, pipe, program = GOLDEN[verb]
    words = [verb, *CHOSEN.get(verb, [])]
    assert on_terminal([*words, *APP]) == coloured(terminal)
    assert on_terminal([*words, *APP, "--color", "never"]) == re.sub("<[^>]*>", "", terminal)
    assert piped(capsys, *words, "--header") == pipe.replace("|", "\t")
    assert piped(capsys, *words) == pipe.replace("|", "\t").partition("\n")[2]
    reads = json.loads(piped(capsys, *words, "--json"))["reads"]
    assert reads.keys() == {"calls", "units", "dollars_a_million"}
    whole = f'{{"schema": "sedano.{verb}/1", "items": [{program}], "reads": {json.dumps(reads)}}}\n'
    assert piped(capsys, *words, "--json") == whole


@pytest.mark.parametrize("verb", LISTS, ids=[verb for verb, *_ in LISTS])
def test_the_rows_of_a_pipe_a_terminal_and_json_are_the_same(
    verb: list[str], world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [line.split("\t") for line in piped(capsys, *verb).splitlines()]
    head, *lines = on_terminal([*verb, *APP, "--color", "never"]).splitlines()
    found = items(piped(capsys, *verb, "--json"))
    assert len(rows) == len(found) == len(lines) > 0
    assert {len(row) for row in rows} == {len(re.split(r" {2,}", head))}
    for row, line, one in zip(rows, lines, found, strict=True):
        assert row[0] == line.split()[0] == str(next(iter(one.values())))


def test_an_empty_list_is_a_document_without_items(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app):
        assert items(piped(capsys, "list", "--json")) == []
        assert items(piped(capsys, "locks", "never-taken", "--json", code=Exit.NOT_FOUND)) == []


@pytest.mark.parametrize(("apart", "text"), [
    (0.4, "now"), (1, "1 s ago"), (59.9, "59 s ago"), (60, "1 min ago"), (3_599, "59 min ago"), (3_600, "1 h ago"), (86_399, "23 h ago"),
    (86_400, "1 d ago"), (99.9 * 86_400, "99 d ago"), (100 * 86_400, "2025-09-23"), (-0.4, "now"), (-90, "in 1 min"), (-7_200, "in 2 h"),
    (-100 * 86_400, "2026-04-11"),
])  # fmt: skip
def test_a_terminal_gets_a_moment_as_the_time_between_it_and_now(apart: float, text: str) -> None:
    now = read("2026-01-01T00:00:00Z")
    assert relative(now - apart, now) == text


def test_a_list_that_is_longer_than_the_screen_is_shown_by_the_pager(world: testing.World, tmp_path: Path) -> None:
    note = tmp_path / "pager"
    note.write_text("#!/bin/sh\necho paged $LESS\ncat\n")
    note.chmod(0o755)
    table = on_terminal(["list", *APP], PAGER="cat")
    assert len(table.splitlines()) == 6
    assert on_terminal(["list", *APP], lines=6, SEDANO_PAGER=str(note), PAGER="false", LESS="FX") == f"paged FX\n{table}"
    assert on_terminal(["list", *APP], lines=6, PAGER=str(note)) == f"paged FRX\n{table}"
    assert on_terminal(["list", *APP], lines=7, PAGER=str(note)) == table, "it fits, with the next prompt"
    assert on_terminal(["list", *APP], lines=6, PAGER=str(note), TERM="dumb") == re.sub("\x1b[^m]*m", "", table)


def test_a_pager_that_does_not_start_is_an_error_beside_the_list(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(on_terminal(["list", *APP], lines=3, SEDANO_PAGER="no-such-pager -x").splitlines()) == 6
    assert "the pager no-such-pager does not start: No such file or directory; set SEDANO_PAGER" in capsys.readouterr().err


def test_tasks_are_listed_by_state_and_name_the_latest_first(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    def ids(*arguments: str) -> list[str]:
        return [one["id"] for one in items(piped(capsys, "list", "--json", *arguments))]

    assert ids("--task", "shelf.fill") == ["t-3", "t-2", "t-1", "t-0"]
    assert ids("--task", "fill", "--limit", "2") == ["t-3", "t-2"]
    assert ids("--state", "failure", "--task", "fill") == ["t-3", "t-1"]
    assert ids("--state", "RETRY") == []
    table = piped(capsys, "list", "--state", "FAILURE")
    assert len(table.splitlines()) == 3, "an error of two lines forges none"
    assert "ValueError('3 \\x1b[2J" in table


def test_what_happened_days_ago_is_listed_when_it_is_asked_for(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    world.clock.advance(3 * 86_400)
    assert piped(capsys, "list") == ""
    assert len(piped(capsys, "list", "--days", "4").splitlines()) == 5


def test_failures_are_grouped_by_task_and_kind_of_error(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = items(piped(capsys, "failures", "--json"))
    assert (first["task"], first["error"], first["number"], first["example"]) == ("shelf.fill", "ValueError", 2, "t-3")
    assert (second["task"], second["error"], second["number"]) == ("shelf.break", "OSError", 1)
    assert first["first"] < first["last"]
    assert piped(capsys, "failures", "--fail", code=Exit.PROBLEMS) == piped(capsys, "failures")


def test_a_day_without_failures_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app):
        assert main(["failures", "--fail", *APP]) == 0
    assert capsys.readouterr() == ("", "sedano failures: there is nothing to list\n")


def test_a_lock_is_shown_with_its_owner_and_its_token(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = items(piped(capsys, "locks", "nightly", "--json"))
    record = world.ports.leases.read(["lock/nightly"])["lock/nightly"]
    assert (found["lock"], found["held"], found["owner"], found["token"]) == ("nightly", True, record.owner, record.token)
    assert read(found["expires"]) == world.clock.now() + 60
    assert items(piped(capsys, "locks", "lock/nightly", "--json").replace("lock/nightly", "nightly")) == [found]
    world.clock.advance(61)
    assert items(piped(capsys, "locks", "nightly", "--json"))[0]["held"] is False
    capsys.readouterr()
    assert main(["locks", NASTY, *APP]) == Exit.NOT_FOUND
    assert capsys.readouterr().err.startswith(f"sedano locks: {HARMLESS} was never taken")


def test_without_a_name_the_declared_singletons_and_permits_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shop = Sedano("counters")
    shop.task(name="counters.count", singleton=True)(len)
    shop.task(name="counters.weigh", concurrency=2)(len)
    with testing.world(shop) as world:
        now_ms = int(world.clock.now() * 1_000)
        assert world.ports.limits.take("counters.weigh/", Permit(1, 9, "n", "host.1", now_ms + 5_000), "m", now_ms).done
        assert listings.locks(shop, (), True) == Exit.DONE
        found = [[one[name] for name in ("lock", "held", "owner", "token")] for one in items(capsys.readouterr().out)]
        assert found == [["singleton/counters.count/", False, "", 0], ["counters.weigh permit 2 of 2", True, "host.1", 9]]
        world.clock.advance(6)
        assert listings.locks(shop, (), False) == Exit.DONE
    assert capsys.readouterr() == ("singleton/counters.count/\tno\t\t0\t\t0\t\n", "")


def test_an_app_that_declares_none_has_no_locks_to_list(capsys: pytest.CaptureFixture[str]) -> None:
    plain = Sedano("plain")
    with testing.world(plain):
        assert listings.locks(plain, (), False) == Exit.DONE
    assert capsys.readouterr() == ("", "sedano locks: there is nothing to list\n")
