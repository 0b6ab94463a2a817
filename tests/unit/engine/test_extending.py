"""The extension of claims alone: what a worker believes to hold, what a beat extends, and what it leaves alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch, Held, Job
from sedano.engine.worker.claim_extension import BEATS, GUARD_S, SHORTEST_S, Extending, claim_length, threaded
from sedano.errors import OptionError, Unavailable
from sedano.model import states
from sedano.model.ledger.records import Claim, Claimed, Outcome, TaskRecord
from tests.unit.engine.gated import advance, asked, batch, job, world

VISIBILITY = 8.0
LENGTH = claim_length(VISIBILITY)


class SetBack(memory.VirtualClock):
    """A clock whose wall time can be set back."""

    back = 0.0

    def now(self) -> float:
        """Return the wall time."""
        return super().now() - self.back


class Stage:
    """One worker's extension, whose beats the test makes."""

    def __init__(self, visibility: float | None = VISIBILITY) -> None:
        """Extend for that long."""
        self.ports = world(0.5, "ledger")
        self.every: list[float] = []
        self.stopped = 0
        self.extending = Extending(self.ports, visibility, self.ticker)
        self.batch: Batch = batch(self.ports, 100.0)

    def ticker(self, seconds: float, _: Any) -> Any:
        """Note how often it would beat."""
        self.every.append(seconds)
        return self.stop

    def stop(self) -> None:
        """Beat no more."""
        self.stopped += 1

    @contextmanager
    def kept(self, *jobs: Job) -> Iterator[None]:
        """Keep the messages of these."""
        with self.extending.batch([one.delivery for one in jobs], self.batch):
            yield

    def claimed(self, one: Job) -> Held:
        """The claim of a job, held."""
        until = self.ports.clock.now() + LENGTH
        (answer,) = self.ports.ledger.claim([Claim(one.command.task_id, 0, one.command.id, "n", until, 1, "only")])
        held = Held(one, answer.record)
        self.extending.hold([held])
        return held

    def beat(self, after: float = LENGTH / BEATS) -> None:
        """Beat."""
        advance(self.ports, after)
        self.extending.beat(self.batch)

    def hidden(self) -> list[str]:
        """The messages whose visibility was extended, in order."""
        return [delivery.message_id for delivery, _ in asked(self.ports.queues, "hold")]

    def record(self, held: Held) -> TaskRecord:
        """The record of a claim as it is now."""
        return self.ports.ledger.read([held.job.command.task_id])[held.job.command.task_id]


def test_a_beat_extends_the_claim_and_then_hides_its_message_for_longer() -> None:
    stage = Stage()
    with stage.kept(job("a"), job("b")):
        held = stage.claimed(job("a"))
        assert stage.every == [1.0], "six beats in the length of a claim"
        stage.beat()
        assert stage.record(held).expires == stage.ports.clock.now() + LENGTH
        assert asked(stage.ports.queues, "hold") == [(job("a").delivery, VISIBILITY), (job("b").delivery, VISIBILITY)]


def test_a_body_begins_only_while_its_claim_or_the_visibility_of_its_message_lasts_by_both_clocks() -> None:
    stage = Stage()
    with stage.kept(job("a"), job("b")):
        held, plain = stage.claimed(job("a")), Held(job("b"), None)
        advance(stage.ports, LENGTH - GUARD_S - 0.001)
        assert stage.extending.holds(held)
        advance(stage.ports, 0.001)
        assert not stage.extending.holds(held), "the clock of another worker may be ahead by that much"
        advance(stage.ports, GUARD_S - 0.001)
        assert stage.extending.holds(plain)
        advance(stage.ports, 0.001)
        assert not stage.extending.holds(plain)
    assert not stage.extending.holds(held), "a batch that is over holds nothing"
    assert Stage(None).extending.holds(held), "where nothing is extended a claim lasts as long as its invocation"


