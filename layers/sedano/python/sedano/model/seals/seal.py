"""Seals and marks: proofs that a text was written by a holder of one of the stage's keys. Pure.

A **seal** is one line of ASCII beside a message: the id of the key, the times of issue and expiry, the audience, and a MAC over all of
these and the raw bytes of the body (HMAC-SHA256, RFC 2104 and FIPS 180-4).

    header = "v1;k=" kid ";t=" issued ";x=" expires ";to=" audience ";s=" base64url(mac)
    mac    = HMAC-SHA256(key[kid], "sedano-seal-v1" LF kid LF issued LF expires LF audience LF body)

A **mark** is shorter and has no audience and no expiry: it proves that this stage wrote a few texts (a rate limit's slot, the reason of a
parked message). *kind* distinguishes the purposes.

    mark = kid ";" first 16 bytes of mac, in hexadecimal
    mac  = HMAC-SHA256(key[kid], "sedano-mark-v1" LF kind LF kid LF parts)      parts: Python's ascii() of the tuple, so ('a', 'b\\n')

Properties and reasons:

- A body is verified before it is decoded. There is no canonical form: the received bytes are the sealed bytes.
- The algorithm is a property of the key. No field of the message selects it (RFC 8725, 2.1).
- Each text has one spelling. The header must match in full, numbers have no leading zeros, and signatures are compared as encoded text, so
  unused bits of base64 and upper-case digits do not give a second spelling.
- The parts of the text under a MAC cannot be moved: kid, times, audience and kind do not contain a line feed, each part of a mark is quoted
  and escaped, and seals and marks begin with different constants.
- The order of verification is fixed, and each failure has one code. A message that is not signed by a known key never reaches the checks of
  its content, so an attacker only learns from the codes whether a key id is known.

Limits of a seal: it does not prevent a second delivery of the same message. The id of the message is sealed, and the claim of that id
prevents a second run.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from typing import Final

from sedano.errors import OptionError
from sedano.model.seals.key_set import KeySet

LONGEST_LIFE_S: Final = 900
"""The longest lifetime of a seal."""
TOLERANCE_S: Final = 60
"""The largest allowed difference of clocks."""
MARK_BYTES: Final = 16

MALFORMED: Final = "malformed"
UNKNOWN_KEY: Final = "unknown_key"
BAD_SIGNATURE: Final = "bad_signature"
WRONG_AUDIENCE: Final = "wrong_audience"
LIVES_TOO_LONG: Final = "lives_too_long"
FROM_THE_FUTURE: Final = "from_the_future"
EXPIRED: Final = "expired"
REFUSALS: Final = (MALFORMED, UNKNOWN_KEY, BAD_SIGNATURE, WRONG_AUDIENCE, LIVES_TOO_LONG, FROM_THE_FUTURE, EXPIRED)
"""The codes of a refused seal, in the order of the checks."""

_header = re.compile(
    r"v1;k=([A-Za-z0-9_.:/-]{1,64});t=(0|[1-9][0-9]{0,11});x=(0|[1-9][0-9]{0,11});to=([A-Za-z0-9_.:/#-]{1,128});s=([A-Za-z0-9_-]{43})"
).fullmatch
_is_audience = re.compile(r"[A-Za-z0-9_.:/#-]{1,128}").fullmatch
_mark = re.compile(r"([A-Za-z0-9_.:/-]{1,64});([0-9a-f]{32})").fullmatch


def seal(body: bytes, keys: KeySet, audience: str, issued: int, expires: int) -> str:
    """Return the seal of *body* for *audience*, made with the signing key; *issued* and *expires* are whole epoch seconds.

    Raises:
        OptionError: the audience is not valid, the lifetime is longer than 900 s, or the end is before the beginning.
    """
    if not _is_audience(audience):
        raise OptionError(f"audience: {audience[:40]!r} is not 1 to 128 of A-Z a-z 0-9 _ . : / # -")
    if not 0 <= issued <= expires <= issued + LONGEST_LIFE_S:
        raise OptionError(f"expires: {expires} is not between the time of issue, {issued}, and {LONGEST_LIFE_S} s later")
    signature = _sealed(keys.keys[keys.sign], keys.sign, str(issued), str(expires), audience, body)
    return f"v1;k={keys.sign};t={issued};x={expires};to={audience};s={signature}"


def refusal(header: str, body: bytes, keys: Mapping[str, bytes], audience: str, now: float) -> str | None:
    """Return the code in `REFUSALS` by which *body* with the seal *header* is refused; None if it is accepted.

    *audience* is the name of the receiver; *keys* are its valid keys by their ids.
    """
    found = _header(header)
    if found is None:
        return MALFORMED
    kid, issued, expires, whom, signature = found.groups()
    begins, ends = int(issued), int(expires)
    if ends < begins:
        return MALFORMED
    key = keys.get(kid)
    if key is None:
        return UNKNOWN_KEY
    if not hmac.compare_digest(_sealed(key, kid, issued, expires, whom, body).encode(), signature.encode()):
        return BAD_SIGNATURE
    if whom != audience:
        return WRONG_AUDIENCE
    return _untimely(begins, ends, now)


def mark(keys: KeySet, kind: str, *parts: str) -> str:
    """Return the mark of *parts*, made with the signing key."""
    return f"{keys.sign};{_marked(keys.keys[keys.sign], kind, keys.sign, parts)}"


def is_marked(given: str, keys: Mapping[str, bytes], kind: str, *parts: str) -> bool:
    """Return whether *given* is the mark of *parts* by one of *keys*."""
    found = _mark(given)
    if found is None:
        return False
    key = keys.get(found[1])
    return key is not None and hmac.compare_digest(_marked(key, kind, found[1], parts).encode(), found[2].encode())


def kid_of(given: str) -> str:
    """Return the id of the key in a mark or a seal; "" for any other text."""
    found = _mark(given) or _header(given)
    return found[1] if found is not None else ""


def _untimely(begins: int, ends: int, now: float) -> str | None:
    if ends - begins > LONGEST_LIFE_S:
        return LIVES_TOO_LONG
    if begins > now + TOLERANCE_S:
        return FROM_THE_FUTURE
    return EXPIRED if now > ends + TOLERANCE_S else None


def _sealed(key: bytes, kid: str, issued: str, expires: str, audience: str, body: bytes) -> str:
    said = b"sedano-seal-v1\n%s\n%s\n%s\n%s\n%s" % (kid.encode(), issued.encode(), expires.encode(), audience.encode(), body)
    return base64.urlsafe_b64encode(hmac.digest(key, said, "sha256"))[:43].decode()


def _marked(key: bytes, kind: str, kid: str, parts: tuple[str, ...]) -> str:
    return hmac.digest(key, f"sedano-mark-v1\n{kind}\n{kid}\n{parts!a}".encode(), "sha256")[:MARK_BYTES].hex()
