"""Mutations from the command line: each says what it will do with a count, asks on a terminal, and is refused without one."""

import getpass
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import Breaker, Sedano, every, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.errors import LeaseLost
from sedano.model.messages.lineage import rerun_id
from sedano.ports import PARKED, command_queue
from tests.stories.forbidden_control import Forbidden
from tests.stories.terminals import items, typed

app = Sedano("ops", queues=("default", "mail"))
APP = ("--app", "tests.stories.test_operations:app")
NASTY = "\x1b[2J\u202e"
HARMLESS = "\\x1b[2J\\u202e"
ran: list[int] = []
BROKEN: set[str] = set()


@app.task(name="ops.send", queue="mail", circuit=Breaker(failures=1, shared=True), retry=False)
def send(n: int) -> None:
    """Send one mail."""
    if BROKEN:
        raise RuntimeError("no server")
    ran.append(n)


@app.periodic(every(3_600), name="ops.tidy")
def tidy() -> None:
    """Tidy up."""


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    ran.clear()
    BROKEN.clear()
    with testing.world(app) as world:
        yield world


class Ran:
    """Runs verbs and keeps what they write."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Read the output from *capsys*."""
        self.capsys = capsys

    def __call__(self, *arguments: str, code: int = Exit.DONE) -> tuple[str, str]:
        """Run a verb without a terminal; return its stdout and stderr."""
        verb, *rest = arguments
        status = main([verb, *APP, *rest])
        said = self.capsys.readouterr()
        assert status == code, said
        return said


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Ran:
    """What runs a verb."""
    return Ran(capsys)


MUTATIONS: list[tuple[list[str], str]] = [
    (["revoke", "t-1", "t-2"], "sedano revoke: revoke 2 tasks: 2 PENDING"),
    (["revoke", "--header", "tenant=acme"], "sedano revoke: revoke every task with tenant=acme, present and future, until --restore;"),
    (["pause", "mail"], "sedano pause: pause 1 queue: mail until `sedano resume` (2 wait, 0 run); running tasks go on"),
    (["pause", "ops.send"], "sedano pause: pause 1 task: ops.send until"),
    (["pause", "acme", "--kind", "tenant", "--for", "2h"], "sedano pause: pause 1 tenant: acme for 7200 s; running"),
    (["pause", "ops.tidy", "--kind", "schedule"], "sedano pause: pause 1 schedule: ops.tidy until"),
    (["scale", "mail", "8"], "sedano scale: scale 1 queue, mail: 8 bodies at once; as started until now\nsedano scale: no live worker"),
    (["limit", "ops.send", "--rate", "10/m"], "sedano limit: limits of 1 task, ops.send: rate 10/m; workers"),
    (["broadcast", "stats", "--wait", "1"], "sedano broadcast: send stats to all workers (0 active): answers with the counts"),
    (["broadcast", "drain", "--to", "here.1", "--wait", "1"], "sedano broadcast: send drain to the worker here.1: stops receiving"),
    (["trigger", "ops.tidy"], "sedano trigger: run 1 schedule now: ops.tidy; its next moments do not change"),
    (["purge", "mail"], "sedano purge: delete every message that waits in 1 queue: mail (2 wait, 0 run)\nsedano purge: their"),
]


def state(world: testing.World) -> Any:
    """Everything that a mutation may change."""
    control = world.ports.control.read()
    waiting = [len(world.queues.peek(queue)) for queue in (command_queue("mail"), command_queue("default"), PARKED)]
    paused = [one.paused for one in app.schedules.list()]
    kept = control.paused, control.revoked, dict(control.limits), dict(control.wished), control.asked
    return kept, waiting, paused, world.ports.ledger.read(["t-1", "t-2"])


