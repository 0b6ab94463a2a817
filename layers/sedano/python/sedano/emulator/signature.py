"""Checks AWS Signature Version 4: the holder of a secret signed the request recently, and it was not changed since.

Theory: the signature is an HMAC over the canonical request (method, path, query, the signed headers, the digest of the body), keyed by the
secret, the day, the Region and the service. Invariants that this module adds, as AWS does:

- `host` and every `x-amz-*` header of the request are signed, so a signature cannot be moved to another call;
- the digest that was signed is the digest of the body, unless the client declared a body that is not signed (`UNSIGNED-PAYLOAD`,
  `STREAMING-…`), which S3 clients do;
- a signature in the header is valid for 15 minutes, one in the query (a presigned address) for its own period, at most 7 days.

S3 signs the path as it is sent; every other service signs it encoded once more. The module accepts a signature of either form, because a
forger cannot make one of either. Source: AWS, "Create a signed AWS API request".
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
SECONDS_OF_SKEW = 900.0
MOST_SECONDS_PRESIGNED = 7 * 86_400
_UNSIGNED = "UNSIGNED-PAYLOAD"
_STREAMED = "STREAMING-"
_FIELD = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_SCOPE = re.compile(r"([A-Za-z0-9]{3,128})/([0-9]{8})/([a-z0-9-]{1,64})/([A-Za-z0-9-]{1,64})/aws4_request")
_SIGNATURE_PARAMETER = "X-Amz-Signature"
_PRESIGNED = ("X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", _SIGNATURE_PARAMETER)


class SignatureRefusedError(Exception):
    """The request has no valid signature: AWS's *code*, and the remedy."""

    def __init__(self, code: str, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Request:
    """The signed parts of a request, as received: *path* and *query* still encoded, header names in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Proof:
    """The claims of a request: which key signed which headers, for which scope, when; *expires* is set for a presigned address."""

    key: str
    scope: tuple[str, str, str]
    moment: str
    signed: tuple[str, ...]
    signature: str
    expires: int | None

    def check(self, request: Request, secret: str, body: bytes, now: float) -> None:
        """Check that this is the signature of *request* with *body* by *secret*, valid at *now* (Unix seconds).

        Raises:
            SignatureRefusedError: a header is not signed, the signature has expired, the body differs, or the signature does not match.
        """
        self._check_headers(request.headers)
        self._check_time(now)
        digest = self._digest(request.headers, body)
        computed = [self._signature_of(request, path, digest, secret) for path in (request.path, quote(request.path, safe="/-_.~"))]
        if not any(hmac.compare_digest(one, self.signature) for one in computed):
            raise SignatureRefusedError("SignatureDoesNotMatch", "the request is not signed with this stage's credentials")

    def _check_headers(self, headers: Mapping[str, str]) -> None:
        wanted = {"host", *(name for name in headers if name.startswith("x-amz-"))}
        if unsigned := sorted(wanted - set(self.signed)):
            raise SignatureRefusedError("SignatureDoesNotMatch", f"headers that are not signed: {', '.join(unsigned)}")

    def _check_time(self, now: float) -> None:
        age = now - _seconds(self.moment)
        if not self.moment.startswith(self.scope[0]):
            raise SignatureRefusedError("SignatureDoesNotMatch", "the date of the signature differs from the date of its scope")
        if age < -SECONDS_OF_SKEW or age > (SECONDS_OF_SKEW if self.expires is None else self.expires):
            raise SignatureRefusedError("RequestExpired", "the signature is not valid at this time")

    def _digest(self, headers: Mapping[str, str], body: bytes) -> str:
        """Return the digest for the canonical request."""
        declared = headers.get("x-amz-content-sha256")
        if declared is None and self.expires is not None and self.scope[2] == "s3":
            return _UNSIGNED
        actual = hashlib.sha256(body).hexdigest()
        if declared is None or declared == actual:
            return actual
        if declared == _UNSIGNED or declared.startswith(_STREAMED):
            return declared
        raise SignatureRefusedError("XAmzContentSHA256Mismatch", "the body is not the one that was signed")

    def _signature_of(self, request: Request, path: str, digest: str, secret: str) -> str:
        headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in self.signed)
        query = _canonical(request.query)
        canonical = "\n".join((request.method, path or "/", query, headers, ";".join(self.signed), digest))
        scope = "/".join((*self.scope, "aws4_request"))
        text = "\n".join((ALGORITHM, self.moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        return hmac.new(_signing_key(secret, self.scope), text.encode(), hashlib.sha256).hexdigest()


def proof_of(request: Request) -> Proof:
    """Return the claims of *request*, from its `Authorization` header or, for a presigned address, from its query.

    Raises:
        SignatureRefusedError: it is not signed, or the signature cannot be read.
    """
    header, query = request.headers.get("authorization"), dict(_pairs(request.query))
    if header is None and "X-Amz-Algorithm" not in query:
        raise SignatureRefusedError("MissingAuthenticationToken", "the request is not signed")
    return _from_query(query) if header is None else _from_header(header, request.headers)


def _from_header(text: str, headers: Mapping[str, str]) -> Proof:
    fields = _FIELD.findall(text)
    values = dict(fields)
    if not text.startswith(f"{ALGORITHM} ") or sorted(name for name, _ in fields) != ["Credential", "Signature", "SignedHeaders"]:
        raise _unreadable()
    return _proof(values["Credential"], headers.get("x-amz-date", ""), values["SignedHeaders"], values["Signature"], None)


def _from_query(query: Mapping[str, str]) -> Proof:
    if query["X-Amz-Algorithm"] != ALGORITHM or any(name not in query for name in _PRESIGNED):
        raise _unreadable()
    credential, moment, expires, signed, signature = (query[name] for name in _PRESIGNED)
    if not re.fullmatch(r"[0-9]{1,6}", expires) or int(expires) > MOST_SECONDS_PRESIGNED:
        raise SignatureRefusedError("AuthorizationQueryParametersError", "X-Amz-Expires is at most 604800 seconds")
    return _proof(credential, moment, signed, signature, int(expires))


def _proof(credential: str, moment: str, signed: str, signature: str, expires: int | None) -> Proof:
    scope = _SCOPE.fullmatch(credential)
    if not scope or not re.fullmatch(r"[0-9]{8}T[0-9]{6}Z", moment) or not re.fullmatch(r"[0-9a-f]{64}", signature):
        raise _unreadable()
    key, day, region, service = scope.groups()
    return Proof(
        key=key, scope=(day, region, service), moment=moment, signed=tuple(signed.split(";")), signature=signature, expires=expires,
    )  # fmt: skip


def _unreadable() -> SignatureRefusedError:
    return SignatureRefusedError("IncompleteSignature", f"the signature cannot be read; sign with {ALGORITHM}")


def _seconds(moment: str) -> float:
    try:
        return datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise _unreadable() from None


def _pairs(query: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        yield unquote_to_bytes(name).decode("latin-1"), unquote_to_bytes(value).decode("latin-1")


def _canonical(query: str) -> str:
    """Return the parameters without the signature, encoded and sorted."""
    kept = [pair for pair in _pairs(query) if pair[0] != _SIGNATURE_PARAMETER]
    return "&".join(f"{name}={value}" for name, value in sorted(_encoded(kept)))


def _encoded(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, value in pairs:
        yield quote(name.encode("latin-1"), safe="-_.~"), quote(value.encode("latin-1"), safe="-_.~")


def _signing_key(secret: str, scope: Sequence[str]) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (*scope, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
