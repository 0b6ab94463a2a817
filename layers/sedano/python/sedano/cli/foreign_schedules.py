"""Lists and deletes foreign schedules among a stage's timers: the work of `sedano timers`."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.app import Sedano
from sedano.cli.consent import Consent, note, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_text
from sedano.cli.tables import document, listing
from sedano.errors import SedanoError
from sedano.model.timers import Foreign
from sedano.ports import Ports


def foreign(app: Sedano, names: Sequence[str], delete: bool, consent: Consent) -> Exit:
    """Print the foreign schedules, or only those called *names*; delete them if asked and the user agrees."""
    ports = app.outlet.ports
    found = sorted(one for one in ports.timers.foreign() if not names or one.name in names)
    missing = sorted({*names} - {one.name for one in found})
    for name in missing:
        say(f"sedano timers: no foreign schedule is called {name}; `sedano timers foreign` lists them", err=True)
    if not found and not names:
        say("sedano timers: every schedule of the group is a timer of this stage", err=True)
    _show(found, consent.as_json)
    left: list[str] = []
    if delete and found:
        plan = [f"delete {len(found)} foreign schedules: {', '.join(one.name for one in found)}; timers stay"]
        refused = refusal("timers", plan, consent)
        if refused is not None:
            return Exit.NOT_FOUND if missing and refused == Exit.DONE else refused
        left = [one.name for one in found if not _deleted(ports, one)]
        note(app, "timers foreign --delete", " ".join(one.name for one in found), consent, len(found) - len(left))
    return Exit.NOT_FOUND if missing else Exit.FAILED if left else Exit.DONE


def _show(found: Sequence[Foreign], as_json: bool) -> None:
    if as_json:
        document("timers.foreign", [one._asdict() for one in found])
    elif found:
        rows = [(one.name, one.state, one.expression, one.target, "; ".join(one.why)) for one in found]
        listing(("NAME", "STATE", "WHEN", "TARGET", "WHY"), rows)


def _deleted(ports: Ports, one: Foreign) -> bool:
    """Delete *one* and print that; return whether it is deleted."""
    try:
        gone = ports.timers.cancel(one.name)
    except SedanoError as error:
        say_text(f"sedano timers: {one.name} stays: {error}", err=True)
        return False
    say(f"sedano timers: {one.name} {'deleted' if gone else 'was already deleted'}", err=True)
    return True
