"""One list of prices: `infra.prices` has it, and what counts costs elsewhere has the same ones."""

import pytest

from infra.prices import LIST
from sedano.model.history import invocation_prices as cost
from sedano.views.reads import DOLLARS_A_MILLION, METRIC, READ_UNIT
from tests.examples.charges import DOLLARS

WRITE, READ = LIST.dynamodb_write, LIST.dynamodb_read
OF_CALLS = {
    "dynamodb.UpdateItem": WRITE, "dynamodb.PutItem": WRITE, "dynamodb.BatchExecuteStatement": WRITE,
    "dynamodb.TransactWriteItems": 4 * WRITE,  # two items, and two units for each
    "dynamodb.GetItem": READ, "dynamodb.BatchGetItem": READ, "dynamodb.Query": READ, READ_UNIT: READ,
    "s3.PutObject": LIST.s3_put, "s3.ListObjectsV2": LIST.s3_put, "s3.GetObject": LIST.s3_get,
    "scheduler.CreateSchedule": LIST.scheduler_invocation, METRIC: LIST.metric_read,
}  # fmt: skip
"""The price of each call by the list; a request of SQS costs the same whatever it does."""


@pytest.mark.parametrize("listed", [cost.CALLS, DOLLARS_A_MILLION], ids=["history", "views"])
def test_every_price_of_a_call_is_the_list_price(listed: dict[str, float]) -> None:
    expected = {name: LIST.sqs_request if name.startswith("sqs.") else OF_CALLS[name] for name in listed}
    assert dict(listed) == expected


def test_the_history_and_the_examples_charge_for_functions_as_the_list_does() -> None:
    assert (LIST.lambda_gb_s, LIST.lambda_request) == (cost.GB_SECONDS, cost.INVOCATIONS)
    assert {
        "sqs": LIST.sqs_request, "invocation": LIST.lambda_request, "write": WRITE, "read": READ, "put": LIST.s3_put, "get": LIST.s3_get,
    } == DOLLARS  # fmt: skip
