"""What is downloaded is pinned, hashed and the same everywhere; the tools start where the machine has none."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from requirements import install, toolchain
from tests.house.tree import ROOT

PINS = sorted((ROOT / "requirements").glob("*.txt"))
PINNED = re.compile(
    r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)(?:.*\\\n)(?:    --hash=sha256:[0-9a-f]{64}.*\n)+", re.MULTILINE
)
NOWHERE = {"PATH": "", "HOME": os.environ.get("HOME", "/")}


def pinned(path: Path) -> dict[str, str]:
    """Each package of a requirement file with its version."""
    return {found["name"]: found["version"] for found in PINNED.finditer(path.read_text())}


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_every_package_is_pinned_with_hashes(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith((" ", "#"))]
    assert lines
    assert len(PINNED.findall(path.read_text())) == len(lines)


@pytest.mark.parametrize("other", ["dev", "ministack"])
def test_tests_and_the_local_endpoint_use_the_versions_of_the_layer(other: str) -> None:
    layer, theirs = (pinned(ROOT / "requirements" / f"{name}.txt") for name in ("layer", other))
    assert {name: theirs.get(name) for name in layer} == layer


def test_the_layer_brings_no_aws_client_of_its_own() -> None:
    assert not {"boto3", "botocore"} & set(pinned(ROOT / "requirements/layer.txt"))


def test_a_users_machine_synthesises_with_the_versions_that_are_tested_here() -> None:
    theirs, ours = (pinned(ROOT / "requirements" / f"{name}.txt") for name in ("deploy", "dev"))
    assert {name: version for name, version in theirs.items() if ours.get(name) != version}.keys() == {"pip"}


def test_the_bootstrap_template_is_that_of_the_cdk_cli() -> None:
    text = (ROOT / "layers/sedano/python/sedano/deploy/bootstrap.yaml").read_text()
    version = json.loads((ROOT / "package.json").read_text())["devDependencies"]["aws-cdk"]
    assert f"command line {version}, unchanged below this comment" in text
    original = ROOT / "node_modules" / "aws-cdk" / "lib" / "api" / "bootstrap" / "bootstrap-template.yaml"
    assert not original.is_file() or text.endswith(original.read_text())


def test_the_cdk_cli_is_one_exact_version_with_its_digest() -> None:
    wanted = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert wanted == {"aws-cdk": locked["node_modules/aws-cdk"]["version"]}
    assert all("integrity" in package and "resolved" not in package for name, package in locked.items() if name)


def test_a_second_installation_does_nothing_and_says_nothing() -> None:
    program = [sys.executable, str(ROOT / "requirements/install.py"), "dev"]
    assert (ROOT / ".venv" / "made-from").read_text() == install.fingerprint(install.ENVIRONMENTS["dev"])
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == ""


def test_an_unknown_environment_is_refused_by_name() -> None:
    program = [sys.executable, str(ROOT / "requirements/install.py"), "prod"]
    said = subprocess.run(program, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "no environment is called prod" in said.stderr


def test_java_and_node_start_where_the_machine_has_neither() -> None:
    found = toolchain.environment(NOWHERE)
    assert toolchain.runs_spark(Path(found["JAVA_HOME"]) / "bin" / "java")
    assert re.match(r"v(2[2-9]|[3-9]\d)\.", toolchain.answer(found["JSII_NODE"], "--version"))
    assert str(ROOT) in found["JAVA_HOME"]
    assert str(ROOT) in found["JSII_NODE"]


def test_only_the_one_option_is_dropped_on_the_way_to_java(tmp_path: Path) -> None:
    shown = tmp_path / "java"
    toolchain.shim(shown, toolchain.JAVA_SHIM.format(vector=toolchain.VECTOR, java="printf '[%s]'"))
    assert toolchain.answer(str(shown), "-Dx=a b", toolchain.VECTOR, "", "$HOME", "*") == "[-Dx=a b][][$HOME][*]"


def test_a_machine_with_good_tools_keeps_them(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    toolchain.shim(tools / "java", "#!/bin/sh\necho 'openjdk version \"17.0.99\"'\n")
    toolchain.shim(tools / "node", "#!/bin/sh\necho v22.1.0\n")
    found = toolchain.environment({"PATH": f"{tools}{os.pathsep}{os.defpath}"})
    assert (found["JAVA_HOME"], found["JSII_NODE"]) == (str(tmp_path), str(tools / "node"))


def test_tools_that_are_too_old_are_passed_over(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    toolchain.shim(tools / "java", "#!/bin/sh\necho 'openjdk version \"11.0.2\"'\n")
    toolchain.shim(tools / "node", "#!/bin/sh\necho v20.20.2\n")
    found = toolchain.environment({"PATH": f"{tools}{os.pathsep}{os.defpath}"})
    assert str(tmp_path) not in found["JAVA_HOME"]
    assert str(tmp_path) not in found["JSII_NODE"]
