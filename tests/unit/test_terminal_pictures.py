"""A terminal becomes a picture: each character is drawn once, in the style that it had, and no text becomes markup."""

import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from docs.pictures.terminal import COLUMNS, Screen, Span, drawn, spans, wrapped
from sedano.views.terminal_colour import STYLES, painted

SVG = "{http://www.w3.org/2000/svg}"
WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=250)
PIECES = st.lists(st.tuples(WORDS, st.sampled_from(["", *STYLES])), max_size=6)


def shown(svg: str) -> list[str]:
    """Return the rows of a picture below the titles of its windows."""
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text") if text.get("class") != "t"]  # noqa: S314 - it is ours


@given(PIECES)
def test_every_character_of_a_line_is_drawn_in_its_order_and_style(pieces: list[tuple[str, str]]) -> None:
    (line,) = spans("".join(painted(text, style) for text, style in pieces))
    assert "".join(one.text for one in line) == "".join(text for text, _ in pieces).rstrip("\n")
    styled = [bool(one.style) for one in line for _ in one.text]
    assert styled == [bool(style) for text, style in pieces for _ in text]


@given(PIECES, st.integers(1, 300))
def test_a_line_is_broken_at_the_width_and_loses_nothing(pieces: list[tuple[str, str]], columns: int) -> None:
    line = [Span(text, style) for text, style in pieces]
    rows = [[one.text for one in row] for row in wrapped(line, columns)]
    assert "".join("".join(row) for row in rows) == "".join(text for text, _ in pieces)
    assert rows
    assert all(len("".join(row)) <= columns for row in rows)
    assert all(len("".join(row)) == columns for row in rows[:-1])


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_a_picture_is_well_formed_whatever_was_printed(rows: list[str]) -> None:
    broken = [row[at : at + COLUMNS] for row in rows for at in range(0, len(row), COLUMNS)]
    text = "\n".join(rows)
    if not text.endswith("\n") and rows[-1]:
        assert shown(drawn([Screen("<&>", text)], 'a "title"')) == broken


def test_a_style_lasts_until_it_is_reset_and_an_unknown_one_changes_nothing() -> None:
    assert list(spans("a\x1b[31mb\n\x1b[1;95mc\x1b[0md\x1b[m")) == [
        [Span("a"), Span("b", "r")], [Span("c", "r b"), Span("d")],
    ]  # fmt: skip


def test_windows_lie_below_each_other_and_a_reader_without_eyes_is_served() -> None:
    svg = drawn([Screen("first", "a\nb"), Screen("second", "c")], "two <terminals>")
    tops = [float(one.get("y", "")) for one in ET.fromstring(svg).iter(f"{SVG}rect")]  # noqa: S314
    assert tops == sorted(set(tops))
    assert 'role="img" aria-label="two &lt;terminals&gt;"' in svg


def test_a_picture_loads_nothing_and_has_no_script() -> None:
    svg = drawn([Screen("t", "<script>x</script> http://127.0.0.1")], "d")
    assert "<script" not in svg
    assert re.findall(r"(?:href|src|url\(|@import|@font-face)", svg) == []
