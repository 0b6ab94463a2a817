"""The claim step alone, over a ledger in memory: who may run, and what becomes of the others."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sedano.engine.batch import Batch, Held, Job
from sedano.engine.worker.claims import Claiming
from sedano.errors import TooLarge, Unavailable
from sedano.model import refusals, states
from sedano.model.deferrals import WAITED, Waited, written
from sedano.model.ledger.records import RECORD_LIFETIME_S, TERMINATE, Claim, Claimed, Outcome, TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import JoinMember
from sedano.ports import Ports
from tests.unit.engine.gated import advance, asked, batch, job, names, waits, world

MOST = 3


@dataclass
class Follows:
    """Notes which ends are followed once more."""

    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    hooks: None = None

    def __getattr__(self, step: str) -> Any:
        """Return the step."""
        return lambda one, record, found: self.calls.append((step, one.command.task_id, record.state))


@dataclass
class Cluster:
    """Notes which workers are lost."""

    name: str = "me"
    lost: list[tuple[str, float, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def lose(self, held: Held, found: Batch, lapsed: float, owner: str) -> None:
        """Lose one, and note what the history says by then."""
        self.told = [line["type"] for line in found.chronicle.lines]
        self.lost.append((held.job.command.task_id, lapsed, owner))


@dataclass
class Stage:
    """The claim step over stand-ins of what it calls."""

    ports: Ports = field(default_factory=lambda: world(0.5, "ledger"))
    length: float | None = None
    follows: Follows = field(default_factory=Follows)
    cluster: Cluster = field(default_factory=Cluster)

    def __post_init__(self) -> None:
        """Begin a batch."""
        doubles: Any = (self.follows, self.cluster)
        self.step = Claiming(self.ports, LamportClock(lambda: 1), *doubles, MOST, self.length)
        self.batch = batch(self.ports)

    def claim(self, *jobs: Job) -> list[str]:
        """Claim, and return the messages of those that may run."""
        self.held = self.step.claim(jobs, self.batch)
        return names([one.job for one in self.held])

    def of_another(self, task_id: str = "a", seconds: float = 10.0, **changes: Any) -> TaskRecord:
        """The record of a claim that another worker made for so many *seconds*."""
        now = self.ports.clock.now()
        claim = Claim(task_id, 0, "other", "their nonce", now + seconds, 1, "only", owner="they")
        (answer,) = self.ports.ledger.claim([claim._replace(**changes)])
        assert answer.record is not None
        return answer.record

    def end(self, record: TaskRecord, state: Any = states.SUCCESS, **changes: Any) -> None:
        """Record the end of that claim."""
        one = Outcome(record.task_id, state, record.nonce, record.fence, record.message_id, record.attempt, 5, record.name, 1.0)
        self.ports.ledger.record([one._replace(**changes)])


def claimless(name: str, **attributes: str) -> Job:
    """A job that runs without a claim."""
    one = job(name, delivery="at_least_once")
    return one._replace(delivery=one.delivery._replace(attributes=attributes))


def away(stage: Stage, operation: str, error: Exception) -> None:
    """Let the ledger not answer an operation."""

    def fails(*_: Any) -> Any:
        raise error

    setattr(stage.ports.ledger, operation, fails)


def test_a_claim_lasts_a_second_longer_than_its_batch_or_for_its_own_length() -> None:
    stage = Stage()
    assert stage.claim(job("a")) == ["a"]
    now = stage.ports.clock.now()
    assert [one.record.expires for one in stage.held if one.record] == [now + 11.0]
    other = Stage(length=4.0)
    assert other.claim(job("a")) == ["a"]
    assert [one.record.expires for one in other.held if one.record] == [now + 4.0]


def test_a_task_without_a_claim_asks_the_ledger_only_after_a_run_that_could_not_be_recorded() -> None:
    stage = Stage()
    waiting = {WAITED: written(Waited(2, 0))}
    again = {WAITED: written(Waited(2, 1))}
    assert stage.claim(claimless("a"), claimless("b", **waiting)) == ["a", "b"]
    assert asked(stage.ports.ledger, "read") == asked(stage.ports.ledger, "claim") == []
    assert stage.claim(claimless("a"), claimless("b", **again)) == ["a", "b"]
    assert asked(stage.ports.ledger, "read") == [(["b"],)]
    away(stage, "read", Unavailable("away"))
    assert stage.claim(claimless("a"), claimless("b", **again)) == ["a"]
    assert [*stage.batch.deferred] == ["b"]


def test_what_is_claimed_elsewhere_waits_until_that_claim_has_ended() -> None:
    stage = Stage()
    stage.of_another(seconds=10.0)
    assert stage.claim(job("a")) == []
    assert asked(stage.ports.queues, "hold") == [(job("a").delivery, 10.0 + 1.5)]
    assert stage.batch.given_back == [job("a").delivery]
    longer = Stage()
    longer.of_another(seconds=100.0)
    assert longer.claim(job("a")) == []
    assert waits(longer.batch) == {"a": 101.5}
    in_order = Stage()
    in_order.of_another(seconds=100.0)
    one = job("a")
    one = one._replace(delivery=one.delivery._replace(serial_key="k"))
    assert in_order.claim(one) == []
    assert asked(in_order.ports.queues, "hold") == [(one.delivery, 101.5)]
    assert waits(in_order.batch) == {}


def test_an_expired_claim_is_taken_over_and_its_owner_is_reported_after_that_was_noted() -> None:
    stage = Stage()
    seen = stage.of_another(seconds=1.0)
    advance(stage.ports, 1.001)
    assert stage.claim(job("a")) == ["a"]
    (held,) = stage.held
    assert held.record is not None
    assert (held.record.fence, held.stillborn) == (2, None)
    assert stage.cluster.lost == [("a", seen.expires, "they")]
    assert stage.cluster.told == ["claim-stolen"]
    telemetry: Any = stage.ports.telemetry
    assert telemetry.counted("ClaimsStolen", task="only") == 1


def test_a_claim_that_is_always_taken_by_others_first_is_given_back_and_counted_once() -> None:
    stage = Stage()
    seen = stage.of_another(seconds=1.0)
    advance(stage.ports, 1.001)
    lost: Any = stage.ports.ledger.claim([Claim("a", 0, "m", "n", 1.0, 1, "only")])[0]
    tries: list[Any] = []
    stage.ports.ledger.steal = lambda claim, record: tries.append(record) or lost  # type: ignore[method-assign, func-returns-value]
    assert stage.claim(job("a")) == []
    assert tries == [seen] * 3
    assert stage.batch.given_back == [job("a").delivery]
    telemetry: Any = stage.ports.telemetry
    assert telemetry.counted("ClaimsStolen", task="only") == 1


@pytest.mark.parametrize("claims", [MOST - 1, MOST])
def test_an_attempt_whose_claims_were_all_lost_is_poison(claims: int) -> None:
    stage = Stage()
    seen = stage.of_another(seconds=1.0)
    for _ in range(claims - 1):
        advance(stage.ports, 2.0)
        answer = stage.ports.ledger.steal(Claim("a", 0, "other", f"n{_}", stage.ports.clock.now() + 1.0, 1, "only", owner="they"), seen)
        assert answer.record is not None
        seen = answer.record
    advance(stage.ports, 2.0)
    assert stage.claim(job("a")) == ["a"]
    (held,) = stage.held
    assert (held.stillborn is not None) == (claims == MOST)
    assert held.stillborn is None or (held.stillborn.state, held.stillborn.code) == (states.POISON, refusals.POISON)


def test_a_task_that_was_marked_as_revoked_ends_before_its_body_begins() -> None:
    stage = Stage()
    stage.of_another(seconds=1.0)
    stage.ports.ledger.ask("a", TERMINATE)
    advance(stage.ports, 1.001)
    assert stage.claim(job("a")) == ["a"]
    (held,) = stage.held
    assert held.stillborn is not None
    assert held.stillborn[:4] == (states.REVOKED, refusals.REVOKED, "taskid", "revoked before it began")


@pytest.mark.parametrize(("message", "calls"), [("a", [("follow_again", "a", states.SUCCESS)]), ("other", [])])
def test_a_message_that_recorded_its_end_follows_again_and_a_copy_does_not(message: str, calls: list[Any]) -> None:
    stage = Stage()
    stage.end(stage.of_another(message_id=message))
    assert stage.claim(job("a")) == []
    assert stage.follows.calls == calls
    assert stage.batch.counts == {("Duplicates", "only"): 1}
    assert [line["type"] for line in stage.batch.chronicle.lines] == ["message-duplicate"]
    assert stage.batch.given_back == []


def member(name: str) -> Job:
    """A member of a join, by an id of its own."""
    one = job(name)
    return one._replace(command=one.command._replace(member=JoinMember("join", 0, 2)))


def test_a_member_whose_task_ran_for_another_canvas_arrives_when_that_has_ended_and_added_nothing() -> None:
    stage = Stage()
    stage.end(stage.of_another())
    assert stage.claim(member("a")) == []
    assert stage.follows.calls == [("arrive_again", "a", states.SUCCESS)]
    added = Stage()
    added.end(added.of_another(), added=2)
    assert added.claim(member("a")) == []
    assert added.follows.calls == []
    assert added.batch.given_back == []
    running = Stage()
    record = running.of_another(attempt=0)
    running.end(record, states.RETRY, next_attempt=1)
    assert running.claim(member("a")) == []
    assert running.follows.calls == []
    assert asked(running.ports.queues, "hold") == [(member("a").delivery, 30.0)]


def test_a_task_that_a_revocation_by_id_ended_is_followed_without_another_write() -> None:
    stage = Stage()
    stage.ports.ledger.revoke("a", 3, 1.0)
    writes = len(asked(stage.ports.ledger, "revoke"))
    assert stage.claim(job("a")) == []
    assert len(asked(stage.ports.ledger, "revoke")) == writes
    assert stage.follows.calls == [("follow_again", "a", states.REVOKED)]
    assert stage.batch.counts == {("TasksRevoked", "only"): 1}


def test_a_task_that_ended_otherwise_is_no_revoked_one() -> None:
    stage = Stage()
    stage.end(stage.of_another(message_id=""), states.SUCCESS)
    assert stage.claim(job("a")) == []
    assert stage.batch.counts == {("Duplicates", "only"): 1}


def test_a_task_that_was_revoked_between_two_tries_is_ended_and_waits_where_that_cannot_be_written() -> None:
    stage = Stage()
    record = stage.of_another(message_id="a")
    stage.ports.ledger.ask("a", TERMINATE)
    stage.end(record, states.RETRY, next_attempt=0)
    kept = stage.ports.ledger.read(["a"])["a"]
    assert (kept.state, kept.asked > 0) == (states.RETRY, True)
    away(stage, "revoke", Unavailable("away"))
    assert stage.claim(job("a")) == []
    assert [*stage.batch.deferred] == ["a"]
    del stage.ports.ledger.revoke
    again = replace(stage)
    assert again.claim(job("a")) == []
    assert again.ports.ledger.read(["a"])["a"].state == states.REVOKED
    assert again.follows.calls == [("follow_again", "a", states.REVOKED)]


def test_a_claim_without_an_answer_is_deferred_and_one_that_is_refused_as_a_message_is_set_aside() -> None:
    stage = Stage()
    answers: Sequence[Any] = [Unavailable("away")]
    stage.ports.ledger.claim = lambda claims: answers  # type: ignore[method-assign, assignment, return-value]
    assert stage.claim(job("a")) == []
    assert [*stage.batch.deferred] == ["a"]
    away(stage, "claim", TooLarge("large"))
    assert stage.claim(job("b")) == []
    assert [*stage.batch.deferred] == ["a", "b"]


@pytest.mark.parametrize("left", [0.0, 0.5])
def test_a_message_that_keeps_its_place_goes_on_with_the_try_that_is_due(left: float) -> None:
    stage = Stage()
    record = stage.of_another(message_id="a")
    now = stage.ports.clock.now()
    stage.end(record, states.RETRY, next_attempt=1, not_before=now + left)
    one = job("a")
    one = one._replace(delivery=one.delivery._replace(serial_key="k"))
    assert stage.claim(one) == ([] if left else ["a"])
    assert [held.job.command.attempt for held in stage.held] == ([] if left else [1])
    assert asked(stage.ports.queues, "hold") == ([(one.delivery, left + 1.5)] if left else [])


def test_a_later_try_that_another_worker_runs_is_not_claimed_once_more() -> None:
    stage = Stage()
    stage.of_another(message_id="a", attempt=0)
    stage.end(stage.ports.ledger.read(["a"])["a"], states.RETRY, next_attempt=1)
    stage.of_another(message_id="a", attempt=1)
    before = len(asked(stage.ports.ledger, "claim"))
    one = job("a")
    assert stage.claim(one._replace(delivery=one.delivery._replace(serial_key="k"))) == []
    assert len(asked(stage.ports.ledger, "claim")) == before + 1


def ordered(name: str) -> Job:
    """A message that keeps its place."""
    one = job(name)
    return one._replace(delivery=one.delivery._replace(serial_key="k"))


def test_a_message_of_no_order_is_not_its_tasks_next_try_and_neither_is_another_message_in_order() -> None:
    for one, begun_by in ((job("a"), "a"), (ordered("a"), "other")):
        stage = Stage()
        stage.end(stage.of_another(message_id=begun_by), states.RETRY, next_attempt=1)
        assert stage.claim(one) == []
        assert stage.follows.calls == ([("retry_again", "a", states.RETRY)] if begun_by == "a" else [])
        assert stage.ports.ledger.read(["a"])["a"].state == states.RETRY


def test_the_next_try_of_a_message_that_keeps_its_place_is_claimed_only_where_its_record_is() -> None:
    stage = Stage()
    stage.end(stage.of_another(message_id="a"), states.RETRY, next_attempt=1)
    assert stage.claim(ordered("a")) == ["a"]
    first, second = [claims[0] for (claims,) in asked(stage.ports.ledger, "claim")[1:]]
    assert ((first.attempt, first.must_exist), (second.attempt, second.must_exist)) == ((0, False), (1, True))


def test_a_command_that_is_older_than_the_records_of_its_time_runs_only_where_one_is_left() -> None:
    stage = Stage()
    young = job("a")._replace(received=1.0 + RECORD_LIFETIME_S)
    assert young.command.time == 1.0
    assert stage.claim(young) == ["a"]
    assert stage.claim(job("b")._replace(received=young.received + 0.01)) == []
    assert [(one.delivery.message_id, one.code, one.field) for one in stage.batch.parkings] == [("b", refusals.QUARANTINE, "taskid")]


def test_a_claim_that_was_written_and_whose_answer_was_lost_is_held() -> None:
    stage = Stage()

    def lost(claims: Sequence[Claim]) -> list[Claimed]:
        return [Claimed(False, TaskRecord(one.task_id, states.RUNNING, nonce=one.nonce, fence=7)) for one in claims]

    stage.ports.ledger.claim = lost  # type: ignore[method-assign, assignment]
    assert stage.claim(job("a")) == ["a"]
    assert [one.record.fence for one in stage.held if one.record is not None] == [7]
    assert stage.batch.counts == {}


def test_an_unforeseen_answer_of_the_ledger_costs_its_own_message_alone() -> None:
    stage = Stage()
    claim = stage.ports.ledger.claim

    def odd(claims: Sequence[Claim]) -> Any:
        if any(one.task_id == "b" for one in claims):
            raise KeyError("secret")
        return claim(claims)

    stage.ports.ledger.claim = odd  # type: ignore[method-assign]
    assert stage.claim(job("a"), job("b"), job("c")) == ["a", "c"]
    assert [(one.delivery, one.code) for one in stage.batch.parkings] == [(job("b").delivery, refusals.UNEXPECTED)]
    assert stage.batch.deferred == {}


def test_an_unforeseen_error_after_the_claim_costs_its_own_message_alone() -> None:
    stage = Stage()
    stage.end(stage.of_another("b", message_id="b"))

    def breaks(*_: Any) -> None:
        raise KeyError("secret")

    stage.follows.follow_again = breaks  # type: ignore[attr-defined]
    assert stage.claim(job("a"), job("b"), job("c")) == ["a", "c"]
    assert [(one.delivery, one.code) for one in stage.batch.parkings] == [(job("b").delivery, refusals.UNEXPECTED)]


def test_a_take_over_without_an_answer_is_deferred() -> None:
    stage = Stage()
    stage.of_another(seconds=1.0)
    advance(stage.ports, 1.001)
    away(stage, "steal", Unavailable("away"))
    assert stage.claim(job("a")) == []
    assert [*stage.batch.deferred] == ["a"]
    assert stage.cluster.lost == []
