"""One worker's place in the cluster: when it reads the control record, when it beats, and what it says of itself and of the lost."""

import json
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Held
from sedano.engine.cluster.control import Controlling
from sedano.engine.cluster.inbox import answers, broadcast
from sedano.engine.cluster.membership import InboxDoor, Membership
from sedano.engine.registry import Registry
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import Unavailable
from sedano.model.cluster import inbox as rule
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.cluster.members import ACTIVE, HEARTBEAT, LEFT, LOST, OFFLINE, ONLINE, WORKER_LOST, MemberRecord
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages.lamport import LamportClock
from sedano.model.pauses import ID, pause, with_pause
from sedano.ports import Ports
from sedano.ports.absent import Absent, absent
from tests.unit.engine.gated import advance, asked, batch, job, world

EVERY = 60.0
AWAY = Unavailable("away")


class SetBack(memory.VirtualClock):
    """A clock whose wall time can be set back."""

    back = 0.0

    def now(self) -> float:
        """Return the wall time."""
        return super().now() - self.back


class Stage:
    """One worker."""

    def __init__(self, ports: Ports | None = None) -> None:
        """Have said nothing yet."""
        self.ports = ports or world(0.5, "members", "control")
        self.step = Membership(self.ports, LamportClock(lambda: 1), "me", EVERY)
        self.chronicle = Chronicle(Host("me", 1))

    def work(self, in_flight: int = 2, *jobs: Any) -> list[str]:
        """Say hello and beat, as a batch does; return the kinds of the lines that were written."""
        before = len(self.chronicle.lines)
        self.step.hello()
        self.step.beat(in_flight, jobs, self.chronicle)
        return [line["type"] for line in self.chronicle.lines[before:]]

    def reads(self) -> int:
        """How often the control record was read."""
        return len(asked(self.ports.control, "read"))

    def warnings(self) -> list[tuple[str, Any]]:
        """What was logged."""
        telemetry: Any = self.ports.telemetry
        return [(line.message, line.fields.get("error")) for line in telemetry.lines if line.level == "warning"]


def breaking(port: Any, operation: str) -> None:
    """Let a port not answer."""

    def fails(*_: Any) -> Any:
        raise AWAY

    setattr(port, operation, fails)


def test_a_worker_reports_itself_once_and_beats_once_in_an_interval_while_it_works() -> None:
    stage = Stage()
    assert stage.work() == [ONLINE]
    assert stage.work() == []
    advance(stage.ports, EVERY - 0.001)
    assert stage.work() == []
    advance(stage.ports, 0.001)
    assert stage.work(5) == [HEARTBEAT]
    assert stage.reads() == 2
    line = stage.chronicle.lines[-1]
    assert (line["active"], line["freq"], line["timestamp"]) == (5, EVERY, stage.ports.clock.now())
    assert line["clock"] > stage.chronicle.lines[0]["clock"] > 0
    assert len(asked(stage.ports.members, "beat")) == 2


def test_a_heartbeat_names_the_claimed_tasks_of_its_batch() -> None:
    stage = Stage()
    stage.work(3, job("a"), job("b", delivery="at_least_once"), job("c"))
    (member,) = stage.ports.members.read()
    assert (member.name, member.state, member.in_flight, member.tasks) == ("me", ACTIVE, 3, ("a", "c"))
    assert (member.seen, member.answers) == (stage.ports.clock.now(), "")


def test_the_interval_begins_with_the_heartbeat_whatever_the_clocks_show_then() -> None:
    stage = Stage()
    advance(stage.ports, EVERY - 1.0)
    assert stage.work() == [ONLINE]
    stage.step.beat(2, (), stage.chronicle)
    advance(stage.ports, EVERY - 1.0)
    assert stage.work() == []
    assert len(asked(stage.ports.members, "beat")) == 1


def test_a_report_that_changed_is_written_at_once_after_the_first_heartbeat() -> None:
    stage = Stage()
    reports = ["ready"]
    stage.step.report = lambda: reports[-1]
    stage.step.report_change()
    stage.step.stay()
    assert stage.ports.members.read() == [], "the worker is not a member yet"
    stage.work(3, job("a"))
    stage.step.report_change()
    assert len(asked(stage.ports.members, "beat")) == 1, "it is the same"
    advance(stage.ports, 1.0)
    reports.append("paused")
    stage.step.report_change()
    stage.step.report_change()
    assert len(asked(stage.ports.members, "beat")) == 2
    (member,) = stage.ports.members.read()
    assert (member.report, member.tasks, member.in_flight, member.seen) == ("paused", ("a",), 3, stage.ports.clock.now())


def test_a_report_that_was_not_written_is_written_with_the_next_look() -> None:
    stage = Stage()
    stage.work()
    breaking(stage.ports.members, "beat")
    stage.step.report = lambda: "paused"
    stage.step.report_change()
    del stage.ports.members.beat  # type: ignore[attr-defined]
    stage.step.report_change()
    assert [one.report for one in stage.ports.members.read()] == ["paused"]


