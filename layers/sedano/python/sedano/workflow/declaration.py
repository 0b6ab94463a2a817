"""Workflows as classes: the inputs and steps are attributes of the class, named as the attributes are.

    class Fulfil(Workflow, app=app, version="3"):
        order = Input(int)
        price = Step(price_order.s(order))
        charge = Step(charge_card.s(price["total"]), compensate=refund.s(order))

The body runs no task: a step represents its result, `price["total"]` a part of it, and `price["total"] > 100` a condition.
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
        """Remember the place of the declaration."""
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
        after: steps that must end first, although their results are not used.
        when: a condition, or several that must all hold; a step as a condition means that its result is true. If they do not hold, the step
            is skipped.
        compensate: the signature that undoes the step if it has succeeded and the run fails or is cancelled.
        retry: how often, or by which policy, the step is started again after its task has failed and is not retried any more.
        time_limit: seconds after its publication; then the step is revoked and counts as failed.
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
    """The names of a class's body; it remembers a step or input that a later one of the same name replaces."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced: list[tuple[str, Declared]] = []

    def __setitem__(self, name: str, value: Any) -> None:
        before = self.get(name)
        if isinstance(before, Declared):
            self.replaced.append((name, before))
        super().__setitem__(name, value)


class Meta(type):
    """Turns a class into a declared workflow: reads its body, checks it, binds it to its app."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **options: Any) -> _Body:
        """Return the mapping that collects the body."""
        return _Body()

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: _Body, app: WorkflowApp | None = None, version: str = "1",
        on_failure: OnFailure = "compensate", workflow: str | None = None,
    ) -> Any:  # fmt: skip
        """Make the class; raise `WorkflowInvalid` with all problems of the workflow."""
        made = cast("type[Workflow]", super().__new__(mcs, name, bases, dict(body)))
        if not bases:
            return made
        if app is None:
            raise OptionError(f"class {name}(Workflow): name the app that runs it: class {name}(Workflow, app=app)")
        options = {"workflow": workflow or name.lower(), "version": version, "on_failure": on_failure, "doc": (made.__doc__ or "").strip()}
        type.__setattr__(made, "flow", _flow(app, body, options))
        return made

    def __setattr__(cls, name: str, value: object) -> None:
        """Refuse a change, because a run uses the class exactly as it was checked.

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
        """Accept the options, which `__new__` has used."""
        super().__init__(name, bases, dict(body))


class Workflow(metaclass=Meta):
    """The base of declared workflows: `class Fulfil(Workflow, app=app, version="3")`.

    Options: *app* runs it; *version* is shown with its runs; *workflow* names it, by default the class's name in lower case; *on_failure*:
        ``compensate`` undoes the steps that succeeded, ``wait`` leaves them until the run is retried or cancelled.
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
    """Return *value* as a file would write it; add the lists of each `each(…)` in it to *lists*."""
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
