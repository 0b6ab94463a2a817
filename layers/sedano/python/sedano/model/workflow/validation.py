"""Validates a workflow before it runs: checks everything that can be known in advance, and reports all faults at once.

Names: step names are unique, each reference is to an input or to a step that ends before, each task is known. Calls: each argument has a
parameter, and each parameter an argument. Types: the result of a step fits the parameter that receives it (`value_types`). Order: no step
waits for itself.
"""

from __future__ import annotations

import graphlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, NamedTuple

from sedano.model.tasks.annotations import Wrong, kind_of
from sedano.model.workflow import value_types as kinds
from sedano.model.workflow.definition import ITEM, Definition, Ref, StepSpec, TaskCall, refs
from sedano.model.workflow.definition_reader import Path, Problem

MOST_NAMED = 8


class Known(NamedTuple):
    """The known properties of a task: its function; whether its record (*records*) and its result (*keeps*) can be read after it ended.

    *unfit*: why it cannot be a step, in words; empty if it can.
    """

    function: Callable[..., Any]
    records: bool = True
    keeps: bool = True
    unfit: str = ""


def check(definition: Definition, tasks: Mapping[str, Known]) -> list[Problem]:
    """Return the faults that prevent *definition* from running in an app with these *tasks*."""
    return list(_Checking(definition, tasks).problems())


@dataclass(frozen=True)
class _Checking:
    definition: Definition
    tasks: Mapping[str, Known]

    def problems(self) -> Iterator[Problem]:
        definition, counts = self.definition, Counter(s.name for s in self.definition.steps)
        seen: set[str] = set()
        for number, step in enumerate(definition.steps):
            path: Path = ("step", number)
            if step.name in seen:
                yield Problem((*path, "name"), step.name, f"{counts[step.name]} steps have this name; each needs its own")
            elif step.name in definition.inputs:
                yield Problem((*path, "name"), step.name, "an input has this name; references could not distinguish them")
            seen.add(step.name)
            yield from self._step(step, path)
        yield from self._cycles()

    def _step(self, step: StepSpec, path: Path) -> Iterator[Problem]:
        visible = {s.name for s in self.definition.steps} - {step.name} | set(self.definition.inputs)
        for key, value in (("args", (step.call.args, step.call.kwargs)), ("when", [c.left for c in step.when]), ("map", step.each)):
            item = key == "args" and step.each is not None
            yield from (Problem((*path, key), step.name, text) for text in self._unknown(value, visible, item=item))
        others = {s.name for s in self.definition.steps} - {step.name}
        for name in step.after:
            if name not in others:
                itself = "itself" if name == step.name else f"the unknown step {name!r}"
                yield Problem((*path, "after"), step.name, f"it follows {itself}")
        if step.each is not None and not any(ref.name == ITEM for ref in refs((step.call.args, step.call.kwargs))):
            yield Problem((*path, "map"), step.name, f"map: no argument uses ${ITEM}")
        yield from self._call(step.call, step, path)
        yield from self._parts(step, path)
        if step.compensation is not None:
            yield from self._compensation(step.compensation, step, (*path, "compensate"))

    def _unknown(self, value: Any, visible: set[str], *, item: bool) -> Iterator[str]:
        for ref in refs(value):
            if ref.name == ITEM and item:
                continue
            if ref.name == ITEM:
                yield f"{ref}: only the arguments of a step with a map can use it"
            elif ref.name not in visible:
                yield f"{ref} is not an input or an earlier step; known are {_some(sorted(visible))}"

    def _compensation(self, call: TaskCall, step: StepSpec, path: Path) -> Iterator[Problem]:
        visible = {step.name} | _before(self.definition, step.name) | set(self.definition.inputs)
        for text in self._unknown((call.args, call.kwargs), visible, item=step.each is not None):
            yield Problem((*path, "args"), step.name, f"compensate: {text}")
        yield from (problem._replace(text=f"compensate: {problem.text}") for problem in self._call(call, step, path))

    def _call(self, call: TaskCall, step: StepSpec, path: Path) -> Iterator[Problem]:
        if not call.task:
            return
        known = self.tasks.get(call.task)
        if known is None:
            yield Problem((*path, "task"), step.name, f"unknown task {call.task!r}; known are {_some(sorted(self.tasks))}")
            return
        if not known.records:
            yield Problem((*path, "task"), step.name, f"task {call.task} keeps no record (at_least_once), so its end cannot be known")
        if known.unfit:
            yield Problem((*path, "task"), step.name, f"task {call.task} {known.unfit}")
            return
        yield from (Problem((*path, "args"), step.name, text) for text in _misfits(call, known.function))
        wanted = kinds.taken(known.function)
        for name, value in _bound(call, known.function):
            text = self._mismatch(name, value, wanted.get(name, Any), step)
            if text:
                yield Problem((*path, "args", name), step.name, text)

    def _mismatch(self, name: str, value: Any, wanted: Any, step: StepSpec) -> str | None:
        if not isinstance(value, Ref):
            return None if any(True for _ in refs(value)) else _unread(name, value, wanted)
        try:
            given = self._given(value, step)
        except (kinds.NoSuchPart, KeyError):
            return None
        if kinds.fits(given, wanted):
            return None
        return f"parameter {name} takes {kinds.shown(wanted)}, but {value} is {kinds.shown(given)}"

    def _parts(self, step: StepSpec, path: Path) -> Iterator[Problem]:
        """Yield faults of references to parts that cannot exist, of maps over a value that is not a list, and of uses of results that are
        not kept.
        """
        for ref in step.takes():
            where = (*path, "map") if ref == step.each else (*path, "when") if ref in [c.left for c in step.when] else (*path, "args")
            try:
                given = self._given(ref, step)
                if ref == step.each:
                    kinds.item(given)
            except kinds.NoSuchPart as wrong:
                yield Problem(where, step.name, f"{ref}: {wrong}")
            except KeyError:
                continue
            source = next((s for s in self.definition.steps if s.name == ref.name), None)
            if source is not None and source.call.task in self.tasks and not self.tasks[source.call.task].keeps:
                yield Problem(where, step.name, f"{ref}: task {source.call.task} keeps no result (ignore_result)")

    def _given(self, ref: Ref, step: StepSpec) -> Any:
        """Return the annotation of the value of *ref*; raise `KeyError` if it is unknown, `NoSuchPart` if the part cannot exist."""
        if ref.name == ITEM and step.each is not None and step.each.name != ITEM:
            return kinds.part(kinds.item(self._given(step.each, step)), ref.path)
        if ref.name in self.definition.inputs:
            return kinds.part(kinds.from_words(self.definition.inputs[ref.name].type), ref.path)
        source = self.definition.step(ref.name)
        whole = kinds.returned(self.tasks[source.call.task].function)
        if source.each is not None and ref.name != step.name:
            whole = GenericAlias(list, (whole,))
        found = kinds.part(whole, ref.path)
        return found | None if ref.maybe and found is not Any else found

    def _cycles(self) -> Iterator[Problem]:
        needs = {name: set(before) - {name} for name, before in self.definition.needs().items()}
        lines = {s.name: number for number, s in enumerate(self.definition.steps)}
        while needs:
            try:
                graphlib.TopologicalSorter(needs).prepare()
                return
            except graphlib.CycleError as found:
                circle = min(_turns(found.args[1][1:]), key=lambda names: lines[names[0]])
            yield Problem(("step", lines[circle[0]]), circle[0], f"it waits for itself: {' → '.join([*circle, circle[0]])}")
            needs = {name: before - set(circle) for name, before in needs.items()}


