"""The only module that makes HTML. Text becomes HTML only by escaping, so no name, argument or error of a task is ever read as HTML.

`el` makes an element of escaped children; a text that is already HTML has the type `Markup`, which only this module makes
(`tests/house` looks). Control characters, marks that change the direction of text and lone surrogates are written as in Python's source, as
on a terminal. An address begins with `/` or `#`, so no text of a task leads out of the pages or runs as a script. The only exception is
the console of CloudWatch, in the link of `outside`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from sedano.views.terminal_text import line

DOCTYPE = "<!doctype html>"
VOID = frozenset({"input", "link", "meta", "rect"})
"""The elements without children. `rect` is an SVG element, so it must be closed."""
UNCLOSED = frozenset({"td"})
"""The elements that HTML ends where the next one begins. Their closing tags would be an eighth of a page of 200 rows."""
_PLAIN = re.compile(r"[ !#-%(-;=?-~]*").fullmatch
"""Matches printable ASCII without HTML characters, as most texts are."""
_CONSOLE = re.compile(r"https://[a-z0-9-]+\.console\.aws\.amazon\.com/cloudwatch/home\?region=[a-z0-9-]+#[!-~]*").fullmatch
_ADDRESSES = frozenset({"href", "src", "action"})
_NO_TEXT = frozenset({"script", "style"})


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


NOTHING = Markup("")


def esc(text: object) -> Markup:
    """Return *text* escaped as HTML; `Markup` is returned unchanged."""
    return text if isinstance(text, Markup) else Markup(_safe(str(text)))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Return *parts* one after another, with *between* between them."""
    return Markup(esc(between).join(map(esc, parts)))


def el(name: str, /, *children: object, **attributes: str | int | bool | None) -> Markup:
    """Return the element *name* with its *children*.

    Underscores in the name of an attribute become hyphens; one at its end (``class_``) is removed. True is an attribute without a value;
    False and None omit the attribute.

    Raises:
        ValueError: an address leads out of the pages, or a script or style has text.
    """
    if name in _NO_TEXT and children:
        raise ValueError(f"{name}: text in it is not escaped as HTML; serve it as an asset")
    given = "".join([_attribute(one, value) for one, value in attributes.items() if value is not None and value is not False])
    inside = "".join([one if isinstance(one, Markup) else _safe(str(one)) for one in children])
    if name in VOID:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{inside}" if name in UNCLOSED else f"<{name}{given}>{inside}</{name}>")


def outside(text: str, there: str) -> Markup:
    """Return a link to the console of CloudWatch, which opens in a new window and does not receive the address of the page.

    Raises:
        ValueError: *there* is another address.
    """
    if _CONSOLE(there) is None:
        raise ValueError(f"{there[:60]!r} is not an address of the CloudWatch console")
    return Markup(f'<a href="{_safe(there)}" rel="noopener noreferrer" target="_blank">{_safe(text)}</a>')


def document(*children: object) -> Markup:
    """Return a whole document."""
    return Markup(f"{DOCTYPE}{el('html', *children, lang='en')}\n")


def _attribute(name: str, value: str | int | bool) -> str:
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = str(value)
    if name in _ADDRESSES and (text[:1] not in ("/", "#") or text[1:2] in ("/", "\\")):
        raise ValueError(f"{name}: {text[:60]!r} leads out of the pages; begin it with / or #")
    return f' {name}="{_safe(text)}"'


def _safe(text: str) -> str:
    return text if _PLAIN(text) else escape(line(text))
