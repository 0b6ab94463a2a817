"""Publishes tasks and shows their results and records: the work of `sedano call`, `result` and `show`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from textwrap import indent
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json, say_text
from sedano.errors import ArgumentError, OptionError, UnknownTask, UsageError
from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.timestamps import shown
from sedano.model.tasks.signature import Signature
from sedano.model.tasks.task_spec import TaskSpec
from sedano.result import AsyncResult
from sedano.views.task import TaskView, call_text, task


class Asked(NamedTuple):
    """The call on the command line: the task's *name*, its arguments as strings (only JSON if *is_strict*), and the options."""

    name: str
    args: Sequence[str]
    kwargs: Sequence[str]
    is_strict: bool
    options: Mapping[str, Any]
    as_json: bool = False


def call(app: Sedano, asked: Asked, *, dry_run: bool, wait: bool, timeout: float | None) -> Exit:
    """Publish a task and print its id; with *wait* print its result, with *dry_run* print only what would be published."""
    spec = _known(app, asked.name)
    args, kwargs = arguments(spec, asked)
    try:
        signature = Signature(spec.name, tuple(args), kwargs).set(**asked.options)
        if dry_run:
            draft = app.outlet.drafting.call(signature, "dry-run")
            say_json({"task": spec.name, "args": args, "kwargs": kwargs, "queue": draft.queue, "delay": draft.delay})
            say("sedano call: nothing was published (--dry-run)", err=True)
            return Exit.DONE
        published = app.send_task(spec.name, tuple(args), kwargs, **asked.options)
    except (ArgumentError, OptionError) as wrong:
        raise UsageError(str(wrong)) from wrong
    if not wait:
        say_json({"id": published.id}) if asked.as_json else say(published.id)
        app.close()
        return Exit.DONE
    say(f"sedano call: {published.id}", err=True)
    return _ended("call", published, published.wait(timeout), as_json=asked.as_json)


def result(app: Sedano, task_id: str, *, wait: bool, timeout: float | None, as_json: bool = False) -> Exit:
    """Print the result of a task as JSON; its error goes to stderr, or with *as_json* into the document."""
    found = app.result(task_id)
    if wait:
        return _ended("result", found, found.wait(timeout), as_json=as_json)
    record = found.record()
    if (record is None or record.state not in states.TERMINAL) and as_json:
        say_json({"id": task_id, "state": record.state if record is not None else None, "result": None, "error": None})
    if record is None:
        say(f"sedano result: no worker has recorded {task_id}; `sedano explain {task_id}` says why", err=True)
        return Exit.NOT_FOUND
    if record.state not in states.TERMINAL:
        say(f"sedano result: {task_id} is {record.state}; add --wait", err=True)
        return Exit.TIMEOUT
    return _ended("result", found, record, as_json=as_json)


def show(app: Sedano, task_id: str, is_json: bool) -> Exit:
    """Print the record of a task and the reason for its state."""
    view = task(app, task_id)
    say_task(task_id, view, is_json)
    return Exit.NOT_FOUND if view.record is None else Exit.DONE


def say_task(task_id: str, view: TaskView, is_json: bool) -> None:
    """Print the *view* of a task."""
    if is_json:
        say_json({"id": task_id, "state": view.state, "why": view.sentence, "record": view.record})
    else:
        say(f"{task_id} is {view.state}: {view.sentence}")
        _say_record(task_id, view.record or {})


def _say_record(task_id: str, record: Mapping[str, Any]) -> None:
    """Print the contents of a task's record, for a person."""
    for name, value in record.items():
        if value not in (None, "", 0, 0.0, False) and name not in ("error", "result", "arguments", "retry"):
            said = json.dumps(value) if isinstance(value, dict) else value
            say(f"  {name}: {shown(value) if name in ('expires', 'not_before', 'changed') else said}")
    if (arguments := record.get("arguments")) is not None:
        say(f"  arguments: {call_text(arguments)}")
    if (error := record.get("error")) is not None:
        say(f"  error: {_words(error['type_name'], error['message'])}")
        _say_traceback(error["traceback"], err=False)
    if (result := record.get("result")) is not None:
        say(f"  result: {result}")
    if record.get("retry"):
        say(f"sedano show: `sedano retry {task_id}` runs it again, under a new id", err=True)


