"""How workflows are begun, how large they may be, and what is told of mistakes."""

import re
import types
from collections import Counter
from typing import Any

import pytest

from sedano import Retry
from sedano.errors import (
    ArgumentError,
    FlowFailed,
    FlowRunReused,
    Ignore,
    OptionError,
    Reject,
    ResultTimeout,
    UnknownFlowRun,
    WrongFlowState,
)  # fmt: skip
from sedano.ports import PARKED
from sedano.workflow import Input, Step, Workflow, each, find, own, runs
from sedano.workflow import run_records as keeping
from tests.stories.kept import assert_kept, lines
from tests.stories.processes import COMMANDS, Processes
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import Watch, tapped
from tests.stories.workshop import Workshop, commands, declared, states_of

PATROLLED = ("sedano.workflow.patrol", "SUCCESS")


def test_a_run_id_is_one_run(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    first = workshop.fulfil.apply_async({"order": 7}, run_id="order-7")
    same = workshop.fulfil.apply_async({"order": 7}, run_id="order-7")
    processes.drain()
    assert first.get() == same.get()
    assert workshop.done.count("charge 20") == 1
    with pytest.raises(FlowRunReused, match="a flow run order-7 of fulfil 1 was started with other inputs"):
        workshop.fulfil.apply_async({"order": 8}, run_id="order-7")
    assert find(workshop.app, "order-7").state == "SUCCEEDED"


def test_a_second_beginning_that_nobody_could_see_coming_is_not_begun_and_counted(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    for order in (7, 8):
        workshop.fulfil.apply_async({"order": order}, run_id="same")
    processes.drain()
    assert stage.telemetry.counted("FlowRunsRefused") == 1
    assert len({call for call in workshop.done if call.startswith("price")}) == 1


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "order: an input of workflow fulfil is missing"), ({"order": "x"}, "order: workflow fulfil: expected int, got str"),
        ({"order": 1, "colour": 2}, "colour: workflow fulfil has no such input; it has order"),
    ],
)  # fmt: skip
def test_wrong_inputs_are_told_and_nothing_begins(workshop: Workshop, inputs: dict[str, Any], message: str) -> None:
    stage = in_memory()
    Processes(stage, workshop.app)
    with pytest.raises(ArgumentError, match=message):
        workshop.fulfil.delay(**inputs)
    assert stage.peek(COMMANDS) == []


def test_a_run_that_a_task_begins_is_one_of_its_follow_ups(stage: Stage, workshop: Workshop) -> None:
    ids: list[str] = []

    def order(number: int) -> str:
        ids.append(workshop.fulfil.delay(order=number).id)
        if len(ids) == 1:
            raise RuntimeError("again")
        return ids[-1]

    task = workshop.task("order", order, retry=Retry(max_retries=1, interval_start=0.0, jitter=False))
    processes = Processes(stage, workshop.app)
    task.apply_async((7,), tenant="acme", stamps={"team": "core"})
    processes.deliver()
    processes.deliver()
    (begin,) = commands(stage)
    assert (begin.task, begin.tenant, begin.stamps) == ("sedano.workflow", "acme", "team=core")
    processes.deliver()
    assert {(c.tenant, c.stamps, c.lineage.parent_id) for c in commands(stage)} == {("acme", "team=core", ids[-1])}
    processes.drain()
    assert [r.id for r in runs(workshop.app)] == ids[1:]
    assert find(workshop.app, ids[1]).state == "SUCCEEDED"


def test_a_workflow_may_be_longer_than_tasks_may_spawn_one_another(workshop: Workshop) -> None:
    body: dict[str, Any] = {"s0": Step(workshop.price.s(1))}
    for number in range(1, 200):
        body[f"s{number}"] = Step(workshop.price.s(number), after=body[f"s{number - 1}"])
    flow = declared(workshop, "Long", body)
    stage = in_memory()
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    processes.drain()
    assert result.state == "SUCCEEDED"
    assert len(workshop.done) == 200


def test_a_wide_workflow_publishes_each_step_about_once(workshop: Workshop) -> None:
    first = Step(workshop.price.s(1))
    body: dict[str, Any] = {"first": first}
    body |= {f"w{n}": Step(workshop.price.s(n), after=first) for n in range(60)}
    body["last"] = Step(workshop.wrap.s(1), after=[body[f"w{n}"] for n in range(60)])
    flow = declared(workshop, "Wide", body)
    stage = in_memory()
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    processes.drain()
    assert result.state == "SUCCEEDED"
    assert stage.telemetry.counted("Duplicates") <= 70


def test_a_map_beyond_the_runs_budget_fails_with_what_to_do(workshop: Workshop) -> None:
    stage = in_memory()
    processes = Processes(stage, workshop.app)
    workshop.lines = [f"line {n}" for n in range(400)]
    result = workshop.fulfil.apply_async({"order": 7}, budget=600)
    processes.drain()
    assert result.state == "FAILED"
    assert "step pack: BudgetExhausted" in result.show().cause
    assert stage.peek(PARKED) == []
    large = workshop.fulfil.apply_async({"order": 7}, budget=6_000)
    processes.drain()
    assert len(large.get()["ship"]) == 401


def test_large_inputs_and_results_travel_by_claim_check(stage: Stage, workshop: Workshop) -> None:
    text = workshop.task("text", lambda text: text * 2)

    class Large(Workflow, app=workshop.app):
        words = Input(str)
        first = Step(text.s(words))
        second = Step(text.s(first))

    processes = Processes(stage, workshop.app)
    result = Large.delay(words="x" * 150_000)
    processes.drain()
    assert len(result.get()["second"]) == 600_000
    assert result.retry is not None
    assert all(len(end.outbox) == 0 for end in stage.audit.ends)


