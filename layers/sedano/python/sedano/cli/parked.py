"""Lists parked messages and sends them again: what `sedano parked` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.cli.consent import Consent, note, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_text
from sedano.cli.tables import Instant, document, listing
from sedano.engine.parked.redrive import Going, Parked, give_back, parked, planned, redrive, whole_body
from sedano.engine.reruns import Rerun
from sedano.errors import MessageRefused, SedanoError
from sedano.host.sources import answering, reading
from sedano.model.messages.timestamps import shown
from sedano.model.sources.streams import QUEUE as STREAM
from sedano.model.sources.webhooks import QUEUE as WEBHOOK
from sedano.model.sources.webhooks import read_back
from sedano.ports import Ports, command_queue
from sedano.views.parked import reasons

NEW_IDS = ", under new ids: these tasks have ended"


class Meant(NamedTuple):
    """Which parked messages are meant: those with one of *ids*, those of one *reason*, or *everything*."""

    ids: Sequence[str]
    reason: str | None
    everything: bool

    def has(self, one: Parked) -> bool:
        """Return whether *one* is selected."""
        return self.everything or one.reason == self.reason or any(one.is_named(given) for given in self.ids)


def show_reasons(app: Sedano, reason: str | None, most: int, as_json: bool) -> None:
    """Print how many messages were set aside for which reason, among the first *most*."""
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
        what = one.name or ("request" if posted else "record" if one.queue.startswith(STREAM) else "unreadable message")
        say(f"{what} {one.task_id or one.message_id}: {one.reason}, {one.field}: {one.detail}")
        say(f"from {one.queue}, set aside {shown(one.at)}, as {one.delivery.message_id}")
        say_text(_as_sent(body) if posted else body)
    return Exit.DONE


def send_again(app: Sedano, meant: Meant, *, foreign: bool, most: int, consent: Consent) -> Exit:
    """Send the messages again that are *meant*, if the user agrees; where none can be sent, say why without a question."""
    ports = app.outlet.ports
    some = parked(ports, meant.has, most)
    if not some:
        return _none(" ".join(meant.ids) or meant.reason or "that")
    going = planned(ports, some, app.registry, foreign)
    plan = _counts(going)
    refused = refusal("parked", plan, consent) if plan or consent.dry_run else None
    if refused is None:
        stay = _sent(app, "parked", going, consent)
        if plan:
            note(app, "parked redrive", " ".join(meant.ids) or meant.reason or "every reason", consent)
        return Exit.FAILED if stay else Exit.DONE
    give_back(ports, some)
    stay = _staying("parked", going, [one.error for one in going])
    return Exit.FAILED if stay and refused == Exit.DONE else refused


def redrive_asked(app: Sedano, queue: str | None, why: str | None, most: int, consent: Consent) -> Exit:
    """Send the messages again that came from *queue* and were parked for *why*, if the user agrees."""
    ports = app.outlet.ports
    key = None if queue is None else command_queue(queue)
    some = parked(ports, lambda one: key in (None, one.queue) and why in (None, one.reason), most)
    if not some:
        say("sedano redrive: nothing parked is meant; `sedano parked list` shows the reasons", err=True)
        return Exit.NOT_FOUND
    going = planned(ports, some, app.registry)
    plan = [f"send {sum(one.error is None for one in going)} parked messages again, of {len(some)}", *_counts(going)]
    refused = refusal("redrive", plan, consent)
    if refused is not None:
        give_back(ports, some)
        return refused
    stay = _sent(app, "redrive", going, consent)
    note(app, "redrive", f"{queue or 'every queue'} {why or 'every reason'}", consent)
    return Exit.REFUSED if stay else Exit.DONE


def _sent(app: Sedano, verb: str, going: Sequence[Going], consent: Consent) -> int:
    """Send what is *going*; say what was sent and what stays, and return how many stay."""
    answers = redrive(app.outlet.ports, going, answering(app).again, reading(app).again)
    for one, error in zip(going, answers, strict=True):
        if error is None:
            told_sent(one, consent)
    return _staying(verb, going, answers)


def told_sent(going: Going, consent: Consent) -> None:
    """Print that a parked message was sent, and the id of its task where that runs under another one."""
    named = going.one.task_id or going.one.message_id
    if going.rerun is None:
        consent.done(f"{named} sent to {going.queue}", id=named, queue=going.queue)
    else:
        told_rerun(going.rerun, consent)


def told_rerun(rerun: Rerun, consent: Consent) -> None:
    """Print under which id an ended task runs again."""
    new = rerun.command.task_id
    consent.done(f"{rerun.ended_id} runs again as {new}, sent to {rerun.queue}", id=rerun.ended_id, queue=rerun.queue, rerun=new)


def _staying(verb: str, going: Sequence[Going], errors: Sequence[SedanoError | None]) -> int:
    """Say why messages stay parked; return how many do."""
    for one, error in zip((each.one for each in going), errors, strict=True):
        if error is not None:
            say_text(f"sedano {verb}: {one.task_id or one.message_id} stays parked: {error}", err=True)
    return sum(error is not None for error in errors)


def _counts(going: Sequence[Going]) -> list[str]:
    """Return what can be sent, a line for each task and queue."""
    sent = [one for one in going if one.error is None]
    counted = Counter((one.one.name or "unreadable", one.queue, one.rerun is not None) for one in sent)
    return [f"{n} of {name} to {queue}{NEW_IDS if ended else ''}" for (name, queue, ended), n in sorted(counted.items())]


def _none(named: str) -> Exit:
    say(f"sedano parked: nothing parked is called {named}; `sedano parked list` shows what there is", err=True)
    return Exit.NOT_FOUND


def _readable(ports: Ports, one: Parked) -> str:
    try:
        return whole_body(ports, one)
    except (MessageRefused, SedanoError) as gone:
        return f"its body is out of reach: {gone}"


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
