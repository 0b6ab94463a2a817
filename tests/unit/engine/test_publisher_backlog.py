"""The publisher's promise: what it confirmed was sent, or stored where a kill does not reach, and each publication ends by its deadline."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sedano import Sedano, memory
from sedano.engine.drafts import Addressed
from sedano.engine.publisher.sender import Publisher, _Line, _Ticket
from sedano.engine.publisher.spool import Taken
from sedano.errors import BacklogFull, ConfigurationError, OptionError, PublishError, SedanoError, SpoolError, TooLarge, Unavailable
from sedano.model.queues import SQS
from sedano.ports import Outgoing, deadlines
from tests.unit.engine.test_publisher import AWAY, QUEUE, Gate, Kept, message, publisher, waiting


class Tide:
    """A gate's answer: away until it turns."""

    def __init__(self) -> None:
        """Be away."""
        self.out = True

    def __call__(self, bodies: list[str]) -> list[SedanoError | None]:
        """Take all, or none."""
        return [AWAY if self.out else None] * len(bodies)


def test_the_backlog_goes_with_the_next_message_that_gets_through() -> None:
    tide, kept = Tide(), Kept()
    gate = Gate(tide)
    line, _, _ = publisher(gate, backlog=kept)
    line.publish(message("a"))
    line.publish_or_keep([message("b"), message("c")])
    tide.out = False
    line.publish(message("d"))
    assert gate.calls[-2:] == [["d"], ["a", "b", "c"]]
    assert kept == []


def test_what_stays_stored_is_tried_behind_what_was_not_tried_yet() -> None:
    tide, kept = Tide(), Kept()
    gone = ConfigurationError("no such queue")
    gate = Gate(lambda bodies: [gone if "gone" in body else answer for body, answer in zip(bodies, tide(bodies), strict=True)])
    line, _, _ = publisher(gate, backlog=kept)
    kept.extend(message(body) for body in ("gone1", "gone2", "b"))
    tide.out = False
    assert line.drain() == 1
    assert kept.bodies == ["gone1", "gone2"]


def test_without_a_backlog_nothing_is_confirmed_that_was_not_sent() -> None:
    line, _, telemetry = publisher(Gate(Tide()))
    with pytest.raises(PublishError, match=r"not published: away; not stored: this host has no spool .*; publish it again"):
        line.publish(message("a"))
    with pytest.raises(PublishError):
        line.publish_or_keep([message("b"), message("c")])
    assert line.close() == []
    assert telemetry.counted("PublishBacklogged") == 0


def test_a_full_backlog_refuses_what_it_does_not_keep() -> None:
    kept = Kept(most=2)
    line, _, _ = publisher(Gate(Tide()), backlog=kept)
    line.publish(message("a"))
    line.publish(message("b"))
    with pytest.raises(BacklogFull, match="2 messages wait already"):
        line.publish(message("c"))
    assert kept.bodies == ["a", "b"]


def test_a_backlog_that_cannot_be_written_confirms_nothing_and_says_why() -> None:
    kept = Kept()
    line, _, _ = publisher(Gate(Tide()), backlog=kept)
    kept.broken = "the spool is open to other users; `chmod 700` it"
    with pytest.raises(PublishError, match="not stored: the spool is open to other users"):
        line.publish(message("a"))


def test_a_backlog_that_cannot_be_read_fails_no_publication_that_got_through() -> None:
    tide, kept = Tide(), Kept()
    line, _, telemetry = publisher(Gate(tide), backlog=kept)
    line.publish(message("a"))
    tide.out, kept.broken = False, "the disk is gone"
    line.publish(message("b"))
    assert telemetry.messages("error") == ["backlog not usable"]


def test_what_keeps_order_is_not_stored_but_refused() -> None:
    class Fifo:
        bounds = SQS

        def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
            return [AWAY] * len(messages)

    kept = Kept()
    line, _, _ = publisher(Fifo(), backlog=kept)
    with pytest.raises(PublishError, match="keeps order"):
        line.publish(Addressed("commands:q.fifo", Outgoing("a", serial_key="k")))
    assert kept == []


def test_of_a_batch_what_may_be_sent_later_is_stored_and_what_is_wrong_is_raised() -> None:
    kept = Kept()
    gate = Gate(lambda bodies: [TooLarge(body) if body == "b" else AWAY for body in bodies])
    line, _, _ = publisher(gate, backlog=kept)
    with pytest.raises(TooLarge):
        line.publish_or_keep([message(body) for body in "abc"])
    assert kept.bodies == ["a", "c"]


def test_close_stores_what_was_interrupted_and_sends_what_is_stored() -> None:
    tide, kept, ended = Tide(), Kept(), list[int]()

    def answer(bodies: list[str]) -> list[SedanoError | None]:
        if not ended:
            ended.append(1)
            raise SystemExit(143)
        return tide(bodies)

    line, _, _ = publisher(Gate(answer), backlog=kept)
    with pytest.raises(SystemExit):
        line.publish_or_keep([message("a"), message("b")])
    assert line.close() == []
    assert kept.bodies == ["a", "b"]
    tide.out = False
    assert line.close() == []
    assert kept == []


