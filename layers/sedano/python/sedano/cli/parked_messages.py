"""Lists parked messages and sends them again: the work of `sedano parked`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.changes import redrives
from sedano.cli.consent import Consent, made, note, print_effects, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_text
from sedano.cli.tables import Instant, document, listing
from sedano.engine.parked.redrive import Parked, give_back, parked, planned, whole_body
from sedano.errors import MessageRefused, SedanoError
from sedano.model.messages.timestamps import shown
from sedano.model.sources.polls import QUEUE as POLL
from sedano.model.sources.streams import QUEUE as STREAM
from sedano.model.sources.webhooks import QUEUE as WEBHOOK
from sedano.model.sources.webhooks import read_back
from sedano.ports import Ports
from sedano.views.parked import reasons


class Meant(NamedTuple):
    """A selection of parked messages: those with one of *ids*, those of one *reason*, or *everything*."""

    ids: Sequence[str]
    reason: str | None
    everything: bool

    def has(self, one: Parked) -> bool:
        """Return whether *one* is selected."""
        return self.everything or one.reason == self.reason or any(one.is_named(given) for given in self.ids)


def show_reasons(app: Sedano, reason: str | None, most: int, as_json: bool) -> None:
    """Print how many messages were parked for each reason, among the first *most*."""
    ports = app.outlet.ports
    some = parked(ports, lambda one: reason in (None, one.reason), most)
    give_back(ports, some)
    groups = reasons(some)
    if as_json:
        document("parked.list", [{**g._asdict(), "oldest": Instant(g.oldest), "sample": _plain(g.sample)} for g in groups])
        return
    if not groups:
        say("nothing is parked" + (f" for the reason {reason}" if reason else ""), err=True)
        return
    rows = [(g.reason, g.number, g.queue, Instant(g.oldest), g.sample.task_id or g.sample.message_id, g.sample.detail) for g in groups]
    listing(("REASON", "COUNT", "QUEUE", "OLDEST", "SAMPLE", "DETAIL"), rows, now=ports.clock.now())


def show(app: Sedano, named: str, most: int, as_json: bool) -> Exit:
    """Print the message that an id names."""
    ports = app.outlet.ports
    some = parked(ports, lambda one: one.is_named(named), most)
    give_back(ports, some)
    if not some:
        return _none(named)
    if as_json:
        document("parked.show", [{**_plain(one), "body": _readable(ports, one)} for one in some])
        return Exit.DONE
    for one in some:
        body = _readable(ports, one)
        posted = one.queue.startswith(WEBHOOK)
        taken = "record" if one.queue.startswith(STREAM) else "item" if one.queue.startswith(POLL) else "unreadable message"
        what = one.name or ("request" if posted else taken)
        say(f"{what} {one.task_id or one.message_id}: {one.reason}, {one.field}: {one.detail}")
        say(f"from {one.queue}, parked {shown(one.at)}, as {one.delivery.message_id}")
        say_text(_as_sent(body) if posted else body)
    return Exit.DONE


def send_again(app: Sedano, meant: Meant, *, foreign: bool, most: int, consent: Consent) -> Exit:
    """Send the selected messages again, if the user agrees; if none can be sent, print why without asking."""
    ports = app.outlet.ports
    some = parked(ports, meant.has, most)
    if not some:
        return _none(" ".join(meant.ids) or meant.reason or "that")
    going = planned(ports, some, app.registry, foreign)
    plan = redrives.counts(going)
    refused = refusal("parked", plan, consent) if plan or consent.dry_run else None
    if refused is None:
        done = redrives.sent(app, going)
        print_effects(done, consent)
        if plan:
            note(app, "parked redrive", " ".join(meant.ids) or meant.reason or "every reason", consent, len(done.effects))
        return Exit.FAILED if _stay(done.left) else Exit.DONE
    give_back(ports, some)
    stay = _stay(redrives.staying(going, [one.error for one in going]))
    return Exit.FAILED if stay and refused == Exit.DONE else refused


def redrive_asked(app: Sedano, queue: str | None, why: str | None, most: int, consent: Consent) -> Exit:
    """Send messages again that came from *queue* and were parked for *why*, if the user agrees."""
    plan = redrives.redrive(app, queue, why, most)
    done = made(app, plan, consent)
    return Exit.NOT_FOUND if plan.hindrance else done


def _stay(left: Sequence[str]) -> int:
    """Print why messages stay parked; return how many stay."""
    for why in left:
        say_text(f"sedano parked: {why}", err=True)
    return len(left)


def _none(named: str) -> Exit:
    say(f"sedano parked: no parked message has the id {named}; `sedano parked list` shows them", err=True)
    return Exit.NOT_FOUND


def _readable(ports: Ports, one: Parked) -> str:
    try:
        return whole_body(ports, one)
    except (MessageRefused, SedanoError) as gone:
        return f"its body cannot be read: {gone}"


def _as_sent(body: str) -> str:
    """Return a webhook's request as its sender wrote it."""
    try:
        request = read_back(body)
    except MessageRefused:
        return body
    head = [f"POST /{request.webhook} at {shown(request.at)}", *(f"{name}: {text}" for name, text in request.headers.items())]
    text = request.body.decode("utf-8", "backslashreplace")
    return "\n".join([*head, "", *text.splitlines()])


def _plain(one: Parked) -> dict[str, Any]:
    return {
        "id": one.delivery.message_id, "task": one.name, "task_id": one.task_id, "message_id": one.message_id, "reason": one.reason,
        "field": one.field, "detail": one.detail, "queue": one.queue, "at": Instant(one.at),
    }  # fmt: skip
