"""Planting faults into expressions: every condition of a write with one of its conjuncts dropped, and updates with a part changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sedano.aws.expressions import Write
from tests.simulation.network import Rewrite

ALWAYS = "attribute_exists(pk)"
_JOINT = re.compile(r"\s+(?:AND|OR)\s+")


def atoms(text: str) -> list[str]:
    """Return the comparisons and functions that a condition is made of."""
    found = []
    for part in _JOINT.split(text):
        atom = part.strip()
        while atom.count("(") > atom.count(")"):
            atom = atom[1:]
        while atom.count(")") > atom.count("("):
            atom = atom[:-1]
        found.append(atom)
    return found


def without(write: Write, *dropped: str) -> Rewrite:
    """Return what sends *write* without these conjuncts; without any that is named, the whole condition goes."""
    text = write.condition
    for atom in dropped:
        assert atom in text, f"{atom} is no part of {text}"
        text = text.replace(atom, ALWAYS)

    def rewrite(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if "TransactItems" in asked:
            return {**asked, "TransactItems": [{kind: rewrite(one) for kind, one in entry.items()} for entry in asked["TransactItems"]]}
        if asked.get("ConditionExpression") != write.condition:
            return asked
        if dropped:
            return {**asked, "ConditionExpression": text}
        return {name: value for name, value in asked.items() if name != "ConditionExpression"}

    return rewrite


def changed(write: Write, old: str, new: str) -> Rewrite:
    """Return what sends *write* with *old* in its update replaced by *new*."""
    assert old in write.update, f"{old} is no part of {write.update}"

    def rewrite(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        same = asked.get("ConditionExpression") == write.condition and asked.get("UpdateExpression") == write.update
        return {**asked, "UpdateExpression": write.update.replace(old, new)} if same else asked

    return rewrite


def each(name: str, write: Write) -> Iterator[tuple[str, Rewrite]]:
    """Yield *write* with each conjunct dropped in turn, and without its condition, each under a name."""
    for atom in atoms(write.condition):
        if not atom.startswith("attribute_not_exists(pk)"):
            yield f"{name} without {atom}", without(write, atom)
    yield f"{name} without a condition", without(write)
