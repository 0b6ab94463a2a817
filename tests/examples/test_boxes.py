"""The hosts of boxed tasks in Python, Node, Go and sh answer as the page says, through the engine; each has at most 40 lines."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.boxes import tasks
from sedano import Retry, Sedano, testing
from sedano.errors import RemoteError
from sedano.testing.deployment import World

MOST_LINES = 40
TEXT = "three words, twice:\nthree words \u00e9\u4e2d"


@pytest.fixture
def world() -> Iterator[World]:
    """A world of the example's app."""
    with testing.world(tasks.app) as built:
        yield built


@pytest.mark.parametrize("task", [tasks.words_in_python, tasks.words_in_node], ids=["python", "node"])
def test_a_host_answers_calls_logs_and_errors(world: World, task: Any) -> None:
    assert [result.get() for result in [task.delay(TEXT) for _ in range(5)]] == [len(TEXT.split())] * 5
    with pytest.raises(RemoteError, match="TypeError: words takes a text") as caught:
        task.delay(7).get()
    assert "words" in caught.value.traceback
    assert [line for line in world.telemetry.lines if "tried again" in line.message] == []


def test_the_host_in_sh_answers_calls_logs_and_errors(world: World, tmp_path: Path) -> None:
    (tmp_path / "a file").write_bytes(b"x" * 1234)
    assert tasks.size.delay(str(tmp_path / "a file")).get() == 1234
    failed = tasks.size.delay(str(tmp_path / "absent"))
    with pytest.raises(RemoteError, match="NoFile: the file cannot be read"):
        failed.get()
    assert [line.fields["task_id"] for line in world.telemetry.lines if line.message.startswith("cannot read")] == [failed.id]


@pytest.fixture(scope="module")
def host_in_go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host in Go, built."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: the host in Go is not built")
    built = tmp_path_factory.mktemp("go") / "host"
    environment = {**os.environ, "GOCACHE": str(built.parent / "cache"), "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    subprocess.run([go, "build", "-o", str(built), str(tasks.HERE / "host.go")], check=True, timeout=300, env=environment)
    return built


def test_the_host_in_go_answers_calls_logs_and_errors(host_in_go: Path) -> None:
    app = Sedano("boxes")
    words = app.boxed("words", [host_in_go], memory="256M", timeout=20, retry=Retry(max_retries=1, interval_start=1.0, jitter=False))
    with testing.world(app) as world:
        assert [result.get() for result in [words.delay(TEXT) for _ in range(5)]] == [len(TEXT.split())] * 5
        with pytest.raises(RemoteError, match="Panic: words takes a text") as caught:
            words.delay(7).get()
        assert "main.words" in caught.value.traceback
        with pytest.raises(RemoteError, match="index out of range"):
            words.delay().get()
        assert len([line for line in world.telemetry.lines if "tried again" in line.message]) == 1


@pytest.mark.parametrize("host", sorted(tasks.HERE.glob("host.*")), ids=lambda host: host.suffix)
def test_a_host_has_at_most_forty_lines(host: Path) -> None:
    assert len(host.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
