"""The rules of a cluster at their edges: when a worker is lost, a check is due, an entry of the inbox holds, and a revoked header goes."""

import json
from typing import Any

import pytest

from sedano.errors import ConfigurationError, OptionError, TooLarge
from sedano.model import health, memos, states
from sedano.model.cluster import inbox
from sedano.model.cluster.control_record import (
    ControlRecord,
    pair,
    revoked_by,
    was_announced_before,
    with_config,
    with_limits,
    with_pauses,
    with_revoked,
    with_wish,
    without,
)
from sedano.model.cluster.inbox import InboxCommand, InboxEntry, Obeyed, Receiving
from sedano.model.cluster.members import ACTIVE, IDLE, LEFT, LOST, Member, MemberRecord, held, state_of, view
from sedano.model.health import Health, HealthCheck
from sedano.model.ledger.records import RECORD_LIFETIME_S, TaskRecord
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import Command

NOW = 1_767_225_600.0
CHECK = HealthCheck("web", every=30.0)


@pytest.mark.parametrize(
    ("state", "silent", "lapsed", "expected"),
    [
        (ACTIVE, 150, 9, ACTIVE), (ACTIVE, 150.5, None, IDLE), (ACTIVE, 150.5, 5, ACTIVE), (ACTIVE, 150.5, 5.5, LOST),
        (ACTIVE, 150.5, -60, ACTIVE), (LEFT, 9_999, 99, LEFT), (LOST, 0, None, LOST), (IDLE, 0, None, ACTIVE),
    ],
)  # fmt: skip
def test_the_state_of_a_worker(state: str, silent: float, lapsed: float | None, expected: str) -> None:
    member = MemberRecord("w", 7, state, 1, NOW - silent, ("t", "u"), "", "report")
    records = {} if lapsed is None else {"t": TaskRecord("t", states.RUNNING, owner="w", expires=NOW - lapsed)}
    assert state_of(member, records, NOW) == expected
    assert view(member, records, NOW) == Member("w", expected, 7, NOW - silent, ("t",) if records else (), "report")
    assert view(member, records, NOW).alive is (expected in (ACTIVE, IDLE))


def test_a_worker_holds_what_it_runs_itself() -> None:
    mine = TaskRecord("t", states.RUNNING, owner="w")
    others = {"u": mine._replace(owner="v"), "x": mine._replace(state=states.SUCCESS), "y": mine}
    assert held(MemberRecord("w", 0, ACTIVE, 1, NOW, ("t", "u", "x", "z")), {"t": mine, **others}) == [mine]


@pytest.mark.parametrize(
    ("at", "asked", "due", "to_ask"),
    [
        (0, 0, False, False), (-29.5, -99, False, False), (-30, -30, True, True), (-30, -29.5, True, False), (5, -99, False, False),
        (5.5, -99, True, True), (-99, 5, True, False), (-99, 5.5, True, True),
    ],
)  # fmt: skip
def test_when_a_check_is_due_and_asked_for(at: float, asked: float, due: bool, to_ask: bool) -> None:
    known = Health("web", "healthy", at=NOW + at, asked=NOW + asked)
    assert (health.is_due(CHECK, known, NOW), health.to_ask(CHECK, known, NOW)) == (due, to_ask)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"name": name}, f"name: {name!r} is not 1 to 256 characters") for name in ("", "a b", "a:b", "x" * 257, 5)),
        *(({"states": wrong}, f"states: {wrong!r} are not two or more different") for wrong in ("ab", ("a",), ("a", "a"), ("a", ""))),
        *(({"every": wrong}, f"every: {wrong!r} is not a number of seconds from 1 to 86400") for wrong in (0.5, 86_400.5, True, "9")),
    ],
)
def test_a_check_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError) as caught:
        health.health_check(**{"name": "web", **options})
    assert str(caught.value).startswith(words)


