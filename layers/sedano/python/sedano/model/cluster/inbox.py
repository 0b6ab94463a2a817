"""The inbox of a cluster: commands to one worker or to all of them, each under a seal. Pure.

The inbox is one memo (`sedano.model.memos`): a list of entries, each with its audience, its seal (`sedano.model.seals.seal`) and its body.
The control record says until when an entry may hold (`asked`), so a worker reads the memo only after the record has changed, and not at all
once every entry has expired.

    audience   `workers`, or `worker:NAME`; an entry for another worker is left alone
    body       {"id", "verb", "argument", "issued", "expires"}: JSON, decoded after its seal was verified

An entry is looked at in this order, and each refusal has one code: the codes of a seal (`sedano.model.seals.seal.REFUSALS`), then those of
`REFUSALS` here. A worker obeys an id once: it remembers each id until its entry has expired. When it remembers `MOST_OBEYED` ids it refuses
further ones, so that a forgotten id cannot be obeyed again. An entry that was issued before the worker started is not for it: a worker
that replaces a drained one is not drained too.

A new verb is one more row of `VERBS`, and its function in `sedano.engine.cluster.inbox` or in the host that can obey it.
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
"""The longest body of an entry, in bytes."""
MOST_OBEYED: Final = 1_000
MOST_ANSWER: Final = 1_000
"""The longest answer of a worker, in characters."""
MOST_ANSWERS: Final = 4
"""A worker's record holds its latest answers, at most so many."""

UNSIGNED: Final = "unsigned"
UNREADABLE: Final = "unreadable"
TOO_MANY: Final = "too_many"
REFUSALS: Final = (UNSIGNED, UNREADABLE, TOO_MANY)
"""Why an entry is refused, beside the codes of its seal."""
UNSUPPORTED: Final = "unsupported"
"""The answer of a worker that does not know the verb, or whose host cannot obey it."""


class InboxVerb(NamedTuple):
    """One row of the table: *argument* in words, empty: it takes none; *lives*: only a worker that is a process of its own can obey it;
    *form*: the pattern of its argument."""

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
        "logs from a level on for a time, then as before", "a level and seconds, such as debug or debug 600",
        form=r"(debug|info|warning|error)( ([1-9]\d{0,2}|[12]\d{3}|3[0-5]\d\d|3600))?",
    ),
    EXPIRED_CLAIMS: InboxVerb("answers with the tasks that run although their claims expired"),
    DRAIN: InboxVerb("receives nothing more, ends what runs, and leaves", lives=True),
    PAUSE: InboxVerb("receives no more tasks, until resume", lives=True),
    RESUME: InboxVerb("receives tasks again", lives=True),
    RETRY_BOOT: InboxVerb("tries boot steps that failed again, also those that were given up", lives=True),
    CONCURRENCY: InboxVerb(
        "runs so many bodies at once from now on; bodies that run go on", "a number from 1 to 1000", lives=True,
        form=r"[1-9]\d{0,2}|1000",
    ),
    TERMINATE: InboxVerb("ends the body of a task that was revoked with terminate", "the id of the task", lives=True),
})  # fmt: skip
"""All verbs."""
LOG_S: Final = 300
"""For how many seconds another log level holds unless the command says so."""


class Receiving(NamedTuple):
    """Whether a worker receives tasks: not while it is *paused*, and never again once it is *draining*."""

    paused: bool = False
    draining: bool = False


class InboxEntry(NamedTuple):
    """One entry of the inbox: for whom, under which *seal* ("": none), and the *body* as it was sealed."""

    to: str
    seal: str
    body: str


class InboxCommand(NamedTuple):
    """The content of an entry: a *verb* with its *argument*, under an *id*, between *issued* and *expires* (whole epoch s)."""

    id: str
    verb: str
    argument: str
    issued: int
    expires: int


def after(state: Receiving, verb: str) -> Receiving:
    """Return *state* after *verb*; a worker that drains cannot be stopped in it."""
    if verb == DRAIN:
        return state._replace(draining=True)
    return state._replace(paused=verb == PAUSE) if verb in (PAUSE, RESUME) else state


def audience(worker: str | None) -> str:
    """Return the audience of one *worker* by its name; None: of all."""
    return WORKERS if worker is None else f"worker:{worker}"


