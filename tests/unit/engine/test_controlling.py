"""Changes of the control record, of circuits, causes and stage values when others change them too, and the members as they are now."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.cluster.control import TRIES, Controlling, close_circuit, keep_cause, keep_stage_value, members
from sedano.errors import OptionError, Unavailable
from sedano.model.circuits import Circuit, from_text, to_text
from sedano.model.cluster.control_record import Changed, ControlRecord
from sedano.model.cluster.members import ACTIVE, MemberRecord
from sedano.model.configuration.fields import ConfigField
from sedano.model.configuration.stage_values import STAGE_VALUES
from sedano.model.memos import CIRCUIT, Memo, MemoChanged, memo_name
from sedano.model.messages.lamport import LamportClock
from sedano.model.pauses import QUEUE, PauseCause, cause_name
from sedano.ports import Ports
from tests.unit.engine.gated import asked, world

FIELDS = {"pool": ConfigField("pool", int, 10)}
OPEN = to_text(Circuit("mail", since=1.0, until=9e9, cause="503"))


class Overtaken(memory.MemoryMemos):
    """Memos that another process changes before each of the first changes."""

    def __init__(self, times: int, text: str) -> None:
        """Let the other process write *text* so many *times*."""
        super().__init__()
        self.left, self.text = times, text

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Be late while the other process is first."""
        if self.left:
            self.left -= 1
            super().change(Memo(memo.name, self.text, f"theirs {self.left}"), seen)
        return super().change(memo, seen)


class OvertakenRecord(memory.MemoryControl):
    """A control record that another process changes before each of the first changes."""

    def __init__(self, times: int) -> None:
        """Let the other process be first so many *times*."""
        super().__init__()
        self.left = times

    def change(self, record: ControlRecord, seen: ControlRecord) -> Changed:
        """Be late while the other process is first."""
        if self.left:
            self.left -= 1
            super().change(seen._replace(nonce=f"theirs {self.left}", asked="theirs"), seen)
        return super().change(record, seen)


def with_memos(memos: Any) -> Ports:
    """Ports over these memos."""
    return replace(memory.ports(), memos=memos)


def alter(seen: ControlRecord, clock: int, nonce: str) -> ControlRecord:
    """Pause nothing, but write."""
    return seen._replace(clock=clock, nonce=nonce)


def test_a_process_that_knows_the_control_record_does_not_read_it_again_to_change_it() -> None:
    ports = world(0.5, "control")
    controlling = Controlling(ports, LamportClock(lambda: 1))
    first = controlling.change(alter)
    assert controlling.change(alter).clock > first.clock
    assert len(asked(ports.control, "read")) == 1


def test_a_change_of_the_control_record_is_made_to_what_others_wrote_and_at_most_eight_times() -> None:
    ports = replace(memory.ports(), control=OvertakenRecord(TRIES - 1))
    assert Controlling(ports, LamportClock(lambda: 1)).change(alter).asked == "theirs"
    ports = replace(memory.ports(), control=OvertakenRecord(TRIES))
    with pytest.raises(Unavailable, match="control record: others changed it under each of 8 attempts"):
        Controlling(ports, LamportClock(lambda: 1)).change(alter)


CHANGES: dict[str, tuple[Callable[[Ports], None], str, str, str]] = {
    "circuit": (lambda ports: close_circuit(ports, "mail"), memo_name(CIRCUIT, "mail"), OPEN, "circuit mail"),
    "cause": (
        lambda ports: keep_cause(ports, QUEUE, "mail", PauseCause("ana", "deploy")), cause_name(QUEUE, "mail"), "theirs",
        "cause of the pause of queue mail",
    ),
    "stage": (lambda ports: keep_stage_value(ports, FIELDS, "pool", "7"), STAGE_VALUES, '{"other":"1"}', "layer stage"),
}  # fmt: skip
WRITTEN = {"circuit": to_text(Circuit("mail")), "cause": PauseCause("ana", "deploy").text, "stage": '{"other":"1","pool":"7"}'}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("times", [0, 1, TRIES - 1, TRIES])
def test_a_memo_that_others_change_too_is_changed_at_the_eighth_attempt_at_the_latest(what: str, times: int) -> None:
    change, name, theirs, words = CHANGES[what]
    memos = Overtaken(0, theirs)
    assert memos.change(Memo(name, theirs, "first"), Memo(name)).done
    memos.left = times
    if times == TRIES:
        with pytest.raises(Unavailable, match=f"{words}: others changed it under each of 8 attempts"):
            change(with_memos(memos))
        assert memos.read([name])[name].text == theirs
    else:
        change(with_memos(memos))
        assert memos.read([name])[name].text == WRITTEN[what]


def test_nothing_is_written_for_a_circuit_that_does_not_exist_or_a_cause_that_is_kept() -> None:
    ports = world(0.5, "memos")
    close_circuit(ports, "mail")
    keep_cause(ports, QUEUE, "mail", PauseCause())
    assert asked(ports.memos, "change") == []
    for _ in range(2):
        keep_cause(ports, QUEUE, "mail", PauseCause("ana"))
    assert len(asked(ports.memos, "change")) == 1


def test_a_closed_circuit_holds_nothing_back() -> None:
    ports = memory.ports()
    name = memo_name(CIRCUIT, "mail")
    ports.memos.change(Memo(name, OPEN, "n"), Memo(name))
    close_circuit(ports, "mail")
    assert not from_text(ports.memos.read([name])[name].text).is_open(2.0)


def test_a_stage_value_is_set_beside_the_others_and_taken_away_again() -> None:
    ports = memory.ports()
    keep_stage_value(ports, {**FIELDS, "name": ConfigField("name", str, "")}, "name", "a")
    keep_stage_value(ports, FIELDS, "pool", "7")
    assert ports.memos.read([STAGE_VALUES])[STAGE_VALUES].text == '{"name":"a","pool":"7"}'
    keep_stage_value(ports, FIELDS, "pool", None)
    assert ports.memos.read([STAGE_VALUES])[STAGE_VALUES].text == '{"name":"a"}'
    with pytest.raises(OptionError, match="pool: 'x' is not valid"):
        keep_stage_value(ports, FIELDS, "pool", "x")


def test_only_of_members_that_are_silent_for_too_long_the_tasks_are_read_each_once() -> None:
    ports = world(0.5, "ledger")
    now = ports.clock.now()
    ports.members.beat(MemberRecord("fresh", 1, ACTIVE, 1, now - 60.0, ("t",)))
    assert [one.name for one in members(ports, 60.0)] == ["fresh"]
    assert asked(ports.ledger, "read") == [], "a heartbeat of that age still counts"
    ports.members.beat(MemberRecord("silent", 1, ACTIVE, 1, now - 61.0, ("u", "v")))
    ports.members.beat(MemberRecord("still", 1, ACTIVE, 1, now - 62.0, ("v",)))
    members(ports, 60.0)
    assert asked(ports.ledger, "read") == [(["u", "v"],)]
