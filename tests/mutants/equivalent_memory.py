"""Mutants of the twins in memory that no test can notice, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.mutant import Key

_BACKLOG, _ORDERED = "sedano.memory.backlog", "the numbers only order the messages, which a larger step or another beginning does too"
_BACK = "self._rows |= {row.seq: row._replace(tries=row.tries + 1, taken=0.0) for row in rows}"
MEMORY: Mapping[Key, str] = {
    ("sedano.memory.limits", "MemoryLimits.board", "return self._board(name, 0)", "`0` → `1`"): "both permits are of the first board",
    (_BACKLOG, "MemoryBacklog.__init__", "self._numbers = 0", "`0` → `1`"): _ORDERED,
    (_BACKLOG, "MemoryBacklog.__init__", "self._numbers = 0", "`0` → `-1`"): _ORDERED,
    (_BACKLOG, "MemoryBacklog.keep", "self._numbers += 1", "`1` → `2`"): _ORDERED,
    (_BACKLOG, "MemoryBacklog.give_back", _BACK, "`1` → `2`"): _ORDERED,
    **{
        (_BACKLOG, "MemoryBacklog.give_back", _BACK, f"`0.0` → `{until}`"): "each is a time that is over"
        for until in ("1.0", "-1.0")
    },
}
