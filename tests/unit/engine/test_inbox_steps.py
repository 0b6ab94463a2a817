"""The inbox of one worker alone: when it reads, what it answers with, and which entries bring no answer."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.cluster.control import TRIES, Controlling
from sedano.engine.cluster.inbox import Inbox, Staff, broadcast
from sedano.engine.cluster.log_levels import LEVELS, LogLevels
from sedano.engine.health import RegisteredCheck
from sedano.errors import Unavailable
from sedano.model.cluster import inbox as rule
from sedano.model.cluster.inbox import INBOX, InboxCommand, InboxEntry
from sedano.model.health import HealthCheck
from sedano.model.memos import Memo
from sedano.model.messages.lamport import LamportClock
from sedano.ports.absent import absent
from sedano.ports.seals import Seals
from tests.unit.engine.gated import advance, asked, world
from tests.unit.engine.test_controlling import Overtaken


class Stage:
    """The inbox of the worker `me`, which lets commands without a seal in."""

    def __init__(self, **staff: Any) -> None:
        """Have read nothing."""
        self.ports = world(0.5, "memos")
        self.announced, self.answers = "", list[dict[str, str]]()
        self.nonce = 0
        usual: dict[str, Any] = {
            "name": "me", "announced": lambda: self.announced, "answer": lambda text: self.answers.append(rule.answers_of(text)),
            "checks": {}, "running": lambda: 2, "worked": lambda: 5, "host": {}, "expired": lambda: ["t"], "unsigned": True,
            "started": self.ports.clock.now(),
        }  # fmt: skip
        self.step = Inbox(self.ports, Staff(**{**usual, **staff}))

    def command(self, message_id: str, verb: str = "ping", argument: str = "", **changes: int) -> InboxCommand:
        """A command that was issued now."""
        now = int(self.ports.clock.now())
        return InboxCommand(message_id, verb, argument, now, now + 60)._replace(**changes)

    def put(self, *commands: InboxCommand | str, to: str = rule.WORKERS) -> None:
        """Write these into the inbox and announce them; the worker looks."""
        self.nonce += 1
        bodies = [one if isinstance(one, str) else rule.body_of(one) for one in commands]
        (seen,) = self.ports.memos.read([INBOX]).values() or (Memo(INBOX),)
        text = rule.text_of([InboxEntry(to, "", one) for one in bodies])
        assert self.ports.memos.change(Memo(INBOX, text, f"n{self.nonce}"), seen).done
        self.announced = f"{int(self.ports.clock.now()) + 60} {self.nonce}"
        self.step.obey()

    def refused(self, code: str) -> float:
        """How many entries were refused for this."""
        telemetry: Any = self.ports.telemetry
        return float(telemetry.counted("InboxRefused", code=code))

    def logged(self) -> list[str]:
        """The messages."""
        telemetry: Any = self.ports.telemetry
        return [line.message for line in telemetry.lines]


def test_only_a_command_that_was_obeyed_brings_an_answer() -> None:
    stage = Stage()
    stage.put(stage.command("a"))
    assert stage.answers == [{"a": "pong"}]
    stage.put(stage.command("b"), to="worker:other")
    stage.put(stage.command("old", issued=int(stage.ports.clock.now()) - 9))
    stage.put("{")
    stage.put(stage.command("a"), stage.command("c", expires=1))
    assert stage.answers == [{"a": "pong"}], "for another, before this worker, unreadable, obeyed before, expired"
    stage.put(stage.command("d"), to="worker:me")
    assert stage.answers[1:] == [{"a": "pong", "d": "pong"}]


def test_an_entry_that_stays_in_the_inbox_is_refused_once() -> None:
    stage = Stage()
    stage.put("{")
    stage.put("{", stage.command("a"))
    stage.put("{", "[", stage.command("a"))
    assert stage.refused(rule.UNREADABLE) == 2
    assert stage.answers == [{"a": "pong"}]
    stage.put("[")
    stage.put("{")
    assert stage.refused(rule.UNREADABLE) == 3, "it was put there again"


def test_an_announcement_is_read_once_and_one_without_an_inbox_asks_nothing() -> None:
    stage = Stage()
    stage.announced = f"{int(stage.ports.clock.now()) + 60} 1"
    stage.step.obey()
    stage.step.obey()
    assert (len(asked(stage.ports.memos, "read")), stage.answers) == (1, [])


@pytest.mark.parametrize(("found", "answer"), [(None, "done"), ("7 lanes", "7 lanes")])
def test_the_host_answers_for_itself_or_is_done(found: str | None, answer: str) -> None:
    given: list[tuple[str, ...]] = []

    def obeys(*argument: str) -> str | None:
        given.append(argument)
        return found

    stage = Stage(host={"concurrency": obeys, "drain": obeys})
    stage.put(stage.command("a", "concurrency", "7"))
    stage.put(stage.command("b", "drain"))
    assert (stage.answers[-1], given) == ({"a": answer, "b": answer}, [("7",), ()])


def test_what_this_worker_cannot_do_is_unsupported() -> None:
    stage = Stage(host={"ping": lambda: "host"})
    commands = [("a", "drain", ""), ("b", "unheard of", ""), ("c", "reload", ""), ("d", "ping", "argument"), ("e", "ping", "")]
    for message_id, verb, argument in commands:
        stage.put(stage.command(message_id, verb, argument))
    assert stage.answers[3] == dict.fromkeys("abcd", rule.UNSUPPORTED)
    assert stage.answers[4] == {**dict.fromkeys("bcd", rule.UNSUPPORTED), "e": "pong"}, "the latest four are kept"


def test_a_worker_answers_with_what_it_does() -> None:
    stage = Stage(reload=lambda message_id: f"reloaded by {message_id}")
    advance(stage.ports, 7.6)
    stage.put(stage.command("a", "reload"), stage.command("b", "stats"), stage.command("c", "expired"))
    (found,) = stage.answers
    assert (found["a"], json.loads(found["c"])) == ("reloaded by a", {"running": 2, "expired": ["t"]})
    stats = json.loads(found["b"])
    assert (stats["seconds"], stats["running"], stats["worked"]) == (8, 2, 5)


@pytest.mark.parametrize(("look", "answer"), [(lambda: ("unhealthy", "no"), "unhealthy no"), (lambda: "healthy", "healthy")])
def test_a_check_that_is_run_answers_with_its_state_and_lets_circuits_hear_of_it(look: Callable[[], Any], answer: str) -> None:
    check = RegisteredCheck(HealthCheck("mail"), [look])
    stage = Stage(checks={"mail": check})
    stage.put(stage.command("a", "check_health", "mail"), stage.command("b", "check_health", "nothing"))
    assert stage.answers == [{"a": answer, "b": "no health check nothing"}]
    assert [state for state, _ in check.inbox] == [answer.partition(" ")[0]]


def test_a_verb_that_breaks_has_failed_and_the_next_one_is_obeyed() -> None:
    def breaks() -> Any:
        raise RuntimeError("a defect")

    broken = RegisteredCheck(HealthCheck("mail"), [breaks])
    stage = Stage(expired=breaks, checks={"mail": broken})
    stage.put(stage.command("a", "expired"), stage.command("b", "check_health", "mail"), stage.command("c"))
    assert stage.answers == [{"a": "failed", "b": "failed", "c": "pong"}]
    assert list(broken.inbox) == []
    assert "unexpected error in a step of the batch" in stage.logged()


def test_another_level_of_the_log_holds_for_its_time_and_its_end_is_logged() -> None:
    root, before = logging.getLogger(), logging.getLogger().level
    stage = Stage()
    try:
        stage.put(stage.command("a", "log", "error 60"))
        assert (stage.answers, root.level) == ([{"a": "error for 60 s"}], logging.ERROR)
        advance(stage.ports, 59.0)
        stage.step.obey()
        assert (root.level, "inbox: the log level is as before" in stage.logged()) == (logging.ERROR, False)
        advance(stage.ports, 1.0)
        stage.step.obey()
        assert (root.level, "inbox: the log level is as before" in stage.logged()) == (before, True)
    finally:
        LEVELS.look(float("inf"))


def test_the_loggers_of_sedano_that_have_a_level_follow_and_get_their_own_back() -> None:
    own, silent, other = (logging.getLogger(name) for name in ("sedano.tests.own", "sedano.tests.silent", "other.tests"))
    logging.getLogger("sedano.tests.placeholder.below")
    levels, root, before = LogLevels(), logging.getLogger(), logging.getLogger().level
    own.setLevel(logging.ERROR)
    other.setLevel(logging.ERROR)
    try:
        assert not levels.look(0.0), "nothing was changed"
        levels.change("debug", 60.0)
        assert [one.level for one in (root, own, silent, other)] == [logging.DEBUG, logging.DEBUG, logging.NOTSET, logging.ERROR]
        levels.change("info", 30.0)
        assert (root.level, own.level, levels.look(29.0)) == (logging.INFO, logging.INFO, False), "the last command counts"
        assert (levels.look(30.0), root.level, own.level) == (True, before, logging.ERROR), "not the level of the first command"
        assert not levels.look(31.0)
    finally:
        levels.look(float("inf"))
        own.setLevel(logging.NOTSET)
        other.setLevel(logging.NOTSET)


@pytest.mark.parametrize("times", [0, TRIES - 1, TRIES])
def test_a_command_is_put_beside_those_of_others_at_the_eighth_attempt_at_the_latest(times: int) -> None:
    theirs = InboxEntry("worker:other", "", rule.body_of(Stage().command("theirs")))
    memos = Overtaken(times, rule.text_of([theirs]))
    ports = replace(memory.ports(), memos=memos, seals=absent("seals"))
    asking, controlling = Stage().command("mine"), Controlling(ports, LamportClock(lambda: 1))
    if times == TRIES:
        with pytest.raises(Unavailable, match="inbox: others changed it under each of 8 attempts"):
            broadcast(ports, controlling, asking, rule.WORKERS)
        assert ports.control.read().asked == "", "nothing is announced that is not there"
        return
    broadcast(ports, controlling, asking, rule.WORKERS)
    entries = rule.entries_of(memos.read([INBOX])[INBOX].text)
    assert [one.body for one in entries] == [*([theirs.body] if times else []), rule.body_of(asking)]
    assert ports.control.read().asked.startswith(f"{asking.expires} ")


class KeysAway(memory.MemoryKeyStore):
    """A store of keys that does not answer."""

    def read(self) -> str | None:
        """Be away."""
        raise Unavailable("away")


def test_a_command_that_cannot_be_signed_is_neither_put_nor_announced() -> None:
    ports = memory.ports()
    ports = replace(ports, seals=Seals(KeysAway(), ports.clock, ports.entropy, ports.telemetry))
    with pytest.raises(Unavailable, match="the keys of the stage could not be read"):
        broadcast(ports, Controlling(ports, LamportClock(lambda: 1)), Stage().command("a"), rule.WORKERS)
    assert (ports.memos.read([INBOX]), ports.control.read().asked) == ({}, "")
