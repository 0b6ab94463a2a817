"""A transaction that a lease guards: its caller learns what stopped it: the lease, the own condition, or a service that is busy."""

from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from sedano import guards
from sedano.aws.expressions.fencing import FENCE, fenced_put
from sedano.errors import FencedOff, NotAllowed, SedanoError, Unavailable


class Lease:
    """A lease with its condition, which no table looks at here."""

    token = 5

    def proof(self) -> dict[str, Any]:
        """Return the condition as an item of a transaction."""
        return {"ConditionCheck": {"TableName": "control", "Key": {"pk": {"S": "LEASE#a"}}, "ConditionExpression": "attribute_exists(pk)"}}


PUT = {"Put": {"TableName": "accounts", "Item": {"id": {"S": "1"}}, "ConditionExpression": "attribute_not_exists(id)"}}
REFUSED, FINE, CONFLICT, SLOW = "ConditionalCheckFailed", "None", "TransactionConflict", "ThrottlingError"


def stopped(code: str, *reasons: str) -> Exception:
    """Return what `guards.transact` raises when DynamoDB answers with *code*."""
    session = botocore.session.Session()
    session.set_credentials("test", "test")
    client = session.create_client("dynamodb", region_name="eu-west-1")
    more = {"modeled_fields": {"CancellationReasons": [{"Code": reason} for reason in reasons]}} if reasons else {}
    with Stubber(client) as answers:
        answers.add_client_error("transact_write_items", code, "no", 400, expected_params={"TransactItems": [Lease().proof(), PUT]}, **more)
        with pytest.raises((ClientError, SedanoError)) as caught:
            guards.transact(client, Lease(), [PUT])
    return caught.value


@pytest.mark.parametrize("own", [FINE, REFUSED])
def test_a_lease_that_is_lost_is_called_so_whatever_the_own_condition_says(own: str) -> None:
    error = stopped("TransactionCanceledException", REFUSED, own)
    assert isinstance(error, FencedOff)
    assert (error.resource, error.token) == ("the lease", 5)


def test_an_own_condition_that_refuses_stays_what_it_is() -> None:
    error = stopped("TransactionCanceledException", FINE, REFUSED)
    assert isinstance(error, ClientError)
    assert error.response["CancellationReasons"] == [{"Code": FINE}, {"Code": REFUSED}]


@pytest.mark.parametrize("reasons", [(FINE, CONFLICT), (CONFLICT, FINE), (FINE, SLOW)])
def test_a_transaction_that_met_another_may_be_tried_again(reasons: tuple[str, str]) -> None:
    error = stopped("TransactionCanceledException", *reasons)
    assert isinstance(error, Unavailable)
    assert "dynamodb.TransactWriteItems: TransactionCanceledException" in str(error)


def test_a_transaction_that_was_not_looked_at_is_an_error_of_sedano() -> None:
    assert isinstance(stopped("ThrottlingException"), Unavailable)
    assert isinstance(stopped("AccessDeniedException"), NotAllowed)


@pytest.mark.parametrize(
    ("own", "bare"),
    [
        ("a", "a"),
        (" (a) ", "a"),
        ("((a))", "a"),
        ("()", ""),
        ("(a", "(a"),
        ("(a) OR (b)", "(a) OR (b)"),
        ("a(b)", "a(b)"),
        ("(a)b", "(a)b"),
    ],
)
def test_only_parentheses_that_enclose_the_whole_condition_are_taken_off(own: str, bare: str) -> None:
    sent = fenced_put({"Item": {}, "ConditionExpression": own}, 1)["ConditionExpression"]
    assert sent == f"({bare}) AND ({FENCE.condition})"
