"""Stages for the proofs of this room, and the figures that they leave.

`enforced`  a stage on which each function may do what its role allows and nothing else, and which moves only when it is told to
`deployed`  a stage with the version of the shop that the module calls `VERSION`, whose functions may run for `SECONDS`
`releases`  the versions on it; `still` moves it only when it is told to
`figures`   what was proven, in numbers: kept in `build/bench/deploy.json` beside what `make bench-deploy` measures there
"""

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano.local import LocalStage
from sedano.local.synthesis import ROOT
from tests.plugins.resources import CODE
from tests.trust import on_aws, streamed
from tests.trust.driven import Driven
from tests.trust.stages import deployed_stage
from tests.trust.struck import Struck
from tests.trust.versions import Releases


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what takes minutes to `make test-deploy`, as `tests/deploy` walks the same roads once; not the marker `always`."""
    if "SEDANO_TRUST" not in os.environ:
        for item in items:
            if Path(__file__).parent in item.path.parents and item.get_closest_marker("always") is None:
                item.add_marker(pytest.mark.skip(reason="minutes long: make test-deploy runs it"))


@pytest.fixture(scope="session")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """The stage, deployed once, with this process as its client; and the roles that it has on AWS alone."""
    directory = tmp_path_factory.mktemp("enforced")
    asked = {"streams": f"clicks={streamed.CLICKS},notes={streamed.NOTES}"}
    for_aws = on_aws.synthesised("walks:app", CODE, tmp_path_factory.mktemp("for_aws") / "cdk.out")
    with deployed_stage(app="walks:app", code=CODE, directory=directory, enforce_iam=True, timeout="60", **asked) as stage:
        driven = Driven(stage)
        driven.client("kinesis").create_stream(StreamName="clicks", ShardCount=1)
        driven.client("sqs").create_queue(QueueName="notes")
        on_aws.create(driven, for_aws)
        yield driven


@pytest.fixture(scope="module")
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """The stage of a module."""
    asked = {"code": request.module.VERSION, "timeout": str(request.module.SECONDS)}
    with deployed_stage(app="shop:app", directory=tmp_path_factory.mktemp("shop"), **asked) as stage:
        yield stage


@pytest.fixture(scope="module")
def releases(request: pytest.FixtureRequest, deployed: LocalStage) -> Releases:
    """The versions of the shop on the stage of a module."""
    return Releases(deployed, request.module.VERSION)


@pytest.fixture(scope="module")
def still(deployed: LocalStage) -> Struck:
    """The stage of a module, from now on moving only when it is told to."""
    return Struck(deployed)


@pytest.fixture(scope="session")
def figures() -> Iterator[dict[str, int]]:
    """Numbers by name; those of a run stand when it ends."""
    found: dict[str, int] = {}
    yield found
    kept = ROOT / "build" / "bench" / "deploy.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(kept.read_text()) if kept.exists() else {}
    kept.write_text(json.dumps({**before, "trust": {**before.get("trust", {}), **found}}, indent=2) + "\n")


@pytest.fixture(scope="session")
def walks(enforced: Driven) -> Iterator[Any]:
    """The deployed application, imported here as a client does; it connects to the stage."""
    assert enforced.feeds
    sys.path.insert(0, str(CODE))
    module = importlib.import_module("walks")
    sys.path.remove(str(CODE))
    yield module
    module.app.close()
