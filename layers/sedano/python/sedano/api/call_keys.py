"""The key of a call: a text made of its arguments, as the options `key=`, `concurrency_key=`, `serial_key=` and `tenant=` describe it."""

from __future__ import annotations

import functools
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sedano.errors import OptionError
from sedano.model.limits.task_limits import Key
from sedano.model.tasks.parameters import Parameters


def key_of(name: str, key: object, parameters: Parameters) -> Key:
    """Return a function from arguments to the key that the option *name* describes: a text with parameters in braces, or a function.

    Raises:
        OptionError: it is neither of these, or names an unknown parameter of the task.
    """
    if callable(key):
        return functools.partial(_called, key)
    if not isinstance(key, str) or not key:
        raise OptionError(f"{name}: {key!r} is neither a text such as '{{user_id}}' nor a function of the arguments")
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(key) if field is not None]
    except ValueError as wrong:
        raise OptionError(f"{name}: {key!r}: {wrong}; write a literal brace twice") from None
    for field in fields:
        if re.search(r"\[['\"]", field):
            raise OptionError(f"{name}: {key!r}: write names in brackets without quotes, as in '{{order[id]}}'")
        first = re.split(r"[.\[]", field)[0]
        if "." in field or first not in parameters.signature.parameters:
            known = ", ".join(parameters.signature.parameters)
            raise OptionError(f"{name}: {key!r}: {field!r} is not a parameter of the task, which has {known or 'none'}; [keys] may follow")
    return functools.partial(_formatted, key, parameters)


def _called(key: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    return _text(key(*args, **kwargs))


def _formatted(key: str, parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    parameters.fit(args, kwargs)
    bound = parameters.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    try:
        return _Texts().vformat(key, (), bound.arguments)
    except LookupError as lacking:
        raise LookupError(f"{key!r} needs {lacking}, which the arguments do not have") from None
    except TypeError as wrong:
        raise LookupError(f"{key!r} is not in the arguments: {wrong}") from None


class _Texts(string.Formatter):
    """Writes strings as they are and other values as JSON, so that 7 and "7" are two keys."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return *value* as a part of a key."""
        return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
