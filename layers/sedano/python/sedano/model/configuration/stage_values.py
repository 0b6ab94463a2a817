"""The layer `stage:`: values that operators set in the stage, each as a string, in one memo. Pure."""

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
    """Return the values in the memo's *text*, by the paths of their fields.

    Raises:
        ConfigurationError: the memo does not contain such values.
    """
    try:
        found = parts(text) if text else {}
    except ValueError as wrong:
        raise ConfigurationError(f"layer stage: {wrong}; a newer version of sedano may have written it") from wrong
    if type(found) is not dict or not all(type(one) is str for one in found.values()):
        raise ConfigurationError("layer stage: not a JSON object of strings; a newer version of sedano may have written it")
    return found


def with_value(text: str, fields: Mapping[str, ConfigField], path: str, value: str | None) -> str:
    """Return the memo's *text* with the *value* of the field *path*; None removes it.

    Raises:
        OptionError: no field has this path, it is secret, or the value does not fit its type.
        ConfigurationError: the memo does not contain such values.
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
        raise OptionError(f"{path}: a secret must not be stored in the stage's table; write it to a layer ssm:")
    try:
        cast(value, field.type)
    except Unexpected as expected:
        raise OptionError(f"{path}: {value!r} is not valid; expected {expected}") from None
    return value
