"""The inbox at work: a worker reads what is asked of it, verifies it, obeys each command once, and answers in its member record.

It is read only after the control record announced an entry (`sedano.model.cluster.inbox`): one read of the memo for each change of the
record's announcement, and no read once every announced entry has expired. Between those a worker asks nothing.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sedano.engine.cluster.control import TRIES, Controlling
from sedano.engine.cluster.log_levels import LEVELS
from sedano.engine.health import RegisteredCheck, look
from sedano.engine.unexpected_errors import passing
from sedano.errors import Unavailable
from sedano.model.cluster import inbox as rule
from sedano.model.cluster.control_record import with_asked
from sedano.model.cluster.inbox import INBOX, InboxCommand, InboxEntry
from sedano.model.memos import Memo
from sedano.ports import Ports
from sedano.ports.absent import has

FAILED = "failed"
"""The answer of a worker whose function for the verb failed; its log has the error."""


class Staff(NamedTuple):
    """The parts of a worker that verbs need.

    *name*: the worker's. *announced*: what the control record announces, as it is known. *answer* writes its answers into its record.
    *running* and *worked*: how many bodies run, and how many messages it finished. *expired* returns the ids of running tasks whose claims
    have expired. *host*: what its host does for the verbs that only a process of its own can obey: with the argument of a verb that takes
    one; a text is the answer. *reload* reads the configuration again for a command of this id; None: the app has none. *unsigned*:
    whether entries without a seal are let in. *started*: when it started (epoch s).
    """

    name: str
    announced: Callable[[], str]
    answer: Callable[[str], None]
    checks: Mapping[str, RegisteredCheck]
    running: Callable[[], int]
    worked: Callable[[], int]
    host: Mapping[str, Callable[..., object]]
    expired: Callable[[], Sequence[str]]
    unsigned: bool
    started: float
    reload: Callable[[str], str] | None = None


class Inbox:
    """The inbox as one worker knows it. Several threads may use it."""

    def __init__(self, ports: Ports, staff: Staff) -> None:
        """Obey with *staff*; nothing is read yet."""
        self._ports, self._staff = ports, staff
        self._audiences = (rule.WORKERS, rule.audience(staff.name))
        self._seen, self._read = "", frozenset[InboxEntry]()
        self._obeyed, self._answers = rule.Obeyed(), dict[str, str]()
        self._lock = threading.Lock()

    def obey(self) -> None:
        """Read the inbox if the control record has announced something new that may still hold; obey it and answer.

        Raises:
            Unavailable: the memo was not read; the next call tries again.
        """
        with self._lock:
            if LEVELS.look(self._ports.clock.now()):
                self._ports.telemetry.log("info", "inbox: the log level is as before")
            announced, now = self._staff.announced(), self._ports.clock.now()
            if announced == self._seen or not rule.may_hold(announced, now):
                return
            if not (self._staff.unsigned or self._ports.seals.ready()):
                return
            found = self._ports.memos.read([INBOX]).get(INBOX)
            self._seen = announced
            entries = rule.entries_of(found.text if found is not None else "")
            new = [entry for entry in entries if entry not in self._read]
            self._read = frozenset(entries)
            if sum(self._take(entry, now) for entry in new):
                self._staff.answer(rule.answers_text(self._answers))

    def _take(self, entry: InboxEntry, now: float) -> bool:
        """Obey *entry* if it is for this worker, may be obeyed, and was not obeyed before; return whether there is an answer."""
        if entry.to not in self._audiences:
            return False
        why, asked = self._refusal(entry, now), rule.asked_of(entry.body)
        if why is not None or asked is None:
            return self._refuse(why or rule.UNREADABLE)
        if asked.issued < int(self._staff.started) or asked.id in self._obeyed:
            return False
        if not self._obeyed.add(asked, now):
            return self._refuse(rule.TOO_MANY)
        said = passing(self._ports.telemetry, f"inbox {asked.verb}", partial(self._done, asked), FAILED)
        self._answers = dict([*self._answers.items(), (asked.id, said[: rule.MOST_ANSWER])][-rule.MOST_ANSWERS :])
        self._ports.telemetry.log("info", "inbox: answered", verb=asked.verb, argument=asked.argument, message_id=asked.id)
        return True

    def _refusal(self, entry: InboxEntry, now: float) -> str | None:
        if not entry.seal:
            return rule.unsigned_refusal(entry.body, now) if self._staff.unsigned else rule.UNSIGNED
        return self._ports.seals.refusal(entry.seal, entry.body.encode("utf-8", "surrogatepass"), entry.to)

    def _refuse(self, why: str) -> bool:
        """Count and log a refusal, without anything that the entry holds."""
        self._ports.telemetry.count("InboxRefused", code=why)
        self._ports.telemetry.log("warning", "inbox: a command was refused", code=why)
        return False

    def _done(self, asked: InboxCommand) -> str:
        row = rule.VERBS.get(asked.verb)
        if row is None or (row.lives and asked.verb not in self._staff.host) or not rule.fits(row, asked.argument):
            return rule.UNSUPPORTED
        if row.lives:
            found = self._staff.host[asked.verb](*filter(None, [asked.argument]))
            return found if isinstance(found, str) else "done"
        if asked.verb == rule.RELOAD:
            return rule.UNSUPPORTED if self._staff.reload is None else self._staff.reload(asked.id)
        own = {rule.PING: lambda: "pong", rule.STATS: self._stats, rule.STACKS: self._stacks, rule.EXPIRED_CLAIMS: self._expired}
        if asked.verb in own:
            return own[asked.verb]()
        return self._logged(asked.argument) if asked.verb == rule.LOG else self._checked(asked.argument)

    def _stats(self) -> str:
        staff = self._staff
        counts = {
            "pid": os.getpid(), "seconds": round(self._ports.clock.now() - staff.started), "running": staff.running(),
            "worked": staff.worked(), "threads": threading.active_count(),
        }  # fmt: skip
        return json.dumps(counts)

    def _stacks(self) -> str:
        """Log where each thread is; the lines name files and functions, and no values."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        frames = sys._current_frames()  # noqa: SLF001 - it is documented, and nothing else gives the frames of other threads
        for ident, frame in frames.items():
            stack = [f"{at.filename}:{at.lineno} {at.name}" for at in traceback.extract_stack(frame)]
            self._ports.telemetry.log("info", "inbox: stack of a thread", thread=names.get(ident, str(ident)), stack=stack)
        return f"{len(frames)} threads logged"

    def _expired(self) -> str:
        found = self._staff.expired()
        return json.dumps({"running": self._staff.running(), "expired": [*found]})

    def _logged(self, argument: str) -> str:
        """Log from another level on for a while."""
        level, seconds = rule.log_level(argument)
        LEVELS.change(level, self._ports.clock.now() + seconds)
        return f"{level} for {seconds} s"

    def _checked(self, name: str) -> str:
        """Run the functions of the health check *name*; circuits hear of the state with the next batch."""
        check = self._staff.checks.get(name)
        if check is None:
            return f"no health check {name}"
        found = look(check, self._ports.telemetry.log)
        if found is None:
            return FAILED
        check.inbox.append(found)
        return " ".join(filter(None, found))


