"""Stories of members of packs that end in a form of their own: replaced, with members added, rejected, or with a retry that has other
arguments. Each body runs as often as without a pack, also when a process dies at any call."""

from typing import Any

import pytest

from sedano import Sedano, chord, current, group, testing
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.errors import Reject
from sedano.model import packs, states
from sedano.model.messages import codec
from sedano.model.retry import Retry
from sedano.ports import PARKED
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS, LONG_S
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, tapped

MEMBERS, ODD = 4, 1
FORMS = ("replaced", "added", "retried")


def _crate(form: str) -> tuple[Crate, Any]:
    """Return a crate and its task whose body ends in *form* for one number."""
    crate = Crate(retry=Retry(max_retries=3, interval_start=5.0, jitter=False))

    def body(number: int) -> int:
        crate.bodies[number] += 1
        if number == ODD and form == "replaced":
            task.replace(crate.square.si(7))
        if number == ODD and form == "added":
            task.add_to_chord(crate.square.si(7))
        if number == ODD and form == "retried":
            current().retry(args=[7])
        return number * number

    task: Any = crate.shop.task("formed", body, retry=Retry(max_retries=3, interval_start=5.0, jitter=False))
    return crate, task


def _publish(crate: Crate, task: Any) -> Any:
    return chord([task.s(n) for n in range(MEMBERS)], crate.shop.task("listed", lambda found: found).s(), pack=4).delay()


WANTED = {"replaced": [0, 49, 4, 9], "added": [0, 1, 4, 9, 49], "retried": [0, 49, 4, 9]}


@pytest.mark.parametrize("form", FORMS)
def test_a_body_that_ends_in_a_form_of_its_own_runs_once(form: str) -> None:
    crate, task = _crate(form)
    result = _publish(crate, task)
    crate.processes.drain()
    assert result.get(timeout=1) == WANTED[form]
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1, 7: 1}
    assert crate.stage.peek(PARKED) == []
    assert result.parent[0].id.endswith(".k4.0")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", SIDES)
def test_a_form_of_its_own_has_one_effect_also_after_a_death_at_any_call(side: Side, form: str) -> None:
    counted = Watch(ports=OUTSIDE)
    whole, task = _crate(form)
    _publish(whole, task)
    whole.processes.restart(tapped(whole.stage.ports, counted))
    whole.processes.drain()
    for at, call in enumerate(counted.calls):
        crate, task = _crate(form)
        result = _publish(crate, task)

        def live(crate: Crate = crate, at: int = at) -> None:
            crate.processes.restart(tapped(crate.stage.ports, Watch(at, side, ports=OUTSIDE)))
            crate.processes.drain()

        with pytest.raises(Crash):
            live()
        crate.processes.recover()
        where = f"died {side} call {at}, {call}"
        assert result.get(timeout=1) == WANTED[form], where
        crate.assert_one_end_each(result, MEMBERS, where)
        assert crate.stage.peek(PARKED) == [], where


def test_a_retry_with_other_arguments_waits_for_its_pause() -> None:
    crate, task = _crate("retried")
    group([task.s(n) for n in range(MEMBERS)], pack=4).delay()
    while crate.processes.step():
        pass
    assert crate.bodies[7] == 0
    crate.stage.pass_time(4.0)
    crate.processes.step()
    assert crate.bodies[7] == 0
    crate.stage.pass_time(1.1)
    crate.processes.step()
    assert crate.bodies[7] == 1


def test_a_retry_with_other_arguments_that_is_sent_late_waits_for_the_rest_of_its_pause() -> None:
    crate, task = _crate("retried")
    group([task.s(n) for n in range(MEMBERS)], pack=4).delay()
    crate.processes.deliver()
    crate.processes.restart(tapped(crate.stage.ports, _AfterRecord(ports=OUTSIDE)))
    with pytest.raises(Crash):
        crate.processes.deliver()
    crate.stage.pass_time(LONG_S)
    crate.processes.restart()
    while crate.processes.step():
        pass
    assert crate.bodies[7] == 1


def test_a_member_that_was_revoked_is_not_replaced() -> None:
    crate = Crate()

    def body(number: int) -> int:
        crate.bodies[number] += 1
        if number == ODD:
            result[ODD].revoke()
            task.replace(crate.square.si(7))
        return number

    task: Any = crate.shop.task("formed", body)
    result = group([task.s(n) for n in range(MEMBERS)], pack=4).delay()
    crate.processes.drain()
    assert [one.state for one in result] == ["SUCCESS", "REVOKED", "SUCCESS", "SUCCESS"]
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1}


def _rejecting(crate: Crate) -> None:
    def rejects(number: int) -> None:
        if number == ODD:
            raise Reject("not this one")

    crate.during = rejects


