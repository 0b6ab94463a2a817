"""The language of DynamoDB's condition and update expressions, compiled once a text to Python closures.

The simulator evaluates the texts that the library sends, not a paraphrase of them. Names (`#ttl`) are constants of a write, so they are
resolved when it is compiled; values (`:now`) arrive with each call. `test_differential` holds it against moto and a real endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tests.simulation import operators, values
from tests.simulation.operators import Condition, Operand, Values
from tests.simulation.values import Invalid, Item, Path, Value

Update = Callable[[Mapping[str, Value], Values], Item]
Change = Callable[[Mapping[str, Value], Values], Value | None]
Names = tuple[tuple[str, str], ...]

_TOKEN = re.compile(r"\s*(<=|>=|<>|[=<>(),+\-.\[\]]|[#:]?[A-Za-z_][A-Za-z0-9_]*|[0-9]+)")
_WORDS = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "SET", "REMOVE", "ADD", "DELETE"})


def condition(text: str, names: Mapping[str, str]) -> Condition:
    """Return the condition *text* as a function of an item and the values."""
    return _condition(text, tuple(names.items()))


def update(text: str, names: Mapping[str, str]) -> Update:
    """Return the update *text* as a function that makes the new item."""
    return _update(text, tuple(names.items()))


@lru_cache(4096)
def _condition(text: str, names: Names) -> Condition:
    reader = Reader(text, dict(names))
    read = reader.alternatives()
    reader.end()
    return read


@lru_cache(4096)
def _update(text: str, names: Names) -> Update:
    reader = Reader(text, dict(names))
    changes: list[tuple[Path, str | Change]] = []
    while not reader.ended:
        reader.clause(changes)

    if all(len(path) == 1 for path, _ in changes):
        return _flat({str(path[0]): change for path, change in changes})

    def carry_out(item: Mapping[str, Value], given: Values) -> Item:
        decided = [(path, given[change] if isinstance(change, str) else change(item, given)) for path, change in changes]
        new = dict(item)
        for path, value in sorted(decided, key=_removals_last):
            values.replaced(new, path, value)
        return new

    return carry_out


def _flat(changes: Mapping[str, str | Change]) -> Update:
    """Return the update that changes whole attributes: most of them become what was sent, under the name of that value."""
    sent = [(name, change) for name, change in changes.items() if isinstance(change, str)]
    made = [(name, change) for name, change in changes.items() if not isinstance(change, str)]

    def carry_out(item: Mapping[str, Value], given: Values) -> Item:
        new = dict(item)
        for name, token in sent:
            new[name] = given[token]
        for name, change in made:
            value = change(item, given)
            if value is not None:
                new[name] = value
            else:
                new.pop(name, None)
        return new

    return carry_out


def _removals_last(change: tuple[Path, Value | None]) -> tuple[bool, int]:
    """Order removals of list elements from the back, so that positions mean those of the old item."""
    path, value = change
    return value is None, -path[-1] if value is None and isinstance(path[-1], int) else 0


class Reader:
    """Reads one expression by recursive descent."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        """Cut *text* into tokens."""
        self.names = names
        self.tokens: list[str] = []
        self.at = 0
        end, text = 0, text.rstrip()
        while end < len(text):
            found = _TOKEN.match(text, end)
            if found is None:
                raise Invalid(f"Syntax error near {text[end:]!r}")
            self.tokens.append(found.group(1))
            end = found.end()

    @property
    def ended(self) -> bool:
        """Whether everything was read."""
        return self.at == len(self.tokens)

    def end(self) -> None:
        """Refuse what is left over."""
        if not self.ended:
            raise Invalid(f"Syntax error near {self.tokens[self.at]!r}")

    def peek(self) -> str:
        """Return the next token, or an empty text."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        """Take the next token."""
        token = self.peek()
        self.at += 1
        return token

    def took(self, word: str) -> bool:
        """Take *word* when it comes next."""
        if self.peek().upper() != word:
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        """Take *word*, which must come."""
        if not self.took(word):
            raise Invalid(f"Syntax error: expected {word!r} before {self.peek()!r}")

    def alternatives(self) -> Condition:
        """Read conditions joined by OR."""
        parts = [self.together()]
        while self.took("OR"):
            parts.append(self.together())
        return operators.either(parts)

    def together(self) -> Condition:
        """Read conditions joined by AND."""
        parts = [self.one()]
        while self.took("AND"):
            parts.append(self.one())
        return operators.every(parts)

    def one(self) -> Condition:
        """Read one condition, a negated one, or one in brackets."""
        if self.took("NOT"):
            inner = self.one()
            return lambda item, given: not inner(item, given)
        if self.took("("):
            inside = self.alternatives()
            self.expect(")")
            return inside
        return self.function() or self.comparison()

    def function(self) -> Condition | None:
        """Read a condition that is a function, if one comes."""
        make = operators.FUNCTIONS.get(self.peek())
        if make is None or self.tokens[self.at + 1 : self.at + 2] != ["("]:
            return None
        self.next()
        return make(*self.arguments())

    def arguments(self) -> list[Operand]:
        """Read operands in brackets."""
        self.expect("(")
        found = [self.operand()]
        while self.took(","):
            found.append(self.operand())
        self.expect(")")
        return found

    def comparison(self) -> Condition:
        """Read a comparison, BETWEEN or IN."""
        left = self.operand()
        if self.took("IN"):
            options = self.arguments()
            return operators.either([operators.COMPARISONS["="](left, option) for option in options])
        if self.took("BETWEEN"):
            low = self.operand()
            self.expect("AND")
            return operators.every([operators.COMPARISONS[">="](left, low), operators.COMPARISONS["<="](left, self.operand())])
        sign = self.next()
        if sign not in operators.COMPARISONS:
            raise Invalid(f"Syntax error near {sign!r}")
        return operators.COMPARISONS[sign](left, self.operand())

    def operand(self) -> Operand:
        """Read a value, a path, `size`, `if_not_exists` or `list_append`."""
        token = self.peek()
        if token.startswith(":"):
            self.next()
            return lambda _, given: given[token]
        if token in operators.OPERANDS and self.tokens[self.at + 1 : self.at + 2] == ["("]:
            self.next()
            return operators.OPERANDS[token](*self.arguments())
        path = self.path()
        name = path[0]
        if len(path) == 1:
            return lambda item, _: item.get(name)  # type: ignore[arg-type] # a path begins with a name
        return lambda item, _: values.found(item, path)

    def path(self) -> Path:
        """Read a document path."""
        steps: list[str | int] = [self.name()]
        while self.peek() in (".", "["):
            if self.next() == ".":
                steps.append(self.name())
            else:
                steps.append(int(self.next()))
                self.expect("]")
        return tuple(steps)

    def name(self) -> str:
        """Read an attribute's name."""
        token = self.next()
        if token.startswith("#"):
            if token not in self.names:
                raise Invalid(f"An expression attribute name used in the document path is not defined; attribute name: {token}")
            return self.names[token]
        if not (token[:1].isalpha() or token[:1] == "_") or token.upper() in _WORDS:
            raise Invalid(f"Syntax error near {token!r}")
        return token

    def clause(self, changes: list[Any]) -> None:
        """Read one clause of an update and add its changes."""
        word = self.next().upper()
        if word not in ("SET", "REMOVE", "ADD", "DELETE"):
            raise Invalid(f"Syntax error near {word!r}")
        while True:
            path = self.path()
            if word == "SET":
                self.expect("=")
                changes.append((path, self.sent() or operators.present(self.sum())))
            elif word == "REMOVE":
                changes.append((path, lambda _item, _given: None))
            else:
                changes.append((path, (operators.added if word == "ADD" else operators.deleted)(path, self.operand())))
            if not self.took(","):
                return

    def sent(self) -> str:
        """Take a value that is the whole of what is set and return its name; empty when more is to be worked out."""
        if not self.peek().startswith(":") or self.tokens[self.at + 1 : self.at + 2] in (["+"], ["-"]):
            return ""
        return self.next()

    def sum(self) -> Operand:
        """Read an operand, or two with a sign between them."""
        left = self.operand()
        if self.peek() not in ("+", "-"):
            return left
        sign = 1 if self.next() == "+" else -1
        right = self.operand()
        return operators.summed(left, right, sign)
