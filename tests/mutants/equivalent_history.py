"""Mutants of the rules of the history that no test can notice, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.mutant import Key

_HISTORY = "sedano.model.history"
_JOINED = "the join of two registers is the same from both sides"
_ADDED = "a sum is the same from both sides"
_LATER = "if found is not None and (found.state in states.TERMINAL or registers is None or max(registers.last.values()) >= at):"
_BOTH = "running, waiting = _added(one.running, other.running), _added(one.waiting, other.waiting)"
HISTORY: Mapping[Key, str] = {
    (
        f"{_HISTORY}.attempts",
        "attempts",
        "ends.add((at.clock, kind))",
        "`ends.add((at.clock, kind))` after `_take(found, kind, at, event, sent)`",
    ): "what is known of ends and what is found do not read one another",
    (
        f"{_HISTORY}.live_state",
        "LiveState._learn",
        "self.tasks[registers.uuid] = registers if known is None else join(known, registers)",
        "`join(known, registers)` → `join(registers, known)`",
    ): _JOINED,
    (
        f"{_HISTORY}.registers",
        "fold",
        "known[lifted.uuid] = lifted if before is None else join(before, lifted)",
        "`join(before, lifted)` → `join(lifted, before)`",
    ): _JOINED,
    (
        f"{_HISTORY}.live_tasks",
        "Watched._timeline",
        _LATER,
        "`max(registers.last.values()) >= at` → `max(registers.last.values()) > at`",
    ): "a deferral is in no register, and its type is in its stamp, so the two are never equal",
    (f"{_HISTORY}.rollups", "summed", "continue", "`continue` → `pass`"): "it is the last statement of the loop",
    (f"{_HISTORY}.rollups", "total", "found = _both(found, one)", "`_both(found, one)` → `_both(one, found)`"): _ADDED,
    **{
        (f"{_HISTORY}.rollups", "_both", line, f"`_added(one.{name}, other.{name})` → `_added(other.{name}, one.{name})`"): _ADDED
        for name, line in (
            ("running", _BOTH),
            ("waiting", _BOTH),
            ("ended", "return RunSums(_added(one.ended, other.ended), one.ran + other.ran, running, waiting)"),
        )
    },
    (
        f"{_HISTORY}.spans",
        "_parents",
        "for uuid, task in known.items() if wanted else ():",
        "`known.items() if wanted else ()` → `known.items()`",
    ): "a short cut for most canvases: of the ids that are derived, none is wanted",
    (f"{_HISTORY}.cost_shares", "cost_shares", "continue", "`continue` → `pass`"): "it is the last statement of the loop",
    (
        f"{_HISTORY}.cost_shares",
        "_run",
        'tenant = from_event(of_run.get("stamps")).get(TENANT, "") if tenants else ""',
        "`from_event(of_run.get('stamps')).get(TENANT, '') if tenants else ''` → `from_event(of_run.get('stamps')).get(TENANT, '')`",
    ): "a short cut for most apps: without tenants to distinguish, no tenant is kept",
    (
        f"{_HISTORY}.cost_shares",
        "_run",
        "micros = round(runtime * MILLION) if runtime.__class__ is float and 0 <= runtime <= MOST else 0",
        "`0 <= runtime <= MOST` → `0 < runtime <= MOST`",
    ): "a run of no seconds took no microseconds either way",
}