def test_a_member_that_its_body_refuses_runs_once_and_is_parked_with_its_own_arguments() -> None:
    crate = Crate()
    _rejecting(crate)
    result = crate.group(MEMBERS)
    crate.processes.drain()
    assert [one.state for one in result] == ["SUCCESS", "FAILURE", "SUCCESS", "SUCCESS"]
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1}
    (kept,) = crate.stage.peek(PARKED)
    assert (kept.attributes["reason"], kept.attributes["detail"]) == ("rejected", "not this one")
    message = codec.decode(kept.body)
    assert (message.task_id, message.task, message.args) == (result[ODD].id, "squared", (ODD,))


def test_a_parked_member_that_is_sent_again_runs_as_a_task_of_its_own() -> None:
    crate = Crate()
    _rejecting(crate)
    result = crate.group(MEMBERS)
    crate.processes.drain()
    crate.during = lambda _: None
    ports = crate.stage.ports
    assert redrive(ports, planned(ports, parked(ports, lambda _: True), crate.shop.app.registry)) == [None]
    crate.processes.drain()
    assert crate.bodies == {0: 1, 1: 2, 2: 1, 3: 1}
    assert [one.state for one in result] == ["SUCCESS", "FAILURE", "SUCCESS", "SUCCESS"], "it ended before"


def test_a_rejected_member_whose_arguments_are_lost_ends_and_its_pack_is_parked() -> None:
    crate = Crate(size=64)

    def body(number: int, _: str) -> int:
        if number == ODD:
            raise Reject("not this one")
        return number

    task = crate.shop.task("padded", body)
    result = group([task.s(n, "x" * 7_000) for n in range(64)], pack=64).delay()
    crate.processes.deliver()
    watch = _AfterRecord(at=-1, ports=OUTSIDE)
    (message,) = crate.stage.peek(COMMANDS)
    crate.processes.restart(tapped(crate.stage.ports, watch))
    with pytest.raises(Crash):
        crate.processes.deliver()
    ref = codec.decode(message.body).data_ref
    assert ref is not None
    crate.stage.damage(ref, None)
    crate.processes.recover()
    assert [one.state for one in result] == [states.FAILURE if n == ODD else states.SUCCESS for n in range(64)]
    assert len(crate.stage.peek(PARKED)) == 1


def test_a_member_with_effects_leaves_its_pack_and_has_them_once() -> None:
    app, bodies = Sedano("orders"), list[int]()
    app.table("orders", key="id")

    @app.task(name="ordered")
    def ordered(number: int) -> int:
        bodies.append(number)
        if number == ODD:
            current().effects.put("orders", {"id": "a"}, condition=current().effects.ABSENT)
        return number

    with testing.world(app) as world:
        result = group([ordered.s(n) for n in range(MEMBERS)], pack=4).delay()
        world.drain()
        assert result.get(timeout=1) == [0, 1, 2, 3]
        assert world.table("orders") == [{"id": "a"}]
    assert sorted(bodies) == [0, 1, 1, 2, 3], "the body of that member runs again alone"


@pytest.mark.parametrize("form", ["replaced", "retried"])
def test_a_member_whose_recorded_message_is_lost_ends_alone(form: str) -> None:
    crate = Crate()

    def body(number: int, text: str = "") -> int:
        crate.bodies[number] += 1
        if number == ODD and form == "replaced":
            task.replace(crate.shop.task("long", len).si("x" * 5_000))
        if number == ODD:
            current().retry(args=[7, "x" * 5_000])
        return number

    task: Any = crate.shop.task("formed", body)
    result = group([task.s(n) for n in range(MEMBERS)], pack=4).delay()
    crate.processes.deliver()
    watch = _AfterRecord(at=-1, ports=OUTSIDE)
    crate.processes.restart(tapped(crate.stage.ports, watch))
    with pytest.raises(Crash):
        crate.processes.deliver()
    pack = packs.pack_id(result.id, 0)
    end = packs.spoken(packs.PackMember(result.id, 4, ODD), crate.stage.ports.ledger.read([pack])[pack])[0]
    assert end is not None
    assert end.outbox_ref is not None
    crate.stage.damage(end.outbox_ref, None)
    crate.processes.recover()
    assert [one.state for one in result] == ["SUCCESS", "FAILURE", "SUCCESS", "SUCCESS"]
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1}
    record = crate.stage.ports.ledger.read([result[ODD].id])[result[ODD].id]
    assert record.error is not None
    assert (record.error.type_name, record.fence) == ("MessageRefused", 0), "no claim ended it"
    assert "blob" in record.error.message


class _AfterRecord(Watch):
    """The process dies after its first record in the ledger."""

    def break_at(self, number: int, side: Side) -> None:
        """Die after the call that records."""
        if side == "after" and self.calls[number] == "ledger.record":
            raise Crash
