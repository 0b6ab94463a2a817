"""A workflow as a class: its inputs and steps are the class's attributes, their names the attributes' names.

    class Fulfil(Workflow, app=app, version="3"):
        order = Input(int)
        price = Step(price_order.s(order))
        charge = Step(charge_card.s(price["total"]), compensate=refund.s(order))

Nothing in the body runs a task: a step means its result, `price["total"]` for a part of it, `price["total"] > 100` for a condition.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, cast

from sedano.canvas import Form, Sig
from sedano.errors import OptionError
from sedano.model.messages.message import NOTHING
from sedano.model.retry import Retry
from sedano.model.workflow import value_types as kinds
from sedano.model.workflow.definition import OnFailure, written
from sedano.model.workflow.definition_reader import Path, Problem, read
from sedano.workflow.flow import Flow
from sedano.workflow.flow_handle import FlowResult
from sedano.workflow.names import WorkflowApp
from sedano.workflow.values import Each, Placeholder, When

_UNSET: Any = object()


class Declared(Placeholder):
    """An input or a step: a value with a name, which is the attribute's."""

    def __init__(self) -> None:
        """Note where it is declared."""
        super().__init__(self)
        self.name = ""
        frame = sys._getframe(2)  # noqa: SLF001 - the line of the class's body
        self.file, self.line = frame.f_code.co_filename, frame.f_lineno


class Input(Declared):
    """An input of the workflow.

    Args:
        type: the type of its value; checked when a run begins, and against the parameters that take it.
        default: its value when it is not given; an input without a default is required.
    """

    def __init__(self, type: Any = Any, default: Any = _UNSET) -> None:  # noqa: A002 - the word that says it
        """Declare an input."""
        super().__init__()
        self.type, self.default = type, default

    def data(self) -> dict[str, Any]:
        """Return it as a file writes it."""
        words = kinds.in_words(self.type)
        return {"type": words} if self.default is _UNSET else {"type": words, "default": written(self.default)}


class Step(Declared):
    """A step of the workflow.

    Args:
        call: a task's signature, `task.s(…)`; among its arguments may be inputs, other steps, and parts of them.
        after: steps that have to end first although nothing is taken from them.
        when: a condition, or several that must all hold; a step means "its result is true". Otherwise it is skipped.
        compensate: the signature that undoes it, once it has ended well, when the run fails or is cancelled.
        retry: how often, or by which policy, it is begun again after its task has failed for good.
        time_limit: seconds from its publication after which it is revoked and has failed.
    """

    def __init__(
        self, call: Sig[Any], *, after: Step | Sequence[Step] = (), when: When | Placeholder | Sequence[When | Placeholder] = (),
        compensate: Sig[Any] | None = None, retry: int | Retry = 0, time_limit: float | None = None,
    ) -> None:  # fmt: skip
        """Declare a step."""
        super().__init__()
        for given in (call, compensate):
            if given is not None and not isinstance(given, Sig):
                raise OptionError(f"a step is a task's signature (task.s(…)), not {type(given).__name__}")
        self.call, self.compensate, self.retry, self.time_limit = call, compensate, retry, time_limit
        self.after = [after] if isinstance(after, Step) else list(after)
        self.when = [when] if isinstance(when, When | Placeholder) else list(when)

    def data(self) -> dict[str, Any]:
        """Return it as a file writes it."""
        lists: list[Placeholder] = []
        data = {"name": self.name, **self._call(self.call, lists), "after": [s.name for s in self.after]}
        data["when"] = [_when(w, self.name) for w in self.when]
        of = {str(value.ref(self.name)) for value in lists}
        if of:
            data["map"] = of.pop() if len(of) == 1 else "each() of several lists"
        if self.compensate is not None:
            data["compensate"] = self._call(self.compensate, lists)
        if self.retry:
            data["retry"] = self.retry if isinstance(self.retry, int) else asdict(self.retry)
        return data if self.time_limit is None else {**data, "time_limit": self.time_limit}

    def _call(self, call: Sig[Any], lists: list[Placeholder]) -> dict[str, Any]:
        spec = call.spec
        return {
            "task": spec.task,
            "args": _plain(spec.args, self.name, lists),
            "kwargs": _plain(dict(spec.kwargs), self.name, lists),
        }


