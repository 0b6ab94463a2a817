"""Strict JSON: reads untrusted input, or refuses it with a code of the closed list. `load` raises no other error.

`json.loads` accepts input that is not safe in a message: it keeps the last of two equal keys (so that a filter and a worker may read
different messages), reads ``NaN``, turns ``1e400`` into an infinity, accepts half a surrogate pair, and recurses without a limit. `load`
refuses all of these. Refused with ``malformed``: not JSON, not UTF-8, a byte order mark, duplicate keys, ``NaN`` and the infinities, lone
surrogates; with ``too-deep``: more nested containers than allowed; with ``too-large``: more bytes, or an integer of more digits, than
allowed.

Why it is fast: CPython's C scanner reads the text. A hook checks the pairs of each object and each float; a check of every character runs
only if a C search over the text finds a candidate. Any body of 1 MiB takes at most 120 ms of CPU (`tests/unit/test_codec_cost.py` has the
slowest bodies that we know).
"""

from __future__ import annotations

import gc
import re
from array import array
from collections.abc import Callable
from itertools import accumulate, chain
from json import JSONDecodeError, JSONDecoder
from operator import sub
from typing import Any, NoReturn

from sedano.errors import MessageRefused
from sedano.model import refusals

MAX_BYTES = 1_048_576
"""The most bytes of a message; a queue may accept fewer (`sedano.model.queues.QueueBounds`)."""
MAX_DEPTH = 64
"""The most containers inside one another in a message, its envelope included."""
MAX_DIGITS = 4300
"""The most digits of an integer, because parsing takes quadratic time. This is CPython's default limit; it also applies if CPython's limit
is disabled.
"""

_LONG = 65_536
_DIGITS = "0123456789"
_SPACE = " \t\n\r"
_NOT_MARKS = bytes(code for code in range(256) if code not in b'[]{}"')
_ROUND = bytes.maketrans(b"{}", b"[]")
_PAIRS = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}").sub
_HALF = re.compile(r"\\u[dD][89a-fA-F]").search
_RUNS = re.compile(rb"\[+|\]+").findall
_STEPS = bytes.maketrans(b"[]", b"\x01\xff")


def load(body: str | bytes, most_bytes: int, most_depth: int, where: str = "body") -> Any:
    """Return the JSON value of *body*.

    Raises:
        MessageRefused: *body* holds more than *most_bytes* bytes (UTF-8) or *most_depth* nested containers, or is not
            strict JSON; the refusal names *where*.
    """
    text = body if isinstance(body, str) and body.isascii() and len(body) <= most_bytes else _text(body, most_bytes, where)
    if text.count("[") + text.count("{") > most_depth and _depth(text) > most_depth:
        raise MessageRefused(refusals.TOO_DEEP, where, f"more than {most_depth} containers inside one another")
    if text[:1] in _SPACE:
        text = text.strip(_SPACE)
    value, end = _scan(text, where)
    if end != len(text) and text[end:].strip(_SPACE):
        raise MessageRefused(refusals.MALFORMED, where, f"more text after the value, at character {end}")
    if "\\u" in text and _HALF(_PAIRS(" ", text.replace("\\\\", " "))):
        raise MessageRefused(refusals.MALFORMED, where, "half a surrogate pair")
    return value


def scan_rest(text: str, start: int) -> Any:
    """Return the value at *start* of an object's *text*, up to the object's closing brace.

    Raises:
        ValueError, StopIteration: the rest is not exactly one strict value and the brace, or it needs the full check of `load`.
    """
    if len(text) > MAX_DIGITS or not text.isascii() or text.find("\\", start) >= 0:
        raise ValueError("not plain")
    if len(text) - start > MAX_DEPTH and text.count("[", start) + text.count("{", start) >= MAX_DEPTH:  # a shorter rest cannot nest deeper
        raise ValueError("not plain")
    scan = _SCAN if text.count(":", start) > 1 else _SCAN_ONE_KEY
    value, end = scan(text, start)
    if end + 1 != len(text) or text[end] != "}":
        raise ValueError("not the end")
    return value


def shown(value: object, most: int = 60) -> str:
    """Return *value* for an error message: ASCII, at most *most* characters, safe in a log line and in an attribute."""
    if isinstance(value, int) and abs(value) >= 10**most:
        return f"an integer of more than {most} digits"
    text = ascii(value[:most] if isinstance(value, str) else value)
    return text if len(text) <= most else f"{text[:most]}..."


def holds_long_digits(text: str) -> bool:
    """Return whether *text* may have more than `MAX_DIGITS` digits in a row: one of them would be at a checked position."""
    for place in range(MAX_DIGITS, len(text), MAX_DIGITS + 1):
        if text[place] in _DIGITS:
            before, after = text[place - MAX_DIGITS : place], text[place : place + MAX_DIGITS + 1]
            if len(before) - len(before.rstrip(_DIGITS)) + len(after) - len(after.lstrip(_DIGITS)) > MAX_DIGITS:
                return True
    return False


