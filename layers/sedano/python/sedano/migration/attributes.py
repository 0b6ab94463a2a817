"""Attributes and methods of Celery's objects: app, control, inspect, running task, request, result, signature, task class.

The replacements are those of the errors that sedano raises for these names (`sedano.errors.celery_names`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from sedano.errors import celery_names
from sedano.migration.answers import CHANGE, LOST, REMOVE, SAME, Judgement, NameAnswer, Verdict, find
from sedano.migration.calls import OF_OPTIONS, Option, given_by, of_task
from sedano.migration.findings import Remark
from sedano.migration.imports import REQUEST
from sedano.migration.scopes import Kind, Meaning
from sedano.migration.syntax import code

SAME_NAMES: Mapping[Kind, frozenset[str]] = {
    "app": frozenset({"send_task", "signature", "task", "control", "close"}),
    "control": frozenset({"election", "inspect", "rate_limit", "revoke", "revoke_by_stamped_headers", "time_limit"}),
    "inspect": frozenset(),
    "task": frozenset({
        "add_to_chord", "apply_async", "chunks", "delay", "map", "name", "replace", "request", "s", "si", "signature", "starmap",
    }),
    "result": frozenset({
        "children", "collect", "failed", "forget", "get", "graph", "id", "info", "parent", "ready", "result", "revoke", "root_id", "state",
        "status", "successful", "task_id", "traceback", "join", "completed_count", "iterate", "maybe_throw", "iter_native",
        "join_native", "add", "clear", "discard", "remove", "update", "save", "restore", "delete", "waiting", "name", "retries",
    }),
    "signature": frozenset({
        "apply_async", "clone", "delay", "freeze", "link", "link_error", "on_error", "set", "stamp", "task", "election", "members",
    }),
}  # fmt: skip
"""Names that sedano's objects have too; a test holds that."""
_HINTS: Mapping[Kind, Mapping[str, str]] = {
    "app": celery_names.APP, "control": celery_names.CONTROL, "inspect": celery_names.INSPECT, "task": celery_names.TASK,
    "result": celery_names.RESULT, "signature": celery_names.SIGNATURE,
}  # fmt: skip
_SHOWN: Mapping[Kind, str] = {
    "app": "app", "control": "app.control", "inspect": "inspect()", "task": "self", "request": "request", "result": "result",
    "signature": "signature",
}  # fmt: skip
_OTHERWISE: Mapping[tuple[Kind, str], str] = {
    ("inspect", "active"): "it returns the tasks of each worker with their ids, names and ages; app.control.explain(id) has the rest",
    ("inspect", "registered"): "it returns the list of the names of the app's tasks, not one for each worker",
    ("inspect", "reserved"): "it returns the number of messages of each queue, not the tasks of each worker",
    ("inspect", "scheduled"): "it returns one list of the tasks that are due in more than 900 s",
    ("inspect", "stats"): "it returns the load of each queue, and the state and last heartbeat of each worker",
    ("result", "wait"): "write result.get(…); wait() returns the record of the task here",
}  # fmt: skip
"""Names that sedano has too, with another meaning."""
ACCEPTED: Mapping[tuple[Kind, str], frozenset[str]] = {
    ("result", "get"): frozenset({"timeout", "propagate", "callback"}),
    ("result", "revoke"): frozenset({"terminate", "canvas"}),
    ("result", "collect"): frozenset({"timeout"}),
    ("control", "revoke"): frozenset({"task_id", "terminate"}),
    ("control", "rate_limit"): frozenset({"task", "rate", "burst"}),
    ("control", "time_limit"): frozenset({"task", "soft", "hard"}),
    ("control", "inspect"): frozenset(),
    ("control", "revoke_by_stamped_headers"): frozenset({"headers"}),
}  # fmt: skip
"""Options of methods that sedano has too; a test compares them with the methods."""
_BY_CALL = frozenset({
    "apply_async", "delay", "s", "si", "signature", "set", "map", "starmap", "chunks", "retry", "request", "send_task", "conf", "control",
    "task",
})  # fmt: skip
"""Names that are reported where they are called, or whose own attributes are reported."""
_READ = frozenset({*(("request", name) for name in _BY_CALL), ("signature", "task")})
"""Those that are attributes of another kind."""
_TASK_OPTIONS = frozenset({
    "max_retries", "default_retry_delay", "rate_limit", "ignore_result", "time_limit", "soft_time_limit", "acks_late", "autoretry_for",
    "retry_backoff", "retry_backoff_max", "retry_jitter", "retry_kwargs", "dont_autoretry_for", "serializer", "throws", "track_started",
    "reject_on_worker_lost", "priority", "queue", "expires",
})  # fmt: skip
HOOKS = {
    "on_failure": "app.on_failure", "on_retry": "app.on_retry", "on_success": "app.after_run", "after_return": "app.after_run",
    "before_start": "app.before_run", "__call__": "app.before_run",
}  # fmt: skip
_OVERRIDDEN = frozenset({"apply_async", "delay", "retry", "apply", "signature_from_request", "shadow_name", "update_state"})


