"""`sedano check`: what can be known of an app without AWS, with what to do, and the exit code."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra.application import TIME_TO_RECORD
from infra.config import LONGEST_TIMEOUT, StageConfig
from sedano import Sedano, at, cron, every
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.model.schedules.agenda import MOST_BYTES, MOST_CALL_BYTES, agenda_of
from sedano.views import app_check
from sedano.views.app_check import checked
from sedano.views.findings import FAULT, WARNING, Finding
from tests.stories.terminals import items

NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
APP = ("--app", "tests.stories.test_check_command:good")
good = Sedano("good")
bad = Sedano("bad", queues=("default", "Mail", "mail", "tidy"), connect="nowhere.at_all:ports")


@good.task(name="good.add")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@good.periodic(cron("30 2 * * *", tz="Europe/Berlin", on_gap="next", on_fold="first"), name="good.report")
def report() -> None:
    """Report."""


@bad.task(name="bad.slow", time_limit=100)
def slow() -> None:
    """Take longer than the stage allows."""


@bad.task(name="bad.endless", time_limit=3_000)
def endless() -> None:
    """Take longer than Lambda allows."""


@bad.task(name="bad.one.send", queue="mail")
def send() -> None:
    """Send."""


@bad.task(name="bad.two.send")
def send_too() -> None:
    """Send, too."""


@bad.periodic(cron("30 2 * * *", tz="Europe/Berlin"), name="bad.nightly", schedule="tidy", args=("x",))
def nightly(text: str) -> None:
    """Run in the gap."""


@bad.periodic(at(datetime(2020, 1, 1, tzinfo=UTC)), name="bad.once")
def once() -> None:
    """Ran in 2020."""


def of(found: list[Finding], checked_: str) -> list[tuple[str, str]]:
    """The grades and sentences about one thing."""
    return [(one.grade, one.found) for one in found if one.checked == checked_]


def test_each_fault_is_found_and_says_what_to_do() -> None:
    found = checked(bad, NOW)
    assert of(found, "task bad.slow")[0][0] == of(found, "task bad.endless")[0][0] == FAULT
    assert of(found, "queues Mail, mail")[0][0] == of(found, "connect")[0][0] == FAULT
    runs, gap, fold = of(found, "schedule tidy")
    assert "next at 2026-01-01T02:30:00+01:00, 2026-01-02T02:30:00+01:00" in runs[1]
    assert (gap[0], fold[0]) == (WARNING, WARNING)
    assert "2026-03-29T03:00:00+02:00: its time does not exist that day, and it runs right after the gap" in gap[1]
    assert "2026-10-25T02:00:00+01:00: its time occurs twice that day, and it runs once" in fold[1]
    assert of(found, "schedule bad.once") == [(WARNING, "its last moment has passed, so it does not run again")]
    assert of(found, "name send") == [(WARNING, "2 task names end with it: bad.one.send, bad.two.send")]
    assert of(found, "name tidy") == [(WARNING, "is the name of a queue and of a schedule")]
    assert of(found, "queue Mail")[0][0] == WARNING
    assert all(one.do for one in found if one.grade != "ok")


def test_schedules_that_one_item_of_the_table_cannot_hold_are_found() -> None:
    crowded = Sedano("crowded")
    text = "x" * (MOST_CALL_BYTES - 100)
    names = [name for name in (f"s{n}" for n in range(2_000)) if agenda_of(name) == 0][: MOST_BYTES // len(text) + 1]
    for name in names:
        crowded.periodic(every(60), name=f"crowded.{name}", schedule=name, args=(text,))(print_it)
    (fault,) = [one for one in checked(crowded, NOW) if one.grade == FAULT]
    assert (fault.checked, "in one of 16 agendas" in fault.found) == ("schedules", True)
    for name in names[:2]:
        crowded.periodics.pop(name)
    assert [one for one in checked(crowded, NOW) if one.grade == FAULT] == []


def print_it(text: str) -> None:
    """Print a text."""


def test_a_longer_time_limit_of_the_stage_mends_the_task_that_lambda_can_run() -> None:
    found = checked(bad, NOW, timeout=105)
    assert (of(found, "task bad.slow")[0][0], of(found, "task bad.endless")[0][0]) == ("ok", FAULT)
    assert of(checked(bad, NOW, timeout=104), "task bad.slow")[0][0] == FAULT


def test_the_figures_are_those_of_a_deployment() -> None:
    found = app_check.LONGEST_TIMEOUT_S, app_check.TO_RECORD_S, app_check.DEFAULT_TIMEOUT_S
    assert found == (LONGEST_TIMEOUT, TIME_TO_RECORD, StageConfig().timeout)


def test_a_good_app_is_exit_0_and_says_what_was_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *APP, "--strict"]) == Exit.DONE
    out, err = capsys.readouterr()
    assert "ok       task good.add: queue default, claimed, 3 retries, keeps its result\n" in out
    assert (out.count("the clocks of Europe/Berlin change"), "\nwarning" in out, "\nfault" in out) == (2, False, False)
    assert "packages and templates were not checked; --deploy makes them" in err
    assert err.endswith(" 0 warnings, 0 faults\n")


def test_json_has_the_same_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *APP, "--json"]) == Exit.DONE
    found = items(capsys.readouterr().out)
    assert all(one.keys() == {"checked", "grade", "found", "do"} for one in found)
    main(["check", *APP])
    assert len(found) == len(capsys.readouterr().out.splitlines())


def test_an_app_with_a_fault_is_exit_6(capsys: pytest.CaptureFixture[str]) -> None:
    bad_app = ("--app", "tests.stories.test_check_command:bad")
    assert main(["check", *bad_app]) == Exit.PROBLEMS
    out = capsys.readouterr().out
    assert "fault    task bad.slow: its time limit is 100 s, which needs an invocation of 105 s; the stage has timeout=60\n" in out
    assert "         do: set timeout = 105 for the stage\n" in out
    assert main(["check", *bad_app, "--deploy"]) == Exit.PROBLEMS
    assert "the templates were not made: correct the faults first" in capsys.readouterr().err


def test_a_module_that_does_not_import_is_a_fault_with_its_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken_by_zero.py").write_text("1 / 0\n")
    assert main(["check", "--app", "broken_by_zero:app", "--code", str(tmp_path)]) == Exit.PROBLEMS
    out, err = capsys.readouterr()
    assert "fault    app: app: broken_by_zero cannot be imported: ZeroDivisionError" in out
    assert 'broken_by_zero.py", line 1' in err


def test_without_an_app_it_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == Exit.USAGE
    assert "which app? give --app module:attribute" in capsys.readouterr().err


def test_a_setting_that_a_deployment_refuses_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *APP, "--set", "stage=x"]) == Exit.PROBLEMS
    assert "fault    settings: --set stage: use the option --stage" in capsys.readouterr().out
