"""Revocation: before, while and after a task runs; by id and by header; durable, whichever message comes when."""

from typing import Any

import pytest

from sedano import chord, current
from sedano.errors import OptionError, TaskRevoked
from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, Claim, ClaimAnswer, TaskRecord
from sedano.ports import PARKED
from tests.stories.kept import lines
from tests.stories.mutants import Delegating, on_ledger
from tests.stories.processes import LONG_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, Crash, Watch, tapped


class Killed(BaseException):
    """The worker's process is gone."""


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """One worker over the stage."""
    return Processes(stage, shop.app)


def revoked_ids(stage: Stage) -> set[str]:
    """The tasks that the history tells as revoked."""
    return {line["uuid"] for line in lines(stage, "task-revoked")}


def test_a_task_revoked_before_its_message_comes_never_runs(stage: Stage, shop: Shop, processes: Processes) -> None:
    result = shop.add.delay(2, 3)
    assert shop.app.control.revoke(result.id) == [states.REVOKED]
    assert stage.audit.writes["revoke"] == 1
    processes.drain()
    assert shop.ran["add"] == 0
    with pytest.raises(TaskRevoked):
        result.get()
    assert revoked_ids(stage) == {result.id}
    assert stage.peek(PARKED) == []


def test_a_revocation_outlives_every_worker_and_needs_none(stage: Stage, shop: Shop, processes: Processes) -> None:
    ids = [f"task-{n}" for n in range(30)]
    assert shop.app.control.revoke(ids) == [states.REVOKED] * 30
    processes.restart()
    for task_id in ids:
        shop.add.apply_async((1, 1), task_id=task_id)
    processes.drain()
    assert shop.ran["add"] == 0
    assert stage.audit.writes["revoke"] == 30


def test_revoking_what_has_ended_changes_nothing(shop: Shop, processes: Processes) -> None:
    result = shop.add.delay(2, 3)
    processes.drain()
    assert shop.app.control.revoke(result.id, terminate=True) == [states.SUCCESS]
    assert result.get() == 5


def test_a_running_task_that_is_revoked_ends_as_it_ends_but_is_not_tried_again(stage: Stage, shop: Shop, processes: Processes) -> None:
    def fail() -> None:
        assert shop.app.control.revoke(current().id) == [states.RUNNING]
        current().check()
        raise RuntimeError("not this time")

    shop.task("fail", fail)
    result = shop.app.send_task("fail")
    processes.drain()
    assert shop.ran["fail"] == 1
    assert result.state == states.REVOKED
    assert revoked_ids(stage) == {result.id}


def test_terminate_ends_a_running_task_at_its_next_checkpoint(stage: Stage, shop: Shop, processes: Processes) -> None:
    after: list[Any] = []

    def long() -> None:
        current().check()
        shop.app.control.revoke(current().id, terminate=True)
        current().check()
        after.append("within the same second, one read is enough")
        stage.pass_time(1.0)
        current().check()
        after.append("never")

    shop.task("long", long)
    result = shop.app.send_task("long")
    processes.drain()
    assert after == ["within the same second, one read is enough"]
    assert result.state == states.REVOKED
    assert stage.telemetry.counted("TasksRevoked", task="long") == 1
    with pytest.raises(TaskRevoked):
        result.get()


def test_a_task_that_is_asked_to_end_and_succeeds_has_succeeded(shop: Shop, processes: Processes) -> None:
    shop.task("deaf", lambda: shop.app.control.revoke(current().id, terminate=True))
    result = shop.app.send_task("deaf")
    processes.drain()
    assert result.state == states.SUCCESS


def test_a_task_whose_worker_died_while_it_was_asked_to_end_is_ended_by_the_next(shop: Shop, processes: Processes) -> None:
    def die() -> None:
        shop.app.control.revoke(current().id)
        raise Killed

    shop.task("die", die)
    result = shop.app.send_task("die")
    with pytest.raises(Killed):
        processes.drain()
    processes.recover()
    assert shop.ran["die"] == 1
    assert result.state == states.REVOKED


