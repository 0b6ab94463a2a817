"""The pictures of a small workflow, element by element: boxes, edges, bars and legends with all their figures."""

import pytest

from sedano.model.workflow import svg as drawing
from sedano.model.workflow.colours import COLOURS
from sedano.model.workflow.conditions import condition
from sedano.model.workflow.definition import Definition, Ref, StepSpec, TaskCall
from sedano.model.workflow.mermaid import mermaid
from sedano.model.workflow.svg import lines, only_after, svg

A = StepSpec("a", TaskCall("shop.a"))
B = StepSpec("b", TaskCall("shop.b", (Ref("item"),)), ("a",), each=Ref("list"), compensation=TaskCall("undo"))
C = StepSpec("c", TaskCall("t", (Ref("b"),)), ("a",), (condition("$a > 1"), condition("not $b")))
WHOLE = Definition("w", "2", steps=(A, B, C))
STATES, CALLS = {"a": "SUCCEEDED", "b": "RUNNING"}, {"b": (3, 1, 8)}


def elements(text: str) -> list[str]:
    """Return the elements of a picture after its style and its arrow, one in a line."""
    return text.partition("</defs>\n")[2].replace("><", ">\n<").splitlines()


RUN = """\
<rect class="g" width="100%" height="100%"/>
<text class="t" x="28" y="42">w · version 2 · note</text>
<path class="e a" marker-end="url(#h)" d="M174.4 136.0C174.4 159.5 111.3 159.5 111.3 183.0"/>
<path class="e" marker-end="url(#h)" d="M174.4 136.0C174.4 163.0 237.6 163.0 237.6 190.0L237.6 300.0C237.6 326.5 174.4 326.5 174.4 353.0"/>
<path class="e" marker-end="url(#h)" d="M111.3 300.0C111.3 326.5 174.4 326.5 174.4 353.0"/>
<g>
<title>a: SUCCEEDED</title>
<rect class="b SUCCEEDED" x="140.6" y="84.0" width="67.6" height="52.0" rx="9"/>
<text class="n" x="154.6" y="105.0">a</text>
<text class="s" x="154.6" y="121.0">shop.a</text>
</g>
<g>
<title>b: RUNNING</title>
<rect class="b RUNNING" x="34.0" y="184.0" width="166.6" height="110.0" rx="9"/>
<rect class="b RUNNING" x="31.0" y="187.0" width="166.6" height="110.0" rx="9"/>
<rect class="b RUNNING" x="28.0" y="190.0" width="166.6" height="110.0" rx="9"/>
<text class="n" x="42.0" y="211.0">b × each</text>
<text class="s" x="42.0" y="227.0">shop.b</text>
<text class="s" x="42.0" y="243.0">of $list</text>
<text class="s" x="42.0" y="259.0">3 of 8 done, 1 failed</text>
<text class="s" x="42.0" y="275.0">↩ undo</text>
<rect class="p" x="42.0" y="287.0" width="138.6" height="5"/>
<rect class="p SUCCEEDED" x="42.0" y="287.0" width="52.0" height="5"/>
<rect class="p FAILED" x="94.0" y="287.0" width="17.3" height="5"/>
</g>
<g>
<title>c</title>
<rect class="b NONE" x="124.1" y="354.0" width="100.6" height="84.0" rx="9"/>
<text class="n" x="138.1" y="375.0">c</text>
<text class="s" x="138.1" y="391.0">t</text>
<text class="c" x="138.1" y="407.0">when $a &gt; 1</text>
<text class="c" x="138.1" y="423.0">when not $b</text>
</g>
<rect class="b RUNNING" x="28" y="462" width="16" height="11" rx="3"/>
<text class="s" x="51" y="472">running</text>
<rect class="b SUCCEEDED" x="178" y="462" width="16" height="11" rx="3"/>
<text class="s" x="201" y="472">succeeded</text>
</svg>
""".splitlines()


