"""Revokes, pauses, limits and purges: what `sedano revoke`, `pause`, `resume`, `limit` and `purge` do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from typing import Any

from sedano.app import Sedano
from sedano.cli.consent import Consent, note, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import say
from sedano.errors import OptionError, UnknownQueue, UnknownTask, UsageError
from sedano.model import pauses, states
from sedano.model.pauses import CIRCUIT, ID, QUEUE, TASK, TENANT
from sedano.ports import PARKED, command_queue

SCHEDULE = "schedule"
EMPTY_POLLS = 3
"""SQS may answer a poll with nothing though messages are there; after so many in a row the queue counts as empty."""


def revoke(app: Sedano, ids: Sequence[str], terminate: bool, consent: Consent) -> Exit:
    """Revoke tasks by id; print the state of each afterwards."""
    records = app.outlet.ports.ledger.read(ids)
    found = Counter(str(records[one].state if one in records else states.PENDING) for one in ids)
    counted = ", ".join(f"{number} {state}" for state, number in sorted(found.items()))
    refused = refusal("revoke", [f"revoke {len(ids)} tasks: {counted}"], consent)
    if refused is not None:
        return refused
    after = dict(zip(ids, app.control.revoke(ids, terminate=terminate), strict=True))
    for one, state in after.items():
        consent.done(f"{one} {state}", id=one, state=str(state))
    note(app, "revoke", " ".join(ids), consent)
    late = [one for one, state in after.items() if state in states.TERMINAL and state != states.REVOKED]
    if late:
        say(f"sedano revoke: {len(late)} of {len(ids)} tasks had ended before", err=True)
    return Exit.REFUSED if late else Exit.DONE


def revoke_by_header(app: Sedano, header: str, value: str, restore: bool, consent: Consent) -> Exit:
    """Revoke every task with a header, or take that back; print the revoked headers."""
    what = f"{header}={value}"
    plan = f"let tasks with {what} run again" if restore else f"revoke every task with {what}, now and later, until --restore"
    refused = refusal("revoke", [f"{plan}; the number of tasks is unknown, messages have no index"], consent)
    if refused is not None:
        return refused
    change = app.control.restore_by_header if restore else app.control.revoke_by_header
    for one in sorted(_valid(change, header, value)):
        consent.done(one, header=one)
    note(app, "revoke", what, consent)
    return Exit.DONE


def pause(app: Sedano, name: str, kind: str | None, seconds: float | None, consent: Consent) -> Exit:
    """Pause the queue, task, tenant, circuit, task id or schedule that is called *name*."""
    kind, name = _found(app, name, kind)
    now = app.outlet.ports.clock.now()
    until = datetime.fromtimestamp(now + seconds, UTC) if seconds is not None else None
    if kind == SCHEDULE and until is not None:
        raise UsageError("--for: a schedule is paused until `sedano resume`; leave out --for")
    ends = f" for {seconds:.0f} s" if seconds is not None else " until `sedano resume`"
    refused = refusal("pause", [f"pause 1 {kind}: {name}{ends}{_load(app, kind, name)}; running tasks go on"], consent)
    if refused is not None:
        return refused
    if kind == SCHEDULE:
        app.schedules.pause(name)
    else:
        _valid(partial(app.control.pause, **_named(kind, name), until=until))
    consent.done(f"{kind} {name} paused", kind=kind, name=name, state="paused")
    note(app, "pause", f"{kind}={name}", consent)
    return Exit.DONE


def resume(app: Sedano, name: str, kind: str | None, consent: Consent) -> Exit:
    """Take back a pause; refuse a name that is not paused."""
    kind, name = _found(app, name, kind, to_resume=True)
    if not _is_paused(app, kind, name):
        say(f"sedano resume: the {kind} {name} is not paused", err=True)
        return Exit.REFUSED
    refused = refusal("resume", [f"resume 1 {kind}: {name}{_load(app, kind, name)}"], consent)
    if refused is not None:
        return refused
    if kind == SCHEDULE:
        app.schedules.resume(name)
    else:
        _valid(partial(app.control.resume, **_named(kind, name)))
    consent.done(f"{kind} {name} resumed", kind=kind, name=name, state="resumed")
    note(app, "resume", f"{kind}={name}", consent)
    return Exit.DONE


def limit(app: Sedano, name: str, rate: str | None, concurrency: str | None, restore: bool, consent: Consent) -> Exit:
    """Change how often and how many at a time a task runs; print its changed limits."""
    task = _task(app, name)
    changes = [f"rate {rate}"] * (rate is not None) + [f"concurrency {concurrency}"] * (concurrency is not None)
    plan = f"limits of 1 task, {task}: {'as declared' if restore else ', '.join(changes)}"
    refused = refusal("limit", [f"{plan}; workers learn of it with their next heartbeat"], consent)
    if refused is not None:
        return refused
    limits: Mapping[str, str] = {}
    if restore:
        limits = app.control.restore_limits(task)
    if rate is not None:
        limits = _valid(app.control.rate_limit, task, None if rate == "none" else rate)
    if concurrency is not None:
        limits = _valid(app.control.concurrency, task, None if concurrency == "none" else _number(concurrency))
    after = limits.get(task, "as declared")
    consent.done(f"{task} {after}", task=task, limits=after)
    note(app, "limit", plan, consent)
    return Exit.DONE


def purge(app: Sedano, name: str, consent: Consent) -> Exit:
    """Delete the messages that wait in a queue; print how many."""
    if name != "parked" and name not in app.queues:
        raise UnknownQueue(f"{name}: the app has no queue of this name; it has {', '.join(app.queues)}, and there is parked")
    key, ports = PARKED if name == "parked" else command_queue(name), app.outlet.ports
    load = "" if name == "parked" else f" ({ports.consumers.load(key).waiting} wait, {ports.consumers.load(key).running} run)"
    plan = [
        f"delete every message that waits in 1 queue: {name}{load}",
        "their tasks never run and keep the state PENDING; messages of running tasks and delayed messages stay",
    ]
    refused = refusal("purge", plan, consent)
    if refused is not None:
        return refused
    deleted = empty = 0
    while empty < EMPTY_POLLS:
        received = ports.queues.receive(key, 10)
        empty = 0 if received else empty + 1
        if received:
            ports.queues.delete(received)
            deleted += len(received)
    consent.done(f"{deleted} deleted", queue=name, deleted=deleted)
    note(app, "purge", name, consent)
    return Exit.DONE


def _found(app: Sedano, name: str, kind: str | None, *, to_resume: bool = False) -> tuple[str, str]:
    """Return the kind of what *name* names, and its full name.

    Raises:
        UsageError: several things have that name.
        UnknownTask: nothing has it.
    """
    if kind in (TENANT, ID):
        return kind, name
    known = _known(app)
    ends = [one for one in known[TASK] if one.endswith(f".{name}")]
    if kind in (None, TASK) and len(ends) == 1 and not any(name in names for names in known.values()):
        return TASK, ends[0]
    kinds = [one for one, names in known.items() if name in names and kind in (None, one)]
    if kinds == [TASK, CIRCUIT]:  # a circuit has its task's name unless the code gives it another one
        kinds = [CIRCUIT] if to_resume and not _is_paused(app, TASK, name) else [TASK]
    if len(kinds) == 1:
        return kinds[0], name
    if kinds:
        raise UsageError(f"{name} is the name of a {' and of a '.join(kinds)}; add --kind")
    near = get_close_matches(name, sorted({*filter(None, (one for names in known.values() for one in names))}), n=1)
    instead = f"did you mean {near[0]}?" if near else "for a tenant or the id of a task add --kind tenant or --kind id"
    raise UnknownTask(f"{name}: the app has no {kind or 'queue, task, circuit or schedule'} of this name; {instead}")


def _known(app: Sedano) -> Mapping[str, Sequence[str]]:
    tasks = app.registry.tasks
    schedules = [one.name for one in app.schedules.list()]
    circuits = [spec.circuit.name for spec in tasks.values() if spec.circuit is not None]
    return {QUEUE: app.queues, TASK: [one for one in tasks if not one.startswith("sedano.")], CIRCUIT: circuits, SCHEDULE: schedules}


def _task(app: Sedano, name: str) -> str:
    return _found(app, name, TASK)[1]


def _is_paused(app: Sedano, kind: str, name: str) -> bool:
    """Return whether it is paused; a shared circuit that is open counts, since to resume it closes it."""
    if kind == SCHEDULE:
        return any(one.paused for one in app.schedules.list() if one.name == name)
    if kind == CIRCUIT and any(one.open for one in app.control.inspect().circuits() if one.name == name):
        return True
    return any((one.kind, one.name) == (kind, name) for one in map(pauses.parsed, app.control.inspect().paused()) if one is not None)


def _load(app: Sedano, kind: str, name: str) -> str:
    if kind != QUEUE:
        return ""
    load = app.outlet.ports.consumers.load(command_queue(name))
    return f" ({load.waiting} wait, {load.running} run)"


def _named(kind: str, name: str) -> dict[str, Any]:
    return {kind: name}


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"--concurrency: {text} is not a whole number or none")
    return int(text)


def _valid(change: Any, *arguments: Any) -> Any:
    """Call *change*; an option that it refuses is a fault of the command line."""
    try:
        return change(*arguments)
    except OptionError as wrong:
        raise UsageError(str(wrong)) from wrong
