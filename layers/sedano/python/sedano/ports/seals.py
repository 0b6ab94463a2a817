"""The port of a stage's keys, and the signer that uses them: the keys are read when they are first needed, and kept for 300 s.

A stage gets its keys automatically: the first function that needs them creates them. If they cannot be read (no grant, or the store cannot
be reached), nothing is signed and nothing counts as signed; see `ready`.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple, Protocol

from sedano.errors import SedanoError
from sedano.model.seals import key_set, seal
from sedano.model.seals.key_set import KEPT_S, KeySet
from sedano.ports.machine import Clock, Entropy, Telemetry

AGAIN_S = 30.0
"""An unknown key may be a new one, so the keys are read again, at most once in this many seconds. If reading fails, the next attempt waits
twice as long each time, up to `KEPT_S`, because a store that cannot be reached delays a batch by a whole call timeout."""


class KeyStore(Protocol):
    """Where a stage keeps its keys, as one text (`sedano.model.seals.key_set`)."""

    def read(self) -> str | None:
        """Return the text; None if it was never written.

        Raises:
            ConfigurationError: the role may not read it; the message names the grant.
            Unavailable: the store did not answer.
        """

    def create(self, text: str) -> bool:
        """Write *text* unless one exists; return whether it was written."""

    def replace(self, text: str) -> None:
        """Replace the stored text by *text*; used by people who change keys (`sedano keys`), not by functions."""


class _Known(NamedTuple):
    """The *keys* as they were *at* some time (monotonic s); the earliest moment of the *next* read; the number of failed reads in a row."""

    keys: KeySet | None = None
    at: float = -inf
    next: float = -inf
    failures: int = 0


class Seals:
    """Signs and verifies for one process."""

    def __init__(self, store: KeyStore, clock: Clock, entropy: Entropy, telemetry: Telemetry) -> None:
        """Start without keys; they are read when they are first needed."""
        self.store = store
        self._clock, self._entropy, self._telemetry = clock, entropy, telemetry
        self._known = _Known()

    def ready(self) -> bool:
        """Return whether the keys are available: without them nothing can be marked, and no mark counts."""
        return self._keys(KEPT_S) is not None

    def mark(self, kind: str, *parts: str) -> str:
        """Return the mark of *parts* (`sedano.model.seals.seal`); "" where there are no keys."""
        keys = self._keys(KEPT_S)
        return "" if keys is None else seal.mark(keys, kind, *parts)

    def is_marked(self, given: str, kind: str, *parts: str) -> bool:
        """Return whether *given* is the mark of *parts* by a key of this stage; count a forged mark."""
        keys = self._keys(KEPT_S) if given else None
        if keys is None:
            return False
        if seal.is_marked(given, keys.keys, kind, *parts):
            return True
        kid = seal.kid_of(given)
        if kid and kid not in keys.keys and (newer := self._keys(AGAIN_S)) is not None and seal.is_marked(given, newer.keys, kind, *parts):
            return True
        self._telemetry.count("MarksRefused", kind=kind)
        return False

    def attached(self, kind: str, text: str, *parts: str) -> str:
        """Return *text* with its mark before it, over it and *parts*; "" where there are no keys."""
        marked = self.mark(kind, text, *parts)
        return f"{marked};{text}" if marked else ""

    def detached(self, kind: str, given: str, *parts: str) -> str:
        """Return the text from which `attached` made *given*, for the same *parts*; "" if the mark is not valid."""
        kid, _, rest = given.partition(";")
        mac, _, text = rest.partition(";")
        return text if given and self.is_marked(f"{kid};{mac}", kind, text, *parts) else ""

    def seal(self, body: bytes, audience: str, issued: int, expires: int) -> str:
        """Return the seal of *body* for *audience* from *issued* to *expires* (whole epoch s); "" where there are no keys.

        Raises:
            OptionError: the audience is not one, or the seal would live for longer than 900 s.
        """
        keys = self._keys(KEPT_S)
        return "" if keys is None else seal.seal(body, keys, audience, issued, expires)

    def refusal(self, header: str, body: bytes, audience: str) -> str | None:
        """Return why the seal *header* does not let *body* in for *audience*, one of `sedano.model.seals.seal.REFUSALS`; None when it does.

        Without keys every key is unknown. For an unknown key, the keys are read again, at most once in 30 s.
        """
        now, keys = self._clock.now(), self._keys(KEPT_S)
        why = seal.refusal(header, body, keys.keys if keys is not None else {}, audience, now)
        if why == seal.UNKNOWN_KEY and (newer := self._keys(AGAIN_S)) is not None:
            why = seal.refusal(header, body, newer.keys, audience, now)
        return why

    def _keys(self, most: float) -> KeySet | None:
        """Return the keys, at most this many seconds old; if they cannot be read now, the last ones that were read."""
        now, known = self._clock.monotonic(), self._known
        if now - known.at >= most and now >= known.next:
            self._known = known = self._asked(known, now)
        return known.keys

    def _asked(self, known: _Known, now: float) -> _Known:
        try:
            keys = self._read()
        except SedanoError as error:
            self._telemetry.count("KeysUnavailable")
            self._telemetry.log("error" if known.keys is None else "warning", "the stage's keys could not be read", error=str(error))
            failed = min(AGAIN_S * 2.0**known.failures, KEPT_S)
            return known._replace(next=self._clock.monotonic() + failed, failures=min(known.failures + 1, 8))
        return _Known(keys, now, now + AGAIN_S)

    def _read(self) -> KeySet:
        text = self.store.read()
        if text is not None:
            return key_set.read(text)
        fresh = key_set.first(self._entropy.nonce() + self._entropy.nonce(), self._clock.now())
        if self.store.create(key_set.written(fresh)):
            return fresh
        return key_set.read(self.store.read() or "")
