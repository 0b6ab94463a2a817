"""The stages that this room looks at: the local one, and production as AWS would get it."""

import pytest

from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates, read
from tests.plugins.resources import APP, CODE, Shared


@pytest.fixture(scope="session")
def production(shared: Shared) -> Templates:
    """The templates of production, synthesised once a test run. Judged: an AWS Solutions finding without a reason fails the synthesis."""
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod"}
    return read(shared.folder("production.out", lambda folder: synthesise(context, folder, judged=True)))


@pytest.fixture(scope="session", params=["local", "production"])
def templates(request: pytest.FixtureRequest) -> Templates:
    """Each stage in turn: what is promised of one is promised of both."""
    if request.param == "local":
        return read(request.getfixturevalue("assembly"))
    production: Templates = request.getfixturevalue("production")
    return production