def test_an_idle_worker_shows_that_it_lives() -> None:
    stage = Stage()
    stage.work(3)
    (before,) = stage.ports.members.read()
    advance(stage.ports, 30.0)
    stage.step.stay()
    (member,) = stage.ports.members.read()
    assert member == before._replace(clock=member.clock, seen=stage.ports.clock.now())
    assert member.clock > before.clock


def test_an_answer_before_the_first_heartbeat_is_that_of_an_idle_worker() -> None:
    stage = Stage()
    stage.step.answer("pong")
    (member,) = stage.ports.members.read()
    assert member == MemberRecord("me", member.clock, ACTIVE, 0, stage.ports.clock.now(), answers="pong")


@pytest.mark.parametrize("back", [3_600.0, -EVERY])
def test_a_heartbeat_is_due_by_whichever_clock_says_so(back: float) -> None:
    clock = SetBack(memory.START)
    stage = Stage(replace(world(0.5, "members", "control"), clock=clock))
    stage.work()
    clock.back = back
    if back > 0:
        assert stage.work() == []
        clock.advance(EVERY)
    assert stage.work() == [HEARTBEAT]


def test_a_heartbeat_that_is_not_written_is_tried_an_interval_later_and_the_first_one_counts_as_none() -> None:
    stage = Stage()
    breaking(stage.ports.members, "beat")
    assert stage.work() == []
    assert stage.warnings() == [("heartbeat not written", "away")]
    del stage.ports.members.beat
    assert stage.work() == []
    advance(stage.ports, EVERY)
    assert stage.work() == [ONLINE]


def test_the_control_record_is_read_again_with_each_batch_until_it_was_heard_and_while_something_is_paused() -> None:
    stage = Stage()
    breaking(stage.ports.control, "read")
    stage.work()
    stage.work()
    assert stage.warnings() == [("hello not answered", "away")] * 2
    del stage.ports.control.read
    stage.work()
    stage.work()
    assert stage.reads() == 1
    paused = with_pause(frozenset(), pause(ID, "t-1", until=stage.ports.clock.now() + 5.0), stage.ports.clock.now())
    stage.step.control = ControlRecord(clock=1, paused=paused)
    stage.work()
    assert stage.reads() == 2
    stage.step.control = ControlRecord(clock=1, paused=paused)
    advance(stage.ports, 6.0)
    stage.work()
    assert stage.reads() == 2, "the pause is over"


def test_the_last_known_control_record_holds_without_an_answer_and_its_clock_is_taken_over() -> None:
    stage = Stage()
    known = ControlRecord(clock=5_000, limits={"send": "x"})
    stage.ports.control.read = lambda: known  # type: ignore[method-assign]
    stage.step.look()
    assert stage.step.control is known
    assert stage.step._lamport.forward() > 5_000
    breaking(stage.ports.control, "read")
    stage.step.look()
    assert stage.step.control is known


def test_a_clock_of_the_cluster_that_is_far_ahead_is_not_taken_over_and_is_reported() -> None:
    stage = Stage()
    ahead = ControlRecord(clock=10**18, limits={"send": "x"})
    stage.ports.control.read = lambda: ahead  # type: ignore[method-assign]
    stage.step.look()
    assert stage.step.control is ahead
    assert stage.step._lamport.forward() < 10**9
    assert [message for message, _ in stage.warnings()] == ["the cluster's clock was not taken over"]
    stage.step.hello()
    assert stage.work() == [ONLINE], "it was heard all the same"


def test_answers_to_the_inbox_are_written_at_once_and_stay_in_the_record() -> None:
    stage = Stage()
    stage.work(3, job("a"))
    advance(stage.ports, 1.0)
    stage.step.answer("pong")
    (member,) = stage.ports.members.read()
    assert (member.answers, member.tasks, member.in_flight, member.seen) == ("pong", ("a",), 3, stage.ports.clock.now())
    advance(stage.ports, EVERY)
    stage.work(1)
    (member,) = stage.ports.members.read()
    assert (member.answers, member.tasks) == ("pong", ())


def test_a_worker_that_leaves_says_so_with_its_answers() -> None:
    stage = Stage()
    stage.work(3, job("a"))
    stage.step.answer("pong")
    before = len(stage.chronicle.lines)
    stage.step.leave(stage.chronicle)
    (member,) = stage.ports.members.read()
    assert (member.state, member.in_flight, member.tasks, member.answers, member.seen) == (LEFT, 0, (), "pong", stage.ports.clock.now())
    (line,) = stage.chronicle.lines[before:]
    assert (line["type"], line["timestamp"], line["clock"] > member.clock) == (OFFLINE, stage.ports.clock.now(), True)
    breaking(stage.ports.members, "beat")
    stage.step.leave(stage.chronicle)
    assert len(stage.chronicle.lines) == before + 1


HELD = Held(job("a"), None)


