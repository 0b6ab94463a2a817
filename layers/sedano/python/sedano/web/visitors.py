"""Access to the pages: only the browser in which the person opened the printed address has it; pages of other sites do not.

Theory. A page of another site that is open in the same browser can send requests to 127.0.0.1, and by DNS rebinding it can read answers
under its own name. Another user of the machine can connect to the port. So a request is answered only if

1. its `Host` is a loopback name with this port (rebinding sends the other site's name);
2. its `Origin`, if any, is this one, and its `Sec-Fetch-Site`, if any, is ``same-origin`` or ``none`` (a browser adds one to each request
   of a page);
3. it carries the cookie of this run. The address that the command prints has a token that is exchanged for the cookie once. The cookie is
   `HttpOnly`, so no script can read it, and `SameSite=Strict`, so browsers do not send it with requests of other sites.

A form that changes something is accepted only if, in addition, its `Origin` is present and is this one, its `Sec-Fetch-Site`, if any, is
``same-origin``, and it carries the token of a preview: a random number drawn for one preview, with a mark made of the change and of the
cookie's secret. The change uses up the token, so a form that is sent twice changes nothing the second time.

A browser that prefetches an address says so, and does not use up the token. Cookies do not depend on the port, so the name of the cookie
contains the port: two runs do not overwrite each other's cookie. A browser may send the cookie to a program of the same user that
listens on another port of 127.0.0.1.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Collection, Mapping, Sequence
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

OPEN = "/-/open"
"""The path that accepts the token."""
FORM = "application/x-www-form-urlencoded"
_SITES = frozenset({"same-origin", "none"})


class PageRequest(NamedTuple):
    """A request: its method, its *target* (path and query), its *headers* by lower-case name, each with all its values, and its *body*.

    The body is None if it is too long or has no length.
    """

    method: str
    target: str
    headers: Mapping[str, Sequence[str]]
    body: bytes | None = b""

    def header(self, name: str) -> str:
        """Return the first value of a header, or nothing."""
        return next(iter(self.headers.get(name, ())), "")


def foreign(request: PageRequest, hosts: Collection[str]) -> str:
    """Return why *request* does not come from these pages at *hosts* (names with port), or nothing."""
    named = request.headers.get("host", ())
    if len(named) != 1 or named[0].lower() not in hosts:
        return f"these pages answer only at {' and '.join(sorted(hosts))}"
    if any(origin.lower().removeprefix("http://") not in hosts for origin in request.headers.get("origin", ())):
        return "a page of another site may not read these pages"
    if any(site not in _SITES for site in request.headers.get("sec-fetch-site", ())):
        return "a page of another site may not link here; open the address yourself"
    return ""


def forged(request: PageRequest) -> str:
    """Return why a form that passed `foreign` was not sent by one of these pages, or nothing."""
    if request.headers.get("origin", ()) != (f"http://{request.header('host')}",):
        return "the Origin of a form must be that of these pages; send it with the browser"
    if any(site != "same-origin" for site in request.headers.get("sec-fetch-site", ())):
        return "a form is accepted only from these pages; open the page of the change first"
    if request.header("content-type").partition(";")[0].strip().lower() != FORM:
        return f"a form must be sent as {FORM}"
    return ""


class Visitors:
    """The token and the cookie of one run on one *port*."""

    def __init__(self, port: int, token: str | None = None, session: str | None = None) -> None:
        """Draw both, unless they are given; an empty token is used up."""
        self.port, self._lock = port, threading.Lock()
        self._token = token_urlsafe(32) if token is None else token
        self._session = token_urlsafe(32) if session is None else session
        self._spent: set[str] = set()
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    @property
    def address(self) -> str:
        """The address that a person opens."""
        return f"http://127.0.0.1:{self.port}{OPEN}?token={self._token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"sedano-{self.port}"

    def cookie_for(self, request: PageRequest) -> str | None:
        """Return the header that sets the cookie for the first request with the token; None for any other request."""
        given = dict(parse_qsl(urlsplit(request.target).query)).get("token", "")
        if request.method != "GET" or "prefetch" in request.header("sec-purpose") or not given:
            return None
        with self._lock:
            if not self._token or not hmac.compare_digest(given.encode(), self._token.encode()):
                return None
            self._token = ""
        return f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"

    def has_cookie(self, request: PageRequest) -> bool:
        """Return whether *request* carries the cookie."""
        for header in request.headers.get("cookie", ()):
            try:
                found = SimpleCookie(header).get(self.cookie)
            except CookieError:
                continue
            if found is not None and hmac.compare_digest(found.value.encode(), self._session.encode()):
                return True
        return False

    def form_token(self, change: str) -> str:
        """Return a token for the form of *change*."""
        number = token_urlsafe(16)
        return f"{number}.{self._mark(number, change)}"

    def use_token(self, token: str, change: str) -> bool:
        """Use up the *token* of a form; return False if it is not a token of *change*, or was used before."""
        number, _, mark = token.partition(".")
        if not hmac.compare_digest(mark.encode(), self._mark(number, change).encode()):
            return False
        with self._lock:
            fresh = number not in self._spent
            self._spent.add(number)
        return fresh

    def _mark(self, number: str, change: str) -> str:
        said = f"{number} {change}".encode("utf-8", "surrogatepass")
        return hmac.new(self._session.encode(), said, "sha256").hexdigest()
