"""A holder that comes back late, after another worker took its task over: it can record nothing, and nothing follows from it."""

import json

import pytest

from sedano import current
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.ports import Delivery
from tests.stories.kept import assert_kept, lines, succeeded
from tests.stories.processes import COMMANDS, INVOCATION_S, Mutation, Processes, untouched
from tests.stories.shop import Shop
from tests.stories.stage import Stage

EFFECTS = succeeded(pay=1, pack=1)


def haunt(stage: Stage, shop: Shop, mutate: Mutation = untouched) -> tuple[list[Delivery], Processes]:
    """Let a task outlive its claim while a rival takes it over and records; return what the zombie gave back, and the processes.

    Each holder packs under its own fence, so that it shows whose follow-up was published.
    """
    processes = Processes(stage, shop.app, mutate=mutate)
    zombies: list[Delivery] = []

    def pay(what: str) -> int:
        fence = current().fence
        shop.pack.delay(f"{what} under fence {fence}")
        if fence == 1:
            stage.pass_time(INVOCATION_S + 40.0)
            rival = processes.another_worker(name="rival")
            taken = stage.ports.queues.receive(COMMANDS)
            given_back = rival.work(taken, stage.clock.now() + INVOCATION_S)
            stage.ports.queues.delete([d for d in taken if d not in given_back])
        return fence

    shop.task("pay", pay)
    shop.app.send_task("pay", ("tea",))
    held = stage.ports.queues.receive(COMMANDS)
    zombies += processes.worker.work(held, stage.clock.now() + INVOCATION_S)
    stage.ports.queues.delete([d for d in held if d not in zombies])
    return zombies, processes


def packed(stage: Stage) -> list[str]:
    """What was published to be packed and not worked off yet."""
    commands = [codec.decode(m.body) for m in stage.peek(COMMANDS)]
    return [c.args[0] for c in commands if isinstance(c, Command) and c.task == "pack"]


def test_a_zombies_record_is_refused_and_it_acknowledges_nothing(stage: Stage, shop: Shop) -> None:
    given_back, processes = haunt(stage, shop)
    assert len(given_back) == 1
    assert [json.loads(end.result or "") for end in stage.audit.ends] == [2], "what the rival recorded under fence 2 stands"
    assert stage.telemetry.counted("WritesFencedOff", task="pay") == 1
    assert stage.telemetry.counted("ClaimsStolen", task="pay") == 1
    processes.drain()
    assert_kept(stage, EFFECTS)
    assert len(lines(stage, "claim-refused")) == len(lines(stage, "claim-stolen")) == 1


def test_nothing_follows_from_a_zombie(stage: Stage, shop: Shop) -> None:
    haunt(stage, shop)
    assert packed(stage) == ["tea under fence 2"]


def test_a_body_that_is_late_but_was_not_taken_over_is_recorded(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.task("late", lambda: stage.pass_time(INVOCATION_S * 3))
    shop.app.send_task("late")
    processes.drain()
    assert shop.ran["late"] == 1
    assert_kept(stage, succeeded(late=1))


def test_a_holder_that_died_is_replaced_when_its_claim_ended_and_not_before(stage: Stage, shop: Shop) -> None:
    died: list[float] = []

    def dies_once() -> None:
        if not died:
            died.append(stage.clock.now())
            raise KeyboardInterrupt

    processes = Processes(stage, shop.app)
    shop.task("dies-once", dies_once)
    shop.app.send_task("dies-once")
    with pytest.raises(KeyboardInterrupt):
        processes.drain()
    processes.restart()
    processes.drain()
    assert stage.clock.now() - died[0] > INVOCATION_S
    assert_kept(stage, succeeded(**{"dies-once": 1}))


def test_the_fence_rises_with_every_claim(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    fences: list[int] = []

    def note() -> None:
        fences.append(current().fence)
        if len(fences) < 3:
            raise RuntimeError("again")

    shop.task("note", note)
    shop.app.send_task("note")
    processes.drain()
    assert fences == [1, 2, 3]
