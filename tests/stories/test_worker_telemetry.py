"""`sedano worker` as a real process with adapters for its telemetry: the journal and a StatsD server are sockets of this test."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sedano.cli.exits import Exit
from tests.conformance.collector import Collector
from tests.conformance.test_telemetry_outputs import Journal
from tests.stories.worked_project import SECONDS, WorkedProject


def test_a_worker_writes_to_the_journal_and_counts_by_statsd(worked: WorkedProject, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with closing(journal.socket), closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as statsd:
        statsd.bind(("127.0.0.1", 0))
        statsd.settimeout(SECONDS)
        metrics = f"statsd://127.0.0.1:{statsd.getsockname()[1]}"
        run = worked.worker("-c", "2", SEDANO_LOGS=f"journald://{journal.path}", SEDANO_METRICS=metrics)
        journal.socket.settimeout(SECONDS)
        found = journal.entries(1)
        while found[-1]["MESSAGE"] != "the worker is ready":
            found += journal.entries(1)
        assert (found[-1]["SYSLOG_IDENTIFIER"], found[-1]["PRIORITY"], found[-1]["SEDANO_CONCURRENCY"]) == ("sedano-worker", "6", "2")
        assert worked.app.send_task("note", (str(worked.notes), 3)).get(timeout=SECONDS) == 3
        counted = statsd.recv(65_536).decode()
        while "TasksSucceeded" not in counted:
            counted += "\n" + statsd.recv(65_536).decode()
        assert "sedano.TasksSucceeded:1|c|#task:note" in counted
        assert run.end() == 0
        assert (run.log, run.other) == ([], [])


def test_a_worker_whose_standard_error_is_the_journal_writes_there_without_settings(worked: WorkedProject, tmp_path: Path) -> None:
    stream = os.open(tmp_path / "stderr", os.O_CREAT | os.O_WRONLY)
    found = os.fstat(stream)
    code = (
        "import os, sys; os.dup2(int(sys.argv[1]), 2)\n"
        "from sedano.host.worker_telemetry import where_it_logs\n"
        "print(where_it_logs(os.environ))"
    )  # fmt: skip
    with closing(os.fdopen(stream)):
        for inode, where in ((found.st_ino, "journal"), (found.st_ino + 1, "other")):
            given = {**worked.environment, "JOURNAL_STREAM": f"{found.st_dev}:{inode}"}
            told = _program(code, str(stream), given, stream)
            assert told == where


def _program(code: str, argument: str, environment: dict[str, str], stream: int) -> str:
    words = [sys.executable, "-c", code, argument]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True, pass_fds=[stream]).stdout.strip()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"SEDANO_LOGS": "jsno"}, "'jsno' is not a known adapter; write one of console, journald, json, logging, none, powertools"),
        ({"SEDANO_METRICS": "statsd"}, "SEDANO_METRICS: '' is not host:port; write statsd://127.0.0.1:8125"),
    ],
)
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_name_that_is_not_known_ends_the_command_at_its_start(
    worked: WorkedProject, variables: dict[str, str], words: str, processes: str
) -> None:
    run = worked.worker("--processes", processes, **variables)
    assert run.ended() == Exit.FAILED
    assert words in "".join(run.other)


def test_a_worker_whose_journal_is_away_runs_its_tasks_and_writes_its_lines_later(worked: WorkedProject, tmp_path: Path) -> None:
    run = worked.worker("-c", "1", SEDANO_LOGS=f"journald://{tmp_path / 'journal'}")
    assert worked.app.send_task("note", (str(worked.notes), 1)).get(timeout=SECONDS) == 1
    journal = Journal(tmp_path / "journal")
    with closing(journal.socket):
        assert worked.app.send_task("note", (str(worked.notes), 2)).get(timeout=SECONDS) == 2
        journal.socket.settimeout(SECONDS)
        found = journal.entries(1)
        while found[-1]["MESSAGE"] != "the worker is ready":
            found += journal.entries(1)
        assert worked.noted() == ["1", "2"]
        assert run.end() == 0


def test_a_worker_sends_its_spans_to_a_collector_and_the_last_ones_when_it_ends(worked: WorkedProject) -> None:
    collector = Collector()
    run = worked.worker("-c", "1", SEDANO_TRACES=f"otlp://{collector.address}")
    try:
        assert worked.app.send_task("note", (str(worked.notes), 1)).get(timeout=SECONDS) == 1
        assert worked.app.send_task("note", (str(worked.notes), 2)).get(timeout=SECONDS) == 2
        assert run.end() == 0
        assert sorted(one["name"] for one in collector.spans()) == ["note", "note", *["publish note"] * 2, *["wait in default"] * 2]
    finally:
        collector.close()
