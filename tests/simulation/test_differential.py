"""The simulated DynamoDB against others: the same generated expressions and writes, the same answers, item for item."""

from typing import Any

import pytest

from sedano.local import LocalStage
from tests.simulation.differential import TABLE, UNLIKE, checked, compare_conditions, compared, held, make_table, moto_table
from tests.simulation.generated import Generator
from tests.simulation.sizes import CI

REAL_ENDPOINT_SHARE = 0.4


def test_generated_expressions_come_to_the_same_as_on_moto() -> None:
    with moto_table() as client:
        print(compared(client, "moto", "e", 0, CI.expressions, CI.sequences))


@pytest.mark.ministack
def test_generated_expressions_come_to_the_same_on_ministack(ministack: LocalStage) -> None:
    client: Any = ministack.endpoint.session().client("dynamodb", endpoint_url=ministack.endpoint.url)
    make_table(client)
    try:
        print(compared(client, "ministack", "e", 0, int(CI.expressions * REAL_ENDPOINT_SHARE), int(CI.sequences * REAL_ENDPOINT_SHARE)))
    finally:
        client.delete_table(TableName=TABLE)


@pytest.mark.parametrize("difference", UNLIKE)
def test_a_known_difference_is_still_one(difference: str) -> None:
    refused, _ = UNLIKE[difference]
    with moto_table() as client:
        for seed in range(2_000):
            item, asked = checked(Generator(seed), "k")
            others = [one for name, (one, _) in UNLIKE.items() if name != difference]
            if len(item) == 1 or not refused(item, asked) or any(other(item, asked) for other in others):
                continue
            client.put_item(TableName=TABLE, Item=item)
            if held(client, [{"ConditionCheck": {"TableName": TABLE, **asked}}]) in (["ValueError"], ["TypeError"]):
                return
    pytest.fail(f"{difference}: moto evaluates it now; compare it")


def test_a_difference_is_found() -> None:
    class Other:
        """A table whose conditions always hold."""

        def batch_write_item(self, **_: Any) -> None:
            """Take everything."""

        def transact_write_items(self, **_: Any) -> None:
            """Let everything hold."""

    with pytest.raises(AssertionError, match="here, None there"):
        compare_conditions(Other(), TABLE, range(100), "e")
