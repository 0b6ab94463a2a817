"""Hostile inputs from good ones: a mutator that knows JSON, also JSON inside a text of JSON, and falls back to bytes.

An input is text as it travels. Where it is JSON, a mutation picks a place in it, at any depth, and replaces, retypes, removes, renames,
repeats, nests or splices what stands there; the values that have hurt parsers before are in `HOSTILE`, the words of the tree's own formats
come from the target. Everything is drawn from one `Random`, so a seed repeats a run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LONGEST = 65_536
"""What a mutation may grow to; a few inputs of a run grow to `GIANT`."""
GIANT = 1_100_000
_RAW = "\x00raw:"
RAW = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1E+5", "01", "1" * 4301, '{"a":1,"a":2}', "[1,]", "-0", "0.1e1", '"\\ud800"',
    "tru")
"""What no `json.dumps` writes; stands in a value as a text that begins with `_RAW`."""
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10, 255, 256, 900, 901, 4096, 10_000, 1_000_000, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1,
    2**63, 2**64,
    10**18, 10**30, 10**400, 253_402_300_799, 253_402_300_800, 0.0, -0.0, 0.5, -1.5, 1e-300, 1e300, -1e300, 1.7e308, 5e-324,
    "", " ", "0", "-1", "1", "00", "+1", "1e5", "²", "٣", "1_000", "0x10", "True", "null", "NaN", "inf", "-inf", "1" * 400, "9" * 5000,
    "\x00", "\n", "\r\n", "\t", "\x1b[2J", "\x1b]52;c;AAAA\x07", "\u202e", "\ufeff", "\ud800", "\udfff\ud800", "\u2028", "\U0001f600", "é",
    "ß", "İ",
    "a" * 300, "a" * 5000, "é" * 300, "%", "%zz", "%00", "{}", "{x}", "{0.__class__}", "%s%n", "$" * 8, "../../etc/passwd", "/", "\\", "'",
    '"', "#", ",", "=", ":",
    ".", "..", "*", "0.0", "1.1.1", "[", "{", "[" * 70, "[" * 5000, "{}[]", "blob:", "blob:" + "0" * 64, "blob:" + "0" * 64 + ":5",
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "os.system", "tests.fuzz.bait", "__import__",
    "__class__", "sedano.launch",
    [], {}, [[]], [{}], {"": None}, {"a": []}, [None], ["x"], [0] * 300, {"__proto__": {}}, "sedano.command.v1", "sedano.command.v2",
    "sedano.event.v1",
    *(f"{_RAW}{raw}" for raw in RAW),
)  # fmt: skip
_MARKED = re.compile(r'"\\u0000raw:((?:[^"\\]|\\.)*)"')
_BYTES = (b"\x00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"{", b"}", b"[", b"]", b'"', b"\\", b",",
    b":", b"\n", b"1e999")
Pool = Sequence[bytes]


class Mutator:
    """Makes inputs of others. *words*: texts that mean something to the target; *is_text*: its inputs are no JSON."""

    def __init__(self, random: Random, words: Sequence[str] = (), *, is_text: bool = False) -> None:
        """Draw from *random*."""
        self._random, self._words, self._is_text = random, tuple(words) or ("x",), is_text

    def mutated(self, data: bytes, pool: Pool) -> bytes:
        """Return another input than *data*; *pool*: what may be spliced in."""
        random = self._random
        most = GIANT if random.random() < 0.0005 else LONGEST
        if not self._is_text and random.random() < 0.85:
            try:
                value = json.loads(data)
            except (ValueError, RecursionError):
                pass
            else:
                return self._structural(value, pool)[:most]
        return self._bytewise(data, pool, most)[:most]

    def _structural(self, value: Any, pool: Pool) -> bytes:
        random = self._random
        try:
            for _ in range(1 + int(random.expovariate(0.7))):
                value = self._changed(value, pool, 0)
            return self._dumped(value).encode("utf-8", "surrogatepass")
        except (RecursionError, MemoryError):  # each change may double what the one before has doubled
            return b"[" * 200
        except ValueError:  # an integer of more digits than Python writes
            return b"9" * 5_000

    def _dumped(self, value: Any) -> str:
        """Return *value* as JSON, with what no JSON writer writes where it was asked for."""
        text = json.dumps(value, ensure_ascii=self._random.random() < 0.9, separators=(",", ":"))
        return _MARKED.sub(lambda found: str(json.loads(f'"{found[1]}"')), text)

    def _changed(self, value: Any, pool: Pool, depth: int) -> Any:
        """Return *value* with one change somewhere in it."""
        random = self._random
        if isinstance(value, dict) and value and depth < 80 and random.random() < 0.8:
            key = random.choice(list(value))
            return {**value, key: self._changed(value[key], pool, depth + 1)}
        if isinstance(value, list) and value and depth < 80 and random.random() < 0.8:
            place = random.randrange(len(value))
            return [*value[:place], self._changed(value[place], pool, depth + 1), *value[place + 1 :]]
        if isinstance(value, str) and value[:1] in ("{", "[") and random.random() < 0.9:
            try:
                inner = json.loads(value)
            except (ValueError, RecursionError):
                return self._text(value)
            try:
                return self._dumped(self._changed(inner, pool, depth + 1))
            except RecursionError:
                return value
        return random.choice(_CHANGES)(self, value, pool)

    def _replaced(self, value: Any, pool: Pool) -> Any:
        return self._random.choice(HOSTILE)

    def _worded(self, value: Any, pool: Pool) -> Any:
        return self._random.choice(self._words)

    def _retyped(self, value: Any, pool: Pool) -> Any:
        random = self._random
        if isinstance(value, str):
            return random.choice([len(value), [value], {value: value}, value.encode("utf-8", "replace").hex()])
        if isinstance(value, int | float):
            return random.choice([str(value)[:4000] if abs(value) < 10**300 else "1", [value], {"n": value}, bool(value)])
        return random.choice([0, "", True, [value], {"v": value}, None, str(value)[:200]])

    def _nudged(self, value: Any, pool: Pool) -> Any:
        random = self._random
        if isinstance(value, bool) or value is None:
            return not value
        if isinstance(value, int):
            return random.choice([value + 1, value - 1, -value, value * 2, value + random.randrange(-1000, 1000),
                value << random.randrange(70)])
        if isinstance(value, float):
            return random.choice([value + 1, -value, value * 1e10, value / 3, int(max(-1e18, min(1e18, value)))])
        if isinstance(value, str):
            return self._text(value)
        return self._shaped(value, pool)

    def _shaped(self, value: Any, pool: Pool) -> Any:
        """Return a container with a part removed, renamed, repeated, moved or added; or *value* in one."""
        random = self._random
        if isinstance(value, dict):
            return self._keyed(value)
        if isinstance(value, list):
            place = random.randrange(len(value) + 1)
            part = value[place % len(value)] if value else random.choice(HOSTILE)
            return random.choice([
                lambda: [*value[:place], *value[place + 1 :]], lambda: [*value[:place], part, *value[place:]], lambda: value[::-1],
                lambda: [part] * random.choice([2, 17, 101, 1001]), lambda: value + value, lambda: [*value, random.choice(HOSTILE)],
                lambda: value[:place],
            ])()  # fmt: skip
        return random.choice([[value], {"item": value}, {random.choice(self._words): value}])

    def _keyed(self, value: dict[str, Any]) -> dict[str, Any]:
        random = self._random
        key = random.choice(list(value)) if value else "x"
        rest = {name: part for name, part in value.items() if name != key}
        word = random.choice(self._words)
        other = random.choice(list(value.values())) if value else None
        return random.choice([
            lambda: rest, lambda: {**rest, word: value.get(key)}, lambda: {**value, word: random.choice(HOSTILE)},
            lambda: {**value, key: other},
            lambda: {**value, word: other}, lambda: dict(reversed(value.items())),
            lambda: {**value, str(random.choice(HOSTILE))[:300]: other},
            lambda: {**value, **{f"x{n}": n for n in range(random.choice([3, 40, 400]))}},
        ])()  # fmt: skip

    def _spliced(self, value: Any, pool: Pool) -> Any:
        """Return a part of another input."""
        random = self._random
        try:
            part = json.loads(random.choice(pool))
        except (ValueError, RecursionError):
            return random.choice(HOSTILE)
        for _ in range(random.randrange(8)):
            if isinstance(part, str) and part[:1] in ("{", "["):
                try:
                    part = json.loads(part)
                except (ValueError, RecursionError):
                    break
            if not isinstance(part, dict | list) or not part:
                break
            part = random.choice(list(part.values()) if isinstance(part, dict) else part)
        return part

    def _nested(self, value: Any, pool: Pool) -> Any:
        """Return *value* inside many containers."""
        random = self._random
        for _ in range(random.choice([1, 2, 5, 61, 64, 65, 130])):
            value = [value] if random.random() < 0.5 else {"item": value}
        return value

    def _text(self, value: str) -> str:
        random = self._random
        place = random.randrange(len(value) + 1)
        other = random.choice(HOSTILE)
        insert = other if isinstance(other, str) and not other.startswith(_RAW) else random.choice(self._words)
        return random.choice([
            lambda: value[:place] + insert + value[place:], lambda: value[:place] + value[place + 1 :], lambda: value[:place],
            lambda: value[place:], lambda: value + value, lambda: value * random.choice([3, 20]) if len(value) < 500 else value,
            value.swapcase, lambda: value[:place] + chr(random.choice([0, 31, 32, 45, 46, 48, 57, 58, 127, 178, 0x661, 0xD800,
                0x1F600])) + value[place + 1 :],
            lambda: insert,
        ])()  # fmt: skip

    def _bytewise(self, data: bytes, pool: Pool, most: int) -> bytes:
        for _ in range(1 + int(self._random.expovariate(0.5))):
            place = self._random.randrange(len(data) + 1)
            before, after = data[:place], data[place:]
            data = self._random.choice(_CUTS)(self, before, after, pool, most)[:most]
        return data

    def _other_byte(self, before: bytes, after: bytes, pool: Pool, most: int) -> bytes:
        return before + bytes([self._random.randrange(256)]) + after[1:]

    def _cut_out(self, before: bytes, after: bytes, pool: Pool, most: int) -> bytes:
        return before + after[self._random.randrange(1, 64) :]

    def _inserted(self, before: bytes, after: bytes, pool: Pool, most: int) -> bytes:
        return before + self._random.choice((*_BYTES, self._random.choice(_DIGITS), self._word())) + after

    def _overwritten(self, before: bytes, after: bytes, pool: Pool, most: int) -> bytes:
        return before + self._word() + after[self._random.randrange(1, 64) :]

    def _crossed(self, before: bytes, after: bytes, pool: Pool, most: int) -> bytes:
        other = self._random.choice(pool)
        start = self._random.randrange(len(other) + 1)
        return before + other[start : start + self._random.randrange(1, 256)] + after

    def _repeated(self, before: bytes, after: bytes, pool: Pool, most: int) -> bytes:
        width = self._random.randrange(1, 64)
        return before + after[:width] * self._random.choice([2, 3, 50, most // width]) + after[width:]

    def _turned(self, before: bytes, after: bytes, pool: Pool, most: int) -> bytes:
        return after + before

    def _word(self) -> bytes:
        return self._random.choice(self._words).encode("utf-8", "surrogatepass")


Cut = Callable[[Mutator, bytes, bytes, Pool, int], bytes]
_CUTS: tuple[Cut, ...] = (
    Mutator._other_byte, Mutator._cut_out, Mutator._inserted, Mutator._inserted, Mutator._overwritten, Mutator._crossed, Mutator._repeated,
    Mutator._turned,
)  # fmt: skip
Change = Callable[[Mutator, Any, Pool], Any]
_CHANGES: tuple[Change, ...] = (
    Mutator._replaced, Mutator._replaced, Mutator._replaced, Mutator._worded, Mutator._retyped, Mutator._nudged, Mutator._nudged,
    Mutator._shaped,
    Mutator._shaped, Mutator._spliced, Mutator._nested,
)  # fmt: skip
_DIGITS = tuple(str(number).encode() for number in HOSTILE if type(number) in (int, float) and abs(number) < 1e30)
