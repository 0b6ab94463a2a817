"""Results and publications of a task that cannot be kept or sent: a failure that says why, or a place where they fit."""

import pytest

from sedano import chord
from sedano.errors import RemoteError
from sedano.model import states
from sedano.model.ledger.records import INLINE_BYTES
from sedano.model.messages.lineage import MAX_HOPS, Lineage
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import Processes
from tests.stories.scenarios import by_hand
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory


@pytest.mark.parametrize(("value", "where"), [({1, 2}, "result"), ({"a": [1, object()]}, "result.a"), (float("nan"), "result")])
def test_a_result_that_is_no_json_fails_the_task_and_names_the_place(stage: Stage, shop: Shop, value: object, where: str) -> None:
    processes = Processes(stage, shop.app)
    shop.task("odd", lambda: value)
    result = shop.app.send_task("odd")
    shop.add.delay(1, 2)
    processes.drain()
    with pytest.raises(RemoteError, match=f"Unserialisable: {where}"):
        result.get()
    assert shop.ran["odd"] == 1, "trying again cannot help"
    assert stage.telemetry.counted("TasksFailed", task="odd") == 1
    assert_kept(stage, {**succeeded(add=1), ("odd", states.FAILURE): 1})


@pytest.mark.parametrize("length", [INLINE_BYTES - 3, INLINE_BYTES, 1_500_000])
def test_a_result_of_any_size_comes_back(stage: Stage, shop: Shop, length: int) -> None:
    processes = Processes(stage, shop.app)
    shop.task("long", lambda: "x" * length)
    result = shop.app.send_task("long")
    processes.drain()
    assert result.get() == "x" * length
    record = result.record()
    assert record is not None
    assert (record.result_ref is None) == (length < INLINE_BYTES - 2)
    assert_kept(stage, succeeded(long=1))


def test_a_result_beyond_all_limits_fails_the_task_and_says_its_size(shop: Shop) -> None:
    stage = in_memory()
    processes = Processes(stage, shop.app)
    shop.task("endless", lambda: "x" * 70_000_000)
    result = shop.app.send_task("endless")
    processes.drain()
    with pytest.raises(RemoteError, match="TooLarge: result: 70000002 bytes"):
        result.get()


def test_large_results_reach_the_body_of_their_chord(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.task("lengths", lambda texts: [len(t) for t in texts])
    result = chord([shop.big.s("x" * 200_000), shop.big.s("y")])(shop.app_sig("lengths"))
    processes.drain()
    assert result.get() == [200_001, 2]


def test_an_outbox_of_any_size_is_sent(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def many() -> None:
        for n in range(60):
            shop.pack.delay(f"{n} " + "x" * 3_000)

    shop.task("many", many)
    result = shop.app.send_task("many")
    processes.drain()
    record = result.record()
    assert record is not None
    assert record.outbox_ref is not None
    assert_kept(stage, succeeded(many=1, pack=60))


def test_publishing_beyond_the_hop_limit_fails_the_task_once(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    command = by_hand(shop, task="buy", args=("tea",), lineage=Lineage(hops=MAX_HOPS))
    processes.drain()
    with pytest.raises(RemoteError, match="HopLimit: hops: 128 dynamic spawns"):
        shop.app.result(command.task_id).get()
    assert shop.ran == {"buy": 1}
    assert_kept(stage, {("buy", states.FAILURE): 1})


def test_publishing_beyond_the_budget_fails_the_task_once(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    command = by_hand(shop, task="buy", args=("tea",), lineage=Lineage(budget=2))
    processes.drain()
    with pytest.raises(RemoteError, match="BudgetExhausted: budget"):
        shop.app.result(command.task_id).get()
    assert shop.ran["buy"] == 1, "trying again cannot help"
    assert_kept(stage, {("buy", states.FAILURE): 1, **succeeded(pack=1, label=1)})


def test_a_task_that_publishes_itself_ends_at_the_hop_limit_or_its_budget(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def forever() -> None:
        shop.app.send_task("forever")

    shop.task("forever", forever, retry=False)
    shop.app.send_task("forever", budget=5)
    processes.drain()
    assert shop.ran["forever"] == 6
    assert_kept(stage, {("forever", states.SUCCESS): 5, ("forever", states.FAILURE): 1})


def test_a_fan_out_bomb_costs_no_more_than_its_budget(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def bomb() -> None:
        for _ in range(3):
            shop.app.send_task("bomb")

    shop.task("bomb", bomb, retry=False)
    shop.app.send_task("bomb", budget=40)
    processes.drain()
    assert 3 < shop.ran["bomb"] <= 41


def test_a_task_that_publishes_to_a_queue_that_its_app_does_not_name_fails_at_once(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.task("lost", lambda: shop.add.apply_async((1, 2), queue="nowhere").id)
    result = shop.app.send_task("lost")
    processes.drain()
    with pytest.raises(RemoteError, match="UnknownQueue"):
        result.get()
    assert (shop.ran["lost"], shop.ran["add"]) == (1, 0)


def test_a_follow_up_to_a_queue_that_does_not_exist_is_told_and_the_task_keeps_its_result(stage: Stage, shop: Shop) -> None:
    shop.app.queues = (*shop.app.queues, "nowhere")  # the app names it, the deployment has none
    shop.app.attach(stage.ports)
    processes = Processes(stage, shop.app)
    shop.task("lost", lambda: shop.add.apply_async((1, 2), queue="nowhere").id)
    result = shop.app.send_task("lost")
    processes.drain()
    assert result.state == states.SUCCESS
    assert stage.telemetry.counted("FollowUpsDelayed", task="lost") > 1
    assert_kept(stage, succeeded(lost=1), ("execution-limit",))
