"""Each error that ends a verb has its exit code, one message, and no traceback."""

from dataclasses import replace
from typing import Never

import pytest

from sedano import testing
from sedano.cli import main
from sedano.cli.exits import Exit, exit_of
from sedano.errors import (
    LeaseTaken,
    NotAllowed,
    ResultTimeout,
    SedanoError,
    Unavailable,
    UnknownFlowRun,
    UnknownTask,
    UsageError,
    WorkflowInvalid,
    WrongFlowState,
)
from tests.stories import bakery

APP = ("--app", "tests.stories.bakery:app")


class Failing:
    """Runs of workflows that cannot be listed."""

    def __init__(self, error: SedanoError) -> None:
        """Raise *error*."""
        self.error = error

    def list(self, workflow: str | None) -> Never:
        """Fail."""
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "more"),
    [
        (NotAllowed("dynamodb.Query: \x1b[2J", "dynamodb:Query"), 4, "sedano workflow: the missing IAM action is dynamodb:Query\n"),
        (Unavailable("dynamodb.Query: \x1b[2J"), 69, ""),
        (SedanoError("\x1b[2J"), 1, ""),
    ],
)
def test_a_call_that_fails_has_its_code(error: SedanoError, code: int, more: str, capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(bakery.app) as world:
        bakery.app.attach(replace(world.ports, flow_runs=Failing(error)))  # type: ignore[arg-type] # it fails before anything else is asked
        assert main(["workflow", "list", *APP]) == code
    assert capsys.readouterr() == ("", f"sedano workflow: {error}\n{more}".replace("\x1b", "\\x1b"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), Exit.USAGE), (UnknownTask("x"), Exit.NOT_FOUND), (UnknownFlowRun("x"), Exit.NOT_FOUND),
        (WrongFlowState("x"), Exit.REFUSED), (LeaseTaken("x", "y"), Exit.REFUSED), (WorkflowInvalid("x", ["y"]), Exit.PROBLEMS),
        (ResultTimeout("x"), Exit.TIMEOUT), (RuntimeError("x"), Exit.FAILED),
    ],
)
def test_each_error_has_one_code(error: Exception, code: Exit) -> None:
    assert exit_of(error) is code


def test_codes_are_what_a_shell_can_tell_apart() -> None:
    assert all(0 <= code < 256 for code in Exit)
    assert len({int(code) for code in Exit}) == len(Exit)
