"""Resolves the names of one file: the meaning of a name in the scope where it is used, as far as the source says.

A name that is imported or defined at the top of a module has a dotted name, such as ``shop.tasks.add``. A parameter or variable of a
function is unknown, unless it is assigned from a call whose kind is known, such as the result of ``add.delay()``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from sedano.migration.findings import Needs

Kind = Literal["name", "app", "conf", "control", "inspect", "task", "request", "result", "signature"]
Scoped = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
SIGNED = frozenset({"s", "si", "signature", "subtask", "map", "starmap", "chunks"})
PUBLISHED = frozenset({"delay", "apply_async", "apply", "delay_on_commit", "apply_async_on_commit"})
_KINDS: dict[str, Kind] = {
    "celery.current_app": "app", "celery.app.app_or_default": "app", "celery.current_task": "task",
}  # fmt: skip
APP_CLASSES = frozenset({"celery.Celery", "celery.app.Celery", "celery.app.base.Celery"})
FACTORY = "celery.<factory>"
"""The name of a function of the code base that returns an app."""
_STAR = ("Celery", "Task", "chain", "chord", "chunks", "current_app", "current_task", "group", "shared_task", "signature", "subtask")
_MADE: dict[str, Kind] = {
    **dict.fromkeys(("celery.Celery", "celery.app.Celery", "celery.app.base.Celery", "celery.app.app_or_default", FACTORY), "app"),
    **{f"celery.{where}{name}": "signature"
       for where in ("", "canvas.") for name in ("chain", "group", "chord", "chunks", "signature", "subtask", "maybe_signature")},
    **{f"celery.result.{name}": "result" for name in ("AsyncResult", "GroupResult", "ResultSet")},
}  # fmt: skip
"""The kinds of names of Celery, and of what calls of them return."""
TASK_CLASSES = frozenset({
    "celery.Task", "celery.app.task.Task", "celery.task.Task", "celery.contrib.django.task.DjangoTask", "celery_once.QueueOnce",
    "celery_singleton.Singleton", "celery.contrib.abortable.AbortableTask",
})  # fmt: skip


PIPELINE = "|"
"""The name of a signature that is written `a | b`."""
CALLED = frozenset({"chain", "group", "chord", "chunks", PIPELINE})
"""Names of signatures that a call publishes."""


class Meaning(NamedTuple):
    """The meaning of an expression: its *kind*, the dotted *name* of one of kind ``name``, and the condition under which that holds.

    The *name* of a signature says how it is made: ``chain``, ``group`` and so on.
    """

    kind: Kind
    name: str = ""
    needs: Needs | None = None


class Scopes:
    """The scopes that enclose the node that is visited, the innermost last."""

    def __init__(self, module: str, *, is_package: bool) -> None:
        """Begin the file of *module*, a dotted name."""
        self.module = module
        self.package = module if is_package else module.rpartition(".")[0]
        self.names: list[dict[str, Meaning | None]] = []
        self.prefixes: list[str] = []
        self.is_class: list[bool] = []

    def enter(self, node: ast.Module | Scoped, first: Meaning | None = None) -> None:
        """Enter the scope of *node*; *first*: the meaning of its first parameter."""
        outer = self.prefixes[-1] if self.prefixes else ""
        name = "" if isinstance(node, ast.Module) else getattr(node, "name", "<lambda>")
        self.prefixes.append(self.module if isinstance(node, ast.Module) else f"{outer}.{name}")
        self.is_class.append(isinstance(node, ast.ClassDef))
        self.names.append({})
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            self.names[-1].update({one.arg: None for one in parameters if one is not None})
            if parameters and parameters[0] is not None and first is not None:
                self.names[-1][parameters[0].arg] = first
        self._bind(node, is_function=is_function)

    def leave(self) -> None:
        """Leave the innermost scope."""
        for one in (self.names, self.prefixes, self.is_class):
            one.pop()

    def qualified(self, name: str) -> str:
        """Return the dotted name of *name*, which is defined in the innermost scope."""
        return f"{self.prefixes[-1]}.{name}"

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the dotted name of the module from which *node* imports."""
        if not node.level:
            return node.module or ""
        parts = self.package.split(".") if self.package else []
        above = parts[: len(parts) - node.level + 1]
        return ".".join([*above, *([node.module] if node.module else [])])

    def look_up(self, name: str) -> Meaning | None:
        """Return the meaning of *name*; a class's own names are unknown in its methods."""
        innermost = len(self.names) - 1
        for place in range(innermost, -1, -1):
            if (place == innermost or not self.is_class[place]) and name in self.names[place]:
                return self.names[place][name]
        return None

    def evaluate(self, node: ast.expr) -> Meaning | None:
        """Return the meaning of the expression *node*; None if the source does not say."""
        if isinstance(node, ast.Name):
            return self.look_up(node.id)
        if isinstance(node, ast.Attribute):
            return _attribute(self.evaluate(node.value), node.attr)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.NamedExpr):
            return self.evaluate(node.value)
        if isinstance(node, ast.IfExp):
            return next((found for one in (node.body, node.orelse) if (found := self.evaluate(one)) is not None), None)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = (self.evaluate(node.left), self.evaluate(node.right))
            found = next((one for one in sides if one is not None and one.kind == "signature"), None)
            return found._replace(name=PIPELINE) if found is not None else None
        return None

    def _call(self, node: ast.Call) -> Meaning | None:
        owner = self.evaluate(node.func.value) if isinstance(node.func, ast.Attribute) else None
        function = _attribute(owner, node.func.attr) if isinstance(node.func, ast.Attribute) else self.evaluate(node.func)
        if function is not None and function.kind == "name" and function.name in _MADE:
            return Meaning(_MADE[function.name], name=function.name.rpartition(".")[2] if _MADE[function.name] == "signature" else "")
        if function is not None and function.kind == "signature" and function.name in CALLED:
            return Meaning("result", needs=function.needs)
        return _method(owner, node.func.attr) if isinstance(node.func, ast.Attribute) else None

    def _bind(self, node: ast.Module | Scoped, *, is_function: bool) -> None:
        """Bind the names that the scope of *node* assigns, defines and imports; an import has precedence."""
        own = list(own_nodes(node))
        names, stored = self.names[-1], [one.id for one in own if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        names.update({name: None if is_function else Meaning("name", self.qualified(name)) for name in stored})
        for one in own:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names[one.name] = Meaning("name", self.qualified(one.name))
        for one in own:
            if isinstance(one, ast.Import | ast.ImportFrom):
                self._import(one)
        for one in own:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and self._makes_app(one):
                names[one.name] = Meaning("name", FACTORY)
            elif isinstance(one, ast.ClassDef) and any(_is_app_class(self.evaluate(base)) for base in one.bases):
                names[one.name] = Meaning("name", "celery.Celery")
        functions = [one for one in own if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
        elsewhere = [pair for function in functions for pair in _of_globals(function)]
        self._assign([*(pair for one in own for pair in _pairs(one)), *elsewhere], stored)

    def _assign(self, pairs: Sequence[tuple[str, ast.expr]], stored: Sequence[str]) -> None:
        """Remember the kinds of what names are assigned: all assignments of a name but None have one kind."""
        values: dict[str, list[ast.expr]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        for name, given in values.items():
            found = [self.evaluate(one) for one in given if not (isinstance(one, ast.Constant) and one.value is None)]
            kinds = {None if one is None else one.kind for one in found}
            first = next(iter(found), None)
            if first is not None and first.kind != "name" and len(kinds) == 1 and len(given) >= stored.count(name):
                self.names[-1][name] = first

    def _makes_app(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Return whether the function *node* returns an app, by its annotation or by what it returns."""
        if node.returns is not None and _is_app_class(self.evaluate(node.returns)):
            return True
        own = list(own_nodes(node))
        made = {name for one in own for name, value in _pairs(one) if self._is_app(value)}
        returned = [one.value for one in own if isinstance(one, ast.Return) and one.value is not None]
        return any(one.id in made if isinstance(one, ast.Name) else self._is_app(one) for one in returned)

    def _is_app(self, value: ast.expr) -> bool:
        found = self.evaluate(value) if isinstance(value, ast.Call) else None
        return found is not None and found.kind == "app"

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = self.names[-1]
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.partition(".")[0]] = Meaning("name", one.name if one.asname else one.name.partition(".")[0])
            return
        module = self.absolute(node)
        for one in node.names:
            if one.name == "*" and module in ("celery", "celery.app"):
                names.update({name: _named(f"celery.{name}") for name in _STAR})
            elif one.name != "*":
                names[one.asname or one.name] = _named(f"{module}.{one.name}" if module else one.name)


def _is_app_class(value: Meaning | None) -> bool:
    return value is not None and value.kind == "name" and value.name in APP_CLASSES


def _pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that *node* assigns, with the value."""
    if isinstance(node, ast.Assign):
        yield from ((one.id, node.value) for one in node.targets if isinstance(one, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value


def _of_globals(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of the module that the function *node* assigns, with the value."""
    own = list(own_nodes(node))
    names = {name for one in own if isinstance(one, ast.Global) for name in one.names}
    yield from (pair for one in own for pair in _pairs(one) if pair[0] in names)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below *node* that belong to its own scope: not those within functions, lambdas and classes below it."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Lambda):
        waiting = [node.body]
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        waiting = list(node.body)
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, Scoped):
            waiting.extend(ast.iter_child_nodes(one))


def _named(name: str, needs: Needs | None = None) -> Meaning:
    kind = _KINDS.get(name)
    return Meaning(kind) if kind is not None else Meaning("name", name, needs)


def _attribute(value: Meaning | None, attribute: str) -> Meaning | None:
    """Return the meaning of an *attribute* of *value*."""
    if value is None:
        return None
    if value.kind == "name" and attribute in ("conf", "control") and not value.name.startswith("celery"):
        return Meaning("conf" if attribute == "conf" else "control", needs=Needs("app", value.name))
    if value.kind == "name" and attribute == "request" and not value.name.startswith("celery"):
        return Meaning("request", needs=Needs("task", value.name))
    if value.kind == "name":
        return _named(f"{value.name}.{attribute}", value.needs)
    kinds: dict[tuple[str, str], Kind] = {
        ("app", "conf"): "conf", ("app", "control"): "control", ("task", "request"): "request", ("task", "app"): "app",
    }  # fmt: skip
    kind = kinds.get((value.kind, attribute))
    return Meaning(kind, needs=value.needs) if kind is not None else None


def _method(value: Meaning | None, method: str) -> Meaning | None:
    """Return the meaning of what a *method* of *value* returns."""
    if value is None:
        return None
    of_task = value.needs if value.kind != "name" else Needs("task", value.name)
    of_app = value.needs if value.kind != "name" else Needs("app", value.name)
    if value.kind in ("name", "task", "signature") and method in PUBLISHED:
        return Meaning("result", needs=of_task)
    if value.kind in ("name", "task") and method in SIGNED:
        return Meaning("signature", needs=of_task)
    if value.kind == "signature" and method in ("set", "clone", "on_error", "stamp"):
        return value
    if value.kind in ("name", "app") and method in ("send_task", "AsyncResult", "GroupResult"):
        return Meaning("result", needs=of_app)
    if value.kind in ("name", "app") and method == "signature":
        return Meaning("signature", needs=of_app)
    return Meaning("inspect", needs=value.needs) if (value.kind, method) == ("control", "inspect") else None
