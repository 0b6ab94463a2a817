"""Settings and schedules: how an app is created and configured, and its beat schedule."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from sedano.errors import celery_names
from sedano.migration.answers import CHANGE, LOST, NameAnswer, find
from sedano.migration.findings import Needs, Remark
from sedano.migration.imports import IMPORTS
from sedano.migration.schedules import cron_of, every_of
from sedano.migration.scopes import APP_CLASSES, Meaning, Scopes
from sedano.migration.setting_names import heading, setting, upper_case_setting
from sedano.migration.syntax import as_mapping, code, text_of

_SERIALIZERS = frozenset({"task_serializer", "result_serializer", "accept_content", "result_accept_content"})
_UNSAFE = ("pickle", "yaml", "msgpack")
_CREATED = (
    'write Sedano("NAME"); with retry=Retry(max_retries=0), errors are not retried unless a task says so, as in Celery '
    "(by default they are retried 3 times)"
)
_BY_NAME = frozenset({"celery.signature", "celery.subtask", "celery.canvas.signature", "celery.canvas.subtask"})
"""Functions that make the signature of a task by its name."""
_OWN = "Celery has no such setting; declare settings of your own with app.configure(…) (docs/configuration.md)"
_CRON = (
    "write cron(…) with the five fields in the order minute, hour, day of month, month, day of week; a day of the month and a day of the "
    "week together are two conditions in Celery, and one is enough in a cron expression"
)


def of_assignment(scopes: Scopes, target: ast.expr, value: ast.expr, *, is_configuration: bool) -> Iterator[Remark]:
    """Yield the answers to a setting that is assigned: `app.conf.X`, `app.conf["X"]`, `CELERY_X`, or X in a module of settings."""
    if isinstance(target, ast.Name):
        yield from _of_name(target, value, is_configuration=is_configuration)
    elif isinstance(target, ast.Attribute | ast.Subscript):
        owner = scopes.evaluate(target.value)
        key = target.attr if isinstance(target, ast.Attribute) else text_of(target.slice)
        if owner is not None and owner.kind == "conf" and key is not None:
            yield from _of_key(target, key, value, owner)
        elif isinstance(target, ast.Subscript):
            yield from _of_entry(target, value, owner)


def _of_name(target: ast.Name, value: ast.expr, *, is_configuration: bool) -> Iterator[Remark]:
    """Yield the answers to a setting that is a name of a module: Django's, or in lower case in a module of settings."""
    if target.id == "INSTALLED_APPS":
        yield from _installed(value)
    elif target.id == "CELERY":
        yield from of_mapping(as_mapping(value, {}), Meaning("conf"))
    else:
        found = upper_case_setting(target.id)
        if found is None and is_configuration and target.id.islower():
            found = setting(target.id)
        if found is not None:
            yield from of_setting(target, target.id, found, value)


def of_update(node: ast.Call, owner: Meaning, mappings: Mapping[str, ast.Dict]) -> Iterator[Remark]:
    """Yield the answers to the settings of `app.conf.update(…)` and `app.config_from_object(…)`."""
    for one in node.keywords:
        if one.arg is not None:
            yield from _of_key(one, one.arg, one.value, owner)
    for given in [*node.args, *(one.value for one in node.keywords if one.arg is None)]:
        yield from of_mapping(as_mapping(given, mappings), owner)


def of_mapping(mapping: ast.Dict | None, owner: Meaning) -> Iterator[Remark]:
    """Yield the answers to the settings that a *mapping* writes out."""
    for key, value in zip(mapping.keys, mapping.values, strict=True) if mapping is not None else ():
        if key is not None and (name := text_of(key)) is not None:
            yield from _of_key(key, name, value, owner)


def of_call(node: ast.Call, name: str) -> Iterator[Remark]:
    """Yield the answers to the call of *name*, a dotted name of Celery: the app's options, and timetables."""
    if name in APP_CLASSES:
        yield Remark(node, CHANGE, "Celery(…)", _CREATED, "settings")
        for one in node.keywords:
            if one.arg is not None and (hint := celery_names.OPTIONS.get(one.arg)) is not None:
                yield Remark(one, CHANGE, f"Celery({one.arg}={code(one.value)})", hint, "settings")
            elif one.arg is not None and (found := setting(one.arg)) is not None:
                yield from of_setting(one, f"Celery({one.arg}={code(one.value)})", found, one.value)
    elif name in _BY_NAME and node.args and text_of(node.args[0]) is not None and "app" not in {one.arg for one in node.keywords}:
        text = f"a signature by name needs its app: write app.signature({code(node.args[0])}, …)"
        yield Remark(node, CHANGE, f"{name.rpartition('.')[2]}({code(node.args[0])})", text, "imports")
    elif name in ("celery.schedules.crontab", "celery.crontab"):
        written, shown = cron_of(node), code(node)
        text = f"write {written}; tz= names a zone, else it is UTC" if written else _CRON
        yield Remark(node, CHANGE, "crontab(…)" if shown == "…" else shown, text, "beat")
    elif name == "celery.schedules.schedule" and node.args:
        written = every_of(node.args[0])
        yield Remark(node, CHANGE, code(node), f"write {written}" if written else "write every(…)", "beat")


