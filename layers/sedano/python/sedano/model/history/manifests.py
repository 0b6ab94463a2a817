"""Snapshots of a history: the files that it contains, their locations, and the files that no reader needs any more (PROTOCOLS §8).

Theory. A history is an append-only list of *parts*. Each part is the output of one run over some landed files, written under a prefix that
only the term of that run uses. A *snapshot* lists the valid parts; a reader of a snapshot sees the same rows for as long as the prefixes
are kept. One small *pointer* names the current snapshot and changes only by compare-and-swap:

1. a run takes the lease and *fences in*: it writes its token into the pointer, so from then on no earlier term can change it;
2. it reads the current snapshot and determines the new files; it writes its files below `scoped(token)`;
3. it writes the manifest of the next snapshot, under a name with its token, so no other run writes it;
4. it changes the pointer to that manifest, if the pointer still has the token of the run.

A run that dies in between leaves files that no manifest names, or a manifest that no pointer names: no reader sees them, and `collectable`
finds them. A snapshot contains a part only once, because its run read the list that it extends after it had fenced out all other runs.

The token is in the *body* of the pointer, not beside it. The version mark of an object store (S3's ETag) is a digest of the body. A token
elsewhere would leave the mark unchanged, and a delayed write that is conditional on that mark would still succeed.

*Base*: the registers and tables of the first `settled` parts, merged. Registers are idempotent under merging
(`sedano.model.history.registers`), so a reader joins the base with the later parts, and a base may be deleted and rebuilt at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sedano.errors import ConfigurationError

FORMAT: Final = 1
POINTER: Final = "current.json"
MANIFESTS: Final = "manifests/"
DATA: Final = "data/"
_DIGITS = 16
_SNAPSHOT: Final[Mapping[str, type]] = {
    **dict.fromkeys(("version", "token", "made", "settled"), int), **dict.fromkeys(("parent", "base"), str), "parts": list,
}  # fmt: skip
_PART: Final[Mapping[str, type]] = {"prefix": str, "sources": int, "made": int}


class Part(NamedTuple):
    """The rows of one run: the *prefix* of their files, the number of landed files that they come from (*sources*), and when they were
    *made* (epoch ms).
    """

    prefix: str
    sources: int
    made: int


class Snapshot(NamedTuple):
    """A reader's view: the *parts* in the order of their commits, and the *base* that holds the first *settled* of them merged.

    *version* counts commits; *token* is that of the term that wrote the snapshot, and *made* the time (epoch ms); *parent* is the previous
    manifest.
    """

    version: int = 0
    token: int = 0
    made: int = 0
    parent: str = ""
    parts: tuple[Part, ...] = ()
    base: str = ""
    settled: int = 0

    @property
    def name(self) -> str:
        """The name of its manifest, to which no other term writes."""
        return f"{MANIFESTS}{self.version:010d}-{self.token:0{_DIGITS}d}.json"

    @property
    def pending(self) -> tuple[Part, ...]:
        """The parts that are not in the base."""
        return self.parts[self.settled :]

    @property
    def prefixes(self) -> frozenset[str]:
        """Every prefix that a reader of this snapshot may open."""
        return frozenset({part.prefix for part in self.parts} | ({self.base} if self.base else set()))


class Pointer(NamedTuple):
    """The name of the current *manifest* (empty: there is no manifest yet), and the highest token that was ever written here."""

    token: int = 0
    manifest: str = ""


def scoped(token: int) -> str:
    """Return the prefix that only the term with *token* uses; prefixes sort in the order of the terms."""
    return f"{DATA}term={token:0{_DIGITS}d}/"


def term_of(name: str) -> int | None:
    """Return the token of the term that wrote the *name* below `DATA` or in `MANIFESTS`; None for any other name."""
    if name.startswith(MANIFESTS):
        digits = name[len(MANIFESTS) :].partition("-")[2].removesuffix(".json")
    else:
        digits = name.removeprefix(f"{DATA}term=").partition("/")[0] if name.startswith(DATA) else ""
    return int(digits) if digits.isdecimal() else None


def extended(seen: Snapshot, part: Part, token: int, now: int) -> Snapshot:
    """Return *seen* with one more *part*."""
    return seen._replace(version=seen.version + 1, token=token, made=now, parent=_parent(seen), parts=(*seen.parts, part))


def rebuilt(seen: Snapshot, part: Part, token: int, now: int) -> Snapshot:
    """Return a snapshot with only *part*, which was built from all landed files again."""
    return Snapshot(seen.version + 1, token, now, _parent(seen), (part,))


def settled(seen: Snapshot, base: str, token: int, now: int) -> Snapshot:
    """Return *seen* with all of its parts merged into *base*."""
    return seen._replace(version=seen.version + 1, token=token, made=now, parent=_parent(seen), base=base, settled=len(seen.parts))


def shut(pointer: Pointer, token: int) -> Pointer | None:
    """Return *pointer* with *token*, which fences out earlier terms; None if a later term has already fenced in."""
    return pointer._replace(token=token) if pointer.token <= token else None


def turned(pointer: Pointer, token: int, to: Snapshot) -> Pointer | None:
    """Return *pointer* with the snapshot *to* as the current one; None if the term with *token* is not the last that fenced in."""
    return Pointer(token, to.name) if pointer.token == token else None


def collectable(terms: Iterable[int], kept: Iterable[Snapshot], fence: int, before: int) -> list[int]:
    """Return the *terms* whose files no run will read or commit any more.

    Args:
        terms: tokens found in names (`term_of`).
        kept: the snapshots that may still be read.
        fence: the pointer's token; only the files of an earlier term can never be committed any more.
        before: epoch ms; a term that began later is not collected. A token is never less than the time at which it was granted.
    """
    wanted = {term_of(prefix) for snapshot in kept for prefix in snapshot.prefixes}
    wanted |= {snapshot.token for snapshot in kept}
    return sorted(term for term in set(terms) if term < fence and term < before and term not in wanted)


def write_snapshot(snapshot: Snapshot) -> bytes:
    """Return the manifest of *snapshot*."""
    fields = {**snapshot._asdict(), "parts": [part._asdict() for part in snapshot.parts]}
    return json.dumps({"format": FORMAT, **fields}, indent=1, sort_keys=True).encode()


def read_snapshot(data: bytes) -> Snapshot:
    """Return the snapshot of a manifest.

    Raises:
        ConfigurationError: *data* is not a manifest, or has a newer format.
    """
    fields = _object(data, "manifest", _SNAPSHOT)
    parts = [_checked(part, "part", _PART) for part in fields["parts"]]
    return Snapshot(**{**fields, "parts": tuple(Part(**part) for part in parts)})


def write_pointer(pointer: Pointer) -> bytes:
    """Return the stored form of *pointer*."""
    return json.dumps({"format": FORMAT, **pointer._asdict()}, sort_keys=True).encode()


def read_pointer(data: bytes | None) -> Pointer:
    """Return the pointer in *data*; None means that it was never written.

    Raises:
        ConfigurationError: *data* is not a pointer, or has a newer format.
    """
    return Pointer() if data is None else Pointer(**_object(data, "pointer", {"token": int, "manifest": str}))


def _parent(seen: Snapshot) -> str:
    return seen.name if seen.version else ""


def _object(data: bytes, what: str, shape: Mapping[str, type]) -> dict[str, Any]:
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError) as wrong:
        raise ConfigurationError(f"history: the {what} is not JSON ({wrong}); is this the folder of a history?") from None
    if isinstance(found, dict) and type(found.get("format")) is int and found["format"] > FORMAT:
        raise ConfigurationError(f"history: the {what} has format {found['format']}, newer than {FORMAT}; use the version that wrote it")
    return _checked(found, what, shape)


def _checked(found: Any, what: str, shape: Mapping[str, type]) -> dict[str, Any]:
    wrong = [name for name, kind in shape.items() if not isinstance(found, dict) or type(found.get(name)) is not kind]
    if wrong:
        raise ConfigurationError(f"history: the {what} has no valid {wrong[0]!r}; is this the folder of a history?")
    return {name: found[name] for name in shape}
