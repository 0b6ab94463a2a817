"""The worker over ports in memory: what becomes of messages when one of its steps breaks or gets no answer, and what it counts."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sedano.engine.batch import Held, Judged, Ran, Stillborn
from sedano.engine.redelivery import rounds
from sedano.engine.registry import Registry
from sedano.engine.task_context import current
from sedano.engine.worker.admission import GateEntry
from sedano.engine.worker.execution import DRAINED
from sedano.engine.worker.gate_order import GATES
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import EffectRefused, TooLarge, Unavailable
from sedano.memory import START, MemoryLedger, MemoryTelemetry
from sedano.model import refusals, states
from sedano.model.effects import ABSENT
from sedano.model.history.run_rows import Host
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import Outcome, Recorded, TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import PARKED, RECORDS, Delivery, Outgoing
from tests.unit.engine.gated import QUEUE, asked, batch, job, names, world

Body = Callable[..., Any]


def nothing(*_: Any) -> None:
    """Do nothing."""


class Stage:
    """One worker, with one task in each mode of delivery."""

    def __init__(self, body: Body = nothing, listener: Any = None, gates: Sequence[GateEntry] = GATES, **settings: Any) -> None:
        """Run *body*; *gates* check received messages."""
        self.ports = world(0.5, "ledger", "members")
        self.registry = Registry(tables={"stock": ("id",)})
        for mode in ("claimed", "at_least_once", "record_once"):
            self.registry.tasks[mode] = TaskSpec(mode, body, Parameters(body), delivery=mode, ignore_result=mode == "at_least_once")  # type: ignore[arg-type]
        chosen = WorkerSettings(**{"lanes": 0, **settings})
        self.worker = Worker(self.registry, self.ports, Host("me", 1), chosen, None, gates=gates, listener=listener)
        telemetry: Any = self.ports.telemetry
        self.telemetry: MemoryTelemetry = telemetry

    def work(self, *deliveries: Delivery, seconds: float = 30.0) -> list[str]:
        """Work these off, and return those that were given back."""
        return [one.message_id for one in self.worker.work(deliveries, self.ports.clock.now() + seconds)]

    def state(self, task_id: str) -> str:
        """The state that was recorded of a task."""
        record = self.ports.ledger.read([task_id]).get(task_id)
        return str(record.state) if record is not None else ""

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the history that were sent."""
        return [line for one in self.ports.queues.receive(RECORDS) for line in json.loads(one.body)["lines"]]

    def sent_to(self, queue: str) -> list[Outgoing]:
        """The messages that were sent to *queue*."""
        return [one for to, messages in asked(self.ports.queues, "send") if to == queue for one in messages]

    def answers(self, operation: str, answer: Any) -> None:
        """Let the ledger answer an operation otherwise."""

        def instead(items: Any, *_: Any) -> Any:
            if isinstance(answer, Exception) and not isinstance(answer, Unavailable | TooLarge):
                raise answer
            return [answer] * len(items)

        setattr(self.ports.ledger, operation, instead)


def message(name: str, task: str = "claimed", receives: int = 1) -> Delivery:
    """A message about *task*."""
    return Delivery(QUEUE, name, f"receipt-{name}", codec.encode(Command(name, name, task, "host", START, 1)), receives, START)


def test_what_came_before_walks_alone_after_what_is_new_and_each_time_in_the_other_order() -> None:
    new, again = [job("a"), job("b")], [job("c", receives=2), job("d", receives=3)]
    assert [names(one) for one in rounds(new)] == [["a", "b"]]
    assert [names(one) for one in rounds([*new, *again])] == [["a", "b"], ["d"], ["c"]]
    assert [names(one) for one in rounds(again)] == [["d"], ["c"]]
    assert [names(one) for one in rounds([job("c", receives=3), job("d", receives=2)])] == [["c"], ["d"]]


def test_a_worker_counts_what_it_did_not_give_back() -> None:
    stage = Stage()
    assert stage.work(message("a"), message("b"), message("c", "nothing")) == ["c"]
    assert stage.worker.commands.worked == 2
    assert stage.work(message("d")) == []
    assert stage.worker.commands.worked == 3