def lost(stage: Stage, owner: str = "they", seen: float = -9.0) -> Any:
    """Report that *owner*, who spoke so many seconds ago, is lost; return what the history says."""
    now = stage.ports.clock.now()
    stage.ports.members.beat(MemberRecord("they", 0, ACTIVE, 1, now + seen))
    found = batch(stage.ports)
    stage.step._lamport.adjust(5)
    stage.step.lose(HELD, found, now - 1.0, owner)
    return found.chronicle.lines


def test_a_worker_whose_claim_ran_out_is_lost_counted_and_reported() -> None:
    stage = Stage()
    (line,) = lost(stage)
    assert (line["type"], line["hostname"], line["told_by"], line["task"]) == (WORKER_LOST, "they", "me", "a")
    assert (line["timestamp"], line["clock"] > 5) == (stage.ports.clock.now(), True)
    (member,) = stage.ports.members.read()
    assert member.state == LOST
    telemetry: Any = stage.ports.telemetry
    assert telemetry.counted("WorkersLost", task="only") == 1


def test_a_worker_that_spoke_since_or_is_nobody_or_this_one_is_not_lost() -> None:
    assert lost(Stage(), seen=-0.5) == []
    for owner in ("", "me"):
        stage = Stage()
        assert lost(stage, owner=owner) == []
        assert asked(stage.ports.members, "lose") == []
    telemetry: Any = Stage().ports.telemetry
    assert telemetry.lines == []


def test_a_loss_that_cannot_be_written_down_is_reported_all_the_same() -> None:
    stage = Stage()
    breaking(stage.ports.members, "lose")
    assert [line["type"] for line in lost(stage)] == [WORKER_LOST]
    assert stage.warnings() == [("a lost worker was not written down", "away")]


def test_a_deployment_without_members_or_control_has_neither() -> None:
    ports = replace(world(0.5), members=Absent("members"), control=Absent("control"))
    stage = Stage(ports)
    assert stage.work() == []
    stage.step.leave(stage.chronicle)
    found = batch(ports)
    stage.step.lose(HELD, found, 0.0, "they")
    assert (stage.chronicle.lines, found.chronicle.lines, stage.warnings()) == ([], [], [])
    assert stage.step.control == ControlRecord()


class Door:
    """The door of the inbox of the worker `me`."""

    def __init__(self, *, unsigned: bool = True, **ports: Any) -> None:
        """Announce nothing yet."""
        self.ports = replace(world(0.5, "members", "control", "memos"), **ports)
        self.membership = Membership(self.ports, LamportClock(lambda: 1), "me", EVERY)
        settings = WorkerSettings(unsigned_inbox=unsigned)
        self.registry = Registry()
        self.step = InboxDoor(self.ports, self.membership, self.registry, settings, list)

    def asks(self, verb: str) -> dict[str, str]:
        """Ask for this; return the answer."""
        asking = rule.asking("m-1", verb, "", self.ports.clock.now(), 60)
        broadcast(replace(self.ports, seals=absent("seals")), Controlling(self.ports, LamportClock(lambda: 1)), asking, rule.WORKERS)
        self.membership.look()
        self.step.obey()
        return answers(self.ports, "m-1")


class Configured:
    """The configuration of an app."""

    def reload(self, message_id: str) -> str:
        """Read it again."""
        return f"reloaded for {message_id}"


def test_the_inbox_is_not_read_before_something_is_announced_or_where_there_are_no_memos() -> None:
    door = Door()
    door.step.obey()
    assert asked(door.ports.memos, "read") == []
    none = Door(memos=absent("memos"))
    none.membership.control = ControlRecord(asked="9999999999 1")
    none.step.obey()


def test_a_worker_answers_under_its_name_with_what_it_did_and_which_claims_have_expired() -> None:
    door = Door()
    door.step.worked = 7
    found = json.loads(door.asks("stats")["me"])
    assert (found["worked"], found["running"], found["seconds"]) == (7, 0, 0)
    assert json.loads(Door().asks("expired")["me"]) == {"running": 0, "expired": []}
    overdue = Door()
    overdue.step.overdue = lambda running: [f"t of {len(running)}"]
    assert json.loads(overdue.asks("expired")["me"])["expired"] == ["t of 0"]
    host = Door()
    host.step.host["drain"] = lambda: "drains"
    assert host.asks("drain") == {"me": "drains"}
    assert Door().asks("reload") == {"me": "unsupported"}
    configured = Door()
    configured.registry.configuration = Configured()  # type: ignore[assignment]
    assert configured.asks("reload") == {"me": "reloaded for m-1"}


def test_only_a_worker_that_lets_commands_without_a_seal_in_obeys_them_and_warns_of_it() -> None:
    def warnings(door: Door) -> int:
        telemetry: Any = door.ports.telemetry
        return len([line for line in telemetry.lines if "without a seal" in line.message])

    door = Door(unsigned=False, seals=absent("seals"))
    assert (door.asks("ping"), warnings(door)) == ({}, 0)
    assert (Door().asks("ping"), warnings(Door())) == ({"me": "pong"}, 1)