WAITS = frozenset({"get", "join", "join_native", "iterate", "iter_native", "collect", "wait"})
"""Methods of a result that wait for it."""
_WAITS = "a body does not wait for tasks (WaitInsideTask): let a chain or a chord pass the result to the next task (docs/canvas.md)"


def methods() -> list[NameAnswer]:
    """Return the answers to the methods and attributes of Celery's objects, for the page for users of Celery."""
    found: dict[tuple[Verdict, str], list[str]] = {}
    for kind, hints in _HINTS.items():
        stay = (name for name in sorted(SAME_NAMES[kind]) if (kind, name) not in _OTHERWISE)
        kept: dict[str, tuple[Verdict, str]] = dict.fromkeys(stay, (SAME, "The same."))
        other: dict[str, tuple[Verdict, str]] = {name: (CHANGE, hint) for (of, name), hint in _OTHERWISE.items() if of == kind}
        gone = {name: (_verdict(hint), hint) for name, hint in hints.items() if name not in kept and name not in other}
        for name, judgement in {**kept, **other, **gone}.items():
            found.setdefault(judgement, []).append(f"{_SHOWN[kind]}.{name}")
    return [NameAnswer(tuple(names), verdict, text) for (verdict, text), names in found.items()]


def of_attribute(node: ast.Attribute, value: Meaning, *, in_body: bool) -> Iterator[Remark]:
    """Yield the answer to the attribute *node* of *value*, an object of Celery; *in_body*: the body of a task reads it."""
    name = node.attr
    if value.kind in ("conf", "name") or (name in _BY_CALL and (value.kind, name) not in _READ):
        return
    found, anchor = f"{_SHOWN[value.kind]}.{name}", "methods-and-attributes"
    if value.kind == "request":
        answer = find(name, REQUEST) or REQUEST[-1]
        yield Remark(node, answer.verdict, found, "" if answer.verdict == SAME else answer.plain, "the-running-task", needs=value.needs)
        return
    waits = in_body and value.kind == "result" and name in WAITS
    judgement = Judgement(CHANGE, _WAITS) if waits else of_name(value.kind, name)
    if judgement is not None:
        yield Remark(node, judgement.verdict, found, judgement.remedy, anchor, needs=value.needs)


def of_method(node: ast.Call, method: str, value: Meaning) -> Iterator[Remark]:
    """Yield the answers to the options of a *method* that sedano has too, with fewer options."""
    accepted = ACCEPTED.get((value.kind, method))
    for one in node.keywords if accepted is not None else ():
        if one.arg is not None and one.arg not in (accepted or ()):
            found = f"{_SHOWN[value.kind]}.{method}({one.arg}=…)"
            yield Remark(one, CHANGE, found, f"{method}() has no option {one.arg}; remove it", "methods-and-attributes", needs=value.needs)


def of_name(kind: Kind, name: str) -> Judgement | None:
    """Return the answer to an attribute *name* of an object of *kind*; None for a name that is not Celery's."""
    if (kind, name) in _OTHERWISE:
        return Judgement(CHANGE, _OTHERWISE[kind, name])
    if name in SAME_NAMES[kind]:
        return Judgement(SAME, "")
    hint = _HINTS[kind].get(name) or (celery_names.OPTIONS.get(name) if kind == "task" and name in _TASK_OPTIONS else None)
    return Judgement(_verdict(hint), hint) if hint is not None else None


def _verdict(hint: str) -> Verdict:
    return REMOVE if "remove this" in hint else CHANGE


def of_class(node: ast.ClassDef) -> Iterator[Remark]:
    """Yield the answers to a subclass of Celery's task."""
    text = "a task is a function: write @app.task above it, keep shared state in its module, and write hooks of the app (docs/hooks.md)"
    yield Remark(node, CHANGE, f"class {node.name}", text, "methods-and-attributes")
    options = list(_options(node))
    for option in options:
        verdict, remedy = of_task(given_by(options), option)
        yield Remark(option.node, verdict, f"{node.name}.{option.name}={code(option.value)}", remedy, OF_OPTIONS)
    for one in node.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _overridden(node.name, one)


def _options(node: ast.ClassDef) -> Iterator[Option]:
    """Yield the options that the body of a class of tasks sets."""
    for one in node.body:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        value = one.value if isinstance(one, ast.Assign | ast.AnnAssign) else None
        for target in targets if value is not None else ():
            if value is not None and isinstance(target, ast.Name) and target.id in _TASK_OPTIONS:
                yield Option(target.id, value, target)


def _overridden(name: str, one: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Remark]:
    """Yield the answer to the method *one* of a class of tasks, *name*."""
    if one.name in HOOKS:
        yield Remark(one, CHANGE, f"{name}.{one.name}", f"write a hook: {HOOKS[one.name]}(…) (docs/hooks.md)", "signals")
    elif one.name == "run":
        yield Remark(one, CHANGE, f"{name}.run", "write the body as a function below @app.task(bind=True)")
    elif one.name in _OVERRIDDEN:
        text = "a task has no class that overrides this; app.on_publish and app.before_run see each call (docs/hooks.md)"
        yield Remark(one, LOST, f"{name}.{one.name}", text, "signals")
