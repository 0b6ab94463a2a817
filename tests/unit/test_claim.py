"""What follows from a refused claim, over every combination that can stand in the way."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model import states
from sedano.model.ledger import dedup_keys
from sedano.model.ledger.claims import Action, ClaimDecision, begun_by, decide, is_another
from sedano.model.ledger.records import Claim, TaskRecord
from sedano.model.messages.lineage import begun_id, tried_id
from sedano.model.messages.message import Command, Place

NOW, MOST = 1000.0, 3
CLAIM = Claim("t", attempt=1, message_id="mine", nonce="n1", expires=NOW + 60, clock=1, name="f")
ATTEMPTS, IDS, NONCES = (0, 1, 2), ("mine", "other"), ("n1", "n2")
EXPIRIES, CLAIMS = (NOW - 1, NOW, NOW + 30), (0, 1, MOST - 1, MOST, MOST + 1)
LEDGER = sorted({states.PENDING, states.RUNNING, states.RETRY, *states.TERMINAL})
CASES = [
    TaskRecord("t", state, attempt, message_id=message_id, nonce=nonce, expires=expires, claims=claims)
    for state, attempt, message_id, nonce, expires, claims in product(LEDGER, ATTEMPTS, IDS, NONCES, EXPIRIES, CLAIMS)
]


def actions(*wanted, most=MOST):
    """Return the cases that lead to one of the *wanted* actions."""
    return [record for record in CASES if decide(CLAIM, record, NOW, most).action in wanted]


def mine(record):
    return record.message_id == CLAIM.message_id


def contested(record):
    """Someone runs this very attempt."""
    return record.state == states.RUNNING and record.attempt == CLAIM.attempt


def test_without_a_record_that_must_exist_nothing_runs():
    assert decide(CLAIM, None, NOW, MOST).action is Action.QUARANTINE
    assert actions(Action.QUARANTINE) == []


def test_a_claim_is_stolen_only_from_a_dead_holder_of_the_same_attempt():
    """E9, and never across retries."""
    for record in actions(Action.STEAL, Action.POISON):
        assert contested(record)
        assert record.expires < NOW
        assert record.nonce != CLAIM.nonce


def test_a_dead_holder_is_always_replaced_unless_the_task_keeps_killing_its_worker():
    dead = [record for record in CASES if contested(record) and record.expires < NOW and record.nonce != CLAIM.nonce]
    assert dead == actions(Action.STEAL, Action.POISON)
    assert [record for record in dead if record.claims >= MOST] == actions(Action.POISON)


def test_my_own_write_is_mine_even_when_its_answer_was_lost():
    """I6."""
    assert actions(Action.RUN) == [record for record in CASES if contested(record) and record.nonce == CLAIM.nonce]


def test_a_message_is_acknowledged_only_when_its_attempt_is_over():
    """E4: whoever acknowledges leaves nobody behind to answer for what follows."""
    for record in actions(Action.ACKNOWLEDGE, Action.FOLLOW_AGAIN, Action.RETRY_AGAIN):
        assert record.state in states.TERMINAL or record.attempt > CLAIM.attempt


def test_the_message_that_claimed_answers_for_the_follow_ups_and_a_copy_does_not():
    finished = [record for record in CASES if record.state in states.TERMINAL]
    assert actions(Action.FOLLOW_AGAIN) == [record for record in finished if mine(record)]
    assert all(decide(CLAIM, record, NOW, MOST).action is Action.ACKNOWLEDGE for record in finished if not mine(record))


def test_after_the_follow_ups_were_sent_no_copy_sends_them_again():
    finished = [record._replace(followed=True) for record in CASES if record.state in states.TERMINAL]
    decisions = {decide(CLAIM, record, NOW, MOST) for record in finished}
    assert decisions == {ClaimDecision(Action.ACKNOWLEDGE, "done, and its follow-ups were sent")}


def test_the_message_that_failed_publishes_its_retry_again_and_a_copy_does_not():
    retried = [record for record in CASES if record.state == states.RETRY and record.attempt > CLAIM.attempt]
    assert actions(Action.RETRY_AGAIN) == [record for record in retried if mine(record)]
    assert all(decide(CLAIM, record, NOW, MOST).action is Action.ACKNOWLEDGE for record in retried if not mine(record))


def test_a_delivery_that_outlived_its_attempt_never_takes_over_a_later_one():
    later = [record for record in CASES if record.state == states.RUNNING and record.attempt > CLAIM.attempt]
    assert {decide(CLAIM, record, NOW, MOST).action for record in later} == {Action.ACKNOWLEDGE}


def test_who_waits_waits_until_the_claim_in_the_way_has_ended():
    for record in actions(Action.WAIT):
        decision = decide(CLAIM, record, NOW, MOST)
        assert decision.seconds >= 0
        if contested(record):
            assert NOW + decision.seconds == record.expires
            assert decide(CLAIM, record, record.expires + 0.001, MOST).action in (Action.STEAL, Action.POISON)


@pytest.mark.parametrize("state", [states.PENDING, states.RETRY])
def test_a_record_that_would_have_let_me_in_has_changed_meanwhile(state):
    record = TaskRecord("t", state, CLAIM.attempt)
    assert decide(CLAIM, record, NOW, MOST).action is Action.WAIT


def test_every_decision_says_why():
    assert all(decide(CLAIM, record, NOW, MOST).reason for record in [None, *CASES])


@given(st.sampled_from(CASES), st.floats(0, 10**9), st.integers(1, 20))
def test_time_alone_never_makes_a_decision_worse(record, later, most):
    """What is over stays over: only waiting turns into something else as time goes by."""
    first, then = decide(CLAIM, record, NOW, most), decide(CLAIM, record, NOW + later, most)
    assert first.action is Action.WAIT or first == then


BEGUN = begun_id("t", "0", "plan")
FIRST = Command(BEGUN, "t", "f", "me", NOW, 1, place=Place("t", "0", "plan"))


@pytest.mark.parametrize("attempt", [0, 1, 7])
def test_a_message_that_begins_a_canvas_is_known_by_its_id_and_so_are_those_that_try_again(attempt):
    assert begun_by(FIRST._replace(id=tried_id(BEGUN, attempt) if attempt else BEGUN, attempt=attempt)) == BEGUN
    for other in ("fresh", tried_id(BEGUN, attempt + 1), begun_id("t", "1", "plan")):
        assert begun_by(FIRST._replace(id=other, attempt=attempt)) == ""
    assert begun_by(FIRST._replace(place=None)) == ""


@pytest.mark.parametrize(
    ("attempt", "state"), [(0, states.SUCCESS), (1, states.RETRY), (1, states.RUNNING), (3, states.RETRY), (3, states.FAILURE)]
)
def test_another_canvas_under_one_id_is_told_from_a_copy_by_the_message_of_the_record(attempt, state):
    """In RETRY the record still names the message of the attempt before."""
    last = attempt - (state == states.RETRY)
    for began, another in ((BEGUN, False), (begun_id("t", "0", "another"), True)):
        record = TaskRecord("t", state, attempt, message_id=tried_id(began, last) if last else began, name="f")
        assert is_another(FIRST, record) is another
        assert not is_another(FIRST._replace(place=None), record), "what begins no canvas has no id that would tell"
        assert not is_another(FIRST._replace(id=tried_id(BEGUN, 2), attempt=2), record._replace(attempt=5))


@pytest.mark.parametrize("began", [BEGUN, begun_id("t", "0", "another")])
def test_a_later_attempt_of_a_canvas_is_not_checked_by_its_message(began):
    tried = FIRST._replace(id=tried_id(BEGUN, 2), attempt=2)
    assert not is_another(tried, TaskRecord("t", states.SUCCESS, 5, message_id=tried_id(began, 5), name="f"))


LOOK_ALIKES = ["1.1~1", "~1", "fresh~1", f"{BEGUN}~2", f"{BEGUN.upper()}~1", f"{BEGUN}~01", "9d99cb98-66ee-41f5-8703-bb3d07cba317~1"]


@pytest.mark.parametrize("other", LOOK_ALIKES)
def test_an_id_that_only_looks_as_if_it_told_of_a_canvas_tells_of_none(other):
    """A publisher by the open protocol gives its messages ids of its own."""
    assert not is_another(FIRST, TaskRecord("t", states.FAILURE, 1, message_id=other, name="other"))


@pytest.mark.parametrize(("attempt", "state"), [(1, states.RUNNING), (2, states.RETRY), (2, states.SUCCESS)])
def test_what_replaced_a_task_has_its_id_by_right_whatever_it_is_called(attempt, state):
    assert not is_another(FIRST, TaskRecord("t", state, attempt, message_id="fresh", name="other"))
    assert not is_another(FIRST, TaskRecord("t", states.REVOKED, attempt, message_id="", name="other"))


ASKED = TaskRecord("t", states.RUNNING, CLAIM.attempt, nonce="n2", expires=NOW - 1, asked=1)


@pytest.mark.parametrize("state", [states.PENDING, states.RETRY])
def test_what_was_asked_to_end_while_it_waits_is_revoked(state):
    assert decide(CLAIM, ASKED._replace(state=state), NOW, MOST).action is Action.REVOKE
    assert decide(CLAIM, ASKED._replace(state=state, asked=0), NOW, MOST).action is Action.WAIT


def test_what_was_asked_to_end_while_it_ran_is_revoked_when_its_claim_is_over_and_not_before():
    assert decide(CLAIM, ASKED, NOW, MOST).action is Action.REVOKE
    assert decide(CLAIM, ASKED._replace(expires=NOW), NOW, MOST).action is Action.WAIT
    assert decide(CLAIM, ASKED._replace(asked=0), NOW, MOST).action is Action.STEAL


def test_a_message_waits_a_second_for_an_earlier_attempt_and_until_its_own_is_due():
    earlier = TaskRecord("t", states.RUNNING, CLAIM.attempt - 1, expires=NOW + 30)
    assert decide(CLAIM, earlier, NOW, MOST)[::2] == (Action.WAIT, 1.0)
    waiting = TaskRecord("t", states.RETRY, CLAIM.attempt, not_before=NOW + 7.5)
    assert decide(CLAIM, waiting, NOW, MOST)[::2] == (Action.WAIT, 7.5)
    assert decide(CLAIM, waiting, NOW + 8, MOST)[::2] == (Action.WAIT, 0.0)


def test_a_record_of_the_same_attempt_under_another_name_is_another_task_s():
    plain = Command("m", "t", "f", "me", NOW, 1)
    assert is_another(plain, TaskRecord("t", states.SUCCESS, 0, message_id="fresh", name="g"))
    for name in ("f", ""):
        assert not is_another(plain, TaskRecord("t", states.SUCCESS, 0, message_id="fresh", name=name))
    assert not is_another(plain, TaskRecord("t", states.SUCCESS, 1, message_id="fresh", name="g"))


def test_a_key_that_was_used_with_other_arguments_is_another_task_s():
    def keyed(*args):
        return Command(dedup_keys.message_id(dedup_keys.payload("t", args, {}), "nonce"), "t", "f", "me", NOW, 1, args=args)

    taken = TaskRecord("t", states.SUCCESS, 0, message_id=keyed(1).id, name="f")
    assert is_another(keyed(2), taken)
    assert not is_another(keyed(1), taken)


def test_a_record_without_a_message_is_not_another_canvas():
    for attempt, state in ((0, states.REVOKED), (1, states.RETRY), (2, states.REVOKED)):
        assert not is_another(FIRST, TaskRecord("t", state, attempt, message_id="", name="f"))


INLINE = "inline"


def decided(record, claim=CLAIM):
    return decide(claim, record, NOW, MOST, INLINE).action


def test_every_message_of_a_link_answers_for_what_was_claimed_inline():
    """Also one with a fresh id: no message claimed it, so otherwise none would continue the chain."""
    for record in CASES:
        found = record._replace(message_id=INLINE)
        if record.state in states.TERMINAL:
            assert decided(found) is Action.FOLLOW_AGAIN
        elif record.attempt > CLAIM.attempt:
            assert decided(found) is (Action.RETRY_AGAIN if record.state == states.RETRY else Action.ACKNOWLEDGE)


def test_an_inline_id_changes_nothing_for_records_of_other_messages():
    assert [decided(record) for record in CASES] == [decide(CLAIM, record, NOW, MOST).action for record in CASES]


def test_a_message_without_an_inline_id_is_not_taken_for_one():
    retried = TaskRecord("t", states.RETRY, CLAIM.attempt + 1, message_id="")
    assert decide(CLAIM, retried, NOW, MOST).action is Action.ACKNOWLEDGE
