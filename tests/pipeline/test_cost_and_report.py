"""`sedano cost` and `sedano report`: the reckoning of the templates and the history job, by their own code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glue_jobs.pipeline.tables import cost as table
from infra import cost as reckoning
from infra import task_cost
from sedano.cli import main
from sedano.cli.cost_tables import MEASURED
from sedano.cli.exits import Exit
from tests.pipeline.streams import lives, written

ROOT = Path(__file__).parents[2]


def assembly(folder: Path) -> Path:
    """A cloud assembly of one stage with one queue that is read."""
    properties = {"BatchSize": 10, "FunctionName": {"Ref": "WorkerFunction"}}
    resources = {"WorkerDefault": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties}}
    (folder / "core.json").write_text(json.dumps({"Resources": resources}))
    stack = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "core.json", "stackName": "sedano-dev-core"}}
    (folder / "manifest.json").write_text(json.dumps({"artifacts": {"sedano-dev-core": stack}}))
    return folder


def test_the_cost_of_templates_is_the_page_of_the_constructs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = assembly(tmp_path)
    assert main(["cost", str(made)]) == Exit.DONE
    assert capsys.readouterr().out.strip() == reckoning.page(reckoning.read(made)).strip()
    assert main(["cost", str(made), "--json"]) == Exit.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["stage"] == "dev"
    assert sum(one["dollars"] for one in found["idle"]) == pytest.approx(task_cost.total(reckoning.idle(reckoning.read(made))))
    assert found.keys() == {"stage", "summary", "idle", "working", "tasks_in_batches", "tasks_alone"}


def test_a_folder_without_templates_is_a_wrong_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(tmp_path)]) == Exit.USAGE
    assert "`sedano cost` without a folder makes the templates" in capsys.readouterr().err
    assert main(["cost", str(tmp_path), "--history", "x"]) == Exit.USAGE
    assert "ASSEMBLY, --days and --history exclude each other; give one of them" in capsys.readouterr().err
    assert main(["cost"]) == Exit.USAGE
    assert "which app?" in capsys.readouterr().err


def test_the_columns_that_cost_asks_for_are_those_of_the_table() -> None:
    columns = MEASURED.removeprefix("SELECT ").partition(" FROM cost ")[0].split(", ")
    assert {*columns} <= {field.name for field in table.SCHEMA.fields}


def test_a_report_of_new_events_is_written_and_its_history_tells_the_cost(tmp_path: Path) -> None:
    written(tmp_path / "events", lives(1, 50), files=2)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command, paths = [sys.executable, "-m", "sedano", *words], [str(ROOT / "layers/sedano/python"), str(ROOT)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False)

    made = run("report", "--source", "events", "--target", "history", "--json")
    assert made.returncode == 0, made.stderr
    answer = json.loads(made.stdout)
    assert (tmp_path / "report.html").stat().st_size == answer["bytes"]
    assert "sedano report: added 2 files of events\n" in made.stderr
    limits = ["--fail-on", "tasks>9", "--fail-on", "tasks<1"]
    judged = run("report", "--target", "history", "--out", "next.html", "--diff", "report.html", *limits)
    assert (judged.returncode, judged.stdout) == (Exit.PROBLEMS, "next.html\n"), judged.stderr
    assert "sedano report: Failed: tasks>9 (50)." in judged.stderr
    assert "Compared" in (tmp_path / "next.html").read_text()
    told = run("cost", "--history", "history", "--json")
    assert told.returncode == 0, told.stderr
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert sum(row["tasks"] for row in rows) > 0
    assert rows[0]["dollars_per_million"] > 0
    empty = run("report", "--target", "nothing")
    assert (empty.returncode, "nothing has been taken in yet" in empty.stderr) == (Exit.FAILED, True)
