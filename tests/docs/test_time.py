"""The page about time runs as it stands."""

from typing import Any

from sedano import Sedano, testing
from sedano.engine.worker.pipeline import WorkerSettings
from tests.docs.pages import page

PAGE = page("time.md")


def test_the_page_runs_from_top_to_bottom() -> None:
    app = Sedano("page")
    names: dict[str, Any] = {"app": app}
    with testing.world(app, settings=WorkerSettings(lanes=0, heartbeat=0.0)) as world:
        names["world"] = world
        for block in PAGE.blocks:
            PAGE.run(block, names)
        world.drain()
        assert names["soon"].get() == 1


def test_each_rule_of_each_gap_and_fold_has_its_example() -> None:
    shown = " ".join(PAGE.blocks)
    assert all(f'{rule}"' in shown for rule in ('on_gap="next', 'on_gap="skip', 'on_fold="first', 'on_fold="both'))