def test_a_worker_that_begins_reports_itself_before_it_has_received_anything() -> None:
    stage = Stage()
    stage.worker.join()
    (member,) = stage.ports.members.read()
    assert (member.name, member.state, member.in_flight, member.tasks) == ("me", "ACTIVE", 0, ())
    assert [line["type"] for line in stage.lines()] == ["worker-online"]


def test_a_round_that_breaks_gives_back_what_it_has_not_decided_and_sets_aside_who_walked_alone() -> None:
    stage = Stage()

    def breaks(*_: Any) -> None:
        raise RuntimeError("a defect")

    object.__setattr__(stage.worker, "_walk", breaks)
    assert stage.work(message("a"), message("b"), message("d", receives=2)) == ["a", "b"]
    assert [(one.attributes["message_id"], one.attributes["reason"]) for one in stage.sent_to(PARKED)] == [("d", refusals.UNEXPECTED)]


def test_a_message_that_was_finished_before_its_round_broke_is_not_given_back() -> None:
    stage = Stage()

    def breaks(jobs: Sequence[Any], _: Any) -> None:
        stage.worker._intake.window.add(jobs[0].command.id)
        raise RuntimeError("a defect")

    object.__setattr__(stage.worker, "_walk", breaks)
    assert stage.work(message("a"), message("b")) == ["b"]
    assert stage.work(message("c")) == []
    assert stage.sent_to(PARKED) == []


@pytest.mark.parametrize("answer", [Unavailable("away"), TooLarge("large")])
def test_an_outcome_that_got_no_answer_is_not_recorded_and_its_message_comes_again(answer: Exception) -> None:
    heard: list[tuple[str, Judged | None]] = []
    stage = Stage(listener=lambda ran, judged: heard.append((ran.held.job.command.id, judged)))
    stage.answers("record", answer)
    assert stage.work(message("a")) == ["a"]
    assert heard == [("a", None)]
    assert stage.worker._intake.window._ids == {}
    assert stage.telemetry.counted("TasksSucceeded") == 0


def test_an_outcome_without_a_claim_that_got_no_answer_is_sent_anew_as_an_execution() -> None:
    stage = Stage()
    stage.answers("keep", Unavailable("away"))
    assert stage.work(message("a", "record_once")) == []
    (again,) = stage.sent_to(QUEUE)
    assert again.attributes == {"sedano-waited": "1 1"}
    assert [line["type"] for line in stage.lines() if line["type"] == "message-held"] == ["message-held"]


def test_a_claimed_outcome_that_got_no_answer_waits_under_its_claim() -> None:
    stage = Stage()
    stage.answers("record", Unavailable("away"))
    assert stage.work(message("a")) == ["a"]
    assert stage.sent_to(QUEUE) == []


@pytest.mark.parametrize(("task", "kind"), [("claimed", "claim-refused"), ("record_once", "message-duplicate")])
def test_a_late_outcome_is_reported_and_only_a_claim_that_was_lost_comes_again(task: str, kind: str) -> None:
    stage = Stage()
    theirs = TaskRecord("a", states.SUCCESS, message_id="other", name=task)
    stage.answers("record", Recorded(False, theirs))
    stage.answers("keep", Recorded(False, theirs))
    assert stage.work(message("a", task)) == (["a"] if task == "claimed" else [])
    assert [line["type"] for line in stage.lines() if line["type"] in ("claim-refused", "message-duplicate")] == [kind]
    assert stage.telemetry.counted("Duplicates", task=task) == (0 if task == "claimed" else 1)
    assert stage.telemetry.counted("WritesFencedOff", task=task) == (1 if task == "claimed" else 0)


@pytest.mark.parametrize("record", [None, TaskRecord("a", states.RUNNING, message_id="other")])
def test_a_run_without_a_claim_whose_task_others_have_not_ended_comes_again(record: TaskRecord | None) -> None:
    stage = Stage()
    stage.answers("keep", Recorded(False, record))
    assert stage.work(message("a", "record_once")) == ["a"]