@pytest.mark.parametrize(("arguments", "plan"), MUTATIONS, ids=[" ".join(arguments[:2]) for arguments, _ in MUTATIONS])
def test_a_mutation_says_what_it_will_do_and_does_it_only_when_it_may(
    arguments: list[str], plan: str, world: testing.World, run: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    send.apply_async((1,), task_id="t-1")
    send.apply_async((2,), task_id="t-2")
    before = state(world)
    verb = arguments[0]
    out, err = run(*arguments, code=Exit.USAGE)
    assert (out, err.startswith(plan)) == ("", True), err
    assert err.endswith(f"sedano {verb}: there is no terminal to ask on; nothing was changed; add --yes to make the change\n")
    out, err = run(*arguments, "--dry-run")
    assert (out, err.startswith(plan), err.endswith("nothing was changed (--dry-run)\n")) == ("", True, True)
    for answer in ("n\n", "\n"):
        with typed(answer):
            assert main([verb, *APP, *arguments[1:]]) == Exit.REFUSED
        assert f"sedano {verb}: change the stage dev? Type y for yes\n" in capsys.readouterr().err
    assert state(world) == before, "nothing of this changes anything"
    with typed("y\n"):
        assert main([verb, *APP, *arguments[1:]]) == Exit.DONE
    assert state(world) != before
    capsys.readouterr()


def test_what_is_revoked_does_not_run_and_what_ended_before_is_refused(world: testing.World, run: Ran) -> None:
    send.apply_async((1,), task_id="t-1")
    world.drain()
    send.apply_async((2,), task_id="t-2")
    out, err = run("revoke", "t-1", "t-2", "--yes", "--reason", "bad deploy", code=Exit.REFUSED)
    assert out == "t-1 SUCCESS\nt-2 REVOKED\n"
    assert err == "sedano revoke: revoke 2 tasks: 1 PENDING, 1 SUCCESS\nsedano revoke: 1 of 2 tasks had ended before\n"
    world.drain()
    assert ran == [1]
    assert run("revoke", NASTY, "--yes")[0] == f"{HARMLESS} REVOKED\n"


def test_the_log_line_of_a_change_has_the_person_and_the_reason(world: testing.World, run: Ran) -> None:
    run("pause", "mail", "--yes", "--reason", "bad deploy")
    run("resume", "mail", "--dry-run")
    (line,) = [one for one in world.telemetry.lines if one.message == "changed by an operator"]
    assert line.fields == {"verb": "pause", "what": "queue=mail", "reason": "bad deploy", "by": getpass.getuser()}


def test_the_answers_to_a_command_are_printed_as_they_arrive_and_cannot_change_the_terminal(world: testing.World, run: Ran) -> None:
    send.apply_async((1,))
    world.drain()
    (worker,) = app.control.members()

    class Answering:
        """The clock of the world: while the verb sleeps, the worker has a batch."""

        def __getattr__(self, name: str) -> Any:
            return getattr(world.clock, name)

        def sleep(self, seconds: float) -> None:
            world.clock.sleep(seconds)
            world.clock.advance(60.0)
            send.apply_async((2,))
            world.drain()

    app.attach(replace(app.outlet.ports, clock=Answering()))
    out, _ = run("broadcast", "ping", "--yes", "--json")
    sent, answer = map(json.loads, out.splitlines())
    assert (sent["verb"], answer) == ("ping", {"worker": worker.name, "answer": "pong"})
    app.attach(world.ports)
    assert NASTY not in run("broadcast", NASTY, "--yes", code=Exit.USAGE)[1]
    assert run("broadcast", "ping", "x", "--yes", code=Exit.USAGE)[1] == "sedano broadcast: argument: ping takes no argument\n"


def test_a_header_is_revoked_and_restored(world: testing.World, run: Ran) -> None:
    assert run("revoke", "--header", "tenant=acme", "--yes")[0] == "tenant=acme\n"
    send.apply_async((1,), tenant="acme")
    world.drain()
    assert ran == []
    assert run("revoke", "--header", "tenant=acme", "--restore", "--yes")[0] == ""
    world.clock.advance(120)  # a running worker learns of it with its next heartbeat
    send.apply_async((2,), tenant="acme")
    world.drain()
    assert ran == [2]
    assert "did you mean tenant?" in run("revoke", "--header", "tenent=acme", "--yes", code=Exit.USAGE)[1]


def test_a_queue_is_paused_shown_and_resumed(world: testing.World, run: Ran) -> None:
    assert run("pause", "mail", "--yes")[0] == "queue mail paused\n"
    send.delay(1)
    (default, mail) = items(run("queues", "--json")[0])
    assert (default["paused"], mail["paused"], mail["wait"]) == (False, True, 1)
    assert run("resume", "mail", "--yes") == ("queue mail resumed\n", "sedano resume: resume 1 queue: mail (1 wait, 0 run)\n")
    assert run("resume", "mail", "--yes", code=Exit.REFUSED)[1] == "sedano resume: the queue mail is not paused\n"
    world.drain()
    assert ran == [1]


def test_a_program_gets_each_change_as_json(world: testing.World, run: Ran) -> None:
    app.send_task("ops.gone", task_id="lost", queue="mail")
    world.drain()

    def printed(*arguments: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in run(*arguments, "--yes", "--json")[0].splitlines()]

    assert printed("pause", "mail") == [{"kind": "queue", "name": "mail", "state": "paused"}]
    assert printed("resume", "mail") == [{"kind": "queue", "name": "mail", "state": "resumed"}]
    assert printed("revoke", "t-1", "t-2") == [{"id": "t-1", "state": "REVOKED"}, {"id": "t-2", "state": "REVOKED"}]
    assert printed("revoke", "--header", "tenant=acme") == [{"header": "tenant=acme"}]
    assert printed("limit", "ops.send", "--restore") == [{"task": "ops.send", "limits": "as declared"}]
    assert printed("retry", "lost") == [{"id": "lost", "queue": command_queue("mail")}]
    world.drain()
    assert printed("redrive", "--all") == [{"id": "lost", "queue": command_queue("mail")}]
    assert printed("purge", "mail") == [{"queue": "mail", "deleted": 1}]


def test_a_pause_ends_by_the_clock(world: testing.World, run: Ran) -> None:
    run("pause", "ops.send", "--for", "2h", "--yes")
    send.delay(1)
    world.step()
    assert ran == []
    world.clock.advance(7_200)
    world.drain()
    assert ran == [1]


def test_a_circuit_that_is_open_is_shown_and_closed(world: testing.World, run: Ran) -> None:
    BROKEN.add("server")
    send.delay(1)
    world.step()
    (found,) = items(run("circuits", "--json")[0])
    assert (found["name"], found["open"], found["tasks"]) == ("ops.send", True, ["ops.send"])
    (row,) = run("circuits")[0].splitlines()
    assert row.split("\t")[:2] == ["ops.send", "open"]
    assert run("resume", "ops.send", "--yes")[0] == "circuit ops.send resumed\n"
    assert items(run("circuits", "--json")[0])[0]["open"] is False


def test_a_schedule_is_paused_and_its_next_moments_are_shown(world: testing.World, run: Ran) -> None:
    (found,) = items(run("schedules", "--json")[0])
    assert (found["schedule"], found["when"], found["paused"]) == ("ops.tidy", "every 3600 s", False)
    moments = run("schedules", "ops.tidy", "--next", "2")[0].splitlines()
    assert len(moments) == 2
    run("pause", "ops.tidy", "--kind", "schedule", "--yes")
    head, row = run("schedules", "--header")[0].splitlines()
    assert head.split("\t") == ["schedule", "task", "when", "next", "paused", "missed", "late"]
    assert row.split("\t")[-4:] == ["", "yes", "0", "no"]
    assert run("schedules", "ops.tidy")[0] == ""
    run("resume", "ops.tidy", "--kind", "schedule", "--yes")
    assert run("schedules", "ops.tidy", "--next", "2")[0].splitlines() == moments


def test_a_schedule_runs_now_beside_its_moments_and_paused_too(world: testing.World, run: Ran) -> None:
    moments = run("schedules", "ops.tidy", "--next", "2")[0]
    (first,) = [json.loads(line) for line in run("trigger", "ops.tidy", "--yes", "--json")[0].splitlines()]
    (again,) = [json.loads(line) for line in run("trigger", "ops.tidy", "--yes", "--json")[0].splitlines()]
    assert first == again, "copies of one occurrence, within a second"
    run("pause", "ops.tidy", "--kind", "schedule", "--yes")
    world.clock.advance(1)
    out, err = run("trigger", "ops.tidy", "--yes")
    assert out != f"ops.tidy runs now as {first['id']}\n"
    assert err.endswith("; the schedule stays paused\n")
    run("resume", "ops.tidy", "--kind", "schedule", "--yes")
    assert run("schedules", "ops.tidy", "--next", "2")[0] == moments
    world.drain()
    assert [app.result(one).state for one in (first["id"], out.split()[-1])] == ["SUCCESS", "SUCCESS"]


def test_a_lock_is_released_in_place_of_its_holder_and_its_token_is_over(world: testing.World, run: Ran) -> None:
    lock = app.lock("nightly", duration=60)
    held = lock.acquire()
    token = str(held.token)
    out, err = run("release", "nightly", "--token", "1", "--yes", code=Exit.REFUSED)
    assert (out, f"the lock nightly is held with the token {token} now, not 1" in err) == ("", True)
    out, err = run("release", "nightly", "--token", token, code=Exit.USAGE)
    said = f"sedano release: release 1 lock: nightly, which .+ holds with the token {token} until "
    assert (out, re.match(said, err) is None) == ("", False)
    held.renew()
    assert run("release", "nightly", "--token", token, "--yes")[0] == f"nightly released; the token {token} is no longer valid\n"
    with pytest.raises(LeaseLost):
        held.renew()
    assert run("release", "nightly", "--token", token, "--yes", code=Exit.REFUSED)[1] == "sedano release: the lock nightly is free\n"
    after = lock.acquire()
    assert after.token > held.token
    assert not held.release(), "the old holder cannot release the new one's"
    assert after.valid()


def test_limits_are_changed_and_restored(world: testing.World, run: Ran) -> None:
    assert run("limit", "ops.send", "--concurrency", "0", "--yes")[0] == "ops.send concurrency 0\n"
    assert "ops.send" in world.ports.control.read().limits
    assert run("limit", "ops.send", "--restore", "--yes")[0] == "ops.send as declared\n"
    assert not world.ports.control.read().limits
    assert "'-1/s'" in run("limit", "ops.send", "--rate", "-1/s", "--yes", code=Exit.USAGE)[1]
    run("limit", "ops.send", "--concurrency", "x", "--yes", code=Exit.USAGE)


def test_a_queue_is_purged(world: testing.World, run: Ran) -> None:
    for n in range(25):
        send.delay(n)
    assert run("purge", "mail", "--yes")[0] == "25 deleted\n"
    world.drain()
    assert ran == []


def test_parked_messages_are_sent_again_by_queue_and_by_reason(world: testing.World, run: Ran) -> None:
    app.send_task("ops.gone", task_id=f"lost-{NASTY[:0]}1", queue="mail")
    world.drain()
    assert len(world.queues.peek(PARKED)) == 1
    out, err = run("redrive", "--queue", "default", "--yes", code=Exit.NOT_FOUND)
    assert (out, "no parked message" in err) == ("", True)
    assert "send 1 parked messages again" in run("redrive", "--why", "unknown-task", code=Exit.USAGE)[1]
    assert "send 1 parked messages again" in run("redrive", "--all", "--dry-run")[1]
    assert len(world.queues.peek(PARKED)) == 1
    assert run("redrive", "--queue", "mail", "--yes")[0] == f"lost-1 sent to {command_queue('mail')}\n"
    assert len(world.queues.peek(PARKED)) == 0
    world.drain()
    assert run("retry", "lost-1", "--yes")[0] == f"lost-1 sent to {command_queue('mail')}\n"


def test_only_what_can_run_again_is_retried(world: testing.World, run: Ran) -> None:
    BROKEN.add("server")
    send.apply_async((1,), task_id="failed")
    world.drain()
    out, err = run("retry", "failed", NASTY, "--yes", code=Exit.NOT_FOUND)
    assert out == f"failed runs again as {rerun_id('failed')}, sent to {command_queue('mail')}\n"
    assert err.splitlines() == [
        f"sedano retry: {HARMLESS}: no task is recorded under it; `sedano explain {HARMLESS}` looks for it",
        "sedano retry: run 1 ended tasks again, each under a new id; later tasks of their canvas do not run again",
    ]
    world.drain()
    refused = run("retry", "failed", "--yes", code=Exit.REFUSED)[1]
    assert refused.startswith(f"sedano retry: failed: it was run again as {rerun_id('failed')}, which is ")


def test_a_failed_task_is_retried_with_other_arguments(world: testing.World, run: Ran) -> None:
    BROKEN.add("mail")
    for task_id in ("failed", "other"):
        send.apply_async((1,), task_id=task_id)
    world.drain()
    BROKEN.clear()
    world.clock.advance(3_600.0)
    out, err = run("retry", "failed", "--args", "[5]", "--yes")
    assert out.startswith(f"failed runs again as {rerun_id('failed')}, sent to ")
    assert err.splitlines() == [
        "sedano retry: run 1 ended task of ops.send again with other arguments, under a new id", "sedano retry: before: 1",
        "sedano retry: now: 5",
    ]
    run("retry", "other", "--args", "[]", "--kwargs", '{"n": 6}', "--yes", "--json")
    world.drain()
    assert sorted(ran) == [5, 6]
    assert "it was run again as" in run("retry", "failed", "--args", "[5]", "--yes", code=Exit.REFUSED)[1]
    assert "no task is recorded under it" in run("retry", "unknown", "--args", "[5]", "--yes", code=Exit.NOT_FOUND)[1]


EDITS = [
    (["failed", "--args", "{}"], "--args: {} is not a JSON list; write it as '[1, \"x\"]'"),
    (["failed", "--kwargs", "[1]"], "--kwargs: [1] is not a JSON object; write it as '{\"n\": 1}'"),
    (["failed", "--args", "["], "--args: [ is not a JSON list"), (["failed", "other", "--args", "[]"], "apply to one task; give one id"),
    (["--query", "x", "--args", "[]"], "apply to one task; give one id"),
    (["failed", "--args", '["x"]'], "ops.send does not take these arguments: data.args[0]"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), EDITS, ids=lambda one: str(one)[:40])
def test_other_arguments_that_cannot_be_are_refused(arguments: list[str], said: str, world: testing.World, run: Ran) -> None:
    BROKEN.add("mail")
    send.apply_async((1,), task_id="failed")
    world.drain()
    assert said in run("retry", *arguments, "--yes", code=Exit.USAGE)[1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["pause", "mial"], Exit.NOT_FOUND, "mial: the app has no queue, task, circuit or schedule of this name; did you mean mail?"),
        (["pause", "a b", "--kind", "tenant", "--yes"], Exit.USAGE, "tenant: 'a b' is not 1 to 256 characters without spaces"),
        (["pause", NASTY], Exit.NOT_FOUND, f"{HARMLESS}: the app has no queue"),
        (["limit", "mail", "--rate", "1/s"], Exit.NOT_FOUND, "mail: the app has no task of this name"),
        (["limit", "ops.send"], Exit.USAGE, "limit what? give --rate or --concurrency, or --restore"),
        (["pause", "ops.tidy"], Exit.USAGE, "ops.tidy is the name of a task and of a schedule; add --kind"),
        (["purge", NASTY], Exit.NOT_FOUND, f"{HARMLESS}: the app has no queue of this name; it has default, mail"),
        (["revoke"], Exit.USAGE, "revoke what? give ids, --header NAME=VALUE, or --query QUERY"),
        (["revoke", "--header", "x"], Exit.USAGE, "--header: x: write NAME=VALUE"),
        (["release", NASTY, "--token", "1"], Exit.NOT_FOUND, f"{HARMLESS} was never taken"),
        (["release", "nightly"], Exit.USAGE, "--token"),
        (["trigger", "mail"], Exit.NOT_FOUND, "mail: the app has no schedule of this name"),
        (["limit", "ops.send", "--rate", "-1/s", "--dry-run"], Exit.USAGE, "'-1/s'"),
        (["redrive"], Exit.USAGE, "redrive what? give --queue or --why, or --all"),
        (["pause", "ops.tidy", "--kind", "schedule", "--for", "1h"], Exit.USAGE, "--for: a schedule is paused until"),
        (["schedules", NASTY], Exit.NOT_FOUND, f"{HARMLESS}: the app has no schedule of this name"),
    ],
)
def test_a_mutation_of_nothing_is_refused(arguments: list[str], code: int, said: str, world: testing.World, run: Ran) -> None:
    out, err = run(*arguments, code=code)
    assert (out, said in err) == ("", True), err


def test_a_role_without_a_right_is_told_the_action(world: testing.World, run: Ran) -> None:
    app.attach(replace(world.ports, control=Forbidden(world.ports.control)))
    out, err = run("pause", "mail", "--yes", code=Exit.NOT_ALLOWED)
    assert out == ""
    assert err.splitlines()[-1] == "sedano pause: the missing IAM action is dynamodb:UpdateItem"
