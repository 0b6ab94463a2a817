"""Revokes, pauses, limits and purges: what `sedano revoke`, `pause`, `resume`, `limit` and `purge` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sedano.app import Sedano
from sedano.changes import pauses, revocations
from sedano.changes.pauses import valid
from sedano.changes.targets import found
from sedano.cli.consent import Consent, made, note, refusal
from sedano.cli.exits import Exit
from sedano.errors import UnknownQueue, UsageError
from sedano.model.pauses import TASK
from sedano.ports import PARKED, command_queue

EMPTY_POLLS = 3
"""SQS may answer a poll with nothing though messages are there; after so many in a row the queue counts as empty."""


def revoke(app: Sedano, ids: Sequence[str], terminate: bool, consent: Consent) -> Exit:
    """Revoke tasks by id; print the state of each afterwards."""
    return made(app, revocations.revoke(app, ids, terminate=terminate), consent)


def revoke_by_header(app: Sedano, header: str, value: str, restore: bool, consent: Consent) -> Exit:
    """Revoke every task with a header, or take that back; print the revoked headers."""
    return made(app, revocations.revoke_by_header(app, header, value, restore=restore), consent)


def pause(app: Sedano, name: str, kind: str | None, seconds: float | None, consent: Consent) -> Exit:
    """Pause the queue, task, tenant, circuit, task id or schedule that is called *name*."""
    return made(app, pauses.pause(app, name, kind, seconds), consent)


def resume(app: Sedano, name: str, kind: str | None, consent: Consent) -> Exit:
    """Take back a pause; refuse a name that is not paused."""
    return made(app, pauses.resume(app, name, kind), consent)


def limit(app: Sedano, name: str, rate: str | None, concurrency: str | None, restore: bool, consent: Consent) -> Exit:
    """Change how often and how many at a time a task runs; print its changed limits."""
    task = found(app, name, TASK)[1]
    changes = [f"rate {rate}"] * (rate is not None) + [f"concurrency {concurrency}"] * (concurrency is not None)
    plan = f"limits of 1 task, {task}: {'as declared' if restore else ', '.join(changes)}"
    refused = refusal("limit", [f"{plan}; workers learn of it with their next heartbeat"], consent)
    if refused is not None:
        return refused
    limits: Mapping[str, str] = {}
    if restore:
        limits = app.control.restore_limits(task)
    if rate is not None:
        limits = valid(app.control.rate_limit, task, None if rate == "none" else rate)
    if concurrency is not None:
        limits = valid(app.control.concurrency, task, None if concurrency == "none" else _number(concurrency))
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


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"--concurrency: {text} is not a whole number or none")
    return int(text)
