"""The request filter of the local stage: an ASGI application around the emulator's own, through which every request passes.

Theory: a web page that the developer opens can make the browser send requests to 127.0.0.1, and by DNS rebinding read the answers. The
filter refuses all requests that a browser sends for a page, and all requests that are not signed with this run's credentials.

Invariants. A request reaches the emulator only if
1. its `Host` is a loopback name with this stage's port (rebinding sends the page's own name);
2. it has no `Origin`, and its `Sec-Fetch-Site`, if any, is `none` (a browser adds one of them to every request of a page);
3. it is signed (`signature`) by a key of this run: the developer's, or a role's session that the emulator issued; or it addresses a
   function URL, which is open on AWS as well and reaches only that function.
No answer has a CORS header. Websockets are refused, because no part of a stage uses them.

It does not protect from programs of the same user on the same machine, which can read this run's credentials. If IAM is enforced (in
tests), ministack derives a function's session from the names of the function and its role, so a program that can guess both has that role.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any
from xml.sax.saxutils import escape

from sedano.emulator.signature import Proof, Request, SignatureRefusedError, proof_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

FORBIDDEN = 403
HINT = "use the variables that this run of the local stage printed"
_FUNCTION_URL = re.compile(r"/_aws/lambda-url/[a-z0-9-]{1,64}(/.*)?", re.DOTALL)
_SPEAK_XML = frozenset({"s3", "sts", "iam", "cloudformation", "sns", "ec2", "monitoring"})
_LOG = logging.getLogger("sedano.gate")


class SignatureGate:
    """An ASGI application that passes accepted requests to *inner*; *secret_of* returns the secret of a key, None if it is unknown."""

    def __init__(
        self, inner: Application, hosts: Collection[str], secret_of: Callable[[str], str | None], clock: Callable[[], float] = time.time
    ) -> None:
        """Accept requests to *hosts* (names with port); *clock* returns Unix seconds."""
        self._inner, self._hosts, self._secret_of, self._clock = inner, frozenset(hosts), secret_of, clock

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection of the server."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        request = _request(scope)
        try:
            self._check_origin(scope)
            if _FUNCTION_URL.fullmatch(scope["path"]) is None:
                receive = await self._signed(request, receive)
        except SignatureRefusedError as refused:
            _LOG.warning("refused %s %.200r: %s: %s", request.method, request.path, refused.code, refused)
            await _refuse(send, request, refused)
        else:
            await self._inner(scope, receive, _without_cors(send))

    def _check_origin(self, scope: Mapping[str, Any]) -> None:
        """Refuse a request that a browser sends for a page."""
        given = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in given if name == "host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise SignatureRefusedError("AccessDenied", f"the local stage answers only at {' and '.join(sorted(self._hosts))}")
        if any(name == "origin" or (name == "sec-fetch-site" and value != "none") for name, value in given):
            raise SignatureRefusedError("AccessDenied", "the local stage does not answer web pages; send the request with an AWS client")

    async def _signed(self, request: Request, receive: Receive) -> Receive:
        """Check that a key of this run signed the request; return the function with which the emulator reads its body."""
        proof = proof_of(request)
        secret = self._secret_of(proof.key)
        if secret is None:
            raise SignatureRefusedError("UnrecognizedClientException", "the key is not one of this run")
        body = await _whole(receive)
        proof.check(request, secret, body, self._clock())
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        return again


def _request(scope: Mapping[str, Any]) -> Request:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        known, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[known] = f"{headers[known]},{text}" if known in headers else text
    return Request(scope["method"], scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1"), headers)


async def _whole(receive: Receive) -> bytes:
    """Return the body; refuse one that the client did not send completely, so that no partial object is stored."""
    pieces: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise SignatureRefusedError("IncompleteBody", "the client left before the end of the body")
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


def _without_cors(send: Send) -> Send:
    async def plain(message: Message) -> None:
        if "headers" in message:
            kept = [pair for pair in message["headers"] if not pair[0].lower().startswith(b"access-control-")]
            message = {**message, "headers": kept}
        await send(message)

    return plain


async def _refuse(send: Send, request: Request, refused: SignatureRefusedError) -> None:
    """Answer in the format of the requested service, so that an AWS client can read the code and the message."""
    said = f"{refused}: {HINT}"
    if _service(request) in _SPEAK_XML:
        error = f"<Error><Code>{refused.code}</Code><Message>{escape(said)}</Message></Error>"
        kind, body = "text/xml", f"<ErrorResponse>{error}</ErrorResponse>"
    else:
        kind, body = "application/json", json.dumps({"__type": refused.code, "message": said})
    headers = [(b"content-type", kind.encode()), (b"x-amzn-errortype", refused.code.encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": FORBIDDEN, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode(), "more_body": False})


def _service(request: Request) -> str:
    try:
        proof: Proof = proof_of(request)
    except SignatureRefusedError:
        return ""
    return proof.scope[2]
