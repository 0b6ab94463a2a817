"""Mutants of webhooks and of bulk changes that no test can notice, with the reasons."""

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
}
