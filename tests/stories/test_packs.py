"""Stories of packs: members of a group that share a message, a claim and a record, and keep an end of their own."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sedano import Sedano, chain, chord, current, group, testing
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import CanvasError, Ignore, OptionError, Reject, RemoteError
from sedano.model import packs, states
from sedano.model.retry import Retry
from sedano.model.tasks.signature import Options
from sedano.ports import PARKED
from sedano.views.task import task as view
from tests.stories.kept import assert_history_tells_what_the_ledger_holds, lines
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS
from tests.stories.taps import Watch, tapped


@pytest.mark.parametrize("members", [1, 4, 10, 100, 1_000])
def test_a_group_of_any_size_has_the_values_of_its_members(members: int) -> None:
    crate = Crate()
    result = crate.group(members)
    crate.processes.drain()
    crate.assert_whole(result, members)
    assert set(crate.bodies.values()) == {1}
    assert sum(crate.bodies.values()) == members


@pytest.mark.parametrize("members", [1, 4, 10, 100, 1_000])
def test_the_body_of_a_chord_gets_every_result_in_order(members: int) -> None:
    crate = Crate()
    result = crate.chord(members)
    crate.processes.drain()
    crate.assert_whole(result, members)
    assert crate.sums == [[n * n for n in range(members)]]


def test_a_pack_costs_one_claim_one_record_and_one_arrival() -> None:
    crate = Crate(size=8)
    result = crate.chord(16)
    crate.processes.drain()
    crate.assert_whole(result, 16)
    writes = crate.stage.audit.writes
    assert (writes["claim"], writes["record"], writes["open_join"]) == (2 + 2, 2 + 2, 1), "two packs, the launch and the body"


def test_a_member_of_a_group_in_packs_of_eight_costs_a_quarter_of_a_write() -> None:
    crate = Crate(size=8)
    result = crate.group(80)
    crate.processes.drain()
    crate.assert_whole(result, 80)
    writes = crate.stage.audit.writes
    launch = 2
    assert sum(writes.values()) - launch == 0.25 * 80
    assert all(len(end.result or "") < 900 for end in crate.stage.audit.ends), "each record is one write unit"


def test_a_member_of_a_header_in_packs_of_eight_costs_three_eighths_of_a_write() -> None:
    crate, watch = Crate(size=8), Watch()
    crate.processes.restart(tapped(crate.stage.ports, watch))
    result = crate.chord(80)
    crate.processes.drain()
    crate.assert_whole(result, 80)
    writes, launch_and_body = crate.stage.audit.writes, 4
    whole = writes["claim"] + writes["record"] - launch_and_body + watch.calls.count("ledger.arrive")
    assert round(whole / 80, 2) <= 0.38
    assert writes["claim"] + writes["record"] - launch_and_body == 0.25 * 80


def test_a_member_that_fails_at_first_leaves_its_pack_and_succeeds_alone() -> None:
    crate = Crate()

    def fails(number: int) -> None:
        if number == 2 and crate.bodies[2] == 1:
            raise RuntimeError("not yet")

    crate.during = fails
    result = crate.chord(8)
    crate.processes.drain()
    crate.assert_whole(result, 8)
    assert crate.bodies[2] == 2
    record = crate.stage.ports.ledger.read([result.parent[2].id])[result.parent[2].id]
    assert (record.attempt, record.fence) == (1, 2)


def test_a_member_that_fails_for_good_fails_its_chord_and_no_neighbour() -> None:
    crate = Crate(retry=Retry(max_retries=0))

    def fails(number: int) -> None:
        if number == 1:
            raise RuntimeError("never")

    crate.during = fails
    result = crate.chord(8)
    crate.processes.drain()
    assert result.state == states.FAILURE
    assert [one.state for one in result.parent] == [states.FAILURE if n == 1 else states.SUCCESS for n in range(8)]
    assert crate.sums == []
    assert crate.bodies[1] == 1
    with pytest.raises(RemoteError, match="never"):
        result.parent[1].get(timeout=1)
    day = datetime.fromtimestamp(crate.stage.clock.now(), UTC).strftime("%Y-%m-%d")
    assert [one.task_id for one in crate.stage.ports.ledger.failures(day, 9) or ()] == [result.parent[1].id]
    assert [end.fence for end in crate.stage.audit.ends if end.task_id == result.parent[1].id] == [0], "no claim of its own ended it"


def test_a_member_that_is_ignored_is_revoked() -> None:
    crate = Crate()

    def ignores(number: int) -> None:
        if number == 1:
            raise Ignore

    crate.during = ignores
    result = crate.group(4)
    crate.processes.drain()
    assert [one.state for one in result] == ["SUCCESS", "REVOKED", "SUCCESS", "SUCCESS"]


def test_a_member_that_raises_reject_is_parked_alone() -> None:
    crate = Crate()

    def rejects(number: int) -> None:
        if number == 1:
            raise Reject("not this one")

    crate.during = rejects
    result = crate.group(4)
    crate.processes.drain()
    assert [one.state for one in result] == ["SUCCESS", "FAILURE", "SUCCESS", "SUCCESS"]
    assert len(crate.stage.peek(PARKED)) == 1
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1}


def test_what_members_publish_is_sent_once() -> None:
    crate = Crate()
    other = crate.shop.task("noted", lambda number: number)
    crate.during = other.delay
    result = crate.group(8)
    crate.processes.drain()
    assert result.get(timeout=1) == [n * n for n in range(8)]
    assert crate.stage.audit.effects()["noted", states.SUCCESS] == 8


def test_long_results_and_outboxes_of_members_are_kept_apart() -> None:
    crate = Crate()
    long = crate.shop.task("lengthy", lambda number: str(number) * 3_000)
    result = group([long.s(n) for n in range(8)], pack=8).delay()
    crate.processes.drain()
    assert result.get(timeout=1) == [str(n) * 3_000 for n in range(8)]
    record = crate.stage.ports.ledger.read([packs.pack_id(result.id, 0)])[packs.pack_id(result.id, 0)]
    assert len(record.result or "") < 3_000


@pytest.mark.parametrize("marked", [0, 2, 5])
def test_a_member_that_is_revoked_before_its_pack_begins_does_not_run(marked: int) -> None:
    crate = Crate()
    result = crate.chord(8)
    result.parent[marked].revoke()
    assert result.parent[marked].state == states.REVOKED
    crate.processes.drain()
    assert crate.bodies[marked] == 0
    assert sum(crate.bodies.values()) == 7
    assert [one.state for one in result.parent] == [states.REVOKED if n == marked else states.SUCCESS for n in range(8)]
    assert result.state == states.FAILURE


def test_a_member_that_is_revoked_while_its_pack_runs_is_not_tried_again() -> None:
    crate = Crate()

    def fails(number: int) -> None:
        if number == 1:
            result[1].revoke()
            assert result[1].state == "RUNNING"
            raise RuntimeError("once")

    crate.during = fails
    result = crate.group(4)
    crate.processes.drain()
    assert [one.state for one in result] == ["SUCCESS", "REVOKED", "SUCCESS", "SUCCESS"]
    assert crate.bodies[1] == 1


def test_a_member_that_is_terminated_ends_at_its_next_checkpoint() -> None:
    crate = Crate()

    def checks(number: int) -> None:
        if number == 2:
            result[2].revoke(terminate=True)
            current().check()

    crate.during = checks
    result = crate.group(4)
    crate.processes.drain()
    assert [one.state for one in result] == ["SUCCESS", "SUCCESS", "REVOKED", "SUCCESS"]


def test_a_member_that_waits_alone_for_its_retry_is_revoked_there() -> None:
    crate = Crate(retry=Retry(max_retries=5, interval_start=60.0, jitter=False))

    def fails(number: int) -> None:
        if number == 1:
            raise RuntimeError("again")

    crate.during = fails
    result = crate.group(4)
    while crate.processes.step():
        pass
    assert result[1].state == "RETRY"
    result[1].revoke()
    crate.processes.drain()
    assert result[1].state == "REVOKED"
    assert crate.bodies[1] == 1


def test_an_ended_member_is_not_revoked() -> None:
    crate = Crate()
    result = crate.group(4)
    crate.processes.drain()
    result[1].revoke()
    assert [one.state for one in result] == ["SUCCESS"] * 4


def test_members_that_do_not_begin_in_time_run_alone() -> None:
    crate = Crate(size=8)
    crate.during = lambda number: crate.stage.pass_time(4.0)
    result = crate.chord(8)
    crate.processes.drain()
    crate.assert_whole(result, 8)
    assert set(crate.bodies.values()) == {1}


def test_results_of_members_are_forgotten() -> None:
    crate = Crate()
    result = crate.group(8)
    crate.processes.drain()
    result[1].forget()
    assert [one.result for one in result if one.id != result[1].id] == [n * n for n in range(8) if n != 1]
    result.forget()
    record = crate.stage.ports.ledger.read([packs.pack_id(result.id, 0)])[packs.pack_id(result.id, 0)]
    assert "16" not in (record.result or "")


def test_the_history_has_a_line_for_each_member_and_none_for_the_pack() -> None:
    crate = Crate()
    result = crate.group(8)
    crate.processes.drain()
    told = lines(crate.stage, "task-succeeded")
    assert sorted(str(line["uuid"]) for line in told if line["uuid"] != result.id) == sorted(one.id for one in result)
    assert len(told) == 8 + 1, "the members, and the launch"
    assert_history_tells_what_the_ledger_holds(crate.stage)


@pytest.mark.parametrize("members", [1, 3])
def test_a_small_group_is_not_packed_by_true(members: int) -> None:
    crate = Crate(size=True)
    result = crate.group(members)
    crate.processes.drain()
    crate.assert_whole(result, members)
    assert packs.size_of(result.id) == 0


def test_true_chooses_the_size() -> None:
    crate = Crate(size=True)
    result = crate.chord(40)
    crate.processes.drain()
    crate.assert_whole(result, 40)
    assert packs.size_of(result.parent.id) == 32


def test_false_is_no_pack() -> None:
    crate = Crate(size=False)
    result = crate.group(8)
    crate.processes.drain()
    crate.assert_whole(result, 8)
    assert packs.size_of(result.id) == 0


@pytest.mark.parametrize("size", [0, 1, 3, 128, -1, "8", 8.0, None])
def test_another_size_is_refused(size: Any) -> None:
    crate = Crate(size=size)
    with pytest.raises(OptionError, match=r"pack: .* is not one of True, False, 2, 4"):
        crate.group(8)


def test_a_group_whose_members_need_messages_of_their_own_is_refused() -> None:
    crate = Crate()
    one, other = crate.square, crate.total
    for why, members in _unfit(crate).items():
        with pytest.raises(OptionError, match=why):
            group(members, pack=4).delay()
    with pytest.raises(OptionError, match="callbacks"):
        group([one.s(1), one.s(2)], pack=4).on_error(other.s()).delay()
    with pytest.raises(CanvasError, match="inside another group"):
        group(group([one.s(1), one.s(2)], pack=4), one.s(1)).delay()
    with pytest.raises(CanvasError, match="first step"):
        chain(one.s(1), group([one.s(), one.s()], pack=4), other.s()).delay()
    with pytest.raises(OptionError, match="begins with a UUID"):
        group([one.s(1), one.s(2)], pack=4).apply_async(task_id="mine")
    assert crate.stage.peek(COMMANDS) == []


def _unfit(crate: Crate) -> dict[str, list[Any]]:
    """Return groups that cannot be packed, by a word of the reason."""
    one, other = crate.square, crate.total
    paced = crate.shop.task("paced", lambda number: number, rate="10/s")
    once = crate.shop.task("recorded", lambda number: number, delivery="record_once")

    async def waits(number: int) -> int:
        return number

    waiting = crate.shop.task("waiting", waits)
    return {
        "a member is a chain or a group": [one.s(1), chain(one.s(2), other.s())],
        "callbacks": [one.s(1), one.s(2).on_error(other.s())],
        "differ": [one.s(1), other.s([1])],
        "options": [one.s(1), one.s(2).set(countdown=5)],
        "a member has a task_id": [one.s(1), one.s(2).set(task_id="mine")],
        "it has a limit": [paced.s(1), paced.s(2)],
        "delivered record_once": [once.s(1), once.s(2)],
        "it is async": [waiting.s(1), waiting.s(2)],
        "bytes of arguments": [one.s("x" * 9_000), one.s(1)],
    }


def test_ids_of_packs_are_refused_for_tasks_of_users() -> None:
    crate = Crate()
    for taken in ("0b9f6b2e-58f6-5a3a-9a50-3f2d1a0c7b11.k8", "0b9f6b2e-58f6-5a3a-9a50-3f2d1a0c7b11.k8.3"):
        with pytest.raises(OptionError, match="has the form of the ids of groups in packs"):
            Options(task_id=taken)
        with pytest.raises(OptionError, match="has the form of the ids of groups in packs"):
            group([crate.square.s(1)]).apply_async(task_id=taken)
        with pytest.raises(OptionError, match="has the form of the ids of groups in packs"):
            chord([crate.square.s(1)], crate.total.s()).freeze(taken)


def test_a_frozen_group_has_the_id_that_it_is_published_under() -> None:
    crate = Crate()
    form = group([crate.square.s(n) for n in range(8)], pack=4)
    frozen = form.freeze()
    result = form.delay()
    crate.processes.drain()
    assert frozen.id == result.id
    assert frozen.get(timeout=1) == [n * n for n in range(8)]


def test_chunks_share_messages_too() -> None:
    crate = Crate()
    result = group([crate.square.starmap([(n,), (n + 1,)]) for n in range(0, 8, 2)], pack=4).delay()
    crate.processes.drain()
    assert result.get(timeout=1) == [[n * n, (n + 1) * (n + 1)] for n in range(0, 8, 2)]
    assert crate.stage.audit.writes["claim"] == 2, "the launch and one pack"


@pytest.mark.parametrize("lanes", [0, 4])
def test_packs_in_one_batch_run_in_the_lanes_of_the_worker(lanes: int) -> None:
    crate = Crate(size=2, settings=WorkerSettings(lanes=lanes, concurrency=3))
    result = crate.chord(30)
    crate.processes.drain()
    crate.assert_whole(result, 30)


def test_a_member_is_explained_and_shown_as_a_task_of_its_own() -> None:
    app = Sedano("explained")

    @app.task(name="divided", retry=Retry(max_retries=0))
    def divided(number: int) -> float:
        return 12 / number

    with testing.world(app) as world:
        result = group([divided.s(number) for number in (3, 0, 4, 6)], pack=4).delay()
        result[3].revoke()
        world.drain()
        answers = [app.control.explain(one.id) for one in result]
        assert [answer.state for answer in answers] == ["SUCCESS", "FAILURE", "SUCCESS", "REVOKED"]
        views = [view(app, one.id, days=1) for one in result]
        assert [one.state for one in views] == ["SUCCESS", "FAILURE", "SUCCESS", "REVOKED"]
        assert [(one.name, len(one.attempts)) for one in views[:3]] == [("divided", 1)] * 3
        assert views[1].record is not None
        assert (views[1].record["error"]["type_name"], views[1].record["retry"]) == ("ZeroDivisionError", True)
