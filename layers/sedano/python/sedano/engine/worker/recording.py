"""The record step: from a run that ended to its accepted record, its refusal, or the error that kept it from being recorded.

A run is judged (`.verdicts`) and its outcome written under the fence of its claim. With group commit, outcomes that wait at the same time
are written by one call of the ledger; each still has its own answer, and what follows a task needs that answer alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.batch import Judged, Ran
from sedano.engine.history.run_events import count_at_once
from sedano.engine.unexpected_errors import answers_of, unexpected
from sedano.engine.worker.body_results import refused
from sedano.engine.worker.end_hooks import EndHooks
from sedano.engine.worker.end_reports import Listener, report
from sedano.engine.worker.verdicts import Judging, write
from sedano.errors import EffectRefused, SedanoError
from sedano.model.ledger.records import INLINE_BYTES, RecordAnswer, TaskRecord
from sedano.model.messages.message import PACK
from sedano.ports import Ports

MOST_DRAFTS = 10
"""The most messages in the outbox of a run that is recorded with others: a large outbox is stored as a blob."""


class Refused(NamedTuple):
    """An outcome that the ledger refused, and the existing record."""

    judged: Judged
    record: TaskRecord | None


RecordedRun = Judged | Refused | SedanoError


def goes_together(ran: Ran) -> bool:
    """Return whether *ran* may be recorded by one call with others: it holds a claim and has no effects, and its judgement stores no blob
    for which the others would wait. A pack goes alone, because its record has the ends and marks of its members.
    """
    held, large = ran.held, ran.result is not None and len(ran.result) > INLINE_BYTES
    return (
        held.record is not None and held.job.command.task != PACK and not ran.effects and not large and len(ran.drafts) <= MOST_DRAFTS
    )  # fmt: skip


class Recording:
    """Judges and records runs. *judging*: judges one; *hooks*: those of the app; *listener*: receives each run that ended."""

    def __init__(self, ports: Ports, judging: Judging, hooks: EndHooks | None, listener: Listener | None) -> None:
        """Record in the ledger of *ports*."""
        self._ports, self.judging, self._hooks, self.listener = ports, judging, hooks, listener

    def conclude(self, ran: Ran, answer: RecordedRun | None = None) -> RecordedRun:
        """Judge and record one run, unless its *answer* is there, and report its end."""
        if answer is None:
            answer = self.judge_and_record(ran)
        judged, found = (answer, answer.ran) if isinstance(answer, Judged) else (None, ran)
        if found.run.error is not None or found.members or self._hooks is not None or self.listener is not None:
            report(found, judged, self._hooks, self.listener, self._ports.telemetry)
        return answer

    def conclude_together(self, runs: Sequence[Ran]) -> list[RecordedRun]:
        """Judge *runs* that all go together (`goes_together`), and record them by one call of the ledger."""
        answers = [self._judged(ran) for ran in runs]
        written = [(n, judged, judged.outcome) for n, judged in enumerate(answers) if isinstance(judged, Judged) and judged.outcome]
        if written:
            replies = answers_of(self._ports.telemetry, self._ports.ledger.record, [outcome for _, _, outcome in written])
            for (n, judged, _), reply in zip(written, replies, strict=True):
                answers[n] = self._answered(judged, runs[n], reply)
        return [self.conclude(ran, answer) for ran, answer in zip(runs, answers, strict=True)]

    def judge_and_record(self, ran: Ran) -> RecordedRun:
        """Judge one run and record its outcome."""
        try:
            judged = self.judging.judge(ran)
            if judged.outcome is None:
                return judged
            answer = write(self._ports, ran, judged.outcome)
            if isinstance(answer, EffectRefused):
                return self.judge_and_record(refused(ran, answer))
        except SedanoError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the last resort
            return unexpected(self._ports.telemetry, error)
        return judged if not isinstance(answer, SedanoError) and answer.accepted else self._answered(judged, ran, answer)

    def _judged(self, ran: Ran) -> RecordedRun:
        try:
            return self.judging.judge(ran)
        except SedanoError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the last resort
            return unexpected(self._ports.telemetry, error)

    def _answered(self, judged: Judged, ran: Ran, answer: RecordAnswer | SedanoError) -> RecordedRun:
        """Return what the ledger's *answer* makes of a run."""
        if isinstance(answer, SedanoError) or answer.accepted:
            return answer if isinstance(answer, SedanoError) else judged
        if ran.held.record is not None:
            count_at_once(self._ports.telemetry, "WritesFencedOff", ran.held.job.task.name)
        return Refused(judged, answer.record)
