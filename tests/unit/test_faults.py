"""Errors of botocore end at the rim: what may be tried later is `Unavailable`, what no retry mends says what to change."""

import socket
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, NoCredentialsError, NoRegionError, ProfileNotFound
from botocore.stub import Stubber

from sedano.aws.blobs import S3Blobs
from sedano.aws.client.faults import fault
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.errors import ConfigurationError, NotAllowed, SedanoError, Throttled, TooLarge, Unavailable
from sedano.model.canvas.join import Arrival, Node
from sedano.model.ledger.records import Claim, Claimed, Outcome, Recorded
from sedano.model.messages.message import BlobRef
from sedano.model.states import SUCCESS
from sedano.ports import EVENTS, Delivery, Outgoing

CLAIM = Claim("task-1", 0, "message-1", "n" * 32, 2e9, 1, "shop.add")
OUTCOME = Outcome("task-1", SUCCESS, "n" * 32, 1, "message-1", 0, 2, "shop.add", 1.9e9, result="5")
URLS = {EVENTS: "https://sqs.example/1/events"}


def client(service: str, endpoint_url: str | None = None) -> Any:
    """A client of botocore that does not try again."""
    session = botocore.session.Session()
    session.set_credentials("test", "test")
    config = Config(retries={"total_max_attempts": 1}, read_timeout=0.2, connect_timeout=0.2)
    return session.create_client(service, region_name="eu-west-1", endpoint_url=endpoint_url, config=config)


@pytest.fixture
def table() -> Iterator[Stubber]:
    """The answers of DynamoDB, one after the other."""
    with Stubber(client("dynamodb")) as stubber:
        yield stubber


@pytest.fixture
def queue() -> Iterator[Stubber]:
    """The answers of SQS, one after the other."""
    with Stubber(client("sqs")) as stubber:
        yield stubber


