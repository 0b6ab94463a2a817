"""The inbox of a cluster: commands to one worker or to all of them, each under a seal. Pure.

The inbox is one memo (`sedano.model.memos`): a list of entries, each with its audience, its seal (`sedano.model.seals.seal`) and its body.
The control record contains the time until which an entry may be valid (`asked`), so a worker reads the memo only after the record has
changed, and not after every entry has expired.

    audience   `workers`, or `worker:NAME`; an entry for another worker is ignored
    body       {"id", "verb", "argument", "issued", "expires"}: JSON, decoded after its seal was verified

An entry is checked in this order, and each refusal has one code: first the codes of a seal (`sedano.model.seals.seal.REFUSALS`), then those
of `REFUSALS` here. A worker executes an id once: it remembers each id until its entry has expired. After `MOST_OBEYED` ids it refuses
further ones, so that it never executes a forgotten id again. A worker ignores an entry that was issued before the worker started, so that a
worker that replaces a drained one is not drained as well.

A new verb needs a row in `VERBS`, and its function in `sedano.engine.cluster.inbox` or in the host that can execute it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sedano.errors import MessageRefused, OptionError, TooLarge
from sedano.model.memos import parts
from sedano.model.messages.strict_json import load
from sedano.model.seals.seal import EXPIRED, LONGEST_LIFE_S, TOLERANCE_S

INBOX: Final = "inbox:all"
"""The name of the memo."""
WORKERS: Final = "workers"
"""The audience of all workers."""
MOST_ENTRIES: Final = 32
MOST_BODY: Final = 1_000
"""The most bytes of an entry's body."""
MOST_OBEYED: Final = 1_000
MOST_ANSWER: Final = 1_000
"""The most characters of a worker's answer."""
MOST_ANSWERS: Final = 4
"""The most answers in a worker's record, which keeps the latest ones."""

UNSIGNED: Final = "unsigned"
UNREADABLE: Final = "unreadable"
TOO_MANY: Final = "too_many"
REFUSALS: Final = (UNSIGNED, UNREADABLE, TOO_MANY)
"""The codes of refused entries, in addition to the codes of a seal."""
UNSUPPORTED: Final = "unsupported"
"""The answer of a worker to an unknown verb, or to one that its host cannot execute."""


class InboxVerb(NamedTuple):
    """One row of the table. *effect*: the effect in words; *argument*: the argument in words, empty if it takes none; *lives*: only a
    long-running worker process can execute it; *form*: the pattern of its argument.
    """

    effect: str
    argument: str = ""
    lives: bool = False
    form: str = ""


PING, STATS, STACKS, CHECK_HEALTH, RELOAD = "ping", "stats", "stacks", "check_health", "reload"
LOG, EXPIRED_CLAIMS = "log", "expired"
DRAIN, PAUSE, RESUME, RETRY_BOOT = "drain", "pause", "resume", "retry_boot"
CONCURRENCY, TERMINATE = "concurrency", "terminate"
VERBS: Final[Mapping[str, InboxVerb]] = MappingProxyType({
    PING: InboxVerb("answers pong"),
    STATS: InboxVerb("answers with the counts of this worker"),
    STACKS: InboxVerb("logs the stack of each thread of this worker"),
    CHECK_HEALTH: InboxVerb("runs the functions of a health check now", "the name of the health check"),
    RELOAD: InboxVerb("reads the layers of the configuration again"),
    LOG: InboxVerb(
        "changes the log level for some seconds", "a level and seconds, such as debug or debug 600",
        form=r"(debug|info|warning|error)( ([1-9]\d{0,2}|[12]\d{3}|3[0-5]\d\d|3600))?",
    ),
    EXPIRED_CLAIMS: InboxVerb("answers with the running tasks whose claims expired"),
    DRAIN: InboxVerb("stops receiving, finishes its running tasks, and leaves", lives=True),
    PAUSE: InboxVerb("stops receiving tasks until resume", lives=True),
    RESUME: InboxVerb("receives tasks again", lives=True),
    RETRY_BOOT: InboxVerb("retries failed boot steps, including those that were given up", lives=True),
    CONCURRENCY: InboxVerb(
        "sets how many bodies run at once; running bodies continue", "a number from 1 to 1000", lives=True,
        form=r"[1-9]\d{0,2}|1000",
    ),
    TERMINATE: InboxVerb("ends the body of a task that was revoked with terminate", "the id of the task", lives=True),
})  # fmt: skip
"""All verbs."""
LOG_S: Final = 300
"""How many seconds a changed log level lasts if the command does not set it."""


