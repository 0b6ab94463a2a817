"""Polls of an HTTP source: the conditional request, and the page that its answer holds. Pure.

The cursor of such a poll is an object: the source's own cursor (`at`), and the validators of the last answer (`etag`, `modified`), which a
request sends back (RFC 9110 §13), unless a release has changed the request (`of` is its digest). The answer 304 then means that nothing has
changed, and nothing is read, published or written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from sedano.errors import ConfigurationError, MessageRefused, OptionError, SourceBusy, Unavailable
from sedano.model.addresses import literal_address, unfit
from sedano.model.canonical_json import canonical_json
from sedano.model.messages.strict_json import load
from sedano.model.sources.polls import LONGEST_WAIT_S, MOST_ITEM_BYTES, MOST_ITEM_DEPTH, Polled

MOST_BODY_BYTES = 5 * 1_048_576
"""The most bytes of an answer."""
PARAMETER = "ssm:"
"""The prefix of a header's value that is a parameter."""
CURSOR = "{cursor}"
"""The place of the cursor in an address."""
THIS_MACHINE = "localhost"
_BUSY = frozenset({429, 503})
_LATER = frozenset({408, 423, 425})
_UNKNOWN = frozenset({401, 403})
_is_header = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_is_parameter = re.compile(r"/[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+").fullmatch
_http_date = re.compile(r"[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT").fullmatch
_half = re.compile(r"[\ud800-\udfff]").search
_HTTP_DATE_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OWN_HEADERS = frozenset({"host", "accept-encoding", "connection", "if-none-match", "if-modified-since", "content-length"})
_LONGEST_HEADER = 1_024
"""The longest validator that is kept; a longer one is ignored, and the next answer is read whole."""
_VALIDATORS = (("etag", "If-None-Match"), ("modified", "If-Modified-Since"))
NextCursor = Callable[[Any], Any]


class HttpPlan(NamedTuple):
    """The requests of a poll: the *url*, with `{cursor}` for the cursor; the path of the *items* in the answer, of keys with dots between
    ("" for the whole answer); the *cursor* in it, as a path or a function of the answer (None: the answer has no cursor); the first cursor
    (*start*); *headers*, and those whose values are *secrets*, by the names of parameters."""

    url: str
    items: str = ""
    cursor: str | NextCursor | None = None
    start: str = ""
    headers: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}


