"""The answer to a request: a page, its JSON, an asset, or an error. This module decides everything; the server only sends it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sedano.changes.plan import ChangePlan
from sedano.errors import NotAllowed, OptionError, SedanoError, Unavailable, UnknownFlowRun, UnknownTask, UsageError
from sedano.views.panels import Screen, ScreenQuery
from sedano.views.plain import plain
from sedano.web import changes
from sedano.web.addresses import Address, parse
from sedano.web.changes import ChangeForm, Changes
from sedano.web.forms import choice, effects, offered, preview, words
from sedano.web.frame import SiteName, fault, page, still
from sedano.web.markup import join
from sedano.web.pages import body
from sedano.web.visitors import FORM, OPEN, PageRequest, Visitors, foreign, forged

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types sedano"
)
"""The content security policy of every answer."""
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "x-frame-options": "DENY",
}  # fmt: skip
TEXT, HTML, JSON = "text/plain; charset=utf-8", "text/html; charset=utf-8", "application/json"
ASSETS: Mapping[str, tuple[str, str]] = {
    "/-/app.css": ("app.css", "text/css; charset=utf-8"), "/-/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/-/icon.svg": ("icon.svg", "image/svg+xml"),
}  # fmt: skip
"""The file of each asset and its type."""
CLOSED = "Open the address that the command printed. It works once; the pages that it opens work until the command ends.\n"
_STATUSES: tuple[tuple[type[SedanoError], int, str], ...] = (
    (UnknownFlowRun, 404, "Not found"), (UnknownTask, 404, "Not found"),
    (OptionError, 400, "Invalid request"), (UsageError, 400, "Invalid request"),
    (NotAllowed, 403, "The credentials lack a permission"), (Unavailable, 503, "A store did not answer"),
)  # fmt: skip
"""The status of each error and the heading of its page; any other error is a 500."""
ONLY_READ = "These pages were started read-only. Use the command line, or start `sedano web --actions`."
SPENT = "This form was already sent, or belongs to another change or another session. Open the page of the change again."


class Response(NamedTuple):
    """An answer: its *status*, its *body*, and its *headers* in addition to `HEADERS`."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Site(NamedTuple):
    """The pages of one app: *read* returns the screen for a request. *changes*: those that may be made; None: read-only."""

    read: Callable[[ScreenQuery], Screen]
    place: SiteName
    changes: Changes | None = None


def respond(request: PageRequest, site: Site, visitors: Visitors) -> Response:
    """Return the answer to *request*."""
    wrong = foreign(request, visitors.hosts)
    if wrong:
        return _text(403, f"{wrong}\n")
    if request.method == "POST" and site.changes is not None:
        return _sent(request, site, site.changes, visitors)
    if request.method not in ("GET", "HEAD"):
        return _text(405, "these pages are read-only; use GET\n", allow="GET, HEAD" if site.changes is None else "GET, HEAD, POST")
    path = urlsplit(request.target).path
    cookie = visitors.cookie_for(request) if path == OPEN else None
    if cookie is not None:
        return _text(303, "", location="/", **{"set-cookie": cookie})
    if not visitors.has_cookie(request):
        return _text(403, CLOSED)
    if path == OPEN:
        return _text(303, "", location="/")
    return _asset(request, *ASSETS[path]) if path in ASSETS else _answer(request, site, visitors)


def _answer(request: PageRequest, site: Site, visitors: Visitors) -> Response:
    found: Address | None = None
    wants_json = "application/json" in request.header("accept")
    try:
        form = changes.parse(request.target)
        if form is not None:
            return _asked(form, site, visitors)
        found = parse(request.target)
        if found is None:
            return _fault(404, "No such page", "All pages are in the navigation.", ScreenQuery(), site, as_json=wants_json)
        wants_json = wants_json or found.as_json
        screen = site.read(found.asked)
    except SedanoError as error:
        return _refused(error, found.asked if found is not None else ScreenQuery(), site, as_json=wants_json)
    except Exception as error:  # noqa: BLE001 - one request that fails must not end the others
        return _fault(500, "Internal error", f"{type(error).__name__}: {error}", ScreenQuery(), site, as_json=wants_json)
    return _json(request, screen) if wants_json else _page(request, found.asked, screen, site)


