"""Stories of tasks that wait longer than a queue can hold them back: they run to the second, once, and can be listed, moved, cancelled."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from sedano import Retry, Sedano
from sedano.canvas import chain
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.messages.message import TIMER_OPENING
from sedano.model.timers import EARLY_S
from sedano.ports import Outgoing, command_queue
from sedano.testing import World, world

DAY = 86_400
COMMANDS = command_queue("default")


class Diary:
    """An app whose task writes down when it ran."""

    def __init__(self, **options) -> None:
        self.app = Sedano("diary")
        self.ran: list[tuple[int, float]] = []
        self.world: World | None = None
        self.note = self.app.task(name="note", **options)(self._note)
        self.fails = 0

    def _note(self, number: int) -> int:
        self.ran.append((number, self.world.clock.now()))
        if self.fails:
            self.fails -= 1
            raise ValueError(number)
        return number

    @contextmanager
    def open(self) -> Iterator[World]:
        with world(self.app) as self.world:
            yield self.world


@pytest.mark.parametrize("seconds", [1, 899, 900, 901, 960, 3_600, 30 * DAY, 366 * DAY])
def test_a_task_runs_at_its_moment_to_the_second_from_a_second_to_a_year(seconds):
    diary = Diary()
    with diary.open() as here:
        due = here.clock.now() + seconds
        by_eta = diary.note.apply_async((1,), eta=datetime.fromtimestamp(due, UTC))
        by_countdown = diary.note.apply_async((2,), countdown=seconds)
        here.drain()
        assert by_eta.get() == 1
        assert by_countdown.get() == 2
        assert [number for number, _ in sorted(diary.ran)] == [1, 2]
        assert all(0 <= at - due <= 1 for _, at in diary.ran)
        assert here.parked() == []


def test_a_moment_in_the_past_is_now_and_one_beyond_a_year_is_refused():
    diary = Diary()
    with diary.open() as here:
        began = here.clock.now()
        diary.note.apply_async((1,), eta=datetime.fromtimestamp(began - DAY, UTC))
        here.drain()
        assert diary.ran == [(1, began)]
        with pytest.raises(OptionError, match=r"can wait here, 31622400 s \(366 days\)"):
            diary.note.apply_async((2,), countdown=367 * DAY)
        with pytest.raises(OptionError, match="2592000 s"):
            chain(diary.note.si(1), diary.note.si(2).set(countdown=31 * DAY)).delay()


def test_one_task_id_is_scheduled_once_and_the_first_moment_stands():
    diary = Diary()
    with diary.open() as here:
        for seconds in (2_000, 5_000, 2_000):
            diary.note.apply_async((1,), task_id="mine", countdown=seconds)
        (waiting,) = diary.app.scheduled()
        assert (waiting.task_id, waiting.task, waiting.queue, list(waiting.args)) == ("mine", "note", "default", [1])
        assert waiting.eta == datetime.fromtimestamp(here.clock.now() + 2_000, UTC)
        here.drain()
        assert len(diary.ran) == 1


def test_what_waits_is_moved_and_cancelled_until_its_timer_fires():
    diary = Diary()
    with diary.open() as here:
        began = here.clock.now()
        diary.note.apply_async((1,), task_id="moved", countdown=2_000)
        diary.note.apply_async((2,), task_id="cancelled", countdown=3_000)
        later = datetime.fromtimestamp(began, UTC) + timedelta(days=2)
        assert diary.app.scheduled().edit("moved", eta=later)
        assert [sent["args"] for sent in here.sent("note")] == [[1], [2]]
        assert diary.app.scheduled().cancel("cancelled")
        assert not diary.app.scheduled().cancel("cancelled")
        assert not diary.app.scheduled().edit("unknown", countdown=5_000)
        with pytest.raises(OptionError, match="too soon to move"):
            diary.app.scheduled().edit("moved", countdown=149)
        with pytest.raises(OptionError, match="give one of the two"):
            diary.app.scheduled().edit("moved")
        here.drain()
        assert diary.ran == [(1, later.timestamp())]
        assert [sent["args"] for sent in here.sent("note")] == [[1], [2]]
        assert list(diary.app.scheduled()) == []
        assert not diary.app.scheduled().edit("moved", countdown=5_000)


def test_a_retry_waits_for_longer_than_a_queue_holds_it():
    diary = Diary(retry=Retry(max_retries=2, interval_start=7_200, interval_max=7_200, backoff=1, jitter=False))
    diary.fails = 2
    with diary.open() as here:
        began = here.clock.now()
        result = diary.note.delay(1)
        here.step()
        assert [waiting.attempt for waiting in diary.app.scheduled()] == [1]
        here.drain()
        assert result.get() == 1
        assert [round(at - began) for _, at in diary.ran] == [0, 7_200, 14_400]


def test_a_duplicated_and_delayed_envelope_runs_its_task_once():
    diary = Diary()
    with diary.open() as here:
        result = diary.note.apply_async((1,), countdown=2_000)
        here.clock.advance(2_000 - EARLY_S)
        (envelope,) = here.ports.queues.receive(COMMANDS)
        here.ports.queues.send(COMMANDS, [Outgoing(envelope.body), Outgoing(envelope.body, 60), Outgoing(envelope.body, 800)])
        here.ports.queues.hold(envelope, 0)
        here.drain()
        assert result.get() == 1
        assert len(diary.ran) == 1


def test_a_revoked_task_does_not_run_when_its_timer_fires():
    diary = Diary()
    with diary.open() as here:
        result = diary.note.apply_async((1,), countdown=DAY)
        diary.app.control.revoke(result.id)
        here.drain()
        assert diary.ran == []
        assert result.state == states.REVOKED


def test_a_revoked_task_does_not_run_however_far_its_moment_is():
    diary = Diary()
    with diary.open() as here:
        by_id = diary.note.apply_async((1,), countdown=300 * DAY)
        by_result = diary.note.apply_async((2,), countdown=300 * DAY)
        assert diary.app.control.revoke(by_id.id) == [states.REVOKED]
        by_result.revoke()
        assert list(diary.app.scheduled()) == []
        here.drain()
        assert diary.ran == []


def test_a_task_that_has_expired_when_its_moment_comes_does_not_run():
    diary = Diary()
    with diary.open() as here:
        too_late = diary.note.apply_async((1,), countdown=2_000, expires=1_900)
        in_time = diary.note.apply_async((2,), countdown=2_000, expires=2_100)
        here.drain()
        assert (too_late.state, in_time.get()) == (states.EXPIRED, 2)
        assert [number for number, _ in diary.ran] == [2]


def test_a_broken_envelope_is_set_aside_with_its_reason():
    diary = Diary()
    with diary.open() as here:
        here.ports.queues.send(COMMANDS, [Outgoing(TIMER_OPENING + '"id":5}')])
        diary.note.delay(1)
        here.drain()
        (parked,) = here.parked()
        assert "timer" in str(parked.attributes)
        assert len(diary.ran) == 1
