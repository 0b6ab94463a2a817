"""Looking through screens: what each key does, how often is read, and lines that no text can break."""

from typing import Any

import pytest

from sedano.cli.live_screens import keys
from sedano.views.browser import FIRST_S, KEYS, MOST_AWAY_S, MOST_S, Browser, pause_after_failure, pause_after_read, pressed
from sedano.views.panels import Cell, Panel, Screen, ScreenQuery
from sedano.views.reader import About
from sedano.views.reads import Reads
from sedano.views.screens import LISTED
from sedano.views.terminal_screen import Size, TextRow, columns, fitted, frame, price, rows

ABOUT = About(0.0, "live", Reads({"dynamodb.GetItem": 2, "s3.GetObject": 1}, 2.0, 0.65))
TASK, SEARCH = Cell("t-1", "task", "t-1"), Cell("shop", "search", "name:shop")
LINES = [TextRow("note"), TextRow("Tasks"), TextRow("t-1", "", TASK), TextRow("shop", "", SEARCH), TextRow("")]
HOSTILE = "\x1b[2J\x1b]52;c;QQ==\x07\u202e\n\r界é"


def after(state: Browser, *typed: str) -> Browser:
    """The state after some keys, none of which ends it."""
    for key in typed:
        found = pressed(state, key, LINES)
        assert found is not None
        state = found
    return state


def test_every_listed_screen_has_a_key_and_q_ends() -> None:
    assert sorted(KEYS.values()) == sorted(LISTED)
    assert {after(Browser(), key).asked.name for key in KEYS} == set(LISTED)
    assert pressed(Browser(), "q", LINES) is None


def test_a_line_that_leads_somewhere_is_opened_and_b_goes_back_where_one_was() -> None:
    first = after(Browser(ScreenQuery("failures", days=7, redact=True)), "j")
    assert first.selected == 2
    opened = after(first, "enter")
    assert (opened.asked, opened.fresh, opened.selected) == (ScreenQuery("task", id="t-1", days=7, redact=True), True, 0)
    searched = after(first, "j", "enter")
    assert searched.asked == ScreenQuery("tasks", query="name:shop", days=7, redact=True)
    assert after(searched, "b").asked == first.asked
    assert after(Browser(), "b") == Browser()


def test_the_selection_stays_among_the_lines_that_lead_somewhere() -> None:
    assert [after(Browser(), *("j",) * number).selected for number in range(4)] == [0, 2, 3, 3]
    assert after(Browser(selected=3), "k", "k").selected == 2
    assert (after(Browser(), "G").selected, after(Browser(selected=3), "g").selected) == (3, 2)
    assert after(Browser(selected=99), "down").selected == 3
    assert pressed(Browser(), "j", []) == Browser()


def test_a_search_takes_letters_as_letters_and_escape_leaves_it() -> None:
    typing = after(Browser(), "/", "q", "n", ":", "x", "backspace", "a")
    assert (typing.typed, typing.asked) == ("qn:a", ScreenQuery())
    assert after(typing, "enter").asked == ScreenQuery("tasks", query="qn:a")
    assert after(typing, "escape") == Browser()
    assert after(Browser(ScreenQuery("locks")), "/", "a", "enter").asked == ScreenQuery("locks", query="a")


def test_the_picture_is_held_read_again_hidden_and_explained() -> None:
    assert after(Browser(), " ").held
    assert not after(Browser(), " ", " ").held
    assert after(Browser(fresh=False), "r").fresh
    assert after(Browser(), "x").asked.redact
    assert after(Browser(), "?").helped
    assert not after(Browser(fresh=False), "ä").fresh


def test_looks_back_off_while_nothing_changes_and_further_while_nothing_answers() -> None:
    pause, waits = FIRST_S, []
    for _ in range(10):
        pause = pause_after_read(pause, changed=False)
        waits.append(pause)
    assert waits[:3] == [3.0, 4.5, 6.75]
    assert waits[-1] == MOST_S
    assert pause_after_read(pause, changed=True) == FIRST_S
    assert pause_after_failure(50.0) == MOST_AWAY_S


def test_keys_of_a_terminal_have_names_and_unknown_sequences_are_left_out() -> None:
    assert [*keys("j\x1b[A\x1bOB\x1b[5~\r\x7f\x1b")] == ["j", "up", "down", "page up", "enter", "backspace", "escape"]
    assert [*keys("\x1b[200~ä\x1b[<0;1;1M\x01\x00")] == ["ä"]
    assert [*keys("\x1b[")] == []
    assert [*keys("")] == ["q"]


def screen(**fields: Any) -> Screen:
    """A screen with one table."""
    table = Panel("Tasks", ("task", "error"), ((TASK, Cell("x", "bad")), (Cell(HOSTILE), Cell(HOSTILE * 20))), "none")
    return Screen(**{"title": "T", "notes": (HOSTILE,), "tables": (table,), "command": "c", "about": ABOUT, "view": (), **fields})


def test_no_text_moves_the_cursor_or_leaves_its_line() -> None:
    drawn = frame(rows(screen()), Size(60, 10), 3, HOSTILE, HOSTILE, colour=False)
    body = drawn.replace("\x1b[H", "").replace("\x1b[K", "").replace("\x1b[7m", "").replace("\x1b[0m", "")
    assert "\x1b" not in body
    assert "\u202e" not in body
    assert body.count("\r\n") == body.count("\n") == 9
    assert all(columns(one) <= 60 for one in body.split("\r\n"))


@pytest.mark.parametrize("width", [1, 2, 5, 40, 200])
@pytest.mark.parametrize("height", [1, 2, 3, 30])
def test_a_picture_fits_any_terminal(width: int, height: int) -> None:
    drawn = frame(rows(screen()), Size(width, height), 4, "head", "foot", colour=True)
    assert drawn.count("\r\n") < max(2, height)


def test_a_text_is_cut_to_the_columns_that_it_takes() -> None:
    assert (columns("a界é"), columns("e\u0301")) == (4, 1)
    assert (fitted("界界界", 4), fitted("abc", 3), fitted("abcd", 3), fitted("abc", 1)) == ("界…", "abc", "ab…", "…")


def test_a_table_has_its_columns_in_line_and_says_when_it_is_empty() -> None:
    table = Panel("T", ("id", "name"), ((Cell("a"), Cell("x")), (Cell("bbb"), Cell("y"))), "")
    assert [one.text for one in rows(screen(notes=(), tables=(table,)))] == ["T", "ID   NAME", "a    x", "bbb  y"]
    assert [one.text for one in rows(screen(notes=(), tables=(table._replace(rows=(), empty="No task."),)))] == ["T", "No task."]


def test_the_price_is_one_line() -> None:
    assert price(ABOUT) == "live; $0.65 a million views on AWS; read 2 dynamodb.GetItem, 1 s3.GetObject"
