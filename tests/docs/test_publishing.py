"""The code on the page about publishing and on the first page of the site runs."""

from sedano import Sedano, testing
from tests.docs.pages import page

PUBLISHING = page("publishing.md")
FIRST = page("index.md")


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
    deadline, _, budget = PUBLISHING.blocks
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
