"""The stages that this room looks at: the local one, and production as AWS would get it."""

import pytest

from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates, read
from tests.plugins.resources import APP, CODE


@pytest.fixture(scope="session")
def production(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The templates of production. Judged: an AWS Solutions finding without a reason fails the synthesis."""
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod"}
    return read(synthesise(context, tmp_path_factory.mktemp("prod") / "cdk.out", judged=True))


@pytest.fixture(scope="session", params=["local", "production"])
def templates(request: pytest.FixtureRequest) -> Templates:
    """Each stage in turn: what is promised of one is promised of both."""
    if request.param == "local":
        return read(request.getfixturevalue("assembly"))
    production: Templates = request.getfixturevalue("production")
    return production
