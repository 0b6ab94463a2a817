"""The price of a report of invocations: compute, requests and calls, to the nanodollar; what no worker reports costs nothing."""

from typing import Any

import pytest

from sedano.model.history.invocation_prices import MOST, number, price

REQUEST = 200
"""The nanodollars of one invocation."""


@pytest.mark.parametrize(
    ("report", "nanodollars"),
    [
        ({}, REQUEST),
        ({"invocations": 3}, 3 * REQUEST),
        ({"invocations": 0}, 0),
        ({"duration_ms": 1_000}, 6_667 + REQUEST),
        ({"duration_ms": 3_000, "memory_mb": 1_024}, 40_000 + REQUEST),
        ({"duration_ms": 3_000, "memory_mb": "many"}, 20_000 + REQUEST),
        ({"calls": {"sqs.SendMessage": 1_000, "dynamodb.TransactWriteItems": 10}}, 400_000 + 25_000 + REQUEST),
        ({"calls": {"ec2.RunInstances": 5}}, REQUEST),
        ({"calls": {"s3.PutObject": -1, "s3.GetObject": None}}, REQUEST),
        ({"calls": ["s3.PutObject"]}, REQUEST),
        ({"invocations": True, "duration_ms": "long", "calls": None}, REQUEST),
    ],
)
def test_the_price_of_a_report(report: dict[str, Any], nanodollars: int) -> None:
    assert price(report) == nanodollars


def test_only_a_number_that_a_worker_could_have_reported_counts() -> None:
    assert MOST == 10**15
    assert [number(value, 7) for value in (0, 0.5, MOST)] == [0, 0.5, MOST]
    assert [number(value, 7) for value in (-1, -0.5, MOST + 1, True, False, "1", None, [1])] == [7] * 8
