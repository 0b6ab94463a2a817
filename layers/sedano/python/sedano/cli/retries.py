"""Runs again what did not end well: what `sedano retry` does."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.app import Sedano
from sedano.cli.consent import Consent, note, refusal
from sedano.cli.exits import Exit
from sedano.cli.parked import told_rerun, told_sent
from sedano.cli.printer import say
from sedano.engine import reruns
from sedano.engine.parked.redrive import Parked, give_back, parked, planned, redrive
from sedano.engine.reruns import Rerun
from sedano.errors import RerunRefused, SedanoError
from sedano.host.sources import answering, reading
from sedano.ports.absent import has
from sedano.workflow import find


def retry(app: Sedano, ids: Sequence[str], consent: Consent) -> Exit:
    """Send the parked messages of *ids* again, retry the runs of workflows, and run ended tasks again under new ids; refuse every other
    id with the reason.
    """
    ports = app.outlet.ports
    some = parked(ports, lambda one: any(one.is_named(given) for given in ids))
    rest = [given for given in dict.fromkeys(ids) if not any(one.is_named(given) for one in some)]
    runs = [given for given in rest if has(ports.flow_runs) and ports.flow_runs.read(given) is not None]
    found = reruns.planned(ports, [given for given in rest if given not in runs])
    again = [one for one in found if isinstance(one, Rerun)]
    others = _refused([one for one in found if isinstance(one, SedanoError)])
    refused = None
    if some or runs or again:
        refused = refusal("retry", _plan(some, runs, again), consent)
    if refused is not None:
        give_back(ports, some)
        return refused if refused != Exit.DONE else others
    done = [_sent(app, some, consent), _published(app, again, consent), _all_retried(app, runs, consent)]
    app.close()
    note(app, "retry", " ".join(ids), consent)
    return others if all(done) else Exit.REFUSED


def _plan(some: Sequence[Parked], runs: Sequence[str], again: Sequence[Rerun]) -> list[str]:
    """Return what a retry would do, a line for each kind."""
    kinds = {
        f"send {len(some)} parked messages again": some,
        f"retry {len(runs)} runs of workflows": runs,
        f"run {len(again)} ended tasks again, each under a new id; what follows them in a canvas does not run again": again,
    }
    return [line for line, of in kinds.items() if of]


def _sent(app: Sedano, some: Sequence[Parked], consent: Consent) -> bool:
    """Send parked messages again; return whether all went."""
    ports = app.outlet.ports
    going = planned(ports, some, app.registry)
    answers = redrive(ports, going, answering(app).again, reading(app).again)
    for one, error in zip(going, answers, strict=True):
        if error is None:
            told_sent(one, consent)
        else:
            say(f"sedano retry: {one.one.task_id or one.one.message_id} stays parked: {error}", err=True)
    return not any(answers)


def _published(app: Sedano, again: Sequence[Rerun], consent: Consent) -> bool:
    """Publish the next runs of ended tasks; return whether all were accepted."""
    answers = reruns.publish(app.outlet.ports, again)
    for one, error in zip(again, answers, strict=True):
        if error is None:
            told_rerun(one, consent)
        else:
            say(f"sedano retry: {one.ended_id} was not published: {error}", err=True)
    return not any(answers)


def _all_retried(app: Sedano, runs: Sequence[str], consent: Consent) -> bool:
    """Retry the runs of workflows; return whether all were."""
    failed = 0
    for run in runs:
        try:
            state = find(app, run).retry()
            consent.done(f"{run} {state}", id=run, state=state)
        except SedanoError as refused:
            say(f"sedano retry: {refused}", err=True)
            failed += 1
    return not failed


def _refused(errors: Sequence[SedanoError]) -> Exit:
    """Say why tasks cannot be run again; return the exit code for them."""
    for error in errors:
        say(f"sedano retry: {error}", err=True)
    missing = any(isinstance(error, RerunRefused) and error.missing for error in errors)
    return Exit.NOT_FOUND if missing else Exit.REFUSED if errors else Exit.DONE