def broadcast(ports: Ports, controlling: Controlling, asked: InboxCommand, to: str) -> None:
    """Put *asked* for the audience *to* into the inbox, then announce it in the control record.

    A deployment without keys sends it without a seal; only workers that let such in obey it.

    Raises:
        OptionError: no worker has such a name.
        TooLarge: the inbox is full of commands that have not expired.
        Unavailable: the keys or a store could not be had; sending again is safe, and asks a second time.
    """
    body = rule.body_of(asked)
    header = ports.seals.seal(body.encode(), to, asked.issued, asked.expires)
    if not header and has(ports.seals):
        raise Unavailable("inbox: the keys of the stage could not be read, so the command cannot be signed; the log has the reason")
    _put(ports, InboxEntry(to, header, body))
    controlling.change(lambda record, clock, nonce: with_asked(record, rule.announced(record.asked, asked.expires, nonce), clock, nonce))


def answers(ports: Ports, message_id: str) -> dict[str, str]:
    """Return the answers to the command *message_id*, by the names of the workers."""
    found = {member.name: rule.answers_of(member.answers) for member in ports.members.read() if member.answers}
    return {name: given[message_id] for name, given in found.items() if message_id in given}


def _put(ports: Ports, entry: InboxEntry) -> None:
    seen = ports.memos.read([INBOX]).get(INBOX, Memo(INBOX))
    for _ in range(TRIES):
        text = rule.with_entry(seen.text, entry, ports.clock.now())
        answer = ports.memos.change(Memo(INBOX, text, ports.entropy.nonce()), seen)
        if answer.done:
            return
        seen = answer.memo
    raise Unavailable(f"inbox: others changed it under each of {TRIES} attempts")
