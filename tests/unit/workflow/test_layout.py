"""The layout of a picture in figures: layers, orders with few crossings, and places that keep the distance."""

from typing import Any

import pytest

from sedano.model.workflow import layout as rules
from sedano.model.workflow.layout import BEND, GAP, SWEEPS, Layout, Name, layout


def test_the_figures_of_a_picture() -> None:
    assert (SWEEPS, GAP, BEND) == (12, 36.0, 14.0)


def test_a_step_is_one_layer_below_the_lowest_that_it_needs() -> None:
    needs = {"e": ("d", "a"), "d": ("c",), "a": (), "c": ("a", "b"), "b": (), "f": ("a",)}
    assert rules._depths(needs) == {"d": 2, "a": 0, "b": 0, "c": 1, "e": 3, "f": 1}
    chain = {"s0": (), **{f"s{n}": (f"s{n - 1}",) for n in range(1, 2000)}}
    assert rules._depths(dict(reversed(chain.items())))["s1999"] == 1999
    assert layout({}, {}) == Layout((), {}, {})
    assert layout({"a": ()}, {"a": 80.0}) == Layout((("a",),), {"a": 40.0}, {})


@pytest.mark.parametrize(
    ("layer", "wanted", "expected"),
    [
        ("a", {"a": 7.0}, {"a": 7.0}),
        ("ab", {"a": 0.0, "b": 100.0}, {"a": 0.0, "b": 100.0}),
        ("ab", {"a": 0.0, "b": 51.0}, {"a": 0.0, "b": 51.0}),
        ("ab", {"a": 0.0, "b": 50.0}, {"a": -0.5, "b": 50.5}),
        ("ab", {"a": 0.0, "b": 0.0}, {"a": -25.5, "b": 25.5}),
        ("abc", {"a": 0.0, "b": 0.0, "c": 0.0}, {"a": -54.0, "b": -3.0, "c": 57.0}),
        ("abc", {"a": 0.0, "b": 200.0, "c": 200.0}, {"a": 0.0, "b": 170.0, "c": 230.0}),
        ("abc", {"a": 0.0, "b": 51.0, "c": 51.0}, {"a": -20.0, "b": 31.0, "c": 91.0}),
        ("cba", {"c": 0.0, "b": 0.0, "a": 300.0}, {"c": -30.0, "b": 30.0, "a": 300.0}),
    ],
)
def test_neighbours_keep_their_distance_as_near_to_their_wishes_as_they_can(
    layer: str, wanted: dict[Name, float], expected: dict[str, float]
) -> None:
    assert rules._apart(list(layer), wanted, {"a": 10.0, "b": 20.0, "c": 28.0}) == pytest.approx(expected)


def test_a_bend_is_narrower_than_a_step() -> None:
    bend = ("s", "t", 1)
    assert rules._apart(["a", bend], {"a": 0.0, bend: 0.0}, {"a": 10.0}) == {"a": -24.0, bend: 24.0}


def test_the_mean_of_no_neighbours_is_the_own_place() -> None:
    assert (rules._mean([1, 2, 6], 9.0), rules._mean([], 9.0), rules._mean([4], 9.0)) == (3.0, 9.0, 4.0)
    assert rules._beside({"a": 0, "b": 1, "c": 5}, {"a": ["b", "c"], "b": ["c"]}) == {"a": 3.0, "b": 5.0, "c": 5.0}


@pytest.mark.parametrize(
    ("lower", "above", "count"),
    [
        ("xyz", {"x": ["a"], "y": ["b"], "z": ["c"]}, 0),
        ("xyz", {"x": ["b"], "y": ["a"], "z": ["c"]}, 1),
        ("xyz", {"x": ["c"], "y": ["b"], "z": ["a"]}, 3),
        ("xyz", {"x": ["a", "b", "c"], "y": ["a"], "z": ["b"]}, 3),
        ("xy", {"x": ["a"], "y": ["a"]}, 0),
        ("x", {"x": ["a", "b", "c"]}, 0),
        ("xy", {}, 0),
    ],
)
def test_edges_cross_where_their_ends_are_in_opposite_orders(lower: str, above: dict[Name, list[Name]], count: int) -> None:
    assert rules._crossings([list("abc"), list(lower)], above) == count
    assert rules._crossings([["q"], list("abc"), list(lower)], {**above, "b": ["q"]}) == count


