"""How senders check a webhook's address before they use it: a GET request whose challenge the address answers. Pure.

The forms are those of Meta (`hub.challenge`, also WebSub's), of X (the Challenge-Response Check), and of senders such as Dropbox and Nylas,
which want their challenge back. Anybody can send such a request, so an answer is short, is never a page, and has no secret in it.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl

from sedano.errors import OptionError
from sedano.model.sources.signature_schemes import ABSENT, MALFORMED, WRONG
from sedano.model.sources.webhooks import Answer

VERIFY = "verify:"
"""The beginning of a line of a webhook's secrets that is a verify token, with which no request can be signed."""
MOST_PARAMETERS = 16
MOST_CHARACTERS = 1_024
_RETURNED = re.compile(rf"[A-Za-z0-9._~+/=:-]{{1,{MOST_CHARACTERS}}}")
"""The form of a challenge: no such text is HTML or a JSON object, so a signature that was made for a challenge fits no request."""
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


class Echo(NamedTuple("_Echo", [("parameter", str)])):
    """The challenge is returned as it is."""

    __slots__ = ()
    has_secret = False

    def answer(self, given: Parameters, lines: Sequence[str]) -> Answer | str | None:
        """See `Challenge.answer`."""
        return _returned(given.get(self.parameter))


class Hub(NamedTuple("_Hub", [])):
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
        said = token.encode("utf-8", "surrogatepass")
        equal = [hmac.compare_digest(said, known.encode("utf-8", "surrogatepass")) for known in tokens(lines)]
        return _returned(given.get("hub.challenge")) if any(equal) else WRONG


class ResponseCheck(NamedTuple("_ResponseCheck", [])):
    """X's Challenge-Response Check: the HMAC-SHA256 of the token, with the first secret as its key."""

    __slots__ = ()
    has_secret = True

    def answer(self, given: Parameters, lines: Sequence[str]) -> Answer | str | None:
        """See `Challenge.answer`."""
        token = given.get("crc_token")
        if token is None:
            return None
        keys = secrets(lines)
        if not keys or not _RETURNED.fullmatch(token):
            return MALFORMED
        signed = base64.b64encode(hmac.digest(keys[0].encode("utf-8", "surrogatepass"), token.encode(), "sha256")).decode()
        return Answer(200, json.dumps({"response_token": f"sha256={signed}"}), {"content-type": "application/json", **_PLAIN})


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
    """Return the check of X (Twitter): ``GET /NAME?crc_token=…``, which is answered with a signature of the token."""
    return ResponseCheck()


def tokens(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the verify tokens among the *lines* of a webhook's secrets."""
    return tuple(line.removeprefix(VERIFY) for line in lines if line.startswith(VERIFY) and line != VERIFY)


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
