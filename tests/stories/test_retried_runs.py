"""`sedano retry` on a run of a workflow."""

import pytest

from sedano import testing
from sedano.cli import main
from sedano.cli.exits import Exit
from tests.stories import bakery


def test_a_run_of_a_workflow_is_retried(capsys: pytest.CaptureFixture[str]) -> None:
    bakery.BROKEN.add("oven")
    of_bakery = ("--app", "tests.stories.bakery:app")
    with testing.world(bakery.app) as world:
        assert main(["workflow", "start", "tests.stories.bakery:Bread", *of_bakery, "--run-id", "r-1"]) == 0
        world.drain()
        bakery.BROKEN.clear()
        capsys.readouterr()
        assert main(["retry", "r-1", *of_bakery, "--yes"]) == 0
        assert capsys.readouterr() == ("r-1 RUNNING\n", "sedano retry: retry 1 runs of workflows\n")
        world.drain()
        assert main(["retry", "r-1", *of_bakery, "--yes"]) == Exit.REFUSED
