"""The form of a service's requests, learned from one that botocore prepared and did not send.

Learning instead of knowing: the endpoint rules (FIPS, dual stack, the account's own endpoint), the User-Agent, the query mode of SQS and
the set of the signed headers are whatever this version of botocore makes of this configuration. A form is used only if the slim signature
of the learned request is the one that botocore computed.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.client import BaseClient, ClientCreator
from botocore.endpoint import Endpoint
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

from sedano.aws.client.slim.connections import EndpointAddress
from sedano.aws.client.slim.signature import Identity, SlimSigner

PROBES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "dynamodb": ("GetItem", {"TableName": "sedano", "Key": {"pk": {"S": "sedano"}}}),
    "sqs": ("ReceiveMessage", {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/sedano"}),
}
"""The call of each service whose request is learned from."""
EVENTS = (
    "provide-client-params", "before-endpoint-resolution", "before-call", "request-created", "choose-signer", "before-sign", "before-send",
    "response-received", "before-parse", "needs-retry", "after-call-error",
)  # fmt: skip
"""The events of a call that the slim client does not emit. It emits `before-parameter-build` and `after-call`."""
KNOWN_HANDLERS = ("botocore.", "aws_lambda_powertools.shared.user_agent")
"""The modules whose handlers of these events are known: the slim client does what they do. Powertools' adds its words to the User-Agent."""
_WAY: tuple[tuple[type, str], ...] = (
    (BaseClient, "_make_api_call"), (BaseClient, "_make_request"), (Endpoint, "make_request"), (Endpoint, "create_request"),
    (Endpoint, "prepare_request"), (Endpoint, "_send_request"), (Endpoint, "_send"), (URLLib3Session, "send"),
)  # fmt: skip
"""The functions of botocore through which each call goes, by their classes."""
_EACH_TIME = frozenset({
    "accept-encoding", "amz-sdk-invocation-id", "amz-sdk-request", "authorization", "content-length", "host", "x-amz-date",
    "x-amz-security-token", "x-amz-target", "x-amzn-trace-id",
})  # fmt: skip
"""Headers that differ from request to request."""
_ALWAYS = frozenset({"content-type", "user-agent", "x-amzn-query-mode"})
"""Headers that are the same in all requests of a client. A request with any other header is left to botocore."""
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, SignedHeaders=(?P<names>[^,]+), "
    r"Signature=[0-9a-f]{64}"
)


class Declined(Exception):
    """The reason why a client's calls are left to botocore."""


class RequestForm(NamedTuple):
    """How requests of one client look.

    *trusted*: the file of the certificates that are trusted, or True for those of botocore. *signed* and *unsigned*: the headers that are
    the same each time, names in lower case. *target*: the prefix of `x-amz-target`.
    """

    address: EndpointAddress
    host: str
    trusted: str | bool
    signer: SlimSigner
    signed: tuple[tuple[str, str], ...]
    unsigned: tuple[tuple[str, str], ...]
    target: str

    def request(self, operation: str, identity: Identity, body: bytes, date: str) -> bytes:
        """Return the whole signed request for *operation* with this *body*, signed at *date* (as `x-amz-date` has it)."""
        signed = [*self.signed, ("host", self.host), ("x-amz-date", date), ("x-amz-target", self.target + operation)]
        if identity.token:
            signed.append(("x-amz-security-token", identity.token))
        signed.sort()
        authorization = self.signer.authorization(identity, signed, body, date)
        unsigned = [*self.unsigned, ("authorization", authorization), ("accept-encoding", "identity"), ("content-length", str(len(body)))]
        if trace := trace_header(os.environ):
            unsigned.append(("x-amzn-trace-id", trace))
        lines = "".join([f"{name}: {value}\r\n" for name, value in (*signed, *unsigned)])
        return f"POST / HTTP/1.1\r\n{lines}\r\n".encode() + body


def identity_of(credentials: Any) -> Identity:
    """Return the present *credentials* (of botocore), refreshed if it is time.

    Raises:
        Declined: they are missing, or hold characters that a header cannot, or not as they are.
    """
    if credentials is None:
        raise Declined("botocore finds no credentials")
    found = credentials.get_frozen_credentials()
    identity = Identity(found.access_key or "", found.secret_key or "", found.token or "")
    if identity.token != " ".join(identity.token.split()):
        raise Declined("the credentials have a session token with spaces that no signature keeps")
    if not identity.access_key or not identity.secret_key or not _is_header(identity.access_key) or not _is_header(identity.token):
        raise Declined("the credentials are not those of AWS")
    return identity


def way_of_calls() -> tuple[Any, ...]:
    """Return the functions through which the calls of botocore's clients go at present. A tracer replaces one of them."""
    return tuple([vars(owner).get(name) for owner, name in _WAY])


def is_botocores(function: Any) -> bool:
    """Return whether *function* is of botocore, and not a tracer's around it; those of wrapt say of themselves that they are functions."""
    return type(function) is FunctionType and str(function.__globals__.get("__name__", "")).startswith("botocore.")


def learned(client: Any, service: str, credentials: Any) -> RequestForm:
    """Return the form of the requests of a botocore *client*, whose events nothing of sedano observes yet.

    Args:
        client: the client, just made.
        service: its service, one of `PROBES`.
        credentials: botocore's credentials of the client.

    Raises:
        Declined: the client has something that only botocore can honour; the message says what.
    """
    try:
        http = client._endpoint.http_session  # noqa: SLF001 - only the session knows what it trusts, and the options of its sockets
        trusted, options = http._verify, http._socket_options  # noqa: SLF001
    except AttributeError:
        raise Declined("its HTTP session is of a botocore of another kind") from None
    for reason in _obstacles(client, service, trusted, options):
        raise Declined(reason)
    identity = identity_of(credentials)
    return _form(_prepared(client, service), identity, trusted)


