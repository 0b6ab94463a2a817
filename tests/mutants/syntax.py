"""Mutants of functions and of constants of a module.

A change of a function is planted by exchanging the code of every function object that was made from it, so that it holds wherever the
function was imported, decorated or bound; so are functions inside it that were made before, when their module was imported. A constant is
bound anew in each module that has it by its own name. What is computed when a module is imported (tables, default values, the body of a
function that only tables call) is not changed.
"""

from __future__ import annotations

import ast
import copy
import gc
import importlib
import sys
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.mutants.mutant import Mutant, numbered, shortened
from tests.mutants.operators import changes, needless, nodes, swapped

Function = ast.FunctionDef | ast.AsyncFunctionDef
Mark = tuple[str, int, str]
SWAP = -1
"""The number of the change that swaps a statement with the next one."""
ALIVE: dict[Mark, list[FunctionType]] = {}
"""The functions that a change can be planted in, by file, line and name; see `find`."""


def find(files: Collection[str]) -> None:
    """Find every function that was made from these files. A child inherits the list; looking costs as much as a small test."""
    ALIVE.clear()
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in files:
            ALIVE.setdefault(_mark(one.__code__), []).append(one)


def of_module(module: str) -> list[Mutant]:
    """Return every mutant of the functions and constants of *module*, in the order of its lines."""
    path = Path(str(importlib.import_module(module).__file__))
    lines = path.read_text().splitlines()
    tree = ast.parse("\n".join(lines), str(path))
    made = _at_import(tree)
    found = [
        mutant
        for function, around in _functions(tree, ())
        for mutant in _of_function(module, path, lines, function, around)
        if function.name not in made or _inside(function, mutant.line)
    ]
    return list(numbered([*_constants(module, tree, lines), *found]))


def _functions(inside: ast.Module | ast.ClassDef, around: tuple[ast.ClassDef, ...]) -> Iterator[tuple[Function, tuple[ast.ClassDef, ...]]]:
    """Yield the outermost functions with the classes around them."""
    for node in inside.body:
        if isinstance(node, Function) and node.name != "__repr__":
            yield node, around
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, (*around, node))


def _at_import(tree: ast.Module) -> set[str]:
    """Return the functions that only the module itself calls, while it is imported: directly, or through such a function."""
    bodies = {node.name: node for node in tree.body if isinstance(node, Function)}
    whole = [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]
    made = {name for node in whole for name in _called(node)} & set(bodies)
    while True:
        held = [node for node in tree.body if isinstance(node, Function | ast.ClassDef) and node.name not in made]
        held += [inner for name in made for inner in ast.walk(bodies[name]) if isinstance(inner, Function) and inner is not bodies[name]]
        later = {part.id for node in held for part in ast.walk(node) if isinstance(part, ast.Name)}
        if not made & later:
            return made
        made -= later


def _called(node: ast.AST) -> set[str]:
    return {one.func.id for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}


def _inside(function: Function, line: int) -> bool:
    """Return whether *line* is one of the body of a function inside *function*, which runs later than it."""
    inner = [node for node in ast.walk(function) if isinstance(node, Function) and node is not function]
    return any(node.body[0].lineno <= line <= (node.end_lineno or 0) for node in inner)


def _of_function(module: str, path: Path, lines: list[str], function: Function, around: tuple[ast.ClassDef, ...]) -> Iterator[Mutant]:
    place = ".".join([*(one.name for one in around), function.name])
    first, last = function.lineno, function.lineno
    source = "\n".join(lines[function.lineno - 1 : function.end_lineno])
    for index, (parent, field, at, node) in enumerate(nodes(function)):
        if isinstance(node, ast.stmt) and field in ("body", "orelse", "finalbody"):
            first, last = _reach(node)
        for number, (change, _) in enumerate(changes(node)):
            if needless(parent, field, node):
                continue
            plant = partial(_plant, path, function, around, index, number)
            line = getattr(node, "lineno", first)
            write = partial(_written, path, function, index, number)
            yield Mutant(module, place, lines[line - 1].strip(), change, plant, first, last, source=source, write=write)
        if (other := swapped(parent, field, at)) is not None:
            change = f"`{shortened(ast.unparse(node))}` after `{shortened(ast.unparse(other))}`"
            plant = partial(_plant, path, function, around, index, SWAP)
            write = partial(_written, path, function, index, SWAP)
            yield Mutant(module, place, lines[node.lineno - 1].strip(), change, plant, first, last, source=source, write=write)


