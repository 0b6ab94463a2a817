"""The lines of `sedano dev`: whole, escaped, in colour where that is wanted, and with the name of the task that printed them."""

import io
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano import Sedano, testing
from sedano.dev.output import Console, LogLines, TaskStream
from sedano.dev.run_reports import Report, logged


class Lines:
    """A console over a file, and what was written to it."""

    def __init__(self, path: Path, colour: bool) -> None:
        """Write with *colour* or without."""
        self._path = path
        self.target = os.open(path, os.O_WRONLY | os.O_CREAT)
        self.console = Console(self.target, colour, lambda: "12:00:00")

    @property
    def text(self) -> str:
        """What was written."""
        return self._path.read_text()


@pytest.fixture(params=[False, True], ids=["plain", "colour"])
def lines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lines]:
    """A console over a file."""
    made = Lines(tmp_path / "lines", request.param)
    yield made
    os.close(made.target)


def test_text_from_outside_moves_no_cursor_and_forges_no_line(lines: Lines) -> None:
    lines.console.say("a\x1b[2J\nb", "bad", "task\x1b[1m[x]")
    lines.console.block("one\x1b[2J\ntwo")
    stream = TaskStream(lines.console, io.StringIO())
    stream.write("\x1b[31mred\x1b[0m\x1b[2J\x07\n")
    text = lines.text
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert r"\x1b[2J" in text
    assert text.count("\n") == 4
    assert ("\x1b[31mred" in text) == lines.console.colour


def test_a_print_is_one_line_with_the_name_of_its_task_on_each_thread(lines: Lines) -> None:
    app, stream = Sedano("shop"), TaskStream(lines.console, io.StringIO())

    @app.task(name="talk")
    def talk() -> None:
        print("in", "the task", file=stream)
        print("a\nb", file=stream, end="")
        stream.writelines([" and c\n"])

    print("half", end="", file=stream)
    thread = threading.Thread(target=lambda: print("other", file=stream))
    thread.start()
    thread.join()
    with testing.world(app) as world:
        result = talk.delay()
        world.drain()
    stream.end()
    stream.flush()
    name = lines.console.painted(f"talk[{result.id[:6]}]", "task")
    assert lines.text.splitlines() == ["other", f"{name} halfin the task", f"{name} a", f"{name} b and c"]
    assert stream.getvalue() == ""


def test_a_log_record_is_one_line_and_its_traceback_below(lines: Lines) -> None:
    log = logging.Logger("shop", logging.DEBUG)  # noqa: LOG001 - one that is not shared
    log.addHandler(LogLines(lines.console))
    log.debug("hidden")
    log.warning("careful %s", "x\ny")
    log.info("wrong %d", "number")
    try:
        raise ValueError("no")
    except ValueError:
        log.exception("failed")
    text = lines.text
    assert "hidden" not in text
    assert r"warning shop: careful x\ny" in text
    assert "info shop: 'wrong %d' (TypeError: " in text
    assert "error shop: failed" in text
    assert "    ValueError: no" in text


def test_of_the_engines_log_only_what_a_developer_needs_is_shown() -> None:
    assert logged("info", "anything", {}) is None
    assert logged("warning", "task failed and is tried again", {"task": "x"}) is None
    parked = logged("error", "message parked", {"reason": "arguments", "field": "data", "detail": "wrong", "queue": "commands:default"})
    assert parked == Report("", "", "PARKED (arguments) data: wrong; `sedano parked list` shows the message", "bad")
    bare = logged("error", "message parked", {"reason": "unknown_task", "field": None, "detail": ""})
    assert bare == Report("", "", "PARKED (unknown_task); `sedano parked list` shows the message", "bad")
    other = logged("warning", "claim not answered", {"task": "add", "task_id": "abc", "trace_id": "t", "error": "e" * 500})
    assert other is not None
    assert (other.task, other.task_id, other.style) == ("add", "abc", "warning")
    assert other.text.startswith("claim not answered error=eee")
    assert len(other.text) < 200