def test_a_task_whose_claim_ended_by_this_workers_belief_is_overdue_while_its_body_runs() -> None:
    stage = Stage()
    with stage.kept(job("a"), job("b"), job("c")):
        stage.claimed(job("a"))
        advance(stage.ports, 1.0)
        ended, found = stage.claimed(job("b")), list[Any]()
        for seconds in (0.0, LENGTH - GUARD_S - 1.0, 1.0):
            advance(stage.ports, seconds)
            found.append(stage.extending.overdue(()))
        stage.extending.ended([ended])
        assert [*found, stage.extending.overdue(())] == [[], ["a"], ["a", "b"], ["a"]], "c has no claim"


def test_where_nothing_is_extended_a_body_is_overdue_after_its_deadline() -> None:
    stage = Stage(None)
    running: Any = [SimpleNamespace(id=name, deadline=stage.ports.clock.now() + late) for name, late in (("a", 5.0), ("b", 6.0))]
    advance(stage.ports, 5.0)
    assert stage.extending.overdue(running) == [], "the deadline itself is in time"
    advance(stage.ports, 0.5)
    assert stage.extending.overdue(running) == ["a"]


def test_a_wall_clock_that_was_set_back_lets_no_body_begin_late() -> None:
    stage = Stage()
    clock = SetBack(memory.START)
    stage.extending = Extending(replace(stage.ports, clock=clock), VISIBILITY, stage.ticker)
    with stage.kept(job("b")):
        clock.back = 3_600.0
        clock.advance(LENGTH - 0.001)
        assert stage.extending.holds(Held(job("b"), None))
        clock.advance(0.001)
        assert not stage.extending.holds(Held(job("b"), None))


def test_a_message_without_a_claim_is_let_go_once_its_visibility_may_have_ended_and_a_claim_is_asked_for() -> None:
    stage = Stage()
    with stage.kept(job("a"), job("b")):
        held = stage.claimed(job("a"))
        stage.beat(LENGTH)
        assert stage.hidden() == ["a"], "whose claim nobody took over"
        assert stage.extending.holds(held)
        assert not stage.extending.holds(Held(job("b"), None))


def test_a_claim_that_was_taken_over_is_extended_no_more_and_neither_is_its_message() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        held = stage.claimed(job("a"))
        advance(stage.ports, LENGTH + 0.001)
        stolen = stage.ports.ledger.steal(Claim("a", 0, "a", "theirs", stage.ports.clock.now() + 50.0, 1, "only"), stage.record(held))
        assert stolen.granted
        stage.beat()
        assert stage.hidden() == []
        assert not stage.extending.holds(held)
        stage.beat()
        assert len(asked(stage.ports.ledger, "extend")) == 1
        assert stage.record(held).nonce == "theirs"
        telemetry: Any = stage.ports.telemetry
        assert telemetry.messages("warning") == ["a claim cannot be extended: the task was taken over"]


def test_a_claim_whose_end_this_worker_has_recorded_keeps_only_its_message() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        held = stage.claimed(job("a"))
        seen = stage.record(held)
        stage.ports.ledger.record([Outcome("a", states.SUCCESS, seen.nonce, seen.fence, "a", 0, 1, "only", 1.0)])
        stage.beat()
        stage.beat()
        assert stage.hidden() == ["a", "a"]
        assert len(asked(stage.ports.ledger, "extend")) == 1
        telemetry: Any = stage.ports.telemetry
        assert telemetry.messages("warning") == []


def test_a_claim_whose_extension_got_no_answer_is_asked_for_again_and_its_message_is_left_alone() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        held = stage.claimed(job("a"))
        ledger: Any = stage.ports.ledger
        ledger.extend = lambda wanted: [Unavailable("away")] * len(wanted)
        stage.beat()
        assert stage.hidden() == []
        assert stage.extending.holds(held)
        del ledger.extend
        stage.beat()
        assert stage.hidden() == ["a"]


