"""HTML of `sedano web`: text is escaped, addresses stay on the pages, and an address and its question are made from each other."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import UsageError
from sedano.views.canvas import Box
from sedano.views.panels import ScreenQuery
from sedano.views.screens import SCREENS
from sedano.views.tasks import TaskRow
from sedano.web.addresses import Address, address, parse
from sedano.web.bars import progress, span
from sedano.web.canvas_tree import DEEPEST, BoxBranch, forest
from sedano.web.markup import Markup, document, el, esc, join
from sedano.web.respond import ASSETS, asset
from tests.stories.shopfront import NASTY, Elements

KB = 1_024


@given(st.text())
def test_any_text_is_shown_and_never_read_as_html(text: str) -> None:
    page = Elements(document(el("p", text, title=text), esc(text)))
    assert [tag for tag, _ in page.found] == ["html", "p"]
    assert page.text.count("<") == 2 * text.count("<")
    page.text.encode()


def test_control_characters_and_directions_of_text_are_written_out() -> None:
    assert esc("\x1b[2J\u202e\n\ud800") == "\\x1b[2J\\u202e\\n\\ud800"
    assert el("p", NASTY, title=NASTY).isprintable()


def test_what_is_html_stays_and_everything_else_is_escaped() -> None:
    assert el("p", el("b", "a & b"), "<i>", 3) == "<p><b>a &amp; b</b>&lt;i&gt;3</p>"
    assert join(("<", el("b")), " & ") == "&lt; &amp; <b></b>"
    assert isinstance(join(()), Markup)


def test_attributes_are_left_out_true_or_a_text() -> None:
    assert el("input", name="q", hidden=True, value=None, disabled=False, aria_label='"') == '<input name="q" hidden aria-label="&quot;"/>'
    assert el("a", href="/x", class_="y") == '<a href="/x" class="y"></a>'


@pytest.mark.parametrize("there", ["https://example.org/", "//example.org/", "/\\example.org", "javascript:alert(1)", "", " /x"])
def test_no_address_leads_out_of_the_pages(there: str) -> None:
    with pytest.raises(ValueError, match="leads out of the pages"):
        el("a", "x", href=there)


def test_a_script_has_no_text() -> None:
    with pytest.raises(ValueError, match="serve it as an asset"):
        el("script", "alert(1)")


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
QUESTIONS = st.builds(
    ScreenQuery, name=st.sampled_from(list(SCREENS)), id=IDS, query=IDS.map(str.strip), days=st.integers(0, 999), redact=st.booleans(),
    failures_only=st.booleans(),
)  # fmt: skip


@given(QUESTIONS, st.booleans())
def test_an_address_asks_the_question_that_it_was_made_of(asked: ScreenQuery, as_json: bool) -> None:
    there = address(asked, as_json=as_json)
    assert there.isascii()
    assert parse(there) == Address(asked, as_json)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/tasks?days=-1", "not a number of days"), ("/tasks?days=1e3", "not a number of days"),
        ("/tasks?limit=3", "'limit' is not a field"),
        ("/task", "which task"), ("/canvas.json?id=", "which canvas"), (f"/tasks?{'&'.join(['q=x'] * 21)}", "more than 20 fields"),
    ],
)  # fmt: skip
def test_a_wrong_address_says_what_to_write(target: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse(target)


def test_other_paths_are_no_pages() -> None:
    assert [parse(path) for path in ("/x", "/tasks/1", "/-/app.css", "/.json.json")] == [None] * 4
    assert parse("//example.org/tasks") is None


def box(depth: int, name: str = "t") -> Box:
    """A box at a depth."""
    row = TaskRow(id=f"{name}-{depth}", name=name, state="SUCCESS", at=0.0, queue="", waited=None, ran=None, worker="", error="")
    return Box(depth, row)


def shape(nodes: list[BoxBranch]) -> list[object]:
    """The depths of trees, each with those below it."""
    return [(node.box.depth, shape(node.below)) for node in nodes]


def test_boxes_become_trees_also_where_a_parent_is_left_out() -> None:
    assert shape(forest([box(0), box(1), box(2), box(1)])) == [(0, [(1, [(2, [])]), (1, [])])]
    assert shape(forest([box(3), box(5), box(2)])) == [(3, [(5, [])]), (2, [])]


def test_a_deep_canvas_is_drawn_no_deeper_than_a_browser_likes() -> None:
    nodes, depth = forest([box(n) for n in range(1_000)]), 0
    while nodes:
        nodes, depth = nodes[-1].below, depth + 1
    assert depth == DEEPEST + 1


def test_drawings_say_in_words_what_they_show() -> None:
    bar = progress({"FAILURE": 1, "SUCCESS": 3})
    assert 'aria-label="4 tasks: 1 FAILURE, 3 SUCCESS"' in bar
    assert 'width="750.0" height="10" class="done"' in bar
    assert 'aria-label="waited 1.000 s, ran 3.000 s"' in span(1.0, 3.0, 4.0)
    assert (progress({}), span(None, None, 4.0), span(0.0, 0.0, 0.0)) == ("", "", "")


def test_all_assets_together_are_small_and_ask_for_nothing_else() -> None:
    contents = [asset(file) for file, _ in ASSETS.values()]
    assert sum(len(gzip.compress(content)) for content in contents) <= 12 * KB
    assert not any(word in content for content in contents for word in (b"https:", b"@import", b"innerHTML", b"eval("))
