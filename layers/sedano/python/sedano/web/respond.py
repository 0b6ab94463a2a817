"""The answer to a request: a page, its JSON, an asset, or the reason why not. Everything is decided here; the server only sends it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sedano.errors import NotAllowed, OptionError, SedanoError, Unavailable, UnknownFlowRun, UsageError
from sedano.views.plain import plain
from sedano.views.screens import Screen, ScreenQuery
from sedano.web.addresses import Address, parse
from sedano.web.frame import SiteName, fault, page
from sedano.web.pages import body
from sedano.web.visitors import OPEN, PageRequest, Visitors, foreign

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types sedano"
)
"""The content security policy of every answer."""
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "x-frame-options": "DENY",
}  # fmt: skip
TEXT, HTML, JSON = "text/plain; charset=utf-8", "text/html; charset=utf-8", "application/json"
ASSETS: Mapping[str, tuple[str, str]] = {
    "/-/app.css": ("app.css", "text/css; charset=utf-8"), "/-/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/-/icon.svg": ("icon.svg", "image/svg+xml"),
}  # fmt: skip
"""The file of each asset and its type."""
CLOSED = "Open the address that the command printed. It works once; a page that was opened with it works until the command ends.\n"
_STATUSES: tuple[tuple[type[SedanoError], int, str], ...] = (
    (UnknownFlowRun, 404, "Not found"), (OptionError, 400, "This question has no answer"), (UsageError, 400, "This question has no answer"),
    (NotAllowed, 403, "The credentials lack a permission"), (Unavailable, 503, "A store did not answer"),
)  # fmt: skip
"""The status of each error and the heading of its page; any other error is a 500."""


class Response(NamedTuple):
    """An answer: its *status*, its *body*, and its *headers* beside `HEADERS`."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Site(NamedTuple):
    """The pages of one app: *read* returns the screen that answers a question."""

    read: Callable[[ScreenQuery], Screen]
    place: SiteName


def respond(request: PageRequest, site: Site, visitors: Visitors) -> Response:
    """Return the answer to *request*."""
    wrong = foreign(request, visitors.hosts)
    if wrong:
        return _text(403, f"{wrong}\n")
    if request.method not in ("GET", "HEAD"):
        return _text(405, "these pages only read; use GET\n", allow="GET, HEAD")
    path = urlsplit(request.target).path
    cookie = visitors.opened(request) if path == OPEN else None
    if cookie is not None:
        return _text(303, "", location="/", **{"set-cookie": cookie})
    if not visitors.knows(request):
        return _text(403, CLOSED)
    if path == OPEN:
        return _text(303, "", location="/")
    return _asset(request, *ASSETS[path]) if path in ASSETS else _answer(request, site)


def _answer(request: PageRequest, site: Site) -> Response:
    found: Address | None = None
    wants_json = "application/json" in request.header("accept")
    try:
        found = parse(request.target)
        if found is None:
            return _fault(404, "No such page", "The navigation leads to all pages.", ScreenQuery(), site, as_json=wants_json)
        wants_json = wants_json or found.as_json
        screen = site.read(found.asked)
    except SedanoError as error:
        status, title = next(((status, title) for kind, status, title in _STATUSES if isinstance(error, kind)), (500, type(error).__name__))
        return _fault(status, title, str(error), found.asked if found is not None else ScreenQuery(), site, as_json=wants_json)
    except Exception as error:  # noqa: BLE001 - one question without an answer must not end the others
        return _fault(500, "Internal error", f"{type(error).__name__}: {error}", ScreenQuery(), site, as_json=wants_json)
    return _json(request, screen) if wants_json else _page(request, found.asked, screen, site)


def _page(request: PageRequest, asked: ScreenQuery, screen: Screen, site: Site) -> Response:
    drawn = body(asked, screen)
    tag = _tag(f"{screen.title}\0{drawn}\0{screen.about.certainty}".encode())
    return _known(request, tag) or _whole(200, HTML, page(asked, screen, drawn, site.place, tag).encode(), tag)


def _json(request: PageRequest, screen: Screen) -> Response:
    said = screen.json
    undated = {**said, "about": None} if isinstance(said, dict) else said
    tag = _tag(json.dumps(undated).encode())
    return _known(request, tag) or _whole(200, JSON, f"{json.dumps(said)}\n".encode(), tag)


def _asset(request: PageRequest, file: str, kind: str) -> Response:
    content = asset(file)
    tag = _tag(content)
    return _known(request, tag) or Response(200, content, {"content-type": kind, "etag": tag, "cache-control": "no-cache"})


@cache
def asset(file: str) -> bytes:
    """Return the content of an asset."""
    return Path(__file__).with_name(file).read_bytes()


def _fault(status: int, title: str, sentence: str, asked: ScreenQuery, site: Site, *, as_json: bool) -> Response:
    if as_json:
        return _whole(status, JSON, f"{json.dumps(plain({'error': sentence}))}\n".encode())
    return _whole(status, HTML, fault(asked, title, sentence, site.place).encode())


def _text(status: int, text: str, **headers: str) -> Response:
    return Response(status, text.encode(), {"content-type": TEXT, "cache-control": "no-store", **headers})


def _whole(status: int, kind: str, content: bytes, tag: str = "") -> Response:
    return Response(status, content, {"content-type": kind, "cache-control": "no-store"} | ({"etag": tag} if tag else {}))


def _known(request: PageRequest, tag: str) -> Response | None:
    """Return the answer for a browser that has this content already."""
    if tag not in request.headers.get("if-none-match", ()):
        return None
    return Response(304, b"", {"etag": tag, "cache-control": "no-cache"})


def _tag(content: bytes) -> str:
    """Return a mark of *content*: the moment at which a page was read is left out of it, so a page without news keeps its mark."""
    return f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
