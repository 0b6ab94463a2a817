"""The page about the publisher: its program publishes by its command, its options are all of them, its lines are those of the protocol."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from sedano.cli.verbs.publisher import command
from sedano.model import publisher_frames as frames
from tests.docs.pages import page
from tests.stories.many_programs import SECONDS, ManyPrograms, many
from tests.waiting import until

__all__ = ["many"]
PAGE = page("publisher.md")
COMMANDS = [line.removeprefix("$ sedano publisher ") for line in re.findall(r"^\$ sedano publisher .*", PAGE.text, re.MULTILINE)]


def test_the_program_of_the_page_publishes_by_the_command_of_the_page(many: ManyPrograms) -> None:
    over_a_file = PAGE.blocks[0].replace('Sedano("shop")', 'Sedano("shop", connect="sedano.host.one_file:connect")')
    (many.folder / "shop.py").write_text(over_a_file)
    words = shlex.split(COMMANDS[0].replace("/run/shop/publisher.sock", str(many.sock)))
    many.publisher(command=(sys.executable, "-m", "sedano", "publisher", *words, "--json"))
    many.program("from shop import receipt; receipt.delay('o-17')")
    until(lambda: many.waiting() == 1)
    assert many.end() == 0


@pytest.mark.parametrize("words", COMMANDS)
def test_the_commands_of_the_page_are_taken(words: str) -> None:
    command.make_context("publisher", shlex.split(words))


def test_the_table_of_the_page_has_the_options_and_their_defaults() -> None:
    rows = dict(reversed(re.findall(r"^\| (?:`APP`, )?`(--[\w-]+)` \| (.*?) \|", PAGE.text, re.MULTILINE)))
    shared = ("code", "stage", "region", "profile", "help", "debug")
    own = [one for one in command.params if isinstance(one, click.Option) and one.name not in shared]
    assert {*rows} == {one.opts[-1] for one in own}
    assert {name: float(text) for name, text in rows.items() if text.isdigit()} == {"--lanes": 2.0, "--drain": 10.0}
    assert rows["--ack"] == next(one.default for one in own if one.name == "ack")


def test_the_lines_of_the_page_are_those_of_the_protocol() -> None:
    lines = [line.split(maxsplit=1) for line in re.findall(r"```text\n(.*?)```", PAGE.text, re.DOTALL)[0].splitlines()]
    said = [text for who, text in lines if who == "publisher"]
    assert frames.read_info(said[0].encode()) == frames.PublisherInfo(frames.WINDOW, "sent", "5c9a…")
    program = frames.Unconfirmed()
    assert [program.add(), program.add()] == [1, 2]
    assert program.read(said[1].split()[0].encode()) == [(1, None)]
    assert program.read(said[2].encode())[0][0] == 2
    reader = frames.FrameReader(100)
    asked = [re.split(r"\s{3,}", text)[0] for who, text in lines if who == "program"]
    written = b"".join(f"{text}\n".encode() + b"hello" * text.startswith("PUB") for text in asked)
    assert reader.feed(written) == [frames.PublishFrame(1, "commands:default", 0, None, "hello"), frames.StatRequest()]
    assert said[4] == "ERR order publication 7 follows 2; number them 1, 2, 3, …"
    codes = re.findall(r"`(\w+)` \(", PAGE.text.partition("The codes of a refusal are")[2])[:4]
    assert {*codes, "refused"} == {frames.AWAY, frames.FULL, frames.QUEUE, frames.SETUP, frames.REFUSED}


def test_systemd_accepts_the_units_of_the_page(tmp_path: Path) -> None:
    units = re.findall(r"```ini\n# /etc/systemd/system/(\S+)\n(.*?)```", PAGE.text, re.DOTALL)
    assert [name for name, _ in units] == ["shop-publisher.socket", "shop-publisher.service"]
    for name, text in units:
        (tmp_path / name).write_text(text.replace("/srv/shop/venv/bin/sedano", sys.executable))
    (line,) = re.findall(r"ExecStart=\S+ publisher (.*)", units[1][1])
    command.make_context("publisher", shlex.split(line))
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    paths = [str(tmp_path / name) for name, _ in units]
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    words = [analyze, "verify", "--man=no", *paths]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment)
    assert [line for line in done.stderr.splitlines() if "shop-publisher" in line] == [], done.stderr