def _turns(circle: list[str]) -> list[list[str]]:
    return [circle[n:] + circle[:n] for n in range(len(circle))]


def _before(definition: Definition, name: str) -> set[str]:
    """Return every step that has ended, or was skipped, before *name* begins."""
    needs, found, ahead = definition.needs(), set[str](), [name]
    while ahead:
        fresh = [n for n in needs.get(ahead.pop(), ()) if n not in found]
        found |= set(fresh)
        ahead += fresh
    return found


def _misfits(call: TaskCall, function: Callable[..., Any]) -> Iterator[str]:
    """Yield all mismatches between the arguments of *call* and the parameters of *function*."""
    found = list(inspect.signature(function).parameters.values())
    by_place = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = {p.kind for p in found}
    if len(call.args) > len(by_place) and inspect.Parameter.VAR_POSITIONAL not in rest:
        yield f"{len(call.args)} arguments by position; {call.task} takes {len(by_place)}"
    given = {p.name for p in by_place[: len(call.args)]}
    named = {p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for name in call.kwargs:
        if name in given:
            yield f"argument {name} is given twice"
        elif name not in named and inspect.Parameter.VAR_KEYWORD not in rest:
            yield f"{call.task} has no parameter {name}; it takes {_some([p.name for p in found])}"
    for parameter in found:
        needed = parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if needed and parameter.name not in given | set(call.kwargs):
            yield f"missing argument {parameter.name} of {call.task}"


def _bound(call: TaskCall, function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield each parameter for which *call* has a value, with the value."""
    found = inspect.signature(function).parameters.values()
    by_place = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    yield from zip(by_place, call.args, strict=False)
    yield from call.kwargs.items()


def _unread(name: str, value: Any, wanted: Any) -> str | None:
    try:
        kind_of(wanted).read(value)
    except Wrong as wrong:
        return f"parameter {name}: {wrong}"
    return None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (", ".join(names[:MOST_NAMED]) or "none") + more
