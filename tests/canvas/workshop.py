"""Sketches become an app and forms of it: every task of a sketch is one of its own, notes its runs and says from what it was called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sedano import Retry, Sedano, current, poisonous
from sedano.canvas import chain, chord, fork, group
from sedano.errors import Ignore, Reject
from tests.canvas.meaning import digest, stamp_of
from tests.canvas.sketch import CHUNK, Chain, Chord, Errback, Fork, Group, Mapped, Sketch, Step

AGAIN = Retry(max_retries=2, interval_start=1, jitter=False)
ONCE_MORE = Retry(max_retries=1, interval_start=1, jitter=False)
POLICIES: dict[str, Any] = {"fail": False, "tired": ONCE_MORE, **dict.fromkeys(("retried", "poisonous", "ignored", "rejected"), AGAIN)}
RAISED = {"ignored": Ignore, "rejected": Reject}


class Boom(Exception):
    """What a task of a sketch raises; its text is the task's name."""


class Run(NamedTuple):
    """A body began: the task's name and id, and the stamps that it saw."""

    name: str
    task_id: str
    stamps: frozenset[str]


class Workshop:
    """The app of one sketch. *runs*: the bodies that began, in order; *work* is called by each (a simulated world lets time pass there)."""

    def __init__(
        self, sketch: Sketch, work: Callable[[], None] = lambda: None, owns: Callable[[Step | Mapped], bool] = lambda _: False
    ) -> None:
        """Declare every task in *sketch*; those for which *owns* says so are given an id by their user (`own_id`)."""
        self.app = Sedano("workshop", retry=False)
        self.runs: list[Run] = []
        self._work, self._owns = work, owns
        self.owned: dict[str, str] = {}
        self._answering: set[str] = set()
        self._tasks: dict[str, Any] = {}
        for part in steps_of(sketch):
            self._declare(part)
        self.form = self._form(sketch)

    def publish(self) -> Any:
        """Publish the canvas and return its result."""
        return self.form.apply_async()

    def _declare(self, part: Step | Mapped | Errback) -> None:
        if part.name in self._tasks:
            return
        kind = part.kind if isinstance(part, Step) else ""
        body = self._errback(part) if isinstance(part, Errback) else self._called(part) if isinstance(part, Mapped) else self._body(part)
        options: dict[str, Any] = {"delivery": "record_once"} if kind == "once" else {"ignore_result": kind == "quiet"}
        self._tasks[part.name] = self.app.task(name=part.name, retry=POLICIES.get(kind, False), **options)(body)

    def _called(self, mapped: Mapped) -> Callable[..., Any]:
        def body(item: int, *more: int) -> Any:
            self._note(mapped.name)
            if not item:
                raise Boom(mapped.name)
            return digest(mapped.name, (item, *more), {})

        return body

    def _body(self, step: Step) -> Callable[..., Any]:
        def body(*args: Any, **kwargs: Any) -> Any:
            self._note(step.name)
            if step.kind == "replace":
                self._answering |= {end.name for end in ends_of(step.instead)}
                self._tasks[step.name].replace(self._form(step.instead) if step.instead is not None else None)
            if step.kind == "adds" and step.instead is not None:
                self._tasks[step.name].add_to_chord(self._form(step.instead))
            if step.kind == "poisonous":
                with poisonous():
                    raise Boom(step.name)
            if step.kind not in ("ok", "adds", "quiet", "once") and (step.kind != "retried" or current().attempt < AGAIN.max_retries):
                raise RAISED.get(step.kind, Boom)(step.name)
            return digest(step.name, args, kwargs)

        return body

    def _errback(self, errback: Errback) -> Callable[..., Any]:
        def called_with_id(task_id: str) -> Any:
            self._note(errback.name)
            return task_id

        def called_with_context(request: Any, exc: Any, traceback: Any) -> Any:
            self._note(errback.name)
            return request["id"] if exc["message"] else traceback

        def called_with_its_own() -> Any:
            self._note(errback.name)

        return {"id": called_with_id, "context": called_with_context, "own": called_with_its_own}[errback.style]

    def _note(self, name: str) -> None:
        context = current()
        self.runs.append(Run(name, context.id, frozenset(context.stamps)))
        self._work()

    def _form(self, sketch: Sketch) -> Any:
        form = self._bare(sketch)
        for link in sketch.links:
            form.link(self._form(link))
        for errback in sketch.errors:
            task = self._tasks[errback.name]
            form.link_error(task.si() if errback.style == "own" else task.s())
        return form.stamp(**{stamp_of(sketch): "x"}) if sketch.stamped and stamp_of(sketch) else form

    def _bare(self, sketch: Sketch) -> Any:
        form = self._plain(sketch)
        if not isinstance(sketch, Step | Mapped) or sketch.name in self._answering or not self._owns(sketch):
            return form
        self.owned[sketch.name] = f"own-{sketch.name}"
        return form.set(task_id=self.owned[sketch.name])

    def _plain(self, sketch: Sketch) -> Any:
        if isinstance(sketch, Step):
            sign = self._tasks[sketch.name].si if sketch.immutable else self._tasks[sketch.name].s
            signature = sign(sketch.number, **({"word": "w"} if sketch.keyword else {}))
            return signature.set(expires=0) if sketch.kind == "late" else signature
        if isinstance(sketch, Mapped):
            task = self._tasks[sketch.name]
            return task.starmap([(n, sketch.number) for n in sketch.items]) if sketch.star else task.map(list(sketch.items))
        if isinstance(sketch, Group) and sketch.chunked:
            return self._chunks([member for member in sketch.members if isinstance(member, Mapped)])
        if isinstance(sketch, Group):
            return group(self._form(member) for member in sketch.members)
        if isinstance(sketch, Chord):
            header = [self._form(member) for member in sketch.header]
            return chord(header, self._form(sketch.body), on_failure="outcomes" if sketch.outcomes else "fail")
        return self._chain(sketch)

    def _chunks(self, members: list[Mapped]) -> Any:
        if any(len(member.items) != CHUNK for member in members[:-1]) or not members:
            return group(map(self._form, members))
        calls = [(n, member.number) for member in members for n in member.items]
        return self._tasks[members[0].name].chunks(calls, CHUNK)

    def _chain(self, sketch: Chain) -> Any:
        parts = [fork(*map(self._form, p.branches)) if isinstance(p, Fork) else self._form(p) for p in sketch.parts]
        if not sketch.piped:
            return chain(*parts)
        whole = parts[0]
        for part in parts[1:]:
            whole = whole | part
        return whole


def ends_of(sketch: Sketch | None) -> Iterator[Step | Mapped]:
    """Yield the task that *sketch* ends in, whose id is that of the whole; several, where a group ends it."""
    if isinstance(sketch, Step | Mapped):
        yield sketch
    elif isinstance(sketch, Chain):
        yield from ends_of([part for part in sketch.parts if not isinstance(part, Fork)][-1])
    elif isinstance(sketch, Chord):
        yield from ends_of(sketch.body)


def steps_of(sketch: Sketch | Fork) -> Iterator[Step | Mapped | Errback]:
    """Yield every task and error callback in *sketch*."""
    if isinstance(sketch, Fork):
        for branch in sketch.branches:
            yield from steps_of(branch)
        return
    yield from sketch.errors
    for link in sketch.links:
        yield from steps_of(link)
    if isinstance(sketch, Mapped):
        yield sketch
        return
    if isinstance(sketch, Step):
        yield sketch
        if sketch.instead is not None:
            yield from steps_of(sketch.instead)
        return
    inner = sketch.parts if isinstance(sketch, Chain) else sketch.members if isinstance(sketch, Group) else (*sketch.header, sketch.body)
    for part in inner:
        yield from steps_of(part)