def of_reading(node: ast.Attribute, owner: Meaning) -> Iterator[Remark]:
    """Yield the answer to a setting that is read from `app.conf`."""
    found = setting(node.attr) or upper_case_setting(node.attr)
    if found is not None and isinstance(node.ctx, ast.Load):
        yield Remark(node, found[1].verdict, f"app.conf.{node.attr}", found[1].plain, heading(found[1]), needs=owner.needs)


def of_setting(node: ast.AST, shown: str, found: tuple[str, NameAnswer], value: ast.expr, needs: Needs | None = None) -> Iterator[Remark]:
    """Yield the answer to a setting with its *value*, and to each entry of a beat schedule."""
    name, answer = found
    unsafe = sorted({one for one in _UNSAFE for text in _texts(value) if one in text}) if name in _SERIALIZERS else []
    if unsafe:
        text = f"messages and results are JSON, not {', '.join(unsafe)}; annotations restore other types (docs/arguments.md)"
        yield Remark(node, LOST, shown, text, heading(answer), needs=needs)
        return
    yield Remark(node, answer.verdict, shown, answer.plain, heading(answer), needs=needs)
    if name == "beat_schedule" and isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values, strict=True):
            if key is not None and isinstance(entry, ast.Dict):
                yield _entry(key, entry, needs)


def _of_key(node: ast.AST, key: str, value: ast.expr, owner: Meaning) -> Iterator[Remark]:
    found = setting(key) or upper_case_setting(key)
    if found is not None:
        yield from of_setting(node, f"app.conf.{key}", found, value, owner.needs)
    else:
        yield Remark(node, CHANGE, f"app.conf.{key}", _OWN, "settings", needs=owner.needs)


def _of_entry(target: ast.Subscript, value: ast.expr, owner: Meaning | None) -> Iterator[Remark]:
    """Yield the answer to `CELERY_BEAT_SCHEDULE["name"] = {…}` and `app.conf.beat_schedule["name"] = {…}`."""
    named = target.value
    last = named.id if isinstance(named, ast.Name) else named.attr if isinstance(named, ast.Attribute) else ""
    found = upper_case_setting(last) or (setting(last) if last == "beat_schedule" else None)
    if found is not None and found[0] == "beat_schedule" and isinstance(value, ast.Dict):
        yield _entry(target, value, owner.needs if owner is not None and owner.kind != "name" else None)


def _entry(node: ast.AST, entry: ast.Dict, needs: Needs | None) -> Remark:
    """Return the answer to one *entry* of a beat schedule, as code."""
    given = {text_of(key): value for key, value in zip(entry.keys, entry.values, strict=True) if key is not None}
    task, schedule = given.get("task"), given.get("schedule")
    written = None
    if schedule is not None:
        written = cron_of(schedule) if isinstance(schedule, ast.Call) and _is_crontab(schedule) else every_of(schedule)
    of_task = f" above the task {code(task)}" if task is not None else " above its task"
    arguments = [f", {name}={code(given[name])}" for name in ("args", "kwargs") if isinstance(given.get(name), ast.expr)]
    text = f"write @app.periodic({written or 'cron(…) or every(…)'}{''.join(arguments)}){of_task}"
    return Remark(node, CHANGE, f"schedule {code(node) if isinstance(node, ast.expr) else ''}".rstrip(), text, "beat", needs=needs)


def _installed(value: ast.expr) -> Iterator[Remark]:
    """Yield the answers to the packages of Celery among the installed apps of a Django project."""
    for one in ast.walk(value):
        if isinstance(one, ast.Constant) and one.value in ("django_celery_beat", "django_celery_results"):
            answer = find(one.value, IMPORTS)
            if answer is not None:
                yield Remark(one, answer.verdict, f'INSTALLED_APPS "{one.value}"', answer.plain, "imports")


def _is_crontab(value: ast.Call) -> bool:
    return ast.unparse(value.func).rpartition(".")[2] == "crontab"


def _texts(value: ast.expr) -> list[str]:
    return [one.value for one in ast.walk(value) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
