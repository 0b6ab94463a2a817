"""Stories of schedulers that look at the same minute: one of them publishes it, and another takes over what a dead one has claimed."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from sedano import every
from sedano.engine.schedules.scheduler import Scheduler, SchedulerRound
from sedano.errors import Unavailable
from sedano.model.messages.lamport import LamportClock
from sedano.model.queues import SQS
from sedano.model.schedules.agenda import HOLD_S
from sedano.testing import World
from tests.stories.diary import Diary

COMING = [*range(100, 151, 10)]
"""The moments (s) that the round at the first minute decides, where something comes round every ten seconds."""
STEPS = [
    ("schedules", "read", "after"), ("schedules", "change", "before"), ("schedules", "change", "after"), ("queues", "send", "before"),
    ("queues", "send", "after"), ("schedules", "change 2", "before"), ("schedules", "change 2", "after"),
]  # fmt: skip
"""All that a round asks of its ports."""
CLAIMED = STEPS[2:6]
"""The steps at which it has a claim."""


class Killed(BaseException):
    """The process is gone."""


class Watched:
    """A port that lets something happen once, before or after one call of it."""

    def __init__(self, inner: object, name: str, when: str, happen: Callable[[], None]) -> None:
        self.inner, self.when, self.happen = inner, when, happen
        self.name, _, number = name.partition(" ")
        self.left = int(number or 1)

    def __getattr__(self, name: str) -> object:
        found = getattr(self.inner, name)
        if name != self.name:
            return found

        def call(*args: object) -> object:
            self.left -= 1
            if self.left == 0 and self.when == "before":
                self.happen()
            answer = found(*args)
            if self.left == 0 and self.when == "after":
                self.happen()
            return answer

        return call


class Away:
    """Queues that do not answer."""

    bounds = SQS

    def send(self, queue: str, messages: Sequence[object]) -> list[Unavailable]:
        """Refuse each."""
        return [Unavailable("sqs.SendMessageBatch: no answer")] * len(messages)


@pytest.fixture
def diary() -> Diary:
    made = Diary()
    made.app.periodic(every(10))(made.note)
    return made


def a_scheduler(here: World, **ports: object) -> Scheduler:
    return Scheduler(replace(here.ports, **ports), LamportClock(lambda: int(here.clock.now() * 1_000_000)), "another")


def watched(here: World, step: tuple[str, str, str], happen: Callable[[], None]) -> Scheduler:
    port, name, when = step
    return a_scheduler(here, **{port: Watched(getattr(here.ports, port), name, when, happen)})


def killed() -> None:
    raise Killed


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_three_schedulers_send_what_one_sends_wherever_they_meet(diary: Diary, step: tuple[str, str, str]):
    with diary.open() as here:
        here.elapse(60)
        before, rounds = len(here.sent("note")), []

        def meanwhile() -> None:
            rounds.extend(a_scheduler(here).round(diary.app.periodics) for _ in range(2))

        rounds.append(watched(here, step, meanwhile).round(diary.app.periodics))
        assert sum(one.published for one in rounds) == len(here.sent("note")) - before == len(COMING)
        here.elapse(90)
        assert diary.at == [*range(10, 151, 10)]


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_what_a_dead_scheduler_has_claimed_is_left_to_it_for_a_bounded_time_and_then_published(diary: Diary, step: tuple[str, str, str]):
    with diary.open() as here:
        here.elapse(60)
        with pytest.raises(Killed):
            watched(here, step, killed).round(diary.app.periodics)
        here.clock.advance(HOLD_S - 1)
        if step in CLAIMED:
            assert a_scheduler(here).round(diary.app.periodics) == SchedulerRound()
        here.clock.advance(1)
        published = a_scheduler(here).round(diary.app.periodics).published
        if step in CLAIMED:
            assert published == len(COMING)
        here.elapse(90 - HOLD_S)
        assert sorted(moment for moment in diary.at if moment > 90) == [*range(100, 151, 10)]
        assert len(diary.at) == 15


def test_what_could_not_be_published_is_left_to_the_next_round_at_once(diary: Diary):
    with diary.open() as here:
        here.elapse(60)
        assert a_scheduler(here, queues=Away()).round(diary.app.periodics) == SchedulerRound()
        assert a_scheduler(here).round(diary.app.periodics).published == len(COMING)


def test_what_an_operator_changes_is_published_at_once_though_a_scheduler_holds_the_agenda(diary: Diary):
    with diary.open() as here:
        here.elapse(60)
        with pytest.raises(Killed):
            watched(here, STEPS[2], killed).round(diary.app.periodics)
        before = len(here.sent("note"))
        diary.app.schedules.edit("note", timetable=every(15))
        assert len(here.sent("note")) - before == len({*COMING, 75, 105, 135})
