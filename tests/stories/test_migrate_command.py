"""`sedano migrate check`: what changes in a code base that uses Celery, for people and programs, with its exit code."""

import json
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sedano.cli import main, migration
from sedano.cli.exits import Exit
from sedano.migration.answers import VERDICTS
from sedano.migration.findings import FileFindings
from sedano.migration.retries import ONCE
from tests.stories.terminals import items, on_terminal
from tests.stories.test_terminal import NASTY
from tests.unit.test_printer import harmless

TASKS = """\
from celery import shared_task


@shared_task(acks_late=True)
def add(a, b): ...


add.apply_async((1, 2), priority=3)
"""
LOST = "from celery.schedules import solar\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return the folder of a small code base."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "tasks.py").write_text(TASKS)
    return folder


def test_each_finding_has_its_place_its_remedy_and_its_page(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chdir(shop.parent):
        assert main(["migrate", "check", "shop"]) == Exit.DONE
    out, err = capsys.readouterr()
    assert out == (
        "shop/tasks.py:1:20: change: from celery import shared_task\n"
        "    do: `shared_task = shared.task`, where `shared = sedano.SharedTasks()` (docs/shared_tasks.md). (docs/celery.md#imports)\n"
        "shop/tasks.py:4:2: change: @shared_task\n"
        f"    do: {ONCE} (docs/celery.md#options-of-a-task-and-of-a-call)\n"
        "shop/tasks.py:4:14: remove: @shared_task acks_late=True\n"
        "    do: Always on. (docs/celery.md#options-of-a-task-and-of-a-call)\n"
        "shop/tasks.py:8:1: same: add.apply_async(…)\n"
        "shop/tasks.py:8:25: change: apply_async: priority=3\n"
        '    do: A band: `priority="high"`, at the task or at the call, with a queue `<queue>-high` of the app (docs/flow.md). '
        "(docs/celery.md#options-of-a-task-and-of-a-call)\n"
    )
    assert err == "sedano migrate check: 1 file: 1 stay, 3 change, 1 to remove, 0 cannot be kept\n"


def test_the_work_alone_is_shown_with_todo(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "check", str(shop), "--todo", "--exclude", "nothing"]) == Exit.DONE
    assert ": same:" not in capsys.readouterr().out
    assert main(["migrate", "check", str(shop), "--exclude", "tasks.py"]) == Exit.DONE
    assert capsys.readouterr() == (
        "", "sedano migrate check: 0 files: no Python file was found; give the folder of the code base, or fewer --exclude\n"
    )  # fmt: skip


def test_the_exit_code_says_whether_something_cannot_be_kept_or_read(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def code(*words: str) -> int:
        return main(["migrate", "check", str(shop), *words])

    assert (code(), code("--strict")) == (Exit.DONE, Exit.PROBLEMS)
    (shop / "wrong.py").write_text("from celery import (\n")
    assert code() == Exit.PROBLEMS
    assert "1 not checked" in capsys.readouterr().err
    (shop / "wrong.py").write_text(LOST)
    assert (code(), code("--json")) == (Exit.PROBLEMS, Exit.PROBLEMS)
    (shop / "wrong.py").unlink()
    (shop / "tasks.py").write_text("print('celery')\n")
    assert code("--strict") == Exit.DONE


def test_a_folder_that_does_not_exist_is_a_wrong_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chdir(tmp_path):
        assert main(["migrate", "check", "nowhere"]) == Exit.USAGE
    assert capsys.readouterr() == ("", "sedano migrate: nowhere: no such file or folder; give the folder of the code base\n")


def test_a_program_gets_one_document(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "check", str(shop), "--json", "--todo"]) == Exit.DONE
    out, _ = capsys.readouterr()
    document = json.loads(out)
    assert (document["schema"], document["files"]) == ("sedano.migrate.check/1", 1)
    assert document["counts"] == {"same": 1, "change": 3, "remove": 1, "lost": 0, "unreadable": 0}
    assert [one["verdict"] for one in items(out)] == ["change", "change", "remove", "change"]
    assert items(out)[2] == {
        "path": f"{shop}/tasks.py", "line": 4, "column": 14, "verdict": "remove", "found": "@shared_task acks_late=True",
        "remedy": "Always on.", "page": "docs/celery.md#options-of-a-task-and-of-a-call",
    }  # fmt: skip


def test_a_terminal_gets_the_verdicts_in_colour(shop: Path) -> None:
    assert "\x1b[" in on_terminal(["migrate", "check", str(shop)])
    assert migration.STYLES.keys() == VERDICTS.keys() | {"unreadable"}


def test_a_large_code_base_shows_its_progress(capsys: pytest.CaptureFixture[str]) -> None:
    files = [FileFindings() for _ in range(2 * migration.PROGRESS + 1)]
    assert list(migration.counted(iter(files))) == files
    assert capsys.readouterr().err == "sedano migrate check: 2000 files read\nsedano migrate check: 4000 files read\n"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(NASTY) | st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "L"]), min_size=1), st.booleans())
def test_hostile_code_writes_nothing_that_a_terminal_acts_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, raw: bool
) -> None:  # fmt: skip
    for one in tmp_path.iterdir():
        one.unlink()
    name = "".join(one for one in text if one not in "/\x00") or "x"
    value = f"'{text}'" if raw else repr(text)
    code = f"from celery import shared_task\n@shared_task(name={value}, rate_limit={value})\ndef add(): ...\nCELERY_BROKER_URL = {value}\n"
    (tmp_path / f"{name[:40]}.py").write_text(code, encoding="utf-8", newline="")
    for words in ([], ["--json"]):
        assert main(["migrate", "check", str(tmp_path), *words]) in (Exit.DONE, Exit.PROBLEMS)
        out, err = capsys.readouterr()
        assert harmless((out + err).replace("\n", ""))
        assert len(out.splitlines()) == 1 or not words
