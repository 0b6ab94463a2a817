"""Lists, sends and drops messages that wait on this machine: the work of `sedano spool`."""

from __future__ import annotations

import time
from contextlib import closing

from sedano.api.backlog import DISK, DYNAMODB, chosen
from sedano.app import Sedano
from sedano.cli.consent import Consent, note, note_here, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import say
from sedano.cli.tables import Cell, Instant, document, listing
from sedano.engine.publisher import spool_folder
from sedano.engine.publisher.spool import Found, Spool, about, every
from sedano.errors import ConfigurationError, SpoolError


def show(as_json: bool) -> None:
    """Print the waiting messages: the app, the stage, and the time since which they wait."""
    found = every()
    if as_json:
        found_here = ({**one._asdict(), "place": str(one.place), "oldest": Instant(one.oldest), "spool": _name(one)} for one in found)
        document("spool.list", found_here)
        return
    if not found:
        say(f"no message waits in {spool_folder.home()}", err=True)
        return
    listing(("SPOOL", "APP", "STAGE", "WAITING", "UNREADABLE", "OLDEST", "QUEUES"), map(_row, found), now=time.time())


def send(app: Sedano, consent: Consent) -> Exit:
    """Send the messages that wait for *app* and the stage of this environment, if the user agrees."""
    kind, table = chosen(app.backlog)
    if kind == DYNAMODB:
        return _send_from(f"{kind}:{table}", app, consent)
    place = spool_folder.place(app.name) if kind == DISK else None
    if place is None:
        raise ConfigurationError("this host has no spool: it is a Lambda function, SEDANO_SPOOL is off, or the backlog is off or in memory")
    before = about(place).waiting
    refused = refusal("spool", [f"send {before} messages that wait on this machine for {app.name}"], consent) if before else None
    if refused is not None:
        return refused
    app.outlet.send_stored()
    left = about(place).waiting
    consent.done(f"{before - left} sent, {left} left", sent=before - left, left=left)
    if before:
        note(app, "spool send", str(place), consent, before - left)
    if left:
        say("sedano spool: the queue did not accept the rest; the log above says why", err=True)
    return Exit.FAILED if left else Exit.DONE


def _send_from(place: str, app: Sedano, consent: Consent) -> Exit:
    """Send the messages of *app* that wait in the table *place*, if the user agrees."""
    refused = refusal("spool", [f"send the messages of {app.name} that wait in {place}"], consent)
    if refused is not None:
        return refused
    sent = app.outlet.send_stored()
    consent.done(f"{sent} sent", sent=sent)
    if sent:
        note(app, "spool send", place, consent, sent)
    return Exit.DONE


def drop(spool: str, count: int, consent: Consent) -> Exit:
    """Delete the *count* messages of the spool that is called *spool*, if the user agrees.

    Raises:
        SpoolError: the spool has another number of messages; nothing was deleted.
    """
    named = [one for one in every() if _name(one) == spool]
    if not named:
        say(f"sedano spool: no spool is called {spool}; `sedano spool list` shows them", err=True)
        return Exit.NOT_FOUND
    (one,) = named
    if one.waiting + one.spoiled != count:
        raise SpoolError(f"{spool} has {one.waiting + one.spoiled} messages, not {count}; nothing was dropped; list them again")
    plan = f"delete {count} messages of {one.app or 'an unknown app'}, stage {one.stage or 'unknown'}, from this machine; they never run"
    refused = refusal("spool", [plan], consent, f"delete the messages of {spool}?")
    if refused is not None:
        return refused
    with closing(Spool(one.place)) as found:
        dropped = found.drop(count)
    consent.done(f"{dropped} dropped", spool=spool, dropped=dropped)
    note_here("spool drop", f"{spool}, {dropped} messages", consent)
    return Exit.DONE


def _name(one: Found) -> str:
    return f"{one.place.parent.name}/{one.place.name}"


def _row(one: Found) -> tuple[Cell, ...]:
    return _name(one), one.app, one.stage, one.waiting, one.spoiled, Instant(one.oldest or 0), " ".join(one.queues)
