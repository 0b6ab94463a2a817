"""The changes that can be made to one node of a syntax tree: small ones, such as people make by mistake.

Comparisons lose or gain their boundary or are negated; `and` and `or` are exchanged or lose an operand; numbers move by one; a condition
always or never holds; a statement, an exception or a filter goes away; two arguments, or two calls in a row, change places. Texts,
annotations, log lines, `__repr__` and what an f-string says stay as they are: what people read is judged by other tests.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.mutants.mutant import shortened

Change = tuple[str, ast.AST]
"""What is changed into what, in words, and the node that takes the place of the old one."""

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Pow: ast.Mult,
}  # fmt: skip
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_LOGS = {"log", "debug", "info", "warning", "error", "exception"}
_SKIPPED = {"annotation", "returns", "decorator_list", "type_comment", "defaults", "kw_defaults"}
"""Fields of a node below which nothing is changed; default values were computed when the function was defined."""


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield each change of *node* itself."""
    make = _MAKERS.get(type(node))
    for new in make(node) if make else ():
        yield f"`{_text(node)}` → `{_text(new)}`", ast.copy_location(new, node)


def nodes(function: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield each node below *function* that may be changed as (parent, field, index, node), in a fixed order."""
    for field, value in ast.iter_fields(function):
        if field in _SKIPPED or (isinstance(function, ast.JoinedStr) and field == "values") or (_logs(function) and field != "func"):
            continue
        if isinstance(value, ast.AST):
            yield function, field, None, value
            yield from nodes(value)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield function, field, index, item
                    yield from nodes(item)


def needless(parent: ast.AST, field: str, node: ast.AST) -> bool:
    """Return whether a change of *node* would say nothing new, or nothing at all.

    The negation of a whole condition: a test that notices that the condition always or never holds notices it too. `strict=True` of a `zip`
    is an assertion, and `daemon=True` of a thread matters when a process exits, which no judge does.
    """
    if isinstance(parent, ast.keyword):
        return parent.arg in ("strict", "daemon") and isinstance(node, ast.Constant)
    if isinstance(parent, ast.If | ast.IfExp) and field == "test":
        negated = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
        return (negated and len(node.ops) == 1) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
    return False


def swapped(parent: ast.AST, field: str, place: int | None) -> ast.stmt | None:
    """Return the statement that may change places with the one at *place* of a block: both are calls whose answers nobody uses."""
    if place is None or field not in ("body", "orelse", "finalbody"):
        return None
    two = [one for one in getattr(parent, field)[place : place + 2] if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    return two[1] if len(two) == 2 and not any(_logs(one.value) for one in two) else None


def _logs(node: ast.AST) -> bool:
    """Tell whether a call only writes a log line."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOGS


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return f"if {shortened(ast.unparse(node.test))}"
    return shortened(ast.unparse(node))


def _with(node: Any, **fields: Any) -> Any:
    """Return a copy of *node* with these fields in place of its own; what is below is shared."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for index, op in enumerate(node.ops):
        yield _with(node, ops=[*node.ops[:index], _COMPARE[type(op)](), *node.ops[index + 1 :]])


def _bool(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for index in range(len(node.values)):
        left = [*node.values[:index], *node.values[index + 1 :]]
        yield left[0] if len(left) == 1 else _with(node, values=left)


def _unary(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def _binary(node: ast.BinOp) -> Iterator[ast.AST]:
    if type(node.op) in _BINARY:
        yield _with(node, op=_BINARY[type(node.op)]())


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))


def _call(node: ast.Call) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Name) and node.func.id in _TWINS:
        yield _with(node, func=ast.copy_location(ast.Name(_TWINS[node.func.id], ast.Load()), node.func))
    given = [] if _logs(node) or (isinstance(node.func, ast.Name) and node.func.id in ("min", "max")) else node.args
    for index in range(len(given) - 1):
        one, two = given[index], given[index + 1]
        if isinstance(one, ast.Starred) or isinstance(two, ast.Starred) or ast.unparse(one) == ast.unparse(two):
            continue
        yield _with(node, args=[*given[:index], two, one, *given[index + 2 :]])


def _either(node: ast.IfExp) -> Iterator[ast.AST]:
    yield from (node.body, node.orelse)


def _condition(node: ast.If) -> Iterator[ast.AST]:
    yield from (_with(node, test=ast.copy_location(ast.Constant(value), node.test)) for value in (True, False))


def _filter(node: ast.comprehension) -> Iterator[ast.AST]:
    yield from (_with(node, ifs=[*node.ifs[:index], *node.ifs[index + 1 :]]) for index in range(len(node.ifs)))


def _removed(_: ast.stmt) -> Iterator[ast.AST]:
    yield ast.Pass()


def _statement(node: ast.Expr) -> Iterator[ast.AST]:
    if not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom) and not _logs(node.value):
        yield ast.Pass()


def _assignment(node: ast.Assign) -> Iterator[ast.AST]:
    if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield ast.Pass()


def _returned(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.copy_location(ast.Constant(None), node.value))


_MAKERS: dict[type[ast.AST], Callable[[Any], Iterator[ast.AST]]] = {
    ast.Compare: _compare, ast.BoolOp: _bool, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.Constant: _constant, ast.Call: _call,
    ast.IfExp: _either, ast.If: _condition, ast.comprehension: _filter, ast.Raise: _removed, ast.AugAssign: _removed,
    ast.Delete: _removed, ast.Continue: _removed, ast.Break: _removed, ast.Expr: _statement, ast.Assign: _assignment, ast.Return: _returned,
}  # fmt: skip
