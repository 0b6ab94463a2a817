"""The code on the page about publishing and on the first page of the site runs."""

import re
from typing import Any

import boto3
from moto import mock_aws

from sedano import Sedano, testing
from sedano.api.backlog import named
from sedano.aws.backlog import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, TRIES, DynamoBacklog
from sedano.ports import Addressed, Outgoing
from tests.docs.pages import page

PUBLISHING = page("publishing.md")
FIRST = page("index.md")
KEYS = ("attribute-definitions", "key-schema")


def test_the_first_page_returns_what_it_says() -> None:
    names: dict[str, object] = {"__name__": "shop"}
    FIRST.run(FIRST.blocks[0], names)
    app = names["app"]
    assert isinstance(app, Sedano)
    with testing.world(app):
        assert '`price.delay("tea", 2).get()` is `6`' in FIRST.text
        assert eval('price.delay("tea", 2).get()', names) == 6  # noqa: S307 - the page is ours


def test_a_fan_out_asks_for_a_larger_budget_and_gets_it() -> None:
    names: dict[str, object] = {"__name__": "shop", "Sedano": Sedano}
    deadline, _, budget, _ = PUBLISHING.blocks
    PUBLISHING.run(deadline, names)
    app = names["app"]
    assert isinstance(app, Sedano)
    assert app.call_timeout == 2.0

    @app.task(ignore_result=True)
    def leaf() -> None: ...

    @app.task
    def fan_out(number: int) -> int:
        with app.batch():
            for _ in range(number // 100):
                leaf.delay()
        return number

    with testing.world(app) as world:
        PUBLISHING.run(budget, {**names, "fan_out": fan_out})
        world.drain()
        assert len(world.sent(leaf.name)) == 90


def test_the_routes_of_the_page_hold() -> None:
    names: dict[str, object] = {"__name__": "shop", "Sedano": Sedano}
    PUBLISHING.run(PUBLISHING.blocks[1], names)
    app = names["app"]
    assert isinstance(app, Sedano)
    assert [app.registry.tasks[name].queue for name in ("mail.welcome", "mail.report")] == ["mail", "slow"]
    assert [app.registry.queue_of(name) for name in ("mail.urgent", "shop.report", "shop.add")] == ["default", "slow", "default"]


def test_the_table_of_the_page_is_a_backlog() -> None:
    names: dict[str, object] = {"__name__": "shop", "Sedano": Sedano}
    PUBLISHING.run(PUBLISHING.blocks[3], names)
    app = names["app"]
    assert isinstance(app, Sedano)
    table, _, region = named(app.backlog).rest.partition("@")
    (words,) = re.findall(r"aws dynamodb create-table (.*?)\n```", PUBLISHING.text, re.DOTALL)
    given = [part.split() for part in words.replace("\\\n", "").split("--")[1:]]
    options = {name: rest for name, *rest in given}
    assert (options["region"], options["table-name"]) == ([region], [table])
    pairs = {name: [dict(pair.split("=") for pair in one.split(",")) for one in options[name]] for name in KEYS}
    with mock_aws():
        client: Any = boto3.client("dynamodb", region_name=region)
        definitions, schema = pairs.values()
        client.create_table(TableName=table, BillingMode="PAY_PER_REQUEST", AttributeDefinitions=definitions, KeySchema=schema)
        backlog = DynamoBacklog(client, table, "shop")
        backlog.keep([Addressed("commands:default", Outgoing("{}"))], 0.0)
        assert [one.message.outgoing.body for one in backlog.take(1, 0.0)] == ["{}"]


def test_storing_takes_at_most_the_seconds_of_the_page() -> None:
    assert TRIES * (CONNECT_TIMEOUT_S + READ_TIMEOUT_S) == 6.0
