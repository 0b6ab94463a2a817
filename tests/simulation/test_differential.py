"""The simulated DynamoDB against others: the same generated writes, the same answers, item for item."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.plugins.resources import Resources
from tests.simulation.differential import TABLE, compare, compare_sequences, moto_table
from tests.simulation.sizes import CI

REAL_ENDPOINT_SHARE = 5


@pytest.fixture(scope="module")
def moto() -> Iterator[Any]:
    """A table on moto."""
    with moto_table() as client:
        yield client


def test_generated_writes_come_to_the_same_as_on_moto(moto: Any) -> None:
    compare(moto, TABLE, range(CI.expressions // 2), "e")


def test_generated_sequences_come_to_the_same_as_on_moto(moto: Any) -> None:
    compare_sequences(moto, TABLE, range(CI.sequences), "e")


@pytest.mark.ministack
def test_generated_writes_come_to_the_same_on_a_real_endpoint(ministack_resources: Resources) -> None:
    client = ministack_resources.session.client("dynamodb", endpoint_url=ministack_resources.endpoint_url)
    table = ministack_resources.settings["SEDANO_LEDGER_TABLE"]
    compare(client, table, range(CI.expressions // REAL_ENDPOINT_SHARE), "e")
    compare_sequences(client, table, range(CI.sequences // REAL_ENDPOINT_SHARE), "e")
