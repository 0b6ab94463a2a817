"""How a webhook's sender signs: each scheme returns the reason for a refusal, by its headers, its body, the secrets and the time.

Most are HMAC-SHA256 (RFC 2104) over the body, some with its time and id before it: GitHub's and Shopify's bare form, Stripe's, Slack's, and
the Standard Webhooks specification 1.0. GitLab and Telegram send the secret itself. Compared in constant time. Several secrets hold at
once, so that one can follow another without a request being refused in between.
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
"""A request whose signed time is further away than this is an old one, replayed by an attacker who captured it (Standard Webhooks,
Stripe)."""
ABSENT: Final = "no-signature"
MALFORMED: Final = "malformed-signature"
LATE: Final = "time"
WRONG: Final = "wrong-signature"
REFUSALS: Final = frozenset({ABSENT, MALFORMED, LATE, WRONG})
"""Why a request is not let in: each is a metric's dimension."""
Headers = Mapping[str, str]
_HEADER = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Scheme(Protocol):
    """How one kind of sender signs."""

    @property
    def signs(self) -> bool:
        """Whether there is a secret at all."""

    @property
    def token_header(self) -> str:
        """The header, in lower case, that holds the secret itself, so that nothing may keep it; empty when none does."""

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """Return why the request is not let in, one of `REFUSALS`; None when it is. *now* is epoch s.

        Raises:
            ConfigurationError: a secret cannot be one of this scheme.
        """

    def delivery(self, request: WebhookRequest) -> str:
        """Return the sender's own id of the delivery; empty when this kind of sender gives none."""

    def greeting(self, request: WebhookRequest) -> str | None:
        """Return the answer to a request that only verifies the address; None for any other request."""

    def told(self, answer: Answer) -> Answer:
        """Return *answer*, by which a request that was let in is taken, as this kind of sender wants it."""


class _Silent:
    """A sender that gives no id, never greets, and takes any answer of 200 to 299 for a yes."""

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
    """The signature of the body alone, in one header. It binds no time: who catches a request can send it again, and is known by the id."""

    __slots__ = ()

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """See `Scheme.refusal`."""
        given = headers.get(self.header)
        if not given:
            return ABSENT
        if not given.startswith(self.prefix):
            return MALFORMED
        write = _hex if self.encoding == "hex" else _base64
        return _compared([given.removeprefix(self.prefix)], [write(_bytes(secret), body) for secret in secrets])


class SecretToken(NamedTuple("_Token", [("token_header", str)]), _Silent):
    """The secret itself, in one header. It binds nothing: who catches one request can send any other."""

    __slots__ = ()

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """See `Scheme.refusal`."""
        given = headers.get(self.token_header)
        return _compared([given], [_filled(_bytes(secret)) for secret in secrets]) if given else ABSENT


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
        said = _bytes(times[0]) + b"." + body
        return _late(times[0], now, self.tolerance) or _compared(found, [_hex(_bytes(secret), said) for secret in secrets])

    def delivery(self, request: WebhookRequest) -> str:
        """Return the event's id: a second delivery of it may differ in the count of pending deliveries."""
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
        said = b"v0:" + _bytes(time) + b":" + body
        return _late(time, now, self.tolerance) or _compared([given[3:]], [_hex(_bytes(secret), said) for secret in secrets])

    def delivery(self, request: WebhookRequest) -> str:
        """Return the id of an event; a command has none."""
        return request.field("event_id")

    def greeting(self, request: WebhookRequest) -> str | None:
        """Return the challenge that Slack sends when an address is entered."""
        return request.field("challenge") or None if request.field("type") == "url_verification" else None

    def told(self, answer: Answer) -> Answer:
        """Return 200 with an empty text: Slack accepts it for a command, and would show a text to the user who gave the command."""
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
        said = _bytes(which) + b"." + _bytes(time) + b"." + body
        return _late(time, now, self.tolerance) or _compared(found, [_base64(_key(secret), said) for secret in secrets])

    def delivery(self, request: WebhookRequest) -> str:
        """Return the message's id, which is signed with it."""
        return request.header("webhook-id")


