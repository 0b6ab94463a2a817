"""A task that ended without success runs again as a task of its own: once, with its arguments, whoever asks and however often."""

from typing import Any

import pytest

from sedano import Ignore, Reject, chord, testing
from sedano.engine import reruns
from sedano.engine.parked.redrive import Parked, parked, planned, redrive
from sedano.engine.reruns import Rerun
from sedano.errors import ArgumentError, RerunRefused, SedanoError
from sedano.model import states
from sedano.model.messages.lineage import rerun_id
from sedano.ports import PARKED, Outgoing
from sedano.workflow import Step, Workflow
from tests.stories import bakery
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import Watch, away, tapped
from tests.stories.test_poison import survive
from tests.stories.workshop import Killed


class Stall:
    """A task that fails until it is mended, and the arguments of its runs."""

    def __init__(self, shop: Shop, error: BaseException, **options: Any) -> None:
        """Declare it; *error* is what it raises."""
        self.error: BaseException | None = error
        self.calls: list[Any] = []
        self.task = shop.task("stall", self._body, **{"retry": False, **options})

    def _body(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        if self.error is not None:
            raise self.error
        return "mended"


def again(stage: Stage, task_id: str) -> Rerun:
    """Return the next run of a task that has one."""
    (found,) = reruns.planned(stage.ports, [task_id])
    assert isinstance(found, Rerun), found
    return found


def refusal(stage: Stage, task_id: str) -> str:
    """Return why a task does not run again."""
    (found,) = reruns.planned(stage.ports, [task_id])
    assert isinstance(found, SedanoError), found
    return str(found)


def run_again(stage: Stage, processes: Processes, task_id: str) -> str:
    """Run a task again and return the id of that run."""
    found = again(stage, task_id)
    assert reruns.publish(stage.ports, [found]) == [None]
    survive(processes)
    return found.command.task_id


def sent_again(stage: Stage, processes: Processes) -> None:
    """Send every parked message again."""
    going = planned(stage.ports, parked(stage.ports, everything))
    assert redrive(stage.ports, going) == [None] * len(going)
    survive(processes)


def everything(one: Parked) -> bool:
    """Mean every parked message."""
    return True


def test_a_task_that_failed_runs_again_with_its_arguments_under_an_id_of_its_own(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.apply_async(args=(1, "two"), kwargs={"three": [3]}, stamps={"order": "7"}, tenant="acme", expires=5.0)
    survive(processes)
    assert failed.state == states.FAILURE
    stall.error = None
    stage.pass_time(3600.0)
    new = run_again(stage, processes, failed.id)
    assert new == rerun_id(failed.id) != failed.id
    assert shop.app.result(new).get() == "mended"
    assert stall.calls == [((1, "two"), {"three": [3]})] * 2
    assert failed.state == states.FAILURE, "what has ended does not change"


def test_a_task_is_run_again_once_however_often_that_is_asked_for(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.delay(1)
    survive(processes)
    stall.error = None
    found = again(stage, failed.id)
    assert reruns.publish(stage.ports, [found, found, again(stage, failed.id)]) == [None] * 3
    survive(processes)
    assert len(stall.calls) == 2
    assert refusal(stage, failed.id) == f"{failed.id}: it was run again as {rerun_id(failed.id)}, which is SUCCESS"


def test_a_rerun_that_fails_is_run_again_by_its_own_id(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.delay(1)
    survive(processes)
    second = run_again(stage, processes, failed.id)
    stall.error = None
    third = run_again(stage, processes, second)
    assert [shop.app.result(one).state for one in (failed.id, second, third)] == [states.FAILURE, states.FAILURE, states.SUCCESS]
    assert len({failed.id, second, third}) == 3


def test_long_arguments_are_kept_in_the_blob_store(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.delay("x" * 20_000)
    survive(processes)
    call = stage.ports.ledger.read([failed.id])[failed.id].call
    assert call is not None
    assert len(call.body) < 1_000
    stall.error = None
    assert shop.app.result(run_again(stage, processes, failed.id)).get() == "mended"
    assert stall.calls[1] == (("x" * 20_000,), {})


def test_a_poison_whose_cause_is_mended_runs_when_its_message_is_sent_again(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, Killed()), Processes(stage, shop.app)
    poison = stall.task.delay(1)
    survive(processes)
    assert (poison.state, len(stage.peek(PARKED))) == (states.POISON, 1)
    stall.error = None
    sent_again(stage, processes)
    assert shop.app.result(rerun_id(poison.id)).get() == "mended"
    assert stage.peek(PARKED) == []


def test_what_its_task_refused_runs_when_its_message_is_sent_again(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, Reject("unknown customer")), Processes(stage, shop.app)
    refused = stall.task.delay(1)
    survive(processes)
    stall.error = None
    sent_again(stage, processes)
    assert shop.app.result(rerun_id(refused.id)).get() == "mended"
    assert stage.peek(PARKED) == []


def test_what_expired_runs_when_its_message_is_sent_again(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError()), Processes(stage, shop.app)
    stall.error = None
    late = stall.task.apply_async(args=(1,), expires=5.0)
    stage.pass_time(10.0)
    survive(processes)
    assert late.state == states.EXPIRED
    sent_again(stage, processes)
    assert shop.app.result(rerun_id(late.id)).get() == "mended"


def test_two_copies_of_a_parked_message_run_its_task_once(stage: Stage, shop: Shop) -> None:
    """A crash between sending it and deleting it leaves both."""
    stall, processes = Stall(shop, Reject("unknown customer")), Processes(stage, shop.app)
    stall.task.delay(1)
    survive(processes)
    stall.error = None
    (one,) = stage.peek(PARKED)
    stage.ports.queues.send(PARKED, [Outgoing(one.body, attributes=one.attributes)])
    sent_again(stage, processes)
    assert len(stall.calls) == 2


def test_a_member_runs_again_outside_of_its_canvas(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    whole = chord([shop.add.s(1, 1), stall.task.s(2)])(shop.total.s())
    survive(processes)
    assert whole.state == states.FAILURE
    (failed,) = [one.task_id for one in stage.audit.ends if one.name == "stall"]
    stall.error = None
    assert shop.app.result(run_again(stage, processes, failed)).get() == "mended"
    assert shop.ran["total"] == 0
    assert whole.state == states.FAILURE


def test_the_body_of_a_chord_reads_the_results_of_its_members_again(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    whole = chord(shop.add.s(n, n) for n in range(3))(stall.task.s("and"))
    survive(processes)
    assert whole.state == states.FAILURE
    stall.error = None
    with pytest.raises(RerunRefused, match="its first argument is the results of a chord; retry it without other arguments"):
        shop.app.control.retry(whole.id, args=["or"])
    assert shop.app.result(run_again(stage, processes, whole.id)).get() == "mended"
    assert stall.calls == [(([0, 2, 4], "and"), {})] * 2


def test_a_step_behind_one_that_failed_is_told_which_task_that_was(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    whole = (stall.task.s() | shop.total.s()).delay()
    survive(processes)
    assert "it never ran, because the task" in refusal(stage, whole.id)


@pytest.mark.parametrize("error", [None, Ignore("not today")], ids=["success", "ignore"])
def test_no_call_is_kept_of_a_task_that_nobody_would_run_again(stage: Stage, shop: Shop, error: BaseException | None) -> None:
    stall, processes = Stall(shop, ValueError()), Processes(stage, shop.app)
    stall.error = error
    ended = stall.task.delay(1)
    survive(processes)
    assert stage.ports.ledger.read([ended.id])[ended.id].call is None
    assert "publish it" in refusal(stage, ended.id)


def test_a_task_that_keeps_no_arguments_leaves_none_behind(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock"), keep_arguments=False), Processes(stage, shop.app)
    failed = stall.task.delay("a secret")
    survive(processes)
    assert stage.ports.ledger.read([failed.id])[failed.id].call is None
    assert "its arguments were not kept; publish it again: sedano call stall" in refusal(stage, failed.id)


def test_what_was_revoked_before_a_worker_received_it_has_no_arguments_to_run_with(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError()), Processes(stage, shop.app)
    revoked = stall.task.delay(1)
    shop.app.control.revoke(revoked.id)
    survive(processes)
    assert "so its arguments were not kept; publish it again" in refusal(stage, revoked.id)


def test_forgetting_a_result_forgets_the_arguments(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.delay("a secret")
    survive(processes)
    failed.forget()
    assert "its arguments with it" in refusal(stage, failed.id)


def test_only_what_has_ended_runs_again(stage: Stage, shop: Shop) -> None:
    soon, processes = shop.task("later", lambda: 1 / 0), Processes(stage, shop.app)
    waiting = soon.delay()
    processes.deliver()
    assert "it is RETRY and has not ended" in refusal(stage, waiting.id)
    (unknown,) = reruns.planned(stage.ports, ["nowhere"])
    assert isinstance(unknown, RerunRefused)
    assert unknown.missing


def test_a_rerun_belongs_to_the_family_of_the_task_that_failed(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.apply_async(args=(1,), tenant="acme", stamps={"order": "7"})
    survive(processes)
    command = again(stage, failed.id).command
    assert (command.lineage.root_id, command.lineage.parent_id) == (failed.id, failed.id)
    assert (command.tenant, command.stamps, command.expires, command.attempt) == ("acme", "order=7", None, 0)


def test_a_step_of_a_workflow_runs_again_with_its_run_only(shop: Shop) -> None:
    Stall(shop, ValueError("no stock"))

    class Order(Workflow, app=shop.app):
        """One step, which fails."""

        sold = Step(shop.app_sig("stall"))

    with testing.world(shop.app) as world:
        run = Order.delay()
        world.drain()
        (step,) = [one.task_id for one in run.show().steps]
        (found,) = reruns.planned(world.ports, [step])
    assert str(found) == f"{step}: it is a step of the workflow run {run.id}; retry that: sedano retry {run.id}"


def test_no_task_of_the_library_itself_is_run_again() -> None:
    bakery.BROKEN.add("oven")
    with testing.world(bakery.app) as world:
        run = bakery.Bread.delay(loaves=2)
        world.drain()
        bakery.BROKEN.clear()
        (whole,) = [one.task_id for one in run.show().steps if one.name == "baked"]
        (found,) = reruns.planned(world.ports, [whole])
    assert isinstance(found, RerunRefused)


def test_long_arguments_that_the_blob_store_does_not_take_cost_the_record_nothing_else(shop: Shop) -> None:
    stage = in_memory()
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.delay("x" * 20_000)
    processes.restart(tapped(stage.ports, Watch(0, "before", away, frozenset({"blobs"}))))
    survive(processes)
    assert failed.state == states.FAILURE
    assert "its arguments were not kept" in refusal(stage, failed.id)
    assert "the arguments of a failed task are not kept: `sedano retry` cannot run it again" in stage.telemetry.messages("warning")


def test_a_task_runs_again_with_other_arguments_and_those_that_are_not_given_stay(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = [stall.task.apply_async(args=(1, "two"), kwargs={"three": n}) for n in range(3)]
    survive(processes)
    stall.error, stall.calls = None, []
    given: list[dict[str, Any]] = [{"args": [7]}, {"kwargs": {"four": 4}}, {"args": (), "kwargs": {}}]
    again = [shop.app.control.retry(one.id, **edits) for one, edits in zip(failed, given, strict=True)]
    survive(processes)
    assert [one.get() for one in again] == ["mended"] * 3
    assert sorted(stall.calls, key=str) == [((), {}), ((1, "two"), {"four": 4}), ((7,), {"three": 0})]
    assert [one.id for one in again] == [rerun_id(one.id) for one in failed]


def test_long_arguments_are_replaced_as_a_whole(stage: Stage, shop: Shop) -> None:
    stall, processes = Stall(shop, ValueError("no stock")), Processes(stage, shop.app)
    failed = stall.task.delay("x" * 20_000)
    survive(processes)
    stall.error = None
    with pytest.raises(RerunRefused, match="are in the blob store and cannot be edited in part; give args and kwargs"):
        shop.app.control.retry(failed.id, args=["y"])
    again = shop.app.control.retry(failed.id, args=["y" * 30_000], kwargs={})
    survive(processes)
    assert (again.get(), stall.calls[-1]) == ("mended", (("y" * 30_000,), {}))


def test_arguments_that_the_task_does_not_take_are_refused_before_they_are_sent(stage: Stage, shop: Shop) -> None:
    def weigh(n: int) -> int:
        raise ValueError(n)

    task, processes = shop.task("weigh", weigh, retry=False), Processes(stage, shop.app)
    failed = task.delay(1)
    survive(processes)
    with pytest.raises(ArgumentError):
        shop.app.control.retry(failed.id, args=["heavy"])
    with pytest.raises(ArgumentError):
        shop.app.control.retry(failed.id, kwargs={"m": 1})
    assert stage.ports.ledger.read([rerun_id(failed.id)]) == {}
