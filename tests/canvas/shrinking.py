"""A failing sketch made smaller until nothing can be left out, and written so that it can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.canvas.sketch import Chain, Chord, Fork, Group, Mapped, Sketch, Step, ends_in_fork


def smallest(sketch: Sketch, fails: Callable[[Sketch], bool]) -> Sketch:
    """Return a sketch that still *fails* and of which every smaller one does not."""
    while (smaller := next((one for one in smaller_ones(sketch) if fails(one)), None)) is not None:
        sketch = smaller
    return sketch


def smaller_ones(sketch: Sketch) -> Iterator[Sketch]:
    """Yield sketches that are a little simpler than *sketch*, the much simpler ones first."""
    yield from (part for part in _parts(sketch) if not isinstance(part, Fork))
    if isinstance(sketch, Step):
        yield from _smaller_steps(sketch)
        return
    for name in ("links", "errors"):
        for fewer in _fewer(getattr(sketch, name)):
            yield sketch._replace(**{name: fewer})
    if sketch.stamped:
        yield sketch._replace(stamped=False)
    if isinstance(sketch, Mapped):
        yield from (sketch._replace(items=items) for items in _fewer(sketch.items) if items)
        return
    if isinstance(sketch, Chain):
        chains = (parts for parts in _changed(sketch.parts) if parts and not isinstance(parts[0], Fork))
        yield from (sketch._replace(parts=parts) for parts in chains if _linkable(sketch, parts[-1]))
    elif isinstance(sketch, Group):
        yield from (sketch._replace(members=m) for m in _changed(sketch.members))
    else:
        yield from (sketch._replace(header=h) for h in _changed(sketch.header))
        yield from (sketch._replace(body=b) for b in smaller_ones(sketch.body) if _linkable(sketch, b))


def told(sketch: Sketch | Fork) -> str:
    """Return *sketch* as a line: marks are / for immutable, > links, ! error callbacks, @ stamped, = what it is replaced by or adds."""
    if isinstance(sketch, Mapped):
        text = f"{sketch.name}{list(sketch.items)}{'*' * sketch.star}"
    elif isinstance(sketch, Step):
        text = sketch.name + "/" * sketch.immutable + (f" = {told(sketch.instead)}" if sketch.instead is not None else "")
    elif isinstance(sketch, Chain):
        text = f"chain({', '.join(map(told, sketch.parts))})"
    elif isinstance(sketch, Group):
        text = f"group({', '.join(map(told, sketch.members))})"
    elif isinstance(sketch, Fork):
        return f"fork({', '.join(map(told, sketch.branches))})"
    else:
        text = f"chord([{', '.join(map(told, sketch.header))}], {told(sketch.body)}{', outcomes' if sketch.outcomes else ''})"
    marks = [*(f">{told(link)}" for link in sketch.links), *(f"!{errback.name}" for errback in sketch.errors), *("@" * sketch.stamped)]
    return f"{text}{{{' '.join(marks)}}}" if marks else text


def _smaller_steps(step: Step) -> Iterator[Sketch]:
    if step.kind != "ok":
        yield step._replace(kind="ok", instead=None)
    if step.instead is not None:
        yield from (step._replace(instead=one) for one in smaller_ones(step.instead))
    for name in ("links", "errors"):
        for fewer in _fewer(getattr(step, name)):
            yield step._replace(**{name: fewer})
    plainer: dict[str, Any] = {"immutable": False, "keyword": False, "stamped": False}
    yield from (step._replace(**{name: False}) for name in plainer if getattr(step, name))


def _parts(sketch: Sketch | Fork) -> Sequence[Sketch | Fork]:
    if isinstance(sketch, Step):
        return (*sketch.links, *((sketch.instead,) if sketch.instead is not None else ()))
    if isinstance(sketch, Fork):
        return sketch.branches
    if isinstance(sketch, Mapped):
        return sketch.links
    inner = sketch.parts if isinstance(sketch, Chain) else sketch.members if isinstance(sketch, Group) else (*sketch.header, sketch.body)
    return (*inner, *sketch.links)


def _fewer(some: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    return (some[:n] + some[n + 1 :] for n in range(len(some)))


def _changed(some: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield *some* without one, or with one of them simpler."""
    yield from _fewer(some)
    for n, one in enumerate(some):
        simpler = (Fork(b) for b in _changed(one.branches) if b) if isinstance(one, Fork) else smaller_ones(one)
        yield from ((*some[:n], other, *some[n + 1 :]) for other in simpler)


def _linkable(sketch: Chain | Chord, end: Sketch | Fork) -> bool:
    return not (sketch.links and ends_in_fork(end))
