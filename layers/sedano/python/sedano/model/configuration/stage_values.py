"""The layer `stage:`: values that people set in the stage itself, each as a text, in one memo. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from sedano.errors import ConfigurationError, OptionError
from sedano.model.configuration.casts import Unexpected, cast
from sedano.model.configuration.fields import ConfigField
from sedano.model.memos import parts

STAGE_VALUES: Final = "config:stage"
"""The name of the memo."""


def stage_values(text: str) -> dict[str, str]:
    """Return the values that the memo's *text* holds, by the paths of their fields.

    Raises:
        ConfigurationError: it holds something else.
    """
    try:
        found = parts(text) if text else {}
    except ValueError as wrong:
        raise ConfigurationError(f"layer stage: {wrong}; a newer version of sedano may have written it") from wrong
    if type(found) is not dict or not all(type(one) is str for one in found.values()):
        raise ConfigurationError("layer stage: not a map of texts; a newer version of sedano may have written it")
    return found


def with_value(text: str, fields: Mapping[str, ConfigField], path: str, value: str | None) -> str:
    """Return the memo's *text* with the *value* of the field *path*; None takes it away.

    Raises:
        OptionError: no field has this path, it is secret, or the value does not fit its type.
        ConfigurationError: the text holds something else.
    """
    values = stage_values(text)
    if value is None:
        values.pop(path, None)
    else:
        values[path] = _checked(fields, path, value)
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


def _checked(fields: Mapping[str, ConfigField], path: str, value: str) -> str:
    field = fields.get(path)
    if field is None:
        raise OptionError(f"{path}: no field has this name; the fields are {', '.join(fields)}")
    if field.secret:
        raise OptionError(f"{path}: it is secret, and a table of the stage is not a place for secrets; write it into a layer ssm:")
    try:
        cast(value, field.type)
    except Unexpected as expected:
        raise OptionError(f"{path}: {value!r} is not valid; expected {expected}") from None
    return value