def test_what_was_decided_or_has_ended_is_extended_no_more() -> None:
    stage = Stage()
    with stage.kept(job("a"), job("b"), job("c")):
        ended = stage.claimed(job("a"))
        stage.batch.give_back(job("b").delivery)
        stage.extending.ended([ended])
        stage.beat()
        assert stage.hidden() == ["a", "c"]
        assert asked(stage.ports.ledger, "extend") == []
        assert stage.extending.let_go() == []
        stage.beat()
        assert stage.hidden() == ["a", "c"]


def test_nothing_is_extended_beyond_the_time_of_the_batch() -> None:
    stage = Stage()
    stage.batch.deadline = stage.ports.clock.now() + 1.0
    with stage.kept(job("a")):
        stage.beat(1.0)
        assert stage.hidden() == ["a"]
        stage.beat(0.001)
        assert stage.hidden() == ["a"]


def test_a_message_that_was_decided_or_a_worker_that_let_go_while_claims_were_extended_is_left_alone() -> None:
    for decides in (True, False):
        stage = Stage()
        with stage.kept(job("a")):
            stage.claimed(job("a"))
            ledger: Any = stage.ports.ledger
            extend = ledger.extend

            def meanwhile(wanted: Any, stage: Stage = stage, decides: bool = decides, extend: Any = extend) -> Any:
                answers = extend(wanted)
                stage.batch.give_back(job("a").delivery) if decides else stage.extending.let_go()
                return answers

            ledger.extend = meanwhile
            stage.beat()
            assert stage.hidden() == []


def test_a_host_whose_queue_hides_messages_for_long_enough_extends_nothing() -> None:
    stage = Stage(None)
    with stage.kept(job("a")):
        stage.extending.ended([stage.claimed(job("a"))])
        stage.claimed(job("b"))
        stage.beat()
    assert (stage.every, stage.hidden(), stage.extending.let_go()) == ([], [], [])


def test_a_worker_that_let_go_extends_nothing_any_more() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        stage.claimed(job("a"))
        assert [one.delivery.message_id for one in stage.extending.let_go()] == ["a"]
        stage.extending.hold([Held(job("b"), TaskRecord("b", states.RUNNING, expires=stage.ports.clock.now() + 9.0))])
        stage.beat()
    assert stage.hidden() == []
    assert asked(stage.ports.ledger, "extend") == []


def test_the_beats_end_with_the_batch_and_nothing_of_it_is_held_any_more() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        held = stage.claimed(job("a"))
        assert stage.extending.holds(held)
        assert stage.stopped == 0
    assert stage.stopped == 1
    assert not stage.extending.holds(held)


def test_a_wall_clock_that_runs_on_while_the_machine_sleeps_ends_a_belief() -> None:
    stage = Stage()
    clock = SetBack(memory.START)
    stage.extending = Extending(replace(stage.ports, clock=clock), VISIBILITY, stage.ticker)
    with stage.kept(job("b")):
        clock.advance(1.0)
        clock.back = 1.5 - LENGTH
        assert stage.extending.holds(Held(job("b"), None))
        clock.back = 1.0 - LENGTH
        assert clock.now() == memory.START + LENGTH
        assert not stage.extending.holds(Held(job("b"), None))


def test_a_claim_that_was_extended_is_believed_until_a_guard_before_its_new_end() -> None:
    stage = Stage()
    with stage.kept(job("a"), job("b")):
        held = stage.claimed(job("a"))
        stage.beat()
        advance(stage.ports, LENGTH - GUARD_S - 0.001)
        assert stage.extending.holds(held)
        advance(stage.ports, 0.001)
        assert not stage.extending.holds(held)
        assert stage.extending.holds(Held(job("b"), None)), "its message is hidden for longer"


def test_the_claim_of_a_message_that_was_decided_is_not_asked_for() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        stage.claimed(job("a"))
        stage.batch.give_back(job("a").delivery)
        stage.beat()
    assert asked(stage.ports.ledger, "extend") == []


