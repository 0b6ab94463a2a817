"""The slim client beside botocore's: the same requests and answers, and botocore where it does not know everything about a call."""

import json
import time
from collections.abc import Mapping
from email.utils import formatdate
from itertools import count as numbers
from typing import Any

import pytest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError

from sedano.aws.client.answer_checks import Unanswered
from sedano.aws.client.session import Session, is_slim
from sedano.aws.client.slim.client import OPERATIONS, SlimClient
from sedano.aws.client.slim.request_form import EVENTS, PROBES, Declined, learned, trace_header
from sedano.aws.client.store_date import NotedClient
from sedano.aws.machine import SystemClock
from sedano.errors import ConfigurationError
from sedano.host.worker_command import worker_session
from sedano.ports import deadlines
from sedano.testing.strict_aws.hook import StrictAws, TrippedError
from tests.unit.slim.scripted import READ_S, Act, Received, Scripted, answered, client_of, reply, slim, source

KEY = {"pk": {"S": "a"}}
URL = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
ENTRY = {"Id": "0", "ReceiptHandle": "receipt"}
CALLS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "update_item": ({"TableName": "t", "Key": KEY, "ReturnValues": "ALL_NEW"}, {"Attributes": KEY}),
    "put_item": ({"TableName": "t", "Item": KEY}, {}),
    "get_item": ({"TableName": "t", "Key": KEY, "ConsistentRead": True}, {"Item": {**KEY, "b": {"B": "Ynl0ZXM="}}}),
    "batch_get_item": ({"RequestItems": {"t": {"Keys": [KEY]}}}, {"Responses": {"t": [KEY]}, "UnprocessedKeys": {}}),
    "batch_execute_statement": ({"Statements": [{"Statement": "SELECT * FROM t"}]}, {"Responses": [{"Item": KEY}]}),
    "transact_write_items": ({"TransactItems": [{"Put": {"TableName": "t", "Item": KEY}}], "ClientRequestToken": "token"}, {}),
    "send_message_batch": ({"QueueUrl": URL, "Entries": [{"Id": "0", "MessageBody": "é"}]}, {"Successful": [], "Failed": []}),
    "send_message": ({"QueueUrl": URL, "MessageBody": "{}"}, {"MessageId": "1", "MD5OfMessageBody": "0" * 32}),
    "receive_message": ({"QueueUrl": URL}, {"Messages": [{"MessageId": "1", "Attributes": {"SentTimestamp": "1"}}]}),
    "delete_message_batch": ({"QueueUrl": URL, "Entries": [ENTRY]}, {"Successful": [{"Id": "0"}], "Failed": []}),
    "change_message_visibility_batch": ({"QueueUrl": URL, "Entries": [{**ENTRY, "VisibilityTimeout": 3}]}, {"Successful": [{"Id": "0"}]}),
}  # fmt: skip
"""Each call that the slim client makes: parameters, and an answer."""
SERVICE = {name: service for service, names in OPERATIONS.items() for name in names}
BOTOCORES = "amz-sdk-invocation-id"
"""A header that botocore sends and the slim client does not."""
EACH_TIME = {BOTOCORES, "amz-sdk-request", "authorization", "content-length", "x-amz-date"}


def same(received: Received) -> Mapping[str, str]:
    """The headers that both clients send alike."""
    return {name: value for name, value in received.headers.items() if name not in EACH_TIME}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("token", [None, "session/token+="])
def test_each_call_has_the_request_and_the_answer_of_botocore(name: str, token: str | None) -> None:
    (asked, found), service, session = CALLS[name], SERVICE[name], source(token=token)
    act = reply(json.dumps(found).encode(), date="Thu, 01 Jan 2026 00:00:00 GMT")
    with Scripted(act, act) as server, slim(server.url, service, session) as (client, _, _):
        expected = getattr(client_of(session, service, server.url), name)(**asked)
        answer = getattr(client, name)(**asked)
    botocores, ours = server.received
    assert answer == expected
    assert ours.asked == botocores.asked == asked
    assert same(ours) == same(botocores)
    assert (BOTOCORES in botocores.headers, BOTOCORES in ours.headers) == (True, False)
    assert signed_names(ours) == signed_names(botocores)


