"""Signatures that can publish themselves, groups and chords, with Celery's names.

A group is its members, published in tens. A chord is one small launch command, whatever its size: the worker that runs it publishes the
members, so a chord is published whole or not at all; its body runs when every member ended, with their results in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sedano.elections import TIMEOUT_S, Mode, elect
from sedano.model.signature import Signature
from sedano.outlet import Outlet
from sedano.result import AsyncResult, GroupResult


class Publishes(Protocol):
    """What a signature needs of its app."""

    @property
    def outlet(self) -> Outlet:
        """The way out."""


@dataclass(frozen=True, slots=True)
class Sig:
    """A signature bound to its app: `delay` publishes it; `set` and `clone` return changed copies."""

    spec: Signature
    app: Publishes

    def set(self, **options: Any) -> Sig:
        """Return a copy with these options; raise `OptionError` for one that cannot be honoured."""
        return replace(self, spec=self.spec.set(**options))

    def stamp(self, **stamps: str) -> Sig:
        """Return a copy that bears these stamps besides its own; every task that it causes inherits them.

        Raises:
            OptionError: a name or a value cannot be one, or all stamps together are more than 256 characters.
        """
        return replace(self, spec=self.spec.set(stamps=stamps))

    def clone(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Sig:
        """Return a copy with more arguments: *args* before its own, *kwargs* over its own."""
        return replace(self, spec=self.spec.clone(args, kwargs))

    def delay(self, *args: Any, **kwargs: Any) -> AsyncResult[Any]:
        """Publish it, with more arguments if it is not immutable."""
        return self.app.outlet.publish(self.spec.clone(args, kwargs))

    def apply_async(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> AsyncResult[Any]:
        """Publish it with options."""
        return self.app.outlet.publish(self.spec.clone(args, kwargs).set(**options))

    def election(self, *, mode: Mode = "faithful", timeout: int = TIMEOUT_S) -> AsyncResult[Any]:
        """Let the cluster elect a worker, and dispatch it once; see `Control.election`."""
        outlet = self.app.outlet
        task_id = self.spec.options.task_id or outlet.fresh_id()
        return elect(outlet, task_id, "task", self.spec, task_id, mode=mode, timeout=timeout)


class group:  # noqa: N801 - Celery's name
    """Signatures to run side by side."""

    def __init__(self, *signatures: Sig | Iterable[Sig]) -> None:
        """Take signatures, or one iterable of them."""
        first = signatures[0] if len(signatures) == 1 else None
        members = tuple(first) if first is not None and not isinstance(first, Sig) else signatures
        wrong = next((m for m in members if not isinstance(m, Sig)), None)
        if wrong is not None:
            raise TypeError(f"a group takes signatures (task.s(…)), not {type(wrong).__name__}")
        self.members: tuple[Sig, ...] = tuple(m for m in members if isinstance(m, Sig))

    def delay(self) -> GroupResult:
        """Publish all members, in tens, and return their results."""
        return self.apply_async()

    def apply_async(self, **options: Any) -> GroupResult:
        """Publish all members with these options."""
        if not self.members:
            return GroupResult(())
        outlet = self.members[0].app.outlet
        return GroupResult(outlet.publish_together([m.spec.set(**options) for m in self.members]))


class chord:  # noqa: N801 - Celery's name
    """A group (the header) and a body that runs with the list of its results. ``chord(header)(body)`` publishes it."""

    def __init__(self, header: Iterable[Sig] | group, body: Sig | None = None) -> None:
        """Take the header, and the body now or when called."""
        self.header = header if isinstance(header, group) else group(header)
        self.body = body

    def __call__(self, body: Sig | None = None) -> AsyncResult[Any]:
        """Publish it with *body* and return the body's result; `result.parent` holds the header's."""
        return self.apply_async(body)

    def delay(self) -> AsyncResult[Any]:
        """Publish it."""
        return self.apply_async()

    def apply_async(self, body: Sig | None = None) -> AsyncResult[Any]:
        """Publish it with *body*, or with the one given before.

        Raises:
            TypeError: there is no body, or there are two.
        """
        if body is not None and self.body is not None:
            raise TypeError("a chord has one body: chord([header…])(body) or chord([header…], body)")
        chosen = body if body is not None else self.body
        if chosen is None:
            raise TypeError("a chord needs a body: chord([header…])(body)")
        if not isinstance(chosen, Sig):
            raise TypeError(f"a chord's body is a signature (task.s(…)), not {type(chosen).__name__}")
        return chosen.app.outlet.launch([m.spec for m in self.header.members], chosen.spec)
