"""The work of `sedano revoke`, `broadcast`, `pause`, `resume`, `limit`, `scale`, `release`, `trigger` and `purge`."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.app import Sedano
from sedano.changes import broadcasts, configurations, deployments, limits, locks, pauses, revocations, scales, triggers
from sedano.changes.plan import FoundTasks
from sedano.changes.searches import revoke_found
from sedano.cli.consent import Consent, made, note, refusal
from sedano.cli.exits import Exit
from sedano.errors import UnknownQueue
from sedano.ports import PARKED, command_queue
from sedano.views.selection import to_revoke

EMPTY_POLLS = 3
"""SQS may return no message although the queue has some; after this many empty polls in a row the queue counts as empty."""


def revoke(app: Sedano, ids: Sequence[str], terminate: bool, consent: Consent) -> Exit:
    """Revoke tasks by id; print the state of each afterwards."""
    return made(app, revocations.revoke(app, ids, terminate=terminate), consent)


def revoke_search(app: Sedano, query: str, days: int, most: int, terminate: bool, consent: Consent) -> Exit:
    """Revoke at most *most* tasks that *query* finds in the history of the last *days* and that have not ended; a key finds older ones."""
    found = to_revoke(app, query, days, most)
    done = made(app, revoke_found(app, query, FoundTasks(found.ids, found.sentence), terminate=terminate), consent)
    app.close()
    return done


def revoke_by_header(app: Sedano, header: str, value: str, restore: bool, consent: Consent) -> Exit:
    """Revoke every task with a header, or end that revocation; print the revoked headers."""
    return made(app, revocations.revoke_by_header(app, header, value, restore=restore), consent)


def broadcast(app: Sedano, verb: str, argument: str, to: str | None, wait: float, consent: Consent) -> Exit:
    """Send a command to all workers or one; print its id and the answers that arrive within *wait* seconds."""
    return made(app, broadcasts.broadcast(app, verb, argument, to, wait), consent)


def pause(app: Sedano, name: str, kind: str | None, seconds: float | None, consent: Consent) -> Exit:
    """Pause the queue, task, tenant, circuit, task id or schedule that is called *name*."""
    return made(app, pauses.pause(app, name, kind, seconds), consent)


def resume(app: Sedano, name: str, kind: str | None, consent: Consent) -> Exit:
    """End a pause; refuse a name that is not paused."""
    return made(app, pauses.resume(app, name, kind), consent)


def limit(app: Sedano, name: str, rate: str | None, concurrency: str | None, restore: bool, consent: Consent) -> Exit:
    """Change how often and how many at a time a task runs; print its changed limits."""
    return made(app, limits.limit(app, name, rate, concurrency, restore=restore), consent)


def scale(app: Sedano, name: str, number: int | None, consent: Consent) -> Exit:
    """Let a queue have so many bodies at once; None takes that back."""
    return made(app, scales.scale(app, name, number), consent)


def set_config(app: Sedano, path: str, value: str | None, consent: Consent) -> Exit:
    """Set a field of the app's configuration in the layer `stage:`; None takes its value away."""
    return made(app, configurations.set_value(app, path, value), consent)


def reload_config(app: Sedano, consent: Consent) -> Exit:
    """Let all workers read the app's configuration again."""
    return made(app, configurations.reload(app), consent)


def release(app: Sedano, name: str, token: int, consent: Consent) -> Exit:
    """Release a lock in place of the holder with *token*."""
    return made(app, locks.release(app, name, token), consent)


def trigger(app: Sedano, name: str, consent: Consent) -> Exit:
    """Run a schedule now; print the id of the occurrence."""
    return made(app, triggers.trigger(app, name), consent)


def deployed(app: Sedano, version: str, consent: Consent) -> Exit:
    """Record a deployment of *version* now."""
    return made(app, deployments.deployed(app, version), consent)


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
    note(app, "purge", name, consent, deleted)
    return Exit.DONE
