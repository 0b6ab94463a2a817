"""Whatever text stands in names, errors, workers and messages: no verb writes what a terminal acts on."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sedano import Sedano, testing
from sedano.cli import main
from sedano.model.cluster.members import MemberRecord
from sedano.ports import PARKED, RECORDS, Outgoing, command_queue
from tests.stories.vault import command
from tests.unit.test_printer import harmless

app = Sedano("terminal")
said: list[str] = []
APP = ["--app", "tests.stories.test_terminal:app"]
NASTY = ["\x1b]52;c;QUFB\x07", "\x1b[2J\x1b[H", "\x9b2J", "\u202egpj.exe", "\u2066a\u2069", "one\nSUCCESS", "\rover", "\x00\x7f", "\u2028"]


@app.task(name="fail", retry=False)
def fail() -> None:
    """Raise what a stranger wrote."""
    raise ValueError(said[0])


def leave(world: testing.World, schedule: dict[str, Any]) -> None:
    """Put a schedule among the timers, as a stranger can."""
    timers: Any = world.ports.timers
    timers.leave(schedule)


VERBS = (
    ["explain"], ["explain", "--json"], ["cluster"], ["cluster", "--json"], ["parked", "list"], ["parked", "list", "--json"],
    ["parked", "redrive", "--all", "--yes"], ["workflow", "list"], ["workflow", "list", "--json"], ["discover"], ["discover", "--json"],
    ["timers", "foreign"], ["timers", "foreign", "--json"], ["timers", "foreign", "--delete", "--yes"],
    ["list"], ["list", "--json"], ["failures"], ["failures", "--json"], ["workers"], ["workers", "--json"], ["queues"], ["schedules"],
    ["polls"], ["throughput"], ["throughput", "--json"],
    ["tail"], ["tail", "--json"], ["show"], ["show", "--json"], ["result"], ["redrive", "--all", "--dry-run"],
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(NASTY) | st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "L"], exclude_characters="\x00"), min_size=1))
def test_no_verb_writes_what_a_terminal_acts_on(capsys: pytest.CaptureFixture[str], text: str) -> None:
    said[:] = [text]
    with testing.world(app) as world:
        failed = fail.delay()
        world.drain()
        world.ports.members.beat(MemberRecord(text, 1, "ACTIVE", 0, world.clock.now()))
        legal = "".join(one for one in text if one not in "\x00\x1b\x07\x7f" and not "\x00" <= one < "\x20") or "x"
        world.queues.send(PARKED, [Outgoing("{}", attributes=dict.fromkeys(("reason", "field", "detail", "queue", "message_id"), legal))])
        world.queues.send(command_queue("default"), [Outgoing(command(world, "nobody", text, "p1"))])
        world.queues.send(RECORDS, [Outgoing("{}")])
        target = {"Arn": text, "RoleArn": text, "Input": text, text: text}
        leave(world, {"Name": text, "State": text, "ScheduleExpression": text, "Target": target})
        for verb, *more in VERBS:
            named = [failed.id] if verb in ("explain", "show", "result") else []
            status = main([verb, *more[:1], *APP, *more[1:]] if verb in ("parked", "timers", "workflow") else [verb, *named, *APP, *more])
            out, err = capsys.readouterr()
            assert status in (0, 1), (verb, more, err)
            assert harmless((out + err).replace("\n", "")), (verb, more)
            for one in out.splitlines() if "--json" in more else ():
                json.loads(one)


def test_an_error_that_ends_a_verb_is_written_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parked", "list", "--app", "tests.stories.no\x1b[2J:app"]) == 2
    assert "\\x1b[2J" in capsys.readouterr().err
