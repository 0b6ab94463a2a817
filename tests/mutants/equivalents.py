"""Mutants that no test can notice, because what they change makes no difference; each with the reason.

The key is (module, place, source line or text of the expression, change), as `summary.json` gives it. An entry that fits no mutant
any more, because its line was changed, is an error of the campaign, and so is one whose mutant was killed.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.equivalent_cluster import CLUSTER
from tests.mutants.equivalent_flows import FLOWS
from tests.mutants.equivalent_gates import GATES
from tests.mutants.equivalent_history import HISTORY
from tests.mutants.equivalent_memory import MEMORY
from tests.mutants.equivalent_processes import PROCESSES
from tests.mutants.equivalent_programs import PROGRAMS
from tests.mutants.equivalent_rules import RULES
from tests.mutants.equivalent_schedules import SCHEDULES
from tests.mutants.equivalent_sources import SOURCES
from tests.mutants.equivalent_steps import STEPS
from tests.mutants.mutant import Key

_ASK = "st = :running AND (attribute_not_exists(rvk) OR rvk < :rvk) SET rvk = :rvk"
_EXTEND = "st = :running AND nc = :nc AND att = :att AND exp < :exp SET exp = :exp, #ttl = :ttl"
_FOLLOW = "st IN (:expired, :failure, :poison, :revoked, :success) AND mid = :mid SET fol = :one"
_FORGET = (
    "st IN (:expired, :failure, :poison, :revoked, :success) SET res = :none, tail = :none, fgt = :one, ek = :none, wh = :none, "
    "ust = :none"
)
_RECLAIM = (
    "st IN (:pending, :retry) AND try = :try AND attribute_not_exists(rvk) SET st = :running, nc = :nc, mid = :mid, exp = :exp, "
    "clk = :clk, nm = :nm, own = :own, #ttl = :ttl, try = :try, cnt = :one, att = if_not_exists(att, :zero) + :one"
)
_STEAL = (
    "st = :running AND try = :try AND att = :att AND nc = :seen AND exp = :lapsed SET st = :running, nc = :nc, mid = :mid, exp = :exp, "
    "clk = :clk, nm = :nm, own = :own, #ttl = :ttl, cnt = cnt + :one, att = att + :one"
)
_FLOW = "nc = :seen SET nc = :nc, flow = :flow, st = :st, body = :body, #ttl = :ttl"
_TAKE = (
    "tok = :seen AND rv = :version SET lease = :name, tok = :tok, nc = :nc, own = :own, rv = :rv, st = :held, dur = :dur, exp = :exp "
    "REMOVE want, #ttl"
)


def _shut(*changes: str) -> dict[Key, str]:
    text = "attribute_not_exists(shut) OR shut = :shut SET shut = :shut, #ttl = :ttl"
    reason = "nothing but 1 is ever written there, so the condition holds either way; and the attribute is only looked for, not read"
    return {("sedano.aws.expressions.limits", "SHUT", text, change): reason for change in changes}


_CHECK = "f'{ref[ …  is not the claim check of a parked message')"
_TURN = "tell_held(ports, job, f'it waits for its turn … me serial key {head.serial_key}', 0.0, batch)"
_TURN_LINE = (
    'tell_held(ports, job, f"it waits for its turn after message {head.message_id}, of the same serial key {head.serial_key}", 0.0, batch)'
)
_COUNTED = "batch.count('CallsCollected', job.task.name)"
EQUIVALENT: Mapping[Key, str] = {
    (
        "sedano.engine.worker.body_preparation",
        "Preparation._prepare",
        "batch.unstarted.append(held)",
        "`batch.unstarted.append(held)` after `batch.defer_job(held.job, error)`",
    ): "notes that do not read one another",
    **{
        ("sedano.engine.limits.concurrency", f"Permitting.{place}", line, "`0.0` → `-1.0`"): "the first is also a whole turn before itself"
        for place, line in (
            ("_waits_at_board", "found = chosen(answer.board, wanted.limit, self._now(), delivery.message_id, 0.0)"),
            ("_is_free", "found = chosen(self._read(wanted), wanted.limit, self._now(), job.delivery.message_id, 0.0)"),
        )
    },
    (
        "sedano.engine.limits.concurrency",
        "Permitting._hold",
        "tell_held(self.ports, job, reason, seconds, batch)",
        "`tell_held(self.ports, job, reason, seconds, batch)` after `batch.give_back(job.delivery)`",
    ): "notes that do not read one another",
    (
        "sedano.engine.worker.inline_links",
        "InlineLinks.tell",
        "told.rows.clear()",
        "`told.rows.clear()` after `told.lines.clear()`",
    ): "two lists that do not read one another",
    (
        "sedano.engine.worker.inline_links",
        "InlineCarrier.run",
        "self._site.follows()",
        "`self._site.follows()` after `self._tell(batch)`",
    ): "the host's count and the history do not read one another",
    (
        "sedano.engine.worker.verdicts",
        "Judging._verdict",
        "return judge(ran.run, NEVER, 0, None, 0.0)",
        "`0.0` → `-1.0`",
    ): "a run without an error is not tried again after a pause, so the randomness of the pause is not used",
    (
        "sedano.engine.history.commits",
        "History.collect",
        "gone = set(rule.collectable([term for term in names.values() if term is not None], kept, pointer.token, since))",
        ("`rule.collectable([term for term in names.valu … erm is not None], kept, pointer.token, since)` → "
        "`rule.collectable([term for term in names.valu … erm is not None], kept, since, pointer.token)`"),
    ): "a term is compared with both in the same way",
    **dict.fromkeys(
        (
            (
                "sedano.engine.history.run_events",
                "tell",
                "batch.chronicle.rows.append(_row(job, began, (int(ran.ended * MICRO), clock, end), said))",
                ("`batch.chronicle.rows.append(_row(job, began, (int(ran.ended * MICRO), clock, end), said))` after "
                "`_tell_calls(job, end, clock, ran.ended, batch)`"),
            ),
            (
                "sedano.engine.history.run_events",
                "tell_again",
                "batch.chronicle.rows.append(_row(job, (None, None), (record.clock, clock, end), _said(record.state, record.error)))",
                ("`batch.chronicle.rows.append(_row(job, (None,  … ck, end), _said(record.state, record.error)))` after "
                "`_tell_calls(job, end, clock, record.clock / MICRO, batch)`"),
            ),
        ),
        "rows and lines are two lists that do not read one another",
    ),
    **{
        (
            "sedano.engine.history.invocation_costs",
            "Invocations.__init__",
            "self._began = self._written = 0.0",
            f"`0.0` → `{seconds}`",
        ): "each invocation begins before its line; the first line is due in any case"
        for seconds in ("1.0", "-1.0")
    },
    (
        "sedano.engine.history.run_events",
        "tell",
        "if job.command.traceparent is not None and stillborn is None:",
        "`job.command.traceparent is not None and stillborn is None` → `stillborn is None`",
    ): "a short cut for most tasks: without a trace parent the trace is that of the tree, of which no span is reported",
    (
        "sedano.engine.worker.body_results",
        "Endings.ended",
        'result = "null" if run.value is None else _encoded(run.value)',
        "`'null' if run.value is None else _encoded(run.value)` → `_encoded(run.value)`",
    ): "a short cut for most bodies: the codec writes None as null too",
    (
        "sedano.engine.limits.limit_gate",
        "Limiting._permitted",
        "lanes = len(jobs) if jobs[0].task.is_async else self.lanes",
        "`0` → `-1`",
    ): "they are jobs of one task",
    (
        "sedano.engine.limits.rate",
        "Pacing._ticket",
        "limits = some[0][0].limits",
        "`0` → `-1`",
    ): "they ask for one line, whose name holds their limits",
    **{
        ("sedano.engine.collection", "Collecting._tell", line, change): "notes that do not read one another"
        for line, change in (
            ("batch.move(job.delivery)", f"`batch.move(job.delivery)` after `{_COUNTED}`"),
            (
                'batch.count("CallsCollected", job.task.name)',
                f"`{_COUNTED}` after `batch.chronicle.line('task-held', job.receive … d(collected.until, 3), batch=collected.batch)`",
            ),
        )
    },
    **{
        ("sedano.engine.circuits", "Circuits._watch", "health.reported(check.spec, Health(check.name), state, 0.0)", f"`0.0` → `{time}`"): (
            "only whether the check declares the state is asked; the answer with the time in it is not used"
        )
        for time in ("1.0", "-1.0")
    },
    (
        "sedano.engine.circuits",
        "Circuits.learn",
        "self._ahead.clear()",
        "`self._ahead.clear()` after `self._hear(batch)`",
    ): "what was reported is not compared with what the batch foresaw",
    (
        "sedano.engine.worker.follow_ups",
        "Following.follow",
        "if not one.posted and _is_last(job.command, one.verdict.state):",
        "`if not one.posted and _is_last(job.command, one.verdict.state)` → `if False`",
    ): "a short cut for most tasks: what follows from them is nothing",
    (
        "sedano.engine.worker.follow_ups",
        "Following._cut",
        "self._tell_cut(job, cut, answer, batch)",
        "`self._tell_cut(job, cut, answer, batch)` after `due.add(job, cut.found)`",
    ): "what is told and what is sent do not read one another",
    (
        "sedano.aws.expressions.effects",
        "_condition",
        'return parts[0] if len(parts) == 1 else " AND ".join(f"({one})" if " OR " in one else one for one in parts)',
        "`0` → `-1`",
    ): "the list has one part there: the last one is the first",
    **{
        ("sedano.engine.order", "_wait", line, change): "notes that do not read one another, nor what is held back"
        for line, change in (
            ('batch.count("TasksHeld", job.task.name)', f"`batch.count('TasksHeld', job.task.name)` after `{_TURN}`"),
            (_TURN_LINE, f"`{_TURN}` after `hold_back(ports, job.delivery, 0.0, batch)`"),
        )
    },
    **{
        ("sedano.engine.parked.redrive", "whole_body", f"raise MessageRefused(refusals.BLOB, {line}", f"`MessageRefused({change}`"): (
            "the code and the field are the same word"
        )
        for line, change in (
            (
                '"blob", f"{ref[:80]!r} is not the claim check of a parked message")',
                f"refusals.BLOB, 'blob', {_CHECK}` → `MessageRefused('blob', refusals.BLOB, {_CHECK}",
            ),
            (
                '"blob", "its bytes are not UTF-8") from None',
                "refusals.BLOB, 'blob', 'its bytes are not UTF-8')` → `MessageRefused('blob', refusals.BLOB, 'its bytes are not UTF-8')",
            ),
        )
    },
    **{
        ("sedano.model.queues", place, line, change): "a short cut for most messages, which are ASCII and have no attributes"
        for place, line, change in (
            (
                "objection",
                "return _attributes(attributes) if attributes else None",
                "`_attributes(attributes) if attributes else None` → `_attributes(attributes)`",
            ),
            (
                "_bytes",
                'return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))',
                ("`len(text) if text.isascii() else len(text.encode('utf-8', 'surrogatepass'))` → "
                "`len(text.encode('utf-8', 'surrogatepass'))`"),
            ),
            (
                "objection",
                "if not body.isprintable() and (bad := re.search(_ILLEGAL, body)):",
                "`not body.isprintable() and (bad := re.search(_ILLEGAL, body))` → `(bad := re.search(_ILLEGAL, body))`",
            ),
        )
    },
    **STEPS,
    **PROGRAMS,
    **GATES,
    **SOURCES,
    **CLUSTER,
    **FLOWS,
    **PROCESSES,
    **SCHEDULES,
    **HISTORY,
    **MEMORY,
    **RULES,
    **_shut(
        "`attribute_not_exists(shut)` always holds",
        "`shut = :shut` always holds",
        "`:shut` is 0",
        "`:shut` is 2",
    ),
    ("sedano.aws.expressions.tasks", "ASK", _ASK, "`rvk < :rvk` → `rvk <= :rvk`"): "the mark that stands is written once more",
    (
        "sedano.aws.expressions.tasks",
        "EXTEND",
        _EXTEND,
        "`exp < :exp` → `exp <= :exp`",
    ): "the end that stands is written once more, and the lifetime that follows from it; refused, the answer is the same record",
    ("sedano.aws.expressions.tasks", "RECLAIM", _RECLAIM, "`try` is not set"): "its condition says that the attempt is this one already",
    ("sedano.aws.expressions.tasks", "STEAL", _STEAL, "`st` is not set"): "its condition says that the task is running already",
    ("sedano.aws.expressions.leases", "TAKE", _TAKE, "`lease` is not set"): "the name that stands there already is the lease's own",
    ("sedano.aws.expressions.flow_runs", "CHANGE", _FLOW, "`flow` is not set"): "the run that was seen has the same workflow, for ever",
    (
        "sedano.memory.ledger",
        "MemoryLedger.reserve",
        "known = record or TaskRecord(task_id, states.PENDING)",
        "`record or TaskRecord(task_id, states.PENDING)` → `TaskRecord(task_id, states.PENDING)`",
    ): "a reserved task has nothing but its reservation, which is replaced",
    (
        "sedano.memory.ledger",
        "MemoryLedger._extend",
        "if record.expires < whole_ms(extension.expires):",
        "`record.expires < whole_ms(extension.expires)` → `record.expires <= whole_ms(extension.expires)`",
    ): "the same end is written once more, and the lifetime that follows from it",
    ("sedano.memory.blobs", "MemoryBlobs.get", "require_digest(ref)", "`require_digest(ref)` → `pass`"): "nothing here has a name that is "
    "no digest, so it is refused as absent: with the same code and the same field",
    (
        "sedano.memory.timers",
        "MemoryTimers.edit",
        "self._queues.forget(found.timer.queue, found.message_id)",
        "`self._queues.forget(found.timer.queue, found.message_id)` after `self._put(found.timer._replace(at=at))`",
    ): "the message that is forgotten is the one from before the change, and both happen under one lock",
    ("sedano.memory.events", "MemoryEvents.read", "if name >= first:", "`name >= first` → `name > first`"): "the name of an object is "
    "longer than the prefix of its day, so they are never equal",
    **{
        ("sedano.aws.expressions.tasks", name, write, f"`:one` is {number}"): "that the attribute is there says it, not its value"
        for name, write in (("FORGET", _FORGET), ("FOLLOW", _FOLLOW))
        for number in (0, 2)
    },
}
