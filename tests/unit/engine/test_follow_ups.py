"""The follow step alone: what is sent and recorded after an end, whose message waits when that fails, and what the history says."""

from typing import Any

import pytest

from sedano.engine.batch import Stillborn
from sedano.engine.canvas.continuation import Consequences
from sedano.engine.canvas.join_arrivals import Ending
from sedano.engine.drafts import Addressed
from sedano.engine.worker.follow_ups import Due
from sedano.errors import MessageRefused, UnknownQueue
from sedano.model import refusals, states
from sedano.model.ledger import dedup_keys
from sedano.model.ledger.records import Posted, TaskRecord
from sedano.model.messages.lineage import TRIED, begun_id, derived_id, tried_id
from sedano.model.messages.message import LAUNCH, Command, Place, Section
from tests.unit.engine.following import (
    AWAY,
    MEMBER,
    PLAN,
    REJECTED,
    Follows,
    Sends,
    Stage,
    command,
    command_of,
    ended,
    member,
    message,
    outcome,
)
from tests.unit.engine.gated import QUEUE, asked, job, waits


def test_what_a_message_causes_is_known_by_its_id() -> None:
    due, a, b, c = Due(), member("a"), member("b"), member("c")
    due.add(a, Consequences([message("1"), message("2")]))
    due.add(b, Consequences([message("3")], arrivals=[(MEMBER, True)]))
    due.add(c, Consequences(exits=[outcome("x")]))
    due.endings.append(Ending(a, MEMBER, False))
    assert due.jobs == {"a": a, "b": b, "c": c}
    assert due.of("a") == Due([message("1"), message("2")], [a, a], [Ending(a, MEMBER, False)], [])
    assert due.of("b") == Due([message("3")], [b], [Ending(b, MEMBER, True)], [])
    assert due.of("c") == Due([], [], [], [(c, outcome("x"))])


def test_a_message_that_its_body_rejected_is_set_aside_when_everything_followed() -> None:
    stage = Stage()
    found = stage.follow(ended(job("a"), error=REJECTED), ended(job("b"), error=REJECTED._replace(message="")), ended(job("c")))
    assert [(one.delivery.message_id, *one[1:]) for one in found.parkings] == [
        ("a", refusals.REJECTED, "subject", "not mine"), ("b", refusals.REJECTED, "subject", "its task refused it"),
    ]  # fmt: skip
    assert ["a" in stage.window, "b" in stage.window, "c" in stage.window] == [False, False, True]


def test_a_rejection_that_another_task_caused_or_that_is_tried_again_sets_nothing_aside() -> None:
    stage = Stage()
    found = stage.follow(ended(job("a"), error=REJECTED._replace(cause="b")), ended(job("b"), states.RETRY, REJECTED))
    assert (found.parkings, "a" in stage.window, "b" in stage.window) == ([], True, True)
    assert stage.follow(ended(job("c"), error=None)).parkings == []


def test_a_retry_of_a_queue_that_keeps_order_stays_in_its_place() -> None:
    stage = Stage()
    one = job("a")
    one = one._replace(delivery=one.delivery._replace(serial_key="k"))
    found = stage.follow(ended(one, states.RETRY, pause=7.0), ended(job("b"), states.RETRY, pause=7.0))
    assert [(delivery.message_id, seconds) for delivery, seconds in asked(stage.ports.queues, "hold")] == [("a", 7.0)]
    assert ([command(body).task_id for body in stage.sends.sent], "a" in stage.window, "b" in stage.window) == (["b"], False, True)
    assert [delivery.message_id for delivery in found.given_back] == ["a"]
    stage.follow(ended(one._replace(command=one.command._replace(task_id="d", id="d"))))
    assert "d" in stage.window, "only a retry has to keep its place"


@pytest.mark.parametrize(("pause", "delay"), [(0.0, 0), (2.0, 2), (2.25, 3)])
def test_a_retry_is_the_next_attempt_after_its_pause(pause: float, delay: int) -> None:
    stage = Stage()
    sent: list[Addressed] = []
    stage.sends.publish_all = lambda messages: sent.extend(messages) or [None] * len(messages)  # type: ignore[method-assign, func-returns-value]
    stage.follow(ended(job("a", attempt=2, delivery="at_least_once"), states.RETRY, pause=pause))
    (one,) = sent
    assert (one.outgoing.delay, command(one).attempt, command(one).section) == (delay, 3, Section(1, 2))
    assert command(one).id == derived_id("a", "attempt/3")


def test_what_could_not_be_worked_out_costs_its_own_message_alone() -> None:
    stage = Stage(follows=Follows({"b": Consequences([message("1")])}, frozenset("a")))
    found = stage.follow(ended(member("a")), ended(member("b")))
    assert [(one.delivery.message_id, one.code) for one in found.parkings] == [("a", refusals.UNEXPECTED)]
    assert (stage.sends.sent, "a" in stage.window, "b" in stage.window) == (["1"], False, True)


def test_a_publisher_that_breaks_at_one_message_costs_that_one_alone() -> None:
    follows = Follows({name: Consequences([message(name)]) for name in "abc"})
    stage = Stage(follows=follows, sends=Sends(breaks=frozenset("b")))
    found = stage.follow(*(ended(member(name)) for name in "abc"))
    assert [(one.delivery.message_id, one.code) for one in found.parkings] == [("b", refusals.UNEXPECTED)]
    assert (sorted(stage.sends.sent), "a" in stage.window, "c" in stage.window) == (["a", "c"], True, True)


