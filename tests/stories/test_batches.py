"""Publishing: tens in a batch, alone when alone, and a queue that is away."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import group
from sedano.engine.publisher.backlog import DiskBacklog
from sedano.errors import ArgumentError, BacklogFull, PublishError, SedanoError, TooLarge, Unserialisable
from sedano.ports import Outgoing, Ports
from sedano.ports.backlog import MOST
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import Watch, away, tapped


def watched(shop: Shop, stage: Stage) -> list[str]:
    """Bind the shop over watched queues and return the list that their calls are added to."""
    watch = Watch(ports=frozenset({"queues"}))
    shop.app.attach(tapped(stage.ports, watch))
    return watch.calls


def test_a_batch_is_sent_in_tens(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    calls = watched(shop, stage)
    with shop.app.batch():
        for n in range(25):
            shop.add.delay(n, n)
        assert calls.count("queues.send") == 2
    assert calls.count("queues.send") == 3
    processes.drain()
    assert_kept(stage, succeeded(add=25))


def test_a_batch_that_ends_with_an_error_is_sent(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def interrupted() -> None:
        with shop.app.batch():
            shop.add.delay(1, 2)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    processes.drain()
    assert_kept(stage, succeeded(add=1))


def test_a_batch_costs_a_tenth_of_a_call_a_task_and_a_group_one_call(stage: Stage, shop: Shop) -> None:
    Processes(stage, shop.app)
    calls = watched(shop, stage)
    shop.together(shop.add.s(n, n) for n in range(50))
    messages = len(stage.peek(COMMANDS))
    assert messages == 50
    assert calls.count("queues.send") <= 0.1 * messages
    group(shop.add.s(n, n) for n in range(50)).delay()
    assert len(stage.peek(COMMANDS)) == messages + 1


class AwayFor:
    """Queues that take nothing for so many calls."""

    def __init__(self, ports: Ports, calls: int) -> None:
        """Refuse so many *calls* of send."""
        self.queues, self.calls, self.bounds = ports.queues, calls, ports.queues.bounds

    def send(self, queue: str, messages: list[Outgoing]) -> list[SedanoError | None]:
        """Refuse, or send."""
        self.calls -= 1
        if self.calls >= 0:
            raise away()
        return self.queues.send(queue, messages)


def through(stage: Stage, shop: Shop, calls: int, folder: Path | None = None) -> DiskBacklog | None:
    """Bind the shop to queues that are away for so many calls, with a spool in *folder*, if one is given."""
    queues: Any = AwayFor(stage.ports, calls)
    backlog = DiskBacklog(folder / "spool" / "shop" / "stage") if folder is not None else None
    shop.app.attach(replace(stage.ports, queues=queues), backlog=backlog)
    return backlog


def test_a_queue_that_is_away_for_a_moment_is_tried_again(shop: Shop) -> None:
    stage = in_memory()
    through(stage, shop, 3)
    shop.add.delay(1, 2)
    assert len(stage.peek(COMMANDS)) == 1
    assert stage.telemetry.counted("PublishBacklogged") == 0


def test_nothing_is_confirmed_that_only_memory_would_hold(shop: Shop) -> None:
    stage = in_memory()
    through(stage, shop, 1_000)
    with pytest.raises(PublishError, match="publish it again"):
        shop.add.delay(1, 2)
    with pytest.raises(PublishError), shop.app.batch():
        shop.add.delay(1, 2)


def test_what_a_queue_did_not_take_goes_with_the_next_message(shop: Shop, tmp_path: Path) -> None:
    stage = in_memory()
    through(stage, shop, 4, tmp_path)
    shop.add.delay(1, 2)
    assert stage.peek(COMMANDS) == []
    assert "queue not reached: messages stored in the backlog" in stage.telemetry.messages("warning")
    shop.add.delay(3, 4)
    assert len(stage.peek(COMMANDS)) == 2


def test_a_batch_that_a_queue_did_not_take_is_kept_too(shop: Shop, tmp_path: Path) -> None:
    stage = in_memory()
    through(stage, shop, 4, tmp_path)
    with shop.app.batch():
        for n in range(5):
            shop.add.delay(n, n)
    assert stage.telemetry.counted("PublishBacklogged") == 5
    shop.app.close()
    assert len(stage.peek(COMMANDS)) == 5


def test_a_full_backlog_refuses_and_says_how_many_wait(shop: Shop, tmp_path: Path) -> None:
    stage = in_memory()
    through(stage, shop, 1_000_000, tmp_path)
    with shop.app.batch():
        for n in range(3):
            shop.add.delay(n, n)
    backlog = DiskBacklog(tmp_path / "spool" / "shop" / "stage")
    (first, *_) = backlog.take(1, 0.0)
    backlog.keep([first.message] * (MOST - 3), 0.0)
    with pytest.raises(BacklogFull, match=f"{MOST} messages already wait in .* send or drop them"):
        shop.add.delay(3, 4)


@pytest.mark.parametrize(
    ("args", "error", "said"),
    [(("x", {1}), Unserialisable, r"args\[1\]"), ((1,), ArgumentError, "missing"), ((object(), 1), Unserialisable, r"args\[0\]")],
)
def test_what_cannot_travel_is_refused_by_the_caller_and_named(
    shop: Shop, args: tuple[object, ...], error: type[Exception], said: str
) -> None:
    stage = in_memory()
    Processes(stage, shop.app)
    with pytest.raises(error, match=said):
        shop.add.delay(*args)
    assert stage.peek(COMMANDS) == []


def test_data_beyond_all_limits_is_refused_with_its_size(shop: Shop) -> None:
    stage = in_memory()
    Processes(stage, shop.app)
    with pytest.raises(TooLarge, match=r"data: 700000.. bytes"):
        shop.big.delay("x" * 70_000_000)
