"""Lists, sends and drops messages that wait on this machine: what `sedano spool` does."""

from __future__ import annotations

from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json, table
from sedano.engine.publisher import spool_folder
from sedano.engine.publisher.spool import Found, Spool, every
from sedano.errors import ConfigurationError
from sedano.model.messages.timestamps import shown


def show(as_json: bool) -> None:
    """Print what waits, for which app and stage, since when."""
    found = every()
    if as_json:
        for one in found:
            say_json({**one._asdict(), "place": str(one.place), "spool": _name(one)})
        return
    if not found:
        say(f"nothing waits in {spool_folder.home()}", err=True)
        return
    table(("SPOOL", "APP", "STAGE", "WAITING", "UNREADABLE", "OLDEST", "QUEUES"), map(_row, found))


def send(app: Sedano) -> Exit:
    """Send what waits for *app* and the stage of this environment."""
    place = spool_folder.place(app.name)
    if place is None:
        raise ConfigurationError("this host has no spool: it is a Lambda function, or SEDANO_SPOOL is off")
    before = Spool(place).waiting()
    app.outlet.send_stored()
    left = Spool(place).waiting()
    say(f"{before - left} sent, {left} left")
    if left:
        say("sedano spool: the queue did not take the rest; the log above says why", err=True)
    return Exit.FAILED if left else Exit.DONE


def drop(spool: str, count: int) -> Exit:
    """Delete the *count* messages of the spool that is called *spool*."""
    named = [one for one in every() if _name(one) == spool]
    if not named:
        say(f"sedano spool: no spool is called {spool}; `sedano spool list` shows what there is", err=True)
        return Exit.NOT_FOUND
    dropped = Spool(named[0].place).drop(count)
    say(f"{dropped} dropped")
    return Exit.DONE


def _name(one: Found) -> str:
    return f"{one.place.parent.name}/{one.place.name}"


def _row(one: Found) -> tuple[str, ...]:
    oldest = shown(one.oldest) if one.oldest else "-"
    return _name(one), one.app, one.stage or "-", str(one.waiting), str(one.spoiled), oldest, " ".join(one.queues)