def test_who_asks_for_a_run_that_is_not_there_is_told(workshop: Workshop) -> None:
    Processes(in_memory(), workshop.app)
    nobody = find(workshop.app, "nobody")
    for ask in (nobody.show, nobody.pause, nobody.cancel, nobody.retry, nobody.mermaid, lambda: nobody.value("x")):
        with pytest.raises(UnknownFlowRun, match="no flow run nobody"):
            ask()
    assert nobody.state == "PENDING"
    with pytest.raises(ResultTimeout, match="is PENDING and did not end within"):
        nobody.get(timeout=1)


def test_a_step_without_a_result_says_so(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    processes.deliver()
    with pytest.raises(WrongFlowState, match="fulfil has no step 'nothing'; it has price, reserve"):
        result.value("nothing")
    with pytest.raises(WrongFlowState, match="step ship is WAITING and has no result"):
        result.value("ship")


def test_a_running_flow_is_drawn_with_the_states_of_its_steps(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert "classDef COMPENSATED" in result.mermaid()
    assert result.svg().count('class="b FAILED"') == 2
    assert "fulfil · version 1 · FAILED" in result.svg()
    assert "classDef" not in workshop.fulfil.mermaid()


def test_a_drawn_run_tells_how_far_its_map_is(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.lines, workshop.broken = ["tea", "pot", "cup", "jar"], {"pack tea"}
    result = workshop.fulfil.delay(order=7)
    processes.deliver()
    assert "done" not in result.svg() + result.mermaid()
    while len([call for call in workshop.done if call.startswith("pack")]) < 3:
        processes.deliver()
    assert states_of(result)["pack"] == "RUNNING"
    assert "3 of 4 done, 1 failed" in result.svg()
    assert "3 of 4 done, 1 failed" in result.mermaid()
    widths = {kind: float(x) for kind, x in re.findall(r'<rect class="(p(?: [A-Z]+)?)" .*?width="([0-9.]+)"', result.svg())}
    assert widths["p SUCCEEDED"] == pytest.approx(3 * widths["p FAILED"], rel=0.02)
    assert widths["p"] == pytest.approx(4 * widths["p FAILED"], rel=0.02)


def test_a_result_cannot_be_decided_upon_where_it_is_declared(workshop: Workshop) -> None:
    value = Step(workshop.price.s(1))
    for decide in (lambda: bool(value), lambda: bool(value["total"] > 5), lambda: value > value["total"]):
        with pytest.raises(OptionError, match=r"not known when|when the workflow runs|in a step of its own"):
            decide()
    with pytest.raises(OptionError, match=r"a step is a task's signature"):
        Step("work")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"name the app that runs it"):
        types.new_class("Lost", (Workflow,))


def test_a_failed_workflow_leaves_the_history_and_the_ledger_agreeing(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"charge"}
    workshop.fulfil.delay(order=7)
    processes.drain()
    assert_kept(
        stage, {("price", "SUCCESS"): 1, ("reserve", "SUCCESS"): 1, ("charge", "FAILURE"): 1, ("release", "SUCCESS"): 1, PATROLLED: 1}
    )


def test_each_names_one_list(workshop: Workshop) -> None:
    with pytest.raises(ValueError, match=r"step 'both': map: 'each\(\) of several lists' is not a reference to a list"):

        class Twice(Workflow, app=workshop.app):
            price = Step(workshop.price.s(1))
            both = Step(workshop.ship.s(each(price["lines"]), each(price["total"])))


def test_a_run_whose_definition_is_lost_fails_and_says_so(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    processes.deliver()
    run = stage.ports.flow_runs.read(result.id)
    assert run is not None
    stage.damage(run.definition, None)
    keeping._KNOWN.clear()
    processes.drain()
    assert result.state == "FAILED"
    with pytest.raises(FlowFailed, match="it cannot go on: blob: dataref"):
        result.get()
    stage.pass_time(90_000)
    again = workshop.fulfil.delay(order=8)
    processes.drain()
    assert again.state == "SUCCEEDED"


def test_a_step_that_is_rejected_or_ignored_fails_its_run(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    for number, error in enumerate((Ignore("never mind"), Reject("not mine"))):

        def refuse(_: int, error: Exception = error) -> None:
            raise error

        work = workshop.task(f"refuse{number}", refuse)
        body = {"first": Step(workshop.reserve.s(1), compensate=workshop.release.s(own)), "then": Step(work.s(1))}
        flow = declared(workshop, f"Refused{number}", body)
        result = flow.delay()
        processes.drain()
        assert (result.state, workshop.done[-1]) == ("FAILED", "release shelf 1")


def test_a_step_costs_one_more_message_and_no_more_writes_than_its_task(workshop: Workshop) -> None:
    size, stage, watch = 20, in_memory(), Watch(ports=frozenset({"flow_runs", "ledger", "blobs"}))
    body: dict[str, Any] = {"s0": Step(workshop.price.s(1))}
    for number in range(1, size):
        body[f"s{number}"] = Step(workshop.price.s(number), after=body[f"s{number - 1}"])
    flow = declared(workshop, "Line", body)
    processes = Processes(stage, workshop.app)
    flow.delay()
    workshop.app.attach(tapped(stage.ports, watch))
    processes.restart(tapped(stage.ports, watch))
    processes.drain()
    assert stage.audit.writes == {"claim": size + 1, "record": size + 1}
    calls = Counter(watch.calls)
    assert (calls["flow_runs.begin"], calls["flow_runs.change"], calls["flow_runs.read"]) == (1, 1, size + 1)
    assert calls["ledger.read"] == size + 1
    assert len([line for line in lines(stage, "task-sent") if line["name"] == "sedano.workflow"]) == size + 1
    assert len(lines(stage, "task-sent")) == 2 * size + 2