def test_claims_of_bodies_that_still_run_are_let_go_and_only_their_messages_are_returned() -> None:
    left: list[list[str]] = []
    stage = Stage(lambda: left.append([one.message_id for one in stage.worker.cut()]), visibility=30.0)
    stage.work(message("a"))
    assert left == [["a"]]
    assert stage.state("a") == states.RETRY
    refused: list[list[str]] = []

    def cut() -> None:
        stage.answers("record", Unavailable("away"))
        refused.append([one.message_id for one in stage.worker.cut()])

    stage = Stage(cut, visibility=30.0)
    stage.work(message("a"))
    assert refused == [[]]


def test_claims_that_were_never_begun_are_released() -> None:
    stage = Stage()
    held = [Held(job("a"), TaskRecord("a", states.RUNNING, fence=3, nonce="n")), Held(job("b"), None)]
    found = batch(stage.ports)
    found.unstarted += held
    stage.worker._release(found)
    ((outcomes,),) = asked(stage.ports.ledger, "record")
    assert [(one.task_id, one.state, one.fence, one.next_attempt) for one in outcomes] == [("a", states.RETRY, 3, 0)]
    stage.worker._release(batch(stage.ports))
    assert len(asked(stage.ports.ledger, "record")) == 1


@pytest.mark.parametrize(("state", "released"), [(states.REVOKED, ["a"]), (states.POISON, [])])
def test_an_end_whose_message_could_not_be_set_aside_is_not_recorded_and_only_a_poison_keeps_its_claim(
    state: Any, released: list[str]
) -> None:
    stage = Stage()
    why = Stillborn(state, refusals.REVOKED, "taskid", "why")
    found = batch(stage.ports)
    ran = Ran(Held(job("a"), TaskRecord("a", states.RUNNING), why), Run(), None, (), 0.0, 0, 0.0)
    found.give_back(ran.held.job.delivery)
    stream = stage.worker._stream()
    stage.worker._unrun(stream, found, ran)
    assert stream.close() == []
    assert [one.job.command.id for one in found.unstarted] == released


def test_a_run_whose_effect_is_refused_has_failed_and_none_of_its_effects_is_made() -> None:
    def body() -> None:
        current().effects.put("stock", {"id": "1"}, condition=ABSENT)

    stage = Stage(body)
    assert stage.work(message("a")) == []
    assert stage.state("a") == states.SUCCESS
    stage.work(message("b"))
    record = stage.ports.ledger.read(["b"])["b"]
    assert record.state in (states.RETRY, states.FAILURE)
    assert record.error is not None
    assert record.error.type_name == EffectRefused.__name__


def test_the_gates_have_learnt_how_bodies_ended_even_where_what_follows_breaks() -> None:
    stage = Stage()
    learnt: list[str] = []
    gates: Any = stage.worker._admission
    gates.learn = lambda ended, ready, found: learnt.extend(one.ran.held.job.command.id for one in ended)

    class Broken:
        def follow(self, *_: Any) -> None:
            raise RuntimeError("a defect")

    broken: Any = Broken()
    stage.worker._following = broken
    stage.work(message("a"))
    assert learnt == ["a"]


def test_a_failure_is_logged_once_and_a_success_is_not() -> None:
    def body() -> None:
        raise ValueError("no")

    stage = Stage(body)
    stage.work(message("a", "at_least_once"))
    assert len([one for one in stage.telemetry.messages() if "task failed" in one]) == 1
    good = Stage()
    good.work(message("a", "at_least_once"))
    assert [one for one in good.telemetry.messages() if "task failed" in one] == []


def test_a_batch_whose_time_is_over_is_put_back_unclaimed() -> None:
    stage = Stage()
    assert stage.work(message("a"), seconds=0.5) == ["a"]
    assert asked(stage.ports.ledger, "claim") == []


