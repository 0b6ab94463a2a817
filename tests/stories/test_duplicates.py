"""At-least-once delivery: a message that comes twice, as a copy, out of order, or while it is being worked on has one effect."""

from sedano import chord
from sedano.engine.batch import Batch
from sedano.model import states
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.ports import EVENTS, Outgoing
from tests.stories.kept import assert_kept, lines, succeeded
from tests.stories.processes import COMMANDS, INVOCATION_S, Processes
from tests.stories.scenarios import by_hand
from tests.stories.shop import Shop
from tests.stories.stage import Stage


def _batch(stage: Stage) -> Batch:
    return Batch(stage.clock.now() + INVOCATION_S, Chronicle(Host("dead", 1)))


def again(stage: Stage, queue: str = COMMANDS, times: int = 1) -> None:
    """Deliver what lies in *queue* so many times more."""
    for message in stage.peek(queue) * times:
        stage.ports.queues.send(queue, [Outgoing(message.body)])


def copy(stage: Stage, command: Command) -> None:
    """Publish a copy of the same task under another message id."""
    fresh = command._replace(id=stage.ports.entropy.uuid())
    stage.ports.queues.send(COMMANDS, [Outgoing(codec.encode(fresh))])


def test_the_same_message_twice_in_one_batch_runs_once(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.buy.delay("tea")
    again(stage, times=3)
    processes.drain()
    assert shop.ran == {"buy": 1, "pack": 1, "label": 1, "mail": 1, "count": 1}
    assert_kept(stage, succeeded(buy=1, pack=1, label=1, mail=1, count=1))


def test_the_same_message_twice_in_one_batch_does_not_wait_for_its_own_claim(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 2)
    again(stage)
    began = stage.clock.now()
    processes.drain()
    assert stage.clock.now() - began < 1.0


def test_two_copies_in_one_batch_that_cannot_be_finished_both_come_back(stage: Stage, shop: Shop) -> None:
    """Another worker may hold them too, in the other order: whoever discards one must have finished the other."""
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 2)
    again(stage)
    processes.invocation = 0.5
    assert len(processes.deliver()) == 2
    assert len(stage.peek(COMMANDS)) == 2
    processes.invocation = INVOCATION_S
    processes.drain()
    assert_kept(stage, succeeded(add=1))


def test_a_duplicate_after_completion_is_discarded_by_the_window_without_a_call(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 2)
    (message,) = stage.peek(COMMANDS)
    processes.drain()
    writes = dict(stage.audit.writes)
    stage.ports.queues.send(COMMANDS, [Outgoing(message.body)])
    processes.drain()
    assert stage.audit.writes == writes
    assert stage.telemetry.counted("Duplicates", task="add") == 1
    assert "duplicate message discarded" in stage.telemetry.messages("warning")
    assert_kept(stage, succeeded(add=1))


