"""Permits whose board other workers change between two calls of a worker: each message waits once, and no call is made in vain."""

from typing import Any

from sedano import memory
from sedano.engine.batch import Batch
from sedano.engine.limits.concurrency import TRIES, Permitting
from sedano.model.limits.concurrency import MOST_WAITING, RESERVED_MS, Board, BoardChanged, Permit
from sedano.ports import Ports
from tests.unit.engine.gated import QUEUE, asked, job
from tests.unit.engine.test_permitting import NAME, Overtaken, admitted, calls, held, ms, waiting, world_and_permits


def over(limits: memory.MemoryLimits, unit: float = 0.25) -> tuple[Ports, Permitting, Batch]:
    """A worker over these limits."""
    ports, permits, now = world_and_permits(unit)
    port: Any = ports.limits
    port.port = limits
    return ports, permits, now


def shown(ports: Ports) -> list[float]:
    """For how long messages were made invisible, in order."""
    return [seconds for _, seconds in asked(ports.queues, "hold")]


class Freed(memory.MemoryLimits):
    """Limits whose permit is given back before the first message waits for it."""

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Give the permit back first."""
        self.give_back(name, seen)
        return super().wait(name, seen, message, now)


def test_a_permit_that_came_free_before_a_message_could_wait_is_known_to_be_free() -> None:
    ports, permits, now = over(Freed())
    held(ports)
    assert admitted(permits, now, job("a")) == []
    assert shown(ports) == [62.25, 0.0], "it is visible again at once"
    calls(ports)
    assert len(admitted(permits, now, job("b"))) == 1
    assert calls(ports) == ["take"]


class Sooner(memory.MemoryLimits):
    """Limits where another worker takes a permit that ends sooner, just before a message waits."""

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Let the other worker take it over first."""
        other = Permit(1, 2, "sooner", "another", seen.expires - 5_000)
        if self.board(name).permits[1].token == 1:
            assert self.give_back(name, Permit(1, 1, "nonce", "", 0)).done
            assert self.take(name, other, "x", now).done
        return super().wait(name, seen, message, now)


def test_a_message_waits_once_also_if_another_permit_ends_sooner_by_then() -> None:
    ports, permits, now = over(Sooner())
    held(ports)
    assert ports.limits.take(NAME, Permit(1, 1, "nonce", "another", ms(ports, 70.0)), "other", ms(ports)).done
    assert admitted(permits, now, job("a"), limit=2) == []
    assert (len(ports.limits.board(NAME).waiting), len(asked(ports.limits, "wait"))) == (1, 1)


class Filled(memory.MemoryLimits):
    """Limits whose permit goes to the next holder, for whom *waiting* others wait, before the first message waits."""

    waiting = MOST_WAITING

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Let the next holder take the permit, and the others wait for it."""
        if seen.token == 1:
            assert self.give_back(name, seen).done
            assert self.take(name, later := seen._replace(token=2, nonce="next"), "x", now).done
            for number in range(self.waiting):
                assert super().wait(name, later, f"message {number}", now).done
        return super().wait(name, seen, message, now)


def test_where_ten_came_first_the_next_message_tries_again_without_another_call() -> None:
    ports, permits, now = over(Filled())
    held(ports)
    assert admitted(permits, now, job("a")) == []
    assert (len(asked(ports.limits, "wait")), shown(ports)) == (1, [62.25, 3.75])


def test_where_nine_came_first_the_next_message_waits_too() -> None:
    limits = Filled()
    limits.waiting = MOST_WAITING - 1
    ports, permits, now = over(limits)
    held(ports)
    assert admitted(permits, now, job("a")) == []
    assert (len(asked(ports.limits, "wait")), shown(ports)) == (2, [62.25])


class Restless(memory.MemoryLimits):
    """Limits whose permit has another holder at each call."""

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Refuse, with a later holder."""
        return BoardChanged(False, Board(name, {0: seen._replace(token=seen.token + 1, nonce="next")}))


def test_a_message_tries_again_after_six_holders_that_changed_before_it_could_wait() -> None:
    ports, permits, now = over(Restless())
    held(ports)
    assert admitted(permits, now, job("a")) == []
    assert (len(asked(ports.limits, "wait")), shown(ports)) == (TRIES, [62.25, 3.75])


def test_each_waiting_message_is_asked_for_once() -> None:
    ports, permits, now = world_and_permits()
    waiting(ports, permits, now, 0.0, 0.0, 9.0)
    calls(ports)
    permits.release(now)
    assert calls(ports) == ["give_back", "call", "call", "call"]


class Ahead(memory.MemoryLimits):
    """Limits whose first two waiting messages other workers take off between a return and its call, with permits of their own."""

    def give_back(self, name: str, permit: Permit) -> BoardChanged:
        """Give back, and let the others give back and call."""
        answer = super().give_back(name, permit)
        for number, text in enumerate(answer.board.waiting[:2], 1):
            other = answer.board.permits[number]
            assert super().give_back(name, other).done
            assert self.call(name, other, text, text.split("\n")[2], other.token + RESERVED_MS).done
        return answer


def test_messages_that_other_workers_took_off_meanwhile_are_not_asked_for() -> None:
    ports, permits, now = over(Ahead())
    admitted(permits, now, job("a"), limit=3)
    permit = now.permits[0][1]
    for number in (1, 2):
        assert ports.limits.take(NAME, Permit(number, 1, f"nonce-{number}", "another", ms(ports, 60.0)), "x", ms(ports)).done
    for number in range(3):
        text = "\n".join((QUEUE, f"receipt-{number}", f"m{number}", str(ports.clock.now() + 9.0)))
        assert ports.limits.wait(NAME, permit, text, ms(ports)).done
    calls(ports)
    permits.release(now)
    assert calls(ports) == ["give_back", "call", "call"]
    assert [delivery.message_id for delivery, _ in asked(ports.queues, "hold")] == ["m2"]


def test_a_permit_that_another_took_since_wakes_no_message_of_the_line() -> None:
    ports, permits, now = over(Overtaken(), 0.0)
    assert len(admitted(permits, now, job("a"), limit=11)) == 1
    until = str(ports.clock.now() + 9.0)
    assert ports.limits.wait(NAME, now.permits[0][1], f"{QUEUE}\nreceipt\nm\n{until}", ms(ports)).done
    calls(ports)
    permits.release(now)
    assert calls(ports) == ["give_back", "call"]


class FreedInLine(memory.MemoryLimits):
    """Limits of which a permit is given back before a message is in the line; *taken*: another worker then takes the message out."""

    taken = False

    def line_up(self, name: str, message: str, now: int) -> bool:
        """Give a permit back first."""
        assert self.give_back(name, self.boards(name, 1).permits[5]).done
        found = super().line_up(name, message, now)
        if self.taken:
            assert self.leave_line(name, message)
        return found


def test_a_message_that_sees_a_free_permit_leaves_the_line_and_is_visible_at_once_unless_another_wakes_it() -> None:
    for taken, seconds in ((False, [62.25, 0.0]), (True, [62.25])):
        limits = FreedInLine()
        limits.taken = taken
        ports, permits, now = over(limits)
        for number in range(11):
            permit = Permit(number, ms(ports) + 1, f"nonce-{number}", "another", ms(ports, 61.0))
            assert ports.limits.take(NAME, permit, "other", ms(ports)).done
        assert admitted(permits, now, job("a"), limit=11) == []
        assert (shown(ports), ports.limits.boards(NAME, 0).waiting) == (seconds, ())
