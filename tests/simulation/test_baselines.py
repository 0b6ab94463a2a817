"""Others in the same harness: each is found to break a promise that sedano keeps, or the harness could not have found it here either."""

from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

from tests.simulation.baselines.gossip import Elected
from tests.simulation.baselines.locks import WAYS, LockWorld
from tests.simulation.campaign import campaign
from tests.simulation.dynamodb import Database

SCHEDULES = 2_000
PROMISES = {"token-less": "I2", "released by the lock's name": "I7", "stamped at the answer": "I3"}


@pytest.mark.parametrize("name", WAYS)
def test_a_lock_that_is_commonly_built_breaks_its_promise(name: str) -> None:
    tally = campaign(lambda seed, _: LockWorld(seed, WAYS[name]), range(SCHEDULES), most=10)
    assert any(broken.startswith(PROMISES[name]) for broken in tally.violations.values()), tally.violations


def test_celery_gossip_never_dispatches_when_there_is_one_worker() -> None:
    elections = [Elected(seed, 1) for seed in range(20)]
    assert [election.run() for election in elections] == [0] * 20
    assert all(election.errors for election in elections)


def test_celery_gossip_dispatches_twice_although_every_event_arrives_once() -> None:
    assert max(Elected(seed, 3).run() for seed in range(500)) > 1


class Remaining:
    """A Lambda context with no time left: the claim of this run has ended while the run goes on."""

    def __init__(self, milliseconds: int) -> None:
        """Have so much time left."""
        self._milliseconds = milliseconds

    def get_remaining_time_in_millis(self) -> int:
        """Return it."""
        return self._milliseconds


def once(database: Database, body: Any, milliseconds: int) -> Any:
    """Return *body* made idempotent by Powertools over the simulated table."""

    class Face:
        """The table with botocore's face."""

        def __getattr__(self, name: str) -> Any:
            return lambda **asked: database.call(name.title().replace("_", ""), None, asked)

    client: Any = Face()
    layer = DynamoDBPersistenceLayer(table_name="once", key_attr="pk", boto3_client=client)
    context: Any = Remaining(milliseconds)
    body.__qualname__ = "body"
    config = IdempotencyConfig(lambda_context=context)
    return idempotent_function(data_keyword_argument="order", persistence_store=layer, config=config)(body)


def test_powertools_lets_a_zombie_erase_a_finished_record_so_that_the_effect_comes_twice() -> None:
    database, effects = Database(), list[str]()

    def works(order: dict[str, int]) -> str:
        effects.append("effect")
        return "done"

    def zombie(order: dict[str, int]) -> str:
        assert once(database, works, 60_000)(order=order) == "done"
        raise RuntimeError("the zombie wakes up and fails")

    order = {"number": 1}
    with pytest.raises(RuntimeError):
        once(database, zombie, -1_000)(order=order)
    once(database, works, 60_000)(order=order)
    assert effects == ["effect", "effect"]
