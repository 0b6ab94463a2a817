"""Converts between the address of a page and the request for its screen: the address is the whole state of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote_plus, urlsplit

from sedano.errors import UsageError
from sedano.views.panels import ScreenQuery
from sedano.views.screens import OF_ID, SCREENS

JSON = ".json"
DEFAULT = ScreenQuery()
MOST_FIELDS = 20
_TEXTS: Mapping[str, str] = {"q": "query", "id": "id"}
_FLAGS: Mapping[str, str] = {"hide": "redact", "failed": "failures_only"}
"""The fields of an address, and the fields of the request that they set; ``days`` is a further one."""


class Address(NamedTuple):
    """A request for a screen, and whether the answer is to be JSON."""

    asked: ScreenQuery
    as_json: bool = False


def address(asked: ScreenQuery, *, as_json: bool = False) -> str:
    """Return the address of the page that answers *asked*."""
    path = "/" if asked.name == DEFAULT.name and not as_json else f"/{asked.name}{JSON if as_json else ''}"
    texts = ((name, getattr(asked, field)) for name, field in _TEXTS.items())
    fields = [f"{name}={quote_plus(text, errors='backslashreplace')}" for name, text in texts if text]
    fields += [f"days={asked.days}"] * (asked.days != DEFAULT.days)
    fields += [f"{name}=1" for name, field in _FLAGS.items() if getattr(asked, field)]
    return f"{path}?{'&'.join(fields)}" if fields else path


def parse(target: str) -> Address | None:
    """Return the request of the address *target* (path and query); None for a path that is not a page's.

    Raises:
        UsageError: it has an unknown field or an invalid value.
    """
    parts = urlsplit(f"http://here/{target.lstrip('/')}")
    path = parts.path.removeprefix("/")
    name = path.removesuffix(JSON) or DEFAULT.name
    if name not in SCREENS:
        return None
    try:
        fields = parse_qsl(parts.query, keep_blank_values=True, errors="replace", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise UsageError(f"the address has more than {MOST_FIELDS} fields; remove some") from None
    values: dict[str, Any] = {"name": name}
    for field, value in fields:
        values |= _value(field, value)
    found = DEFAULT._replace(**values)
    if name in OF_ID and not found.id:
        raise UsageError(f"which {name}? add ?id= and its id to the address")
    return Address(found, path.endswith(JSON))


def _value(field: str, value: str) -> dict[str, Any]:
    """Return what one field of an address sets."""
    if field in _TEXTS:
        return {_TEXTS[field]: value.strip() if field == "q" else value}
    if field in _FLAGS:
        return {_FLAGS[field]: value not in ("", "0")}
    if field == "days":
        if not (value.isascii() and value.isdecimal() and len(value) < 4):
            raise UsageError(f"days: {value[:20]!r} is not a number of days; write a whole number such as 7")
        return {"days": int(value)}
    raise UsageError(f"{field[:40]!r} is not a field of an address; use {', '.join([*_TEXTS, 'days', *_FLAGS])}")