def head(width: int, height: int, title: str) -> str:
    """Return the first line of a picture."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{title}</title>'


def test_the_picture_of_a_run() -> None:
    text = svg(WHOLE, STATES, "note", CALLS)
    assert text.splitlines()[0] == head(356, 504, "w · version 2 · note")
    assert elements(text) == RUN
    assert text.endswith("</svg>\n")


def test_the_picture_of_a_definition_has_no_states_no_bars_and_no_legend() -> None:
    text = svg(WHOLE, {})
    assert text.splitlines()[0] == head(198, 440, "w · version 2")
    assert [line for line in elements(text) if " NONE" in line or "<title>" in line] == [
        "<title>a</title>",
        '<rect class="b NONE" x="85.9" y="84.0" width="67.6" height="52.0" rx="9"/>',
        "<title>b</title>",
        '<rect class="b NONE" x="34.0" y="184.0" width="93.6" height="84.0" rx="9"/>',
        '<rect class="b NONE" x="31.0" y="187.0" width="93.6" height="84.0" rx="9"/>',
        '<rect class="b NONE" x="28.0" y="190.0" width="93.6" height="84.0" rx="9"/>',
        "<title>c</title>",
        '<rect class="b NONE" x="69.4" y="328.0" width="100.6" height="84.0" rx="9"/>',
    ]  # fmt: skip
    assert elements(text)[-1] == "</svg>"


def test_a_legend_has_rows_of_four() -> None:
    names = [*COLOURS][:6]
    steps = tuple(StepSpec(name.lower(), TaskCall("t")) for name in names)
    text = svg(Definition("w", steps=steps), dict(zip([step.name for step in steps], reversed(names), strict=True)))
    assert text.splitlines()[0] == head(748, 224, "w · version 1")
    legend = elements(text)[-13:-1]
    assert legend[::2] == [
        f'<rect class="b {name}" x="{28 + 150 * (n % 4)}" y="{160 + 22 * (n // 4)}" width="16" height="11" rx="3"/>'
        for n, name in enumerate(names)
    ]
    assert (legend[1], legend[11]) == ('<text class="s" x="51" y="170">waiting</text>', '<text class="s" x="201" y="192">failed</text>')
    words = svg(Definition("w", steps=steps[:1]), {"waiting": "COMPENSATION_FAILED"})
    assert ">compensation failed</text>" in words
    assert words.splitlines()[0] == head(206, 202, "w · version 1")


@pytest.mark.parametrize(
    ("name", "version", "width", "box"), [("w", "1", 176, 10), ("w" * 20, "1", 350, 10), ("w", "1", 248, 20)],
)  # fmt: skip
def test_a_picture_is_as_wide_as_its_widest_part(name: str, version: str, width: int, box: int) -> None:
    step = StepSpec("a" * box, TaskCall("t"))
    text = svg(Definition(name, version, steps=(step,)), {})
    assert text.splitlines()[0] == head(width, 164, f"{name} · version {version}")


def test_a_workflow_without_steps_is_a_title() -> None:
    text = svg(Definition("w"), {})
    assert text.splitlines()[0] == head(176, 112, "w · version 1")
    assert elements(text) == [
        '<rect class="g" width="100%" height="100%"/>',
        '<text class="t" x="28" y="42">w · version 1</text>',
        "</svg>",
    ]


@pytest.mark.parametrize(
    ("calls", "bars"),
    [
        ((0, 0, 4), [("p", "42.0", "72.6")]),
        ((4, 0, 4), [("p", "42.0", "72.6"), ("p SUCCEEDED", "42.0", "72.6")]),
        ((0, 2, 4), [("p", "42.0", "138.6"), ("p FAILED", "42.0", "69.3")]),
        ((0, 0, 0), []),
        ((1, 1, 0), []),
    ],
)
def test_a_bar_has_a_part_for_each_kind_of_end(calls: tuple[int, int, int], bars: list[tuple[str, str, str]]) -> None:
    text = svg(Definition("w", steps=(B,)), {}, calls={"b": calls})
    found = [line.split('"') for line in elements(text) if line.startswith('<rect class="p')]
    assert [(one[1], one[3], one[7]) for one in found] == bars


def test_the_lines_of_a_box() -> None:
    assert lines(A) == ["a", "shop.a"]
    assert lines(B) == ["b × each", "shop.b", "of $list", "↩ undo"]
    assert lines(B, {"b": (3, 0, 8)}) == ["b × each", "shop.b", "of $list", "3 of 8 done", "↩ undo"]
    assert lines(B, CALLS)[3] == "3 of 8 done, 1 failed"
    assert lines(C, CALLS) == ["c", "t", "when $a > 1", "when not $b"]
    long = [StepSpec("s" * size, TaskCall("t")) for size in (44, 45)]
    assert [lines(one)[0] for one in long] == ["s" * 44, "s" * 43 + "…"]
    assert (only_after(C), only_after(B), only_after(StepSpec("d", TaskCall("t", (Ref("a"),)), ("a", "b")))) == (set(), {"a"}, {"b"})


def test_a_wide_letter_is_twice_as_wide_and_a_name_is_bold() -> None:
    assert drawing._breadth("ab", bold=True) == pytest.approx(16.4)
    assert drawing._breadth("ab", bold=False) == pytest.approx(13.2)
    assert [drawing._breadth(letter, bold=True) for letter in ("\u2e7f", "\u2e80")] == [8.2, 13.0]


def test_a_layer_is_as_high_as_its_highest_box_and_a_long_edge_is_straight_beside_the_layers() -> None:
    low, high = StepSpec("a", TaskCall("t")), StepSpec("h", TaskCall("t"), compensation=TaskCall("u"))
    chain = [StepSpec(name, TaskCall("t"), before) for name, before in (("b", ("a",)), ("c", ("b",)), ("d", ("a", "c")))]
    text = svg(Definition("w", steps=(low, high, *chain)), {})
    tops = [line.split('"')[5] for line in elements(text) if line.startswith('<rect class="b')]
    assert tops == ["84.0", "84.0", "206.0", "312.0", "418.0"]
    path = next(line for line in elements(text) if line.startswith("<path") and line.count("L") == 2).split('"')[5]
    assert [part[0] for part in path.replace("C", " C").replace("L", " L").split(" ") if part[0].isalpha()] == list("MCLCLC")


def test_a_picture_has_the_colours_of_all_states_and_escapes_quotes() -> None:
    text = svg(Definition("w", steps=(StepSpec("a", TaskCall("t"), (), (condition('$n == "x&"'),)),)), {})
    assert ">when $n == &quot;x&amp;&quot;</text>" in text
    light = "".join(f".{state}{{fill:{one.fill};stroke:{one.line}}}" for state, one in COLOURS.items())
    dark = "".join(f".{state}{{fill:{one.dark}}}" for state, one in COLOURS.items())
    assert f"\n{light}@media(prefers-color-scheme:dark){{{dark}}}</style>" in text


def test_the_flowchart_of_a_run() -> None:
    shown = "<b>b × each</b><br/><small>shop.b</small><br/><small>of $list</small><br/><small>3 of 8 done, 1 failed</small>"
    running, succeeded = COLOURS["RUNNING"], COLOURS["SUCCEEDED"]
    assert mermaid(WHOLE, STATES, CALLS) == "\n".join([
        "flowchart TD",
        '    s0("<b>a</b><br/><small>shop.a</small>"):::SUCCEEDED',
        f'    s1[["{shown}<br/><small>↩ undo</small>"]]:::RUNNING',
        '    s2("<b>c</b><br/><small>t</small><br/><small>when $a #62; 1</small><br/><small>when not $b</small>")',
        "    s0 -.-> s1",
        "    s0 --> s2",
        "    s1 --> s2",
        f"    classDef RUNNING fill:{running.fill},stroke:{running.line},color:#1f2430",
        f"    classDef SUCCEEDED fill:{succeeded.fill},stroke:{succeeded.line},color:#1f2430",
        "",
    ])  # fmt: skip
    assert mermaid(Definition("w", steps=(A,)), {}) == 'flowchart TD\n    s0("<b>a</b><br/><small>shop.a</small>")\n'
