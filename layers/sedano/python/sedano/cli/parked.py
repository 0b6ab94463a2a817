"""`sedano parked`: what was set aside and why, one message whole, and sending messages again to the queue that they came from.

    python -m sedano parked list
    python -m sedano parked show ID
    python -m sedano parked redrive ID …
    python -m sedano parked redrive --reason unknown-task
    python -m sedano parked redrive --foreign ID …

What is sent is shown before, by task and queue; `--dry-run` sends nothing. A message that no function of the stage has parked is foreign:
it is sent only when its ID is given with `--foreign`, and then to the queue that the app names for its task.

An ID is a task's, a message's, or that of the parked message. Which app is meant: `--app module:attribute`, or `SEDANO_APP`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sedano.app import Sedano
from sedano.cli.console import app_of, table, takes_app, whole
from sedano.cli.printer import say, say_json, say_text
from sedano.engine.parked.redrive import MOST, Going, Parked, give_back, parked, planned, redrive, whole_body
from sedano.errors import MessageRefused, SedanoError
from sedano.host.sources import answering, reading
from sedano.model.messages.timestamps import shown
from sedano.model.sources.streams import QUEUE as STREAM
from sedano.model.sources.webhooks import QUEUE as WEBHOOK
from sedano.model.sources.webhooks import read_back
from sedano.ports import Ports
from sedano.views.parked import reasons


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.do is _redrive and bool(asked.ids) + bool(asked.reason) + asked.all != 1:
        parser.error("redrive what? give ids, or --reason R, or --all")
    if asked.do is _redrive and asked.foreign and not asked.ids:
        parser.error("--foreign: give the ids of the messages; look at each with `sedano parked show ID` first")
    verb: Callable[[Sedano, argparse.Namespace], int] = asked.do
    return verb(app_of(asked), asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sedano parked", description="messages that were set aside")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    every = verbs.add_parser("list", help="how many for which reason, with a sample of each")
    every.set_defaults(do=_list)
    show = verbs.add_parser("show", help="one message whole, with its reason")
    show.add_argument("id", help="of the task, or of the message")
    show.set_defaults(do=_show)
    again = verbs.add_parser("redrive", help="send messages again to the queue that they came from")
    again.add_argument("ids", nargs="*", metavar="ID", help="of tasks, or of messages")
    again.add_argument("--all", action="store_true", help="every parked message")
    again.add_argument("--foreign", action="store_true", help="also what no function of this stage has parked, to the queue of its task")
    again.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")
    again.set_defaults(do=_redrive)
    for verb in (every, again):
        verb.add_argument("--reason", help="only those that were set aside for this reason")
    for verb in (every, show):
        verb.add_argument("--json", action="store_true", help="as JSON")
    takes_app(parser, every, show, again)
    for one, unsaid in ((parser, MOST), *((verb, argparse.SUPPRESS) for verb in (every, show, again))):
        one.add_argument("--most", type=whole(1), default=unsaid, metavar="N", help=f"look at N messages (default: {MOST})")
    return parser


def _list(app: Sedano, asked: argparse.Namespace) -> int:
    ports = app.outlet.ports
    some = parked(ports, lambda one: asked.reason in (None, one.reason), asked.most)
    give_back(ports, some)
    groups = reasons(some)
    if asked.json:
        for group in groups:
            say_json({**group._asdict(), "sample": _plain(group.sample)})
        return 0
    if not groups:
        say("nothing is parked" + (f" for the reason {asked.reason}" if asked.reason else ""), err=True)
        return 0
    rows = [(g.reason, str(g.number), g.queue, shown(g.oldest), g.sample.task_id or g.sample.message_id, g.sample.detail) for g in groups]
    table(("REASON", "COUNT", "QUEUE", "OLDEST", "SAMPLE", "DETAIL"), rows)
    return 0


def _show(app: Sedano, asked: argparse.Namespace) -> int:
    ports = app.outlet.ports
    some = parked(ports, lambda one: one.is_named(asked.id), asked.most)
    give_back(ports, some)
    if not some:
        return _none(asked.id)
    for one in some:
        body = _readable(ports, one)
        if asked.json:
            say_json({**_plain(one), "body": body})
            continue
        posted = one.queue.startswith(WEBHOOK)
        named = one.name or ("request" if posted else "record" if one.queue.startswith(STREAM) else "unreadable message")
        say(f"{named} {one.task_id or one.message_id}: {one.reason}, {one.field}: {one.detail}")
        say(f"from {one.queue}, set aside {shown(one.at)}, as {one.delivery.message_id}")
        say_text(_as_sent(body) if posted else body)
    return 0


def _redrive(app: Sedano, asked: argparse.Namespace) -> int:
    ports = app.outlet.ports
    some = parked(ports, lambda one: _is_meant(one, asked), asked.most)
    if not some:
        return _none(" ".join(asked.ids) or asked.reason or "that")
    going = planned(ports, some, app.registry, asked.foreign)
    _show_plan(going)
    if asked.dry_run:
        give_back(ports, some)
        answers = [one.error for one in going]
    else:
        answers = redrive(ports, going, answering(app).again, reading(app).again)
    for (one, queue, _), error in zip(going, answers, strict=True):
        named = one.task_id or one.message_id
        if error is not None:
            say_text(f"sedano parked: {named} stays parked: {error}", err=True)
        elif not asked.dry_run:
            say(f"{named} sent to {queue}")
    return 1 if any(answers) else 0


def _show_plan(going: Sequence[Going]) -> None:
    """Say what will be sent, by task and queue, before it is."""
    counted = Counter((one.one.name or "unreadable", one.queue) for one in going if one.error is None)
    for (name, queue), number in sorted(counted.items()):
        say(f"sedano parked: {number} of {name} to {queue}", err=True)


def _is_meant(one: Parked, asked: argparse.Namespace) -> bool:
    return asked.all or one.reason == asked.reason or any(one.is_named(given) for given in asked.ids)


def _none(named: str) -> int:
    say(f"sedano parked: nothing parked is called {named}; `python -m sedano parked list` shows what there is", err=True)
    return 1


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
        "field": one.field, "detail": one.detail, "queue": one.queue, "at": one.at,
    }  # fmt: skip