class HttpAnswer(NamedTuple):
    """An answer: its *status*, its *headers* by name in lower case, and its *body*."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def plan_of(url: object, items: object, cursor: Any, start: object, headers: Mapping[Any, Any] | None) -> HttpPlan:
    """Return the plan of a poll, checked.

    Raises:
        OptionError: an option cannot be honoured.
    """
    checked = _address(url)
    if not isinstance(items, str) or not isinstance(start, str):
        raise OptionError("items, start: give texts: items='data.orders' is the path of the list in the answer")
    if (cursor is not None) != (CURSOR in checked):
        raise OptionError(f"cursor: give both {CURSOR} in the address and cursor=, its path in the answer, or leave both out")
    if cursor is not None and not callable(cursor) and not (isinstance(cursor, str) and cursor):
        raise OptionError(f"cursor: {cursor!r:.60} is not a path such as 'meta.next', nor a function of the answer")
    plain, secrets = dict[str, str](), dict[str, str]()
    for name, value in (headers or {}).items():
        if not isinstance(name, str) or not _is_header(name) or name.lower() in _OWN_HEADERS:
            raise OptionError(f"headers: {name!r:.60} cannot be given; the poll sets {', '.join(sorted(_OWN_HEADERS))} itself")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise OptionError(f"headers: the value of {name} is not a text of visible ASCII characters")
        if value.startswith(PARAMETER):
            secrets[name] = _parameter(name, value.removeprefix(PARAMETER))
        else:
            plain[name] = value
    return HttpPlan(url=checked, items=items, cursor=cursor, start=start, headers=plain, secrets=secrets)


def request_of(plan: HttpPlan, position: Any, secret: Callable[[str], str]) -> tuple[str, dict[str, str]]:
    """Return the address and the headers of the request at *position*, the cursor of the poll (None: the first)."""
    known = position if isinstance(position, dict) else {}
    headers = {"Accept": "application/json", "User-Agent": "sedano", "Accept-Encoding": "identity", **plan.headers}
    for name, parameter in plan.secrets.items():
        headers[name] = text = secret(parameter)
        if not (text.isascii() and text.isprintable()):
            raise ConfigurationError(f"poll: the parameter {parameter} cannot be the header {name}: it is not one line of visible ASCII")
    if known.get("of") == validated(plan):
        headers |= {header: str(known[name]) for name, header in _VALIDATORS if known.get(name)}
    return plan.url.replace(CURSOR, quote(str(known.get("at", plan.start)), safe="")), headers


def polled_of(plan: HttpPlan, position: Any, answer: HttpAnswer, now: float) -> Polled | None:
    """Return the page in *answer* to the request at *position*; None if nothing has changed.

    Raises:
        SourceBusy: the source asks to wait.
        Unavailable: a later request may succeed.
        ConfigurationError: a person has to correct the poll, or the source.
    """
    if answer.status in (204, 304):
        return None
    if not 200 <= answer.status < 300:
        raise _meaning(plan, answer, now)
    if len(answer.body) > MOST_BODY_BYTES:
        raise ConfigurationError(f"poll: the answer has more than {MOST_BODY_BYTES} bytes; ask the source for smaller pages, with a cursor")
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise ConfigurationError(f"poll: the answer is encoded ({encoding[:40]!r}), although the request accepts no encoding")
    found = _loaded(answer.body)
    items = _at(found, plan.items, "items")
    if not isinstance(items, list):
        raise ConfigurationError(f"poll: items={plan.items!r} of the answer is of type {type(items).__name__}, not a list; name its path")
    return _page(plan, position, answer, found, items)


class RepeatedKeys:
    """An object of an answer that has a key more than once, which is not valid JSON."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        """Keep *pairs*, its keys and values."""
        self.pairs = pairs

    def __repr__(self) -> str:
        """Return its keys and values."""
        return f"an object with repeated keys {self.pairs!r}"


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    return found if len(found) == len(pairs) else RepeatedKeys(pairs)


def _loaded(body: bytes) -> Any:
    """Return the value of *body*. If it is not strict JSON, it is read as far as it can be, and each item is checked for itself.

    Raises:
        ConfigurationError: it is not JSON.
    """
    try:
        return load(body, MOST_ITEM_BYTES, MOST_ITEM_DEPTH, "answer")
    except MessageRefused as refused:
        strict = refused
    try:
        return json.loads(body.decode("utf-8", "surrogateescape"), object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise ConfigurationError(f"poll: the answer is not valid JSON: {strict.code}: {strict.detail}") from None


def _page(plan: HttpPlan, position: Any, answer: HttpAnswer, found: Any, items: list[Any]) -> Polled:
    before = position.get("at", plan.start) if isinstance(position, dict) else plan.start
    at = before
    if plan.cursor is not None and (items or not callable(plan.cursor)):
        following = plan.cursor(found) if callable(plan.cursor) else _at(found, plan.cursor, "cursor")
        if isinstance(following, bool) or not isinstance(following, str | int | float | None) or not _is_text(following):
            raise ConfigurationError(f"poll: the next cursor is of type {type(following).__name__}, not a valid text or number")
        at = before if following in (None, "") else str(following)
    cursor: dict[str, Any] = {"at": at}
    if at == before:  # validators belong to one address
        kept = {name: text for name, header in (("etag", "etag"), ("modified", "last-modified")) if (text := _kept(answer, header))}
        cursor |= {**kept, "of": validated(plan)} if kept else {}
    return Polled(items, cursor, more=bool(items) and at != before)


def validated(plan: HttpPlan) -> str:
    """Return a digest of the request and the reading of its answer: validators of another one would hide what was never read."""
    cursor = "a function" if callable(plan.cursor) else plan.cursor
    parts = [plan.url, plan.items, cursor, sorted(plan.headers.items()), sorted(plan.secrets.items())]
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:16]


def retry_after(text: str, now: float) -> float | None:
    """Return the seconds that the header `Retry-After` with *text* asks to wait at *now* (epoch s): seconds or a date; None: neither."""
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) <= 10:
        return min(float(text), LONGEST_WAIT_S)
    found = _http_date(text)
    if found is None or found[2] not in _HTTP_DATE_MONTHS:
        return None
    day, year, hour, minute, second = (int(found[one]) for one in (1, 3, 4, 5, 6))
    try:
        until = datetime(year, _HTTP_DATE_MONTHS.index(found[2]) + 1, day, hour, minute, min(second, 59), tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return min(max(0.0, until - now), LONGEST_WAIT_S)


def _meaning(plan: HttpPlan, answer: HttpAnswer, now: float) -> Exception:
    """Return what a status other than 2xx means."""
    parts, status = urlsplit(plan.url), answer.status
    words = f"poll: {parts.scheme}://{parts.netloc} answered with the status {status}"
    seconds = retry_after(answer.headers.get("retry-after", ""), now) if status in _BUSY else None
    if seconds is not None:
        return SourceBusy(seconds, words)
    if status >= 500 or status in _BUSY | _LATER:
        return Unavailable(words)
    if 300 <= status < 400:
        return ConfigurationError(f"{words}: redirects are not followed; poll the address to which it leads")
    if status in _UNKNOWN:
        return ConfigurationError(f"{words}: does the request have the right credentials? headers={{'Authorization': 'ssm:/…'}} reads them")
    return ConfigurationError(f"{words}: is the address right?")


def _is_text(cursor: str | float | None) -> bool:
    """Return whether an address can contain *cursor*: it has no half of a surrogate pair, and is finite."""
    return isfinite(cursor) if isinstance(cursor, float) else not _half(str(cursor))


def _kept(answer: HttpAnswer, header: str) -> str:
    text = answer.headers.get(header, "").strip()
    return text if len(text) <= _LONGEST_HEADER and text.isascii() and text.isprintable() else ""


def _at(found: Any, path: str, what: str) -> Any:
    """Return the value at *path* of the answer."""
    for part in path.split(".") if path else ():
        if not isinstance(found, dict) or part not in found:
            raise ConfigurationError(f"poll: the answer has no {part!r}, of {what}={path!r}")
        found = found[part]
    return found


def _parameter(header: str, name: str) -> str:
    if not _is_parameter(name):
        wanted = "the name of a parameter in a folder, such as ssm:/shop/orders/authorization"
        raise OptionError(f"headers: {PARAMETER}{name:.80} of {header} is not {wanted}")
    return name


def _address(url: object) -> str:
    """Return *url*, if it is an address over TLS, or of this machine."""
    expected = "expected https://HOST/PATH; http:// only of localhost or a loopback address"
    if not isinstance(url, str) or not url.isascii() or any(one <= " " or one in '<>"\\^`|\x7f' for one in url):
        raise OptionError(f"url: {url!r:.200} is not an address; {expected}")
    bare = url.replace(CURSOR, "")
    try:
        parts = urlsplit(url)
        host, why = parts.hostname or "", unfit(parts)
    except ValueError as wrong:
        raise OptionError(f"url: {url!r:.200} is not an address: {wrong}; {expected}") from None
    if host and why:
        raise OptionError(f"url: {url!r:.200} cannot be polled: {why}; {expected}")
    if "{" in bare or "}" in bare or CURSOR in parts.netloc or parts.fragment or not host:
        raise OptionError(f"url: {url!r:.200} cannot be polled; {CURSOR} is its only place, in the path or the query; {expected}")
    if parts.username is not None or parts.password is not None:
        raise OptionError("url: an address with a password; give it as headers={'Authorization': 'ssm:/…'}, which reads a parameter")
    local = host == THIS_MACHINE or (literal_address(host) or "").startswith("127.") or literal_address(host) == "::1"
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise OptionError(f"url: {url!r:.200} is not encrypted; {expected}")
    return url
