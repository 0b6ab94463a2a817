"""The verdict on a run: what succeeded succeeds, poison is never tried again, everything ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model import states
from sedano.model.ledger.outcome import FAILED, REPLACED, SUCCEEDED, Run, Verdict, is_spent, judge
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.message import Section
from sedano.model.retry import MAX_EXECUTIONS, MOST_EXECUTIONS, NEVER, Retry
from tests.unit.test_retry import policies, units

ERROR = ErrorRecord("ValueError", "no")
PATIENT = Retry(max_retries=MAX_EXECUTIONS - 1, jitter=False)
sections = st.none() | st.builds(Section, st.integers(1, 3), st.integers(1, 5))
attempts = st.integers(0, MAX_EXECUTIONS)


@given(policies, attempts, sections, units)
def test_a_body_that_returned_succeeded_whatever_came_before(policy, attempt, last, unit):
    assert judge(Run(value=None), policy, attempt, last, unit) is SUCCEEDED


@given(policies, attempts, sections, units, st.none() | policies)
def test_a_poisonous_failure_is_final(policy, attempt, last, unit, own):
    assert judge(Run(error=ERROR, poisonous=True, section=1, policy=own), policy, attempt, last, unit) is FAILED


@given(policies, attempts, units)
def test_a_plain_failure_is_tried_again_as_often_as_the_task_says(policy, attempt, unit):
    verdict = judge(Run(error=ERROR), policy, attempt, None, unit)
    assert (verdict.state == states.RETRY) == (attempt < policy.max_retries)
    if verdict.state == states.RETRY:
        assert verdict.pause == policy.pause(attempt, unit)
        assert verdict.section is None


@given(st.integers(0, MAX_EXECUTIONS - 2), st.integers(1, 3), sections, units)
def test_a_section_counts_its_own_failures_in_a_row_under_its_own_policy(attempt, index, last, unit):
    own = Retry(max_retries=4)
    verdict = judge(Run(error=ERROR, section=index, policy=own), NEVER, attempt, last, unit)
    failures = last.count if last is not None and last.index == index else 0
    if failures < 4:
        assert verdict.state == states.RETRY
        assert verdict.section == Section(index, failures + 1)
        assert verdict.pause == own.pause(failures, unit)
    else:
        assert verdict is FAILED


@given(st.lists(st.integers(0, 3), min_size=MAX_EXECUTIONS + 5, max_size=MAX_EXECUTIONS + 5))
def test_every_task_ends_within_20_executions_even_when_its_sections_fail_in_turns(failing):
    last, executions = None, 0
    for attempt, index in enumerate(failing):
        executions += 1
        run = Run(error=ERROR, section=index, policy=PATIENT if index else None)
        verdict = judge(run, PATIENT, attempt, last, 0.5, is_spent=is_spent(PATIENT, run.policy, attempt, 0))
        if verdict.state != states.RETRY:
            break
        last = verdict.section
    assert verdict is FAILED
    assert executions <= MAX_EXECUTIONS


@pytest.mark.parametrize("run", [Run(), Run(error=ERROR), Run(error=ERROR, poisonous=True), Run(error=ERROR, section=1, policy=PATIENT)])
def test_every_verdict_is_a_step_that_the_ledger_allows(run):
    assert states.may_become(states.RUNNING, judge(run, PATIENT, 0, None, 0.0).state)


@pytest.mark.parametrize("ended", [Run(revoked=True), Run(ignored=True), Run(revoked=True, error=ERROR), Run(ignored=True, replaced=True)])
def test_a_run_that_was_revoked_or_ignored_is_revoked_whatever_else_it_was(ended):
    assert judge(ended, PATIENT, 0, None, 0.0) == Verdict(states.REVOKED)


def test_a_run_that_was_replaced_goes_on_as_its_replacement():
    assert judge(Run(replaced=True), NEVER, MAX_EXECUTIONS, None, 0.0) is REPLACED


def test_the_twentieth_execution_is_the_last_whatever_a_section_allows():
    run = Run(error=ERROR, section=1, policy=Retry(max_retries=19, jitter=False))
    verdicts = [judge(run, NEVER, n, None, 0.5, is_spent=is_spent(NEVER, run.policy, n, 0)) for n in (18, 19)]
    assert verdicts == [Verdict(states.RETRY, 1.0, Section(1, 1)), FAILED]


@pytest.mark.parametrize("policy", [Retry(max_retries=20), Retry(max_retries=None)])
@pytest.mark.parametrize("is_of_section", [False, True])
def test_a_policy_that_asks_for_more_has_the_executions_that_a_message_can_carry(policy, is_of_section):
    task, section = (NEVER, policy) if is_of_section else (policy, None)
    spent = [is_spent(task, section, n, 0) for n in (19, 20, MOST_EXECUTIONS - 2, MOST_EXECUTIONS - 1)]
    assert spent == [False, False, False, True]
    assert [is_spent(task, section, n, 0, MAX_EXECUTIONS) for n in (18, 19)] == [False, True]


def test_retries_without_a_limit_end_at_the_figure_of_the_policy():
    for policy, last in ((Retry(max_retries=20), 20), (Retry(max_retries=None), MOST_EXECUTIONS - 1)):
        verdicts = [judge(Run(error=ERROR), policy, n, None, 0.5).state for n in (last - 1, last)]
        assert verdicts == [states.RETRY, states.FAILURE]


@given(st.integers(0, 2 * MAX_EXECUTIONS), st.integers(0, 2 * MAX_EXECUTIONS))
def test_a_replacement_counts_its_own_executions_only_after_more_than_an_ordinary_policy_allows(before, own):
    counted = own if before >= MAX_EXECUTIONS else before + own
    assert is_spent(NEVER, None, before + own, before) == (counted >= MAX_EXECUTIONS - 1)
    assert is_spent(NEVER, None, MOST_EXECUTIONS - 1, MOST_EXECUTIONS - 1)
