"""The call that a task leaves behind when it ends without success, and the run that is made of it."""

import dataclasses
import json
from typing import Any

import pytest

from sedano import memory
from sedano.engine import reruns
from sedano.engine.batch import Held, Job, Ran, Stillborn
from sedano.engine.registry import Registry
from sedano.engine.reruns import Rerun
from sedano.errors import ArgumentError, MessageRefused, RerunRefused, SedanoError, Unavailable, UnknownQueue
from sedano.model import refusals, states
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord, Outcome, Posted, Recorded, TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.lineage import DEFAULT_BUDGET, Lineage, rerun_id
from sedano.model.messages.message import MAP, MAP_ASYNC, BlobRef, Command, Event, Gather, JoinMember, Place, Section
from sedano.model.messages.stamps import LONGEST
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.model.workflow.flow_run import FlowRun
from sedano.ports import Delivery, Ports, absent, command_queue

COMMAND = Command(
    "message-1", "task-1", "shop.sell", "host", 7.0, 8, args=("tea",), kwargs={"n": 2}, attempt=3, lineage=Lineage("root", "parent", 4, 50),
    expires=9.0, tenant="acme", member=JoinMember("join", 0, 2), section=Section(1, 2), place=Place("canvas", "0", "{}"), stamps="a=b",
)  # fmt: skip
MAIL = command_queue("mail.fifo")


def ended(command: Command = COMMAND, why: Stillborn | None = None, run: Run | None = None, **spec: Any) -> Ran:
    """The end of a run of *command*."""
    task = TaskSpec(command.task, print, Parameters(lambda *_, **__: None), **spec)
    delivery = Delivery(MAIL, "m", "r", "", serial_key="order-1")
    job = Job(delivery=delivery, command=command, task=task, received=0.0, received_clock=0, mode="claimed")
    return Ran(held=Held(job, None, why), run=run or Run(), result=None, drafts=(), started=0.0, started_clock=0, ended=0.0)


def kept(ran: Ran, ports: Ports) -> Command:
    """The command of the call that is kept of *ran*."""
    call = reruns.call_of(ran, ports)
    assert call is not None
    found = codec.decode(call.body)
    assert isinstance(found, Command)
    return found


def record(**changes: Any) -> TaskRecord:
    """The record of a failed task that left a call behind."""
    call = reruns.call_of(ended(), memory.ports())
    return TaskRecord("task-1", states.FAILURE, message_id="message-1", name="shop.sell", call=call)._replace(**changes)


def test_a_call_is_the_message_outside_of_its_canvas_and_its_attempts() -> None:
    call = reruns.call_of(ended(), memory.ports())
    assert call is not None
    assert call._replace(body="") == Posted(MAIL, "", 0, "acme", "order-1")
    assert codec.decode(call.body) == COMMAND._replace(member=None, place=None, section=None, attempt=0)


@pytest.mark.parametrize("code", [refusals.SUPERSEDED, refusals.BUSY])
def test_no_call_is_kept_where_another_call_took_the_place(code: str) -> None:
    assert reruns.call_of(ended(why=Stillborn(states.REVOKED, code, "batch", "")), memory.ports()) is None


@pytest.mark.parametrize("code", [refusals.EXPIRED, refusals.POISON, refusals.CIRCUIT, refusals.REVOKED])
def test_a_call_is_kept_of_what_did_not_begin(code: str) -> None:
    assert reruns.call_of(ended(why=Stillborn(states.FAILURE, code, "x", "")), memory.ports()) is not None


@pytest.mark.parametrize(("name", "is_kept"), [("sedano.launch", False), ("sedano.workflow", False), (MAP, True), (MAP_ASYNC, True)])
def test_of_the_librarys_own_tasks_the_calls_of_maps_are_kept(name: str, is_kept: bool) -> None:
    assert (reruns.call_of(ended(COMMAND._replace(task=name)), memory.ports()) is not None) == is_kept


def test_arguments_travel_with_the_record_up_to_a_length_and_by_claim_check_beyond() -> None:
    ports = memory.ports()
    bare = len(codec.encode(COMMAND._replace(args=("",), member=None, place=None, section=None, attempt=0)))
    short, long = (COMMAND._replace(args=("x" * (4_096 - bare + more),)) for more in (0, 1))
    assert kept(ended(short), ports).args == short.args
    found = kept(ended(long), ports)
    assert found.data_ref is not None
    assert (found.args, codec.decode_data(ports.blobs.get(found.data_ref))) == ((), (long.args, {"n": 2}))