def test_what_was_interrupted_and_cannot_be_stored_is_returned() -> None:
    def answer(bodies: list[str]) -> list[SedanoError | None]:
        if len(gate.calls) == 1:
            raise SystemExit(143)
        return [AWAY] * len(bodies)

    gate = Gate(answer)
    line, _, _ = publisher(gate)
    with pytest.raises(SystemExit):
        line.publish_or_keep([message("a")])
    assert [m.outgoing.body for m in line.close()] == ["a"]
    assert line.close() == []


@pytest.mark.parametrize("act", ["close", "publish", "publish_or_keep"])
def test_a_backlog_survives_a_process_that_has_to_end_while_it_sends(act: str) -> None:
    tide, kept = Tide(), Kept()

    def answer(bodies: list[str]) -> list[SedanoError | None]:
        if "a" in bodies and not tide.out:
            raise SystemExit(143)
        return tide(bodies)

    line, _, _ = publisher(Gate(answer), backlog=kept)
    line.publish(message("a"))
    tide.out = False
    more = {"publish": (message("b"),), "publish_or_keep": ([message("b")],)}.get(act, ())
    with pytest.raises(SystemExit):
        getattr(line, act)(*more)
    assert kept.bodies == ["a"]


class Opened(Kept):
    """A backlog that notes when it is opened, and of what it was asked for."""

    def __init__(self, *bodies: str, used: bool = True) -> None:
        """Hold these."""
        super().__init__(most=1_000)
        self.extend(message(body) for body in bodies)
        self.takes, self.used, self.returned = list[int](), used, list[str]()

    def exists(self) -> bool:
        """Tell whether anything was ever kept."""
        return self.used

    def take(self, most: int, now: float) -> list[Taken]:
        """Take some."""
        self.takes.append(most)
        return super().take(most, now)

    def give_back(self, taken: Sequence[Any]) -> None:
        """Put some behind the others."""
        self.returned += [one.message.outgoing.body for one in taken]
        super().give_back(taken)


def test_a_backlog_that_nothing_was_put_into_is_not_opened() -> None:
    kept = Opened(used=False)
    line, _, _ = publisher(Gate(), backlog=kept)
    line.publish(message("a"))
    assert line.drain() == 0
    line.resume()
    line.publish(message("b"))
    line.publish_or_keep([message("c"), message("d")])
    assert line.close() == []
    assert kept.takes == []


def test_what_an_earlier_process_stored_follows_the_first_publication_that_gets_through_and_not_a_later_one() -> None:
    gate, kept = Gate(), Opened("old")
    line, _, _ = publisher(gate, backlog=kept)
    line.resume()
    assert gate.calls == []
    for body in "abc":
        line.publish(message(body))
    assert gate.calls == [["a"], ["old"], ["b"], ["c"]]
    assert kept.takes == [100, 100], "the second time it was empty"


def test_a_publisher_without_a_backlog_resumes_drains_and_closes_nothing() -> None:
    line, _, telemetry = publisher(Gate())
    line.resume()
    line.publish(message("a"))
    assert (line.drain(), line.close(), telemetry.lines) == (0, [], [])


def test_a_hundred_stored_messages_follow_one_publication_and_all_go_when_the_backlog_is_drained() -> None:
    kept = Opened(*(f"m{n}" for n in range(350)))
    line, _, _ = publisher(Gate(), backlog=kept)
    line.resume()
    line.publish(message("a"))
    assert len(kept) == 250
    line.publish(message("b"))
    assert len(kept) == 150
    assert (line.drain(), len(kept)) == (150, 0)


def test_of_what_was_interrupted_close_stores_only_what_was_not_sent() -> None:
    def answer(bodies: list[str]) -> list[SedanoError | None]:
        if len(gate.calls) == 1:
            raise SystemExit(143)
        return [AWAY if body == "b" else None for body in bodies]

    gate, kept = Gate(answer), Opened()
    line, _, telemetry = publisher(gate, backlog=kept)
    with pytest.raises(SystemExit):
        line.publish_or_keep([message("a"), message("b")])
    assert line.close() == []
    assert kept.bodies == ["b"]
    assert telemetry.counted("PublishBacklogged") == 1


def test_nothing_is_drained_after_a_publication_that_was_stored_or_refused_or_of_no_message() -> None:
    tide, kept = Tide(), Opened("old")
    line, _, _ = publisher(Gate(lambda bodies: [TooLarge("x") if bodies == ["x"] else answer for answer in tide(bodies)]), backlog=kept)
    line.resume()
    line.publish(message("a"))
    tide.out = False
    with pytest.raises(TooLarge):
        line.publish(message("x"))
    line.publish_or_keep([])
    assert kept.takes == []
    line.publish(message("b"))
    assert kept.takes == [100]