def _text(body: str | bytes, most_bytes: int, where: str) -> str:
    """Return *body* as text; refuse it above *most_bytes*."""
    if len(body) > most_bytes:
        raise MessageRefused(refusals.TOO_LARGE, where, f"more than {most_bytes} bytes")
    try:
        text, data = (body, body.encode()) if isinstance(body, str) else (body.decode(), body)
    except UnicodeError as error:
        raise MessageRefused(refusals.MALFORMED, where, f"not UTF-8: {error}") from None
    if len(data) > most_bytes:
        raise MessageRefused(refusals.TOO_LARGE, where, f"more than {most_bytes} bytes")
    if text.startswith("\ufeff"):
        raise MessageRefused(refusals.MALFORMED, where, "begins with a byte order mark")
    return text


def _scan(text: str, where: str) -> tuple[Any, int]:
    """Return the value at the beginning of *text* and where it ends.

    For a long text, cyclic garbage collection is paused: nothing here can be garbage, and repeated passes over half a million new
    containers would take three times as long as reading them.
    """
    if len(text) < _LONG:
        return _scan_now(text, where)
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _scan_now(text, where)
    finally:
        if collecting:
            gc.enable()


def _scan_now(text: str, where: str) -> tuple[Any, int]:
    try:
        return (_SCAN_COUNTING if holds_long_digits(text) else _SCAN)(text, 0)
    except (ValueError, StopIteration, RecursionError) as error:
        _refuse(error, where)


def _refuse(error: BaseException, where: str) -> NoReturn:
    if isinstance(error, _Found):
        raise MessageRefused(error.code, where, str(error)) from None
    if isinstance(error, JSONDecodeError):
        raise MessageRefused(refusals.MALFORMED, where, f"{error.msg} at character {error.pos}") from None
    if isinstance(error, StopIteration):
        raise MessageRefused(refusals.MALFORMED, where, f"not JSON at character {error.value}") from None
    if isinstance(error, RecursionError):
        raise MessageRefused(refusals.TOO_DEEP, where, "too many containers inside one another") from None
    raise MessageRefused(refusals.TOO_LARGE, where, "an integer has too many digits") from None


Scan = Callable[[str, int], tuple[Any, int]]


class _Found(ValueError):
    """A hook found input that `load` refuses with *code*."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if not pairs:
        return {}
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Found(refusals.MALFORMED, f"the key {shown(_first_repeated(pairs))} is given twice in one object")
    return found


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    return ""


def _float(text: str) -> float:
    number = float(text)
    if number - number:
        raise _Found(refusals.MALFORMED, f"the number {shown(text)} does not fit in a double")
    return number


def _constant(text: str) -> NoReturn:
    raise _Found(refusals.MALFORMED, f"{text} is not JSON")


def _counting_int(text: str) -> int:
    if len(text) - text.startswith("-") > MAX_DIGITS:
        raise _Found(refusals.TOO_LARGE, f"an integer has more than {MAX_DIGITS} digits")
    return int(text)


def _scanner(parse_int: Callable[[str], int], pairs: Callable[[list[tuple[str, Any]]], Any] | None = _object) -> Scan:
    decoder = JSONDecoder(object_pairs_hook=pairs, parse_float=_float, parse_constant=_constant, parse_int=parse_int)
    scan: Scan = decoder.scan_once  # type: ignore[attr-defined] # not in typeshed
    return scan


_SCAN = _scanner(int)
_SCAN_ONE_KEY = _scanner(int, None)
"""Does not check for repeated keys: for text with one colon, which cannot have any."""
_SCAN_COUNTING = _scanner(_counting_int)


def _depth(text: str) -> int:
    """Return how deep containers nest, at C speed. For text that is not JSON the number has no meaning; the scanner refuses that text.

    It removes the escapes first, then everything but brackets and quotes, then pairs of quotes (which moves no bracket in or out of a
    string), then strings that contain brackets. The deepest containers are now empty and are removed in one step.
    """
    marks = text.encode("ascii", "replace")
    if b"\\" in marks:
        marks = marks.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = marks.translate(_ROUND, _NOT_MARKS).replace(b'""', b"")
    if b'"' in marks:
        marks = b"".join(marks.split(b'"')[::2])
    rest = marks.replace(b"[]", b"")
    return _highest(rest) + bool(marks)


def _highest(marks: bytes) -> int:
    """Return the highest level in *marks*: run by run if runs are long, else step by step."""
    if len(marks) > 8 * marks.count(b"[]"):
        runs = [len(run) for run in _RUNS(marks)]
        return max(map(sub, accumulate(runs[::2]), chain((0,), accumulate(runs[1::2]))), default=0)
    return max(accumulate(array("b", marks.translate(_STEPS))), default=0)
