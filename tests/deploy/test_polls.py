"""A poll of a deployed stage, under the worker's own role: it reads its parameter, the source over the wire, and calls its task once."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.aws.memos import DynamoMemos
from sedano.aws.settings import command_addresses
from sedano.local import LocalStage, local_stage
from sedano.model.memos import memo_name
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.model.sources.polls import POLL, PollState, state_of
from sedano.polls import call_id
from tests.deploy.kept import result
from tests.unit.http_peer import Peer, served
from tests.unit.test_http_polls import answer

APP = """
from typing import Any

from sedano import Sedano, every
from sedano.polls import http

app = Sedano("polled")
token = {"Authorization": "ssm:/shop/orders/token"}
orders = http("URL/orders?after={cursor}", items="rows", cursor="next", start="0", headers=token)


@app.poll("orders", every(days=30), orders, identity="id")
@app.task(name="polled.ordered")
def ordered(order: dict[str, Any]) -> int:
    return order["id"] * 10
"""
PAGES = (
    answer({"rows": [{"id": 1}, {"id": 2}], "next": "2"}), answer({"rows": [{"id": 3}], "next": None}, etag='"v1"'), answer("", 304),
)  # fmt: skip


@pytest.fixture(scope="module")
def api() -> Iterator[Peer]:
    """The API of another shop: two pages, then nothing new."""
    with served(*PAGES) as server:
        yield server


@pytest.fixture(scope="module")
def stage(api: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """The stage, where each function may do what its role allows."""
    code = tmp_path_factory.mktemp("polled")
    (code / "polled.py").write_text(APP.replace("URL", api.url))
    directory = tmp_path_factory.mktemp("stage")
    with local_stage(app="polled:app", code=code, directory=directory, enforce_iam=True, timeout="60") as made:
        _client(made, "ssm").put_parameter(Name="/shop/orders/token", Value="Bearer abc", Type="SecureString")
        yield made


def _client(stage: LocalStage, service: str) -> Any:
    return stage.endpoint.session().client(service, endpoint_url=stage.endpoint.url)


def polled(stage: LocalStage, run: str) -> dict[str, Any]:
    """Run the poll as the scheduler does, under the id *run*; return its result."""
    body = codec.encode(Command(f"m-{run}", run, "poll.orders", "me"))
    _client(stage, "sqs").send_message(QueueUrl=command_addresses(stage.environment)["default"], MessageBody=body)
    found: dict[str, Any] = json.loads(result(stage, run) or "{}")
    return found


def test_each_item_is_called_once_and_a_source_that_has_not_changed_publishes_nothing(stage: LocalStage, api: Peer) -> None:
    assert polled(stage, "first") == {"pages": 2, "published": 3, "parked": 0, "note": ""}
    for number in (1, 2, 3):
        assert result(stage, call_id("orders", "polled.ordered", f"id/{number}")) == str(number * 10)
    assert polled(stage, "second") == {"pages": 0, "published": 0, "parked": 0, "note": ""}
    assert [path for path, *_ in api.requests] == ["/orders?after=0", "/orders?after=2", "/orders?after=2"]
    assert {headers["authorization"] for _, headers, _ in api.requests} == {"Bearer abc"}
    assert api.requests[2][1]["if-none-match"] == '"v1"'
    name = memo_name(POLL, "orders")
    memos = DynamoMemos(_client(stage, "dynamodb"), stage.environment["SEDANO_CONTROL_TABLE"])
    state = state_of(memos.read([name])[name].text)
    assert len(state.cursor.pop("of")) == 16
    assert state._replace(seen="", at=0.0) == PollState(cursor={"at": "2", "etag": '"v1"'}, published=3)
    assert "AccessDenied" not in stage.endpoint.log.read_text(), "nothing was denied on the way"