@pytest.fixture
def silent() -> Iterator[str]:
    """An endpoint that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An endpoint where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def answered(code: str, status: int = 400, message: str = "because") -> ClientError:
    """An error as a service answers it."""
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Op")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (answered("ThrottlingException"), Throttled),
        (answered("ProvisionedThroughputExceededException"), Throttled),
        (answered("TransactionConflictException"), Unavailable),
        (answered("RequestThrottled", 403), Throttled),
        (answered("SlowDown", 503), Throttled),
        (answered("AWS.SimpleQueueService.OverLimit", 403), Throttled),
        (answered("ServiceUnavailable", 503), Unavailable),
        (answered("Strange", 500), Unavailable),
        (answered("ValidationException", message="Item size has exceeded the maximum allowed size"), TooLarge),
        (answered("ValidationException", message="Item size to update has exceeded the maximum allowed size"), TooLarge),
        (answered("ValidationException", message="One or more parameter values were invalid"), ConfigurationError),
        (answered("AccessDeniedException"), NotAllowed),
        (answered("ResourceNotFoundException"), ConfigurationError),
        (answered("UnrecognizedClientException"), ConfigurationError),
        (answered("ExpiredTokenException", 403), Unavailable),
        (NoCredentialsError(), ConfigurationError),
    ],
)  # fmt: skip
def test_an_error_becomes_what_the_caller_can_do_about_it(error: Exception, kind: type[SedanoError]) -> None:
    found = fault(error, "dynamodb.UpdateItem")
    assert type(found) is kind
    assert str(found).startswith("dynamodb.UpdateItem: ")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (answered("ExpiredToken"), "renew them, and check them with `aws sts get-caller-identity`"),
        (answered("ExpiredTokenException"), "renew them, and check them with `aws sts get-caller-identity`"),
        (answered("UnrecognizedClientException"), "`aws sts get-caller-identity` shows their owner, AWS_ENDPOINT_URL its address"),
        (answered("AccessDenied"), "these credentials do not allow this; is this the stage"),
        (NoCredentialsError(), "set AWS_PROFILE, or AWS_DEFAULT_REGION and access keys"),
        (NoRegionError(), "set AWS_PROFILE, or AWS_DEFAULT_REGION and access keys"),
        (ProfileNotFound(profile="nope"), "set AWS_PROFILE, or AWS_DEFAULT_REGION and access keys"),
    ],
)  # fmt: skip
def test_what_only_the_caller_can_mend_says_how(error: Exception, words: str) -> None:
    assert words in str(fault(error, "sqs.SendMessageBatch"))


def test_a_throttled_task_answers_for_itself_and_spares_its_neighbours(table: Stubber) -> None:
    item = {"pk": {"S": "TASK#task-2"}, "st": {"S": "RUNNING"}, "try": {"N": "0"}, "att": {"N": "1"}, "mid": {"S": "message-1"}}
    table.add_client_error("update_item", "ThrottlingException", "slow down")
    table.add_response("update_item", {"Attributes": item})
    throttled, granted = DynamoLedger(table.client, "ledger", lanes=1).claim([CLAIM, CLAIM._replace(task_id="task-2")])
    assert isinstance(throttled, Unavailable)
    assert "dynamodb.UpdateItem" in str(throttled)
    assert isinstance(granted, Claimed)
    assert granted.granted


def test_an_error_that_is_an_answer_keeps_nothing_of_its_batch_alive(table: Stubber, queue: Stubber) -> None:
    table.add_client_error("update_item", "ThrottlingException", "slow down")
    table.add_client_error("update_item", "ThrottlingException", "slow down")
    queue.add_client_error("send_message_batch", "ThrottlingException", "slow down")
    ledger, queues = DynamoLedger(table.client, "ledger", lanes=1), SqsQueues(queue.client, URLS)
    for answer in (*ledger.claim([CLAIM]), *ledger.record([OUTCOME]), *queues.send(EVENTS, [Outgoing("body")])):
        assert isinstance(answer, Unavailable)
        assert answer.__traceback__ is None
        assert answer.__cause__ is not None
        assert answer.__cause__.__traceback__ is None


def test_a_throttled_outcome_and_one_beyond_the_items_limit_answer_for_themselves(table: Stubber) -> None:
    table.add_client_error("update_item", "InternalServerError", "oops", http_status_code=500)
    table.add_client_error("update_item", "ValidationException", "Item size to update has exceeded the maximum allowed size")
    table.add_response("update_item", {})
    outcomes = [OUTCOME._replace(task_id=f"task-{number}") for number in range(3)]
    away, large, done = DynamoLedger(table.client, "ledger", lanes=1).record(outcomes)
    assert isinstance(away, Unavailable)
    assert isinstance(large, TooLarge)
    assert done == Recorded(True)


def test_a_throttled_arrival_answers_for_itself(table: Stubber) -> None:
    table.add_client_error("update_item", "ThrottlingException", "slow down")
    (answer,) = DynamoLedger(table.client, "ledger").arrive([Arrival("join", Node(0, 0, 2), 1)])
    assert isinstance(answer, Unavailable)


def test_a_denied_action_stops_the_whole_call_and_says_which(table: Stubber) -> None:
    table.add_client_error("update_item", "AccessDeniedException", "not authorized to perform: dynamodb:UpdateItem")
    with pytest.raises(ConfigurationError, match="not authorized to perform: dynamodb:UpdateItem"):
        DynamoLedger(table.client, "ledger", lanes=1).claim([CLAIM])


@pytest.mark.parametrize(
    ("call", "code", "message", "action"),
    [
        ("dynamodb.PutItem", "AccessDeniedException", "User: x is not authorized to perform: dynamodb:PutItem on y", "dynamodb:PutItem"),
        ("dynamodb.TransactWriteItems", "AccessDeniedException", "not authorized to perform: dynamodb:UpdateItem", "dynamodb:UpdateItem"),
        ("sqs.SendMessageBatch", "AccessDenied", "Access to the resource is denied.", "sqs:SendMessage"),
        ("s3.HeadObject", "AccessDenied", "Access Denied", "s3:GetObject"),
        ("scheduler.DeleteSchedule", "AccessDeniedException", "", "scheduler:DeleteSchedule"),
    ],
)
def test_a_denial_names_the_action_that_is_missing(call: str, code: str, message: str, action: str) -> None:
    denied = fault(answered(code, message=message), call)
    assert isinstance(denied, NotAllowed)
    assert denied.action == action


def test_a_read_goes_on_until_every_key_was_read(table: Stubber) -> None:
    def item(number: int) -> dict[str, dict[str, str]]:
        return {"pk": {"S": f"TASK#task-{number}"}, "st": {"S": "PENDING"}, "try": {"N": "0"}, "mid": {"S": "m"}}

    rest = {"ledger": {"Keys": [{"pk": {"S": "TASK#task-2"}}], "ConsistentRead": True}}
    table.add_response("batch_get_item", {"Responses": {"ledger": [item(1)]}, "UnprocessedKeys": rest})
    table.add_response("batch_get_item", {"Responses": {"ledger": []}, "UnprocessedKeys": rest})
    table.add_response("batch_get_item", {"Responses": {"ledger": [item(2)]}, "UnprocessedKeys": {}}, {"RequestItems": rest})
    assert set(DynamoLedger(table.client, "ledger").read(["task-1", "task-2"])) == {"task-1", "task-2"}


def test_a_read_that_brings_nothing_gives_up(table: Stubber) -> None:
    rest = {"ledger": {"Keys": [{"pk": {"S": "TASK#task-2"}}], "ConsistentRead": True}}
    for _ in range(5):
        table.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": rest})
    with pytest.raises(Unavailable, match="throttled"):
        DynamoLedger(table.client, "ledger").read(["task-1", "task-2"])


def test_each_entry_of_a_batch_that_was_not_taken_answers_for_itself(queue: Stubber) -> None:
    queue.add_response(
        "send_message_batch",
        {
            "Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": "0" * 32}],
            "Failed": [
                {"Id": "1", "Code": "InternalError", "SenderFault": False, "Message": "try later"},
                {"Id": "2", "Code": "InvalidMessageContents", "SenderFault": True, "Message": "no"},
            ],
        },
    )
    taken, later, never = SqsQueues(queue.client, URLS).send(EVENTS, [Outgoing("{}")] * 3)
    assert taken is None
    assert isinstance(later, Unavailable)
    assert isinstance(never, SedanoError)
    assert not isinstance(never, Unavailable)
    assert "InvalidMessageContents" in str(never)


def test_when_the_queue_is_away_the_first_batch_answers_for_the_rest(queue: Stubber) -> None:
    queue.add_client_error("send_message_batch", "ServiceUnavailable", "away", http_status_code=503)
    answers = SqsQueues(queue.client, URLS).send(EVENTS, [Outgoing("{}"), Outgoing("x" * 2_000_000), *[Outgoing("{}")] * 29])
    assert [type(answer) for answer in answers] == [Unavailable, TooLarge, *[Unavailable] * 29]
    queue.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "variable"), [("ResourceNotFoundException", "SEDANO_LEDGER_TABLE"), ("NoSuchBucket", "SEDANO_BLOBS_BUCKET")]
)
def test_a_store_that_is_gone_is_said_with_the_setting_that_names_it(code: str, variable: str) -> None:
    said = str(fault(answered(code), "dynamodb.Operation"))
    assert said.startswith(f"dynamodb.Operation: {code}: ")
    assert variable in said


def test_a_queue_that_is_gone_is_named(queue: Stubber) -> None:
    queue.add_client_error("receive_message", "AWS.SimpleQueueService.NonExistentQueue", "no such queue")
    with pytest.raises(ConfigurationError, match=r"the queue of events does not exist: https://sqs\.example"):
        SqsQueues(queue.client, URLS).receive(EVENTS)


def test_an_acknowledgement_that_was_not_taken_is_said_unless_the_message_is_gone_anyway(queue: Stubber) -> None:
    lapsed = {"Id": "0", "Code": "ReceiptHandleIsInvalid", "SenderFault": True}
    queue.add_response("delete_message_batch", {"Successful": [], "Failed": [lapsed]})
    queue.add_response("delete_message_batch", {"Successful": [], "Failed": [{"Id": "0", "Code": "InternalError", "SenderFault": False}]})
    queues, delivery = SqsQueues(queue.client, URLS), Delivery(EVENTS, "m", "r", "{}")
    queues.delete([delivery])
    with pytest.raises(Unavailable, match="1 messages: InternalError"):
        queues.delete([delivery])


def test_a_missing_blob_that_the_role_may_not_list_is_explained() -> None:
    with Stubber(client("s3")) as store:
        store.add_client_error("get_object", "AccessDenied", "Access Denied", http_status_code=403)
        with pytest.raises(ConfigurationError, match="s3:ListBucket"):
            S3Blobs(store.client, "blobs-bucket").get(BlobRef("0" * 64, 1))


def test_a_conflict_between_two_equal_puts_is_tried_again_and_an_earlier_put_counts() -> None:
    with Stubber(client("s3")) as store:
        store.add_client_error("put_object", "ConditionalRequestConflict", "conflict", http_status_code=409)
        store.add_client_error("put_object", "PreconditionFailed", "exists", http_status_code=412)
        assert S3Blobs(store.client, "blobs-bucket").put(b"x").size == 1
        for _ in range(3):
            store.add_client_error("put_object", "ConditionalRequestConflict", "conflict", http_status_code=409)
        with pytest.raises(Unavailable, match="under way"):
            S3Blobs(store.client, "blobs-bucket").put(b"x")


@pytest.mark.parametrize("endpoint", ["silent", "closed"])
def test_an_endpoint_that_does_not_answer_is_unavailable_for_every_port(endpoint: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(endpoint)
    dynamodb, sqs, s3 = client("dynamodb", url), client("sqs", url), client("s3", url)
    ledger, queues = DynamoLedger(dynamodb, "ledger"), SqsQueues(sqs, {EVENTS: url})
    (claim,) = ledger.claim([CLAIM])
    (record,) = ledger.record([OUTCOME])
    (sent,) = queues.send(EVENTS, [Outgoing("{}")])
    assert isinstance(claim, Unavailable)
    assert isinstance(record, Unavailable)
    assert isinstance(sent, Unavailable)
    for call in (
        lambda: ledger.read(["task-1"]),
        lambda: ledger.read_join("join"),
        lambda: queues.receive(EVENTS),
        lambda: queues.hold(Delivery(EVENTS, "m", "r", "{}"), 1),
        lambda: S3Blobs(s3, "blobs-bucket").put(b"x"),
        lambda: S3Blobs(s3, "blobs-bucket").get(BlobRef("0" * 64, 1)),
        lambda: DynamoMembers(dynamodb, "control").read(),
    ):
        with pytest.raises(Unavailable, match="no answer"):
            call()


def test_of_a_key_nothing_is_sent_behind_what_was_not_taken_now(queue: Stubber) -> None:
    url, taken = "https://sqs.example/1/orders.fifo", {"MessageId": "m", "MD5OfMessageBody": "0" * 32}

    def expect(numbers: tuple[int, ...], later: tuple[int, ...] = ()) -> None:
        entries = [{"Id": str(n), "MessageBody": f"{n}", "MessageGroupId": "ab"[n % 2]} for n in (*numbers, *later)]
        failed = [{"Id": str(n), "Code": "InternalError", "SenderFault": False, "Message": "try later"} for n in later]
        answer = {"Successful": [{"Id": str(n), **taken} for n in numbers], "Failed": failed}
        queue.add_response("send_message_batch", answer, {"QueueUrl": url, "Entries": entries})

    messages = [Outgoing(f"{number}", serial_key="ab"[number % 2]) for number in range(6)]
    expect((0,), later=(1,))
    expect((2,))
    expect((4,))
    answers = SqsQueues(queue.client, {"commands:orders.fifo": url}).send("commands:orders.fifo", messages)
    assert [type(answer) for answer in answers] == [type(None), Unavailable] * 3
    queue.assert_no_pending_responses()
