"""What must hold at the end of every story, however it went: the invariants E1, E2, E4, J1 of the protocols, and the history."""

import json
from collections import Counter
from collections.abc import Mapping

from sedano.model import packs, states
from sedano.model.history import registers
from sedano.model.ledger.records import Outcome
from sedano.model.messages.message import PACK
from sedano.ports import PARKED, Ports
from sedano.views.cluster import cluster
from tests.stories.processes import WORKED
from tests.stories.stage import Stage

Effects = Mapping[tuple[str, str], int]


def succeeded(**names: int) -> Counter[tuple[str, str]]:
    """Return the effects of so many tasks of each name that succeeded; `launch` stands for the built-in one."""
    return Counter({("sedano.launch" if name == "launch" else name, states.SUCCESS): number for name, number in names.items()})


def assert_kept(stage: Stage, effects: Effects, parked: tuple[str, ...] = ()) -> None:
    """Assert `assert_effects`, and that the history tells what the ledger holds."""
    assert_effects(stage, effects, parked)
    assert_history_tells_what_the_ledger_holds(stage)


def assert_effects(stage: Stage, effects: Effects, parked: tuple[str, ...] = ()) -> None:
    """Assert that exactly these *effects* were recorded, one a task, and that only messages with the reasons *parked* were set aside."""
    twice = [task for task, ends in Counter(end.task_id for end in stage.audit.ends).items() if ends != 1]
    assert twice == [], "a task has more than one recorded effect"
    assert stage.audit.effects() == Counter(effects)
    assert [(queue, m.body) for queue in WORKED for m in stage.peek(queue)] == []
    assert stage.dead() == []
    assert {m.attributes["reason"] for m in stage.peek(PARKED)} == set(parked)


def assert_history_tells_what_the_ledger_holds(stage: Stage) -> None:
    """Assert that the registers over the recorded events end in the state that the ledger accepted, for every task.

    A pack has no line of its own: its members have.
    """
    found = told(stage)
    packed = [end for end in stage.audit.ends if end.name == PACK]
    for pack in packed:
        _assert_members_are_told(stage, pack, found)
    for end in (end for end in stage.audit.ends if end.name != PACK):
        expected = states.TOLD_BY_EXCEPTION.get(end.state, end.state)
        assert end.task_id in found, f"the history does not know {end.name} {end.task_id}"
        assert found[end.task_id].state == expected, end.name
    assert_view_agrees(stage.ports)


def _assert_members_are_told(stage: Stage, pack: Outcome, found: dict[str, registers.Timeline]) -> None:
    group, _, number = pack.task_id.rpartition(".p")
    first = int(number) * packs.size_of(group)
    members = [packs.member_id(group, first + place) for place in range(len(packs.read_ends(pack.result or "")[1]))]
    for task_id, record in stage.ports.ledger.read(members).items():
        assert found[task_id].state == states.TOLD_BY_EXCEPTION.get(record.state, record.state), task_id


def assert_view_agrees(ports: Ports) -> None:
    """Assert that the live view says of each task what the ledger says: its end, in the same word; and no end that was not recorded."""
    view = cluster(ports, latest=1_000_000, days=1_000)
    assert view.unreadable == 0
    assert sum(view.by_state.values()) == len(view.latest)
    records = ports.ledger.read([task.uuid for task in view.latest])
    for task in view.latest:
        assert task.times, f"{task.uuid} has no moment"
        record = records.get(task.uuid)
        if record is not None and record.state in states.TERMINAL:
            assert (task.uuid, task.state) == (task.uuid, record.state)
        elif record is not None:
            assert task.state not in states.TERMINAL, (task.uuid, task.state, record.state)


def told(stage: Stage) -> dict[str, registers.Timeline]:
    """Return what the history tells of each task."""
    folded, _ = registers.fold(lines(stage))
    return {uuid: registers.finalise(r) for uuid, r in folded.items()}


def lines(stage: Stage, kind: str = "") -> list[dict[str, object]]:
    """Return the event lines of the history whose type begins with *kind*."""
    every = [json.loads(line) for blob in stage.ports.events.read() for line in blob.splitlines()]
    return [line for line in every if line["type"].startswith(kind)]
