"""Exceptions that travel: a worker records the class and the arguments of an exception, and a reader of the result raises it again.

An app names the classes (`Sedano(raises=[…])`). A record has the name of a class as text, which is only used as a key into these classes:
nothing that a record names is imported. The arguments are JSON, up to 1 000 bytes. An exception that JSON cannot hold, or whose class the
app does not name, arrives as a `RemoteError`.

Source of the idea: Celery's `exc_module`, `exc_type` and `exc_message`, whose reader imports any module that the record names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sedano.errors import OptionError
from sedano.model.ledger.records import ErrorRecord

Raised = Mapping[str, type[Exception]]
"""The classes that an app names, by `name_of`."""
MOST_ARGUMENTS = 1_000
"""The most bytes of the arguments of one exception."""
_PLAIN = (str, int, float, bool, type(None))


def name_of(raised: type[BaseException]) -> str:
    """Return the key of the class *raised*: its module and its qualified name."""
    return f"{raised.__module__}:{raised.__qualname__}"


def checked(classes: Sequence[Any]) -> Raised:
    """Return *classes* by their names.

    Raises:
        OptionError: one is not a class of exceptions.
    """
    for one in classes:
        if not isinstance(one, type) or not issubclass(one, Exception):
            raise OptionError(f"raises: {one!r} is not a class of exceptions; write raises=[OrderRefused, LookupError]")
    return {name_of(one): one for one in classes}


def recorded(error: ErrorRecord, thrown: BaseException, classes: Raised) -> ErrorRecord:
    """Return *error* with the class and the arguments of *thrown*, if *classes* has it and JSON can hold them; else *error* itself."""
    if classes.get(name_of(type(thrown))) is not type(thrown):
        return error
    arguments = _written(thrown)
    return error if arguments is None else error._replace(raised=name_of(type(thrown)), arguments=arguments)


def restored(error: ErrorRecord, classes: Raised) -> Exception | None:
    """Return the exception that *error* records; None if *classes* does not have its class, or the class does not take the arguments."""
    try:
        found = classes[error.raised]
        made = found(*json.loads(error.arguments))
    except Exception:  # noqa: BLE001 - an unknown class, or a constructor of the user's: the reader gets a RemoteError
        return None
    return made if type(made) is found else None


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
