"""Whatever SQS does meanwhile, no record of a deployed stream is lost, each has one effect, and each item of the table keeps its order."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from sedano.aws.ledger import DynamoLedger
from sedano.model.sources.streams import call_id
from tests.deploy.test_streams import CODE
from tests.trust import streamed
from tests.trust.stages import deployed_stage
from tests.trust.streamed import TableShard
from tests.trust.struck import Struck
from tests.trust.weather import AWAY, Door

SEEDS = range(2)
ORDERS, STEPS = ("a", "b", "c"), 15
OPEN, SHUT, UNANSWERED = "open", "shut", "unanswered"
GUSTS, LONG = 5, (4, 12)
"""How many gusts there are, and how many requests one lasts: longer than a call is tried again."""
MOST_BATCHES = 60
"""So often is handed over, at most; where it is not enough, records are held up for ever."""


class Gusts(Door):
    """A door whose weather changes with each request to SQS: it is refused, or done and the answer is lost; at last it stays open."""

    def __init__(self, endpoint: str, seed: int) -> None:
        super().__init__(endpoint, "sqs")
        drawn = random.Random(seed)
        gusts = [[drawn.choice((SHUT, UNANSWERED))] * drawn.randint(*LONG) + [OPEN] * drawn.randint(0, 2) for _ in range(GUSTS)]
        self._forecast = iter([one for gust in gusts for one in gust])
        #: How often each weather was met.
        self.met = dict.fromkeys((OPEN, SHUT, UNANSWERED), 0)

    def answer(self, request: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        """What the service says, or what the weather says for it."""
        if not self.is_asked(request):
            return super().answer(request)
        now = next(self._forecast, OPEN)
        self.met[now] += 1
        self.weather = (503, AWAY) if now == SHUT else None
        said = super().answer(request)
        return (503, [("Content-Type", "application/x-amz-json-1.0")], AWAY) if now == UNANSWERED else said


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Struck]:
    """A stage that follows a table and moves only when it is told to."""
    with deployed_stage(app="follows:app", code=CODE, directory=tmp_path_factory.mktemp("follows"), timeout="60") as stage:
        yield Struck(stage)


@contextmanager
def _through(door: Door, driven: Struck) -> Iterator[None]:
    """The stream's function reaches AWS through the door while the block runs."""
    functions: Any = driven.client("lambda")
    name = driven.functions[streamed.FUNCTION]
    before = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": {**before, **door.variables}})
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": before})


def _written(driven: Struck, file: Path) -> None:
    """Change each of the orders step by step, all in turn."""
    dynamodb = driven.client("dynamodb")
    for step in range(STEPS):
        for order in ORDERS:
            item = {"id": {"S": order}, "step": {"N": str(step)}, "file": {"S": str(file)}}
            dynamodb.put_item(TableName=streamed.table(driven), Item=item)


def _states(driven: Struck, records: list[str]) -> list[str]:
    """What became of the calls with these records."""
    ledger = DynamoLedger(driven.client("dynamodb"), driven.stage.environment["SEDANO_LEDGER_TABLE"])
    called = [call_id("orders", "follows.ordered", record) for record in records]
    found = ledger.read(called)
    return [found[one].state for one in called]


@pytest.mark.parametrize("seed", SEEDS)
def test_in_any_weather_each_record_has_one_effect_in_the_order_of_its_item(seed: int, driven: Struck, tmp_path: Path) -> None:
    driven.forget()
    shard, file, records, batches = TableShard(driven), tmp_path / "effects", [], 0
    _written(driven, file)
    with Gusts(driven.stage.endpoint.url, seed).standing() as door, _through(door, driven):
        while len(records) < len(ORDERS) * STEPS:
            batches += 1
            assert batches <= MOST_BATCHES, driven.failures
            records += shard.hand_over()
    print(f"seed {seed}: {batches} batches, {door.met}, {len(driven.failures)} invocations failed")
    assert len(records) == len(set(records)), "what the function is done with never comes again"
    assert batches > 1
    assert driven.comes_to("StreamsStopped", batches - 1), "whoever looks at the dashboard sees each batch that stopped"
    with driven.moving():
        driven.drain()
    assert _states(driven, records) == ["SUCCESS"] * len(records)
    for order in ORDERS:
        steps = [line for line in file.read_text().splitlines() if line.startswith(f"{order} ")]
        assert steps == [f"{order} {step}" for step in range(STEPS)]