def test_a_chord_with_a_revoked_member_ends_instead_of_waiting_for_ever(shop: Shop, processes: Processes) -> None:
    result = chord([shop.add.s(1, 1), shop.add.s(2, 2)])(shop.total.s())
    assert result.parent is not None
    shop.app.control.revoke(result.parent.results[0].id)
    processes.drain()
    assert result.parent.results[0].state == states.REVOKED
    assert result.state == states.FAILURE
    assert shop.ran["add"] == 1


def test_a_revoked_chord_member_that_dies_on_its_way_still_ends_the_chord(shop: Shop, processes: Processes) -> None:
    result = chord([shop.add.s(1, 1)])(shop.total.s())
    assert result.parent is not None
    shop.app.control.revoke(result.parent.results[0].id)
    for _ in range(2):
        processes.deliver()
        processes.restart()
    processes.drain()
    assert result.state == states.FAILURE


def test_what_a_header_revokes_does_not_run_and_neither_do_its_retries(stage: Stage, shop: Shop, processes: Processes) -> None:
    doomed = shop.add.apply_async((1, 1), tenant="acme")
    spared = shop.add.apply_async((2, 2), tenant="other")
    assert shop.app.control.revoke_by_header("tenant", "acme") == {"tenant=acme"}
    processes.drain()
    assert (doomed.state, spared.state) == (states.REVOKED, states.SUCCESS)
    assert shop.ran["add"] == 1
    assert revoked_ids(stage) == {doomed.id}
    assert stage.peek(PARKED) == []


def test_what_lies_in_a_queue_is_revoked_by_the_queues_name_until_it_is_restored(stage: Stage, shop: Shop, processes: Processes) -> None:
    doomed, spared = shop.add.apply_async((1, 1), queue="bulk"), shop.add.delay(2, 2)
    assert shop.app.control.revoke_by_header("queue", "bulk") == {"queue=bulk"}
    processes.drain()
    assert (doomed.state, spared.state) == (states.REVOKED, states.SUCCESS)
    assert shop.app.control.explain(doomed.id).sentence.endswith("TaskRevoked: revoked by queue=bulk")
    control = shop.app.control
    for revoke in (lambda: control.revoke_by_header("queue", "bluk"), lambda: control.revoke_by_stamped_headers({"queue": "bluk"})):
        with pytest.raises(OptionError, match="queue: 'bluk' is not one of this app's queues"):
            revoke()
    assert control.restore_by_header("queue", "bulk") == set()
    stage.pass_time(60.0)
    shop.add.delay(3, 3)  # with its next batch the worker hears of it
    processes.drain()
    again = shop.add.apply_async((3, 3), queue="bulk")
    processes.drain()
    assert again.state == states.SUCCESS


def test_a_running_worker_learns_of_a_header_with_its_heartbeat(stage: Stage, shop: Shop, processes: Processes) -> None:
    shop.add.delay(1, 1)
    processes.drain()
    shop.app.control.revoke_by_stamped_headers({"task": ["add", "loose"]})
    stage.pass_time(60.0)
    for task in (shop.add.s(2, 2), shop.loose.s(1)):
        task.delay()
    processes.drain()
    assert shop.ran == {"add": 1}
    assert stage.telemetry.counted("TasksRevoked", task="loose") == 1


def test_a_header_that_is_restored_revokes_nothing_more(shop: Shop, processes: Processes) -> None:
    shop.app.control.revoke_by_header("root_id", "r")
    shop.app.control.revoke_by_header("tenant", "acme")
    assert shop.app.control.restore_by_header("tenant", "acme") == {"root_id=r"}
    result = shop.add.apply_async((1, 1), tenant="acme")
    processes.drain()
    assert result.get() == 2


def test_a_header_that_no_message_can_bear_is_refused_with_what_would_work(shop: Shop, processes: Processes) -> None:
    assert processes.generation == 1
    with pytest.raises(OptionError, match="tenant, task, root_id"):
        shop.app.control.revoke_by_header("cost centre", "1")