def test_a_message_that_got_its_claim_while_it_was_hidden_is_believed_no_longer_than_the_claim() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        queues: Any = stage.ports.queues
        hold, held = queues.hold, list[Held]()

        def meanwhile(delivery: Any, seconds: float) -> None:
            hold(delivery, seconds)
            held.append(stage.claimed(job("a")))

        queues.hold = meanwhile
        stage.beat()
        advance(stage.ports, LENGTH - GUARD_S)
        assert not stage.extending.holds(held[0])


def refused(stage: Stage, meanwhile: Any) -> None:
    """Have the ledger refuse each extension, because the task was taken over; *meanwhile* is called before its answer."""
    ledger: Any = stage.ports.ledger

    def extend(wanted: Any) -> list[Claimed]:
        meanwhile()
        return [Claimed(False, TaskRecord(one.task_id, states.RUNNING, nonce="theirs", fence=one.fence + 1)) for one in wanted]

    ledger.extend = extend


def test_a_claim_that_was_taken_over_while_it_was_believed_is_let_go_with_its_message() -> None:
    stage = Stage()
    with stage.kept(job("a")):
        held = stage.claimed(job("a"))
        refused(stage, lambda: None)
        stage.beat()
        assert not stage.extending.holds(held)
        stage.beat(0.001)
    assert stage.hidden() == []


def test_a_refusal_that_arrives_after_the_worker_let_go_or_the_body_ended_changes_nothing_else() -> None:
    stage = Stage()
    with stage.kept(job("a"), job("b")):
        held = stage.claimed(job("a"))
        refused(stage, lambda: stage.extending.ended([held]))
        stage.beat()
        stage.beat(0.001)
        assert stage.hidden() == ["b", "a", "b"], "the message stays in the batch"
    before = stage.ports.telemetry.messages("warning")  # type: ignore[attr-defined]
    with stage.kept(job("a")):
        stage.claimed(job("a"))
        refused(stage, stage.extending.let_go)
        stage.beat()
    assert stage.ports.telemetry.messages("warning") == [*before, "a claim cannot be extended: the task was taken over"]


def test_a_thread_beats_until_it_is_stopped_and_the_beat_under_way_has_ended() -> None:
    beats, entered, leave = list[str](), threading.Semaphore(0), threading.Semaphore(0)

    def beat() -> None:
        entered.release()
        assert leave.acquire(timeout=20)
        beats.append("beat")

    stop = threaded(0.001, beat)
    for _ in range(2):
        assert entered.acquire(timeout=20)
        leave.release()
    assert entered.acquire(timeout=20)
    stopping = threading.Thread(target=lambda: (stop(), beats.append("stopped")))
    stopping.start()
    stopping.join(0.05)
    assert beats == ["beat", "beat"], "it waits for the third"
    leave.release()
    stopping.join(20)
    assert beats == ["beat", "beat", "beat", "stopped"]
    assert not entered.acquire(timeout=0.05)


def test_a_claim_is_shorter_than_the_visibility_by_a_guard_for_either_clock() -> None:
    assert GUARD_S == 1.0
    assert claim_length(SHORTEST_S) == SHORTEST_S - 2.0 == 2.0
    for wrong in (SHORTEST_S - 0.001, float("nan")):
        with pytest.raises(OptionError, match=r"cannot be extended in time; give the queue 4 s or more"):
            claim_length(wrong)


def test_a_message_that_could_not_be_hidden_is_believed_no_longer() -> None:
    stage = Stage()
    with stage.kept(job("b")):
        queues: Any = stage.ports.queues

        def away(*_: Any) -> None:
            raise Unavailable("away")

        queues.hold = away
        stage.beat()
        assert stage.extending.holds(Held(job("b"), None))
        advance(stage.ports, LENGTH - LENGTH / BEATS)
        assert not stage.extending.holds(Held(job("b"), None))
