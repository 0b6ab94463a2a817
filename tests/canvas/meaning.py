"""What a canvas means, said once more and simply: the oracle of the random canvases.

Written from the description of the canvas (Celery's userguide, and docs/canvas.md), on sketches; it shares no code and no notion with
`sedano.model.canvas.tree`. It evaluates a sketch as a recursive function would, and notes what has to have happened by then.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.canvas.sketch import Chain, Chord, Errback, Fork, Group, Mapped, Sketch, Step

ATTEMPTS = {"retried": 3, "tired": 2, "late": 0}
"""How often a body begins when nothing is repeated; once for every other kind."""
FAILED = "failed"
ENDED = "ended well"
"""In place of a value that is not kept."""
COLLECTOR = ""
"""What stands for the name of a task that sedano adds, to collect the list of a group where that has to be one value, and of a map that
never ran: its record does not tell what it would have called.
"""


class Value(NamedTuple):
    """It ended well."""

    value: Any


class Failure(NamedTuple):
    """It ended without success. *first*: the tasks of which any may have failed first; *at*: the task whose end ended it, if it is one."""

    first: frozenset[str]
    at: str | None = None


Ended = Value | Failure
NOTHING = Value(None)
Watch = tuple[Errback, ...]
Links = tuple[tuple[Sketch, frozenset[str]], ...]
"""What is linked, each with the stamps of what it is linked to."""


@dataclass
class Meaning:
    """What has to have happened: *effects*, the tasks that ended by themselves, with value or FAILED; *runs*, the bodies that began;
    *calls*, the error callbacks with the task that each was called about (None: it was not told); *stamps* that each task bears at least;
    *silent*: it ends in a task that keeps no result, so that there may be nothing to wait for.
    """

    effects: Counter[tuple[str, str]] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    calls: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    stamps: dict[str, frozenset[str]] = field(default_factory=dict)
    result: Ended | list[Ended] = NOTHING
    silent: bool = False


def meaning_of(sketch: Sketch) -> Meaning:
    """Return what *sketch* means when it is published without arguments."""
    meaning = Meaning()
    evaluation = _Evaluation(meaning)
    meaning.result, meaning.silent = evaluation.top(sketch), is_silent(sketch)
    return meaning


def digest(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Return the value of the task *name*: a text that tells from which arguments it came."""
    text = json.dumps([name, plain(args), kwargs], sort_keys=True)
    return f"{name}:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def plain(value: Any) -> Any:
    """Return *value* as JSON holds it; of an outcome only what does not depend on ids."""
    if isinstance(value, dict) and {"id", "state"} <= value.keys():
        return ["ended well", plain(value["value"])] if value["state"] == "SUCCESS" else [FAILED]
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def is_silent(sketch: Sketch | Fork) -> bool:
    """Tell whether *sketch* ends in a task that keeps no result."""
    if isinstance(sketch, Chain):
        return is_silent([part for part in sketch.parts if not isinstance(part, Fork)][-1])
    if isinstance(sketch, Group):
        return any(map(is_silent, sketch.members))
    return is_silent(sketch.body) if isinstance(sketch, Chord) else isinstance(sketch, Step) and sketch.kind == "quiet"


def called_with(mapped: Mapped, item: int) -> list[int]:
    """Return the arguments of the call for *item*."""
    return [item, mapped.number] if mapped.star else [item]


def stamp_of(sketch: Sketch) -> str:
    """Return the stamp that a stamped *sketch* gives: named after the first task in it, or none."""
    found = first_step(sketch)
    return f"{type(sketch).__name__.lower()}_{found.number}" if found is not None else ""


def first_step(sketch: Sketch | Fork) -> Step | Mapped | None:
    """Return the first task of *sketch* in reading order."""
    if isinstance(sketch, Step | Mapped):
        return sketch
    parts: tuple[Sketch | Fork, ...] = (
        sketch.parts if isinstance(sketch, Chain) else sketch.members if isinstance(sketch, Group)
        else (*sketch.header, sketch.body) if isinstance(sketch, Chord) else sketch.branches
    )  # fmt: skip
    return next((found for part in parts if (found := first_step(part)) is not None), None)


