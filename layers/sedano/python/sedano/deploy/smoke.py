"""Runs a task without effects on a stage after its deployment, to check that publishing, the worker and the ledger work together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sedano.app import Sedano
from sedano.aws.settings import command_addresses
from sedano.deploy.failure import DeployError
from sedano.errors import SedanoError
from sedano.workflow.names import COLLECT

#: For how many seconds the result is awaited.
LONGEST_S = 60.0


def queue_of(variables: Mapping[str, str]) -> str | None:
    """Return a queue of the stage that keeps no order; None if all of them keep one."""
    return next((name for name in command_addresses(variables) if not name.endswith(".fifo")), None)


def round_trip(
    variables: Mapping[str, str], queue: str, longest_s: float = LONGEST_S, clock: Callable[[], float] = time.monotonic
) -> float:
    """Publish a task that every worker has to *queue* and wait for its result; return the seconds that it took.

    Args:
        variables: of the stage; they are set in the environment of this process meanwhile.
        queue: a command queue of the stage.
        longest_s: the seconds to wait.
        clock: returns seconds.

    Raises:
        DeployError: the result did not arrive in time, or the task failed.
    """
    started = clock()
    with environment(variables):
        _run(queue, longest_s)
    return clock() - started


def _run(queue: str, longest_s: float) -> None:
    app = Sedano("sedano-smoke", queues=(queue,))
    try:
        app.send_task(COLLECT, ([],), queue=queue).get(timeout=longest_s)
    except (SedanoError, TimeoutError) as error:
        remedy = "`sedano logs` shows the log of the workers"
        raise DeployError(f"the stage is deployed, but a task on it failed: {type(error).__name__}: {error}; {remedy}") from error
    finally:
        app.close()


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set *variables* in the environment of this process during the block."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