class Unsigned(_Silent, NamedTuple("_Unsigned", [])):
    """Anybody is let in who knows the address."""

    __slots__ = ()
    signs = False

    def refusal(self, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> str | None:
        """Let everybody in."""
        return None


def hmac_sha256(*, header: str, prefix: str = "", encoding: Literal["hex", "base64"] = "hex") -> Scheme:
    """Return the scheme of senders that sign the body alone: ``hmac_sha256(header="X-Hub-Signature-256", prefix="sha256=")`` is GitHub's,
    ``hmac_sha256(header="X-Shopify-Hmac-Sha256", encoding="base64")`` Shopify's.

    Args:
        header: the header that holds the signature.
        prefix: the text before it.
        encoding: how it is written: ``"hex"`` or ``"base64"``.

    Raises:
        OptionError: the encoding is unknown, the header has no such name, or the prefix is not text.
    """
    if encoding not in ("hex", "base64"):
        raise OptionError(f"encoding: {encoding!r} is none; give 'hex' or 'base64'")
    if not is_header(header):
        raise OptionError(f"header: {header!r} is not a header's name; name the one that holds the signature, such as X-Hub-Signature-256")
    if not isinstance(prefix, str):
        raise OptionError(f"prefix: {prefix!r} is not text; give the text before the signature, such as 'sha256='")
    return HmacSha256(header.lower(), prefix, encoding)


def secret_token(*, header: str) -> Scheme:
    """Return the scheme of senders that send the secret itself: ``secret_token(header="X-Gitlab-Token")`` is GitLab's secret token,
    ``secret_token(header="X-Telegram-Bot-Api-Secret-Token")`` Telegram's. The header is kept nowhere, and no task sees it.

    Args:
        header: the header whose whole text is the secret.

    Raises:
        OptionError: there is no header of this name.
    """
    if not is_header(header):
        raise OptionError(f"header: {header!r} is not a header's name; name the one that holds the secret, such as X-Gitlab-Token")
    return SecretToken(header.lower())


def stripe(*, tolerance: float = TOLERANCE_S) -> Scheme:
    """Return Stripe's scheme; *tolerance*: how many seconds a signed time may be away."""
    return Stripe(_positive(tolerance))


def slack(*, tolerance: float = TOLERANCE_S) -> Scheme:
    """Return Slack's scheme; *tolerance*: how many seconds a signed time may be away."""
    return Slack(_positive(tolerance))


def standard_webhooks(*, tolerance: float = TOLERANCE_S) -> Scheme:
    """Return the scheme of the Standard Webhooks specification; *tolerance*: how many seconds a signed time may be away."""
    return StandardWebhooks(_positive(tolerance))


def unsigned() -> Scheme:
    """Return the scheme that lets anybody in who knows the address: for tests, and for what a proxy of yours has looked at already."""
    return Unsigned()


def _positive(tolerance: object) -> float:
    if not isinstance(tolerance, int | float) or not 0 < tolerance <= 86_400:
        raise OptionError(f"tolerance: {tolerance!r} cannot be honoured; give seconds above 0, at most 86400")
    return float(tolerance)


def is_header(given: object) -> bool:
    """Return whether *given* can be the name of a header."""
    return isinstance(given, str) and _HEADER.fullmatch(given) is not None


def _late(time: str, now: float, tolerance: float) -> str | None:
    if not (time.isascii() and time.isdigit() and len(time) <= 12):
        return MALFORMED
    return None if abs(now - int(time)) <= tolerance else LATE


def _compared(given: Sequence[str], expected: Sequence[bytes]) -> str | None:
    """Return None when one of the signatures *given* is an *expected* one; each is compared with each, in constant time."""
    equal = [hmac.compare_digest(_bytes(one), right) for one in given for right in expected]
    return None if any(equal) else WRONG


def _bytes(text: str) -> bytes:
    """Return *text* as UTF-8, even with half a character in it: a foreign text is refused and never raises."""
    return text.encode("utf-8", "surrogatepass")


def _hex(secret: bytes, said: bytes) -> bytes:
    return _digest(secret, said).hex().encode()


def _base64(secret: bytes, said: bytes) -> bytes:
    return base64.b64encode(_digest(secret, said))


def _digest(secret: bytes, said: bytes) -> bytes:
    return hmac.digest(_filled(secret), said, "sha256")


def _filled(secret: bytes) -> bytes:
    if not secret:  # an HMAC takes an empty key, and then anybody can sign
        raise ConfigurationError("a secret is empty, with which anybody could sign: put the one there that the sender has")
    return secret


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigurationError("a secret of Standard Webhooks is whsec_ and base64, and the one that is kept for it is not") from None
