"""A task's life under `sedano worker` over SQS and DynamoDB, by the definition of the other hosts (`tests.stories.life`)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.aws.deployment import ports_of
from sedano.aws.settings import from_environment
from tests.conformance.worlds import session_of
from tests.deploy.test_worker_on_sqs import stage_of
from tests.plugins.resources import Resources
from tests.stories import life_tasks
from tests.stories.life import LIVES, AsProcesses, LifeHost
from tests.stories.worked_project import WorkedProject


@pytest.fixture
def on_sqs(tmp_path: Path, ministack_resources: Resources) -> Iterator[LifeHost]:
    """Processes over a stage of the local endpoint."""
    project = WorkedProject(tmp_path, Path(life_tasks.__file__).read_text())
    project.ports = ports_of(from_environment(ministack_resources.settings), "client", session_of(ministack_resources))
    stage = stage_of(ministack_resources)
    made = AsProcesses(tmp_path, project, lambda *options: project.on_aws("work_tasks:app", "-Q", "default", *options, **stage))
    yield made
    made.close()


@pytest.mark.ministack
@pytest.mark.parametrize("life", LIVES)
def test_a_life_under_a_worker_over_sqs(life: str, on_sqs: LifeHost) -> None:
    LIVES[life](on_sqs)
