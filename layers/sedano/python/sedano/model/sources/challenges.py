"""How senders check a webhook's address before they use it: a GET request whose challenge the address answers. Pure.

The forms are those of Meta (`hub.challenge`, also WebSub's), of X (the Challenge-Response Check), and of senders such as Dropbox and Nylas,
which want their challenge back. Anybody can send such a request, so an answer is short, is never a page, and has no secret in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl

from sedano.errors import OptionError
from sedano.model.sources.signature_schemes import ABSENT, MALFORMED, WRONG, base64_hmac, compared, utf8
from sedano.model.sources.webhooks import Answer

VERIFY = "verify:"
"""The beginning of a line of a webhook's secrets that is a verify token, with which no request can be signed."""
MOST_PARAMETERS = 16
MOST_CHARACTERS = 1_024
_RETURNED = re.compile(rf"[A-Za-z0-9._~+/=:-]{{1,{MOST_CHARACTERS}}}")
"""The form of a challenge: no such text is HTML or a JSON object. It can be a JSON number, so see `Challenge.signs`."""
_PARAMETER = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PLAIN = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
Parameters = Mapping[str, str]


class Challenge(Protocol):
    """How one kind of sender checks the address."""

    @property
    def has_secret(self) -> bool:
        """Whether an answer needs the webhook's secrets."""

    def answer(self, given: Parameters, lines: Sequence[str]) -> Answer | str | None:
        """Return the answer to a request with the parameters *given*, by the *lines* of the webhook's secrets; the reason of a refusal, one
        of `sedano.model.sources.signature_schemes.REFUSALS`; or None if the request has no challenge.
        """

    def signs(self, body: bytes) -> bool:
        """Return whether anybody can have *body* signed by such a check, so that a signature of it proves nothing."""

    def missing(self, lines: Sequence[str]) -> str:
        """Return what an answer needs and the *lines* of the webhook's secrets do not have; empty if they have it."""


class _SignsNothing:
    """A check that signs nothing and needs nothing."""

    __slots__ = ()
    has_secret = False

    def signs(self, body: bytes) -> bool:
        return False

    def missing(self, lines: Sequence[str]) -> str:
        return ""


class Echo(_SignsNothing, NamedTuple("_Echo", [("parameter", str)])):
    """The challenge is returned as it is."""

    __slots__ = ()

    def answer(self, given: Parameters, lines: Sequence[str]) -> Answer | str | None:
        """See `Challenge.answer`."""
        return _returned(given.get(self.parameter))


class Hub(_SignsNothing, NamedTuple("_Hub", [])):
    """Meta's verification: the challenge is returned if the verify token is one of the webhook's."""

    __slots__ = ()
    has_secret = True

    def answer(self, given: Parameters, lines: Sequence[str]) -> Answer | str | None:
        """See `Challenge.answer`."""
        if given.get("hub.mode") != "subscribe":
            return None
        token = given.get("hub.verify_token")
        if not token:
            return ABSENT
        return compared([token], [utf8(known) for known in tokens(lines)]) or _returned(given.get("hub.challenge"))

    def missing(self, lines: Sequence[str]) -> str:
        """See `Challenge.missing`."""
        return "" if tokens(lines) else f"a line {VERIFY}TOKEN, the verify token that the sender was given"


class ResponseCheck(_SignsNothing, NamedTuple("_ResponseCheck", [])):
    """X's Challenge-Response Check: the HMAC-SHA256 of the token, with the first secret as its key."""

    __slots__ = ()
    has_secret = True

    def answer(self, given: Parameters, lines: Sequence[str]) -> Answer | str | None:
        """See `Challenge.answer`."""
        token = given.get("crc_token")
        if token is None:
            return None
        if not _RETURNED.fullmatch(token):
            return MALFORMED
        keys = secrets(lines)
        if not keys:
            return WRONG
        signed = base64_hmac(utf8(keys[0]), utf8(token)).decode()
        return Answer(200, json.dumps({"response_token": f"sha256={signed}"}), {"content-type": "application/json", **_PLAIN})

    def signs(self, body: bytes) -> bool:
        """See `Challenge.signs`: X signs its checks and its requests in one way and with one secret."""
        return _RETURNED.fullmatch(body.decode("latin-1")) is not None

    def missing(self, lines: Sequence[str]) -> str:
        """See `Challenge.missing`."""
        return "" if secrets(lines) else "the secret with which the answer is signed"


def echo(parameter: str = "challenge") -> Challenge:
    """Return the check of senders that want their challenge back, such as Dropbox and Nylas: ``GET /NAME?challenge=TEXT``.

    Args:
        parameter: the parameter of the request that holds the challenge.

    Raises:
        OptionError: the parameter is not a valid name.
    """
    if not _is_parameter(parameter):
        raise OptionError(f"parameter: {parameter!r:.80} is not a valid name; give the parameter with the challenge, such as 'challenge'")
    return Echo(parameter)


def hub() -> Challenge:
    """Return Meta's check (Facebook, Instagram, WhatsApp): ``GET /NAME?hub.mode=subscribe&hub.verify_token=…&hub.challenge=…``.

    The verify token, which you choose and enter at the sender, is a line ``verify:TOKEN`` of the webhook's secrets.
    """
    return Hub()


def response_check() -> Challenge:
    """Return the check of X (Twitter): ``GET /NAME?crc_token=…``, which is answered with a signature of the token.

    Anybody can have a token signed so. A request whose body could be such a token is therefore refused, however it is signed: one text of
    1 to 1024 letters, digits and ``._~+/=:-``. X sends JSON objects.
    """
    return ResponseCheck()


def tokens(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the verify tokens among the *lines* of a webhook's secrets."""
    found = (line.removeprefix(VERIFY).strip() for line in lines if line.startswith(VERIFY))
    return tuple(token for token in found if token)


def secrets(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the *lines* with which requests are signed: all but the verify tokens."""
    return tuple(line for line in lines if not line.startswith(VERIFY))


def parameters(query: str) -> Parameters | None:
    """Return the parameters of the *query* of an address; None if one is given twice, there are too many, or the text is not UTF-8."""
    try:
        found = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS)
    except ValueError:
        return None
    return dict(found) if len({name for name, _ in found}) == len(found) else None


def _is_parameter(given: object) -> bool:
    return isinstance(given, str) and _PARAMETER.fullmatch(given) is not None


def _returned(challenge: str | None) -> Answer | str | None:
    if challenge is None:
        return None
    return Answer(200, challenge, _PLAIN) if _RETURNED.fullmatch(challenge) else MALFORMED