def signed_names(received: Received) -> str:
    """The names of the signed headers."""
    return received.headers["authorization"].split(", ")[1]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("query", {"TableName": "t", "KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}}),
        ("put_item", {"TableName": "t", "Item": {**KEY, "b": {"B": b"bytes"}}}),
        ("get_item", {"TableName": "arn:aws:dynamodb:eu-west-1:123456789012:table/t", "Key": KEY}),
    ],
)
def test_a_call_that_is_not_plain_is_made_by_botocore(name: str, asked: Mapping[str, Any]) -> None:
    with Scripted(reply(b"{}")) as server, slim(server.url) as (client, counts, _):
        getattr(client, name)(**asked)
    assert BOTOCORES in server.received[0].headers
    assert not counts


def test_botocore_makes_the_calls_of_a_client_whose_events_were_requested() -> None:
    seen: list[str] = []
    with Scripted() as server, slim(server.url, session=source("AKIDOBSERVED")) as (client, _, _):
        client.update_item(**CALLS["update_item"][0])
        assert client.meta.region_name == "eu-west-1"
        client.update_item(**CALLS["update_item"][0])
        client.meta.events.register("before-send", lambda request, **_: seen.append(request.url))
        client.update_item(**CALLS["update_item"][0])
    assert [BOTOCORES in request.headers for request in server.received] == [False, False, True]
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("a proxy", {"proxies": {"http": "http://127.0.0.1:9"}}),
        ("certificates", {"client_cert": "certificate.pem"}),
        ("retries", {"retries": {"mode": "adaptive", "total_max_attempts": 3}}),
        ("retries", {"retries": {"mode": "legacy"}}),
        ("keep-alive", {"tcp_keepalive": True}),
    ],
)
def test_a_configuration_that_only_botocore_honours_is_left_to_it(reason: str, options: Mapping[str, Any]) -> None:
    with pytest.raises(Declined, match=reason), slim("http://127.0.0.1:9", **options):
        pass


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/aws", "http://127.0.0.1:9/?a=b"])
def test_an_endpoint_with_a_path_is_left_to_botocore(url: str) -> None:
    with pytest.raises(Declined, match="the endpoint is not a host alone"), slim(url):
        pass


@pytest.mark.parametrize("event", EVENTS)
def test_a_session_whose_events_something_observes_is_left_to_botocore(event: str) -> None:
    session = source(f"AKID{event.upper()}")
    session.register(event, lambda **_: None)
    with pytest.raises(Declined, match=f"test_slim_client observes {event}"), slim("http://127.0.0.1:9", session=session):
        pass


def test_certificates_that_are_no_file_are_left_to_botocore() -> None:
    for trusted in ("/no/such/file.pem", False):
        client = source().create_client("sqs", verify=trusted)
        with pytest.raises(Declined, match="certificates"):
            learned(client, "sqs", source().get_credentials())


@pytest.mark.parametrize(
    "credentials", [None, Credentials("", ""), Credentials("AKID\r\nx: y", "secret"), Credentials("AKID", "s", "a\nb")]
)
def test_credentials_that_no_header_holds_are_left_to_botocore(credentials: Any) -> None:
    with pytest.raises(Declined, match="credentials"):
        learned(client_of(source(), "sqs", "http://127.0.0.1:9"), "sqs", credentials)


def test_what_is_learned_of_one_call_holds_for_all_calls_of_its_service() -> None:
    assert {service: operation in OPERATIONS[service].values() for service, (operation, _) in PROBES.items()} == dict.fromkeys(PROBES, True)


@pytest.mark.parametrize(
    ("options", "host"),
    [
        ({}, "dynamodb.eu-west-1.amazonaws.com"),
        ({"use_fips_endpoint": True}, "dynamodb-fips.eu-west-1.amazonaws.com"),
        ({"use_dualstack_endpoint": True}, "dynamodb.eu-west-1.api.aws"),
    ],
)
def test_the_endpoint_is_the_one_that_botocores_rules_choose(options: Mapping[str, Any], host: str) -> None:
    config = Config(**{"retries": {"mode": "standard", "total_max_attempts": 3}, **options})
    form = learned(source().create_client("dynamodb", config=config), "dynamodb", source().get_credentials())
    assert (form.host, form.address.host, form.address.port, form.address.is_secure) == (host, host, 443, True)


