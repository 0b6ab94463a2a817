"""A poll over HTTP: the conditional request and the meaning of each answer."""

import json
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import pytest

from sedano import Sedano, every, testing
from sedano.errors import ConfigurationError, MessageRefused, OptionError, SedanoError, SourceBusy, Unavailable
from sedano.model.sources.http_polls import (
    MOST_BODY_BYTES,
    HttpAnswer,
    HttpPlan,
    plan_of,
    polled_of,
    request_of,
    retry_after,
    validated,
)
from sedano.model.sources.polls import PollState, field_identity, page_of, read_back, written
from sedano.outbound.http_polls import HttpSource
from sedano.polls import Polled, http
from tests.unit.http_peer import Peer, served

URL = "https://api.example.com/orders?since={cursor}&n=3"
PLAN = plan_of(URL, "data.orders", "data.next", "0", {"Authorization": "ssm:/shop/orders/token", "X-Shop": "7"})
FEED = plan_of("https://api.example.com/feed", "", None, "", None)
NOW = 1_767_225_600.0
OWN = {"Accept": "application/json", "User-Agent": "sedano", "Accept-Encoding": "identity"}


def answer(body: Any, status: int = 200, **headers: str) -> HttpAnswer:
    """An answer with *body* as JSON."""
    return HttpAnswer(status, {name.replace("_", "-"): text for name, text in headers.items()}, json.dumps(body).encode())


def test_the_plan_separates_the_headers_that_are_parameters() -> None:
    assert PLAN._asdict() == {
        "url": URL, "items": "data.orders", "cursor": "data.next", "start": "0", "headers": {"X-Shop": "7"},
        "secrets": {"Authorization": "/shop/orders/token"},
    }  # fmt: skip
    assert http("https://api.example.com/", headers={"Authorization": "ssm:/shop/orders/token"}).secrets == ("/shop/orders/token",)


def test_the_request_has_the_cursor_the_secret_and_the_validators() -> None:
    first = request_of(PLAN, None, lambda name: f"Bearer {name}")
    assert first == (
        "https://api.example.com/orders?since=0&n=3", {**OWN, "X-Shop": "7", "Authorization": "Bearer /shop/orders/token"}
    )  # fmt: skip
    url, headers = request_of(PLAN, {"at": "a/b&c", "etag": '"e"', "modified": "M", "of": validated(PLAN)}, lambda name: "t")
    assert url == "https://api.example.com/orders?since=a%2Fb%26c&n=3"
    assert (headers["If-None-Match"], headers["If-Modified-Since"]) == ('"e"', "M")
    assert request_of(FEED, "strange", lambda name: "t") == ("https://api.example.com/feed", OWN)


@pytest.mark.parametrize(
    "changed",
    [
        {"url": "https://api.example.com/other"}, {"items": "rows"}, {"cursor": "next"}, {"headers": {"X-Shop": "8"}},
        {"secrets": {"Authorization": "/shop/other/token"}},
    ],
)  # fmt: skip
def test_the_validators_are_not_sent_when_a_release_has_changed_the_request(changed: dict[str, Any]) -> None:
    found = polled_of(FEED, None, answer([1], etag='"e"', last_modified="M"), NOW)
    assert found is not None
    sent = request_of(FEED, found.cursor, str)[1]
    assert (sent["If-None-Match"], sent["If-Modified-Since"]) == ('"e"', "M")
    other = FEED._replace(**changed)
    assert not {"If-None-Match", "If-Modified-Since"} & {*request_of(other, found.cursor, str)[1]}
    assert "If-None-Match" not in request_of(FEED, {"at": "", "etag": '"e"'}, str)[1], "the state of an older release has no digest"
    assert validated(PLAN) == "65aa05cbdbd823c5"


def test_the_digest_of_a_request_does_not_depend_on_the_order_of_its_headers_nor_on_which_function_reads_the_cursor() -> None:
    one, two = {"A": "1", "B": "2"}, {"B": "2", "A": "1"}
    assert validated(PLAN._replace(headers=one, secrets=one, cursor=max)) == validated(PLAN._replace(headers=two, secrets=two, cursor=min))


