"""An invalid answer confirms nothing: pages of proxies, empty objects and half answers, planted under botocore's clients."""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse

from sedano.aws.blobs import S3Blobs
from sedano.aws.client.session import Session
from sedano.aws.client.table import Table
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.errors import ConfigurationError, NotAccepted, NotAllowed, Throttled, Unavailable
from sedano.model.ledger.records import Claim, Outcome
from sedano.model.messages.message import BlobRef
from sedano.model.states import SUCCESS
from sedano.ports import EVENTS, Delivery, Outgoing

URLS = {EVENTS: "https://sqs.eu-west-1.amazonaws.com/123456789012/events"}
CLAIM = Claim("task-1", 0, "message-1", "n" * 32, 2e9, 1, "shop.add")
OUTCOME = Outcome("task-1", SUCCESS, "n" * 32, 1, "message-1", 0, 2, "shop.add", 1.9e9, result="5")
JSON, NAMED = {"content-type": "application/x-amz-json-1.0"}, {"x-amzn-requestid": "request-1"}
PAGES = {
    "a page": (b"<html><body>Please sign in</body></html>", {"content-type": "text/html"}),
    "an empty object": (b"{}", JSON),
    "nothing": (b"", {}),
    "a body that was changed": (b'{"Attributes":{}}', {**JSON, **NAMED, "x-amz-crc32": "1"}),
}