def test_a_check_and_what_is_known_of_it() -> None:
    made = health.health_check("x" * 256, ["up", "down"], 1, True)
    assert made == HealthCheck("x" * 256, ("up", "down"), 1.0, True)
    assert (made.expired, health.health_check("web", every=86_400).every) == ("x" * 256 + "_expired", 86_400.0)
    assert health.worst(made, ["up", "down", "up"]) == "down"
    found = health.reported(made, Health("web", "up", 1.0, 2.0, "old", 3.0), "up", 9.0, "d" * 301)
    assert found == Health("web", "up", 1.0, 9.0, "d" * 300, 3.0)
    assert health.reported(made, found, "down", 10.0) == Health("web", "down", 10.0, 10.0, "", 3.0)
    assert health.to_text(found._replace(detail="d")) == '["web","up",1.0,9.0,"d",3.0]'
    assert health.from_text('["web","up",1,9.0,"d",3.0]') == found._replace(detail="d")
    for text in ('["web","up",1,9,"d"]', '["web","up","1",9,"d",3]', '["web","up",1,null,"d",3]', '["web","up",1,9,"d",true]'):
        with pytest.raises(ConfigurationError, match=r"^a health check in the control table cannot be read: "):
            health.from_text(text)
    with pytest.raises(OptionError, match=r"'gone' is not one of its states up, down$"):
        health.reported(made, found, "gone", 9.0)


def test_a_memo_has_a_name_and_a_text_of_at_most_400_000_bytes_and_four_levels() -> None:
    assert memos.memo_name("circuit", "a") == "circuit:a"
    assert memos.parts("[[[[]]]]".ljust(400_000)) == [[[[]]]]
    for text in ("[[[[[]]]]]", "[]".ljust(400_001)):
        with pytest.raises(ValueError, match="memo"):
            memos.parts(text)
    assert [memos.moment(part) for part in (1, 1.5)] == [1.0, 1.5]
    for part in (True, "1", None, []):
        with pytest.raises(ValueError, match=f"^expected a number, got {type(part).__name__}$"):
            memos.moment(part)