def _asked(form: ChangeForm, site: Site, visitors: Visitors) -> Response:
    """Return the page of a change before it is confirmed."""
    if site.changes is None:
        return _fault(403, "These pages are read-only", ONLY_READ, ScreenQuery(), site, as_json=False)
    if form.change.is_open:
        return _whole(200, HTML, still(words(form.change), choice(form.change, site.changes.given(form.change)), site.place).encode())
    plan = site.changes.plan(form.change)
    plan.drop()
    return _preview(200, form, plan, site.changes, site.place, visitors)


def _preview(
    status: int, form: ChangeForm, plan: ChangePlan, allowed: Changes, place: SiteName, visitors: Visitors, complaint: str = ""
) -> Response:  # fmt: skip
    """Return the page that shows the plan of a change, with the form that makes it."""
    token = visitors.form_token(form.change.key)
    allowed.show(token, plan)
    drawn = preview(form.change, plan, token, complaint, form.reason)
    return _whole(status, HTML, still(words(form.change), drawn, place).encode())


def _sent(request: PageRequest, site: Site, allowed: Changes, visitors: Visitors) -> Response:
    """Make the change of a form that was sent; return its effects, or the form again with the fault."""
    wrong = forged(request)
    if not wrong and request.body is None:
        return _text(413, "the form is too long, or has no content-length\n")
    if wrong or not visitors.has_cookie(request):
        return _text(403, f"{wrong}\n" if wrong else CLOSED)
    try:
        form = changes.parse(request.target, _body(request))
        if form is None or form.change.is_open:
            return _fault(404, "No such change", "Use the buttons of the pages.", ScreenQuery(), site, as_json=False)
        return _confirmed(form, site, allowed, visitors)
    except SedanoError as error:
        return _refused(error, ScreenQuery(), site, as_json=False)
    except Exception as error:  # noqa: BLE001 - one change that fails must not end the pages
        return _fault(500, "Internal error", f"{type(error).__name__}: {error}", ScreenQuery(), site, as_json=False)


def _confirmed(form: ChangeForm, site: Site, allowed: Changes, visitors: Visitors) -> Response:
    plan = allowed.plan(form.change, form.token)
    complaint = changes.complaint(form, plan)
    if complaint or plan.hindrance:
        plan.drop()
        return _preview(409 if plan.hindrance else 400, form, plan, allowed, site.place, visitors, complaint)
    if not visitors.use_token(form.token, form.change.key):
        plan.drop()
        return _fault(409, "Nothing was changed", SPENT, ScreenQuery(), site, as_json=False)
    made = allowed.make(plan, form.reason)
    return _whole(200, HTML, still(words(form.change), effects(form.change, made), site.place).encode())


def _body(request: PageRequest) -> str:
    try:
        return (request.body or b"").decode("ascii")
    except UnicodeDecodeError:
        raise UsageError(f"the form was not sent as {FORM}; send it with the browser") from None


def _refused(error: SedanoError, asked: ScreenQuery, site: Site, *, as_json: bool) -> Response:
    status, title = next(((status, title) for kind, status, title in _STATUSES if isinstance(error, kind)), (500, type(error).__name__))
    lacking = f"; the missing IAM action is {error.action}" if isinstance(error, NotAllowed) else ""
    return _fault(status, title, f"{error}{lacking}", asked, site, as_json=as_json)


def _page(request: PageRequest, asked: ScreenQuery, screen: Screen, site: Site) -> Response:
    drawn = body(asked, screen, site.place.logs)
    if site.changes is not None:
        drawn = join((offered(asked, screen.view, site.changes.missing), drawn))
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
    """Return the answer to a browser that already has this content, or None."""
    if tag not in request.headers.get("if-none-match", ()):
        return None
    return Response(304, b"", {"etag": tag, "cache-control": "no-cache"})


def _tag(content: bytes) -> str:
    """Return a mark of *content*: it leaves out the moment of the read, so an unchanged page keeps its mark."""
    return f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
