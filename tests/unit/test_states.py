"""The states of a task: Celery's words and precedence, and the ledger's table of allowed changes."""

import doctest
import json
import re
from itertools import product
from pathlib import Path

import pytest
from celery import states as celery_states
from celery.events.state import TASK_EVENT_TO_STATE, Task

from glue_jobs.pipeline.report import flow, style
from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.history import event_order as order
from sedano.result import waits

ROOT = Path(__file__).resolve().parents[2]
LEDGER = [states.PENDING, states.RUNNING, states.RETRY, *sorted(states.TERMINAL)]


def test_event_classes_stand_for_celerys_states():
    assert dict(states.STATE_OF_CLASS) == TASK_EVENT_TO_STATE


def test_precedence_is_celerys_precedence():
    assert [None if c == states.CUSTOM else states.state_of(c) for c in states.PRECEDENCE] == celery_states.PRECEDENCE


def test_every_event_class_has_one_place_in_the_precedence():
    assert sorted(states.PRECEDENCE) == sorted([*states.STATE_OF_CLASS, states.CUSTOM])


def test_celerys_merge_rule_is_the_subject_that_describes_a_task():
    assert set(states.SUBJECTS["described"]) == set(Task.merge_rules[celery_states.RECEIVED])


def test_no_field_belongs_to_two_subjects():
    fields = [field for subject in states.SUBJECTS.values() for field in subject]
    assert len(fields) == len(set(fields))


def test_what_celery_calls_ready_is_terminal():
    assert celery_states.READY_STATES < states.TERMINAL


@pytest.mark.parametrize("after", LEDGER)
@pytest.mark.parametrize("before", sorted(states.TERMINAL))
def test_a_terminal_state_never_changes(before, after):
    assert not states.may_become(before, after)


def test_a_task_goes_from_pending_through_running_to_any_end_or_to_a_retry():
    assert states.may_become(states.PENDING, states.RUNNING)
    assert all(states.may_become(states.RUNNING, after) for after in [*states.TERMINAL, states.RETRY])


def test_a_retry_is_claimed_or_ends_and_nothing_else():
    assert {after for after in LEDGER if states.may_become(states.RETRY, after)} == {states.RUNNING, *states.TERMINAL}


def test_nothing_returns_to_pending():
    assert not any(states.may_become(before, states.PENDING) for before in LEDGER)


def test_only_a_running_task_can_be_retried():
    assert [before for before in LEDGER if states.may_become(before, states.RETRY)] == [states.RUNNING]


def test_every_state_of_the_ledger_reaches_an_end():
    for start in LEDGER:
        reached = {start}
        for _ in LEDGER:
            reached |= {after for before, after in product(reached, LEDGER) if states.may_become(before, after)}
        assert reached & states.TERMINAL


@pytest.mark.parametrize("word", ["", "running", "STARTED", "RECEIVED", "PROGRESS"])
def test_a_word_that_the_ledger_does_not_know_becomes_nothing(word):
    assert not any(states.may_become(word, after) or states.may_become(after, word) for after in LEDGER)


def test_an_event_type_names_its_class():
    assert states.class_of("task-sent") == "sent"
    assert states.class_of("task-progress") == "progress"
    assert states.class_of(states.type_of("retried")) == "retried"


@pytest.mark.parametrize("event_type", ["worker-online", "message-duplicate", "claim-stolen", "task", "mytask-sent", ""])
def test_an_event_that_is_not_about_a_task_has_no_class(event_type):
    assert states.class_of(event_type) is None


def test_a_custom_class_is_its_own_state():
    assert states.state_of("progress") == "PROGRESS"


def test_events_call_a_running_task_started_and_use_the_ledgers_words_for_the_rest():
    others = {states.RUNNING: states.STARTED, states.EXPIRED: states.REVOKED, states.POISON: states.FAILURE}
    assert {state: states.seen_as(state) for state in LEDGER if states.seen_as(state) != state} == others


@pytest.mark.parametrize("module", [states, order], ids=lambda module: module.__name__)
def test_the_examples_in_the_documentation_are_true(module):
    assert doctest.testmod(module).failed == 0


def test_a_state_of_a_newer_version_is_told():
    assert [states.read_state(state.value) for state in states.TaskState] == list(states.TaskState)
    with pytest.raises(Unavailable, match="'FROZEN', which this version does not know"):
        states.read_state("FROZEN")


def test_every_state_has_a_row_and_every_end_is_told_counted_and_drawn():
    assert list(states.ROWS) == list(states.TaskState)
    ends = {state: row for state, row in states.ROWS.items() if row.terminal}
    assert all(row.event in states.STATE_OF_CLASS and row.style and (row.metric or state == states.POISON) for state, row in ends.items())
    assert all(row.error_type and row.dependents in states.TERMINAL for state, row in ends.items() if state != states.SUCCESS)
    assert not any(row.follows for row in ends.values())


def test_an_end_that_no_event_stands_for_is_told_by_its_exception():
    told = {state: states.STATE_OF_CLASS[row.event] for state, row in states.ROWS.items() if row.event}
    assert {state: word for state, word in told.items() if state != word} == states.TOLD_BY_EXCEPTION


def test_the_schema_the_report_and_the_page_know_every_state():
    schema = json.loads((ROOT / "docs/protocol/document.schema.json").read_text())
    assert schema["properties"]["state"]["enum"] == sorted(states.TERMINAL)
    assert set(flow.ORDER) >= set(states.TaskState) - {states.RUNNING}
    assert all(f".ribbon.{state}" in style.STYLE for state in states.TERMINAL - {states.SUCCESS})
    rows = re.findall(r"\| `([A-Z]+)` \| (.+) \| (yes|) ?\|", (ROOT / "docs/results.md").read_text())
    assert rows == [(state.value, row.words, "yes" if row.terminal else "") for state, row in states.ROWS.items()]


def test_a_recorded_error_of_a_task_that_never_ran_is_restored_by_its_name():
    named = {row.error_type for state, row in states.ROWS.items() if row.dependents == states.REVOKED}
    assert {name: name for name in named} == {name: error.__name__ for name, error in waits.UNRUN.items()}
