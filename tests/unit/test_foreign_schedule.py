"""What tells a schedule that is not a timer: every difference from the one shape of a timer is named, and no timer has any."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.aws.timers import SchedulerTimers, TimerGroup
from sedano.model.timers import Foreign, Timer, foreign, timer_name

ROLE, DEAD = "arn:aws:iam::123456789012:role/timers", "arn:aws:sqs:eu-central-1:123456789012:parked"
QUEUES = {"commands:default": "arn:aws:sqs:eu-central-1:123456789012:default"}
TIMERS: Any = SchedulerTimers(None, TimerGroup("timers", ROLE, DEAD), QUEUES)


def answer(timer: Timer) -> dict[str, Any]:
    """What GetSchedule answers about *timer*."""
    return {**TIMERS._schedule(timer), "State": "ENABLED", "ScheduleExpressionTimezone": "UTC"}


def judged(schedule: dict[str, Any]) -> tuple[str, ...]:
    """Why *schedule* is not a timer."""
    found = foreign(schedule, ROLE, QUEUES.values(), DEAD)
    return found.why if found is not None else ()


MINE = answer(Timer("t-1", 1_800_000_000.0, "commands:default", "{}"))


@given(st.text(), st.floats(1e9, 4e9), st.text(min_size=1), st.sampled_from([None, "acme"]), st.integers(0, 3))
def test_no_timer_is_foreign(task_id: str, at: float, body: str, tenant: str | None, attempt: int) -> None:
    assert judged(answer(Timer(timer_name(task_id, attempt), at, "commands:default", body, tenant))) == ()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ScheduleExpression": "rate(1 minute)"}, "recurs: rate(1 minute)"),
        ({"ScheduleExpression": "cron(* * * * ? *)"}, "recurs: cron(* * * * ? *)"),
        ({"ScheduleExpression": "at(2026-01-01T00:00:00) "}, "recurs: at(2026-01-01T00:00:00) "),
        ({"ActionAfterCompletion": "NONE"}, "is not deleted after it has fired"),
        ({"ActionAfterCompletion": None}, "is not deleted after it has fired"),
        ({"Target": {"Arn": "arn:aws:lambda:eu-central-1:123456789012:function:x"}}, "target: arn:aws:lambda:"),
        ({"Target": {"RoleArn": "arn:aws:iam::123456789012:role/admin"}}, "role: arn:aws:iam::123456789012:role/admin"),
        ({"Target": {"DeadLetterConfig": {"Arn": "arn:aws:sqs:eu-central-1:999999999999:theirs"}}}, "undelivered: arn:aws:sqs:"),
        ({"Target": {"SqsParameters": {"MessageGroupId": "g"}}}, "has SqsParameters"),
        ({"Target": {"EcsParameters": {}}}, "has EcsParameters"), ({"Target": {"Input": "{}"}}, "message: schema: timer.id"),
        ({"Target": {"Input": "\x1b[2J"}}, "message: "), ({"Target": {"Input": None}}, "message: "),
        ({"Name": "t-2"}, "message: the timer t-1"),
    ],
)  # fmt: skip
def test_what_no_timer_has_is_named(change: dict[str, Any], why: str) -> None:
    changed = {**MINE, **change, "Target": {**MINE["Target"], **change.get("Target", {})}}
    (told,) = judged(changed)
    assert told.startswith(why)


def test_a_schedule_of_which_nothing_is_known_is_foreign_in_everything() -> None:
    found = foreign({}, ROLE, QUEUES.values(), DEAD)
    assert found is not None
    assert (found.name, found.target, len(found.why)) == ("", "", 5)


def test_a_foreign_schedule_is_told_with_what_it_is() -> None:
    expression, target = MINE["ScheduleExpression"], MINE["Target"]
    assert foreign(MINE, ROLE, QUEUES.values(), DEAD) is None
    assert foreign({**MINE, "Name": "t-2"}, ROLE, QUEUES.values(), DEAD) == Foreign(
        "t-2", "ENABLED", expression, target["Arn"], ROLE, ("message: the timer t-1",)
    )
    without = {name: value for name, value in target.items() if name != "DeadLetterConfig"}
    assert foreign({**MINE, "Target": without}, ROLE, QUEUES.values(), "") is None
