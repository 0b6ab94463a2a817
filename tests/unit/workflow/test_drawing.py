"""Pictures of workflows: every step and edge is there, nothing overlaps, hostile names stay text, and the same is drawn the same."""

import random
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from sedano.model.workflow.colours import COLOURS
from sedano.model.workflow.definition import Definition, Ref, StepSpec, TaskCall
from sedano.model.workflow.definition_reader import read
from sedano.model.workflow.layout import GAP, layout
from sedano.model.workflow.mermaid import mermaid
from sedano.model.workflow.svg import svg

SEEDS = range(60)
SVG = "{http://www.w3.org/2000/svg}"


def graph(seed: int) -> dict[str, tuple[str, ...]]:
    """A random graph of steps."""
    dice = random.Random(seed)
    names = [f"s{n}" for n in range(dice.randint(1, 30))]
    return {name: tuple(dice.sample(names[:n], min(n, dice.choice([0, 1, 1, 2, 3])))) for n, name in enumerate(names)}


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_stand_below_what_they_need_and_apart(seed: int) -> None:
    needs = graph(seed)
    dice = random.Random(seed)
    widths = {name: dice.uniform(40.0, 300.0) for name in needs}
    found = layout(needs, widths)
    depth = {name: n for n, layer in enumerate(found.layers) for name in layer}
    assert sorted(depth) == sorted(needs)
    for name, before in needs.items():
        assert all(depth[source] < depth[name] for source in before)
        assert all(len(found.bends[source, name]) == depth[name] - depth[source] - 1 for source in before)
    for layer in found.layers:
        for left, right in pairwise(layer):
            assert found.centres[right] - found.centres[left] >= (widths[left] + widths[right]) / 2 + GAP - 1e-6
    assert all(found.centres[name] - widths[name] / 2 >= -1e-6 for name in needs)


def test_a_chain_is_a_straight_line_and_a_fan_is_symmetrical() -> None:
    chain = layout({"a": (), "b": ("a",), "c": ("b",)}, {"a": 80.0, "b": 200.0, "c": 120.0})
    assert len({round(place, 3) for place in chain.centres.values()}) == 1
    fan = layout({"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}, dict.fromkeys("abcd", 100.0))
    assert fan.centres["a"] == pytest.approx(fan.centres["d"])
    assert fan.centres["a"] == pytest.approx((fan.centres["b"] + fan.centres["c"]) / 2)


def test_edges_do_not_cross_where_they_need_not() -> None:
    needs = {"a": (), "b": (), "c": (), "x": ("c",), "y": ("b",), "z": ("a",)}
    found = layout(needs, dict.fromkeys(needs, 100.0))
    assert [found.centres[n] for n in "abc"] == pytest.approx([found.centres[n] for n in "zyx"])


def definition(task: str = "shop.task") -> Definition:
    """A workflow with everything that a picture shows."""
    found, wrong = read({"workflow": "w", "version": "<7>", "inputs": {"n": "list[int]"}, "step": [
        {"name": "a", "task": task, "args": ["$n"], "compensate": "shop.undo"},
        {"name": "b", "task": task, "args": ["$item", "$a"], "map": "$n"},
        {"name": "c", "task": task, "after": ["a"], "when": '$b.0 == "<x>"'},
    ]})  # fmt: skip
    assert wrong == []
    return found


HOSTILE = '</text><script>alert("1")</script>&'


@pytest.mark.parametrize("states", [{}, {"a": "COMPENSATED", "b": "FAILED", "c": "SKIPPED"}], ids=["declared", "running"])
def test_the_picture_is_an_svg_that_needs_nothing_and_says_everything(states: dict[str, str]) -> None:
    text = svg(definition(HOSTILE), states, "FAILING")
    root = ET.fromstring(text)  # noqa: S314 - it is ours
    said = " ".join(root.itertext())
    for part in ("w · version <7> · FAILING", HOSTILE[:20], "b × each", "of $n", 'when $b.0 == "<x>"', "↩ shop.undo"):
        assert part in said
    assert not list(root.iter(f"{SVG}script"))
    assert text.count("http") == 1
    edges = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
    assert len(edges) == 3
    assert sum(path.get("class") == "e a" for path in edges) == 1
    for state in states.values():
        assert state.lower() in said


def test_the_same_workflow_is_drawn_the_same() -> None:
    assert svg(definition(), {"a": "RUNNING"}) == svg(definition(), {"a": "RUNNING"})


def test_mermaid_has_every_step_edge_and_colour() -> None:
    text = mermaid(definition(HOSTILE), {"a": "SUCCEEDED"})
    lines = text.splitlines()
    assert lines[0] == "flowchart TD"
    assert [line.strip() for line in lines if "->" in line] == ["s0 --> s1", "s0 -.-> s2", "s1 --> s2"]
    assert f"classDef SUCCEEDED fill:{COLOURS['SUCCEEDED'].fill}" in text
    assert "<script" not in text
    assert text.count('"') == 2 * 3


def test_a_workflow_of_many_steps_is_drawn() -> None:
    steps: list[Any] = [StepSpec(f"s{n}", TaskCall("t", (Ref(f"s{n // 2}"),) if n else ())) for n in range(200)]
    text = svg(Definition("big", steps=tuple(steps)), {})
    assert len(ET.fromstring(text).findall(f"{SVG}g")) == 200  # noqa: S314 - it is ours
