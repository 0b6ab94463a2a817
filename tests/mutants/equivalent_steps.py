"""Mutants of the engine's steps that no test can notice, each with the reason: short cuts, and notes that do not read one another."""

from __future__ import annotations

from collections.abc import Mapping

STEPS: Mapping[tuple[str, str, str, str], str] = {
    (
        "sedano.engine.canvas.chord_results",
        "Gathering._ends",
        "added[:0] = [(derived_id(one.task_id, ADDED), one.added) for one in ends[first:] if one.added]",
        "`for one in ends[first:] if one.added` → `for one in ends[first:]`",
    ): "a short cut for most members: of a join without members nothing is read",
    (
        "sedano.engine.canvas.continuation",
        "Conducting._context",
        'room = spec.parameters.room(len(item.get("args", ())), item.get("kwargs", {})) if spec is not None else 1',
        "`1` → `2`",
    ): "an error callback is called with three values or with one, so it is called with one too where it has room for two",
    **{
        ("sedano.engine.batch", place, line, f"`{line}` after `self.decided.add(delivery.message_id)`"): (
            "two notes that do not read one another"
        )
        for place, line in (
            ("Batch.give_back", "self.given_back.append(delivery)"),
            ("Batch.park", "self.parkings.append(Parking(delivery, code, field_name, detail))"),
        )
    },
    (
        "sedano.engine.worker.pack_follow_ups",
        "PackFollowUps._ends",
        "tell_exit(end, own.command.tenant, batch)",
        "`tell_exit(end, own.command.tenant, batch)` after `self._park(own, lost, batch)`",
    ): "two notes in the batch that do not read one another",
    (
        "sedano.engine.declaration_origins",
        "_here",
        'if not frame.f_code.co_flags & CO_OPTIMIZED and not f"{module}.".startswith(_OURS) and frame.f_locals is frame.f_globals:',
        ("`not frame.f_code.co_flags & CO_OPTIMIZED and  … URS)) and (frame.f_locals is frame.f_globals)` → "
        "`not f'{module}.'.startswith(_OURS) and frame.f_locals is frame.f_globals`"),
    ): "a short cut: the names of a function are never those of its module, and to look at them makes a copy",
    (
        "sedano.engine.worker.claim_extension",
        "claim_length",
        "return visibility - 2 * GUARD_S",
        "`2 * GUARD_S` → `2 // GUARD_S`",
    ): "the guard is one second",
    **{
        (
            "sedano.engine.worker.claim_extension",
            "Extending.__init__",
            "self._ports, self._visibility, self._ticker = ports, visibility or 0.0, ticker",
            f"`0.0` → `{seconds}`",
        ): "where nothing is extended no message is hidden, so the number is not used"
        for seconds in ("1.0", "-1.0")
    },
    (
        "sedano.engine.worker.time_limits",
        "Watch.__init__",
        'self._by_signal = meets and threading.current_thread() is threading.main_thread() and hasattr(signal, "pthread_kill")',
        ("`meets and threading.current_thread() is threa … _thread() and hasattr(signal, 'pthread_kill')` → "
        "`meets and threading.current_thread() is threading.main_thread()`"),
    ): "every system on which judges run has it; Windows has not",
    (
        "sedano.engine.worker.time_limits",
        "Limited.ended",
        "self._context.outbox.clear()",
        "`self._context.outbox.clear()` after `self._context.added.clear()`",
    ): "two lists that do not read one another",
    **{
        (
            "sedano.engine.publisher.sender",
            "send",
            "if any(message.delay > queues.bounds.max_delay for message in messages):",
            change,
        ): "a short cut that loads no module: where no delay is too long, all are sent to the queue there too"
        for change in (
            "`if any((message.delay > queues.bounds.max_delay for message in messages))` → `if True`",
            "`message.delay > queues.bounds.max_delay` → `message.delay >= queues.bounds.max_delay`",
        )
    },
    (
        "sedano.engine.worker.claims",
        "Claiming._settle",
        "if answer.granted:",
        "`if answer.granted` → `if False`",
    ): "a short cut for most claims: a record with the nonce of the claim means the same",
    (
        "sedano.engine.worker.claims",
        "Claiming._refused",
        'batch.count("Duplicates", job.task.name)',
        ("`batch.count('Duplicates', job.task.name)` after `batch.chronicle.line('message-duplicate', sel … ob.task.name, "
        "absorbed=decision.action.value)`"),
    ): "notes that do not read one another",
    (
        "sedano.engine.worker.claims",
        "Claiming._revoked",
        'batch.count("TasksRevoked", job.task.name)',
        "`batch.count('TasksRevoked', job.task.name)` after `self.following.follow_again(job, record, batch)`",
    ): "what follows does not read what is counted",
    **dict.fromkeys(
        (
            (
                "sedano.engine.worker.intake",
                "Intake._admit",
                "if not command.time or command.lineage.budget > self.ports.most_budget:",
                "`if not command.time or command.lineage.budget > self.ports.most_budget` → `if True`",
            ),
            (
                "sedano.engine.worker.intake",
                "Intake._admit",
                "if not command.time or command.lineage.budget > self.ports.most_budget:",
                "`command.lineage.budget > self.ports.most_budget` → `command.lineage.budget >= self.ports.most_budget`",
            ),
            (
                "sedano.engine.worker.intake",
                "Intake._completed",
                "if command.lineage.budget > self.ports.most_budget:",
                "`if command.lineage.budget > self.ports.most_budget` → `if True`",
            ),
            (
                "sedano.engine.worker.intake",
                "Intake._completed",
                "if command.lineage.budget > self.ports.most_budget:",
                "`command.lineage.budget > self.ports.most_budget` → `command.lineage.budget >= self.ports.most_budget`",
            ),
        ),
        "a message whose budget is granted and that says its time stays as it is",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.worker.intake",
                "Intake._adjust",
                'batch.defer(delivery, f"the clock of a worker is wrong: {ahead}", command)',
                (
                    "`batch.defer(delivery, f'the clock of a worker is wrong: {ahead}', command)` after "
                    "`self.ports.telemetry.count('ClocksWrong')`"
                ),
            ),
            (
                "sedano.engine.worker.intake",
                "Intake._discard",
                'batch.count("Duplicates", command.task if command.task in self.registry.tasks else UNKNOWN)',
                (
                    "`batch.count('Duplicates', command.task if com … and.task in self.registry.tasks else UNKNOWN)` after "
                    "`batch.chronicle.line('message-duplicate', sel … ask_id, name=command.task, absorbed='window')`"
                ),
            ),
            (
                "sedano.engine.publisher.requeue",
                "_resend",
                "batch.move(job.delivery)",
                "`batch.move(job.delivery)` after `batch.count('TasksHeld', job.task.name)`",
            ),
            (
                "sedano.engine.publisher.requeue",
                "_resend",
                'batch.count("TasksHeld", job.task.name)',
                (
                    "`batch.count('TasksHeld', job.task.name)` after `batch.chronicle.line('task-held', job.receive … "
                    "eason=later.reason, until=round(later.at, 3))`"
                ),
            ),
            (
                "sedano.engine.worker.body_preparation",
                "Preparation.prepare",
                "contain(self.ports.telemetry, error, one.job.delivery, batch)",
                "`contain(self.ports.telemetry, error, one.job.delivery, batch)` after `batch.unstarted.append(one)`",
            ),
        ),
        "notes that do not read one another",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.worker.poison_messages",
                "Poison.open",
                "if delivery.receives == 1 or delivery.serial_key is not None:",
                "`delivery.receives == 1 or delivery.serial_key is not None` → `delivery.serial_key is not None`",
            ),
            (
                "sedano.engine.worker.poison_messages",
                "Poison.open",
                "if delivery.receives == 1 or delivery.serial_key is not None:",
                "`1` → `0`",
            ),
        ),
        "a short cut for most messages: a first receipt is fewer than any that end a message",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.worker.verdicts",
                "Judging._verdict",
                "if ran.run.error is None:",
                "`if ran.run.error is None` → `if False`",
            ),
            (
                "sedano.engine.worker.verdicts",
                "Judging._verdict",
                "return judge(ran.run, NEVER, 0, None, 0.0)",
                "`0` → `1`",
            ),
            (
                "sedano.engine.worker.verdicts",
                "Judging._verdict",
                "return judge(ran.run, NEVER, 0, None, 0.0)",
                "`0` → `-1`",
            ),
            (
                "sedano.engine.worker.verdicts",
                "Judging._verdict",
                "return judge(ran.run, NEVER, 0, None, 0.0)",
                "`0.0` → `1.0`",
            ),
        ),
        "a short cut for most runs: the verdict on one without an error reads neither attempts nor randomness",
    ),
    (
        "sedano.engine.worker.pipeline",
        "Worker._defer",
        "if batch.deferred:",
        "`if batch.deferred` → `if True`",
    ): "a short cut that loads no module: of no deferred messages none is sent again there too",
    (
        "sedano.engine.worker.pipeline",
        "Worker._work",
        'passing(self.ports.telemetry, "tell", partial(self._tell, batch, len(deliveries)), None)',
        (
            "`passing(self.ports.telemetry, 'tell', partial(self._tell, batch, len(deliveries)), None)` after "
            "`self._spared.add(batch.given_back)`"
        ),
    ): "both read which messages were given back, and neither changes that",
    (
        "sedano.engine.worker.body_results",
        "Endings.ended",
        "if not context.added or run.error is not None or run.replaced:",
        "`not context.added or run.error is not None or run.replaced` → `run.error is not None or run.replaced`",
    ): "a short cut for most bodies: of no added members none is published, and their number is 0",
    (
        "sedano.engine.worker.body_results",
        "called",
        "CURRENT.set(context)",
        "`CURRENT.set(context)` after `TELEMETRY.set(telemetry)`",
    ): "two context variables that do not read one another, both set before the body",
    **dict.fromkeys(
        (
            (
                "sedano.engine.timers",
                "DAY_S",
                "DAY_S = 86_400.0",
                "`DAY_S` + 1.0",
            ),
            (
                "sedano.engine.timers",
                "DAY_S",
                "DAY_S = 86_400.0",
                "`DAY_S` - 1.0",
            ),
        ),
        "it stands in the words of a refusal alone, where a second makes no difference",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.publisher.sender",
                "Publisher.publish",
                "if ticket.error is not None or self._stored:",
                "`if ticket.error is not None or self._stored` → `if True`",
            ),
        ),
        "a short cut for most publications: where nothing is stored and nothing failed, nothing is settled",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.publisher.drafting",
                "Drafting.call",
                "if delay and delay > (most := self.ports.queues.bounds.max_delay):",
                (
                    "`delay and delay > (most := self.ports.queues.bounds.max_delay)` → `delay > (most := "
                    "self.ports.queues.bounds.max_delay)`"
                ),
            ),
        ),
        "a short cut for most calls: no queue delays by less than nothing",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.publisher.publisher",
                "Outlet._post",
                "if self.registry.hooks:",
                "`if self.registry.hooks` → `if True`",
            ),
        ),
        "a short cut that loads no module: without hooks none is called there too",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.publisher.spool",
                "_row",
                "return row if _message((queue, body, delay, 0.0, tenant, row[4]), 0.0) is not None else None",
                "`0.0` → `1.0`",
            ),
            (
                "sedano.engine.publisher.spool",
                "_row",
                "return row if _message((queue, body, delay, 0.0, tenant, row[4]), 0.0) is not None else None",
                "`0.0` → `-1.0`",
            ),
            (
                "sedano.engine.publisher.spool",
                "_row",
                "return row if _message((queue, body, delay, 0.0, tenant, row[4]), 0.0) is not None else None",
                "`0.0` → `1.0` (2)",
            ),
            (
                "sedano.engine.publisher.spool",
                "_row",
                "return row if _message((queue, body, delay, 0.0, tenant, row[4]), 0.0) is not None else None",
                "`0.0` → `-1.0` (2)",
            ),
        ),
        "only whether it is a message is asked, not how long it waits",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.drafts",
                "Composer.check",
                "if self._most >= SHORT_BYTES and _short(args) and not kwargs:",
                "`if self._most >= SHORT_BYTES and _short(args) and (not kwargs)` → `if False`",
            ),
            (
                "sedano.engine.drafts",
                "Composer.check",
                "if self._most >= SHORT_BYTES and _short(args) and not kwargs:",
                "`self._most >= SHORT_BYTES` → `self._most > SHORT_BYTES`",
            ),
        ),
        "a short cut for most calls: what is short is found to be short when it is encoded too",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.canvas.launches",
                "_stamps",
                "if own is None or inherited is None or own == inherited:",
                "`if own is None or inherited is None or own == inherited` → `if False`",
            ),
            (
                "sedano.engine.canvas.launches",
                "_stamps",
                "if own is None or inherited is None or own == inherited:",
                "`own is None or inherited is None or own == inherited` → `own is None and inherited is None and (own == inherited)`",
            ),
            (
                "sedano.engine.canvas.launches",
                "_stamps",
                "if own is None or inherited is None or own == inherited:",
                "`own is None or inherited is None or own == inherited` → `inherited is None or own == inherited`",
            ),
            (
                "sedano.engine.canvas.launches",
                "_stamps",
                "if own is None or inherited is None or own == inherited:",
                "`own is None or inherited is None or own == inherited` → `own is None or own == inherited`",
            ),
            (
                "sedano.engine.canvas.launches",
                "_stamps",
                "if own is None or inherited is None or own == inherited:",
                "`own is None or inherited is None or own == inherited` → `own is None or inherited is None`",
            ),
        ),
        "a short cut for most tasks: stamps that are read and written again are the same text",
    ),
    **dict.fromkeys(
        (
            (
                "sedano.engine.canvas.launches",
                "_delay",
                'seconds = float(item["eta"]) - now if "eta" in item else float(item.get("delay", 0))',
                "`0` → `-1`",
            ),
        ),
        "less than no delay is none",
    ),
}
