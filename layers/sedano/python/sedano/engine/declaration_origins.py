"""Where the names of an app were declared: the module's name for workers, and whether a name may be declared again.

A notebook cell that runs again, or a module that is reloaded, declares the same tasks under the same names: the later declaration replaces
the earlier one. Two functions of one name within one run of one module are a mistake, and so are two of different modules. They are
distinguished by the code that runs at module level: every run of a cell, and every reload, has its own code object.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from inspect import CO_OPTIMIZED, getmodulename
from types import CodeType, FrameType
from typing import Any, NamedTuple

from sedano.engine.registry import Registry

_OURS = "sedano."
_MAIN = "__main__"


class Origin(NamedTuple):
    """The declaration of a name: the module, the code that ran at its level, and the declared object."""

    module: str
    code: CodeType
    what: str

    def is_replaced_by(self, other: Origin) -> bool:
        """Return whether *other* is the same declaration in a later run of the same module."""
        same = (self.module, self.what) == (other.module, other.what) and self.code is not other.code
        return same and (self.module == _MAIN or self.code.co_filename == other.code.co_filename)


def may_declare(registry: Registry, name: str, what: object, taken: bool) -> bool:
    """Return whether *name* (with its kind: ``task shop.add``) may be declared here, and remember the place.

    Args:
        registry: the names of the app.
        name: the declared name, with its kind.
        what: the function or class that is declared, or a text that describes it.
        taken: the name is declared already.
    """
    said = what if isinstance(what, str) else f"{getattr(what, '__module__', '')}.{getattr(what, '__qualname__', '')}"
    origin, before = _here(said), registry.origins.get(name)
    if taken and (origin is None or before is None or not before.is_replaced_by(origin)):
        return False
    if origin is not None:
        registry.origins[name] = origin
    return True


def _here(what: str) -> Origin | None:
    """Return where *what* is declared: the nearest running module outside the library; None without one."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the standard library finds the module of a namedtuple in this way
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not frame.f_code.co_flags & CO_OPTIMIZED and not f"{module}.".startswith(_OURS) and frame.f_locals is frame.f_globals:
            return Origin(module, frame.f_code, what)
        frame = frame.f_back
    return None


def module_of(declared: Any, modules: Mapping[str, Any] = sys.modules) -> str:
    """Return the name by which workers import the module that declares this function or class; *modules*: those that are loaded.

    For a program's own module, `__main__`, it is the argument of `python -m` or the name of the file; a console has no name.
    """
    module: str = declared.__module__
    main = modules.get(module) if module == _MAIN else None
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return spec.name if spec is not None else (file and getmodulename(file)) or module
