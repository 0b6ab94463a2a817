"""The positions of the steps of a workflow in its picture: layers from top to bottom, few crossings, short and straight edges.

The method of Sugiyama, Tagawa and Toda (1981): a step is one layer below the lowest step that it needs; an edge that passes layers gets a
bend in each; layers are ordered by the mean of their neighbours' positions, downwards and upwards, and the order with the fewest crossings
is used. The positions in a layer are those nearest to the neighbours' means that keep the distance (isotonic regression by pooling adjacent
violators).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

SWEEPS = 12
GAP = 36.0
"""The distance between neighbours in a layer."""
BEND = 14.0
"""The width of an edge that passes a layer."""
Name = str | tuple[str, str, int]
"""A step, or the bend in a layer of the edge between two steps."""
Places = dict[Name, float]


class Layout(NamedTuple):
    """The steps of each layer with their centres, and for each edge the centres of its bends, one for each layer."""

    layers: tuple[tuple[str, ...], ...]
    centres: Mapping[str, float]
    bends: Mapping[tuple[str, str], tuple[float, ...]]


def layout(needs: Mapping[str, Sequence[str]], widths: Mapping[str, float]) -> Layout:
    """Return the position of each step; *needs* has the steps that each step waits for, *widths* the width of its box."""
    depth = _depths(needs)
    layers: list[list[Name]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    above: dict[Name, list[Name]] = {}
    for name, before in needs.items():
        layers[depth[name]].append(name)
        for source in before:
            chain: list[Name] = [source, *((source, name, layer) for layer in range(depth[source] + 1, depth[name])), name]
            for layer, bend in enumerate(chain[1:-1], depth[source] + 1):
                layers[layer].append(bend)
            for upper, lower in pairwise(chain):
                above.setdefault(lower, []).append(upper)
    below: dict[Name, list[Name]] = {}
    for lower, uppers in above.items():
        for upper in uppers:
            below.setdefault(upper, []).append(lower)
    ordered = _ordered(layers, above, below)
    places = _placed(ordered, above, below, widths)
    bends = {
        (source, name): tuple(places[source, name, layer] for layer in range(depth[source] + 1, depth[name]))
        for name, before in needs.items()
        for source in before
    }
    steps = tuple(tuple(n for n in layer if isinstance(n, str)) for layer in ordered)
    return Layout(steps, {n: places[n] for layer in steps for n in layer}, bends)


def _depths(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    depth: dict[str, int] = {}
    for start in needs:
        ahead = [start]
        while ahead:
            missing = [n for n in needs[ahead[-1]] if n not in depth]
            if missing:
                ahead += missing
            else:
                name = ahead.pop()
                depth[name] = max((depth[n] + 1 for n in needs[name]), default=0)
    return depth


def _ordered(layers: list[list[Name]], above: Mapping[Name, list[Name]], below: Mapping[Name, list[Name]]) -> list[list[Name]]:
    best, fewest = [list(layer) for layer in layers], _crossings(layers, above)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else layers[::-1]:
            at = {name: n for other in layers for n, name in enumerate(other)}
            layer.sort(key=_beside(at, above if down else below).__getitem__)
        crossings = _crossings(layers, above)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _beside(at: Mapping[Name, int], near: Mapping[Name, list[Name]]) -> Places:
    """Return the mean position of each one's neighbours in *near*; its own position if it has none."""
    return {name: _mean([at[n] for n in near.get(name, ())], place) for name, place in at.items()}


def _crossings(layers: Sequence[Sequence[Name]], above: Mapping[Name, list[Name]]) -> int:
    at = {name: n for layer in layers for n, name in enumerate(layer)}
    total = 0
    for layer in layers:
        edges = sorted((at[upper], n) for n, name in enumerate(layer) for upper in above.get(name, ()))
        total += sum(one[1] > other[1] for one, other in combinations(edges, 2))
    return total


def _placed(
    layers: Sequence[Sequence[Name]], above: Mapping[Name, list[Name]], below: Mapping[Name, list[Name]], widths: Mapping[str, float]
) -> Places:
    places: Places = {}
    for layer in layers:
        places |= _apart(layer, dict.fromkeys(layer, 0.0), widths)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else layers[::-1]:
            near = above if down else below
            places |= _apart(layer, {n: _mean([places[m] for m in near.get(n, ())], places[n]) for n in layer}, widths)
    left = min((places[n] - _width(n, widths) / 2 for n in places), default=0.0)
    return {name: place - left for name, place in places.items()}


def _apart(layer: Sequence[Name], wanted: Mapping[Name, float], widths: Mapping[str, float]) -> Places:
    """Return the positions nearest to the *wanted* ones that keep the distance between neighbours of *layer*."""
    offsets, offset = [], 0.0
    for number, name in enumerate(layer):
        if number:
            offset += (_width(layer[number - 1], widths) + _width(name, widths)) / 2 + GAP
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []
    for name, shift in zip(layer, offsets, strict=True):
        mean, size = wanted[name] - shift, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (other * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    flat = [mean for mean, size in blocks for _ in range(size)]
    return {name: mean + shift for name, mean, shift in zip(layer, flat, offsets, strict=True)}


def _width(name: Name, widths: Mapping[str, float]) -> float:
    return widths[name] if isinstance(name, str) else BEND


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise
