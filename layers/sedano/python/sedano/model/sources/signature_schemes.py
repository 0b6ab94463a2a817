"""The signature schemes of webhook senders. A scheme checks the headers and the body of a request against the secrets and the time.

Most are HMAC-SHA256 (RFC 2104) over the body, some with a time and an id before it: the plain form of GitHub and Shopify, Stripe's,
Slack's, and the Standard Webhooks specification 1.0. GitLab and Telegram send the secret itself. Signatures are compared in constant time.
Several secrets can be valid at once, so that a rotation does not refuse requests.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, Protocol

from sedano.errors import ConfigurationError, OptionError
from sedano.model.sources.webhooks import Answer, WebhookRequest

TOLERANCE_S = 300.0
"""Seconds. A request whose signed time is further away than this is refused as a replay of a captured request (Standard Webhooks, Stripe).
"""
ABSENT: Final = "no-signature"
MALFORMED: Final = "malformed-signature"
LATE: Final = "time"
WRONG: Final = "wrong-signature"
REFUSALS: Final = frozenset({ABSENT, MALFORMED, LATE, WRONG})
"""The reasons of a refusal; each is the dimension of a metric."""
Headers = Mapping[str, str]
_HEADER = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Scheme(Protocol):
    """The signature scheme of one kind of sender."""

    @property
    def signs(self) -> bool:
        """Whether the scheme has a secret."""

    @property
    def token_header(self) -> str:
        """The header, in lower case, that contains the secret itself and must not be stored; empty if no header does."""

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """Return the reason of a refusal, one of `REFUSALS`; None if the request is accepted. *now* is epoch s.

        Raises:
            ConfigurationError: a secret is not valid for this scheme.
        """

    def delivery(self, request: WebhookRequest) -> str:
        """Return the sender's id of the delivery; empty if this kind of sender has none."""

    def greeting(self, request: WebhookRequest) -> str | None:
        """Return the answer to a request that only verifies the address; None for any other request."""

    def told(self, answer: Answer) -> Answer:
        """Return *answer*, the response to an accepted request, in the form that this kind of sender expects."""


class _Silent:
    """A sender without ids and without address verification, which accepts any status from 200 to 299."""

    __slots__ = ()
    signs = True
    token_header = ""

    def delivery(self, request: WebhookRequest) -> str:
        return ""

    def greeting(self, request: WebhookRequest) -> str | None:
        return None

    def told(self, answer: Answer) -> Answer:
        return answer


class _Hmac(NamedTuple):
    header: str
    prefix: str
    encoding: Literal["hex", "base64"]


class HmacSha256(_Silent, _Hmac):
    """The signature of the body alone, in one header. It does not contain a time: an attacker who captured a request can send it again, and
    only its id shows the copy.
    """

    __slots__ = ()

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """See `Scheme.refusal`."""
        given = headers.get(self.header)
        if not given:
            return ABSENT
        if not given.startswith(self.prefix):
            return MALFORMED
        write = _hex if self.encoding == "hex" else base64_hmac
        return compared([given.removeprefix(self.prefix)], [write(utf8(secret), body) for secret in secrets])


class SecretToken(NamedTuple("_Token", [("token_header", str)]), _Silent):
    """The secret itself, in one header. It does not depend on the request: an attacker who captured one request can send any other."""

    __slots__ = ()

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """See `Scheme.refusal`."""
        given = headers.get(self.token_header)
        return compared([given], [_filled(utf8(secret)) for secret in secrets]) if given else ABSENT


class Stripe(_Silent, NamedTuple("_Stripe", [("tolerance", float)])):
    """`Stripe-Signature: t=1492774577,v1=…`, over `t.body`."""

    __slots__ = ()

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """See `Scheme.refusal`."""
        given = headers.get("stripe-signature")
        if not given:
            return ABSENT
        pairs = [part.partition("=") for part in given.split(",")]
        times = [value for key, _, value in pairs if key.strip() == "t"]
        found = [value for key, _, value in pairs if key.strip() == "v1"]
        if len(times) != 1 or not found:
            return MALFORMED
        said = utf8(times[0]) + b"." + body
        return _late(times[0], now, self.tolerance) or compared(found, [_hex(utf8(secret), said) for secret in secrets])

    def delivery(self, request: WebhookRequest) -> str:
        """Return the event's id; the body cannot serve, because a second delivery may differ in the number of pending deliveries."""
        return request.field("id")


class Slack(_Silent, NamedTuple("_Slack", [("tolerance", float)])):
    """`X-Slack-Signature: v0=…`, over `v0:time:body`."""

    __slots__ = ()

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """See `Scheme.refusal`."""
        given, time = headers.get("x-slack-signature"), headers.get("x-slack-request-timestamp")
        if not given or not time:
            return ABSENT
        if not given.startswith("v0="):
            return MALFORMED
        said = b"v0:" + utf8(time) + b":" + body
        return _late(time, now, self.tolerance) or compared([given[3:]], [_hex(utf8(secret), said) for secret in secrets])

    def delivery(self, request: WebhookRequest) -> str:
        """Return the id of an event; a command has none."""
        return request.field("event_id")

    def greeting(self, request: WebhookRequest) -> str | None:
        """Return the challenge that Slack sends when a user enters the address."""
        return request.field("challenge") or None if request.field("type") == "url_verification" else None

    def told(self, answer: Answer) -> Answer:
        """Return 200 with an empty text: Slack accepts this for a command, and would show any text to the user of the command."""
        return Answer(200, "") if answer.status < 300 else answer


class StandardWebhooks(_Silent, NamedTuple("_Standard", [("tolerance", float)])):
    """`webhook-signature: v1,… v1,…`, over `id.time.body`; secrets are `whsec_` and base64."""

    __slots__ = ()

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """See `Scheme.refusal`."""
        which, time, given = (headers.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
        if not which or not time or not given:
            return ABSENT
        found = [text for version, _, text in (one.partition(",") for one in given.split()) if version == "v1"]
        if not found:
            return MALFORMED
        wanted = [standard_signature(which, time, body, secret) for secret in secrets]
        return _late(time, now, self.tolerance) or compared(found, wanted)

    def delivery(self, request: WebhookRequest) -> str:
        """Return the message's id, which is part of the signature."""
        return request.header("webhook-id")


def standard_signature(which: str, time: str, body: bytes, secret: str) -> bytes:
    """Return the signature, in base64, of the message *which* with *body*, sent at *time* (epoch s), by the Standard Webhooks specification
    1.0.

    Raises:
        ConfigurationError: *secret* is not `whsec_` and base64.
    """
    return base64_hmac(_key(secret), utf8(which) + b"." + utf8(time) + b"." + body)


class Unsigned(_Silent, NamedTuple("_Unsigned", [])):
    """Every request to the address is accepted."""

    __slots__ = ()
    signs = False

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """Accept every request."""
        return None


def hmac_sha256(*, header: str, prefix: str = "", encoding: Literal["hex", "base64"] = "hex") -> Scheme:
    """Return the scheme of senders that sign only the body: ``hmac_sha256(header="X-Hub-Signature-256", prefix="sha256=")`` for GitHub,
    ``hmac_sha256(header="X-Shopify-Hmac-Sha256", encoding="base64")`` for Shopify.

    Args:
        header: the header that holds the signature.
        prefix: the text before it.
        encoding: the encoding of the signature, ``"hex"`` or ``"base64"``.

    Raises:
        OptionError: the encoding is unknown, the header is not a valid name, or the prefix is not a string.
    """
    if encoding not in ("hex", "base64"):
        raise OptionError(f"encoding: {encoding!r} is not valid; give 'hex' or 'base64'")
    if not is_header(header):
        raise OptionError(f"header: {header!r} is not a valid name; give the header with the signature, such as X-Hub-Signature-256")
    if not isinstance(prefix, str):
        raise OptionError(f"prefix: {prefix!r} is not a string; give the text before the signature, such as 'sha256='")
    return HmacSha256(header.lower(), prefix, encoding)


def secret_token(*, header: str) -> Scheme:
    """Return the scheme of senders that send the secret itself: ``secret_token(header="X-Gitlab-Token")`` for GitLab,
    ``secret_token(header="X-Telegram-Bot-Api-Secret-Token")`` for Telegram. The header is not stored, and tasks do not see it.

    Args:
        header: the header whose value is the secret.

    Raises:
        OptionError: the header is not a valid name.
    """
    if not is_header(header):
        raise OptionError(f"header: {header!r} is not a valid name; give the header with the secret, such as X-Gitlab-Token")
    return SecretToken(header.lower())


def stripe(*, tolerance: float = TOLERANCE_S) -> Scheme:
    """Return Stripe's scheme; *tolerance*: the most seconds between the signed time and now."""
    return Stripe(_positive(tolerance))


def slack(*, tolerance: float = TOLERANCE_S) -> Scheme:
    """Return Slack's scheme; *tolerance*: the most seconds between the signed time and now."""
    return Slack(_positive(tolerance))


def standard_webhooks(*, tolerance: float = TOLERANCE_S) -> Scheme:
    """Return the scheme of the Standard Webhooks specification; *tolerance*: the most seconds between the signed time and now."""
    return StandardWebhooks(_positive(tolerance))


def unsigned() -> Scheme:
    """Return the scheme that accepts every request to the address: for tests, and for requests that your own proxy has already checked."""
    return Unsigned()


def _positive(tolerance: object) -> float:
    if not isinstance(tolerance, int | float) or not 0 < tolerance <= 86_400:
        raise OptionError(f"tolerance: {tolerance!r} is not valid; give seconds above 0, at most 86400")
    return float(tolerance)


def is_header(given: object) -> bool:
    """Return whether *given* can be the name of a header."""
    return isinstance(given, str) and _HEADER.fullmatch(given) is not None


def _late(time: str, now: float, tolerance: float) -> str | None:
    if not (time.isascii() and time.isdigit() and len(time) <= 12):
        return MALFORMED
    return None if abs(now - int(time)) <= tolerance else LATE


def compared(given: Sequence[str], expected: Sequence[bytes]) -> str | None:
    """Return None if one of the signatures *given* is *expected*; all pairs are compared, in constant time."""
    equal = [hmac.compare_digest(utf8(one), right) for one in given for right in expected]
    return None if any(equal) else WRONG


def utf8(text: str) -> bytes:
    """Return *text* as UTF-8, even if it contains half a surrogate pair: untrusted text must not raise an error."""
    return text.encode("utf-8", "surrogatepass")


def _hex(secret: bytes, said: bytes) -> bytes:
    return _digest(secret, said).hex().encode()


def base64_hmac(secret: bytes, said: bytes) -> bytes:
    """Return the HMAC-SHA256 of *said* in base64; raise `ConfigurationError` if the *secret* is empty."""
    return base64.b64encode(_digest(secret, said))


def _digest(secret: bytes, said: bytes) -> bytes:
    return hmac.digest(_filled(secret), said, "sha256")


def _filled(secret: bytes) -> bytes:
    if not secret:  # HMAC accepts an empty key, with which anyone can sign
        raise ConfigurationError("a secret is empty, so anyone could sign: store the secret of the sender")
    return secret


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigurationError("a secret of Standard Webhooks is whsec_ and base64, but the stored one is not") from None
