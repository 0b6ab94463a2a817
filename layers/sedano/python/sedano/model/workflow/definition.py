"""A workflow as a value: named steps, their inputs from other steps, their conditions, and their compensations.

A definition is immutable, plain data. It is identified by its canonical text (`digest`), so a flow run keeps its definition even if the
author changes the workflow later. It does not contain code: a condition only compares a result with a value, and a more complex predicate
is a separate step.

Compensation is the saga of Garcia-Molina and Salem (1987): if a later step fails, the successful steps are undone in reverse order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Literal

from sedano.model.canonical_json import canonical_json
from sedano.model.retry import NEVER, Retry

OnFailure = Literal["compensate", "wait"]
ITEM = "item"
"""The name by which a step with a `map` refers to the item of a call."""
FORMAT = 1
_REF = re.compile(r"\$([A-Za-z_]\w*)((?:\.[\w-]+)*)(\??)")
Part = str | int


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference in a step to an input or to the result of another step: `$name.part.0`.

    *maybe* (`$name?`): its value is None if that step was skipped. Without it, a step that uses a skipped step is skipped as well.
    """

    name: str
    path: tuple[Part, ...] = ()
    maybe: bool = False

    def __str__(self) -> str:
        """Return it in the form of files."""
        return "".join([f"${self.name}", *(f".{part}" for part in self.path), "?" if self.maybe else ""])


@dataclass(frozen=True, slots=True)
class Condition:
    """Compares a result with a value (*operator* of `OPERATORS`), or tests whether it is true (no operator); *negated*: the opposite."""

    left: Ref
    operator: str = ""
    right: Any = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TaskCall:
    """A task by name with its arguments, which contain a `Ref` for each value that is not known yet."""

    task: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One step. *retry* starts it again, as a new task, after its task has finally failed.

    *time_limit* is in seconds from its publication. *each* refers to a list: the step is called once for each item. *compensation* undoes
    it after it succeeded.
    """

    name: str
    call: TaskCall
    after: tuple[str, ...] = ()
    when: tuple[Condition, ...] = ()
    each: Ref | None = None
    retry: Retry = NEVER
    time_limit: float | None = None
    compensation: TaskCall | None = None

    def takes(self) -> Iterator[Ref]:
        """Yield the references to inputs and other steps whose values it needs before it can begin."""
        yield from refs((self.call.args, self.call.kwargs))
        yield from (condition.left for condition in self.when)
        if self.each is not None:
            yield self.each


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An argument of the whole workflow: its type in words, and its *default* if it is *optional*."""

    type: str = "any"
    optional: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A whole workflow. *steps* are in the order of the file; *doc* describes its purpose."""

    name: str
    version: str = "1"
    inputs: Mapping[str, InputSpec] = field(default_factory=dict)
    steps: tuple[StepSpec, ...] = ()
    on_failure: OnFailure = "compensate"
    doc: str = ""

    def step(self, name: str) -> StepSpec:
        """Return the step *name*; raise `KeyError` if it does not exist."""
        return next((s for s in self.steps if s.name == name), None) or _missing(name)

    def needs(self) -> dict[str, tuple[str, ...]]:
        """Return the steps that each step waits for, by name, in the order of the definition."""
        names = {s.name for s in self.steps}
        found: dict[str, tuple[str, ...]] = {}
        for step in self.steps:
            wanted = {ref.name for ref in step.takes()} | set(step.after)
            found[step.name] = tuple(s.name for s in self.steps if s.name in wanted & names)
        return found


def _missing(name: str) -> StepSpec:
    raise KeyError(name)


def refs(value: Any) -> Iterator[Ref]:
    """Yield every `Ref` in *value*, depth first."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from refs(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from refs(inner)


def reference(text: str) -> Ref | None:
    """Return the reference in *text*, or None for a text that does not begin with exactly one dollar sign.

    Raises:
        ValueError: *text* begins like a reference but is not a valid one.
    """
    if not text.startswith("$") or text.startswith("$$"):
        return None
    found = _REF.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a reference; write $name or $name.part, and $$ for a string that begins with a dollar sign")
    parts = tuple(int(p) if p.isdecimal() else p for p in found[2].split(".")[1:])
    return Ref(found[1], parts, bool(found[3]))


def written(value: Any) -> Any:
    """Return *value* with its references as strings; strings that look like references are escaped."""
    if isinstance(value, Ref):
        return str(value)
    if isinstance(value, str):
        return f"${value}" if value.startswith("$") else value
    if isinstance(value, Mapping):
        return {str(name): written(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [written(inner) for inner in value]
    return value


def plain(definition: Definition) -> dict[str, Any]:
    """Return *definition* as the data of a file; `definition_reader.read` reads it back."""
    inputs = {n: {"type": i.type, **({"default": written(i.default)} if i.optional else {})} for n, i in definition.inputs.items()}
    return {
        "format": FORMAT, "workflow": definition.name, "version": definition.version, "on_failure": definition.on_failure,
        "doc": definition.doc, "inputs": inputs, "step": [_step(s) for s in definition.steps],
    }  # fmt: skip


def encode(definition: Definition) -> bytes:
    """Return the canonical text of *definition*: JSON with sorted keys."""
    return canonical_json(plain(definition)).encode()


def digest(definition: Definition) -> str:
    """Return the unique identifier of *definition*: the SHA-256 of its text, in hex."""
    return sha256(encode(definition)).hexdigest()


def _step(step: StepSpec) -> dict[str, Any]:
    data: dict[str, Any] = {"name": step.name, **_call(step.call)}
    if step.after:
        data["after"] = list(step.after)
    if step.when:
        data["when"] = [_condition(c) for c in step.when]
    if step.each is not None:
        data["map"] = str(step.each)
    if step.retry != NEVER:
        data["retry"] = asdict(step.retry)
    if step.time_limit is not None:
        data["time_limit"] = step.time_limit
    if step.compensation is not None:
        data["compensate"] = _call(step.compensation)
    return data


def _call(call: TaskCall) -> dict[str, Any]:
    return {"task": call.task, "args": written(call.args), "kwargs": written(call.kwargs)}


def _condition(condition: Condition) -> dict[str, Any]:
    data: dict[str, Any] = {"result": str(condition.left), "negated": condition.negated}
    return {**data, "is": condition.operator, "value": written(condition.right)} if condition.operator else data