class _Evaluation:
    """One evaluation. Everything takes *args*, what is handed on to it; *watch*, who is called when a task in it fails; its *stamps*."""

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.called: set[tuple[str, str]] = set()

    def top(self, sketch: Sketch) -> Ended | list[Ended]:
        """Return how *sketch* ends; one ending for each member when a group ends it."""
        return self._run(sketch, [], (), frozenset())

    def single(self, sketch: Sketch, args: list[Any], watch: Watch, stamps: frozenset[str]) -> Ended:
        """Return how *sketch* ends, as one ending."""
        return _joined(self._run(sketch, args, watch, stamps))

    def _run(self, sketch: Sketch, args: list[Any], watch: Watch, stamps: frozenset[str]) -> Ended | list[Ended]:
        stages = _stages(sketch, watch, stamps | _own(sketch))
        ended: Ended | list[Ended] = Value(None)
        for number, stage in enumerate(stages):
            before = stages[number - 1] if number else None
            if isinstance(stage.sketch, Fork):
                ended = Value(_value(_joined(ended)))
                self._forked(stage.sketch, ended, (*stage.watch, *_trunk(stages[:number]).watch), stage.stamps)
                continue
            if number:
                handed = self._handed(ended, before)
                if isinstance(handed, Failure):
                    return self._body_never_runs(stage, before, handed)
                args = [handed.value]
            ended = self._stage(stage, args)
            if isinstance(ended, Failure):
                return ended
            if number + 1 < len(stages) and isinstance(stages[number + 1].sketch, Fork) and isinstance(_joined(ended), Failure):
                return _joined(ended)
        return ended

    def _forked(self, fork: Fork, ended: Value, watch: Watch, stamps: frozenset[str]) -> None:
        """Run the side branches. They hang together where the first of them stands: who watches there watches all of them."""
        for branch in fork.branches:
            self.single(branch, [ended.value], watch, stamps | _own(branch))

    def _handed(self, ended: Ended | list[Ended], before: _Stage | None) -> Ended:
        """Return what the stage after *before* is handed."""
        if isinstance(ended, list) and before is not None and before.outcomes:
            return Value([["ended well", one.value] if isinstance(one, Value) else [FAILED] for one in ended])
        return _joined(ended)

    def _stage(self, stage: _Stage, args: list[Any]) -> Ended | list[Ended]:
        if isinstance(stage.sketch, Step):
            return self._step(stage.sketch, args, stage.watch, stage.stamps, stage.links)
        if isinstance(stage.sketch, Mapped):
            return self._mapped(stage.sketch, stage.watch, stage.stamps, stage.links)
        assert isinstance(stage.sketch, Group)
        members: list[Ended] = [self.single(m, args, stage.watch, stage.stamps | _own(m)) for m in stage.sketch.members]
        for member, end in list(zip(stage.sketch.members, members, strict=True)):
            if isinstance(member, Step) and member.kind == "adds" and member.instead is not None and isinstance(end, Value):
                members.append(self.single(member.instead, [], stage.watch, stage.stamps | _own(member)))
        ended = _joined(members)
        if isinstance(ended, Value):
            self._linked(stage.links, ended)
        return members

    def _step(self, step: Step, args: list[Any], watch: Watch, stamps: frozenset[str], links: Links) -> Ended:
        meaning = self.meaning
        taken = [step.number] if step.immutable else [*args, step.number]
        meaning.runs += Counter({step.name: ATTEMPTS.get(step.kind, 1)})
        meaning.stamps[step.name] = stamps | _own(step)
        if step.kind == "replace" and step.instead is not None:
            ended = self.single(step.instead, [], watch, stamps)
            if isinstance(ended, Failure):
                self._call(step.errors, ended.at or COLLECTOR, ended.at or step.name)
            else:
                self._linked(links, ended)
            return ended
        if step.kind not in ("ok", "retried", "adds", "quiet", "once"):
            meaning.effects[step.name, FAILED] += 1
            self._call((*step.errors, *watch), step.name)
            return Failure(frozenset({step.name}), step.name)
        value = digest(step.name, taken, {"word": "w"} if step.keyword else {})
        meaning.effects[step.name, ENDED if step.kind == "quiet" else value] += 1
        self._linked(links, Value(value))
        return Value(value)

    def _mapped(self, mapped: Mapped, watch: Watch, stamps: frozenset[str], links: Links) -> Ended:
        """Call the task for one item after the other, until one fails; nothing is handed on to it."""
        meaning, failing = self.meaning, 0 in mapped.items
        calls = mapped.items.index(0) + 1 if failing else len(mapped.items)
        meaning.runs += Counter({mapped.name: calls})
        meaning.stamps[mapped.name] = meaning.stamps.get(mapped.name, stamps | _own(mapped)) & (stamps | _own(mapped))
        if failing:
            meaning.effects[mapped.name, FAILED] += 1
            self._call((*mapped.errors, *watch), mapped.name)
            return Failure(frozenset({mapped.name}), mapped.name)
        values = [digest(mapped.name, called_with(mapped, item), {}) for item in mapped.items]
        meaning.effects[mapped.name, str(values)] += 1
        self._linked(links, Value(values))
        return Value(values)

    def _body_never_runs(self, stage: _Stage, before: _Stage | None, why: Failure) -> Failure:
        """The body of a chord ends, although it never ran: its own error callbacks are called."""
        collected = before is not None and (isinstance(before.sketch, Fork) or before.links)
        if isinstance(stage.sketch, Step) and not collected:
            self._call(stage.sketch.errors, stage.sketch.name)
            return Failure(why.first, stage.sketch.name)
        if isinstance(stage.sketch, Mapped) and not collected:
            self._call(stage.sketch.errors, COLLECTOR, stage.sketch.name)
        if isinstance(stage.sketch, Group) and not collected:
            self._members_never_begin(stage.sketch)
        return Failure(why.first, None)

    def _members_never_begin(self, group: Group) -> None:
        """The error callbacks of what each member would begin with are called."""
        for member in group.members:
            first = _stages(member, (), frozenset())[0].sketch
            if isinstance(first, Group):
                self._members_never_begin(first)
            elif isinstance(first, Step):
                self._call(first.errors, first.name)
            elif isinstance(first, Mapped):
                self._call(first.errors, COLLECTOR, f"{first.name}{first.items}")

    def _linked(self, links: Links, ended: Value) -> None:
        for link, stamps in links:
            self.single(link, [ended.value], (), stamps | _own(link))

    def _call(self, errbacks: Watch, about: str, failure: str = "") -> None:
        """Call each of *errbacks* about the task of this name, once for one *failure* (by default: of that task)."""
        for errback in errbacks:
            if (errback.name, failure or about) not in self.called:
                self.called.add((errback.name, failure or about))
                self.meaning.calls[errback.name, None if errback.style == "own" else about] += 1