def asking(message_id: str, verb: str, argument: str, now: float, seconds: int) -> InboxCommand:
    """Return what asks for *verb* for so many *seconds* from *now*.

    Raises:
        OptionError: the table has no such verb, the argument is missing, too long or too much, or the time is not between 1 and 900 s.
    """
    row = VERBS.get(verb)
    if row is None:
        raise OptionError(f"verb: {verb!r} is none of {', '.join(VERBS)}")
    if bool(argument) != bool(row.argument):
        raise OptionError(f"argument: {verb} takes {row.argument or 'none'}")
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
    """Return the level and the seconds that an *argument* of `LOG` says."""
    level, _, seconds = argument.partition(" ")
    return level, int(seconds or LOG_S)


def body_of(asked: InboxCommand) -> str:
    """Return *asked* as the text that is sealed."""
    return json.dumps(asked._asdict(), separators=(",", ":"))


def asked_of(body: str) -> InboxCommand | None:
    """Return what *body* asks; None: it is not such a body. The verb may be one that a newer version knows."""
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
    """Return the entries that the memo's *text* holds, without the rest."""
    try:
        found = parts(text) if text else []
    except ValueError:
        return []
    rows = found if type(found) is list else []
    return [InboxEntry(*row) for row in rows if type(row) is list and len(row) == 3 and all(type(part) is str for part in row)]


def text_of(entries: Sequence[InboxEntry]) -> str:
    """Return *entries* as the memo's text."""
    return json.dumps([list(entry) for entry in entries], separators=(",", ":"))


def with_entry(text: str, entry: InboxEntry, now: float) -> str:
    """Return the memo's *text* with *entry*, without those that are over at *now*.

    Raises:
        TooLarge: it holds 32 entries that are not over.
    """
    left = [one for one in entries_of(text) if not _over(one, now)]
    if len(left) >= MOST_ENTRIES:
        raise TooLarge(f"inbox: it holds {MOST_ENTRIES} commands that have not expired; wait for some seconds")
    return text_of([*left, entry])


def unsigned_refusal(body: str, now: float) -> str | None:
    """Return why an entry without a seal is refused where such are let in; None when it is not."""
    asked = asked_of(body)
    if asked is None:
        return UNREADABLE
    return EXPIRED if not asked.issued - TOLERANCE_S <= now <= asked.expires + TOLERANCE_S else None


class Obeyed:
    """The ids that one worker has obeyed, each until its entry can be accepted no more."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        """Remember none."""
        self._until: dict[str, int] = {}

    def __contains__(self, message_id: object) -> bool:
        """Return whether the id was obeyed."""
        return message_id in self._until

    def __len__(self) -> int:
        """Return how many ids are remembered."""
        return len(self._until)

    def add(self, asked: InboxCommand, now: float) -> bool:
        """Remember the id of *asked*; return False, and remember nothing, when there is no room."""
        if len(self._until) >= MOST_OBEYED:
            self._until = {one: until for one, until in self._until.items() if now <= until}
        if len(self._until) >= MOST_OBEYED:
            return False
        self._until[asked.id] = asked.expires + TOLERANCE_S
        return True


def note(expires: int, nonce: str) -> str:
    """Return the text by which the control record announces an entry that may hold until *expires*."""
    return f"{expires} {nonce}"


def may_hold(asked: str, now: float) -> bool:
    """Return whether an entry that the control record announces as *asked* may hold at *now*."""
    expires = asked.partition(" ")[0]
    return bool(asked) and (not (expires.isascii() and expires.isdigit() and len(expires) <= 12) or now <= int(expires) + TOLERANCE_S)


def announced(before: str, expires: int, nonce: str) -> str:
    """Return `note`, with the later one of *expires* and the end that *before* says."""
    last = before.partition(" ")[0]
    return note(max(expires, int(last) if last.isascii() and last.isdigit() and len(last) <= 12 else 0), nonce)


def answers_text(answers: Mapping[str, str]) -> str:
    """Return the *answers* of a worker, by the ids of what was asked, as one text; "" for none."""
    return json.dumps(dict(answers), separators=(",", ":")) if answers else ""


def answers_of(text: str) -> dict[str, str]:
    """Return the answers that *text* holds, by id, without the rest."""
    try:
        found: Any = load(text, 10 * MOST_ANSWER * MOST_ANSWERS, 2, "answers") if text else {}
    except (MessageRefused, ValueError):
        return {}
    return {one: said for one, said in found.items() if type(said) is str} if type(found) is dict else {}


def _over(entry: InboxEntry, now: float) -> bool:
    asked = asked_of(entry.body)
    return asked is None or asked.expires + TOLERANCE_S < now