def test_a_claim_check_of_the_message_itself_is_kept_as_it_is() -> None:
    ports = memory.ports()
    ref = ports.blobs.put(codec.encode_data(("tea",), {}))
    long = "x" * 256
    names = {"id": long, "task_id": long, "task": long, "source": long, "lineage": Lineage(long, long)}
    command = COMMAND._replace(args=(), kwargs={}, data_ref=ref, stamps="a=" + "x" * (LONGEST - 2), **names)
    call = reruns.call_of(ended(command), ports)
    assert call is not None
    assert len(call.body) <= reruns.CALL_BYTES
    assert kept(ended(command), ports).data_ref == ref


def test_the_next_run_is_a_child_of_the_first_with_its_budget() -> None:
    found = reruns.rerun_of(COMMAND, MAIL, "order-1", 50)
    assert found[2:] == (MAIL, "order-1")
    assert (found.ended_id, found.command.task_id) == ("task-1", rerun_id("task-1"))
    assert found.command.lineage == Lineage("root", "task-1", 4, 50)
    assert (found.command.attempt, found.command.expires, found.command.id, found.command.section) == (0, None, "", None)
    assert (found.command.member, found.command.place) == (None, None)


def test_the_next_run_of_a_root_belongs_to_the_roots_tree() -> None:
    assert reruns.rerun_of(COMMAND._replace(lineage=Lineage()), MAIL, None, 9).command.lineage.root_id == "task-1"


def test_a_budget_above_the_ceiling_is_not_claimed_without_its_mark() -> None:
    assert reruns.rerun_of(COMMAND, MAIL, None, 49).command.lineage.budget == DEFAULT_BUDGET


@pytest.mark.parametrize(
    ("changes", "is_ended"),
    [({}, True), ({"state": states.POISON}, True), ({"state": states.SUCCESS}, False), ({"state": states.RUNNING}, False),
     ({"message_id": "message-2"}, False)],
)  # fmt: skip
def test_a_message_is_spent_when_it_ended_its_task_without_success(changes: dict[str, Any], is_ended: bool) -> None:
    assert reruns.is_ended_by(record(**changes), COMMAND) == is_ended


def test_a_message_without_a_record_is_not_spent() -> None:
    assert not reruns.is_ended_by(None, COMMAND)


def test_the_arguments_of_a_call_are_read_from_it() -> None:
    assert reruns.arguments_of(record()) == (("tea",), {"n": 2})


def test_no_arguments_are_read_where_none_are_kept_or_a_blob_holds_them() -> None:
    ports = memory.ports()
    by_blob = reruns.call_of(ended(COMMAND._replace(args=(), kwargs={}, data_ref=ports.blobs.put(b"{}"))), ports)
    event = Posted(MAIL, codec.encode(Event("e", "Sold", "host", 1.0)))
    assert [reruns.arguments_of(record(call=call)) for call in (None, by_blob, event, Posted(MAIL, "{"))] == [None] * 4


def test_a_call_that_this_version_cannot_read_is_refused_for_itself() -> None:
    ports = memory.ports()
    event = Posted(MAIL, codec.encode(Event("e", "Sold", "host", 1.0)))
    refused, unreadable = planned(ports, event, Posted(MAIL, "{"))
    assert isinstance(unreadable, MessageRefused)
    assert isinstance(refused, MessageRefused)
    assert (refused.code, refused.field, refused.detail) == (refusals.SCHEMA, "type", "a call is kept as a command")


def test_a_stage_without_workflows_runs_the_child_of_a_task_again() -> None:
    ports = dataclasses.replace(memory.ports(), flow_runs=absent("flow_runs"))
    (again,) = planned(ports, Posted(MAIL, codec.encode(COMMAND._replace(place=None))))
    assert isinstance(again, Rerun)


class Away(memory.MemoryFlowRuns):
    """Flow runs that do not answer."""

    def read(self, run_id: str) -> FlowRun | None:
        """Be away."""
        raise Unavailable(f"flow runs: away for {run_id}")


def test_a_task_without_a_parent_is_looked_up_in_no_workflow() -> None:
    called = [COMMAND._replace(place=None, lineage=Lineage(None, parent)) for parent in (None, "parent")]
    bare, child = (Posted(MAIL, codec.encode(one)) for one in called)
    answers = planned(dataclasses.replace(memory.ports(), flow_runs=Away()), bare, child)
    assert [type(one) for one in answers] == [Rerun, Unavailable]


def planned(ports: Ports, *calls: Posted) -> list[Rerun | SedanoError]:
    """The next runs of failed tasks that left these calls behind."""
    ends = [failure(f"task-{number}", call) for number, call in enumerate(calls)]
    assert all(isinstance(answer, Recorded) and answer.accepted for answer in ports.ledger.keep(ends))
    return reruns.planned(ports, [end.task_id for end in ends])


