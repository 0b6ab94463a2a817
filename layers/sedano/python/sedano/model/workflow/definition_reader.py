"""Reads a definition from plain data, the form of files and classes, and reports all faults at once.

The place of each fault is a path into the data (`("step", 2, "when")`); a reader of files turns it into a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from sedano.errors import OptionError
from sedano.model.retry import MAX_EXECUTIONS, NEVER, Retry
from sedano.model.workflow import value_types as kinds
from sedano.model.workflow.conditions import condition
from sedano.model.workflow.definition import (
    FORMAT,
    ITEM,
    Condition,
    Definition,
    InputSpec,
    Ref,
    StepSpec,
    TaskCall,
    reference,
)  # fmt: skip

Path = tuple[str | int, ...]
NAME = re.compile(r"[A-Za-z_]\w{0,63}")
MOST_STEPS = 500
LONGEST_S = 30 * 86_400.0
_TOP = ("format", "workflow", "version", "on_failure", "doc", "inputs", "step")
_STEP = ("name", "task", "args", "kwargs", "after", "when", "map", "retry", "time_limit", "compensate")
_CALL = ("task", "args", "kwargs")
_RETRY = tuple(f.name for f in fields(Retry))


class Problem(NamedTuple):
    """A fault, its place in the data, and its step (empty: outside of the steps)."""

    path: Path
    step: str
    text: str


class Reading:
    """Collects the faults while a definition is read."""

    def __init__(self) -> None:
        """Start without faults."""
        self.problems: list[Problem] = []

    def wrong(self, path: Path, step: str, text: str) -> None:
        """Note a fault."""
        self.problems.append(Problem(path, step, text))

    def known(self, data: Mapping[str, Any], names: Sequence[str], path: Path, step: str) -> None:
        """Note each unknown key of *data*."""
        for name in data:
            if name not in names:
                self.wrong((*path, name), step, f"unknown key {name!r}; known are {', '.join(n for n in names if n != 'format')}")


def read(data: Any) -> tuple[Definition, list[Problem]]:
    """Return the definition in *data*, as far as it can be read, and all its faults."""
    reading = Reading()
    if not isinstance(data, Mapping):
        reading.wrong((), "", f"expected keys and values, got {type(data).__name__}")
        data = {}
    reading.known(data, _TOP, (), "")
    if data.get("format", FORMAT) != FORMAT:
        reading.wrong(("format",), "", f"format {data['format']!r} is not supported; this version of sedano reads {FORMAT}")
    name = data.get("workflow")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        reading.wrong(("workflow",), "", f"workflow: {name!r} is not a name; give letters, digits and underscores")
    steps = _steps(data.get("step", ()), reading)
    on_failure = data.get("on_failure", "compensate")
    if on_failure not in ("compensate", "wait"):
        reading.wrong(("on_failure",), "", f"on_failure: {on_failure!r} is neither 'compensate' nor 'wait'")
        on_failure = "compensate"
    inputs = _inputs(data.get("inputs", {}), reading)
    return Definition(
        name=str(name), version=str(data.get("version", "1")), inputs=inputs, steps=steps, on_failure=on_failure,
        doc=str(data.get("doc", "")),
    ), reading.problems


def _inputs(data: Any, reading: Reading) -> dict[str, InputSpec]:
    if not isinstance(data, Mapping):
        reading.wrong(("inputs",), "", "inputs: expected a table of names and types")
        return {}
    return {str(name): _input(str(name), given, reading) for name, given in data.items()}


def _input(name: str, given: Any, reading: Reading) -> InputSpec:
    path = ("inputs", name)
    if not NAME.fullmatch(name) or name == ITEM:
        reading.wrong(path, "", f"input {name!r} is not a name for an input; {_name_for()}")
    table: Mapping[str, Any] = given if isinstance(given, Mapping) else {"type": given}
    reading.known(table, ("type", "default"), path, "")
    words, optional = table.get("type", "any"), "default" in table
    try:
        annotation = kinds.from_words(str(words))
    except ValueError as wrong:
        reading.wrong(path, "", f"input {name!r}: {wrong}")
        return InputSpec("any", optional, table.get("default"))
    default = _value(table.get("default"), reading, path, "")
    if optional and not kinds.fits(type(default), annotation):
        reading.wrong(path, "", f"input {name!r}: the default is of type {type(default).__name__}, not {words}")
    return InputSpec(str(words), optional, default)


def _name_for() -> str:
    return f"give letters, digits and underscores; {ITEM!r} is reserved for the item of a map"


def _steps(data: Any, reading: Reading) -> tuple[StepSpec, ...]:
    if not isinstance(data, list | tuple) or not all(isinstance(s, Mapping) for s in data):
        reading.wrong(("step",), "", "steps are tables: write [[step]] before each")
        return ()
    if not 1 <= len(data) <= MOST_STEPS:
        reading.wrong(("step",), "", f"a workflow has 1 to {MOST_STEPS} steps, not {len(data)}")
    return tuple(_step(number, given, reading) for number, given in enumerate(data))


def _step(number: int, data: Mapping[str, Any], reading: Reading) -> StepSpec:
    path: Path = ("step", number)
    name = data.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name) or name == ITEM:
        reading.wrong((*path, "name"), str(name or number + 1), f"{name!r} is not a name for a step; {_name_for()}")
        name = str(name or number + 1)
    reading.known(data, _STEP, path, name)
    undo = data.get("compensate")
    return StepSpec(
        name=name, call=_call(data, reading, path, name), after=_after(data.get("after", ()), reading, (*path, "after"), name),
        when=_when(data.get("when", ()), reading, (*path, "when"), name), each=_each(data.get("map"), reading, (*path, "map"), name),
        retry=_retry(data.get("retry"), reading, (*path, "retry"), name),
        time_limit=_limit(data.get("time_limit"), reading, (*path, "time_limit"), name),
        compensation=None if undo is None else _compensation(undo, reading, (*path, "compensate"), name),
    )  # fmt: skip


def _compensation(data: Any, reading: Reading, path: Path, step: str) -> TaskCall:
    table = {"task": data} if isinstance(data, str) else data
    if not isinstance(table, Mapping):
        reading.wrong(path, step, "compensate: expected the name of a task, or a table with task and args")
        return TaskCall("")
    reading.known(table, _CALL, path, step)
    return _call(table, reading, path, step)


def _call(data: Mapping[str, Any], reading: Reading, path: Path, step: str) -> TaskCall:
    task: Any = data.get("task")
    args: Any = data.get("args", ())
    kwargs: Any = data.get("kwargs", {})
    if not isinstance(task, str) or not task:
        reading.wrong((*path, "task"), step, "task: it is missing; write the name of a task")
        task = ""
    if isinstance(args, Mapping) and isinstance(kwargs, Mapping):
        kwargs, args = {**args, **kwargs}, ()
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        reading.wrong((*path, "args"), step, "args: expected a list, or a table of names and values")
        args, kwargs = (), {}
    positional = tuple(_value(a, reading, (*path, "args", n), step) for n, a in enumerate(args))
    return TaskCall(task, positional, {str(k): _value(v, reading, (*path, "args", k), step) for k, v in kwargs.items()})


def _value(given: Any, reading: Reading, path: Path, step: str) -> Any:
    if isinstance(given, Mapping):
        return {str(name): _value(inner, reading, (*path, name), step) for name, inner in given.items()}
    if isinstance(given, list | tuple):
        return [_value(inner, reading, (*path, number), step) for number, inner in enumerate(given)]
    if not isinstance(given, str):
        if given is not None and not isinstance(given, int | float):
            reading.wrong(path, step, f"a {type(given).__name__} cannot be written as JSON; write it as a string")
        return given
    try:
        return reference(given) or (given[1:] if given.startswith("$$") else given)
    except ValueError as wrong:
        reading.wrong(path, step, str(wrong))
        return given


def _after(given: Any, reading: Reading, path: Path, step: str) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
        reading.wrong(path, step, "after: expected the names of steps")
        return ()
    return tuple(n.removeprefix("$") for n in names)


def _when(given: Any, reading: Reading, path: Path, step: str) -> tuple[Condition, ...]:
    found = []
    for one in given if isinstance(given, list | tuple) else [given]:
        try:
            found.append(condition(one))
        except ValueError as wrong:
            reading.wrong(path, step, f"when: {wrong}")
    return tuple(found)


def _each(given: Any, reading: Reading, path: Path, step: str) -> Ref | None:
    try:
        found = reference(given) if isinstance(given, str) else None
    except ValueError as wrong:
        reading.wrong(path, step, f"map: {wrong}")
        return None
    if found is None and given is not None:
        reading.wrong(path, step, f"map: {given!r} is not a reference to a list, such as $step.items")
    return found


def _retry(given: Any, reading: Reading, path: Path, step: str) -> Retry:
    table: Any = {} if given is None else {"max_retries": given} if isinstance(given, int) else given
    if not isinstance(table, Mapping):
        reading.wrong(path, step, f"retry: expected a number, or a table of {', '.join(_RETRY)}")
        return NEVER
    reading.known(table, _RETRY, path, step)
    numbers: dict[str, Any] = {"max_retries": 0, **{name: table[name] for name in _RETRY if name in table}}
    others = [value for name, value in numbers.items() if (name, value) != ("max_retries", None)]
    if any(not isinstance(value, int | float) for value in others) or isinstance(given, bool):
        reading.wrong(path, step, "retry: expected numbers")
        return NEVER
    try:
        policy = Retry(**numbers)
    except OptionError as wrong:
        reading.wrong(path, step, f"retry: {wrong}")
        return NEVER
    if policy.most_executions > MAX_EXECUTIONS:
        least = f"a step is started again at most {MAX_EXECUTIONS - 1} times; give the policy to its task"
        reading.wrong(path, step, f"retry: max_retries: {policy.max_retries} is too many: {least}")
        return NEVER
    return policy


def _limit(given: Any, reading: Reading, path: Path, step: str) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 1 <= given <= LONGEST_S:
        reading.wrong(path, step, f"time_limit: {given!r} is not between 1 and {LONGEST_S:.0f} seconds")
        return None
    return float(given)
