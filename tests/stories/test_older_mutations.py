"""The mutations of `keys`, `parked`, `timers`, `spool` and `workflow` ask like those of `sedano pause`: nothing changes without a yes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sedano import memory, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.engine.drafts import Addressed
from sedano.engine.publisher import spool_folder
from sedano.engine.publisher.spool import Spool
from sedano.memory import MemoryKeyStore
from sedano.model.seals import key_set
from sedano.model.seals.key_set import OLD_S
from sedano.ports import PARKED, Outgoing, command_queue
from tests.stories import bakery
from tests.stories.terminals import typed

APP = ("--app", "tests.stories.bakery:app")
BREAD = "tests.stories.bakery:Bread"
PLANTED = {
    "Name": "beacon", "ScheduleExpression": "rate(1 minute)", "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {"Arn": "arn:aws:lambda:eu-central-1:123456789012:function:theirs", "RoleArn": "role", "Input": "{}"},
}  # fmt: skip


class Scene(NamedTuple):
    """A stage with something of everything: keys, a parked message, a foreign schedule, a spool, a run."""

    world: testing.World
    keys: MemoryKeyStore
    spool: Spool
    run: str


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """The bakery in memory with all of that; the first key may be dropped, the second one signs."""
    bakery.BROKEN.clear()
    before = {name: os.environ.get(name) for name in ("SEDANO_SPOOL", "SEDANO_QUEUES")}
    os.environ |= {"SEDANO_SPOOL": str(tmp_path / "spool"), "SEDANO_QUEUES": '{"default":"x"}'}
    with testing.world(bakery.app) as world:
        keys = key_set.added(key_set.first("ab" * 32, world.clock.now() - OLD_S), "cd" * 32, world.clock.now() - OLD_S)
        store = MemoryKeyStore(key_set.written(key_set.signing(keys, "k2", world.clock.now() - OLD_S)))
        world.ports.seals.store = store
        bakery.app.send_task("bakery.gone", task_id="lost")
        world.drain()
        timers: Any = world.ports.timers
        timers.leave(PLANTED)
        place = spool_folder.place(bakery.app.name)
        assert place is not None
        Spool(place).keep([Addressed(command_queue("default"), Outgoing("{}"))] * 2, 1_800_000_000.0)
        run = bakery.Bread.apply_async({"loaves": 3}, run_id="r-1")
        world.step()
        yield Scene(world, store, Spool(place), run.id)
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def state(scene: Scene) -> Any:
    """Everything that these mutations may change."""
    ports = scene.world.ports
    run = ports.flow_runs.read(scene.run)
    return scene.keys.read(), len(scene.world.queues.peek(PARKED)), list(ports.timers.foreign()), scene.spool.waiting(), run


def spool_name(scene: Scene) -> str:
    """The spool as `sedano spool list` names it."""
    return f"{scene.spool.folder.parent.name}/{scene.spool.folder.name}"


MUTATIONS: dict[str, tuple[list[str], str]] = {
    "keys init": (["--replace"], "replace every key by 1 new key; messages that the old keys marked become foreign"),
    "keys rotate": (["--at-once"], "add 1 key"),
    "keys revoke": (["k1"], "drop 1 key of 2: k1"),
    "parked redrive": (["--all"], "1 of bakery.gone to commands:default"),
    "timers foreign": (["--delete"], "delete 1 foreign schedules: beacon; timers stay"),
    "spool drop": (["SPOOL", "--count", "2"], "delete 2 messages of bakery, stage unknown, from this machine; they never run"),
    "workflow pause": (["r-1"], "pause 1 run of bread, r-1, which is RUNNING: start no further steps; running steps continue"),
    "workflow cancel": (["r-1"], "cancel 1 run of bread, r-1, which is RUNNING: start no further steps, end the running ones"),
}


@pytest.mark.parametrize("verb", MUTATIONS)
def test_an_older_mutation_changes_nothing_without_a_yes(verb: str, scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    group, more = verb.split()
    arguments, plan = MUTATIONS[verb]
    named = () if verb == "spool drop" else APP
    line = [group, more, *[spool_name(scene) if one == "SPOOL" else one for one in arguments], *named]
    before = state(scene)
    assert main(line) == Exit.USAGE
    said = capsys.readouterr()
    assert f"sedano {group}: {plan}" in said.err
    assert said.err.endswith(f"sedano {group}: there is no terminal to ask on; nothing was changed; add --yes to make the change\n")
    assert main([*line, "--dry-run"]) == Exit.DONE
    assert f"sedano {group}: {plan}" in capsys.readouterr().err
    with typed("n\n"):
        assert main(line) == Exit.REFUSED
    assert "Type y for yes\n" in capsys.readouterr().err
    assert state(scene) == before, "nothing of this changes anything"
    with typed("y\n"):
        assert main([*line, "--reason", "a drill"]) in (Exit.DONE, Exit.FAILED)
    assert state(scene) != before
    logged = [one for one in scene.world.telemetry.lines if one.message == "changed by an operator"]
    assert [one.fields["reason"] for one in logged] == (["a drill"] if named else [])


@pytest.mark.parametrize(("verb", "opposite"), [("pause", "resume"), ("cancel", "retry")])
def test_the_other_two_changes_of_a_run_ask_too(
    verb: str, opposite: str, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workflow", verb, "r-1", "--yes", *APP]) == Exit.DONE
    if verb == "cancel":
        scene.world.drain()
    before = scene.world.ports.flow_runs.read("r-1")
    assert main(["workflow", opposite, "r-1", *APP]) == Exit.USAGE
    assert scene.world.ports.flow_runs.read("r-1") == before
    assert f"sedano workflow: {opposite} 1 run of bread, r-1, which is" in capsys.readouterr().err
    assert main(["workflow", opposite, "r-1", "--yes", "--json", *APP]) == Exit.DONE
    (out,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (out["run"], out["state"]) == ("r-1", "RUNNING")


def test_a_spool_with_another_number_is_refused_before_the_question(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spool", "drop", spool_name(scene), "--count", "3"]) == Exit.FAILED
    said = capsys.readouterr().err
    assert ("not 3" in said, "Type y" in said, "--yes" in said) == (True, False, False)


def test_where_nothing_would_change_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    bakery.app.attach(memory.ports())
    try:
        assert main(["timers", "foreign", "--delete", *APP]) == Exit.DONE
        assert main(["parked", "redrive", "--all", *APP]) == Exit.NOT_FOUND
    finally:
        bakery.app.attach(None)
    assert "--yes" not in capsys.readouterr().err


