"""The page about direct calls runs as it stands; its figures and its table are those of the library."""

import pytest

from sedano import Sedano, testing
from sedano.api.direct_calls import MOST_PATIENCE_S, PATIENCE_S
from sedano.errors import NoResult
from sedano.model.direct_calls import SEAL_S
from tests.docs.pages import page

PAGE = page("direct_calls.md")


def test_the_page_runs_as_it_stands() -> None:
    names: dict[str, object] = {"__name__": "page", "app": Sedano("page"), "testing": testing}
    for block in PAGE.blocks:
        PAGE.run(block, names)


def test_the_figures_are_those_of_the_library() -> None:
    assert (PATIENCE_S, MOST_PATIENCE_S, SEAL_S) == (60.0, 900.0, 60)


def test_the_value_of_a_task_that_keeps_no_result_is_in_the_answer_alone() -> None:
    app = Sedano("page")
    quiet = app.task(name="quiet", ignore_result=True)(lambda n: n)
    with testing.world(app) as world:
        assert app.invoke(quiet, 5) == 5
        published = quiet.delay(5)
        world.drain()
        with pytest.raises(NoResult):
            published.get()
