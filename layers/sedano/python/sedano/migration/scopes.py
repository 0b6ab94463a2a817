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
_MADE: dict[str, Kind] = {
    "celery.Celery": "app", "celery.app.base.Celery": "app", "celery.app.app_or_default": "app",
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
            if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
                self._assign(one.targets[0].id, one.value, stored)

    def _assign(self, name: str, value: ast.expr, stored: Sequence[str]) -> None:
        """Remember the kind of what *name* is assigned, if there is one assignment."""
        found = self.evaluate(value) if isinstance(value, ast.Call | ast.BinOp | ast.Attribute) else None
        if found is not None and found.kind != "name" and stored.count(name) == 1:
            self.names[-1][name] = found

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = self.names[-1]
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.partition(".")[0]] = Meaning("name", one.name if one.asname else one.name.partition(".")[0])
            return
        module = self.absolute(node)
        for one in node.names:
            if one.name != "*":
                names[one.asname or one.name] = _named(f"{module}.{one.name}" if module else one.name)


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
