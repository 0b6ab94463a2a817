"""`sedano web` as a process and its server on 127.0.0.1: the token, the cookie, requests of other sites, and the end."""

import getpass
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sedano.cli import main
from sedano.cli import web_pages as cli_web
from sedano.cli.exits import Exit
from sedano.errors import UsageError
from sedano.web.loopback import listener
from sedano.web.respond import HEADERS
from sedano.web.server import MOST_BODY_BYTES, PageServer, answering, site
from sedano.web.visitors import FORM, OPEN, Visitors
from tests.ctrl_c import HEARS_CTRL_C
from tests.stories import shopfront
from tests.stories.page_client import Browser

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from sedano import testing
from sedano.cli import main
from tests.stories import shopfront
from tests.stories.page_client import Browser

with testing.world(shopfront.app):
    sys.exit(main(["web", "--app", "tests.stories.shopfront:app", "--no-open", *sys.argv[1:]]))
"""


PAUSE = "/pause?kind=queue&name=default"


class Served(NamedTuple):
    """A server with pages, and a browser that has not opened them."""

    visitors: Visitors
    browser: Browser

    @property
    def token(self) -> str:
        """The target that the address of the run has."""
        return self.visitors.address.partition(str(self.visitors.port))[2]


@pytest.fixture
def served() -> Iterator[Served]:
    """A server of the shop's pages."""
    with shopfront.opened() as shop, listener(0) as listening:
        visitors = Visitors(listening.getsockname()[1])
        server = PageServer(listening, answering(site(shopfront.app, shop.site.place), visitors))
        server.begin()
        yield Served(visitors, Browser(visitors.port))
        server.end()


def test_the_address_opens_the_pages_once_in_one_browser(served: Served) -> None:
    browser, other = served.browser, Browser(served.visitors.port)
    assert browser.ask("/").status == 403
    token = served.token
    opened = browser.ask(token)
    assert (opened.status, opened.headers["location"]) == (303, "/")
    attributes = opened.headers["set-cookie"].split("; ")[1:]
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert browser.ask("/").status == 200
    assert browser.ask(token).status == 303
    assert other.ask(token).status == 403
    assert other.ask(f"{OPEN}?token=").status == other.ask(OPEN).status == 403
    assert b"once" in other.ask("/").body


def test_a_wrong_token_a_head_and_a_browser_that_looks_ahead_do_not_spend_it(served: Served) -> None:
    browser, token = served.browser, served.token
    assert browser.ask(f"{token}x").status == 403
    assert browser.ask(token, method="HEAD").status == 403
    assert browser.ask(token, sec_purpose="prefetch;prerender").status == 403
    assert browser.ask(token).status == 303


def test_another_cookie_of_this_host_does_not_open_them(served: Served) -> None:
    browser = served.browser
    browser.cookie = f'sedano-{served.visitors.port}=guess; other=1; "='
    assert browser.ask("/").status == 403


