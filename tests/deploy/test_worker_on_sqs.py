"""`sedano worker` over SQS and DynamoDB: it finds a stage as programs do, and extends what it holds while bodies run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.aws.deployment import ports_of
from sedano.aws.settings import from_environment
from tests.conformance.worlds import session_of
from tests.plugins.resources import Resources
from tests.stories.worked_project import SECONDS, WorkedProject, until

VISIBILITY_S = 6
LONGER_S = VISIBILITY_S + 3.0
OPTIONS = ("work_tasks:app", "-Q", "default", "-c", "3", "--drain", "5", "--visibility", str(VISIBILITY_S))


@pytest.fixture
def project(ministack_resources: Resources, tmp_path: Path) -> Iterator[WorkedProject]:
    """A project whose app publishes to a stage of the local endpoint, on which no worker runs afterwards."""
    made, session = WorkedProject(tmp_path), session_of(ministack_resources)
    made.ports = ports_of(from_environment(ministack_resources.settings), "client", session)
    made.app.attach(made.ports)
    yield made
    made.close()


def stage_of(resources: Resources) -> dict[str, str]:
    """The variables by which a program finds the stage."""
    found = resources.session.get_credentials()
    assert found is not None
    return {
        **resources.settings, "AWS_ENDPOINT_URL": str(resources.endpoint_url), "AWS_ACCESS_KEY_ID": found.access_key,
        "AWS_SECRET_ACCESS_KEY": found.secret_key, "AWS_REGION": resources.session.region_name,
    }  # fmt: skip


@pytest.mark.ministack
def test_a_body_longer_than_the_visibility_is_delivered_once_and_that_of_a_killed_worker_again(
    ministack_resources: Resources, project: WorkedProject
) -> None:
    stage = stage_of(ministack_resources)
    first = project.on_aws(*OPTIONS, **stage).ready()
    result = project.app.send_task("note", (str(project.notes), 1, LONGER_S))
    assert result.get(timeout=SECONDS) == 1
    waits = project.app.send_task("waits", (str(project.notes), str(project.go)))
    until(lambda: len(project.noted()) == 2)
    assert project.noted() == ["1", str(first.process.pid)]
    first.process.kill()
    first.ended()
    project.go.touch()
    second = project.on_aws(*OPTIONS, **stage).ready()
    assert waits.get(timeout=SECONDS) == second.process.pid
    assert second.end() == 0
    records = project.ports.ledger.read([result.id, waits.id])
    assert [records[one.id].fence for one in (result, waits)] == [1, 2], "one claim of the long body, two of the killed one"