def failure(task_id: str, call: Posted) -> Outcome:
    """The end of a task that failed."""
    return Outcome(
        task_id=task_id, state=states.FAILURE, nonce="n", fence=0, message_id="m", attempt=0, clock=1, name="shop.sell", at=1.0, call=call,
    )  # fmt: skip


def test_each_run_goes_to_its_own_queue_and_is_answered_for_itself() -> None:
    ports = memory.ports(("mail", "bulk"))
    queues = [command_queue(name) for name in ("bulk", "gone", "mail", "bulk")]
    some = [reruns.rerun_of(COMMAND._replace(task_id=f"task-{n}"), queue, None, 50) for n, queue in enumerate(queues)]
    answers = reruns.publish(ports, some)
    assert [type(answer) for answer in answers] == [type(None), UnknownQueue, type(None), type(None)]
    sent = {name: [json.loads(one.body)["taskid"] for one in ports.queues.peek(command_queue(name))] for name in ("mail", "bulk")}
    assert sent == {"mail": [rerun_id("task-2")], "bulk": [rerun_id("task-0"), rerun_id("task-3")]}


def test_the_clock_of_a_rerun_is_the_time_in_microseconds() -> None:
    ports = memory.ports(("mail",))
    assert reruns.publish(ports, [reruns.rerun_of(COMMAND, command_queue("mail"), None, 50)]) == [None]
    (sent,) = ports.queues.peek(command_queue("mail"))
    found = codec.decode(sent.body)
    assert isinstance(found, Command)
    assert found.clock == ports.clock.now() * 1_000_000


def test_each_refusal_names_its_task() -> None:
    ports = memory.ports()
    ports.ledger.keep([failure("failed", Posted(MAIL, ""))._replace(state=states.SUCCESS, call=None)])
    ports.ledger.keep([failure("bare", Posted(MAIL, ""))._replace(call=None, error=ErrorRecord("E", "m", cause="bare"))])
    ports.ledger.reserve("again", "m", 0.0, 1.0)
    said = [str(one) for one in reruns.planned(ports, ["failed", "bare", "again", "unknown"])]
    assert said == [
        "failed: it ended as SUCCESS; to run it once more, publish it: sedano call shop.sell …",
        "bare: its arguments were not kept; publish it again: sedano call shop.sell …",
        "again: it is PENDING and has not ended",
        "unknown: no task is recorded under it; `sedano explain unknown` looks for it",
    ]


def takes_a_name(name: str, n: int = 1) -> None:
    """Stand for the function of a task."""


REGISTRY = Registry()
REGISTRY.tasks["shop.sell"] = TaskSpec("shop.sell", takes_a_name, Parameters(takes_a_name))
STORED = COMMAND._replace(args=(), kwargs={}, data_ref=BlobRef("0" * 64, 5))


@pytest.mark.parametrize(
    ("before", "args", "kwargs", "found"),
    [(COMMAND, None, None, (("tea",), {"n": 2})), (COMMAND, ["ale"], None, (("ale",), {"n": 2})), (COMMAND, None, {}, (("tea",), {})),
     (STORED, ["ale"], {"n": 3}, (("ale",), {"n": 3})), (COMMAND._replace(task="unknown"), [1, 2, 3], None, ((1, 2, 3), {"n": 2}))],
)  # fmt: skip
def test_arguments_that_are_not_given_stay_as_they_were(before: Command, args: Any, kwargs: Any, found: Any) -> None:
    again = reruns.edited(Rerun("task-1", before, MAIL), args, kwargs, REGISTRY)
    assert again == Rerun("task-1", before._replace(args=found[0], kwargs=found[1], data_ref=None), MAIL)


GATHERED = COMMAND._replace(gather=Gather("join", 2))
IN_PART = "its arguments are in the blob store and cannot be edited in part; give args and kwargs"


@pytest.mark.parametrize(
    ("before", "args", "kwargs", "why"),
    [(STORED, ["ale"], None, IN_PART), (STORED, None, {"n": 3}, IN_PART), (STORED, None, None, IN_PART),
     (GATHERED, ["ale"], {}, "its first argument is the results of a chord; retry it without other arguments")],
)  # fmt: skip
def test_arguments_that_lie_elsewhere_are_not_edited(before: Command, args: Any, kwargs: Any, why: str) -> None:
    with pytest.raises(RerunRefused) as refused:
        reruns.edited(Rerun("task-1", before, MAIL), args, kwargs, REGISTRY)
    assert str(refused.value) == f"task-1: {why}"


def test_arguments_that_the_task_does_not_take_are_refused() -> None:
    with pytest.raises(ArgumentError):
        reruns.edited(Rerun("task-1", COMMAND, MAIL), [], None, REGISTRY)