def test_what_a_verb_makes_of_receiving() -> None:
    found = [inbox.after(Receiving(paused, draining), verb) for paused in (False, True) for draining in (False, True)
             for verb in (inbox.PAUSE, inbox.RESUME, inbox.DRAIN, inbox.PING)]  # fmt: skip
    assert [(one.paused, one.draining) for one in found] == [
        (True, False), (False, False), (False, True), (False, False), (True, True), (False, True), (False, True), (False, True),
        (True, False), (False, False), (True, True), (True, False), (True, True), (False, True), (True, True), (True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "argument", "seconds", "words"),
    [
        ("jump", "", 9, "verb: 'jump' is not one of ping, stats, "), ("ping", "x", 9, "argument: ping takes no argument"),
        ("log", "", 9, "argument: log takes a level and seconds"), ("log", "loud", 9, "argument: 'loud' is not valid; log takes a level"),
        ("log", "debug 3601", 9, "argument: 'debug 3601' is not valid"), ("concurrency", "1001", 9, "argument: '1001' is not valid"),
        ("ping", "", 0, "seconds: 0 is not between 1 and 900"), ("ping", "", 901, "seconds: 901 is not between 1 and 900"),
        ("terminate", "x" * 1_000, 9, "argument: it has 1000 characters; the body may have 1000 bytes"),
    ],
)  # fmt: skip
def test_a_command_that_cannot_be_is_refused(verb: str, argument: str, seconds: int, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        inbox.asking("m", verb, argument, NOW, seconds)
    assert str(caught.value).startswith(words)


def test_a_command_of_the_inbox_and_its_body() -> None:
    asked = inbox.asking("m", "log", "debug 3600", NOW + 0.5, 900)
    assert asked == InboxCommand("m", "log", "debug 3600", int(NOW), int(NOW) + 900)
    assert inbox.asking("m", "ping", "", NOW, 1).expires == NOW + 1
    assert inbox.asked_of(inbox.body_of(asked)) == asked
    assert inbox.log_level("debug 7") == ("debug", 7)
    assert inbox.log_level("info") == ("info", 300)
    room = 1_000 - len(inbox.body_of(asked._replace(verb="terminate", argument="")))
    assert inbox.asking("m", "terminate", "x" * room, NOW + 0.5, 900).argument == "x" * room
    with pytest.raises(OptionError):
        inbox.asking("m", "terminate", "x" * (room + 1), NOW + 0.5, 900)
    whole = asked._asdict()
    for wrong in ({"id": ""}, {"id": 5}, {"verb": None}, {"argument": 5}, {"issued": -1}, {"expires": 1.5}, {"issued": True}, {"more": 1}):
        assert inbox.asked_of(json.dumps({**whole, **wrong})) is None
    assert inbox.asked_of("[]") is inbox.asked_of("{") is inbox.asked_of("{}") is None
    assert (inbox.audience(None), inbox.audience("w")) == ("workers", "worker:w")


@pytest.mark.parametrize(("after", "code"), [(-60, None), (-60.5, "expired"), (70, None), (70.5, "expired")])
def test_an_unsigned_entry_holds_a_minute_before_and_after(after: float, code: str | None) -> None:
    body = inbox.body_of(InboxCommand("m", "ping", "", int(NOW), int(NOW) + 10))
    assert inbox.unsigned_refusal(body, NOW + after) == code
    assert inbox.unsigned_refusal("{", NOW) == "unreadable"
    entry = InboxEntry("workers", "", body)
    kept = inbox.with_entry(inbox.text_of([entry]), InboxEntry("a", "b", "c"), NOW + after)
    assert inbox.entries_of(kept) == ([entry] if after <= 70 else []) + [InboxEntry("a", "b", "c")]


def test_an_inbox_holds_32_entries() -> None:
    entry = InboxEntry("workers", "", inbox.body_of(InboxCommand("m", "ping", "", int(NOW), int(NOW) + 10)))
    assert len(inbox.entries_of(inbox.with_entry(inbox.text_of([entry] * 31), entry, NOW))) == 32
    with pytest.raises(TooLarge, match=r"^inbox: it holds 32 commands that have not expired; try again in some seconds$"):
        inbox.with_entry(inbox.text_of([entry] * 32), entry, NOW)
    assert inbox.entries_of('[["a","b","c"],["a","b"],["a","b",5],5]') == [InboxEntry("a", "b", "c")]
    assert inbox.entries_of("") == inbox.entries_of("{") == inbox.entries_of("{}") == []


def test_a_worker_remembers_a_thousand_ids_until_they_end() -> None:
    obeyed = Obeyed()
    assert all(obeyed.add(InboxCommand(str(n), "ping", "", 0, 100), 0.0) for n in range(1_000))
    assert not obeyed.add(InboxCommand("more", "ping", "", 0, 100), 160.0)
    assert len(obeyed) == 1_000
    assert "more" not in obeyed
    assert obeyed.add(InboxCommand("more", "ping", "", 0, 100), 160.5)
    assert (len(obeyed), "more" in obeyed, "5" in obeyed) == (1, True, False)


def test_what_the_control_record_announces() -> None:
    assert inbox.note(9, "n") == "9 n"
    assert [inbox.may_hold(text, 100.0) for text in ("", "40 n", "39 n", "x", "²", "9" * 13)] == [False, True, False, True, True, True]
    assert [inbox.announced(text, 9, "n") for text in ("", "8 m", "10 m", "x m", "9" * 13)] == ["9 n", "9 n", "10 n", "9 n", "9 n"]
    assert (inbox.answers_text({}), inbox.answers_text({"a": "b"})) == ("", '{"a":"b"}')
    assert inbox.answers_of('{"a":"b","c":5}') == {"a": "b"}
    assert inbox.answers_of("") == inbox.answers_of("[]") == inbox.answers_of("{") == {}


COMMAND = Command("m", "t", "shop.add", "me", lineage=Lineage(None, "p"), tenant="acme", stamps="batch=7")


@pytest.mark.parametrize(
    ("found", "queue", "expected"),
    [("tenant=acme", "", True), ("task=shop.add", "", True), ("root_id=t", "", True), ("parent_id=p", "", True), ("source=me", "", True),
     ("batch=7", "", True), ("queue=mail", "mail", True), ("queue=mail", "", False), ("tenant=acm", "", False)],
)  # fmt: skip
def test_a_command_is_revoked_by_each_of_its_headers(found: str, queue: str, expected: bool) -> None:
    assert revoked_by(ControlRecord(revoked={found: 1}), COMMAND, queue) == (found if expected else None)
    assert revoked_by(ControlRecord(), COMMAND, queue) is None


def test_a_revoked_pair_of_one_tree_goes_when_no_message_of_it_can_be_left() -> None:
    now = RECORD_LIFETIME_S + 100
    record = ControlRecord(5, "n", {"root_id=a": 99, "root_id=b": 100, "parent_id=c": 99, "tenant=d": 1})
    changed = with_revoked(record, "task=e", now * 1_000_000, "x")
    assert changed == ControlRecord(now * 1_000_000, "x", {"root_id=b": 100, "tenant=d": 1, "task=e": now})
    assert with_revoked(changed, "tenant=d", 0, "y").revoked["tenant=d"] == 1
    assert without(record, "root_id=a", 0, "y") == ControlRecord(6, "y", {"root_id=b": 100, "parent_id=c": 99, "tenant=d": 1})
    most = "x=" + "y" * (300_000 - 22)
    assert most in with_revoked(ControlRecord(), most, 0, "n").revoked
    with pytest.raises(TooLarge, match=r"^revoked headers: 1 pairs have 300001 bytes of 300000; restore some with restore_by_header$"):
        with_revoked(ControlRecord(), most + "y", 0, "n")


def test_limits_and_wishes_are_set_and_removed() -> None:
    record = ControlRecord(5, "n", limits={"a": "1", "b": "2"}, wished={"q": 3})
    assert with_limits(record, "a", "9", 7, "x") == record._replace(clock=7, nonce="x", limits={"a": "9", "b": "2"})
    assert with_limits(record, "a", "", 3, "x") == record._replace(clock=6, nonce="x", limits={"b": "2"})
    assert with_wish(record, "r", 0, 7, "x") == record._replace(clock=7, nonce="x", wished={"q": 3, "r": 0})
    assert with_wish(record, "q", None, 7, "x") == record._replace(clock=7, nonce="x", wished={})
    assert (pair("tenant", "a"), pair("batch", "b=c")) == ("tenant=a", "batch=b=c")
    for header, value, words in (("a b", "x", "header: 'a b' is not one of "), ("tenant", "", "value: tenant needs a value that is not")):
        with pytest.raises(OptionError) as caught:
            pair(header, value)
        assert str(caught.value).startswith(words)


def test_a_configuration_is_announced_with_its_clock() -> None:
    record = ControlRecord(5, "n")
    assert with_config(record, 7, "x") == ControlRecord(7, "x", config="7 x")
    assert with_config(record, 5, "x") == ControlRecord(6, "x", config="6 x")
    assert with_pauses(record, frozenset({"mail"}), 7, "x") == ControlRecord(7, "x", paused=frozenset({"mail"}))


@pytest.mark.parametrize(
    ("text", "before"),
    [("40000000 n", False), ("39999999 n", True), ("0", True), ("", False), ("²", False), ("0" * 20, True), ("0" * 21, False)],
)
def test_a_configuration_was_announced_a_minute_before(text: str, before: bool) -> None:
    assert was_announced_before(text, 100.0) is before
