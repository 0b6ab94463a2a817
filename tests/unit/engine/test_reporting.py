"""The report of a person's change alone: one message to the recorder, under the name of the machine."""

import platform

import pytest

from sedano import memory
from sedano.engine.history.stage_changes import host_name, report
from sedano.model.history.run_rows import unpack
from sedano.model.history.stage_changes import STAGE_CHANGED, StageChange, fields
from sedano.ports import RECORDS

CHANGE = StageChange(1.5, "ann", "pause", "task=mail", "bad deploy", 1, 0)


def test_a_change_is_one_line_with_the_clock_and_the_process_that_made_it() -> None:
    ports = memory.ports()
    assert report(ports, CHANGE, 30, 7) is None
    (message,) = ports.queues.peek(RECORDS)  # type: ignore[attr-defined]
    assert unpack(message.body) == [
        {
            "hostname": f"operator@{host_name(platform.node())}", "pid": 7, "utcoffset": 0, "type": STAGE_CHANGED, "clock": 30,
            "timestamp": 1.5, **fields(CHANGE),
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        ("desk-1.example", "desk-1.example"), ("Ann's  Mac", "Ann-s-Mac"), ("", "unknown"), ("a" * 100, "a" * 100), ("a" * 101, "a" * 100),
    ],
)  # fmt: skip
def test_the_name_of_a_machine_has_a_hundred_characters_of_host_names_at_most(machine: str, name: str) -> None:
    assert host_name(machine) == name