def test_the_limits_of_aws_hold_in_tests_for_the_slim_client(strict_aws: StrictAws) -> None:
    with Scripted() as server, slim(server.url) as (client, _, _):
        with pytest.raises(TrippedError, match="TableName"):
            client.update_item(Key=KEY)
        assert server.sends == 0
    assert len(strict_aws.taken()) == 1


def test_a_session_makes_slim_clients_that_count_their_calls_and_note_the_date() -> None:
    act = reply(b"{}", date="Thu, 01 Jan 2026 00:00:00 GMT")
    with Scripted(reply(b"", 503), act) as server:
        session = Session(lambda: source("AKIDSESSION"), server.url, slim=True)
        client = session.client("dynamodb")
        assert isinstance(client, SlimClient)
        noted = NotedClient(client, SystemClock())
        assert noted.put_item(**CALLS["put_item"][0])["ResponseMetadata"]["RetryAttempts"] == 1
        assert noted.time() is not None
        assert dict(session.calls) == {"dynamodb.PutItem": 2}
        assert isinstance(session.single("sqs", 28), SlimClient)
        assert not isinstance(session.client("s3"), SlimClient)
        client.close()


@pytest.mark.parametrize(("text", "chosen"), [("", False), ("botocore", False), ("slim", True)])
def test_the_environment_chooses_the_client(text: str, chosen: bool) -> None:
    assert is_slim({"SEDANO_AWS_CLIENT": text}) is chosen
    assert is_slim({}) is False
    assert is_slim({"SEDANO_AWS_CLIENT": text}, unless_set="slim") is (text != "botocore")


@pytest.mark.parametrize(("chosen", "expected"), [({}, True), ({"SEDANO_AWS_CLIENT": "botocore"}, False)])
def test_a_worker_uses_the_slim_client_unless_told_otherwise(chosen: dict[str, str], expected: bool) -> None:
    session = worker_session(chosen, source=source, endpoint_url="http://127.0.0.1:9")
    for service in ("dynamodb", "sqs"):
        assert isinstance(session.client(service), SlimClient) is expected


def test_a_client_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="SEDANO_AWS_CLIENT: 'boto' is not an AWS client; write botocore or slim"):
        is_slim({"SEDANO_AWS_CLIENT": "boto"})


