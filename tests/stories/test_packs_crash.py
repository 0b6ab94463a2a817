"""Stories of packs under deaths, copies, zombies and outages: each member has one effect, and no join waits forever."""

from functools import partial
from random import Random

import pytest

from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Unavailable
from sedano.model import packs, states
from sedano.model.messages import codec
from sedano.model.messages.message import PACK, Command
from sedano.ports import Outgoing
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS, INVOCATION_S, LONG_S
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, away, tapped

MEMBERS = 6


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("side", SIDES)
def test_a_death_at_any_call_gives_each_member_one_effect(side: Side, fails: bool) -> None:
    def crate_of() -> Crate:
        made = Crate()

        def during(number: int) -> None:
            if fails and number == 1 and made.bodies[1] == 1:
                raise RuntimeError("once")

        made.during = during
        return made

    counted, undisturbed = Watch(ports=OUTSIDE), crate_of()
    undisturbed.processes.restart(tapped(undisturbed.stage.ports, counted))
    whole = undisturbed.chord(MEMBERS)
    undisturbed.processes.drain()
    undisturbed.assert_whole(whole, MEMBERS)
    for at, call in enumerate(counted.calls):
        crate, watch, where = crate_of(), Watch(at, side, ports=OUTSIDE), f"died {side} call {at}, {call}"
        result = crate.chord(MEMBERS)

        def live(crate: Crate = crate, watch: Watch = watch) -> None:
            crate.processes.restart(tapped(crate.stage.ports, watch))
            crate.processes.drain()

        with pytest.raises(Crash):
            live()
        crate.processes.recover()
        crate.assert_whole(result, MEMBERS, where)
        assert max(crate.bodies.values()) <= 3, where


def test_a_second_death_at_any_call_loses_nothing() -> None:
    for first in range(3, 14, 3):
        for second in range(0, 14, 2):
            crate = Crate()
            result = crate.chord(MEMBERS)
            for at in (first, second):
                try:
                    crate.processes.restart(tapped(crate.stage.ports, Watch(at, "after", ports=OUTSIDE)))
                    crate.processes.drain()
                except Crash:
                    continue
            crate.processes.recover()
            crate.assert_whole(result, MEMBERS, f"died after calls {first} and {second}")


@pytest.mark.parametrize("poisoned", [0, 1, 3])
def test_a_poison_ends_its_worker_and_then_dies_alone(poisoned: int) -> None:
    crate = Crate()
    deaths = 0

    def kills(number: int) -> None:
        if number == poisoned:
            raise Crash

    crate.during = kills
    result = crate.chord(4)
    for _ in range(20):
        try:
            crate.processes.drain()
            break
        except Crash:
            deaths += 1
            crate.processes.restart()
    assert [one.state for one in result.parent] == [states.POISON if n == poisoned else states.SUCCESS for n in range(4)]
    assert result.state == states.FAILURE
    assert deaths == 1 + WorkerSettings().poison_after
    assert all(crate.bodies[n] <= 2 for n in range(4) if n != poisoned)


def test_a_pack_that_is_delivered_twice_runs_once() -> None:
    crate = Crate()
    result = crate.chord(4)
    crate.processes.deliver()
    (delivery,) = crate.stage.peek(COMMANDS)
    command = codec.decode(delivery.body)
    assert isinstance(command, Command)
    assert command.task == PACK
    for body in (codec.encode(command._replace(id="copy")), delivery.body):
        crate.stage.ports.queues.send(COMMANDS, [Outgoing(body)])
    crate.processes.drain()
    crate.assert_whole(result, 4)
    assert set(crate.bodies.values()) == {1}


def test_a_zombie_records_nothing_and_follows_nothing() -> None:
    crate = Crate()
    crate.processes.invocation = 10.0
    result = crate.chord(4)
    crate.processes.deliver()
    other = crate.processes.another_worker(name="other")

    def overtaken(number: int) -> None:
        if number == 2 and crate.bodies[2] == 1:
            crate.stage.pass_time(LONG_S)
            for delivery in crate.stage.ports.queues.receive(COMMANDS):
                other.work([delivery], crate.stage.clock.now() + 30.0)
                crate.stage.ports.queues.delete([delivery])

    crate.during = overtaken
    crate.processes.drain()
    crate.assert_whole(result, 4)
    pack = packs.pack_id(result.parent.id, 0)
    ends = [end for end in crate.stage.audit.ends if end.task_id == pack]
    assert len(ends) == 1
    assert all(end.state == states.RETRY for end in packs.read_ends(ends[0].result or "")[1])
    records = crate.stage.ports.ledger.read([one.id for one in result.parent])
    assert {record.fence for record in records.values()} == {packs.LEFT_FENCE}


def test_an_outage_at_any_call_loses_no_member() -> None:
    for at in range(40):
        crate = Crate()
        result = crate.chord(MEMBERS)
        watch = Watch(at, "before", error=away, ports=OUTSIDE, times=3)
        crate.processes.restart(tapped(crate.stage.ports, watch))
        for _ in range(50):
            try:
                crate.processes.step()
            except Unavailable:  # what feeds the worker did not get an answer
                continue
        crate.processes.recover()
        crate.assert_whole(result, MEMBERS, f"call {at}")


@pytest.mark.parametrize("block", range(2))
def test_in_a_hundred_random_lives_of_a_chord_in_packs_no_member_is_lost_or_doubled(block: int) -> None:
    deaths = 0
    for seed in range(100 * block, 100 * block + 100):
        dice = Random(seed)
        crate, members = Crate(dice.choice([2, 4, 8])), dice.randint(1, 20)
        failing = {dice.randrange(members): dice.randint(1, 3) for _ in range(dice.randint(0, 3))}
        crate.during = partial(_fails, crate, failing)
        crate.processes.invocation = dice.choice([INVOCATION_S, LONG_S])
        result, died = crate.chord(members), 0
        for _ in range(dice.randint(1, 4)):
            watch = Watch(dice.randrange(40), dice.choice(SIDES), dice.choice([Crash, away]), ports=OUTSIDE, times=dice.randint(1, 4))
            waiting = crate.stage.peek(COMMANDS)
            if waiting and dice.random() < 0.5:
                crate.stage.ports.queues.send(COMMANDS, [dice.choice(waiting)._replace(delay=0)])
            crate.processes.restart(tapped(crate.stage.ports, watch))
            try:
                for _ in range(dice.randint(1, 4)):
                    crate.processes.step()
            except (Crash, Unavailable) as ended:
                died += isinstance(ended, Crash)
        crate.processes.recover()
        crate.assert_whole(result, members, f"seed {seed}")
        deaths += died
    assert deaths > 20


def _fails(crate: Crate, failing: dict[int, int], number: int) -> None:
    if crate.bodies[number] <= failing.get(number, 0):
        raise RuntimeError("not yet")
