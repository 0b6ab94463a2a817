"""Objects whose error for a missing attribute says what to write instead of Celery's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Hinting:
    """A base class whose error for a missing attribute says what to write instead of Celery's name."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise the error for a missing attribute *name*; raise its own error if an existing property failed."""
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)
            from sedano.errors.celery_names import missing

            raise missing(self, name)