class _Body(dict[str, Any]):
    """The names of a class's body; a step or input that another one of the same name replaces is remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced: list[tuple[str, Declared]] = []

    def __setitem__(self, name: str, value: Any) -> None:
        before = self.get(name)
        if isinstance(before, Declared):
            self.replaced.append((name, before))
        super().__setitem__(name, value)


class Meta(type):
    """Makes a declared workflow of a class: reads its body, checks it, binds it to its app."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **options: Any) -> _Body:
        """Return what collects the body."""
        return _Body()

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: _Body, app: WorkflowApp | None = None, version: str = "1",
        on_failure: OnFailure = "compensate", workflow: str | None = None,
    ) -> Any:  # fmt: skip
        """Make the class; raise `WorkflowInvalid` with everything that is wrong with it."""
        made = cast("type[Workflow]", super().__new__(mcs, name, bases, dict(body)))
        if not bases:
            return made
        if app is None:
            raise OptionError(f"class {name}(Workflow): say which app runs it: class {name}(Workflow, app=app)")
        options = {"workflow": workflow or name.lower(), "version": version, "on_failure": on_failure, "doc": (made.__doc__ or "").strip()}
        type.__setattr__(made, "flow", _flow(app, body, options))
        return made

    def __setattr__(cls, name: str, value: object) -> None:
        """Refuse: a run uses the class exactly as it was checked.

        Raises:
            OptionError: always.
        """
        raise OptionError(f"{cls.__name__}.{name} cannot be set: a workflow is immutable; declare another class, with another version=")

    def __delattr__(cls, name: str) -> None:
        """Refuse, as `__setattr__` does.

        Raises:
            OptionError: always.
        """
        raise OptionError(f"{cls.__name__}.{name} cannot be deleted: a workflow is immutable; declare another class, with another version=")

    def __init__(cls, name: str, bases: tuple[type, ...], body: _Body, **options: Any) -> None:
        """Take the options, which are spent."""
        super().__init__(name, bases, dict(body))


class Workflow(metaclass=Meta):
    """The base of declared workflows: `class Fulfil(Workflow, app=app, version="3")`.

    Options: *app* runs it; *version* is shown with its runs; *workflow* names it, by default the class's name in small letters;
    *on_failure*: ``compensate`` undoes what ended well, ``wait`` leaves it until the run is retried or cancelled.
    """

    flow: ClassVar[Flow]

    @classmethod
    def delay(cls, **inputs: Any) -> FlowResult:
        """Begin a run with these inputs; see `Flow.apply_async`."""
        return cls.flow.delay(**inputs)

    @classmethod
    def apply_async(cls, inputs: Mapping[str, Any] = NOTHING, **options: Any) -> FlowResult:
        """Begin a run with options; see `Flow.apply_async`."""
        return cls.flow.apply_async(inputs, **options)


def _flow(app: WorkflowApp, body: _Body, options: Mapping[str, Any]) -> Flow:
    declared = {name: value for name, value in body.items() if isinstance(value, Declared)}
    for name, value in [*body.replaced, *declared.items()]:
        value.name = name
    steps = [value for value in declared.values() if isinstance(value, Step)]
    inputs = {name: value for name, value in declared.items() if isinstance(value, Input)}
    definition, problems = read({**options, "inputs": {n: i.data() for n, i in inputs.items()}, "step": [s.data() for s in steps]})
    problems += [Problem(("replaced", n), name, "another step or input has this name") for n, (name, _) in enumerate(body.replaced)]
    used = {id(form) for step in steps for form in (step.call, step.compensate)}
    alone = [name for name, value in body.items() if isinstance(value, Form) and id(value) not in used]
    problems += [Problem(("alone",), name, f"a signature is not a step; write {name} = Step(task.s(…))") for name in alone]
    known: dict[str, list[Declared]] = {"step": [*steps], "replaced": [value for _, value in body.replaced]}

    def where(path: Path) -> tuple[str, int]:
        found = known.get(str(path[0]), []) if path else []
        number = path[1] if len(path) > 1 else -1
        owner: Declared | None = found[number] if isinstance(number, int) and 0 <= number < len(found) else inputs.get(str(number))
        first = owner if owner is not None else next(iter(declared.values()), None)
        return (first.file, first.line) if first is not None else (str(options["workflow"]), 0)

    return Flow(app, definition, problems, where)


def _plain(value: Any, step: str, lists: list[Placeholder]) -> Any:
    """Return *value* as a file writes it; lists whose items it takes one by one are added to *lists*."""
    if isinstance(value, Each):
        lists.append(value.of)
    if isinstance(value, Placeholder):
        return str(value.ref(step))
    if isinstance(value, Mapping):
        return {name: _plain(inner, step, lists) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, step, lists) for inner in value]
    return written(value)


def _when(given: When | Placeholder, step: str) -> Any:
    condition = (given if isinstance(given, When) else When(given)).condition(step)
    data = {"result": str(condition.left), "negated": condition.negated}
    return {**data, "is": condition.operator, "value": written(condition.right)} if condition.operator else data