class Receiving(NamedTuple):
    """Whether a worker receives tasks: not while it is *paused*, and never again after it began *draining*."""

    paused: bool = False
    draining: bool = False


class InboxEntry(NamedTuple):
    """One entry of the inbox: its audience (*to*), its *seal* ("": none), and the *body* as it was sealed."""

    to: str
    seal: str
    body: str


class InboxCommand(NamedTuple):
    """The content of an entry: an *id*, a *verb* with its *argument*, and the times *issued* and *expires* between which it is valid (whole
    epoch s).
    """

    id: str
    verb: str
    argument: str
    issued: int
    expires: int


def after(state: Receiving, verb: str) -> Receiving:
    """Return *state* after *verb*; draining cannot be stopped."""
    if verb == DRAIN:
        return state._replace(draining=True)
    return state._replace(paused=verb == PAUSE) if verb in (PAUSE, RESUME) else state


def audience(worker: str | None) -> str:
    """Return the audience for the *worker* of this name; None: for all workers."""
    return WORKERS if worker is None else f"worker:{worker}"


def asking(message_id: str, verb: str, argument: str, now: float, seconds: int) -> InboxCommand:
    """Return the command for *verb* that is valid for *seconds* from *now* (epoch s).

    Raises:
        OptionError: the verb is not in the table, the argument is missing, not valid or too long, the verb does not take an argument, or
            the time is not between 1 and 900 s.
    """
    row = VERBS.get(verb)
    if row is None:
        raise OptionError(f"verb: {verb!r} is not one of {', '.join(VERBS)}")
    if bool(argument) != bool(row.argument):
        raise OptionError(f"argument: {verb} takes {row.argument or 'no argument'}")
    if not fits(row, argument):
        raise OptionError(f"argument: {argument!r:.80} is not valid; {verb} takes {row.argument}")
    if not 1 <= seconds <= LONGEST_LIFE_S:
        raise OptionError(f"seconds: {seconds} is not between 1 and {LONGEST_LIFE_S}")
    asked = InboxCommand(message_id, verb, argument, int(now), int(now) + seconds)
    if len(body_of(asked).encode()) > MOST_BODY:
        raise OptionError(f"argument: it has {len(argument)} characters; the body may have {MOST_BODY} bytes")
    return asked


def fits(row: InboxVerb, argument: str) -> bool:
    """Return whether a verb of this *row* takes *argument*."""
    if bool(argument) != bool(row.argument):
        return False
    return not row.form or re.fullmatch(row.form, argument, re.ASCII) is not None


def log_level(argument: str) -> tuple[str, int]:
    """Return the level and the seconds in an *argument* of `LOG`."""
    level, _, seconds = argument.partition(" ")
    return level, int(seconds or LOG_S)


def body_of(asked: InboxCommand) -> str:
    """Return *asked* as the text to seal."""
    return json.dumps(asked._asdict(), separators=(",", ":"))


def asked_of(body: str) -> InboxCommand | None:
    """Return the command in *body*, or None if it is not valid. Its verb may be unknown here, because a newer version sent it."""
    try:
        found = load(body, MOST_BODY, 2, "inbox")
        if type(found) is not dict or found.keys() != set(InboxCommand._fields):
            return None
        asked = InboxCommand(**found)
    except (MessageRefused, ValueError):
        return None
    texts = all(type(text) is str for text in asked[:3])
    times = all(type(time) is int and time >= 0 for time in asked[3:])
    return asked if texts and times and asked.id else None


