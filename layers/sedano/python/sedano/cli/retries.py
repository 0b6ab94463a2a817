"""Runs again what did not end well: what `sedano retry` does."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.app import Sedano
from sedano.cli.consent import Consent, note, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import say
from sedano.engine.parked.redrive import Parked, give_back, parked, planned, redrive
from sedano.errors import SedanoError
from sedano.host.sources import answering, reading
from sedano.model import states
from sedano.ports.absent import has
from sedano.workflow import find


def retry(app: Sedano, ids: Sequence[str], consent: Consent) -> Exit:
    """Send the parked messages of *ids* again and retry the runs of workflows; refuse every other id with the reason."""
    ports = app.outlet.ports
    some = parked(ports, lambda one: any(one.is_named(given) for given in ids))
    rest = [given for given in ids if not any(one.is_named(given) for one in some)]
    runs = [given for given in rest if has(ports.flow_runs) and ports.flow_runs.read(given) is not None]
    others = _impossible(app, [given for given in rest if given not in runs])
    refused = None
    if some or runs:
        refused = refusal("retry", [f"send {len(some)} parked messages again, retry {len(runs)} runs of workflows"], consent)
    if refused is not None:
        give_back(ports, some)
        return refused if refused != Exit.DONE else others
    failed = [*_sent(app, some, consent), *(run for run in runs if not _retried(app, run, consent))]
    app.close()
    note(app, "retry", " ".join(ids), consent)
    return Exit.REFUSED if failed else others


def _sent(app: Sedano, some: Sequence[Parked], consent: Consent) -> list[str]:
    """Send parked messages again; return the ids of those that stay parked."""
    ports = app.outlet.ports
    going = planned(ports, some, app.registry)
    answers = redrive(ports, going, answering(app).again, reading(app).again)
    stay = []
    for (one, queue, _), error in zip(going, answers, strict=True):
        named = one.task_id or one.message_id
        if error is None:
            consent.done(f"{named} sent to {queue}", id=named, queue=queue)
        else:
            say(f"sedano retry: {named} stays parked: {error}", err=True)
            stay.append(named)
    return stay


def _retried(app: Sedano, run: str, consent: Consent) -> bool:
    try:
        state = find(app, run).retry()
        consent.done(f"{run} {state}", id=run, state=state)
    except SedanoError as refused:
        say(f"sedano retry: {refused}", err=True)
        return False
    return True


def _impossible(app: Sedano, ids: Sequence[str]) -> Exit:
    """Say why each of *ids* cannot be retried; return the exit code for them."""
    records = app.outlet.ports.ledger.read(ids) if ids else {}
    for one in ids:
        record = records.get(one)
        if record is None:
            say(
                f"sedano retry: {one} is not a parked message, a run of a workflow or a recorded task; `sedano explain {one}` looks",
                err=True,
            )
        elif record.state in states.TERMINAL:
            again = f"publish it again: sedano call {record.name} …"
            say(f"sedano retry: {one} ended as {record.state} and its arguments are not kept; {again}", err=True)
        else:
            say(f"sedano retry: {one} is {record.state} and goes on without help", err=True)
    missing = any(one not in records for one in ids)
    return Exit.NOT_FOUND if missing else Exit.REFUSED if ids else Exit.DONE
