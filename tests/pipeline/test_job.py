"""The job as a user runs it: the entry script in a process of its own, and the same steps called twice."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from glue_jobs.pipeline.job import run
from glue_jobs.timeline import arguments, main
from sedano import Sedano, chain, testing
from sedano.history import open_history
from sedano.local.spark_runs import LocalRuns
from sedano.model.history.registers import finalise, fold
from sedano.spark import spark_task
from tests.ended import until_ended
from tests.pipeline.streams import delivered, lives, written

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stream():
    return lives(seed=7, tasks=200)


@pytest.fixture(scope="module")
def states(stream):
    """The final state of each task by the pure registers: what an honest ledger holds."""
    return {uuid: finalise(known).state for uuid, known in fold(stream)[0].items()}


@pytest.fixture
def history(stream, tmp_path_factory):
    return written(tmp_path_factory.mktemp("history"), delivered(5, stream), files=4)


def ledger_of(path, states):
    path.write_text("".join(json.dumps({"uuid": uuid, "state": state}) + "\n" for uuid, state in states.items()))
    return path


def test_the_entry_script_writes_tables_and_a_summary_and_passes_over_what_only_glue_knows(history, stream, states, tmp_path):
    (history / "broken.jsonl").write_text("not JSON\n")
    ledger = ledger_of(tmp_path / "ledger.jsonl", states | {"never-seen": "SUCCESS"})
    options = ["--JOB_NAME", "timeline", "--source", history, "--target", tmp_path / "out", "--ledger", ledger]
    paths = os.pathsep.join([str(ROOT / "layers/sedano/python"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "glue_jobs.timeline", *map(str, options)],
        env=os.environ | {"PYTHONPATH": paths}, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert json.loads(done.stdout) == told
    assert (told["mismatches"], told["missing"]) == (0, 1)
    assert (told["quarantined"], told["reasons"]) == (1, {"not a JSON object": 1})
    assert told["states"] == Counter(states.values())
    assert (told["events"], told["tasks"]) == (len(stream), len(states))
    assert told["lines"] == len(delivered(5, stream))
    tables = {path.name for path in (tmp_path / "out").iterdir() if (path / "_SUCCESS").exists()}
    assert tables == {"landed", "quarantine", "tasks", "latency", "workers", "calls", "lines", "throughput"}
    assert {path.name for path in tmp_path.iterdir()} == {"out", "ledger.jsonl"}


def test_a_second_run_replaces_the_first_and_only_a_ledger_that_tells_otherwise_changes_it(spark, history, states, tmp_path):
    target = str(tmp_path / "out")
    first = run(spark, str(history), target)
    lying = ledger_of(tmp_path / "ledger.jsonl", dict.fromkeys(states, "SUCCESS"))
    second = run(spark, str(history), target, str(lying))
    assert second == first | {"mismatches": sum(state != "SUCCESS" for state in states.values()), "missing": 0}


def test_a_canvas_waits_for_a_spark_job_of_this_machine(history, states, tmp_path):
    class Patient(LocalRuns):
        """Answers when the run is over, so that the virtual time of the test needs no guess."""

        def of(self, job, task_id):
            for begun in super().of(job, task_id):
                until_ended(int((tmp_path / "runs" / job / begun.id).read_text()))
            return super().of(job, task_id)

    app = Sedano("canvas")
    runs = Patient(tmp_path / "runs", {"history": "glue_jobs.history"})
    tables = spark_task(app, "history", lambda: runs)
    tell = app.task(name="tell")(lambda told: told["run"])
    with testing.world(app) as world:
        made = chain(tables.s({"--verb": "build", "--source": str(history), "--target": str(tmp_path / "made")}), tell.s()).delay()
        world.drain()
        assert made.get() == f"{made.parent.id}/000.pid"
    assert [part.sources for part in open_history(str(tmp_path / "made")).current().parts] == [4]


def test_an_empty_history_has_an_empty_summary(spark, tmp_path):
    (tmp_path / "history").mkdir()
    told = run(spark, str(tmp_path / "history"), str(tmp_path / "out"))
    assert (told["tasks"], told["lines"], told["calls"], told["throughput"]["intervals"]) == (0, 0, {}, [])
    assert told["latency"]["tasks"] == 0


def test_a_source_that_is_not_there_is_said_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--source", str(tmp_path / "nowhere"), "--target", str(tmp_path / "out")])
    assert "--source: there is nothing at" in capsys.readouterr().err


def test_an_option_is_never_guessed_from_its_beginning():
    with pytest.raises(SystemExit):
        arguments(["--sour", "a", "--target", "b"])