def _reach(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, of one that holds others only its head."""
    held: list[ast.stmt] = getattr(node, "body", [])
    return node.lineno, max(node.lineno, held[0].lineno - 1) if held else (node.end_lineno or node.lineno)


def _plant(path: Path, function: Function, around: tuple[ast.ClassDef, ...], index: int, number: int) -> None:
    """Exchange the code of the function for the changed one."""
    changed = copy.deepcopy(function)
    named = [(one, _names(one)) for one in ast.walk(changed) if isinstance(one, Function)]
    _change(changed, index, number)
    for one, names in named:
        one.body.append(ast.copy_location(ast.If(ast.Constant(False), names, []), one.body[-1]))
    code = _compiled(path, changed, around)
    for one in ALIVE[_mark(code)]:
        one.__code__ = code
    for inner in _inner(code):
        for one in ALIVE.get(_mark(inner), ()):
            if one.__code__.co_freevars == inner.co_freevars:  # two lambdas of one line may differ
                one.__code__ = inner


def _written(path: Path, function: Function, index: int, number: int, *, changed: bool = True) -> str:
    """Return the text of the module at *path*, with the change of *function* unless it shall not be *changed*."""
    tree = ast.parse(path.read_text(), str(path))
    if changed:
        mark = function.lineno, function.name
        _change(next(one for one in ast.walk(tree) if isinstance(one, Function) and (one.lineno, one.name) == mark), index, number)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _change(function: Function, index: int, number: int) -> None:
    """Make the change *number* of the node *index* in *function* itself."""
    parent, field, place, node = next(one for at, one in enumerate(nodes(function)) if at == index)
    if number == SWAP:
        block = getattr(parent, field)
        block[place], block[place + 1] = block[place + 1], block[place]
    else:
        new = next(one for at, (_, one) in enumerate(changes(node)) if at == number)
        if place is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[place] = new


def _names(function: Function) -> list[ast.stmt]:
    """Return what, never run, keeps the variables that *function* takes from around it when a change drops one: code has their number."""
    names = sorted({one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)})
    return [ast.copy_location(ast.Expr(ast.Name(name, ast.Load())), function) for name in names]


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of each function inside *code*."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _inner(one)


def _mark(code: CodeType) -> Mark:
    return code.co_filename, code.co_firstlineno, code.co_name


def _compiled(path: Path, function: Function, around: tuple[ast.ClassDef, ...]) -> CodeType:
    """Return the code of *function*, compiled inside its classes."""
    body: ast.stmt = function
    for outer in reversed(around):
        body = ast.copy_location(ast.ClassDef(outer.name, [], [], [body], []), outer)
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    whole = ast.fix_missing_locations(ast.Module([future, body], []))
    code = compile(whole, str(path), "exec", dont_inherit=True)
    for name in (*(outer.name for outer in around), function.name):
        code = next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)
    return code


def _constants(module: str, tree: ast.Module, lines: list[str]) -> Iterator[Mutant]:
    """Yield each numeric constant of the module one higher and one lower."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        if not isinstance(target, ast.Name):
            continue
        value = getattr(sys.modules[module], target.id, None)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        for new in (value + 1, value - 1):
            plant = partial(_bind, module, target.id, value, new)
            yield Mutant(module, target.id, lines[node.lineno - 1].strip(), f"`{target.id}` + {new - value}".replace("+ -", "- "), plant)


def _bind(module: str, name: str, old: Any, new: Any) -> None:
    """Give the constant its new value in its module and wherever it was imported under its name."""
    for other in list(sys.modules.values()):
        known = getattr(other, "__dict__", {})
        same = name in known and type(known[name]) is type(old) and known[name] == old
        if same and (other.__name__ == module or _imports(other, module, name)):
            known[name] = new


def _imports(other: Any, module: str, name: str) -> bool:
    path = getattr(other, "__file__", None)
    if not path or not path.endswith(".py") or "site-packages" in path:
        return False
    tree = ast.parse(Path(path).read_text())
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == module]
    return any(alias.name == name for node in taken for alias in node.names)