def test_a_message_that_was_set_aside_before_its_round_broke_is_not_given_back() -> None:
    stage = Stage()

    def breaks(jobs: Sequence[Any], found: Any) -> None:
        found.park(jobs[0].delivery, refusals.SCHEMA, "data", "no")
        raise RuntimeError("a defect")

    object.__setattr__(stage.worker, "_walk", breaks)
    assert stage.work(message("a"), message("b")) == ["b"]
    assert [one.attributes["message_id"] for one in stage.sent_to(PARKED)] == ["a"]


def test_an_outcome_without_a_claim_that_cannot_be_written_at_all_sets_its_message_aside() -> None:
    stage = Stage()
    stage.answers("keep", RuntimeError("a defect"))
    assert stage.work(message("a", "record_once")) == []
    assert [one.attributes["reason"] for one in stage.sent_to(PARKED)] == [refusals.UNEXPECTED]
    assert stage.sent_to(QUEUE) == []


def test_what_a_gate_took_is_released_after_what_follows_was_sent() -> None:
    stage = Stage()
    steps: list[str] = []
    following: Any = type("Following", (), {"follow": lambda self, accepted, found: steps.append("follow")})()
    gates: Any = stage.worker._admission
    stage.worker._following, gates.release = following, lambda found: steps.append("release")
    stage.work(message("a"))
    assert steps[:2] == ["follow", "release"]


def test_a_worker_that_drains_begins_no_body_and_says_so_without_a_warning() -> None:
    ran: list[int] = []
    stage = Stage(lambda: ran.append(1))
    stage.worker.drain()
    assert stage.work(message("a")) == ["a"]
    assert ran == []
    assert DRAINED in stage.telemetry.messages("info")
    late = Stage(lambda: ran.append(1))
    late.work(message("a"), seconds=0.5)
    assert "no time left in this invocation" in late.telemetry.messages("warning")


def test_a_body_that_a_gate_stopped_at_its_begin_is_recorded_only_where_its_message_was_set_aside() -> None:
    stage = Stage()
    found = batch(stage.ports)
    why = Stillborn(states.EXPIRED, refusals.EXPIRED, "expires", "late")
    ran = Ran(Held(job("a"), TaskRecord("a", states.RUNNING), why), Run(), None, (), 0.0, 0, 0.0)
    found.give_back(ran.held.job.delivery)
    stream = stage.worker._stream()
    stage.worker._ended(stream, found, ran)
    assert stream.close() == []
    assert found.unstarted == [ran.held]


class Patient(MemoryLedger):
    """A ledger whose first write of an end without a claim waits until the next body has begun."""

    def __init__(self, clock: Any) -> None:
        """Begin with no body."""
        super().__init__(clock)
        self.began, self.saw = threading.Event(), list[bool]()

    def keep(self, outcomes: Sequence[Outcome]) -> list[Any]:
        """Wait, then write."""
        self.saw.append(self.began.wait(2))
        return [*super().keep(outcomes)]


def test_an_end_without_a_claim_is_recorded_by_a_lane_while_the_next_body_runs() -> None:
    begun: list[int] = []

    def body() -> None:
        begun.append(1)
        if len(begun) == 2:
            ledger.began.set()

    stage = Stage(body, lanes=1)
    ledger = Patient(stage.ports.clock)
    stage.ports.ledger.port = ledger  # type: ignore[attr-defined]
    assert stage.work(message("a", "record_once"), message("b", "record_once")) == []
    assert ledger.saw == [True, True]


def test_a_run_that_writes_nothing_is_concluded_on_its_own_thread_before_the_next_body_begins() -> None:
    heard: list[tuple[str, threading.Thread]] = []
    before: list[list[tuple[str, threading.Thread]]] = []
    stage = Stage(
        lambda: before.append([*heard]), lanes=1,
        listener=lambda ran, _: heard.append((ran.held.job.command.id, threading.current_thread())),
    )  # fmt: skip
    assert stage.work(message("a", "at_least_once"), message("b", "at_least_once")) == []
    assert before == [[], [("a", threading.current_thread())]]
