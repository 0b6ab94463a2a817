"""Several processes of the deployed functions at the same time: a rate holds for all together, and what rounds find is done once."""

import time
from itertools import combinations
from typing import Any

import pytest

from sedano.model.limits.rate import SECOND
from sedano.model.limits.task_limits import LATE_FACTOR, LATE_US
from sedano.model.schedules.schedule import Schedule, State, occurrence
from sedano.model.schedules.timetable import every
from tests.trust import rounds
from tests.trust.driven import MOST_SECONDS, Driven
from tests.trust.roads import succeeds

LATE_S = LATE_US * LATE_FACTOR / SECOND
"""For so long a slot is kept for who missed one before: so much closer to each other may two starts be than their slots are."""
TASKS = 15


@pytest.fixture
def driven(enforced: Driven) -> Driven:
    """The stage, with empty queues and a control table that knows of no worker."""
    enforced.forget()
    rounds.alone(enforced)
    return enforced


def test_a_rate_holds_for_several_processes_together(driven: Driven, walks: Any) -> None:
    results = [walks.paced.delay(number) for number in range(TASKS)]
    driven.move_at_once("commands", 2)
    driven.move_one("records")
    waiting = next(result for result in reversed(results) if result.state == "PENDING")
    assert "rate limit: slot at" in walks.app.control.explain(waiting.id).sentence
    give_up = time.monotonic() + MOST_SECONDS
    for few in (TASKS // 3, 2 * TASKS // 3, TASKS):
        while sum(result.ready() for result in results) < few:
            assert time.monotonic() < give_up, [result.state for result in results]
            driven.move_at_once("commands", 2, wait=1)
        driven.cool()
    starts = sorted(result.get(timeout=0)[0] for result in results)
    assert len({result.get(timeout=0)[1] for result in results}) >= 2, "one process alone proves nothing"
    assert starts[-1] - starts[0] >= TASKS - 1 - LATE_S
    close = [(i, j) for i, j in combinations(range(TASKS), 2) if starts[j] - starts[i] < j - i - LATE_S]
    assert not close, starts


def test_what_three_rounds_of_the_controller_do_at_once_is_done_once(driven: Driven, walks: Any) -> None:
    driven.client("lambda").update_event_source_mapping(UUID=driven.mappings()["commands"], ScalingConfig={"MaximumConcurrency": 7})
    lost = rounds.lost_worker(walks, 1)
    done = driven.rounds("controller", 3)
    assert {name: sum(one[name] for one in done) for name in ("lost", "scaled", "asked")} == {"lost": 1, "scaled": 1, "asked": 2}
    assert driven.comes_to("WorkersLost", 1)
    assert driven.comes_to("LimitsChanged", 1)
    assert [(member.name, member.state) for member in walks.app.control.members()] == [(lost, "LOST")]
    assert driven.waiting("events") == 2, "each check was asked for once"


def test_what_three_rounds_of_the_scheduler_publish_at_once_runs_once(driven: Driven, walks: Any) -> None:
    schedule, now = Schedule("at-once", every(days=1)), int(time.time())
    rounds.scheduled(walks, schedule, State(now, (now,)))
    published = [one["published"] for one in driven.rounds("scheduler", 3)]
    assert sum(published) >= 1
    succeeds(driven, walks.app.result(occurrence(schedule, now).task_id))
    assert driven.comes_to("TasksSucceeded", 1)