def test_a_duplicate_after_completion_in_a_new_process_is_absorbed_by_the_record(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.buy.delay("tea")
    (message,) = stage.peek(COMMANDS)
    processes.drain()
    processes.restart()
    stage.ports.queues.send(COMMANDS, [Outgoing(message.body)])
    processes.drain()
    assert shop.ran == {"buy": 1, "pack": 1, "label": 1, "mail": 1, "count": 1}
    assert [line["absorbed"] for line in lines(stage, "message-duplicate") if line["name"] == "buy"] == ["follow again"]
    assert_kept(stage, succeeded(buy=1, pack=1, label=1, mail=1, count=1))


def test_a_copy_under_another_id_neither_runs_nor_walks_the_finished_chain_again(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    command = by_hand(shop, task="buy", args=("tea",))
    processes.drain()
    sent = stage.audit.writes["claim"]
    copy(stage, command)
    processes.drain()
    assert stage.audit.writes["claim"] == sent + 1
    assert_kept(stage, succeeded(buy=1, pack=1, label=1, mail=1, count=1))


def test_two_copies_of_which_one_comes_while_the_other_runs_have_one_effect(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    answers: list[tuple[int, int]] = []

    def while_running(what: str) -> str:
        copy(stage, command)
        (delivery,) = stage.ports.queues.receive(COMMANDS)
        before = len(stage.peek(COMMANDS))
        given_back = processes.another_worker(name="rival").work([delivery], stage.clock.now() + INVOCATION_S)
        answers.append((len(given_back), len(stage.peek(COMMANDS)) - before))
        stage.ports.queues.delete([delivery])
        return what

    shop.task("slow", while_running)
    command = by_hand(shop, task="slow", args=("tea",))
    processes.drain()
    assert answers == [(0, 1)], "the copy is sent anew, to wait for the claim's end outside of the flight, and acknowledged then"
    assert shop.ran["slow"] == 1
    assert_kept(stage, succeeded(slow=1))


def test_a_duplicate_that_met_the_running_task_waits_for_the_claim_to_end(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    command = by_hand(shop, task="add", args=(1, 2))
    (delivery,) = stage.ports.queues.receive(COMMANDS)
    processes.worker._claiming.claim(processes.worker._intake.open([delivery], batch := _batch(stage)), batch)
    copy(stage, command)
    processes.deliver()
    waits = stage.backend.hidden_for(COMMANDS, stage.clock.now())
    assert all(INVOCATION_S + 1 <= seconds <= 64 for seconds in waits)
    processes.recover()
    assert_kept(stage, succeeded(add=1))


def test_messages_in_the_wrong_order_end_alike(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.flaky.delay(1)
    (first,) = stage.peek(COMMANDS)
    processes.deliver()
    late = stage.peek(COMMANDS)
    stage.pass_time(3.0)
    stage.ports.queues.send(COMMANDS, [Outgoing(first.body)])
    stage.ports.queues.send(COMMANDS, [Outgoing(late[0].body)])
    processes.restart()
    processes.drain()
    assert shop.ran["flaky"] == 2
    assert_kept(stage, succeeded(flaky=1, pack=1))


def test_a_retry_that_overtakes_the_record_of_its_attempt_waits(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    by_hand(shop, task_id="t-1", task="add", args=(1, 2))
    (first,) = stage.ports.queues.receive(COMMANDS)
    batch = _batch(stage)
    processes.worker._claiming.claim(processes.worker._intake.open([first], batch), batch)
    by_hand(shop, task_id="t-1", task="add", args=(1, 2), attempt=1)
    processes.deliver()
    assert stage.hidden_for([COMMANDS]) is not None
    assert stage.audit.ends == []


def test_an_event_that_is_delivered_twice_runs_each_subscriber_once(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.Bought.delay(what="tea")
    again(stage, EVENTS)
    processes.drain()
    assert shop.ran == {"mail": 1, "count": 1}
    assert_kept(stage, succeeded(mail=1, count=1))


def test_a_chord_whose_every_message_comes_twice_runs_its_body_once(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = chord(shop.add.s(n, 1) for n in range(3))(shop.total.s())
    while stage.peek(COMMANDS):
        again(stage)
        processes.deliver()
    processes.drain()
    assert shop.ran == {"add": 3, "total": 1}
    assert result.get() == 6
    assert_kept(stage, succeeded(launch=1, add=3, total=1))


def test_a_task_recorded_once_may_run_twice_and_has_one_effect(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.once.delay(4)
    (message,) = stage.peek(COMMANDS)
    processes.drain()
    processes.restart()
    stage.ports.queues.send(COMMANDS, [Outgoing(message.body)])
    processes.drain()
    assert shop.ran == {"once": 2, "pack": 1}
    assert_kept(stage, succeeded(once=1, pack=1))


def test_a_terminal_record_never_changes(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    command = by_hand(shop, task="add", args=(1, 2))
    processes.drain()
    before = stage.ports.ledger.read([command.task_id])
    copy(stage, command)
    processes.restart()
    processes.drain()
    after = stage.ports.ledger.read([command.task_id])
    assert before == after
    assert after[command.task_id].state == states.SUCCESS