def test_a_message_whose_follow_up_was_not_sent_waits_and_is_counted() -> None:
    stage = Stage(follows=Follows({name: Consequences([message(name)]) for name in "ab"}), sends=Sends({"a": AWAY}))
    found = stage.follow(ended(member("a", delivery="record_once")), ended(member("b")))
    assert (waits(found), found.counts, found.parkings) == ({"a": None}, {("FollowUpsDelayed", "only"): 1}, [])
    assert (found.deferred["a"].ran, "a" in stage.window, "b" in stage.window) == (True, False, True)


def test_a_follow_up_that_was_sent_does_not_make_up_for_another() -> None:
    stage = Stage(follows=Follows({"a": Consequences([message("lost"), message("sent")])}), sends=Sends({"lost": AWAY}))
    assert list(waits(stage.follow(ended(member("a"))))) == ["a"]


def test_the_end_of_a_single_task_has_no_consequences_but_its_own_messages() -> None:
    stage = Stage(follows=Follows(broken=frozenset("a")))
    stage.follow(ended(job("a"))._replace(posted=[message("posted")]))
    assert (stage.sends.sent, "a" in stage.window) == (["posted"], True)


def test_a_launch_is_the_begin_of_a_canvas_though_it_has_no_place_in_one() -> None:
    stage = Stage(follows=Follows({"a": Consequences([message("next")])}))
    stage.follow(ended(job("a", LAUNCH)))
    assert stage.sends.sent == ["next"]


def test_a_replaced_task_whose_end_is_recorded_is_followed_as_that_end() -> None:
    stage = Stage(follows=Follows({"a": Consequences([message("next")])}))
    stage.follow(ended(member("a"), replaced=True)._replace(posted=[message("instead")]))
    stage.follow(ended(member("b"), states.RETRY, replaced=True)._replace(posted=[message("instead of b")]))
    assert stage.sends.sent == ["instead", "next", "instead of b"]


@pytest.mark.parametrize(("error", "delay"), [(REJECTED, 61), (None, 90)])
def test_a_recorded_next_attempt_waits_for_the_rest_of_its_pause_and_a_replacement_as_it_was_asked(error: Any, delay: int) -> None:
    stage, one = Stage(), job("a")
    now = stage.ports.clock.now()
    record = TaskRecord(
        "a", states.RETRY, attempt=1, message_id="a", error=error, not_before=now + 60.5, outbox=(Posted(QUEUE, "next", 90),)
    )  # fmt: skip
    stage.step.retry_again(one, record, stage.batch)
    assert (stage.sends.sent, stage.sends.delays) == (["next"], [delay])


def retried(one: Command) -> str:
    """The id of the message that tries *one* again."""
    stage = Stage()
    stage.follow(ended(job("a")._replace(command=one), states.RETRY))
    (body,) = stage.sends.sent
    return command(body).id


def test_the_id_of_a_retry_names_the_canvas_or_the_arguments_that_the_first_message_named() -> None:
    bare = command_of("a")
    begun = begun_id("a", "0", PLAN)
    assert retried(bare._replace(id=begun, place=Place("a", "0", PLAN))) == tried_id(begun, 1)
    keyed = dedup_keys.message_id(dedup_keys.payload("a", (), {}), "nonce")
    assert retried(bare._replace(id=keyed)) == dedup_keys.retried(keyed, 1)
    later = bare._replace(args=(1,), attempt=1)
    assert retried(later._replace(id=dedup_keys.retried(keyed, 1))) == dedup_keys.retried(keyed, 2)
    for unlike in (keyed, dedup_keys.retried(keyed, 2)):
        assert TRIED not in retried(later._replace(id=unlike))
    assert TRIED not in retried(bare)
    assert retried(bare) != derived_id("a", "attempt/1")


def test_a_queue_that_the_deployment_lacks_lets_the_receipts_count() -> None:
    stage = Stage(follows=Follows({"a": Consequences([message("a")])}), sends=Sends({"a": UnknownQueue("mail")}))
    found = stage.follow(ended(member("a")))
    assert ([one.message_id for one in found.given_back], found.deferred, found.parkings) == (["a"], {}, [])


@pytest.mark.parametrize(
    ("place", "receives", "is_parked"), [("aws/x.py:1", 1, False), ("aws/x.py:1", 4, True), ("engine/x.py:1", 1, True)]
)
def test_a_refused_follow_up_sets_its_message_aside_unless_the_service_may_be_the_cause(place: str, receives: int, is_parked: bool) -> None:
    refused = MessageRefused(refusals.UNEXPECTED, place, "a page of HTML")
    stage = Stage(follows=Follows({"a": Consequences([message("a")])}), sends=Sends({"a": refused}))
    found = stage.follow(ended(member("a", receives=receives)))
    assert [one[1:] for one in found.parkings] == ([(refusals.UNEXPECTED, place, "a page of HTML")] if is_parked else [])
    assert [one.message_id for one in found.given_back] == ([] if is_parked else ["a"])


@pytest.mark.parametrize("code", [refusals.EXECUTIONS, refusals.EXPIRED])
def test_a_message_that_was_executed_too_often_is_set_aside_though_its_follow_ups_wait(code: str) -> None:
    one = member("a")._replace(stillborn=Stillborn(states.FAILURE, code, "receives", "too often"))
    stage = Stage(follows=Follows({"a": Consequences([message("a")])}), sends=Sends({"a": AWAY}))
    found = stage.follow(ended(one))
    why = "too often; its follow-ups cannot be sent: queue: away"
    assert [part[1:] for part in found.parkings] == ([(code, "receives", why)] if code == refusals.EXECUTIONS else [])
    assert list(found.deferred) == ([] if code == refusals.EXECUTIONS else ["a"])