def _obstacles(client: Any, service: str, trusted: Any, options: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Yield what of the client's configuration only botocore honours; *trusted*, *options*: those of its HTTP session."""
    config, url = client.meta.config, client.meta.endpoint_url
    yield from (f"{module} observes {event}" for event, module in _observers(client, service))
    if not all(map(is_botocores, (*way_of_calls(), vars(ClientCreator).get("_create_api_method")))):
        yield "the calls of all clients are traced or replaced"
    yield from (f"{name} of the client is traced or replaced" for name in _replaced(client))
    if config.proxies or get_environ_proxies(url):
        yield "a proxy is configured"
    if config.client_cert or not (trusted is True or (isinstance(trusted, str) and Path(trusted).is_file())):
        yield "certificates are configured that are not one file of trusted ones"
    if config.retries is None or config.retries.get("mode") != "standard" or "total_max_attempts" not in config.retries:
        yield "retries are not in the standard mode"
    if not all(isinstance(one, int | float) for one in (config.connect_timeout, config.read_timeout)):
        yield "a timeout is not a number of seconds"
    if (socket.SOL_SOCKET, socket.SO_KEEPALIVE) in [option[:2] for option in options] or config.signature_version not in ("v4", None):
        yield "TCP keep-alive or another signature is configured"


def _replaced(client: Any) -> Iterator[str]:
    """Yield each method of *client* that makes calls and is not botocore's."""
    own = vars(client)
    for name in (*client.meta.method_to_api_mapping, "_make_api_call", "_make_request"):
        if name in own or not is_botocores(getattr(type(client), name, None)):
            yield name


def _observers(client: Any, service: str) -> Iterator[tuple[str, str]]:
    """Yield each handler of `EVENTS` that is not known: the event, and the handler's module."""
    operation = PROBES[service][0]
    try:
        search = client.meta.events._emitter._handlers.prefix_search  # noqa: SLF001 - botocore has no public list of its handlers
    except AttributeError:
        yield "all events", "a botocore of another kind"
        return
    for event in EVENTS:
        for handler in search(f"{event}.{service}.{operation}"):
            module = str(getattr(handler, "__module__", ""))
            if not module.startswith(KNOWN_HANDLERS):
                yield event, module


def _prepared(client: Any, service: str) -> Any:
    """Return the request that botocore would send for the probe of *service*."""
    operation, parameters = PROBES[service]
    seen: list[Any] = []

    def keep(request: Any, **_: Any) -> AWSResponse:
        seen.append(request)
        headers: Any = HeadersDict({"x-amzn-requestid": "sedano"})  # the stubs declare the type of an older botocore
        return AWSResponse(request.url, 200, headers, _Nothing())

    event = f"before-send.{service}.{operation}"
    client.meta.events.register_first(event, keep)
    try:
        getattr(client, re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower())(**parameters)
    except BotoCoreError as error:
        raise Declined(str(error)) from error
    finally:
        client.meta.events.unregister(event, keep)
    if not seen:
        raise Declined("botocore did not prepare the request")
    return seen[0]


class _Nothing:
    """The empty body of a response."""

    def stream(self) -> Iterator[bytes]:
        """Yield an empty object."""
        yield b"{}"


def _form(request: Any, identity: Identity, trusted: str | bool) -> RequestForm:
    headers = {name.lower(): value.decode() if isinstance(value, bytes) else str(value) for name, value in request.headers.items()}
    parts = urlsplit(request.url)
    address, host = EndpointAddress.of(request.url), parts.netloc
    unknown = sorted(headers.keys() - _EACH_TIME - _ALWAYS)
    if parts.scheme not in ("http", "https") or parts.path not in ("", "/") or parts.query or parts.username or not address.host:
        raise Declined(f"the endpoint is not a host alone: {request.url}")
    if unknown or not all(map(_is_header, (host, *headers.values()))):
        raise Declined(f"requests have unknown headers: {', '.join(unknown)}")
    found = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if found is None:
        raise Declined("requests are not signed with Signature Version 4")
    host = _without_default_port(parts, host)
    signer, names = SlimSigner(found["region"], found["service"]), found["names"].split(";")
    whole = [(name, " ".join({**headers, "host": host}[name].split())) for name in names if name in headers or name == "host"]
    if signer.authorization(identity, whole, request.body, headers.get("x-amz-date", "")) != headers["authorization"]:
        raise Declined("the signature of a request is not botocore's")
    same = [(name, " ".join(value.split())) for name, value in headers.items() if name in _ALWAYS]
    return RequestForm(
        address=address, host=host, trusted=trusted, signer=signer, target=headers["x-amz-target"].rpartition(".")[0] + ".",
        signed=tuple(pair for pair in same if pair[0] in names), unsigned=tuple(pair for pair in same if pair[0] not in names),
    )  # fmt: skip


def _without_default_port(parts: Any, host: str) -> str:
    """Return the Host header as botocore signs it: without the port that the scheme implies."""
    return host.rpartition(":")[0] if parts.port == {"http": 80, "https": 443}[parts.scheme] else host


def _is_header(text: str) -> bool:
    return text.isascii() and (text == "" or text.isprintable())


def trace_header(environment: Mapping[str, str]) -> str:
    """Return the trace of the invocation that *environment* describes, as botocore sends it from a Lambda function in the header
    `X-Amzn-Trace-Id`; "" elsewhere.
    """
    if "AWS_LAMBDA_FUNCTION_NAME" not in environment:
        return ""
    return quote(environment.get("_X_AMZN_TRACE_ID", ""), safe="-=;:+&[]{}\"',")