def test_the_order_with_the_fewest_crossings_is_kept() -> None:
    above: Any = {"x": ["c"], "y": ["b"], "z": ["a"], "u": ["x", "z"]}
    below: Any = {"a": ["z"], "b": ["y"], "c": ["x"], "x": ["u"], "z": ["u"]}
    assert rules._ordered([list("abc"), list("xyz"), ["u"]], above, below) == [["a", "b", "c"], ["z", "y", "x"], ["u"]]
    straight: Any = [list("ab"), list("xy")]
    assert rules._ordered(straight, {"x": ["a", "b"], "y": ["a", "b"]}, {"a": ["x", "y"], "b": ["x", "y"]}) == [["a", "b"], ["x", "y"]]


WIDTHS = {"a": 80.0, "b": 60.0, "c": 100.0, "d": 40.0, "e": 120.0, "f": 50.0, "g": 30.0}


def test_a_picture_with_a_long_edge() -> None:
    needs = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("a", "d"), "f": (), "g": ("f", "b")}
    found = layout(needs, WIDTHS)
    assert found.layers == (("a", "f"), ("c", "b"), ("d", "g"), ("e",))
    assert found.centres == pytest.approx({
        "a": 151.66666666666666, "f": 289.0, "c": 50.0, "b": 166.0, "d": 118.640625, "g": 256.265625, "e": 150.140625,
    }, abs=1e-9)  # fmt: skip
    assert found.bends == {
        ("a", "b"): (), ("a", "c"): (), ("b", "d"): (), ("c", "d"): (), ("a", "e"): (pytest.approx(239.0), pytest.approx(181.640625)),
        ("d", "e"): (), ("f", "g"): (pytest.approx(289.0),), ("b", "g"): (),
    }  # fmt: skip


def test_the_leftmost_box_begins_at_the_edge() -> None:
    found = layout({"a": (), "b": ("a",), "c": ("a",)}, WIDTHS)
    assert found == Layout((("a",), ("b", "c")), {"a": 88.0, "b": 30.0, "c": 146.0}, {("a", "b"): (), ("a", "c"): ()})


def test_an_edge_that_passes_a_layer_is_moved_aside_and_not_its_ends() -> None:
    found = layout({"a": (), "b": (), "c": ("a", "b"), "d": ("c", "a")}, {"a": 20.0, "b": 30.0, "c": 40.0, "d": 50.0})
    centres = {"a": 23.75, "b": 84.75, "c": 70.0, "d": 38.5}
    edges = {("a", "c"): (), ("b", "c"): (), ("c", "d"): (), ("a", "d"): (7.0,)}
    assert found == Layout((("a", "b"), ("c",), ("d",)), centres, edges)


@pytest.mark.parametrize(
    ("needs", "layers", "centres", "bends"),
    [
        (
            {"a": "", "b": "a", "c": "b", "d": "ca", "e": "ca"},
            "a b c de",
            {"a": 70.5, "b": 70.5, "c": 70.5, "d": 25.0, "e": 116.0},
            {"ad": (7.5, 7.5), "ae": (133.5, 133.5)},
        ),
        (
            {"a": "", "b": "a", "c": "", "d": "cb", "e": "a", "f": "ae"},
            "ca be df",
            {"c": 20.0, "a": 469 / 3, "b": 78.0, "e": 159.0, "d": 49.0, "f": 195.5},
            {"cd": (20.0,), "af": (232.0,)},
        ),
        (
            {"a": "", "b": "a", "c": "ba", "d": "bc", "e": "b", "f": "bd"},
            "a b ce d f",
            {"a": 71.0, "b": 122.0, "c": 20.0, "e": 156.0, "d": 92.5625, "f": 126.5625},
            {"ac": (20.0,), "bd": (83.0,), "bf": (229.0, 160.5625)},
        ),
        (
            {"a": "", "b": "", "c": "b", "d": "cb", "e": "ac"},
            "ab c ed",
            {"a": 12.5, "b": 107.0, "c": 75.5, "e": 30.0, "d": 121.0},
            {"bd": (138.5,), "ae": (12.5,)},
        ),
    ],
)
def test_layers_are_ordered_downwards_and_upwards_in_turn(
    needs: dict[str, str], layers: str, centres: dict[str, float], bends: dict[str, Any]
) -> None:
    widths = {name: 20.0 + 10.0 * place for place, name in enumerate("abcdef")}
    found = layout({name: tuple(before) for name, before in needs.items()}, widths)
    assert found.layers == tuple(tuple(layer) for layer in layers.split())
    assert found.centres == pytest.approx(centres)
    long = {upper + lower: places for (upper, lower), places in found.bends.items() if places}
    assert long == {edge: pytest.approx(places) for edge, places in bends.items()}
