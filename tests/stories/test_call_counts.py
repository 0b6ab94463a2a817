"""The numbers that the design is held to (DESIGN §6), counted at the AWS client: batches of ten, on moto."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import botocore.session
import pytest

from sedano import chain, chord, group
from sedano.aws.client.session import Session
from sedano.aws.ledger import DynamoLedger
from sedano.aws.queues import SqsQueues
from sedano.engine.worker.settings import WorkerSettings
from sedano.model import states
from sedano.ports import RECORDS, Delivery, Outgoing, Ports
from tests.conformance.worlds import queue_urls
from tests.plugins.resources import Resources
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, on_moto

WRITE, SEND = "dynamodb.UpdateItem", "sqs.SendMessageBatch"


@dataclass
class Counted:
    """A stage whose calls to DynamoDB and SQS are counted by sedano's own session, and a shop on it."""

    stage: Stage
    shop: Shop
    processes: Processes
    session: Session

    def calls(self, doing: Callable[[], Any]) -> dict[str, int]:
        """Return the calls that *doing* costs."""
        before = Counter(self.session.calls)
        doing()
        return dict(Counter(self.session.calls) - before)

    def work(self) -> dict[str, int]:
        """Return the calls of the worker for one batch; Lambda's own receive and delete are not the worker's."""
        deliveries = self.stage.ports.queues.receive(COMMANDS)
        assert len(deliveries) == 10
        return self.calls(lambda: self.processes.worker.work(deliveries, self.stage.clock.now() + 30))


@pytest.fixture
def counted(resources: Resources) -> Counted:
    """A shop whose worker has told already that it is here."""
    source = botocore.session.Session()  # of its own: the library's session makes it one for the library's services alone
    source.set_credentials("test", "test")
    source.set_config_variable("region", resources.session.region_name)
    stage, shop, session = on_moto(resources), Shop(), Session(lambda: source)
    ledger = DynamoLedger(session.client("dynamodb"), resources.settings["SEDANO_LEDGER_TABLE"], lanes=1)
    ports: Ports = replace(stage.ports, ledger=ledger, queues=SqsQueues(session.client("sqs"), queue_urls(resources)))
    processes = Processes(stage, shop.app)
    processes.restart(ports)
    processes.feed = stage.ports.queues
    shop.app.attach(ports)
    processes.worker.work([], stage.clock.now())
    return Counted(stage, shop, processes, session)


def test_publishing_costs_a_tenth_of_a_call_a_task_in_a_batch(counted: Counted) -> None:
    def in_a_batch() -> None:
        with counted.shop.app.batch():
            for n in range(50):
                counted.shop.add.delay(n, n)

    assert counted.calls(in_a_batch) == {SEND: 5}


def test_a_group_costs_its_publisher_one_call_and_a_worker_a_tenth_of_a_call_a_member(counted: Counted) -> None:
    assert counted.calls(lambda: group(counted.shop.add.s(n, n) for n in range(50)).delay()) == {SEND: 1}
    launch = counted.stage.ports.queues.receive(COMMANDS)
    work = lambda: counted.processes.worker.work(launch, counted.stage.clock.now() + 30)  # noqa: E731 - what is counted
    assert counted.calls(work) == {WRITE: 2, SEND: 5 + 1}, "one more send for the worker events"


def test_a_claimed_task_with_a_result_costs_two_writes_and_no_read(counted: Counted) -> None:
    counted.shop.together(counted.shop.add.s(n, n) for n in range(10))
    assert counted.work() == {WRITE: 20, SEND: 1}


def test_a_task_recorded_once_costs_one_write_and_no_read(counted: Counted) -> None:
    counted.shop.task("kept", lambda: 1, delivery="record_once")
    counted.shop.together(counted.shop.app_sig("kept") for _ in range(10))
    assert counted.work() == {WRITE: 10, SEND: 1}


def test_a_task_at_least_once_without_a_result_costs_no_write(counted: Counted) -> None:
    counted.shop.task("told", lambda: None, delivery="at_least_once", ignore_result=True)
    counted.shop.together(counted.shop.app_sig("told") for _ in range(10))
    assert counted.work() == {SEND: 1}, "one call for the worker events of the whole batch"


def test_a_task_at_least_once_with_a_result_costs_one_write(counted: Counted) -> None:
    counted.shop.task("told", lambda: 5, delivery="at_least_once")
    counted.shop.together(counted.shop.app_sig("told") for _ in range(10))
    assert counted.work() == {WRITE: 10, SEND: 1}


def test_ten_members_of_a_chord_arrive_in_one_write(counted: Counted) -> None:
    chord(counted.shop.add.s(n, 1) for n in range(20))(counted.shop.total.s())
    counted.processes.deliver()
    assert counted.work() == {WRITE: 21, SEND: 1}


@pytest.mark.parametrize(("inline", "invocations", "sends"), [(True, 1, 1), (False, 10, 19)])
def test_a_chain_of_ten_alone_is_one_invocation_with_one_send(counted: Counted, inline: bool, invocations: int, sends: int) -> None:
    processes, ports = counted.processes, counted.processes.worker.ports
    processes.settings = WorkerSettings(lanes=0, inline_links=inline)
    processes.restart(ports)
    processes.feed = counted.stage.ports.queues
    processes.worker.work([], counted.stage.clock.now())
    result = chain(counted.shop.add.s(0, 1), *(counted.shop.add.s(1) for _ in range(9))).delay()
    received: list[list[Delivery]] = []

    def deliver() -> None:
        while delivered := processes.deliver():
            received.append(delivered)

    assert counted.calls(deliver) == {WRITE: 20, SEND: sends}
    assert (len(received), result.get(timeout=1)) == (invocations, 10)


def test_follow_ups_of_ten_tasks_leave_in_tens(counted: Counted) -> None:
    counted.shop.together(counted.shop.once.s(n) for n in range(10))
    assert counted.work() == {WRITE: 10, SEND: 2}


def test_exact_copies_of_finished_messages_cost_nothing_but_their_mention(counted: Counted) -> None:
    counted.shop.together(counted.shop.add.s(n, n) for n in range(10))
    bodies = [message.body for message in counted.stage.peek(COMMANDS)]
    counted.processes.deliver()
    counted.stage.ports.queues.send(COMMANDS, [Outgoing(body) for body in bodies])
    assert counted.work() == {SEND: 1}


def test_a_batch_leaves_one_record_of_what_happened(counted: Counted) -> None:
    counted.shop.together(counted.shop.add.s(n, n) for n in range(10))
    before = len(counted.stage.peek(RECORDS))
    counted.work()
    assert len(counted.stage.peek(RECORDS)) == before + 1


def test_waiting_for_results_costs_one_read_a_hundred(counted: Counted) -> None:
    results = group(counted.shop.add.s(n, n) for n in range(20)).delay()
    for _ in range(3):
        counted.processes.deliver()
    assert {result.state for result in results} == {states.SUCCESS}
    assert counted.calls(results.get) == {"dynamodb.BatchGetItem": 1}


def test_the_body_of_a_chord_reads_its_members_a_hundred_to_a_call(counted: Counted) -> None:
    chord(counted.shop.add.s(n, 1) for n in range(100))(counted.shop.total.s())
    for _ in range(11):
        counted.processes.deliver()
    (body,) = counted.stage.ports.queues.receive(COMMANDS)
    calls = counted.calls(lambda: counted.processes.worker.work([body], counted.stage.clock.now() + 30))
    assert calls == {WRITE: 2, "dynamodb.BatchGetItem": 1, SEND: 1}