@pytest.mark.parametrize(("header", "meant"), [("tenent", "tenant"), ("Tenant", "tenant"), ("rootid", "root_id"), ("queues", "queue")])
def test_a_header_that_seems_misspelt_is_refused_and_may_be_a_stamp(shop: Shop, processes: Processes, header: str, meant: str) -> None:
    control = shop.app.control
    with pytest.raises(OptionError) as refused:
        control.revoke_by_header(header, "acme")
    assert f"did you mean {meant}? for a stamp of that name write revoke_by_stamped_headers({{{header!r}: 'acme'}})" in str(refused.value)
    assert not control.hello().revoked
    stamped = shop.add.s(1, 1).stamp(**{header: "acme"}).delay()
    assert control.revoke_by_stamped_headers({header: "acme"}) == {f"{header}=acme"}
    assert control.revoke_by_header("team", "core") == {f"{header}=acme", "team=core"}, "a stamp that is like no header"
    processes.drain()
    assert stamped.state == states.REVOKED


def test_two_who_change_the_control_record_at_once_lose_neither_change(stage: Stage, shop: Shop) -> None:
    other = Shop().app
    for app in (shop.app, other):
        app.attach(stage.ports)
    shop.app.control.revoke_by_header("tenant", "a")
    other.control.revoke_by_header("tenant", "b")
    assert shop.app.control.revoke_by_header("tenant", "c") == {"tenant=a", "tenant=b", "tenant=c"}


def test_a_copy_of_a_revoked_message_changes_nothing(stage: Stage, shop: Shop, processes: Processes) -> None:
    processes.invocation = LONG_S
    result = shop.add.delay(1, 1)
    shop.app.control.revoke(result.id)
    stage.ports.queues.send("commands:default", stage.peek("commands:default"))
    processes.drain()
    assert shop.ran["add"] == 0
    assert result.state == states.REVOKED


class MarksBeforeItSteals(Delegating):
    """A ledger at which somebody revokes the task in the moment before a take-over."""

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Revoke, then take over what was seen before."""
        assert self.inner.ask(claim.task_id, NO_RETRY)
        answer: ClaimAnswer = self.inner.steal(claim, seen)
        return answer


def test_a_task_that_is_marked_in_the_moment_before_it_is_taken_over_does_not_begin_again(
    stage: Stage, shop: Shop, processes: Processes
) -> None:
    """Found by simulation: a mark between the refused claim and the take-over was met by nobody."""

    def die() -> None:
        raise Killed

    shop.task("fatal", die)
    result = shop.app.send_task("fatal")
    with pytest.raises(Killed):
        processes.drain()
    processes.restart(on_ledger(stage.ports, MarksBeforeItSteals))
    processes.drain()
    assert result.state == states.REVOKED
    assert shop.ran["fatal"] == 1


@pytest.mark.parametrize("moment", ["before", "while it runs"])
def test_a_crash_at_any_call_neither_runs_a_revoked_task_again_nor_hangs_its_chord(moment: str) -> None:
    calls = revoked_chord(-1, moment)
    assert "ledger.claim" in calls
    for at in range(len(calls)):
        revoked_chord(at, moment)


def revoked_chord(at: int, moment: str) -> list[str]:
    """Walk a chord whose one member is revoked, die after call *at*, let others take over; return the calls."""
    stage, shop = in_memory(), Shop()

    def stubborn() -> None:
        if moment != "before":
            shop.app.control.revoke(current().id)
        raise RuntimeError("not this time")

    shop.task("stubborn", stubborn)
    processes = Processes(stage, shop.app)
    result = chord([shop.app_sig("stubborn"), shop.add.s(1, 1)])(shop.total.s())
    assert result.parent is not None
    member = result.parent.results[0]
    if moment == "before":
        shop.app.control.revoke(member.id)
    watch = Watch(at, "after", ports=OUTSIDE)
    processes.restart(tapped(stage.ports, watch))
    try:
        processes.drain()
    except Crash:
        processes.recover()
    assert member.state == states.REVOKED, f"call {at}"
    assert result.state == states.FAILURE, f"call {at}"
    assert shop.ran["stubborn"] == (0 if moment == "before" else 1), f"call {at}"
    assert member.id in revoked_ids(stage)
    return watch.calls
