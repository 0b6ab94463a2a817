"""Visits the syntax tree of one file and finds the uses of Celery."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Literal

from sedano.errors import celery_names
from sedano.migration import attributes, calls, configuration, retries
from sedano.migration.answers import CHANGE, REMOVE, SAME, find
from sedano.migration.findings import PAGE, CodeFinding, FileFindings, Needs, Remark
from sedano.migration.imports import IMPORTS
from sedano.migration.options import SIGNALS
from sedano.migration.scopes import PIPELINE, PUBLISHED, SIGNED, TASK_CLASSES, Meaning, Scopes, own_nodes
from sedano.migration.syntax import as_mapping, called, code, is_true

SHARED = frozenset({"celery.shared_task", "celery.app.shared_task", "celery.decorators.task"})
CONFIGURATION_MODULES = frozenset({"celeryconfig", "celery_config", "celeryconf"})
PARENTS = frozenset(name.rpartition(".")[0] for one in IMPORTS for name in one.names) | {"celery.signals"}
"""Modules of Celery whose names are looked up where an attribute reads them."""
_WITH_OPTIONS = frozenset({"apply_async", "set", "signature", "subtask", "send_task"})
_DECLARED: tuple[Literal["app", "task"], ...] = ("app", "task")
_NOT_FOLLOWED = (
    "the source does not say whether this is an app of Celery; write its type (`app: Celery = …`) and check again, or compare the options "
    "of this task with the table"
)
_DECLARES = frozenset({"task", "periodic_task"})


class Rules(ast.NodeVisitor):
    """Finds the uses of Celery in one file, in one walk."""

    def __init__(self, path: str, module: str, *, is_package: bool) -> None:
        """Visit the file *path*, which is the module with the dotted name *module*."""
        self.path = path
        self.scopes = Scopes(module, is_package=is_package)
        self.result = FileFindings()
        self.mappings: Mapping[str, ast.Dict] = {}
        self.is_configuration = module.rpartition(".")[2] in CONFIGURATION_MODULES
        self._task_classes: list[bool] = []
        self._bases: set[str] = set()
        self._declares = False
        self._uses_celery = False
        self._ours: set[str] = set()
        self._bodies = 0
        self._declared: set[int] = set()

    def visit_Module(self, node: ast.Module) -> None:
        """Visit a file."""
        self.mappings = {
            one.targets[0].id: one.value
            for one in node.body
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and isinstance(one.value, ast.Dict)
        }
        self.scopes.enter(node)
        self._look_around(node)
        self.generic_visit(node)
        self.scopes.leave()

    def _look_around(self, node: ast.Module) -> None:
        """Remember the apps of the module, the classes of its tasks (`base=`), and whether it declares shared tasks."""
        names = self.scopes.names[-1]
        self._uses_celery = any(one is not None and one.kind == "name" and one.name.startswith("celery.") for one in names.values())
        made = [one for one in node.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]
        makers = [(one, self.scopes.evaluate(one.value.func)) for one in made if isinstance(one.value, ast.Call)]
        ours = [one for one, maker in makers if maker is not None and maker.name.startswith("sedano")]
        self._ours = {self.scopes.qualified(name.id) for one in ours for name in one.targets if isinstance(name, ast.Name)}
        self._declares = any(one is not None and one.name in SHARED for one in names.values())
        for name, value in names.items():
            if value is not None and value.kind == "app" and not self._is_imported(node, name):
                self.result.apps.add(self.scopes.qualified(name))
        for function in node.body:
            for one in function.decorator_list if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else ():
                keywords = one.keywords if isinstance(one, ast.Call) else []
                self._bases |= {key.value.id for key in keywords if key.arg == "base" and isinstance(key.value, ast.Name)}

    def _is_imported(self, node: ast.Module, name: str) -> bool:
        imports = (one for one in own_nodes(node) if isinstance(one, ast.Import | ast.ImportFrom))
        return any(name == (alias.asname or alias.name) for one in imports for alias in one.names)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit a class; one of Celery's task classes has hooks."""
        self._visit_each([*node.decorator_list, *node.bases, *(one.value for one in node.keywords)])
        bases = [self.scopes.evaluate(one) for one in node.bases]
        is_task = node.name in self._bases or any(one is not None and one.kind == "name" and one.name in TASK_CLASSES for one in bases)
        self._task_classes.append(is_task)
        self.scopes.enter(node)
        self._report(attributes.of_class(node) if is_task else ())
        self._visit_each(node.body)
        self.scopes.leave()
        self._task_classes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit a function, which may be a task."""
        self._declared |= {id(one) for one in node.decorator_list}
        self._visit_each([*node.decorator_list, node.args, *([node.returns] if node.returns is not None else [])])
        first = self._receiver() if self.scopes.is_class[-1] else self._helper(node)
        for one in node.decorator_list:
            first = self._declaration(one, node.name, first)
        is_body = self.scopes.qualified(node.name) in self.result.tasks or (self._is_of_class() and node.name == "run")
        self.scopes.enter(node, first)
        self._bodies += is_body
        self._visit_each(node.body)
        self._bodies -= is_body
        self.scopes.leave()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - ast names the methods

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit a lambda."""
        self.scopes.enter(node)
        self.visit(node.body)
        self.scopes.leave()

    def visit_Import(self, node: ast.Import) -> None:
        """Find imports of Celery's modules."""
        for one in node.names:
            self._name(one, one.name, f"import {one.name}")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Find imports of Celery's names."""
        module = self.scopes.absolute(node)
        for one in node.names if not node.level else ():
            self._name(one, module if one.name == "*" else f"{module}.{one.name}", f"from {module} import {one.name}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Find Celery's names behind a module, and attributes of its objects."""
        value = self.scopes.evaluate(node.value)
        if value is not None and value.kind == "conf":
            self._report(configuration.of_reading(node, value))
        elif value is not None and value.kind != "name":
            self._report(attributes.of_attribute(node, value, in_body=self._bodies > 0))
        elif value is not None and not value.name.startswith(("celery", "sedano", "kombu")):
            for kind in _DECLARED:
                meaning = Meaning(kind, needs=Needs(kind, value.name))
                self._report(attributes.of_attribute(node, meaning, in_body=self._bodies > 0))
        elif value is not None and value.name in PARENTS and f"{value.name}.{node.attr}" not in PARENTS:
            self._name(node, f"{value.name}.{node.attr}", f"{value.name}.{node.attr}")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Find settings."""
        for target in node.targets:
            self._report(configuration.of_assignment(self.scopes, target, node.value, is_configuration=self._is_settings()))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Find packages that are added to the installed apps."""
        owner = self.scopes.evaluate(node.target)
        if owner is not None and owner.kind == "conf":
            self._report(configuration.of_mapping(as_mapping(node.value, self.mappings), owner))
        self._report(configuration.of_assignment(self.scopes, node.target, node.value, is_configuration=False))
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Find settings with a type."""
        if node.value is not None:
            self._report(configuration.of_assignment(self.scopes, node.target, node.value, is_configuration=self._is_settings()))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Find the calls that create apps, publish tasks, sign them and retry them."""
        function = self.scopes.evaluate(node.func)
        if function is not None and function.kind == "name":
            self._report(configuration.of_call(node, function.name))
        elif function is not None and function.kind == "signature" and function.name == PIPELINE:
            shown = f"({code(node.func)})" if isinstance(node.func, ast.BinOp) else code(node.func)
            text = f"a pipeline is not called: write {shown}.delay(…)"
            self._report([Remark(node, CHANGE, f"{shown}(…)", text, "methods-and-attributes", needs=function.needs)])
        if id(node) not in self._declared and called(node) in ("task", "shared_task"):
            self._declaration(node, "<call>", None)
        if isinstance(node.func, ast.Attribute):
            value = self.scopes.evaluate(node.func.value)
            self._report(self._method(node, node.func, value) if value is not None else self._unknown(node, node.func))
        self.generic_visit(node)

    def _method(self, node: ast.Call, function: ast.Attribute, value: Meaning) -> Iterable[Remark]:
        """Return the answers to the call of a method of *value*, and to its options."""
        method, found = function.attr, f"{code(function.value)}.{function.attr}(…)"
        if value.kind == "conf" and method == "update":
            return configuration.of_update(node, value, self.mappings)
        if value.kind == "app" and method == "config_from_object" and node.args:
            return configuration.of_mapping(as_mapping(node.args[0], self.mappings), value)
        if method == "retry" and value.kind == "name":
            value = Meaning("task", needs=Needs("task", value.name))
        if value.kind == "task" and method == "retry":
            arguments = list(calls.retry_arguments(node))
            given = calls.given_by(arguments)
            remark = Remark(node, CHANGE, found, retries.of_call(given), "the-running-task", needs=value.needs)
            return [remark, *calls.judged("self.retry", arguments, partial(calls.of_retry, given), value.needs)]
        is_task = value.kind in ("task", "signature") or (value.kind == "name" and not value.name.startswith("celery"))
        if is_task and (method in PUBLISHED | SIGNED or (method == "set" and value.kind == "signature")):
            return self._published(node, method, found, Needs("task", value.name) if value.kind == "name" else value.needs)
        if value.kind == "app" and method in ("send_task", "signature"):
            return self._published(node, method, found, value.needs)
        return attributes.of_method(node, method, value)

    def _unknown(self, node: ast.Call, function: ast.Attribute) -> Iterable[Remark]:
        """Return the answers to `X.apply_async(…)` where the source does not say what X is, if an option is one of Celery alone."""
        if function.attr != "apply_async" or not any(one.arg in calls.OF_CELERY for one in node.keywords):
            return ()
        return self._published(node, "apply_async", f"{code(function.value)}.apply_async(…)", None)

    def _published(self, node: ast.Call, method: str, found: str, needs: Needs | None) -> Iterable[Remark]:
        hint = celery_names.TASK.get(method)
        yield Remark(node, SAME if hint is None else CHANGE, found, hint or "", "methods-and-attributes", needs=needs)
        if method in _WITH_OPTIONS:
            yield from calls.judged(f"{method}:", calls.options_of(node.keywords, self.mappings), calls.of_call, needs)
            yield from calls.judged(f"{method}:", calls.positional(node, method), calls.of_place, needs)

    def _declaration(self, decorator: ast.expr, name: str, first: Meaning | None) -> Meaning | None:
        """Report a *decorator* that declares the task *name*; return the meaning of the first parameter, by default *first*."""
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        value = self.scopes.evaluate(called)
        is_shared = value is not None and value.kind == "name" and value.name in SHARED
        owner = self.scopes.evaluate(called.value) if isinstance(called, ast.Attribute) and called.attr in _DECLARES else None
        if not is_shared and (owner is None or owner.kind not in ("app", "name") or owner.name.startswith(("celery.", "sedano"))):
            return first
        needs = None if is_shared or owner is None else Needs("app", owner.name) if owner.kind == "name" else owner.needs
        self.result.tasks[self.scopes.qualified(name)] = needs
        if owner is not None and owner.kind == "name" and self._uses_celery and owner.name not in self._ours:
            self._report([Remark(decorator, CHANGE, f"not followed: @{code(called)}", _NOT_FOLLOWED, needs=Needs("unknown", owner.name))])
        found = f"@{code(called)}"
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        options = list(calls.options_of(keywords, self.mappings))
        given = calls.given_by(options)
        once = retries.declared_once(given, unknown=len(given) < len(options))
        remark = Remark(decorator, SAME if once is None else CHANGE, found, once or "", calls.OF_OPTIONS, needs=needs)
        self._report([remark, *calls.judged(found, options, partial(calls.of_task, given), needs)])
        return Meaning("task", needs=needs) if "bind" in given and is_true(given["bind"]) else None

    def _is_of_class(self) -> bool:
        return self.scopes.is_class[-1] and self._task_classes[-1]

    def _receiver(self) -> Meaning:
        """Return the meaning of the first parameter of a method: the running task, or an object of the class."""
        return Meaning("task") if self._is_of_class() else Meaning("name", self.scopes.prefixes[-1])

    def _helper(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Meaning | None:
        """Return the meaning of the first parameter of a function outside classes: `self` is the running task in a module of tasks."""
        first = next(iter(node.args.args), None)
        is_helper = first is not None and first.arg == "self" and len(self.scopes.names) == 1 and self._declares
        return Meaning("task") if is_helper else None

    def _name(self, node: ast.alias | ast.Attribute, name: str, found: str) -> None:
        """Report a *name* of Celery, or of a package that belongs to it."""
        signal = find(name.removeprefix("celery.signals."), SIGNALS) if name.startswith("celery.signals.") else None
        answer = signal or find(name, IMPORTS)
        if answer is not None and not (isinstance(node, ast.Attribute) and answer.verdict == REMOVE):
            self._report([Remark(node, answer.verdict, found, answer.plain, "signals" if signal else "imports")])

    def _is_settings(self) -> bool:
        return self.is_configuration and len(self.scopes.names) == 1

    def _report(self, remarks: Iterable[Remark]) -> None:
        for node, verdict, found, remedy, anchor, needs in remarks:
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
            page = f"{PAGE}#{anchor}" if anchor else PAGE
            self.result.found.append(CodeFinding(self.path, line, column, verdict, found=found, remedy=remedy, page=page, needs=needs))

    def _visit_each(self, nodes: Iterable[ast.AST]) -> None:
        for one in nodes:
            self.visit(one)
