"""The addresses of a user's URL: which are allowed, and how each client that sends requests to such URLs uses them."""

import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sedano.aws.sinks.webhook import WebhookSink
from sedano.errors import ConfigurationError, OptionError, Unavailable
from sedano.memory.webhook_secrets import MemorySecretTexts
from sedano.model.addresses import HttpUrl, http_url, is_function_url, literal_address, may_connect
from sedano.model.messages.message import Document
from sedano.model.sinks.content import content_of
from sedano.model.sinks.places import place_of
from sedano.model.sources.http_polls import HttpAnswer, plan_of
from sedano.outbound.addresses import CheckedHosts, first_answer
from sedano.outbound.connections import connection_to
from sedano.outbound.http_polls import HttpSource
from tests.certificates import certificate
from tests.unit.http_peer import served

LINK_LOCAL = [
    "169.254.169.254", "169.254.170.2", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1", "::a9fe:a9fe", "::ffff:0:169.254.169.254", "::ffff:0:e000:1",
    "64:ff9b:1::a9fe:a9fe", "64:ff9b:1::808:808", "64:ff9b::a9fe:aa02", "::ffff:224.0.0.1",
]  # fmt: skip
PRIVATE = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "::1", "::ffff:10.0.0.1", "fd12::1", "198.18.0.1", "192.0.2.1",
    "240.0.0.1", "fec0::1", "4000::1", "5f00::1", "1fff::1", "::ffff:0:8.8.8.8", "::ffff:0:10.0.0.1",
    "64:ff9b::a00:7", "2002:a00:7::1", "::a00:7", "64:ff9b::7f00:1",
]  # fmt: skip
ZONES = ["fd00:ec2::254%1", "fd00:ec2::23%eth0", "::1%1", "fe80::1%1", "2606:4700::1%1", "::ffff:8.8.8.8%1", "64:ff9b::a9fe:a9fe%1"]
NEVER = ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "", "2130706433", "0x7f000001", "127.1", "example.org", "1.2.3.4.5", *ZONES]  # noqa: S104
PUBLIC = [
    "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
    "2606:4700::a00:7", "3ffe::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_a_request_may_go_to_a_public_address(address: str) -> None:
    assert may_connect(address, True)
    assert may_connect(address, False)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_request_goes_to_a_private_address_only_if_the_url_contains_it(address: str) -> None:
    assert not may_connect(address, True)
    assert may_connect(address, False)


@pytest.mark.parametrize("address", [*LINK_LOCAL, *NEVER])
def test_a_request_never_goes_where_a_host_gives_out_its_credentials_or_to_a_text_that_is_not_an_address(address: str) -> None:
    assert not may_connect(address, True)
    assert not may_connect(address, False)


def test_only_an_address_in_its_usual_form_is_a_literal_address() -> None:
    assert [literal_address(one) for one in ("10.0.0.1", "[::1]", "::1", "127.1", "0x7f.0.0.1", "example.org")] == [
        "10.0.0.1", "::1", "::1", None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["a..b", ".a", "a" * 64, f"a.{'b' * 64}.c", ".".join(["a" * 60] * 5), "[fd00:ec2::254%1]", "a:0", "a..", "."]
)
def test_a_url_to_whose_host_no_request_can_go_is_refused_where_it_is_declared(name: str) -> None:
    words = r"characters|no zone|port 0"
    with pytest.raises(OptionError, match=words):
        plan_of(f"https://{name}/", "", None, "", None)
    with pytest.raises(ConfigurationError, match=words):
        place_of(f"https://{name}/")
    with pytest.raises(ConfigurationError, match=words):
        is_function_url(f"https://{name}/")


@pytest.mark.parametrize("name", ["a" * 63, "a.b.example.org", ".".join(["a" * 62] * 4), "a:1", "a:65535", "[2606:4700::1]", "10.0.0.7"])
def test_a_url_to_whose_host_a_request_can_go_is_declared(name: str) -> None:
    url = f"https://{name}/"
    assert plan_of(url, "", None, "", None).url == place_of(url).text == url
    assert is_function_url(url)


@pytest.mark.parametrize("netloc", ["@a", ":@a", "u@a", ":p@a"])
def test_a_url_with_a_user_is_refused_where_it_is_declared(netloc: str) -> None:
    with pytest.raises(OptionError, match="an address with a password"):
        plan_of(f"https://{netloc}/", "", None, "", None)
    with pytest.raises(ConfigurationError, match="is not the place of a sink"):
        place_of(f"https://{netloc}/")
    with pytest.raises(ConfigurationError, match="it has no host, or a user"):
        is_function_url(f"https://{netloc}/")


@pytest.mark.parametrize("name", ["worker", "arn:aws:lambda:eu-west-1:123456789012:function:worker:live", "worker:3", "127.0.0.1:9"])
def test_a_function_is_named_or_has_a_url(name: str) -> None:
    assert not is_function_url(name)
    assert is_function_url("http://127.0.0.1:8000/in")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:80@evil.example/", "http://127.0.0.1.evil.example/", "http://[::1", "https://", "https://a:x/", "ftp://a/"]
)  # fmt: skip
def test_a_url_to_another_host_is_not_the_url_of_a_function(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not the URL of a function; write https://HOST/, http://127"):
        is_function_url(url)


def test_a_host_that_the_name_server_cannot_be_asked_about_is_an_error_of_the_declaration() -> None:
    def resolve(host: str, port: int) -> list[str]:
        raise UnicodeError("label empty or too long")

    with pytest.raises(ConfigurationError, match=r"poll: 'a\.\.b' is not the name of a host: label empty"):
        CheckedHosts("poll", "advice", resolve).addresses("a..b", 443)


def test_the_parts_of_a_url() -> None:
    assert http_url("https://api.example.com/a/b?c=d") == HttpUrl(
        secure=True, host="api.example.com", port=443, origin="https://api.example.com", host_header="api.example.com", target="/a/b?c=d"
    )
    assert http_url("http://[::1]:8080") == HttpUrl(
        secure=False, host="::1", port=8080, origin="http://[::1]:8080", host_header="[::1]:8080", target="/"
    )
    assert http_url("").host == ""
    assert (http_url("http://127.0.0.1?a").target, http_url("http://127.0.0.1?a").port) == ("/?a", 80)


def test_the_addresses_of_a_host_share_the_time_for_a_connection_and_the_last_one_has_what_is_left() -> None:
    asked, now = list[tuple[str, float]](), [100.0]

    def connect(address: str, seconds: float) -> str:
        asked.append((address, round(seconds, 3)))
        now[0] += seconds if address == "slow" else 0.5
        raise OSError(address)

    with pytest.raises(OSError, match="last"):
        first_answer(["slow", "fast", "last"], connect, 6.0, now=lambda: now[0])
    assert asked == [("slow", 2.0), ("fast", 2.0), ("last", 3.5)]


def test_an_address_gets_a_second_even_if_no_time_is_left() -> None:
    now, given = iter([0.0, 9.0, 9.0]), list[float]()

    def connect(address: str, seconds: float) -> None:
        given.append(seconds)
        raise OSError(address)

    with pytest.raises(OSError, match="b"):
        first_answer(["a", "b"], connect, 5.0, now=lambda: next(now))
    assert given == [1.0, 1.0]


def refusing(asked: list[tuple[str, float]]) -> Callable[[str, float], None]:
    """A network without any host."""

    def connect(address: str, seconds: float) -> None:
        asked.append((address, seconds))
        raise OSError(address)

    return connect


@pytest.mark.parametrize(
    ("addresses", "tried"),
    [
        (["1.1.1.1"], ["1.1.1.1"]),
        ([f"1.1.1.{one}" for one in range(12)], ["1.1.1.0", "1.1.1.1", "1.1.1.2", "1.1.1.3"]),
        (["::1", "::2", "::3", "::4", "::5", "1.1.1.1", "1.1.1.2"], ["::1", "::2", "::3", "1.1.1.1"]),
        (["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "::1"], ["1.1.1.1", "1.1.1.2", "1.1.1.3", "::1"]),
        (["1.1.1.1", "::1", "1.1.1.3", "1.1.1.4", "::2"], ["1.1.1.1", "::1", "1.1.1.3", "1.1.1.4"]),
    ],
)
def test_four_addresses_are_tried_of_both_versions_of_ip_and_each_has_a_second(addresses: list[str], tried: list[str]) -> None:
    asked = list[tuple[str, float]]()
    with pytest.raises(OSError, match=tried[-1]):
        first_answer(addresses, refusing(asked), 2.0, now=lambda: 7.0)
    assert [address for address, _ in asked] == tried
    assert min(seconds for _, seconds in asked) == (1.0 if len(tried) > 1 else 2.0)


def test_the_port_that_the_scheme_means_is_not_named_in_the_header() -> None:
    for url, port in (("https://api.example.org/", 443), ("http://api.example.org/", 80)):
        tls = ssl.create_default_context() if port == 443 else None
        connection = connection_to(http_url(url), ["127.0.0.1"], 1.0, 1.0, tls)
        assert (connection.port, connection.default_port) == (port, port)


def test_an_error_after_the_connection_ends_the_search() -> None:
    def connect(address: str, seconds: float) -> None:
        raise ValueError(address)

    with pytest.raises(ValueError, match="a"):
        first_answer(["a", "b"], connect, 5.0)


CONTENT = content_of(Document("price/7", "t-1", "price", "shop@host", 1.9e9, value={"cents": 199}))
NOT_PUBLIC = [
    "127.0.0.1", "10.0.0.7", "169.254.169.254", "93.184.216.34 127.0.0.1", "::1", "fd00:ec2::254", "::ffff:127.0.0.1",
    "64:ff9b::a00:7", "ff02::1",
]  # fmt: skip
Request = Callable[..., Any]


def polled(url: str, **options: Any) -> Any:
    """Read one page of the poll of *url*."""
    return HttpSource(plan_of(url, "", None, "", None), **options).read(None, lambda name: "")


def delivered(url: str, **options: Any) -> bool:
    """Deliver a document to the webhook at *url*."""
    return WebhookSink(url, MemorySecretTexts({"hook": "whsec_c2VjcmV0"}), lambda: 1.9e9, **options).write("hook", CONTENT)


each_client = pytest.mark.parametrize("request_to", [polled, delivered])


def answering(*addresses: str) -> Callable[[str, int], list[str]]:
    """A name server that gives these addresses."""
    return lambda host, port: list(addresses)


def without_address(host: str, port: int) -> list[str]:
    """A name server that does not know the host."""
    raise OSError("Name or service not known")


def every(address: str, named: bool) -> bool:
    """Allow each address."""
    return True


def page() -> HttpAnswer:
    """A page without items."""
    return HttpAnswer(200, {}, b"[]")


@each_client
@pytest.mark.parametrize("addresses", [one.split() for one in NOT_PUBLIC])
def test_a_name_with_an_address_that_is_not_public_gets_no_request(request_to: Request, addresses: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=f"the host api.example.org has the address {addresses[-1]}, which is not public"):
        request_to("https://api.example.org/", resolve=answering(*addresses))


@each_client
def test_an_address_at_which_a_host_gives_out_its_credentials_gets_no_request_even_if_the_url_contains_it(request_to: Request) -> None:
    with pytest.raises(ConfigurationError, match=r"the host 169\.254\.169\.254 has the address 169\.254\.169\.254, which is not public"):
        request_to("https://169.254.169.254/latest")


@each_client
def test_a_name_without_an_address_is_tried_later_and_an_empty_answer_of_the_name_server_is_an_error(request_to: Request) -> None:
    with pytest.raises(Unavailable, match=r"the host api\.example\.org has no address now: Name or service"):
        request_to("https://api.example.org/", resolve=without_address)
    with pytest.raises(ConfigurationError, match="has the address none"):
        request_to("https://api.example.org/", resolve=answering())


@each_client
def test_a_request_goes_to_the_next_address_if_one_does_not_answer(request_to: Request) -> None:
    with served(page()) as peer:
        url = f"http://localhost:{peer.server_port}/"
        assert request_to(url, resolve=answering("::1", "127.0.0.9", "127.0.0.1"), allows=every)
        with pytest.raises(Unavailable, match="did not answer: "):
            request_to(url, resolve=answering("127.0.0.8", "127.0.0.9"), allows=every)
    assert len(peer.requests) == 1


def test_a_webhook_keeps_its_connection_and_uses_the_address_that_answered_until_it_is_away() -> None:
    with served(page()) as peer:
        found = ["127.0.0.9", "127.0.0.1"]
        url, secrets = f"http://localhost:{peer.server_port}/", MemorySecretTexts({"hook": "whsec_c2VjcmV0"})
        sink = WebhookSink(url, secrets, lambda: 1.9e9, lambda host, port: found, every)
        assert sink.write("hook", CONTENT)
        assert sink.write("hook", CONTENT)
        assert (len(peer.requests), peer.connections) == (2, 1)
        found[:] = ["127.0.0.9"]
        with pytest.raises(Unavailable):
            sink.write("hook", CONTENT)
        found[:] = ["127.0.0.9", "127.0.0.1"]
        assert sink.write("hook", CONTENT)
    assert (len(peer.requests), peer.connections) == (3, 2)


@each_client
@pytest.mark.parametrize("name", ["api.example.org", "other.example.org"])
def test_a_request_goes_to_the_checked_address_under_the_certificate_of_the_name(request_to: Request, name: str, tmp_path: Path) -> None:
    file = certificate(tmp_path, name)
    with served(page(), certificate=file) as peer:
        trusting = ssl.create_default_context(cafile=str(file))
        url = f"https://api.example.org:{peer.server_port}/in"
        options = {"resolve": answering("127.0.0.1"), "allows": every, "tls": trusting}
        if name == "api.example.org":
            assert request_to(url, **options)
            assert peer.requests[0].headers["host"] == f"api.example.org:{peer.server_port}"
        else:
            with pytest.raises(Unavailable, match="did not answer: SSL"):
                request_to(url, **options)
            assert peer.requests == []


@each_client
def test_a_handshake_without_an_end_leads_to_the_next_address(request_to: Request, tmp_path: Path) -> None:
    file = certificate(tmp_path, "api.example.org")
    with served(page(), certificate=file) as peer, socket.create_server(("127.0.0.9", peer.server_port)):
        trusting = ssl.create_default_context(cafile=str(file))
        found = answering("127.0.0.9", "127.0.0.1")
        assert request_to(f"https://api.example.org:{peer.server_port}/in", resolve=found, allows=every, tls=trusting)
    assert len(peer.requests) == 1