FOREIGN = {
    "rebinding": {"host": "example.org"}, "another port": {"host": "127.0.0.1:1"}, "no port": {"host": "localhost"},
    "a form of another site": {"origin": "https://example.org"}, "a sandbox": {"origin": "null"},
    "a link of another site": {"sec_fetch_site": "cross-site"}, "a page of another port": {"sec_fetch_site": "same-site"},
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("target", ["/", "/-/app.js", "/.json", "token"])
def test_a_request_of_another_site_is_refused_before_anything_else(served: Served, what: str, target: str) -> None:
    token = served.token
    before = Browser(served.visitors.port)
    assert before.ask(token if target == "token" else target, **FOREIGN[what]).status == 403
    assert served.browser.ask(token).status == 303, "the token was spent"
    refused = served.browser.ask(target if target != "token" else token, **FOREIGN[what])
    assert (refused.status, "access-control-allow-origin" in refused.headers) == (403, False)


def test_the_pages_themselves_may_ask(served: Served) -> None:
    browser = served.browser
    browser.ask(served.token)
    own = f"127.0.0.1:{served.visitors.port}"
    assert browser.ask("/", origin=f"http://{own}", sec_fetch_site="same-origin").status == 200
    assert browser.ask("/", sec_fetch_site="none").status == 200
    assert browser.ask("/", host=f"localhost:{served.visitors.port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_no_request_changes_anything(served: Served, method: str) -> None:
    served.browser.ask(served.token)
    answer = served.browser.ask("/", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("target", ["/", "/-/app.js", "/nothing", "/.json", "/tasks?x=1"])
def test_every_answer_has_the_policy_and_a_head_has_no_body(served: Served, target: str) -> None:
    closed = served.browser.ask(target)
    served.browser.ask(served.token)
    answer, head = served.browser.ask(target), served.browser.ask(target, method="HEAD")
    for one in (closed, answer, head):
        assert {name: one.headers[name] for name in HEADERS} == dict(HEADERS)
        assert one.headers["cache-control"] in ("no-store", "no-cache")
    assert (head.status, head.body, head.headers["content-length"]) == (answer.status, b"", str(len(answer.body)))


def test_a_page_without_news_has_no_body(served: Served) -> None:
    served.browser.ask(served.token)
    first = served.browser.ask("/tasks")
    again = served.browser.ask("/tasks", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_a_form_is_taken_once_and_its_length_is_checked_before_it_is_read() -> None:
    with shopfront.opened(actions=True) as shop, listener(0) as listening:
        visitors = Visitors(listening.getsockname()[1])
        server = PageServer(listening, answering(shop.site, visitors))
        server.begin()
        browser = Browser(visitors.port)
        assert browser.ask(visitors.address.partition(str(visitors.port))[2]).status == 303
        assert browser.change(PAUSE, "a test").status == 200
        own = {"origin": f"http://127.0.0.1:{visitors.port}", "content_type": FORM}
        for length in ("", "x", "-1", str(MOST_BODY_BYTES + 1), "²"):
            with socket.create_connection(("127.0.0.1", visitors.port), timeout=60) as raw:
                head = [f"POST {PAUSE} HTTP/1.1", f"Host: 127.0.0.1:{visitors.port}", f"Origin: {own['origin']}", f"Content-Type: {FORM}"]
                raw.sendall("\r\n".join([*head, f"Content-Length: {length}", "", ""]).encode("latin-1"))
                assert raw.recv(20).startswith(b"HTTP/1.1 413"), length
        assert browser.ask(PAUSE, "POST", "reason=x", **own, transfer_encoding="chunked").status == 413
        server.end()


def test_two_hosts_and_a_broken_request_are_refused(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.visitors.port), timeout=60) as raw:
        own = f"Host: 127.0.0.1:{served.visitors.port}"
        raw.sendall(f"GET / HTTP/1.1\r\n{own}\r\n{own}\r\n\r\n".encode())
        assert raw.recv(20).startswith(b"HTTP/1.1 403")
    assert served.browser.ask("/").status == 403


def test_a_port_that_is_taken_is_said() -> None:
    with listener(0) as first, pytest.raises(UsageError, match="give another one with --port"):
        listener(first.getsockname()[1])


def test_where_no_browser_is_the_person_is_asked_to_open_the_address(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []

    def opens(address: str) -> bool:
        asked.append(address)
        raise KeyboardInterrupt  # as if Ctrl-C came next

    with shopfront.opened(), pytest.raises(KeyboardInterrupt):
        cli_web.run(shopfront.app, "here", 0, opens)
    assert capsys.readouterr().out == f"{asked[0]}\n"


def test_the_port_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web", "--port", "70000"]) == Exit.USAGE
    assert "70000" in capsys.readouterr().err


@pytest.mark.parametrize("actions", [False, True])
def test_the_verb_prints_its_address_first_and_each_change_and_ctrl_c_ends_it(actions: bool) -> None:
    path = os.pathsep.join([str(ROOT / "layers/sedano/python"), str(ROOT), *filter(None, sys.path)])
    command = [*HEARS_CTRL_C, sys.executable, "-c", PROGRAM, *(["--actions", "--json"] if actions else [])]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={"PATH": os.environ["PATH"], "PYTHONPATH": path}, **pipes) as process:  # type: ignore[call-overload]
        line = process.stdout.readline()
        address = json.loads(line)["address"] if actions else line.rstrip("\n")
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/-/open\?token=[\w-]{43})", address)
        assert found is not None, line
        browser = Browser(int(found[1]))
        assert browser.ask(found[2]).status == 303
        assert json.loads(browser.ask("/queues.json").body)["rows"][0]["queue"] == "default"
        assert browser.ask(PAUSE).status == (200 if actions else 403)
        assert not actions or browser.change(PAUSE, "a test").status == 200
        process.send_signal(2)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (Exit.INTERRUPTED, "")
    assert ("sedano web: --actions: the pages can change the stage" in err) is actions
    assert (f"sedano web: changed by {getpass.getuser()}: pause queue=default, reason: a test" in err) is actions
    assert err.splitlines()[-1] == "sedano web: interrupted"
