"""One definition of a task's life, played in a world in memory, by the Lambda handlers, and by `sedano worker` over one SQLite file.

The fourth host, `sedano worker` over SQS and DynamoDB, is in `tests/deploy/test_life_on_sqs.py`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.aws.deployment import ports_of
from sedano.aws.settings import from_environment
from tests.conformance.worlds import session_of
from tests.functions.conftest import Functions, environment
from tests.plugins.resources import Resources
from tests.stories import life_tasks
from tests.stories.life import LIVES, AsProcesses, InMemory, LifeHost, OnLambda
from tests.stories.worked_project import WorkedProject


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[LifeHost]:
    """A world in memory."""
    made = InMemory(tmp_path)
    yield made
    made.close()


@pytest.fixture
def on_lambda(tmp_path: Path, resources: Resources) -> Iterator[LifeHost]:
    """The handlers over moto."""
    region = resources.session.region_name or ""
    own = {"SEDANO_APP": f"{life_tasks.__name__}:app", "SEDANO_STAGE": "test", "AWS_DEFAULT_REGION": region, "AWS_REGION": region}
    with environment({**resources.settings, **own}):
        ports = ports_of(from_environment(resources.settings), "client", session_of(resources))
        made = OnLambda(tmp_path, Functions(resources), ports)
        yield made
        made.close()


@pytest.fixture
def on_a_file(tmp_path: Path) -> Iterator[LifeHost]:
    """Processes over one SQLite file."""
    project = WorkedProject(tmp_path, Path(life_tasks.__file__).read_text())
    made = AsProcesses(tmp_path, project, project.worker)
    yield made
    made.close()


@pytest.mark.parametrize("life", LIVES)
def test_a_life_in_a_world_in_memory(life: str, memory: LifeHost) -> None:
    LIVES[life](memory)


@pytest.mark.parametrize("life", LIVES)
def test_a_life_on_lambda(life: str, on_lambda: LifeHost) -> None:
    LIVES[life](on_lambda)


@pytest.mark.parametrize("life", LIVES)
def test_a_life_under_a_worker_over_a_file(life: str, on_a_file: LifeHost) -> None:
    LIVES[life](on_a_file)
