"""A browser's part of the protocol of the pages: it asks one server on this machine, and keeps the cookie."""

import http.client
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from sedano.web.visitors import FORM


class Answer(NamedTuple):
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Browser:
    """A browser beside the server on *port*; it keeps the cookie."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie = port, ""

    def ask(self, target: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Send a request, without following its answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | ({"cookie": self.cookie} if self.cookie else {})
        connection.request(method, target, body, sent)
        found = connection.getresponse()
        answer = Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        connection.close()
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def change(self, target: str, reason: str) -> Answer:
        """Open the preview at *target*, write the *reason*, and send its form."""
        found = re.search(rb'name="token" value="([^"]+)"', self.ask(target).body)
        assert found is not None, target
        own = {"origin": f"http://127.0.0.1:{self.port}", "sec_fetch_site": "same-origin", "content_type": FORM}
        return self.ask(target, "POST", urlencode({"token": found[1].decode(), "reason": reason}), **own)