class Body:
    """A body as the transport has it."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def stream(self, **_: Any) -> list[bytes]:
        """The whole of it."""
        return [self.content]

    def read(self, *_: Any) -> bytes:
        """The whole of it, once."""
        content, self.content = self.content, b""
        return content


class Planted:
    """A session whose clients are answered from a list, the last answer again and again; what was sent is kept."""

    def __init__(self, *answers: tuple[bytes, Mapping[str, str]], status: int = 200) -> None:
        self.answers, self.status, self.sent = list(answers), status, list[Any]()
        self._session = Session(self._source, retries={"total_max_attempts": 1})

    def client(self, service: str) -> Any:
        """A client whose requests never leave."""
        client = self._session.client(service)
        client.meta.events.register("before-send", self._answer)
        return client

    def _source(self) -> Any:
        session = botocore.session.Session()
        session.set_credentials("test", "test")
        session.set_config_variable("region", "eu-west-1")
        return session

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        self.sent.append(json.loads(request.body) if isinstance(request.body, bytes) and request.body[:1] == b"{" else None)
        content, headers = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return AWSResponse(request.url, self.status, dict(headers), Body(content))


def answer(found: Mapping[str, Any], **headers: str) -> tuple[bytes, Mapping[str, str]]:
    """An answer as the service gives it."""
    return json.dumps(found).encode(), {**JSON, **NAMED, **headers}


@pytest.mark.parametrize("page", PAGES)
def test_a_message_is_not_accepted_by_an_answer_that_is_none(page: str) -> None:
    answers = SqsQueues(Planted(PAGES[page]).client("sqs"), URLS).send(EVENTS, [Outgoing("{}")] * 12)
    assert [type(one) for one in answers] == [Unavailable] * 12


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_written_claimed_or_read_by_an_answer_that_is_none(page: str) -> None:
    dynamodb = Planted(PAGES[page]).client("dynamodb")
    ledger = DynamoLedger(dynamodb, "ledger", lanes=1)
    assert [type(one) for one in (*ledger.claim([CLAIM]), *ledger.record([OUTCOME]))] == [Unavailable] * 2
    for call in (
        lambda: ledger.read(["task-1"]),
        lambda: ledger.read(["task-1", "task-2"]),
        lambda: ledger.read_join("join"),
        lambda: ledger.reserve("task-1", "message-1", 0, 1),
        lambda: DynamoMembers(dynamodb, "control").read(),
    ):
        with pytest.raises(Unavailable, match="no answer"):
            call()


@pytest.mark.parametrize("page", ["a page", "an empty object", "nothing"])
def test_nothing_is_kept_or_fetched_by_an_answer_that_is_none(page: str) -> None:
    blobs = S3Blobs(Planted(PAGES[page]).client("s3"), "blobs-bucket")
    for call in (lambda: blobs.put(b"x"), lambda: blobs.get(BlobRef("0" * 64, 1))):
        with pytest.raises(Unavailable):
            call()


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_acknowledged_received_or_held_by_an_answer_that_is_none(page: str) -> None:
    queues, delivery = SqsQueues(Planted(PAGES[page]).client("sqs"), URLS), Delivery(EVENTS, "m", "r", "{}")
    for call in (lambda: queues.delete([delivery]), lambda: queues.receive(EVENTS), lambda: queues.hold(delivery, 5)):
        with pytest.raises(Unavailable):
            call()


def test_an_answer_of_the_service_counts_with_and_without_a_checksum() -> None:
    body = b'{"Item":{"pk":{"S":"a"}}}'
    for headers in ({**JSON, **NAMED}, {**JSON, **NAMED, "x-amz-crc32": str(zlib.crc32(body))}):
        assert Table(Planted((body, headers)).client("dynamodb"), "t").read_one("a") == {"pk": {"S": "a"}}


def test_an_acknowledgement_that_the_answer_does_not_name_was_not_taken() -> None:
    queues = SqsQueues(Planted(answer({"Successful": [{"Id": "0"}], "Failed": []})).client("sqs"), URLS)
    queues.delete([Delivery(EVENTS, "m", "r", "{}")])
    with pytest.raises(Unavailable, match="1 messages: the response does not list it"):
        queues.delete([Delivery(EVENTS, "m", "r", "{}")] * 2)


def taken(*numbers: int) -> Mapping[str, Any]:
    """The successful entries of an answer."""
    return {"Successful": [{"Id": str(n), "MessageId": "m", "MD5OfMessageBody": "0" * 32} for n in numbers], "Failed": []}


def test_of_a_batch_only_what_the_answer_names_was_accepted() -> None:
    answers = SqsQueues(Planted(answer(taken(0, 2))).client("sqs"), URLS).send(EVENTS, [Outgoing("{}")] * 3)
    assert [type(one) for one in answers] == [type(None), Unavailable, type(None)]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("KMS.ThrottlingException", Throttled),
        ("RequestThrottled", Throttled),
        ("ThrottlingException", Throttled),
        ("InternalError", Unavailable),
        ("KMS.DisabledException", ConfigurationError),
        ("AccessDenied", NotAllowed),
        ("InvalidMessageContents", NotAccepted),
        ("InvalidParameterValue", NotAccepted),
        ("NeverSeen", NotAccepted),
    ],
)
def test_an_entry_that_failed_is_judged_by_its_code_and_not_by_whose_fault_it_is_called(code: str, kind: type[Exception]) -> None:
    failed = {"Id": "0", "Code": code, "SenderFault": True, "Message": "because"}
    (found,) = SqsQueues(Planted(answer({"Successful": [], "Failed": [failed]})).client("sqs"), URLS).send(EVENTS, [Outgoing("{}")])
    assert type(found) is kind


def sent_of(planted: Planted) -> Sequence[Sequence[str]]:
    """The ids of each call."""
    return [[entry["Id"] for entry in call["Entries"]] for call in planted.sent]


@pytest.mark.parametrize(("code", "kind"), [("KMS.ThrottlingException", Throttled), ("AccessDenied", NotAllowed)])
def test_nothing_is_raised_once_a_batch_went_out(code: str, kind: type[Exception]) -> None:
    refusal = json.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": "because"}).encode()
    planted = _Turning(answer(taken(*range(10))), (refusal, {**JSON, **NAMED}))
    answers = SqsQueues(planted.client("sqs"), URLS).send(EVENTS, [Outgoing("{}")] * 25)
    assert [type(one) for one in answers] == [type(None)] * 10 + [kind] * 15
    assert len(planted.sent) == 2, "the batch that finds out answers for the rest"


def test_one_message_that_makes_sqs_refuse_the_call_leaves_its_neighbours_alone() -> None:
    refusal = json.dumps({"__type": "com.amazonaws.sqs#InvalidParameterValue", "message": "an attribute"}).encode()

    class Choosy(Planted):
        def _answer(self, request: Any, **more: Any) -> AWSResponse:
            found = [entry["Id"] for entry in json.loads(request.body)["Entries"]]
            self.status, self.answers = (400, [(refusal, {**JSON, **NAMED})]) if "3" in found else (200, [answer(taken(*map(int, found)))])
            return super()._answer(request, **more)

    planted = Choosy(answer({}))
    answers = SqsQueues(planted.client("sqs"), URLS).send(EVENTS, [Outgoing("{}")] * 5)
    assert [type(one) for one in answers] == [type(None)] * 3 + [NotAccepted] + [type(None)]
    assert sent_of(planted) == [[*"01234"], ["0"], ["1"], ["2"], ["3"], ["4"]]


def test_a_hold_that_sqs_finds_too_long_is_shortened_until_it_takes_it() -> None:
    refusal = json.dumps({"__type": "com.amazonaws.sqs#InvalidParameterValue", "message": "beyond the limit"}).encode()

    class Short(Planted):
        def _answer(self, request: Any, **more: Any) -> AWSResponse:
            short = json.loads(request.body)["VisibilityTimeout"] <= 9_000
            self.status, self.answers = (200, [answer({})]) if short else (400, [(refusal, {**JSON, **NAMED})])
            return super()._answer(request, **more)

    planted = Short(answer({}))
    SqsQueues(planted.client("sqs"), URLS).hold(Delivery(EVENTS, "m", "r", "{}"), 86_400)
    assert [call["VisibilityTimeout"] for call in planted.sent] == [41_940, 20_970, 10_485, 5_242]


def test_a_receipt_that_sqs_cannot_read_is_said() -> None:
    refusal = json.dumps({"__type": "com.amazonaws.sqs#InvalidParameterValue", "message": "the receipt"}).encode()
    planted = Planted((refusal, {**JSON, **NAMED}), status=400)
    with pytest.raises(ConfigurationError, match="InvalidParameterValue: the receipt"):
        SqsQueues(planted.client("sqs"), URLS).hold(Delivery(EVENTS, "m", "r", "{}"), 3)
    assert [call["VisibilityTimeout"] for call in planted.sent] == [3, 1, 0]


def test_a_key_that_is_asked_for_twice_is_read_once() -> None:
    body = json.dumps({"Item": {"pk": {"S": "a"}}}).encode()
    planted = Planted((body, {**JSON, **NAMED}))
    assert Table(planted.client("dynamodb"), "t").read(["a", "a"]) == {"a": {"pk": {"S": "a"}}}
    assert planted.sent[0]["Key"] == {"pk": {"S": "a"}}


class _Turning(Planted):
    """Answers the first call well, every other with a refusal."""

    def _answer(self, request: Any, **more: Any) -> AWSResponse:
        self.status = 400 if self.sent else 200
        return super()._answer(request, **more)
