"""One session: each client once, every attempt counted, and a write whose answer was lost is recognised when botocore repeats it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import botocore.session
import pytest
from moto import mock_aws

from sedano.aws.client.session import Session
from sedano.aws.ledger import DynamoLedger
from sedano.errors import ConfigurationError
from sedano.model.ledger.records import Claim, Claimed, Outcome, Recorded
from sedano.model.states import SUCCESS
from tests.conformance.worlds import losing_answers

CLAIM = Claim("task-1", 0, "message-1", "n" * 32, 2e9, 1, "shop.add")
OUTCOME = Outcome("task-1", SUCCESS, "n" * 32, 1, "message-1", 0, 2, "shop.add", 1.9e9, result="5")


def source() -> botocore.session.Session:
    """A session of botocore that looks at no file and no variable."""
    made = botocore.session.Session()
    made.set_credentials("test", "test")
    made.set_config_variable("region", "eu-west-1")
    return made


@pytest.fixture
def session() -> Iterator[Session]:
    """A session on moto with a ledger table."""
    with mock_aws():
        made = Session(source)
        made.client("dynamodb").create_table(
            TableName="ledger", BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        )  # fmt: skip
        yield made


@pytest.mark.parametrize("app", [None, "shop"])
def test_each_request_has_the_user_agent_of_botocore_with_the_application_of_the_account(session: Session, app: str | None) -> None:
    def named() -> botocore.session.Session:
        made = source()
        made.set_config_variable("user_agent_appid", app)
        return made

    sent: list[str] = []
    client = Session(named).client("dynamodb")
    client.meta.events.register("before-send", lambda request, **_: sent.append(request.headers["User-Agent"].decode()))
    client.list_tables()
    client.list_tables()
    assert sent[0] == sent[1]
    assert sent[0].startswith("Botocore/")
    # Libraries append words of their own: Powertools does to every session that is made after its import.
    assert ("app/shop" in sent[0].split()) == (app == "shop")


def test_threads_that_ask_at_once_get_the_same_client(session: Session) -> None:
    with ThreadPoolExecutor(8) as threads:
        clients = list(threads.map(session.client, ["sqs"] * 16))
    assert len({id(client) for client in clients}) == 1


def test_a_late_client_is_made_when_it_is_first_used(session: Session) -> None:
    made = []

    def counted() -> botocore.session.Session:
        made.append(source())
        return made[-1]

    late = Session(counted).later("sqs")
    assert made == []
    assert late.list_queues().get("QueueUrls", []) == []
    late.list_queues()
    assert len(made) == 1


def test_every_call_is_counted_by_service_and_operation(session: Session) -> None:
    DynamoLedger(session.client("dynamodb"), "ledger", lanes=1).claim([CLAIM])
    session.client("sqs").list_queues()
    assert dict(session.calls) == {"dynamodb.CreateTable": 1, "dynamodb.UpdateItem": 1, "sqs.ListQueues": 1}


def test_a_claim_and_a_record_whose_answers_were_lost_succeed_when_botocore_repeats_them(session: Session) -> None:
    client = session.client("dynamodb")
    ledger = DynamoLedger(client, "ledger", lanes=1)
    with losing_answers(client, "UpdateItem", send=False, times=1):
        (claimed,) = ledger.claim([CLAIM])
    with losing_answers(client, "UpdateItem", send=False, times=1):
        (recorded,) = ledger.record([OUTCOME])
    assert isinstance(claimed, Claimed)
    assert claimed.granted
    assert claimed.record is not None
    assert (claimed.record.fence, claimed.record.claims) == (1, 1)
    assert recorded == Recorded(True)
    assert session.calls["dynamodb.UpdateItem"] == 4


def test_a_call_is_tried_three_times_at_most(session: Session) -> None:
    client = session.client("dynamodb")
    with losing_answers(client, "UpdateItem", send=False):
        (answer,) = DynamoLedger(client, "ledger", lanes=1).claim([CLAIM])
    assert not isinstance(answer, Claimed)
    assert session.calls["dynamodb.UpdateItem"] == 3


def test_an_endpoint_that_is_none_is_said() -> None:
    with pytest.raises(ConfigurationError, match="a client for sqs: Invalid endpoint: nowhere"):
        Session(source, "nowhere").client("sqs")


def test_only_the_services_that_are_used_are_known() -> None:
    with pytest.raises(ConfigurationError, match="wisdom"):
        Session(source).client("wisdom")


def test_a_profile_that_is_not_there_is_told_with_what_to_name() -> None:
    with pytest.raises(ConfigurationError, match=r"profile \(nobodys\) could not be found \(set AWS_PROFILE"):
        Session(lambda: botocore.session.Session(profile="nobodys")).client("sqs")
