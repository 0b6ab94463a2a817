"""The frame of every page: navigation and search, and below the page its reads, their cost, and the command that prints the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sedano.model.messages.timestamps import shown
from sedano.views.browser import KEYS
from sedano.views.panels import Screen, ScreenQuery
from sedano.views.screens import LISTED
from sedano.views.tail import RECORDER_S
from sedano.views.terminal_screen import cost
from sedano.web.addresses import DEFAULT, address
from sedano.web.log_links import LogPlace
from sedano.web.markup import NOTHING, Markup, document, el, join

MOTION: Mapping[str, str] = {
    "j, k": "next and previous line", "Enter": "open it", "/": "search", "r": "read now", "p": "pause and resume the page",
    "?": "these keys",
}  # fmt: skip
"""The keys of every page, in addition to `g` followed by the letter of a page."""


class SiteName(NamedTuple):
    """The name of the *app*, and *where* it runs, such as a stage and its Region; the place of its *logs*, if they are in CloudWatch."""

    app: str
    where: str
    logs: LogPlace | None = None


def page(asked: ScreenQuery, screen: Screen, body: Markup, place: SiteName, tag: str) -> Markup:
    """Return a whole page: *body* in its frame. *tag*: the page compares it to detect changes."""
    main = el("main", el("h1", screen.title), body, id="main", tabindex=-1)
    return _whole(screen.title, asked, place, main, about(asked, screen), tag)


def fault(asked: ScreenQuery, title: str, sentence: str, place: SiteName) -> Markup:
    """Return a page with the reason why the requested page cannot be shown."""
    main = el("main", el("h1", title), el("p", sentence, class_="why"), id="main", tabindex=-1)
    return _whole(title, asked, place, main, el("div", id="about"), "")


def still(title: str, body: Markup, place: SiteName) -> Markup:
    """Return a page that is not read again: a form, or the effects of one."""
    main = el("main", el("h1", title), body, id="main", tabindex=-1, data_still=True)
    return _whole(title, ScreenQuery(""), place, main, el("div", id="about"), "")


def about(asked: ScreenQuery, screen: Screen) -> Markup:
    """Return the reads of a page, their cost and their age, and links to the same data as a command and as JSON."""
    read = el("time", shown(screen.about.at))
    is_late = screen.about.certainty == "live" and "s3.ListObjectsV2" in screen.about.reads.calls
    late = f"; events of the last {RECORDER_S} s may be missing" if is_late else ""
    return el(
        "div",
        el("p", f"{screen.about.certainty.capitalize()}, read at ", read, late, ". ", cost(screen.about), "."),
        el("p", "The same: ", el("code", screen.command), " · ", el("a", "JSON", href=address(asked, as_json=True))),
        id="about",
    )  # fmt: skip


def _whole(title: str, asked: ScreenQuery, place: SiteName, main: Markup, below: Markup, tag: str) -> Markup:
    head = el(
        "head",
        el("meta", charset="utf-8"), el("meta", name="viewport", content="width=device-width,initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"), el("meta", name="tag", content=tag),
        el("title", f"{title} · {place.app} · sedano"), el("link", rel="icon", href="/-/icon.svg"),
        el("link", rel="stylesheet", href="/-/app.css"), el("script", type="module", src="/-/app.js"),
    )  # fmt: skip
    skip = el("a", "Skip to the content", class_="skip", href="#main")
    return document(head, el("body", skip, _header(asked, place), main, _footer(below), _keys()))


def _header(asked: ScreenQuery, place: SiteName) -> Markup:
    letters = {name: key for key, name in KEYS.items()}
    pages = join(
        el(
            "a", name.capitalize(), href=address(ScreenQuery(name)), data_key=letters[name],
            aria_current="page" if name == asked.name else None,
        )
        for name in LISTED
    )  # fmt: skip
    search = el(
        "form", el("input", name="q", type="search", aria_label="Search tasks", placeholder="Search tasks: id, name, state:FAILURE …"),
        el("input", type="hidden", name="days", value=asked.days) if asked.days != DEFAULT.days else NOTHING,
        action="/tasks", role="search", class_="find",
    )  # fmt: skip
    brand = el("a", "sedano", href="/", class_="brand")
    where = el("span", f"{place.app} · {place.where}", class_="place")
    return el("header", brand, where, el("nav", pages, aria_label="Pages"), NOTHING if asked.name == "tasks" else search)


def _footer(below: Markup) -> Markup:
    hold = el("button", "Hold", id="live", type="button", aria_pressed="false", hidden=True)
    keys = el("button", "Keys", id="help", type="button", hidden=True)
    return el("footer", below, el("div", hold, keys, el("span", id="status", role="status"), class_="row"))


def _keys() -> Markup:
    known = {**MOTION, **{f"g {key}": name for key, name in KEYS.items()}}
    rows = join(one for key, words in known.items() for one in (el("dt", el("kbd", key)), el("dd", words)))
    close = el("form", el("button", "Close"), method="dialog")
    return el("dialog", el("h2", "Keys"), el("dl", rows), close, id="keys", aria_label="Keys")