class _Stage(NamedTuple):
    """A task, a group or a fork at its place in a chain."""

    sketch: Step | Mapped | Group | Fork
    watch: Watch
    stamps: frozenset[str]
    links: Links = ()
    outcomes: bool = False


def _stages(sketch: Sketch | Fork, watch: Watch, stamps: frozenset[str]) -> list[_Stage]:
    """Return the stages of *sketch*: a chain of one is that one, chains in chains are one chain, a chord is a group and what follows it."""
    if isinstance(sketch, Step | Mapped):
        return [_Stage(sketch, watch, stamps, _links(sketch, stamps))]
    if isinstance(sketch, Fork):
        return [_Stage(sketch, watch, stamps)]
    if isinstance(sketch, Chain) and len(sketch.parts) == 1 and not isinstance(only := sketch.parts[0], Fork):
        itself = only._replace(errors=(*only.errors, *sketch.errors))
        return _linked_to_the_end(_stages(itself, watch, stamps | _own(only)), _links(sketch, stamps))
    inner = (*watch, *sketch.errors)
    if isinstance(sketch, Group):
        return [_Stage(sketch, inner, stamps, _links(sketch, stamps))]
    if isinstance(sketch, Chain):
        found = [stage for part in sketch.parts for stage in _stages(part, inner, stamps | _own(part))]
    else:
        header = _Stage(Group(sketch.header), inner, stamps, (), sketch.outcomes)
        found = [header, *_stages(sketch.body, inner, stamps | _own(sketch.body))]
    return _linked_to_the_end(found, _links(sketch, stamps))


def _linked_to_the_end(stages: list[_Stage], links: Links) -> list[_Stage]:
    last = max(n for n, stage in enumerate(stages) if not isinstance(stage.sketch, Fork))
    return [*stages[:last], stages[last]._replace(links=(*stages[last].links, *links)), *stages[last + 1 :]]


def _links(sketch: Sketch, stamps: frozenset[str]) -> Links:
    return tuple((link, stamps) for link in sketch.links)


def _trunk(before: list[_Stage]) -> _Stage:
    """Return where a fork after these stages hangs: on the task before, or, after a group, where the first fork stands."""
    stage = next(n for n in range(len(before) - 1, -1, -1) if not isinstance(before[n].sketch, Fork))
    if isinstance(before[stage].sketch, Step | Mapped):
        return before[stage]
    return before[stage + 1] if stage + 1 < len(before) else before[stage]._replace(watch=())


def _own(sketch: Sketch | Fork) -> frozenset[str]:
    stamped = not isinstance(sketch, Fork) and sketch.stamped and stamp_of(sketch)
    return frozenset({stamp_of(sketch)}) if stamped and not isinstance(sketch, Fork) else frozenset()


def _joined(ended: Ended | list[Ended]) -> Ended:
    """Return the list of the values, or that some failed."""
    if not isinstance(ended, list):
        return ended
    failed = [one for one in ended if isinstance(one, Failure)]
    if failed:
        return Failure(frozenset(name for one in failed for name in one.first))
    return Value([one.value for one in ended if isinstance(one, Value)])


def _value(ended: Ended) -> Any:
    assert isinstance(ended, Value)
    return ended.value
