"""How far a poll gets, step by step: the pages, the time that is left, the writes of its state, and what is parked of a page."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.drafts import CommandDraft
from sedano.engine.sources.polls import BEHIND, HELD, WAITS, Poll, PollRound, Polls, read_state
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, SourceBusy, TooLarge, Unavailable
from sedano.model import refusals
from sedano.model.history.run_rows import Host
from sedano.model.memos import Memo, MemoChanged
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.model.sources.polls import HOLD_S, Item, Polled, PollState, call_id, item_of, text_of, written
from sedano.ports import PARKED, Outgoing, Ports, command_queue
from tests.stories.refusing import Refusing

QUEUE = command_queue("default")
AWAY = Unavailable("away")
Source = Callable[[Any], Polled | None]


class Telemetry(memory.MemoryTelemetry):
    """Telemetry that notes each count by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: list[tuple[str, float]] = []

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Note and add."""
        self.counts.append((metric, value))
        super().count(metric, value, **dimensions)


class Memos(memory.MemoryMemos):
    """Memos that note how often they are changed, and refuse it when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.changes, self.wrong = 0, list[SedanoError]()

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Change, or raise what is *wrong*."""
        if self.wrong:
            raise self.wrong.pop()
        self.changes += 1
        return super().change(memo, seen)


class Poller:
    """The polls of an app over ports in memory, and one poll: `asked` has the cursors that its source got."""

    def __init__(self) -> None:
        ports = memory.ports()
        clock = ports.clock
        assert isinstance(clock, memory.VirtualClock)
        self.clock, self.telemetry, self.memos = clock, Telemetry(), Memos()
        self.kept = memory.MemoryQueues(clock, [QUEUE, PARKED])
        self.refuses: Callable[[str, Outgoing], SedanoError | None] = lambda queue, message: None
        queues = Refusing(self.kept, self._refused)
        self.parameters = memory.MemoryParameters()
        self.ports: Ports = replace(ports, queues=queues, telemetry=self.telemetry, memos=self.memos, parameters=self.parameters)
        self.wrong: dict[Any, Exception] = {}
        self.asked: list[Any] = []
        lamport = LamportClock(lambda: int(clock.now() * 1_000_000))
        self.polls = Polls(self.called, self.ports, Host("host", 1), lamport)

    def _refused(self, queue: str, message: Outgoing) -> SedanoError | None:
        return self.refuses(queue, message)

    def called(self, task: str, item: Any, task_id: str) -> CommandDraft:
        """Return the call of *task*, or raise what is *wrong* with the item."""
        if item in self.wrong:
            raise self.wrong[item]
        return CommandDraft("default", Command("", task_id, task, args=(item,)))

    def poll(self, source: Source) -> Poll:
        """Return the poll of *source*, which may ask for a secret."""

        def read(cursor: Any, _: Callable[[str], str]) -> Polled | None:
            self.asked.append(cursor)
            return source(cursor)

        return Poll("orders", read, "ordered")

    def run(self, source: Source, seconds: float = 900.0, by: str = "one") -> PollRound:
        """Poll *source* for so many *seconds*."""
        return self.polls.run(self.poll(source), by, self.clock.now() + seconds)

    def put(self, state: PollState) -> None:
        """Make *state* that of the poll, as another process does."""
        seen, _ = read_state(self.ports, "orders")
        assert memory.MemoryMemos.change(self.memos, Memo(seen.name, text_of(state), f"{seen.nonce}+"), seen).done

    @property
    def state(self) -> PollState:
        """The state of the poll."""
        return read_state(self.ports, "orders")[1]

    def sent(self) -> int:
        """Return how many calls are in the queue."""
        return len(self.kept.peek(QUEUE))

    def parked(self) -> list[tuple[str, ...]]:
        """Return what was parked: the message, the queue, the reason, the field, the detail."""
        names = ("message_id", "queue", "reason", "field", "detail")
        return [tuple(one.attributes[name] for name in names) for one in self.kept.peek(PARKED)]


@pytest.fixture
def poller() -> Poller:
    return Poller()


def once(*items: Any) -> Source:
    """A source with one page."""
    return lambda cursor: Polled(items, "end") if cursor is None else None


def endless(cursor: Any) -> Polled:
    """A source whose next page can always be read at once."""
    return Polled([cursor or 0], (cursor or 0) + 1, more=True)


def parked_of(item: Any, field: str, detail: str, code: str = refusals.STREAM) -> tuple[str, ...]:
    """Return what `Poller.parked` says of an *item*."""
    return call_id("orders", "ordered", item_of(item, None).id), "poll:orders", code, field, detail


def test_a_poll_reads_a_hundred_pages_at_most_and_counts_its_items(poller: Poller) -> None:
    assert poller.run(endless) == PollRound(100, 100)
    assert poller.asked == [None, *range(1, 100)]
    assert [one for one in poller.telemetry.counts if one[0] == "ItemsPolled"] == [("ItemsPolled", 100)]
    assert (poller.sent(), poller.state.cursor) == (100, 100)


@pytest.mark.parametrize(("seconds", "pages"), [(0.0, 1), (19.5, 1), (20.0, 1), (20.5, 2), (30.0, 2), (30.5, 3)])
def test_ten_seconds_before_the_end_no_page_is_read_but_the_first(poller: Poller, seconds: float, pages: int) -> None:
    def slow(cursor: Any) -> Polled:
        poller.clock.advance(10.0)
        return endless(cursor)

    assert poller.run(slow, seconds).pages == pages


@pytest.mark.parametrize(("seconds", "done"), [(0.0, 100), (19.5, 100), (20.0, 200), (29.5, 200)])
def test_later_than_ten_seconds_before_the_end_no_group_begins_but_the_first(poller: Poller, seconds: float, done: int) -> None:
    poller.refuses = lambda queue, message: poller.clock.advance(0.1)
    with pytest.raises(Unavailable, match=f"poll orders: {done} of 250 items are published; the next attempt publishes the rest"):
        poller.run(once(*range(250)), seconds)
    assert (poller.sent(), poller.state.published, poller.state.by) == (done, done, "")


@pytest.mark.parametrize(("items", "changes"), [(1, 2), (100, 2), (101, 3), (200, 3), (201, 4)])
def test_the_state_is_written_before_a_page_after_it_and_between_its_groups(poller: Poller, items: int, changes: int) -> None:
    assert poller.run(once(*range(items))) == PollRound(1, items)
    assert poller.memos.changes == changes


def test_between_two_groups_the_page_stays_claimed(poller: Poller) -> None:
    states = list[PollState]()
    poller.refuses = lambda queue, message: states.append(poller.state)
    began = poller.clock.now()
    assert poller.run(once(*range(200))).published == 200
    assert {(one.by, one.until, one.published) for one in states} == {("one", began + HOLD_S, 0), ("one", began + HOLD_S, 100)}


def test_a_page_without_new_items_moves_the_cursor_in_one_write(poller: Poller) -> None:
    assert poller.run(once()) == PollRound(1)
    assert (poller.state, poller.memos.changes, poller.telemetry.counts) == (PollState(cursor="end"), 1, [])


def test_a_page_that_changes_nothing_writes_nothing(poller: Poller) -> None:
    assert poller.run(lambda cursor: Polled([])) == PollRound(1)
    assert poller.memos.changes == 0


def test_a_poll_ends_when_another_has_moved_the_cursor(poller: Poller) -> None:
    def overtaken(cursor: Any) -> Polled:
        poller.put(PollState(cursor="other"))
        return Polled([], "mine", more=True)

    assert poller.run(overtaken) == PollRound(note=BEHIND)
    assert (poller.asked, poller.state.cursor) == ([None], "other")


def test_a_source_is_asked_at_the_moment_that_it_named(poller: Poller) -> None:
    now = poller.clock.now()
    poller.put(PollState(wait=now + 0.5))
    assert poller.run(once(1)) == PollRound(note=WAITS)
    poller.clock.advance(0.5)
    assert poller.run(once(1)) == PollRound(1, 1)
    assert poller.state.wait == 0.0


def test_at_that_moment_the_claim_of_another_is_the_reason_to_stop(poller: Poller) -> None:
    now = poller.clock.now()
    poller.put(PollState(wait=now, by="other", until=now + 1))
    assert poller.run(once(1)) == PollRound(note=HELD)


@pytest.mark.parametrize(("seconds", "waits"), [(-5.0, 0.0), (0.0, 0.0), (0.5, 0.5), (86_400.0, 86_400.0), (1e9, 86_400.0)])
def test_a_busy_source_is_left_alone_as_long_as_it_asks_for_at_most_a_day(poller: Poller, seconds: float, waits: float) -> None:
    def busy(cursor: Any) -> Polled | None:
        if len(poller.asked) == 1:
            raise SourceBusy(seconds)
        return None

    assert poller.run(busy) == PollRound(note=WAITS)
    assert (len(poller.asked), poller.state.wait) == (1, poller.clock.now() + waits)
    assert poller.telemetry.counts == [("PollsPutOff", 1)]


def test_a_pause_that_is_not_stored_is_not_counted(poller: Poller) -> None:
    def busy(cursor: Any) -> Polled:
        poller.memos.wrong.append(AWAY)
        raise SourceBusy(60)

    with pytest.raises(Unavailable, match="away"):
        poller.run(busy)
    assert poller.telemetry.counts == []


def wrongs() -> Sequence[tuple[Exception, tuple[str, str, str]]]:
    """Errors of an item for good, each with the field, the detail and the code under which it is parked."""
    return [
        (MessageRefused(refusals.SCHEMA, "args", "no order"), ("args", "no order", refusals.SCHEMA)),
        (TooLarge("too long"), ("call", "TooLarge: too long", refusals.STREAM)),
        (RuntimeError("odd"), ("call", "RuntimeError: odd", refusals.STREAM)),
    ]


@pytest.mark.parametrize(("error", "told"), wrongs())
def test_an_item_with_which_the_task_cannot_be_called_is_parked_and_not_counted_as_published(
    poller: Poller, error: Exception, told: tuple[str, str, str]
) -> None:
    poller.wrong[2] = error
    assert poller.run(once(1, 2, 3)) == PollRound(1, 2, 1)
    assert poller.parked() == [parked_of(2, *told)]
    assert (poller.sent(), poller.state.published, poller.telemetry.counted("ItemsPolled")) == (2, 2, 2)


def test_a_call_that_cannot_be_made_now_fails_the_poll_and_parks_nothing(poller: Poller) -> None:
    poller.wrong[2] = AWAY
    with pytest.raises(Unavailable, match="away"):
        poller.run(once(1, 2, 3))
    assert (poller.parked(), poller.state.cursor, poller.state.by) == ([], None, "")


def test_a_call_that_its_queue_refuses_for_good_is_parked(poller: Poller) -> None:
    poller.refuses = lambda queue, message: TooLarge("too long") if '"args":[2]' in message.body and queue == QUEUE else None
    assert poller.run(once(1, 2, 3)) == PollRound(1, 2, 1)
    assert poller.parked() == [parked_of(2, "call", "too long")]


def test_a_call_with_which_its_queue_cannot_deal_is_parked_alone(poller: Poller) -> None:
    def fails(queue: str, message: Outgoing) -> SedanoError | None:
        if queue == QUEUE and '"args":[2]' in message.body:
            raise RuntimeError("odd")
        return None

    poller.refuses = fails
    assert poller.run(once(1, 2, 3)).parked == 1
    ((which, *_, detail),) = poller.parked()
    assert (which, "RuntimeError" in detail) == (parked_of(2, "", "")[0], True)


def test_a_call_that_its_queue_does_not_take_now_fails_the_poll(poller: Poller) -> None:
    poller.refuses = lambda queue, message: AWAY if '"args":[2]' in message.body else None
    with pytest.raises(Unavailable, match="away"):
        poller.run(once(1, 2, 3))
    assert (poller.parked(), poller.state.cursor) == ([], None)


def test_a_parked_item_is_published_again_under_the_id_of_its_content_or_its_queue_says_why_not(poller: Poller) -> None:
    poll, text = poller.poll(once()), written(Item(2, ""))
    poller.refuses = lambda queue, message: AWAY
    with pytest.raises(Unavailable, match="away"):
        poller.polls.again(poll, text)
    poller.refuses = lambda queue, message: None
    poller.polls.again(poll, text)
    (message,) = poller.kept.peek(QUEUE)
    assert call_id("orders", "ordered", item_of(2, None).id) in message.body


def test_a_source_gets_the_text_of_its_parameter_without_white_space_around_it(poller: Poller) -> None:
    poll = Poll("orders", lambda cursor, secret: Polled([secret("/shop/token")], "end"), "ordered", secrets=("/shop/token",))
    put = "aws ssm put-parameter --type SecureString --name /shop/token --value …"
    for text in ("", " \n"):
        poller.parameters.put("/shop/token", text)
        with pytest.raises(ConfigurationError, match=f"poll: the parameter /shop/token does not exist or is empty; store it with: {put}"):
            poller.polls.run(poll, "one", poller.clock.now() + 900)
    poller.parameters.put("/shop/token", " s3cret\n")
    assert poller.polls.run(poll, "one", poller.clock.now() + 900).published == 1
    assert '"args":["s3cret"]' in poller.kept.peek(QUEUE)[0].body
