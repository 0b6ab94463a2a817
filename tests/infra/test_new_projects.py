"""A project that `sedano new` makes is deployed as it was written: its folder synthesises, and brings its tasks and no test."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from requirements import toolchain
from sedano.cli.projects import TEMPLATES, files, write
from sedano.deploy.assembly import stacks
from sedano.local.synthesis import ROOT
from tests.infra.template import Templates

STAGES = """
import sys
import aws_cdk as cdk
from infra import SedanoStacks, StageConfig

app = cdk.App()
for template, reference in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    config = StageConfig(stage=template, account="123456789012", region="eu-central-1")
    SedanoStacks(app, app=reference, code=template, config=config)
app.synth()
"""


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One assembly with a stage for each template, synthesised where nothing but the projects stands."""
    directory = tmp_path_factory.mktemp("projects")
    stages = []
    for template in TEMPLATES:
        made = files("shop", template)
        write(made, directory / template)
        stages += [template, tomllib.loads(made["pyproject.toml"])["tool"]["sedano"]["app"]]
    environment = {
        **os.environ,
        **toolchain.environment(os.environ),
        "PYTHONPATH": str(ROOT),
        "CDK_OUTDIR": str(directory / "cdk.out"),
        "CDK_CONTEXT_JSON": json.dumps({"@aws-cdk/core:newStyleStackSynthesis": True}),
        "CDK_VALIDATION": "false",
    }
    command = [sys.executable, "-P", "-c", STAGES, *stages]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory / "cdk.out"


@pytest.fixture(params=TEMPLATES)
def stage(request: pytest.FixtureRequest, assembly: Path) -> tuple[str, Templates]:
    """A template by its name, and the core stack of the stage that it became."""
    template: str = request.param
    (core,) = (json.loads(stack.template) for stack in stacks(assembly) if stack.name == f"sedano-{template}-core")
    return template, Templates(assembly, core["Resources"], {})


def test_it_is_deployed_with_its_modules_and_without_its_tests_and_settings(stage: tuple[str, Templates]) -> None:
    template, core = stage
    layers = core.of_type("Lambda::LayerVersion").items()
    (application,) = (layer for name, layer in layers if name.startswith("Application"))
    directory = core.directory / f"asset.{application['Content']['S3Key'].removesuffix('.zip')}"
    found = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    deployed = {name for name in files("shop", template) if name.startswith("shop/")} - {"shop/web.py"}
    assert found == {f"python/{name}" for name in deployed}


def test_it_brings_the_functions_that_its_app_needs(stage: tuple[str, Templates]) -> None:
    template, core = stage
    assert {"worker", "router"} <= core.functions().keys()
    assert ({"webhook", "scheduler"} <= core.functions().keys()) == (template == "events")
