"""Generated expressions and items: what any DynamoDB must agree on. Typed as DynamoDB wants them, so answers are decisions."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

KINDS = {"n": "N", "m": "N", "s": "S", "t": "S", "x": "SS", "y": "NS", "l": "L", "d": "M", "b": "BOOL"}
"""The attributes of the items by name, each of one type."""
TYPES = ("S", "N", "SS", "NS", "L", "M", "BOOL", "NULL", "B")
WORDS = ("", "a", "ab", "abc", "b", "ba", "é", "Z")
NUMBERS = ("-7", "-1", "0", "1", "2", "3", "10", "11", "2.5", "100")


@dataclass(slots=True)
class Expression:
    """One expression under construction: its text, and the values and names that it uses."""

    text: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


class Generator:
    """Draws items, conditions and updates from a seed."""

    def __init__(self, seed: int) -> None:
        """Begin with *seed*."""
        self.dice = Random(seed)

    def value(self, kind: str) -> dict[str, Any]:
        """Return a value of *kind*."""
        dice = self.dice
        if kind == "N":
            return {"N": dice.choice(NUMBERS)}
        if kind == "S":
            return {"S": dice.choice(WORDS)}
        if kind == "SS":
            return {"SS": sorted(dice.sample(WORDS[1:], dice.randint(1, 3)))}
        if kind == "NS":
            return {"NS": sorted(dice.sample(NUMBERS[:6], dice.randint(1, 3)))}
        if kind == "BOOL":
            return {"BOOL": dice.random() < 0.5}
        if kind == "L":
            return {"L": [self.value(dice.choice("NS")) for _ in range(dice.randint(0, 3))]}
        return {"M": {name: self.value(dice.choice("NS")) for name in dice.sample(("p", "q"), dice.randint(0, 2))}}

    def item(self) -> dict[str, Any]:
        """Return an item with some of the attributes."""
        present = [name for name in KINDS if self.dice.random() < 0.6]
        return {name: self.value(KINDS[name]) for name in present}

    def condition(self) -> Expression:
        """Return a condition."""
        made = Expression()
        made.text = self._condition(made, self.dice.choice((0, 1, 1, 2)))
        return made

    def _condition(self, made: Expression, depth: int) -> str:
        if depth == 0:
            return self._atom(made)
        form = self.dice.random()
        if form < 0.15:
            return f"NOT ({self._atom(made)})"
        word = " AND " if form < 0.6 else " OR "
        parts = [self._condition(made, depth - 1) for _ in range(self.dice.choice((2, 2, 3)))]
        return word.join(f"({part})" if depth > 1 and (" OR " in part or " AND " in part) else part for part in parts)

    def _atom(self, made: Expression) -> str:
        dice = self.dice
        name = dice.choice("nmst")
        form = dice.randrange(11)
        if form >= 8:
            return self._deep(made, form)
        if form < 3:
            return f"{self._name(made, name)} {dice.choice(('=', '<>', '<', '<=', '>', '>='))} {self._value(made, KINDS[name])}"
        if form == 3:
            return f"{dice.choice(('attribute_exists', 'attribute_not_exists'))}({self._name(made, dice.choice(tuple(KINDS)))})"
        if form == 4:
            options = ", ".join(self._value(made, KINDS[name]) for _ in range(dice.randint(1, 3)))
            return f"{self._name(made, name)} IN ({options})"
        if form == 5:
            low, high = sorted((dice.choice(NUMBERS), dice.choice(NUMBERS)), key=float)
            return f"{self._name(made, 'n')} BETWEEN {self._given(made, {'N': low})} AND {self._given(made, {'N': high})}"
        if form == 6:
            return f"begins_with({self._name(made, 's')}, {self._given(made, {'S': dice.choice(WORDS[1:])})})"
        held, kind = dice.choice((("x", "S"), ("s", "S")))
        return f"contains({self._name(made, held)}, {self._given(made, {kind: dice.choice(WORDS[1:])})})"

    def _deep(self, made: Expression, form: int) -> str:
        """Return a condition about a size, a type, or what lies inside a list or a map."""
        dice = self.dice
        sign = dice.choice(("=", "<>", "<", "<=", ">", ">="))
        if form == 8:
            return f"size({self._name(made, dice.choice('stxyld'))}) {sign} {self._given(made, {'N': dice.choice('0123')})}"
        if form == 9:
            return f"attribute_type({self._name(made, dice.choice(tuple(KINDS)))}, {self._given(made, {'S': dice.choice(TYPES)})})"
        holder, inner = dice.choice((("l", "[0]"), ("l", "[1]"), ("d", ".p"), ("d", ".q")))
        path, kind = self._name(made, holder) + inner, dice.choice("NS")
        if dice.random() < 0.3:
            return f"{dice.choice(('attribute_exists', 'attribute_not_exists'))}({path})"
        return f"{path} {sign} {self._value(made, kind)}"

    def update(self, item: dict[str, Any]) -> Expression:
        """Return an update that *item* can bear: each attribute at most once."""
        made = Expression()
        clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        names = self.dice.sample(tuple(KINDS), self.dice.randint(1, 4))
        for name in names:
            word, text = self._change(made, name, item)
            clauses[word].append(text)
        made.text = " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts)
        return made

    def _change(self, made: Expression, name: str, item: dict[str, Any]) -> tuple[str, str]:
        kind, form = KINDS[name], self.dice.random()
        path = self._name(made, name)
        if form < 0.2:
            return "REMOVE", path
        if kind == "N" and form < 0.5:
            sign, zero = self.dice.choice("+-"), self._given(made, {"N": "0"})
            return "SET", f"{path} = if_not_exists({path}, {zero}) {sign} {self._value(made, 'N')}"
        if kind in ("N", "SS", "NS") and form < 0.7:
            return "ADD", f"{path} {self._value(made, kind)}"
        if kind in ("SS", "NS") and form < 0.85:
            return "DELETE", f"{path} {self._value(made, kind)}"
        if kind == "L" and form < 0.7:
            empty = self._given(made, {"L": []})
            return "SET", f"{path} = list_append(if_not_exists({path}, {empty}), {self._value(made, 'L')})"
        if kind == "M" and form < 0.7 and name in item:
            return ("SET", f"{path}.p = {self._value(made, 'S')}") if form < 0.5 else ("REMOVE", f"{path}.q")
        if kind == "L" and form < 0.85 and name in item:
            return ("SET", f"{path}[1] = {self._value(made, 'N')}") if form < 0.78 else ("REMOVE", f"{path}[0]")
        return "SET", f"{path} = {self._value(made, kind)}"

    def _name(self, made: Expression, name: str) -> str:
        if self.dice.random() < 0.5:
            return name
        made.names[f"#{name}"] = name
        return f"#{name}"

    def _value(self, made: Expression, kind: str) -> str:
        return self._given(made, self.value(kind))

    def _given(self, made: Expression, value: dict[str, Any]) -> str:
        name = f":v{len(made.values)}"
        made.values[name] = value
        return name