def entries_of(text: str) -> list[InboxEntry]:
    """Return the valid entries in the memo's *text*."""
    try:
        found = parts(text) if text else []
    except ValueError:
        return []
    rows = found if type(found) is list else []
    return [InboxEntry(*row) for row in rows if type(row) is list and len(row) == 3 and all(type(part) is str for part in row)]


def text_of(entries: Sequence[InboxEntry]) -> str:
    """Return the memo's text with *entries*."""
    return json.dumps([list(entry) for entry in entries], separators=(",", ":"))


def with_entry(text: str, entry: InboxEntry, now: float) -> str:
    """Return the memo's *text* with *entry*, and without the entries that are expired at *now*.

    Raises:
        TooLarge: the memo holds 32 entries that have not expired.
    """
    left = [one for one in entries_of(text) if not _over(one, now)]
    if len(left) >= MOST_ENTRIES:
        raise TooLarge(f"inbox: it holds {MOST_ENTRIES} commands that have not expired; try again in some seconds")
    return text_of([*left, entry])


def unsigned_refusal(body: str, now: float) -> str | None:
    """Return why an entry without a seal is refused in a cluster that accepts unsigned entries; None if it is accepted."""
    asked = asked_of(body)
    if asked is None:
        return UNREADABLE
    return EXPIRED if not asked.issued - TOLERANCE_S <= now <= asked.expires + TOLERANCE_S else None


class Obeyed:
    """The ids that one worker has executed, each until its entry can no longer be accepted."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        """Start without ids."""
        self._until: dict[str, int] = {}

    def __contains__(self, message_id: object) -> bool:
        """Return whether the id was executed."""
        return message_id in self._until

    def __len__(self) -> int:
        """Return the number of remembered ids."""
        return len(self._until)

    def add(self, asked: InboxCommand, now: float) -> bool:
        """Remember the id of *asked*. If there is no room, do not remember it, and return False."""
        if len(self._until) >= MOST_OBEYED:
            self._until = {one: until for one, until in self._until.items() if now <= until}
        if len(self._until) >= MOST_OBEYED:
            return False
        self._until[asked.id] = asked.expires + TOLERANCE_S
        return True


def note(expires: int, nonce: str) -> str:
    """Return the text in the control record that announces an entry valid until *expires* (epoch s)."""
    return f"{expires} {nonce}"


def may_hold(asked: str, now: float) -> bool:
    """Return whether an entry that the control record announces as *asked* may be valid at *now*."""
    expires = asked.partition(" ")[0]
    return bool(asked) and (not (expires.isascii() and expires.isdigit() and len(expires) <= 12) or now <= int(expires) + TOLERANCE_S)


def announced(before: str, expires: int, nonce: str) -> str:
    """Return `note` for the later of *expires* and the end in *before*."""
    last = before.partition(" ")[0]
    return note(max(expires, int(last) if last.isascii() and last.isdigit() and len(last) <= 12 else 0), nonce)


def answers_text(answers: Mapping[str, str]) -> str:
    """Return the *answers* of a worker, by the ids of their commands, as one text; "" for none."""
    return json.dumps(dict(answers), separators=(",", ":")) if answers else ""


def answers_of(text: str) -> dict[str, str]:
    """Return the valid answers in *text*, by id."""
    try:
        found: Any = load(text, 10 * MOST_ANSWER * MOST_ANSWERS, 2, "answers") if text else {}
    except (MessageRefused, ValueError):
        return {}
    return {one: said for one, said in found.items() if type(said) is str} if type(found) is dict else {}


def _over(entry: InboxEntry, now: float) -> bool:
    asked = asked_of(entry.body)
    return asked is None or asked.expires + TOLERANCE_S < now
