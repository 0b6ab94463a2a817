"""Mutants of webhooks, the router, bulk changes and configurations that no test can notice, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.mutant import Key

_CURRENT = "if not 0 <= now - known.at < most and not 0 <= now - known.asked < AGAIN_S:"
_JUST = "secrets that were read in this second were asked for in this second, so the store is not asked again either way"
SOURCES: Mapping[Key, str] = {
    (
        "sedano.engine.bulk",
        "_keep",
        "if answer.done:",
        "`if answer.done` → `if False`",
    ): "the next look finds the progress that was just written, and returns; the last look of all returns too",
    (
        "sedano.engine.sources.webhooks",
        "Webhooks._current",
        _CURRENT,
        "`0 <= now - known.at < most` → `0 < now - known.at < most`",
    ): _JUST,
    ("sedano.engine.sources.webhooks", "Webhooks._current", _CURRENT, "`0` → `1`"): _JUST,
    (
        "sedano.engine.sources.webhooks",
        "Webhooks._judged",
        "return found if newer == lines else judge(newer)",
        "`found if newer == lines else judge(newer)` → `judge(newer)`",
    ): "a short cut for most wrong signatures: the same secrets give the same judgement",
    (
        "sedano.engine.router",
        "Router._commands",
        'raise MessageRefused(refusals.BUDGET, "budget", str(spent)) from None',
        "`MessageRefused(refusals.BUDGET, 'budget', str(spent))` → `MessageRefused('budget', refusals.BUDGET, str(spent))`",
    ): "the code of the refusal and the field have one and the same name",
    **{
        (
            "sedano.engine.configuration",
            place,
            line,
            f"`changed(self._fields, {old}.value, new.value)` → `changed(self._fields, new.value, {old}.value)`",
        ): "two versions differ in the same fields, whichever is named first"
        for place, line, old in (
            (
                "Configuration._renewed",
                "paths = changed(self._fields, old.value, new.value) if old is not None else [*self._fields]",
                "old",
            ),
            (
                "Configuration._renewed",
                "if self._snapshot is not None and must_wait(self._fields, changed(self._fields, self._snapshot.value, new.value)):",
                "self._snapshot",
            ),
            ("Configuration._swap", "self._put(new, changed(self._fields, self._snapshot.value, new.value))", "self._snapshot"),
        )
    },
}
