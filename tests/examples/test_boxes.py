"""The hosts of boxed tasks in Python, Node and sh answer as the page says, through the engine; each has at most 40 lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.boxes import tasks
from sedano import testing
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


@pytest.mark.parametrize("host", sorted(tasks.HERE.glob("host.*")), ids=lambda host: host.suffix)
def test_a_host_has_at_most_forty_lines(host: Path) -> None:
    assert len(host.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