def timed(ahead: float, named: bool = True) -> Act:
    """A service whose clock is *ahead* of this machine's, and that accepts five minutes. *named*: its errors have a request id."""

    def act(connection: Any, received: Received) -> bool:
        signed = time.mktime(time.strptime(received.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")) - time.timezone
        if abs(signed - time.time() - ahead) <= 300:
            return answered(connection, received)
        text = json.dumps({"__type": "InvalidSignatureException", "message": f"Signature expired: {signed} is now earlier"}).encode()
        return reply(text, 400, date=formatdate(time.time() + ahead, usegmt=True), plain=not named)(connection, received)

    return act


@pytest.mark.parametrize("ahead", [-7200.0, 3600.0])
def test_a_wrong_clock_is_corrected_by_the_services_and_costs_one_attempt(ahead: float) -> None:
    with Scripted(*[timed(ahead)] * 4) as server, slim(server.url) as (client, counts, pauses):
        for _ in range(3):
            assert client.update_item(**CALLS["update_item"][0])["Attributes"] == KEY
    assert (server.sends, counts["dynamodb.UpdateItem"], pauses) == (4, 4, [])


def test_an_answer_that_the_service_did_not_send_sets_no_clock() -> None:
    with Scripted(*[timed(3600, named=False)] * 2) as server, slim(server.url) as (client, _, _):
        for _ in range(2):
            with pytest.raises(ClientError, match="Signature expired"):
                client.update_item(**CALLS["update_item"][0])
    assert server.sends == 2


def test_a_clock_that_the_service_refuses_in_spite_of_its_correction_is_corrected_once_a_call() -> None:
    shifts = numbers(1)

    def act(connection: Any, received: Received) -> bool:
        return timed(next(shifts) * 7200)(connection, received)

    with Scripted(*[act] * 9) as server, slim(server.url) as (client, _, _), pytest.raises(ClientError, match="Signature expired"):
        client.update_item(**CALLS["update_item"][0])
    assert server.sends == 2


class Rotating:
    """Credentials that are others at each request."""

    def __init__(self) -> None:
        self._numbers = numbers()

    def get_frozen_credentials(self) -> Any:
        """The next ones."""
        number = next(self._numbers)
        return Credentials(f"AKID{number}", "secret", f"token-{number}").get_frozen_credentials()


def test_each_call_is_signed_with_the_present_credentials() -> None:
    with Scripted() as server:
        client = client_of(source(token="token"), "dynamodb", server.url)
        form = learned(client, "dynamodb", source(token="token").get_credentials())
        made = SlimClient(client, "dynamodb", form, Rotating(), lambda _: None)
        for _ in range(3):
            made.update_item(**CALLS["update_item"][0])
        made.close()
    assert [request.headers["x-amz-security-token"] for request in server.received] == ["token-0", "token-1", "token-2"]
    assert "Credential=AKID2/" in server.received[2].headers["authorization"]


def silent(connection: Any, _: Received) -> bool:
    """Say nothing until the client is gone."""
    connection.recv(1)
    return False


def test_a_deadline_ends_a_call_before_the_timeout_of_its_client_and_forbids_another_attempt() -> None:
    with Scripted(silent, silent, silent) as server, slim(server.url, read_timeout=60) as (client, _, _):
        began = time.monotonic()
        with deadlines.within(READ_S, began):
            with pytest.raises(ReadTimeoutError):
                client.update_item(**CALLS["update_item"][0])
            with pytest.raises(Unanswered, match="deadline"):
                client.update_item(**CALLS["update_item"][0])
        assert time.monotonic() - began < 30
        assert server.sends == 1


def test_a_long_poll_has_its_own_time_besides_the_deadline() -> None:
    def act(connection: Any, received: Received) -> bool:
        connection.settimeout(READ_S * 1.5)
        try:
            connection.recv(1)
        except TimeoutError:
            return reply(b"{}")(connection, received)
        return False

    with Scripted(act) as server, slim(server.url, "sqs", read_timeout=60) as (client, _, _), deadlines.within(READ_S, time.monotonic()):
        assert client.receive_message(QueueUrl=URL, WaitTimeSeconds=1)["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_transaction_keeps_its_token_when_it_is_sent_again() -> None:
    asked = {"TransactItems": [{"Put": {"TableName": "t", "Item": KEY}}]}
    with Scripted(reply(b"", 500), reply(b"{}"), reply(b"{}")) as server, slim(server.url) as (client, _, _):
        client.transact_write_items(**asked)
        client.transact_write_items(**asked)
    first, again, other = [request.asked["ClientRequestToken"] for request in server.received]
    assert first == again != other


TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.mark.parametrize(("trace", "expected"), [("", ""), (TRACE, TRACE), ("a\r\nb: c é", "a%0D%0Ab:%20c%20%C3%A9")])
def test_the_trace_of_an_invocation_is_the_one_that_botocore_sends(trace: str, expected: str) -> None:
    assert trace_header({"_X_AMZN_TRACE_ID": trace}) == ""
    assert trace_header({"AWS_LAMBDA_FUNCTION_NAME": "worker", "_X_AMZN_TRACE_ID": trace}) == expected


def test_a_client_without_credentials_raises_what_botocore_raises() -> None:
    with Scripted() as server:
        session = source("AKIDGONE")
        client = client_of(session, "dynamodb", server.url)
        form = learned(client, "dynamodb", session.get_credentials())
        client._request_signer._credentials = None  # as after the credentials of a process are gone
        made = SlimClient(client, "dynamodb", form, None, lambda _: None)
        with pytest.raises(NoCredentialsError):
            made.update_item(**CALLS["update_item"][0])
        made.close()
