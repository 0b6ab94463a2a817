"""Stories of parked messages of packs that are sent again: the members that they ended run as new tasks, once, and no others do."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sedano import group, retry
from sedano.changes import redrives
from sedano.engine import reruns
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.messages import codec
from sedano.model.messages.lineage import rerun_id
from sedano.model.messages.message import PACK, BlobRef, Command
from sedano.ports import PARKED, Ports
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS
from tests.stories.taps import Crash, Watch, tapped

RECEIPTS = 20
"""As many receipts without a claim as the executions of one message may be."""


def _sent_again(crate: Crate, ports: Ports | None = None) -> list[SedanoError | None]:
    over = ports or crate.stage.ports
    return redrive(over, planned(over, parked(over, lambda _: True), crate.shop.app.registry))


def _expired(crate: Crate) -> None:
    crate.stage.pass_time(10.0)
    crate.processes.drain()


def _poison(crate: Crate) -> None:
    for _ in range(RECEIPTS):
        for one in crate.stage.ports.queues.receive(COMMANDS):
            crate.stage.ports.queues.hold(one, 0.0)
    crate.processes.drain()


WHOLE: dict[str, tuple[Callable[[Crate], None], dict[str, Any]]] = {
    states.EXPIRED: (_expired, {"expires": 5.0}), states.POISON: (_poison, {}),
}  # fmt: skip


def _ended(state: str, joined: bool = False) -> tuple[Crate, Any]:
    """A group of one pack that ended as *state* before it began, and whose message is parked."""
    end, options = WHOLE[state]
    crate = Crate(**options)
    result: Any = crate.chord(4) if joined else crate.group(4)
    crate.processes.deliver()
    end(crate)
    members = list(result.parent if joined else result)
    assert {one.state for one in members} == {state}
    assert (len(crate.stage.peek(PARKED)), crate.bodies) == (1, {})
    return crate, members


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("state", WHOLE)
def test_the_members_of_a_pack_that_ended_before_it_began_run_as_new_tasks(state: str, joined: bool) -> None:
    crate, members = _ended(state, joined)
    assert _sent_again(crate) == [None]
    crate.processes.drain()
    assert crate.bodies == dict.fromkeys(range(4), 1)
    assert [one.state for one in members] == [state] * 4, "the canvas has continued"
    records = crate.stage.ports.ledger.read([rerun_id(one.id) for one in members])
    assert [(one.state, one.name) for one in records.values()] == [("SUCCESS", "squared")] * 4
    assert (crate.stage.peek(PARKED), crate.sums) == ([], [])


def test_the_effects_of_sending_a_pack_again_name_its_members() -> None:
    crate, members = _ended(states.EXPIRED)
    plan = redrives.redrive(crate.shop.app, None, None)
    assert plan.lines[1].endswith(redrives.NEW_IDS)
    done = plan.make()
    assert [one.facts["rerun"] for one in done.effects] == [rerun_id(one.id) for one in members]
    assert done.left == ()


def test_a_member_that_was_revoked_before_its_pack_expired_does_not_run_again() -> None:
    crate = Crate(expires=5.0)
    result = crate.group(4)
    crate.processes.deliver()
    result[2].revoke()
    _expired(crate)
    assert _sent_again(crate) == [None]
    crate.processes.drain()
    assert crate.bodies == {0: 1, 1: 1, 3: 1}


@pytest.mark.parametrize("state", WHOLE)
def test_a_process_that_dies_while_it_sends_a_pack_again_loses_no_member_and_runs_none_twice(state: str) -> None:
    for crash in range(60):
        crate, _ = _ended(state)
        watch = Watch(crash, "after" if crash % 2 else "before")
        try:
            _sent_again(crate, tapped(crate.stage.ports, watch))
        except Crash:
            crate.stage.pass_time(700.0)
            crate.processes.drain()
            if crate.stage.peek(PARKED):
                crate.stage.pass_time(700.0)
                assert _sent_again(crate) == [None]
        crate.processes.drain()
        assert crate.bodies == dict.fromkeys(range(4), 1), crash
        assert crate.stage.peek(PARKED) == []
        if not watch.fired:
            return
    raise AssertionError("more calls than expected")


@pytest.mark.parametrize("state", WHOLE)
def test_the_members_of_a_pack_that_ended_before_it_began_keep_their_names_and_calls(state: str) -> None:
    crate, members = _ended(state)
    ports = crate.stage.ports
    records = ports.ledger.read([one.id for one in members])
    assert [(one.name, one.state) for one in records.values()] == [("squared", state)] * 4
    assert [reruns.arguments_of(one) for one in records.values()] == [((n,), {}) for n in range(4)]
    assert crate.shop.app.control.explain(members[1].id).evidence["name"] == "squared"
    (again,) = reruns.planned(ports, [members[1].id])
    assert isinstance(again, reruns.Rerun)
    assert reruns.publish(ports, [again]) == [None]
    assert _sent_again(crate) == [None]
    crate.processes.drain()
    assert crate.bodies == dict.fromkeys(range(4), 1), "the id of a new run is derived"


def test_members_whose_task_keeps_no_arguments_keep_their_names_alone() -> None:
    crate = Crate(expires=5.0, keep_arguments=False)
    result: Any = crate.group(4)
    crate.processes.deliver()
    _expired(crate)
    records = crate.stage.ports.ledger.read([one.id for one in result])
    assert [(one.name, one.call) for one in records.values()] == [("squared", None)] * 4


def test_the_call_of_a_member_that_is_forgotten_is_gone() -> None:
    crate, members = _ended(states.EXPIRED)
    members[1].forget()
    assert [one.call is None for one in crate.stage.ports.ledger.read([one.id for one in members]).values()] == [False, True, False, False]


class Lost:
    """A pack of 40 members whose arguments are in the blob store, and may be lost and put back."""

    def __init__(self) -> None:
        """Publish it."""
        self.crate, self.ran = Crate(size=64), Counter[int]()
        self.during: Callable[[int], object] = lambda _: None
        task = self.crate.shop.task("padded", self._body, retry=False)
        self.members: Any = group([task.s(n, "x" * 7_900) for n in range(40)], pack=64).delay()
        self.crate.processes.deliver()
        (ref,) = {one.data_ref for one in map(codec.decode, self._bodies()) if isinstance(one, Command) and one.task == PACK}
        assert isinstance(ref, BlobRef)
        self.ref, self.kept = ref, self.crate.stage.ports.blobs.get(ref)

    def _bodies(self) -> list[str]:
        return [one.body for one in self.crate.stage.peek(COMMANDS)]

    def _body(self, number: int, _: str) -> int:
        self.ran[number] += 1
        self.during(number)
        return number

    def lose(self) -> None:
        """Lose the arguments."""
        self.crate.stage.damage(self.ref, None)

    def restore(self) -> None:
        """Put them back."""
        assert self.crate.stage.ports.blobs.put(self.kept) == self.ref


def test_a_pack_with_lost_arguments_stays_parked_until_they_are_back() -> None:
    lost = Lost()
    lost.lose()
    lost.crate.processes.drain()
    (error,) = _sent_again(lost.crate)
    assert "no such blob" in str(error)
    assert len(lost.crate.stage.peek(PARKED)) == 1
    lost.restore()
    assert _sent_again(lost.crate) == [None]
    lost.crate.processes.drain()
    assert lost.ran == dict.fromkeys(range(40), 1)
    assert lost.crate.stage.peek(PARKED) == []


def test_the_members_that_left_a_pack_and_ended_without_arguments_run_when_these_are_back() -> None:
    lost = Lost()

    def during(number: int) -> None:
        if number == 5 and lost.ran[5] == 1:
            raise Crash

    lost.during = during
    with pytest.raises(Crash):
        lost.crate.processes.deliver()
    lost.lose()
    lost.crate.processes.recover()
    assert {one.state for one in lost.members} == {states.FAILURE}
    assert "no such blob" in str(_sent_again(lost.crate)[0])
    lost.restore()
    assert _sent_again(lost.crate) == [None]
    lost.crate.processes.drain()
    assert lost.ran == {n: 2 if n <= 5 else 1 for n in range(40)}
    assert lost.crate.stage.peek(PARKED) == []


def test_a_neighbour_that_failed_by_itself_does_not_run_again() -> None:
    lost = Lost()

    def during(number: int) -> None:
        if number == 3:
            raise ValueError
        if number == 5 and lost.ran[5] == 1:
            lost.lose()
            with retry(1):
                raise OSError

    lost.during = during
    lost.crate.processes.drain()
    assert [n for n, one in enumerate(lost.members) if one.state != states.SUCCESS] == [3, 5]
    lost.restore()
    assert _sent_again(lost.crate) == [None]
    lost.crate.processes.drain()
    assert lost.ran == {n: 2 if n == 5 else 1 for n in range(40)}
    assert lost.crate.stage.peek(PARKED) == []
