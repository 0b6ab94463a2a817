"""Branch coverage of the library for the fuzzer: its syntax is instrumented when it is imported.

Each branch (the body of a function, both arms of an `if`, each loop, handler, case, and the later operands of `and`, `or` and conditional
expressions) sets one byte. Marks are never taken back while one target is fuzzed, so "did this input reach anything new?" is one comparison
of two byte strings, and a mark costs about 20 ns. This needs no extension module, runs on every Python and processor, and is deterministic.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

MARKS, MARK = "__fuzz_marks__", "__fuzz_mark__"
_BLOCKS = ("body", "orelse", "finalbody")


class Edges:
    """The marks of all branches of the instrumented modules; one per process."""

    def __init__(self) -> None:
        """Know of no branch yet."""
        self.marks = bytearray()
        self._seen = b""

    def begin(self) -> None:
        """Forget what was reached: another target begins."""
        self.marks[:] = bytes(len(self.marks))
        self._seen = bytes(self.marks)

    def grew(self) -> bool:
        """Return whether a branch was reached since the last call that was not reached before."""
        if self.marks == self._seen:
            return False
        grew = self.marks.count(1) > self._seen.count(1)
        self._seen = bytes(self.marks)
        return grew

    @property
    def reached(self) -> int:
        """How many branches were reached."""
        return self.marks.count(1)

    def add(self) -> int:
        """Return the number of a new branch."""
        self.marks.append(0)
        return len(self.marks) - 1


class _Marking(ast.NodeTransformer):
    """Puts a mark at the beginning of each branch inside functions."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        depth, self._depth = self._depth, 0
        self.generic_visit(node)
        self._depth = depth
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._depth:
            node.values = [node.values[0], *map(self._expression, node.values[1:])]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if self._depth:
            node.body, node.orelse = self._expression(node.body), self._expression(node.orelse)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self._depth and isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.ExceptHandler | ast.match_case):
            for name in _BLOCKS:
                block = getattr(node, name, None)
                if block or (name == "orelse" and isinstance(node, ast.If | ast.For)):
                    setattr(node, name, [self._statement(node), *(block or ())])
        return node

    def _function(self, node: Any) -> ast.AST:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body.insert(first, self._statement(node))
        return node

    def _statement(self, near: ast.AST) -> ast.stmt:
        target = ast.Subscript(ast.Name(MARKS, ast.Load()), ast.Constant(self._edges.add()), ast.Store())
        line = near if hasattr(near, "lineno") else near.body[0]  # type: ignore[attr-defined] # a match_case has no line
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], ast.Constant(1)), line))

    def _expression(self, value: ast.expr) -> ast.expr:
        """Return *value* with a mark before it: ``(mark(n, 1), value)[1]``."""
        call = ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(self._edges.add()), ast.Constant(1)], [])
        pair = ast.Subscript(ast.Tuple([call, value], ast.Load()), ast.Constant(1), ast.Load())
        return ast.fix_missing_locations(ast.copy_location(pair, value))


class _Loader(SourceFileLoader):
    """Loads a module from its source, with marks."""

    edges: Edges
    planted: Mapping[str, tuple[str, str]] = {}

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path).decode()
        if fullname in self.planted:
            right, wrong = self.planted[fullname]
            if source.count(right) != 1:
                raise ImportError(f"{fullname}: the text of the planted fault stands there {source.count(right)} times, not once: {right}")
            source = source.replace(right, wrong)
        tree = ast.parse(source, path)
        code: CodeType = compile(_Marking(self.edges).visit(tree), path, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, MARKS, self.edges.marks)
        setattr(module, MARK, self.edges.marks.__setitem__)
        super().exec_module(module)


class Instrumenting(MetaPathFinder):
    """Finds the modules of some packages and has them loaded with marks; before anything of them is imported."""

    def __init__(self, edges: Edges, packages: Sequence[str], planted: Mapping[str, tuple[str, str]]) -> None:
        """Mark the branches of *packages* in *edges*; plant these faults, a text and what takes its place by module."""
        self._edges, self._packages, self._planted = edges, tuple(packages), planted

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the module is, if it is one of ours."""
        if fullname.partition(".")[0] not in self._packages:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            loader = _Loader(spec.loader.name, spec.loader.path)
            loader.edges, loader.planted = self._edges, self._planted
            spec.loader = loader
        return spec


def instrumented(planted: Mapping[str, tuple[str, str]], packages: Sequence[str] = ("sedano",)) -> Edges:
    """Return the marks of *packages*, which are instrumented, and get *planted* faults, when they are imported from now on.

    Raises:
        RuntimeError: one of them was imported already.
    """
    if early := [name for name in packages if name in sys.modules]:
        raise RuntimeError(f"{', '.join(early)}: imported before it was instrumented")
    edges = Edges()
    sys.meta_path.insert(0, Instrumenting(edges, packages, planted))
    return edges