def test_a_stored_message_that_still_cannot_be_sent_is_left_to_the_next_sender_who_tries_it_soon() -> None:
    gate = Gate(lambda bodies: [AWAY if body == "b" else None for body in bodies])
    kept = Opened("a", "b", "c")
    line, _, _ = publisher(gate, backlog=kept)
    line.resume()
    line.publish(message("x"))
    assert (kept.returned, kept.bodies) == (["b"], ["b"])
    line.publish(message("y"))
    assert kept.takes == [100, 100], "the backlog was not empty"


def test_what_was_sent_is_forgotten_even_if_the_rest_cannot_be_given_back() -> None:
    class Stuck(Opened):
        def give_back(self, taken: Sequence[Any]) -> None:
            raise SpoolError("the disk is full")

    kept = Stuck("a", "b")
    line, _, telemetry = publisher(Gate(lambda bodies: [AWAY if body == "b" else None for body in bodies]), backlog=kept)
    assert line.drain() == 0
    assert (kept.bodies, telemetry.messages("error")) == (["b"], ["backlog not usable"])


def test_draining_a_backlog_that_cannot_be_used_ends() -> None:
    kept = Opened("a")
    kept.broken = "the disk is gone"
    line, _, telemetry = publisher(Gate(), backlog=kept)
    assert line.drain() == 0
    assert telemetry.messages("error") == ["backlog not usable"]


def test_the_first_error_of_a_publication_is_raised_and_one_that_went_does_not_hide_it() -> None:
    def answer(bodies: list[str]) -> list[SedanoError | None]:
        return [Unavailable(body) if body.startswith("away") else TooLarge(body) if body.startswith("wrong") else None for body in bodies]

    line, _, _ = publisher(Gate(answer))
    with pytest.raises(PublishError, match="not published: away1; not stored"):
        line.publish_or_keep([message(body) for body in ("away1", "away2", "fine")])
    with pytest.raises(TooLarge, match="wrong1"):
        line.publish_or_keep([message(body) for body in ("wrong1", "wrong2", "fine")])


class Slow:
    """A gate's answer that takes a while of virtual time, and is none."""

    def __init__(self, seconds: float) -> None:
        """Take *seconds* for each call."""
        self.seconds, self.clock = seconds, memory.VirtualClock(0.0)

    def __call__(self, bodies: list[str]) -> list[SedanoError | None]:
        """Let time pass, as long as the deadline allows, and take nothing."""
        left = deadlines.left(self.clock.monotonic())
        self.clock.sleep(self.seconds if left is None else min(self.seconds, left))
        return [AWAY] * len(bodies)


@given(each=st.floats(0, 10), deadline=st.floats(0.05, 10), seed=st.integers(0, 99))
def test_a_publication_ends_by_its_deadline_whatever_each_call_takes(each: float, deadline: float, seed: int) -> None:
    slow, kept = Slow(each), Kept()
    clock = slow.clock
    line = Publisher(
        Gate(slow), memory.MemoryTimers(clock, memory.MemoryQueues(clock, ())), clock, memory.SeededEntropy(seed), memory.MemoryTelemetry(),
        backlog=kept,
    )  # type: ignore[arg-type]  # fmt: skip
    with deadlines.within(deadline, clock.monotonic()):
        line.publish(message("a"))
    assert clock.monotonic() <= deadline + 1e-9
    assert kept.bodies == ["a"]


def test_a_thread_whose_deadline_comes_while_it_waits_leaves_the_line_to_the_others() -> None:
    gate, kept = Gate(), Kept()
    line, clock, _ = publisher(gate, lanes=1, backlog=kept)
    gate.open.clear()

    def hurried() -> None:
        with deadlines.within(0.0, clock.monotonic()):
            line.publish(message("hurried"))

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(line.publish, message("first"))
        assert gate.entered.acquire(timeout=20)
        patient = [pool.submit(line.publish, message(body)) for body in "ab"]
        waiting(line, 2)
        pool.submit(hurried).result(20)
        assert kept.bodies == ["hurried"]
        gate.open.set()
        assert [future.exception(20) for future in (first, *patient)] == [None] * 3
    assert sorted(body for call in gate.calls for body in call) == ["a", "b", "first", "hurried"], "what was stored followed"
    assert line._lines[QUEUE].free == 1


def test_a_thread_that_was_to_lead_and_left_hands_the_batch_on() -> None:
    line = _Line(1, 10)
    line.free = 0
    gone, stays = _Ticket(Outgoing("gone")), _Ticket(Outgoing("stays"))
    gone.gone = True
    line.hand_on([gone, stays])
    assert [one.outgoing.body for one in stays.batch] == ["stays"]
    assert stays.turn.acquire(blocking=False)
    assert line.free == 0
    line.hand_on([gone])
    assert line.free == 1


def test_deadlines_nest_and_the_earlier_one_holds() -> None:
    with deadlines.within(5, 100.0), deadlines.within(50, 101.0):
        assert deadlines.left(102.0) == 3
        assert deadlines.left(200.0) == 0
    assert deadlines.left(0.0) is None


@pytest.mark.parametrize("wrong", [0, -1, 301, "5", True, float("nan")])
def test_a_call_timeout_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError, match=r"call_timeout: .* is not a number of seconds from 0\.05 to 300"):
        Sedano("shop", call_timeout=wrong)
