"""The three sections of a task's body: `with retry():`, `with poisonous():`, `with optional():` (CEP, Retries).

A section defines how a failure of one part of a body is handled, so that the same exception can be retried in one part and final in
another. Only `optional` catches exceptions; the others mark the exception, which passes, and the worker judges it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from dataclasses import dataclass, field, fields
from types import FrameType
from zlib import crc32

from sedano.engine.task_context import CURRENT, Replaced, RetryRequested
from sedano.engine.task_log import notice
from sedano.errors import OptionError
from sedano.model.retry import Mark, Retry, mark

MOST_SECTIONS = 999_999
"""The largest number of a section that a message carries."""


@dataclass(frozen=True, eq=False, repr=False)
class retry(Retry, ContextDecorator):  # noqa: N801 - it is used as a statement: `with retry():`
    """Retry the task under this policy if this section fails; failures are counted for this section only.

    The fields are those of `Retry`, and *name*. Attempts recognise a section by its name; by default by its place in the source, and in a
    loop also by how often the run has entered that place. Name the sections of a loop whose items may change: ``with retry(name=order):``.

    Raises:
        OptionError: the policy cannot be honoured.
    """

    name: str = ""
    _number: int = field(default=1, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a policy that cannot be honoured."""
        super().__post_init__()
        if not isinstance(self.name, str):
            raise OptionError(f"name: expected a text, got {type(self.name).__name__}")

    def __enter__(self) -> None:
        """Begin the section."""
        context = CURRENT.get()
        if context is not None:
            place = f"name {self.name}" if self.name else _place(sys._getframe(1))  # noqa: SLF001 - as `warnings` does
            before = context.sections.get(place, 0)
            context.sections[place] = before + (not self.name)
            object.__setattr__(self, "_number", crc32(f"{place}/{before}".encode()) % MOST_SECTIONS + 1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Mark the section's exception."""
        if isinstance(error, Exception):
            policy = Retry(*(getattr(self, one.name) for one in fields(Retry)))
            mark(error, Mark(section=self._number, policy=policy))


def _place(frame: FrameType | None) -> str:
    """Return the place of the section in the source: its function, and the line in it, so that an edit above changes nothing."""
    while frame is not None and frame.f_globals.get("__name__") == contextlib.__name__:
        frame = frame.f_back  # an ExitStack, or a decorated function
    if frame is None:
        return ""
    code = frame.f_code
    return f"{frame.f_globals.get('__name__')}:{code.co_qualname}:{frame.f_lineno - code.co_firstlineno}"


@contextmanager
def poisonous() -> Iterator[None]:
    """Fail the task without a retry if this section fails, because another attempt could not help."""
    try:
        yield
    except Exception as error:
        mark(error, Mark(poisonous=True))
        raise


@contextmanager
def optional(*exceptions: type[Exception]) -> Iterator[None]:
    """Continue with a warning if this section fails (with one of *exceptions*, by default any)."""
    ignored = exceptions or (Exception,)
    try:
        yield
    except (Replaced, RetryRequested):
        raise
    except ignored as error:
        notice("warning", "an optional section failed", error=f"{type(error).__name__}: {error}")
