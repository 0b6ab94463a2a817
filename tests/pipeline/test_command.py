"""What a person types: what is done, what is refused before Spark starts, and in which words."""

import contextlib
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from glue_jobs import history as job
from sedano.errors import ConfigurationError, FencedOff, LeaseTaken
from sedano.history import open_history
from tests.pipeline.streams import lives, written
from tests.pipeline.test_history import options

ROOT = Path(__file__).parents[2]


def run(*words, cwd):
    paths = os.pathsep.join([str(ROOT / "layers/sedano/python"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "sedano", "history", *map(str, words)],
        env=os.environ | {"PYTHONPATH": paths}, cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def ended(words):
    """Return the code with which the command ends."""
    try:
        return job.main(words)
    except SystemExit as over:
        return over.code


def test_a_person_builds_and_asks_from_the_command_line(tmp_path):
    written(tmp_path / "events", lives(1, 50), files=2)
    (tmp_path / "events" / "bad.jsonl").write_bytes(b"not JSON\n\xff\xfe\n")
    built = run("build", "--source", "events", "--target", "history", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout) == {"version": 1, "new_files": 3, "parts": 1, "quarantined": 2}
    assert "log4j" not in built.stderr
    assert "log level" not in built.stderr
    asked = run("query", "SELECT count(*) AS tasks FROM tasks", "--json", "--target", "history", cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout) == {"tasks": 50}


def test_who_installed_the_wheel_builds_a_history_in_a_folder_that_has_requirements_of_its_own(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    written(tmp_path / "shop" / "events", lives(1, 50), files=2)
    (tmp_path / "shop" / "requirements").mkdir()
    installed = [str(tmp_path / "installed"), *os.environ.get("PYTHONPATH", "").split(os.pathsep), sysconfig.get_path("purelib")]
    built = subprocess.run(
        [sys.executable, "-S", "-m", "sedano", "history", "build", "--source", "events", "--target", "history"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, installed))}, cwd=tmp_path / "shop",
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout) == {"version": 1, "new_files": 2, "parts": 1, "quarantined": 0}


@pytest.mark.parametrize(("words", "code", "said"), [
    (["build", "--source", "nowhere", "--target", "h"], 1, "there is nothing at nowhere"),
    (["build", "--target", "h"], 2, "build needs --source"),
    (["query", "--target", "h"], 2, "query needs a SELECT"),
    (["build", "--source", ".", "--target", "h", "--day", "yesterday"], 2, "is not YYYY-MM-DD"),
    (["build", "--source", ".", "--target", "gs://b/h"], 1, "a folder of this machine or s3://bucket/prefix"),
    (["dance", "--target", "h"], 2, "invalid choice: 'dance'"),
    (["build", "--source", "notes.txt", "--target", "h"], 1, "names end in .jsonl or .jsonl.gz"),
    (["build", "--source", ".", "--target", "notes.txt"], 1, "notes.txt is a file; a history needs a folder"),
    (["build", "--source", ".", "--target", "h", "--rebild"], 2, "there is no --rebild"),
    (["compact", "--target", "h"], 1, "run `sedano history build` first"),
    (["compact", "--target", "h", "--keep-days", "-1"], 2, "'-1' is not a number of days"),
    (["query", "SELECT 1", "--target", "h", "--limit", "0"], 2, "'0' is not a whole number from 1 on"),
    (["query", "DROP TABLE tasks", "--target", "h"], 1, "it begins with 'DROP'"),
    (["report", "--target", "h", "--out", "no/such/place.html"], 1, "is not in an existing folder"),
    (["report", "--target", "h", "--fail-on", "failed"], 1, "is not a comparison; write for example failed>1%"),
    (["report", "--target", "h", "--diff", "no/such.html"], 1, "--diff: no/such.html cannot be read"),
])  # fmt: skip
def test_what_cannot_be_done_is_said_before_spark_starts(words, code, said, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("not events\n")
    with contextlib.chdir(tmp_path):
        assert ended(words) == code
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_glue_says_the_verb_as_an_option_among_others_of_its_own():
    given = ["--JOB_NAME", "history", "--verb", "update", "--source", "s3://b/events/", "--target", "s3://b/history/", "--TempDir", "s3://t"]
    told = job.arguments(given)
    assert (told.verb, told.source, told.target, told.sql) == ("update", "s3://b/events/", "s3://b/history/", None)


def test_nothing_that_landed_is_said_and_is_no_failure_for_a_schedule_may_run_before_anything_has(spark, tmp_path, capsys):
    source = tmp_path / "source"
    written(source, lives(1, 2))
    words = options(verb="update", source=str(tmp_path / "none"), target=str(tmp_path / "history"))
    (tmp_path / "none").mkdir()
    history = open_history(words.target)
    job.look(history, words)
    assert "no *.jsonl and no *.jsonl.gz file is below" in capsys.readouterr().err
    assert job.update(spark, history, words) == {"version": 0, "new_files": 0}
    job.look(history, options(verb="build", source=str(source), day="2031-01-01"))
    assert "no landed file is in a folder dt=2031-01-01/" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["build", "update"])
def test_the_source_is_listed_once_and_what_lands_meanwhile_is_for_the_next_run(spark, tmp_path, verb):
    source = written(tmp_path / "source", lives(1, 4), files=2)
    words = options(verb=verb, source=str(source), target=str(tmp_path / "history"))
    history = open_history(words.target)
    seen = job.look(history, words)
    (source / "late.jsonl.gz").write_bytes(Path(next(iter(seen.landed))).read_bytes())
    assert job.done(spark, history, words, seen)["new_files"] == 2
    assert job.done(spark, history, words, job.look(history, words))["new_files"] == 1


def test_an_older_page_that_the_new_one_replaces_is_read_once_and_compared(spark, tmp_path):
    source, page = written(tmp_path / "source", lives(1, 4), files=2), tmp_path / "report.html"
    history = open_history(str(tmp_path / "history"))
    job.build(spark, history, options(source=str(source)))
    job.report(spark, history, options(out=str(page)))
    words = options(verb="report", target=str(tmp_path / "history"), out=str(page), diff=str(page), fail_on=["tasks>3"])
    seen = job.look(history, words)
    page.unlink()
    assert job.done(spark, history, words, seen)["exceeded"] == ["tasks>3"]
    assert "The older report, this one, and the change" in page.read_text(encoding="utf-8")


def test_a_run_that_meets_another_says_whose_and_until_when(tmp_path):
    history = open_history(str(tmp_path))
    with history.edition(), pytest.raises(LeaseTaken) as taken, open_history(str(tmp_path)).edition():
        pass
    assert job.excuse(taken.value).endswith("is at work on this history; if it has died, its lease is over after 5 minutes at most")
    assert job.excuse(FencedOff("x", 3)).endswith("run it again")


def test_a_history_that_holds_nothing_says_what_to_do(spark, tmp_path):
    with pytest.raises(ConfigurationError, match="run `sedano history build` first"):
        job.tables(spark, open_history(str(tmp_path)))
