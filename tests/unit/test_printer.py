"""What a verb writes moves no cursor: every character that a terminal acts on is written out, and JSON stays JSON."""

import ast
import io
import json
import sys
import unicodedata
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano import cli
from sedano.cli.printer import line, say, say_json, say_text

ACTED_ON = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""The categories of characters that control: C0 and C1, formats (bidi, zero width), surrogates, private ones, separators of lines."""


def harmless(text: str) -> bool:
    """Whether a terminal shows *text* and does nothing else."""
    return not any(unicodedata.category(one) in ACTED_ON for one in text.replace("\t", ""))


@given(st.text(max_size=80) | st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=20))
def test_no_text_keeps_a_character_that_a_terminal_acts_on(text: str) -> None:
    assert harmless(line(text))
    assert line(line(text)) == line(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"), ("\x1b]52;c;QUFB\x07", "\\x1b]52;c;QUFB\\x07"), ("\x9b2J", "\\x9b2J"), ("a\u202eb", "a\\u202eb"),
        ("\u2066x\u2069", "\\u2066x\\u2069"), ("one\ntwo", "one\\ntwo"), ("one\r", "one\\r"), ("\ud800", "\\ud800"), ("\x7f", "\\x7f"),
        ("\u2028", "\\u2028"), ("\ufeff", "\\ufeff"), ("\U000e0041", "\\U000e0041"), ("Grüße 数 \U0001f600\t.", "Grüße 数 \U0001f600\t."),
    ],
)  # fmt: skip
def test_what_is_written_out_is_written_as_in_source(text: str, shown: str) -> None:
    assert line(text) == shown


@given(st.text(max_size=40))
def test_lines_are_as_many_as_were_meant(text: str) -> None:
    with redirect_stdout(io.StringIO()) as out:
        say(text)
    assert out.getvalue().count("\n") == 1
    with redirect_stdout(io.StringIO()) as out:
        say_text(text)
    assert out.getvalue().count("\n") == text.count("\n") + 1


@given(st.recursive(st.text(max_size=20), lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5))
def test_json_stays_what_it_is_and_is_ascii_without_controls(value: object) -> None:
    with redirect_stdout(io.StringIO()) as out:
        say_json(value)
    assert json.loads(out.getvalue()) == value
    written = out.getvalue().removesuffix("\n")
    assert written.isascii()
    assert written.isprintable()


def test_a_terminal_of_few_letters_gets_the_others_written_out() -> None:
    few = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with redirect_stdout(few):
        say("Grüße")
    few.flush()
    assert few.buffer.getvalue() == b"Gr\\xfc\\xdfe\n"  # type: ignore[attr-defined] # a BytesIO


def test_what_was_closed_is_not_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    was, sys.stderr = sys.stderr, None  # type: ignore[assignment] # as in a program whose stderr was closed
    try:
        say("for nobody", err=True)
    finally:
        sys.stderr = was
    assert capsys.readouterr().out == ""


def test_no_verb_writes_past_the_printer() -> None:
    room = Path(cli.__file__).parent
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted(room.rglob("*.py"))
        if path.name != "printer.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "sys.stdout.write", "sys.stderr.write")
        and not (path.name == "workflow_runs.py" and "picture" in ast.unparse(node)) and ast.unparse(node) != "print(end='', flush=True)"
    ]  # fmt: skip
    assert found == [], "write with sedano.cli.printer; a drawing is written as it is, for a file"