def _ended(verb: str, found: AsyncResult[Any], record: TaskRecord, *, as_json: bool) -> Exit:
    """Print the value of a task that has ended, or its error; *as_json*: both in one document."""
    error, value = record.error, found.result if record.state == states.SUCCESS else None
    if as_json:
        say_json({"id": found.id, "state": record.state, "result": value, "error": error._asdict() if error is not None else None})
        return Exit.DONE if record.state == states.SUCCESS else Exit.FAILED
    if record.state == states.SUCCESS:
        say_json(value)
        return Exit.DONE
    if error is not None and error.traceback:
        _say_traceback(error.traceback, err=True)
    why = f": {_words(error.type_name, error.message)}" if error is not None else ""
    say(f"sedano {verb}: {found.id} ended as {record.state}{why}", err=True)
    return Exit.FAILED


def _words(type_name: str, message: str) -> str:
    return f"{type_name}: {message}" if message else type_name


def _say_traceback(text: str, *, err: bool) -> None:
    """Print a traceback below the line that it explains, indented, so that its end is seen."""
    say_text(indent(text.rstrip(), "    "), err=err)


def _known(app: Sedano, name: str) -> TaskSpec:
    """Return the task called *name*, or the only one whose name ends in it.

    Raises:
        UnknownTask: no task has that name, or several have it.
    """
    tasks = app.registry.tasks
    if name in tasks:
        return tasks[name]
    ours = [one for one in tasks if not one.startswith("sedano.")]
    ends = [one for one in ours if one.endswith(f".{name}")]
    if len(ends) == 1:
        return tasks[ends[0]]
    near = ends or get_close_matches(name, ours, n=3) or [one for one in ours if one.rpartition(".")[2] in get_close_matches(name, [
        one.rpartition(".")[2] for one in ours
    ])]  # fmt: skip
    instead = f"did you mean {' or '.join(sorted(near))}?" if near else "`sedano discover` lists the tasks"
    raise UnknownTask(f"{name}: the app has no task of this name; {instead}")


def arguments(spec: TaskSpec, asked: Asked) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call: each string as JSON, or unchanged where the task takes only a string.

    Raises:
        UsageError: a string is not JSON but must be, -k has no name, or the task does not take the arguments.
    """
    wrong = next((one for one in asked.kwargs if not one.partition("=")[1]), None)
    if wrong is not None:
        raise UsageError(f"-k {wrong}: write NAME=VALUE")
    args: list[Any] = [_value(one, asked.is_strict) for one in asked.args]
    texts = dict(one.split("=", 1) for one in asked.kwargs)
    kwargs = {name: _value(one, asked.is_strict) for name, one in texts.items()}
    for _ in range(1 + (0 if asked.is_strict else len(args) + len(kwargs))):
        try:
            spec.parameters.fit(args, kwargs)
            return args, kwargs
        except ArgumentError as refused:
            if asked.is_strict or not _taken_as_text(refused.field, args, asked.args, kwargs, texts):
                raise UsageError(str(refused)) from None
    return args, kwargs


def _taken_as_text(field: str, args: list[Any], given: Sequence[str], kwargs: dict[str, Any], texts: Mapping[str, str]) -> bool:
    """Take the argument that *field* names as the unchanged string; False if that makes no difference."""
    for place, text in enumerate(given):
        if field == f"data.args[{place}]" and args[place] != text:
            args[place] = text
            return True
    for name, text in texts.items():
        if field == f"data.kwargs.{name}" and kwargs[name] != text:
            kwargs[name] = text
            return True
    return False


def _value(text: str, is_strict: bool) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as wrong:
        if is_strict:
            raise UsageError(f"{text}: not JSON ({wrong}); leave out --json-args to pass plain text") from None
        return text