@pytest.mark.parametrize("text", ["two\nlines", "é"])
def test_a_secret_that_is_not_a_header_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigurationError, match="the parameter /shop/orders/token cannot be the header Authorization") as refused:
        request_of(PLAN, None, lambda name: text)
    assert text not in str(refused.value)


def test_an_answer_without_change_is_none() -> None:
    assert polled_of(PLAN, {"at": "5"}, answer("x", 304), NOW) is None
    assert polled_of(PLAN, {"at": "5"}, answer("x", 204), NOW) is None


def test_a_page_moves_the_cursor_and_drops_the_validators_of_the_other_address() -> None:
    page = {"data": {"orders": [1, 2], "next": "9"}}
    assert polled_of(PLAN, None, answer(page, etag='"e"'), NOW) == Polled([1, 2], {"at": "9"}, more=True)
    assert polled_of(PLAN, {"at": "9"}, answer(page, etag='"e"', last_modified="M"), NOW) == Polled(
        [1, 2], {"at": "9", "etag": '"e"', "modified": "M", "of": validated(PLAN)}, more=False
    )
    assert polled_of(PLAN, {"at": "8"}, answer({"data": {"orders": [], "next": 9}}), NOW) == Polled([], {"at": "9"}, more=False)


@pytest.mark.parametrize("end", [None, ""])
def test_without_a_next_cursor_the_same_page_is_read_again(end: Any) -> None:
    found = polled_of(PLAN, {"at": "8"}, answer({"data": {"orders": [3], "next": end}}, etag="e"), NOW)
    assert found == Polled([3], {"at": "8", "etag": "e", "of": validated(PLAN)}, more=False)


def test_the_cursor_may_be_a_function_of_the_answer_and_the_answer_the_list() -> None:
    plan = plan_of("https://api.example.com/{cursor}", "", max, "0", None)
    assert polled_of(plan, None, answer([4, 6, 5]), NOW) == Polled([4, 6, 5], {"at": "6"}, more=True)
    assert polled_of(plan, {"at": "6"}, answer([]), NOW) == Polled([], {"at": "6"}, more=False), "an empty page has no next cursor"
    assert polled_of(FEED, None, answer([1], etag="e"), NOW) == Polled([1], {"at": "", "etag": "e", "of": validated(FEED)}, more=False)


@pytest.mark.parametrize("etag", ["é", "x" * 1_025, "a\tb"])
def test_a_validator_that_no_header_should_hold_is_not_kept(etag: str) -> None:
    assert polled_of(FEED, None, answer([1], etag=etag), NOW) == Polled([1], {"at": ""})
    assert polled_of(FEED, None, answer([1], etag="x" * 1_024), NOW) == Polled([1], {"at": "", "etag": "x" * 1_024, "of": validated(FEED)})


