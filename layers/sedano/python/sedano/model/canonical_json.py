"""Canonical JSON: one text for each value, so equal values can be compared, stored and signed as texts. Pure."""

from __future__ import annotations

import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Return *value* as JSON text on one line; two values are equal if and only if their texts are equal."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
