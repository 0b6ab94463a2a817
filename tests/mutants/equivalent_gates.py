"""Mutants of gates, elections and short cuts on the way of every task that no test can notice, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.mutant import Key

GATES: Mapping[Key, str] = {
    **dict.fromkeys(
        (
            ("sedano.engine.elections", "Gossip._wait", "return 0.0", "`0.0` → `-1.0`"),
            ("sedano.engine.elections", "Gossip._wait", "return 0.0", "`0.0` → `-1.0` (2)"),
        ),
        "a wait of less than nothing is none, for the one caller",
    ),
    (
        "sedano.engine.elections",
        "Gossip._dispatch",
        "context.outbox.append(_draft(election.draft).asking(task_id=election.task_id))",
        (
            "`context.outbox.append(_draft(election.draft).asking(task_id=election.task_id))` after "
            "`self.ports.telemetry.count('ElectionsClosed')`"
        ),
    ): "what is counted does not read what follows",
    (
        "sedano.engine.pauses",
        "Pauses.admit",
        'batch.count("TasksPaused", job.task.name)',
        (
            "`batch.count('TasksPaused', job.task.name)` after `put_off(ports, job, f'paused: {stopped.kind}  … _pause_left(ports, job, "
            "stopped, now), batch)`"
        ),
    ): "what is put off does not read what is counted",
    (
        "sedano.engine.worker.admission",
        "Admission.sift",
        "if batch.decided:",
        "`if batch.decided` → `if True`",
    ): "a short cut for most batches: where no message is decided, all of them stay",
    (
        "sedano.engine.revocation.revocation_gate",
        "Revocations.open",
        "if not control.revoked:",
        "`if not control.revoked` → `if False`",
    ): "a short cut for every task of a stage where nothing is revoked, which `revoked_by` finds too",
    (
        "sedano.engine.history.run_events",
        "tell",
        "said = None if ran.run.error is None else _failed(judged.verdict.state, ran.run.error, job, batch)",
        (
            "`None if ran.run.error is None else _failed(ju … ged.verdict.state, ran.run.error, job, batch)` → "
            "`_failed(judged.verdict.state, ran.run.error, job, batch)`"
        ),
    ): "a short cut for every task that succeeds: without an error, none is said",
}