@pytest.mark.parametrize(
    ("plan", "found", "words"),
    [
        (PLAN, answer([]), "the answer has no 'data', of items='data.orders'"),
        (PLAN, answer({"data": {"orders": {}}}), "items='data.orders' of the answer is of type dict, not a list"),
        (PLAN, answer({"data": {"orders": []}}), "the answer has no 'next', of cursor='data.next'"),
        (PLAN, answer({"data": {"orders": [], "next": True}}), "the next cursor is of type bool"),
        (PLAN, answer({"data": {"orders": [], "next": {}}}), "the next cursor is of type dict, not a valid text or number"),
        (PLAN, HttpAnswer(200, {}, b'{"data":{"orders":[],"next":1e400}}'), "the next cursor is of type float, not a valid text or number"),
        (PLAN, HttpAnswer(200, {}, b'{"data":{"orders":[],"next":"\\ud800"}}'), "the next cursor is of type str, not a valid text"),
        (PLAN, HttpAnswer(200, {}, b'{"data":{"orders":[],"next":1,"next":2}}'), "the answer has no 'orders', of items='data.orders'"),
        (FEED, HttpAnswer(200, {}, b'[{"id":1}'), "the answer is not valid JSON: malformed"),
        (FEED, HttpAnswer(200, {}, b"[" * 200_000), "the answer is not valid JSON: too-deep"),
        (FEED, HttpAnswer(200, {}, b"<html>"), "the answer is not valid JSON: malformed"),
        (FEED, HttpAnswer(200, {}, b" " * (MOST_BODY_BYTES + 1)), "the answer has more than 5242880 bytes"),
        (FEED, HttpAnswer(200, {"content-encoding": "gzip"}, b"[]"), "the answer is encoded .'gzip'."),
        (FEED, answer([], 301, location="https://10.0.0.1/"), "status 301: redirects are not followed"),
        (FEED, answer([], 401), "https://api.example.com answered with the status 401: does the request have the right credentials"),
        (FEED, answer([], 403), "status 403: does the request have the right credentials"),
        (FEED, answer([], 404), "status 404: is the address right"),
    ],
)
def test_an_answer_that_a_person_has_to_look_at_says_what_is_wrong(plan: HttpPlan, found: HttpAnswer, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        polled_of(plan, None, found, NOW)


@pytest.mark.parametrize(
    ("bad", "why", "text"),
    [
        (rb'{"id":2,"n":"cut \ud83d"}', "not UTF-8: ", "not JSON: {'id': 2, 'n': 'cut \\ud83d'}"),
        (b'{"id":2,"n":1e400}', "Infinity is not JSON", "not JSON: {'id': 2, 'n': inf}"),
        (b'{"id":2,"n":NaN}', "NaN is not JSON", "not JSON: {'id': 2, 'n': nan}"),
        (b'{"id":2,"id":3}', "is not JSON: ", "not JSON: an object with repeated keys [('id', 2), ('id', 3)]"),
        (b'{"id":2,"n":"\xff"}', "not UTF-8: ", "not JSON: {'id': 2, 'n': '\\udcff'}"),
        (b'{"id":2,"n":' + b"[" * 50 + b"]" * 50 + b"}", "more than 48 containers", "not JSON: {'id': 2, 'n': [[[["),
    ],
)
def test_an_item_that_is_not_strict_json_is_refused_alone_with_its_index(bad: bytes, why: str, text: str) -> None:
    polled = polled_of(FEED, None, HttpAnswer(200, {}, b'[{"id":1},' + bad + b',{"id":3}]'), NOW)
    page = page_of(PollState(), polled, field_identity("id"))
    assert [item.id for item in (page.items[0], page.items[2])] == ["id/1", "id/3"]
    wrong = page.items[1]
    assert (wrong.value, wrong.wrong.startswith("items[1] "), why in wrong.wrong) == (None, True, True), wrong.wrong
    assert written(wrong).startswith(text)
    written(wrong).encode()
    with pytest.raises(MessageRefused):
        read_back(written(wrong))


def test_the_largest_answer_is_read() -> None:
    assert polled_of(FEED, None, HttpAnswer(200, {"content-encoding": "Identity "}, b"[]" + b" " * (MOST_BODY_BYTES - 2)), NOW) is not None


@pytest.mark.parametrize("status", [408, 423, 425, 429, 500, 502, 503, 599])
def test_a_source_that_is_away_is_asked_again_and_one_that_names_a_time_then(status: int) -> None:
    with pytest.raises(Unavailable, match=f"answered with the status {status}") as away:
        polled_of(FEED, None, answer([], status), NOW)
    assert not isinstance(away.value, SourceBusy)
    with pytest.raises(Unavailable) as asked:
        polled_of(FEED, None, answer([], status, retry_after="30"), NOW)
    assert isinstance(asked.value, SourceBusy) == (status in (429, 503))
    if isinstance(asked.value, SourceBusy):
        assert asked.value.seconds == 30
        assert str(asked.value) == f"poll: https://api.example.com answered with the status {status}; it asks to wait 30 s"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0), (" 7 ", 7.0), ("99999999", 86_400.0), ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0), ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
        ("Sat, 03 Jan 2026 00:00:00 GMT", 86_400.0), ("Thu, 01 Jan 2026 00:00:60 GMT", 59.0), ("", None), ("-1", None), ("1.5", None),
        ("Thu, 32 Jan 2026 00:00:00 GMT", None), ("Thu, 01 Foo 2026 00:00:00 GMT", None), ("²", None), ("99999999999", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date_and_at_most_a_day(text: str, seconds: float | None) -> None:
    assert retry_after(text, NOW) == seconds


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (5, "is not an address"), ("api.example.com/x", "cannot be polled"), ("http://api.example.com/x", "is not encrypted"),
        ("ftp://api.example.com/x", "is not encrypted"), ("https://u:p@api.example.com/", "an address with a password"),
        ("https://api.example.com/#f", "cannot be polled"), ("https://api.example.com/{other}", "cannot be polled"),
        ("https://{cursor}/x", "cannot be polled"), ("https://api.example.com/a b", "is not an address"),
        ("https://api.example.com:x/", "Port could not be cast"), ("https:///x", "cannot be polled"),
        ("https://exämple.com/", "is not an address"), ("http://10.0.0.1/", "is not encrypted"),
    ],
)  # fmt: skip
def test_an_address_that_is_not_polled_is_refused_where_it_is_declared(url: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        http(url, cursor="next" if "{cursor}" in str(url) else None)


@pytest.mark.parametrize("url", ["http://localhost:8000/x", "http://127.0.0.1/x", "http://[::1]:80/", "https://10.0.0.7/", "https://a.de"])
def test_this_machine_needs_no_tls_and_an_address_may_be_private(url: str) -> None:
    assert http(url).plan.url == url


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cursor": "next"}, "give both {cursor} in the address and cursor="), ({"items": 5}, "items, start: give texts"),
        ({"start": 0}, "items, start: give texts"), ({"headers": {"If-None-Match": "x"}}, "'If-None-Match' cannot be given"),
        ({"headers": {"a b": "x"}}, "'a b' cannot be given"), ({"headers": {"A": "x\ny"}}, "the value of A is not a text"),
        ({"headers": {"A": 5}}, "the value of A is not a text"),
        ({"headers": {"A": "ssm:/token"}}, "ssm:/token of A is not the name of a parameter in"),
        ({"headers": {"A": "ssm:shop/token"}}, "is not the name of a parameter"),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_honoured_is_refused(options: Mapping[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        http("https://api.example.com/", **options)


def test_a_place_for_the_cursor_needs_its_path() -> None:
    with pytest.raises(OptionError, match="or leave both out"):
        http(URL)
    with pytest.raises(OptionError, match=r"is not a path such as 'meta\.next'"):
        http(URL, cursor="")


def test_a_whole_poll_over_the_wire_reads_pages_then_only_asks_whether_they_changed() -> None:
    pages = [
        answer({"rows": [{"id": 1}, {"id": 2}], "next": "2"}), answer({"rows": [{"id": 3}], "next": None}, etag='"v1"'), answer("", 304),
        answer("", 429, retry_after="3000"), answer({"rows": [{"id": 3}, {"id": 4}], "next": None}, etag='"v2"'),
    ]  # fmt: skip
    with served(*pages) as api:
        app, ran = Sedano("shop"), list[int]()
        token = {"Authorization": "ssm:/shop/orders/token"}
        source = http(f"{api.url}/orders?after={{cursor}}", items="rows", cursor="next", headers=token)
        app.poll("orders", every(300), source, identity="id")(app.task(name="ordered")(lambda order: ran.append(order["id"])))
        with testing.world(app, parameters={"/shop/orders/token": "Bearer abc\n"}) as world:
            world.elapse(3_600 + 900)
            assert ran == [1, 2, 3, 4]
    assert [path for path, *_ in api.requests] == ["/orders?after=", *["/orders?after=2"] * 6]
    assert {headers["authorization"] for _, headers, _ in api.requests} == {"Bearer abc"}
    assert [headers.get("if-none-match") for _, headers, _ in api.requests[:6]] == [None, None, '"v1"', '"v1"', '"v1"', '"v2"']
    assert api.requests[0].headers["host"] == f"127.0.0.1:{api.server_port}"


def test_a_missing_parameter_fails_the_poll_with_the_command_that_stores_it() -> None:
    app = Sedano("shop")
    source = http("https://api.example.com/", headers={"Authorization": "ssm:/shop/orders/token"})
    app.poll("orders", every(300), source)(app.task(name="ordered")(lambda order: None))
    with testing.world(app) as world:
        world.elapse(590)
        told = str([line for line in world.telemetry.lines if "put-parameter" in str(line)])
        assert "--name /shop/orders/token" in told


def fetched(api: Peer, path: str = "/feed") -> Polled | None:
    """What the source at *path* returns."""
    return http(f"{api.url}{path}").read(None, lambda name: "")


def test_an_answer_of_the_most_bytes_is_read_and_a_longer_one_is_refused() -> None:
    with served(HttpAnswer(200, {}, b"[]".ljust(MOST_BODY_BYTES)), HttpAnswer(200, {}, b"[]".ljust(MOST_BODY_BYTES + 1))) as api:
        assert fetched(api) == Polled([], {"at": ""})
        with pytest.raises(ConfigurationError, match="more than 5242880 bytes"):
            fetched(api)


def test_an_answer_that_ends_early_and_a_closed_port_are_unavailable() -> None:
    with served(HttpAnswer(200, {"content-length": "100"}, b"[1, 2]")) as api:
        with pytest.raises(Unavailable, match="did not answer: HTTPException: the answer ended early"):
            fetched(api)
        port = api.server_port
    with pytest.raises(Unavailable, match="did not answer: ConnectionRefusedError"):
        http(f"http://127.0.0.1:{port}/").read(None, lambda name: "")


def test_a_redirect_is_not_followed() -> None:
    elsewhere = HttpAnswer(302, {"location": "http://169.254.169.254/"}, b"")
    with served(elsewhere) as api, pytest.raises(ConfigurationError, match="redirects are not followed"):
        fetched(api)
    assert len(api.requests) == 1


def test_a_server_that_does_not_speak_tls_is_unavailable() -> None:
    with served(answer([])) as api, pytest.raises(SedanoError, match="did not answer: SSLError"):
        http(f"https://127.0.0.1:{api.server_port}/").read(None, lambda name: "")


class Slow(threading.Thread):
    """A server for one request that writes *first* at once, and then one byte of *rest* whenever *pause* (s) has passed."""

    def __init__(self, first: bytes, rest: bytes, pause: float) -> None:
        """Listen."""
        super().__init__(daemon=True)
        self.first, self.rest, self.pause, self.over = first, rest, pause, threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.start()

    def run(self) -> None:
        """Answer until the client has gone."""
        channel, _ = self.server.accept()
        with channel, suppress(OSError):
            channel.recv(65_536)
            channel.sendall(self.first)
            for byte in self.rest:
                if self.over.wait(self.pause):
                    return
                channel.sendall(bytes([byte]))
            self.over.wait()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End it."""
        self.over.set()
        self.join()
        self.server.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "rest"),
    [(b"", b""), (b"", HEAD + b" " * 100_000), (b"HTTP/1.1 200 OK\r\n", b"X" * 100_000), (HEAD, b""), (HEAD, b" " * 100_000)],
    ids=["nothing", "all of it slowly", "a header without end", "no body", "the body slowly"],
)
def test_a_source_that_is_slower_than_its_time_is_unavailable_however_it_writes(first: bytes, rest: bytes) -> None:
    with Slow(first, rest, 0.02) as slow:
        plan = plan_of(f"http://127.0.0.1:{slow.server.getsockname()[1]}/", "", None, "", None)
        source, began = HttpSource(plan, answer_timeout_s=0.2), time.monotonic()
        with pytest.raises(Unavailable, match=r"did not answer: TimeoutError: the answer is not complete after 0\.2 s"):
            source.read(None, lambda name: "")
        assert 0.2 <= time.monotonic() - began < 20
