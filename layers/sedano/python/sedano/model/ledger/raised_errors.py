"""Exceptions that travel: a worker records the class and the arguments of an exception, and a reader of the result raises it again.

An app names the classes (`Sedano(raises=[…])`). A record has the name of a class as text, which is only used as a key into these classes:
nothing that a record names is imported. The arguments are JSON, up to 1 000 bytes. An exception that JSON cannot hold, that its class does
not make again from its arguments, or whose class the app does not name, arrives as a `RemoteError`.

Source of the idea: Celery's `exc_module`, `exc_type` and `exc_message`, whose reader imports any module that the record names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from sedano.errors import OptionError
from sedano.model.ledger.records import ErrorRecord

Raised = Mapping[str, type[Exception]]
"""The classes that an app names, by `name_of`."""
MOST_ARGUMENTS = 1_000
"""The most bytes of the arguments of one exception."""
_PLAIN = (str, int, float, bool, type(None))
_LOOPS = (StopIteration, StopAsyncIteration)
"""Exceptions that end a loop of the reader instead of failing it."""
_NOT_COMPARED = (BaseException, AttributeError, NameError)
"""Classes whose own members are not compared: the place of the exception, and the object that lacks a name."""


def name_of(raised: type[BaseException]) -> str:
    """Return the key of the class *raised*: its module and its qualified name."""
    return f"{raised.__module__}:{raised.__qualname__}"


def checked(classes: Sequence[Any]) -> Raised:
    """Return *classes* by their names.

    Raises:
        OptionError: they are not a list, one is not a class of exceptions, one would end the reader or its loop, or two have one name.
    """
    if not isinstance(classes, list | tuple):
        raise OptionError(f"raises: {classes!r:.60} is not a list of classes; write raises=[OrderRefused, LookupError]")
    found = dict[str, type[Exception]]()
    for one in classes:
        if not isinstance(one, type) or not issubclass(one, Exception):
            raise OptionError(f"raises: {one!r} is not a class of exceptions; write raises=[OrderRefused, LookupError]")
        if issubclass(one, _LOOPS) or any(map(_is_exit, one.__mro__)):
            raise OptionError(f"raises: {one.__name__} would end the reader, or a loop of it; raise a class of your own instead")
        if found.setdefault(name_of(one), one) is not one:
            raise OptionError(f"raises: two classes are named {name_of(one)}; a record names a class only so: rename one")
    return found


def _is_exit(base: type) -> bool:
    """Return whether *base* ends a program or a generator, such as `SystemExit`; a group of exceptions does not."""
    return issubclass(base, BaseException) and not issubclass(base, Exception) and base not in (BaseException, BaseExceptionGroup)


def recorded(error: ErrorRecord, thrown: BaseException, classes: Raised) -> ErrorRecord:
    """Return *error* with the class and the arguments of *thrown*, if *classes* has it and makes the same exception again from arguments
    that JSON can hold; else *error* itself."""
    if classes.get(name_of(type(thrown))) is not type(thrown):
        return error
    arguments = _written(thrown)
    if arguments is None:
        return error
    found = error._replace(raised=name_of(type(thrown)), arguments=arguments)
    return found if _is_same(restored(found, classes), thrown) else error


def restored(error: ErrorRecord, classes: Raised) -> Exception | None:
    """Return the exception that *error* records; None if *classes* does not have its class, or the class does not take the arguments."""
    try:
        found = classes[error.raised]
        made = found(*json.loads(error.arguments))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - an unknown class, or a constructor of the user's: the reader gets a RemoteError
        return None
    return made if type(made) is found else None


def caused(made: Exception, remote: Exception, notes: str) -> Exception:
    """Return *made* with the cause *remote* and *notes*; *remote* itself if the class of *made* allows no cause or no note."""
    try:
        made.__cause__ = remote
        if notes:
            made.add_note(notes)
        return made if made.__cause__ is remote else remote
    except Exception:  # noqa: BLE001 - a class of the user's, whose attributes may raise anything
        return remote


def _is_same(made: Exception | None, thrown: BaseException) -> bool:
    """Return whether *made* has the arguments, the attributes and the members of *thrown*."""
    try:
        return made is not None and _written(made) == _written(thrown) and _told(made) == _told(thrown)
    except Exception:  # noqa: BLE001 - values of the user's, whose methods may raise anything
        return False


def _told(error: BaseException) -> dict[str, Any]:
    """Return the attributes of *error*, and the members that its classes declare, such as the file of an `OSError`."""
    members = (
        name
        for base in type(error).__mro__
        if base not in _NOT_COMPARED
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType | GetSetDescriptorType) and name != "__weakref__"
    )
    own = {name: value for name, value in vars(error).items() if not name.startswith("__")}
    return own | {name: getattr(error, name, None) for name in members}


def _written(thrown: BaseException) -> str | None:
    """Return the arguments of *thrown* as JSON in ASCII; None if JSON does not hold them as they are, or they are too long."""
    try:
        given = list(thrown.args)
        if not _is_plain(given):
            return None
        text = json.dumps(given, allow_nan=False, separators=(",", ":"))
    except Exception:  # noqa: BLE001 - values of the user's, whose methods may raise anything
        return None
    return text if len(text) <= MOST_ARGUMENTS else None


def _is_plain(value: Any) -> bool:
    """Return whether JSON gives *value* back with its type: a tuple, a key that is not text, or a subclass of `str` would change."""
    kind = type(value)
    if kind is list:
        return all(map(_is_plain, value))
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(_is_plain, value.values()))
    return kind in _PLAIN
