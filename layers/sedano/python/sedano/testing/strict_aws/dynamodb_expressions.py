"""Finds what DynamoDB refuses of expressions: their size and words, the names and values given for them, the paths that they write."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import combinations, pairwise, takewhile
from typing import Any, NamedTuple

from sedano.testing.strict_aws.dynamodb_values import value_problems, value_size
from sedano.testing.strict_aws.limits import LIMITS, Trip, bytes_of, over

EXPRESSIONS = ("ConditionExpression", "UpdateExpression", "FilterExpression", "KeyConditionExpression", "ProjectionExpression")
_NAMES, _VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"
_TOKEN = re.compile(
    r"\s*(?:(?P<name>#\w+)|(?P<value>:\w+)|(?P<word>[A-Za-z_]\w*)|(?P<number>\d+)|(?P<op><>|<=|>=|[=<>+\-]|[()\[\],.])|(?P<bad>\S))"
)
_CLAUSES = frozenset({"SET", "REMOVE", "ADD", "DELETE"})
_KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN"}) | _CLAUSES
_FUNCTIONS = frozenset({
    "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size", "if_not_exists", "list_append",
})  # fmt: skip
_OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-"})


class Token(NamedTuple):
    """A piece of an expression, and which *kind* of piece it is."""

    kind: str
    text: str


@functools.cache
def reserved() -> frozenset[str]:
    """Return DynamoDB's reserved words, as moto carries them."""
    return frozenset(files("sedano.testing.strict_aws").joinpath("reserved_words.txt").read_text(encoding="ascii").split())


@functools.lru_cache(4096)
def tokens(text: str) -> tuple[Token, ...]:
    """Return the pieces of an expression."""
    return tuple(Token(str(found.lastgroup), found[str(found.lastgroup)]) for found in _TOKEN.finditer(text) if found.lastgroup)


def problems(call: Mapping[str, Any]) -> Iterator[Trip]:
    """Yield what DynamoDB refuses of the expressions of a call, or of one action of a transaction."""
    texts = {name: call[name] for name in EXPRESSIONS if call.get(name) is not None}
    for name, text in texts.items():
        if not text:
            yield Trip("dynamodb.expression", f"{name}: the expression can not be empty")
        yield from over("dynamodb.expression", f"{name}: bytes", bytes_of(text))
        yield from (Trip(limit, f"{name}: {words}: {text[:120]}") for limit, words in _text_problems(text))
    used = {token.text for text in texts.values() for token in tokens(text) if token.kind in ("name", "value")}
    yield from _substitution_problems(call, used, bool(texts))
    yield from _update_problems(call)


@functools.lru_cache(4096)
def _text_problems(text: str) -> tuple[tuple[str, str], ...]:
    return (*_word_problems(tokens(text)), *_size_problems(tokens(text), text))


def _word_problems(found: Sequence[Token]) -> Iterator[tuple[str, str]]:
    for token, following in pairwise((*found, Token("end", ""))):
        if token.kind == "bad":
            yield "dynamodb.syntax", f"syntax error; token {token.text!r}"
        elif token.kind == "word" and not _is_known(token.text, following.text) and token.text.upper() in reserved():
            yield "dynamodb.reserved", f"attribute name is a reserved keyword; reserved keyword: {token.text}"


def _is_known(word: str, following: str) -> bool:
    return word.upper() in _KEYWORDS or (word in _FUNCTIONS and following == "(")


def _size_problems(found: Sequence[Token], text: str) -> Iterator[tuple[str, str]]:
    operators = sum(1 for token in found if _is_operator(token))
    if operators > LIMITS["dynamodb.operators"]:
        yield "dynamodb.operators", f"the expression contains too many operators: {operators}"
    for inside in re.findall(r"\bIN\s*\(([^()]*)\)", text, re.IGNORECASE):
        if inside.count(",") + 1 > LIMITS["dynamodb.in"]:
            yield "dynamodb.in", f"too many operands of IN: {inside.count(',') + 1}"
    if _has_redundant_parentheses(found):
        yield "dynamodb.parentheses", "the expression has redundant parentheses"


def _is_operator(token: Token) -> bool:
    if token.kind == "op":
        return token.text in _OPERATORS
    return token.kind == "word" and (token.text in _FUNCTIONS or token.text.upper() in _KEYWORDS)


def _has_redundant_parentheses(found: Sequence[Token]) -> bool:
    """Say whether a pair of parentheses encloses another pair and nothing else."""
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for number, token in enumerate(found):
        if token.text == "(":
            opened.append(number)
        elif token.text == ")" and opened:
            pairs[opened.pop()] = number
    plain = {start for start in pairs if start == 0 or not _takes_operands(found[start - 1])}
    return any(start + 1 in plain and pairs[start + 1] == pairs[start] - 1 for start in plain)


def _takes_operands(token: Token) -> bool:
    return token.kind == "word" and (token.text in _FUNCTIONS or token.text.upper() == "IN")


def _substitution_problems(call: Mapping[str, Any], used: set[str], has_expressions: bool) -> Iterator[Trip]:
    names, values = call.get(_NAMES), call.get(_VALUES)
    for what, given in ((_NAMES, names), (_VALUES, values)):
        if given is not None:
            yield from _unused(what, given, used, has_expressions)
    for name in sorted(used - {*(names or ()), *(values or ())}):
        yield Trip("dynamodb.undefined", f"an expression attribute name or value used in an expression is not defined: {name}")
    for name, value in (values or {}).items():
        yield from value_problems(value, name)
    size = sum(bytes_of(name) + bytes_of(text) for name, text in (names or {}).items())
    size += sum(bytes_of(name) + value_size(value) for name, value in (values or {}).items() if len(value) == 1)
    yield from over("dynamodb.substitutions", "bytes of all substitution variables", size)


def _unused(what: str, given: Mapping[str, Any], used: set[str], has_expressions: bool) -> Iterator[Trip]:
    if not given:
        yield Trip("dynamodb.unused", f"{what} must not be empty")
    if not has_expressions:
        yield Trip("dynamodb.unused", f"{what} can only be specified when using expressions")
    for name in given:
        yield from over("dynamodb.placeholder", f"{what}: characters of {name[:20]}", len(name))
        if has_expressions and name not in used:
            yield Trip("dynamodb.unused", f"value provided in {what} unused in expressions: {name}")


def _update_problems(call: Mapping[str, Any]) -> Iterator[Trip]:
    names = call.get(_NAMES) or {}
    written = ["".join(names.get(token.text, token.text) for token in path) for path in written_paths(call.get("UpdateExpression") or "")]
    for path, other in combinations(sorted(written), 2):
        if other == path or other.startswith((f"{path}.", f"{path}[")):
            yield Trip("dynamodb.overlap", f"two document paths overlap with each other: {path} and {other}")
    for key in call.get("Key", ()):
        if key in written:
            yield Trip("dynamodb.key_update", f"cannot update attribute {key}: this attribute is part of the key")


def written_paths(update: str) -> Iterator[Sequence[Token]]:
    """Yield the paths that an update expression writes."""
    for part in assignments(update):
        path = tuple(takewhile(lambda token: token.text != "=" and token.kind != "value", part))
        if path:
            yield path


def assignments(update: str) -> Iterator[Sequence[Token]]:
    """Yield the parts of an update expression, between its keywords and commas."""
    part: list[Token] = []
    depth = 0
    for token in (*tokens(update), Token("op", ",")):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and (token.text == "," or (token.kind == "word" and token.text.upper() in _CLAUSES)):
            if part:
                yield tuple(part)
            part = []
        else:
            part.append(token)
