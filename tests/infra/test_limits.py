"""What AWS would refuse after minutes is refused at once: just what it takes passes, one more does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra import limits
from tests.infra.template import Templates


def _said(template: dict[str, Any], size: int = 1000) -> str:
    return "\n".join(limits.of_template("core", template, size))


@pytest.mark.parametrize(
    ("count", "said"), [(500, ""), (501, "core: 501 resources, and CloudFormation allows 500 in a stack: declare fewer queues, or")]
)
def test_resources(count: int, said: str) -> None:
    found = _said({"Resources": {f"R{n}": {"Type": "AWS::SQS::Queue"} for n in range(count)}})
    assert found.startswith(said)
    assert bool(found) == bool(said)


@pytest.mark.parametrize(("count", "refused"), [(200, False), (201, True)])
def test_outputs(count: int, refused: bool) -> None:
    assert ("outputs" in _said({"Outputs": {f"O{n}": {} for n in range(count)}})) == refused


@pytest.mark.parametrize(("size", "refused"), [(1_000_000, False), (1_000_001, True)])
def test_bytes(size: int, refused: bool) -> None:
    assert ("bytes" in _said({}, size)) == refused


@pytest.mark.parametrize(("length", "refused"), [(4092, False), (4093, True)])
def test_the_environment_of_a_function(length: int, refused: bool) -> None:
    variables = {"NAME": "x" * length}
    template = {"Resources": {"Worker": {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables}}}}}
    assert ("Worker: about" in _said(template)) == refused


def test_addresses_count_at_their_longest() -> None:
    queues = {f"CommandsQueue{n:08}": {"Type": "AWS::SQS::Queue"} for n in range(40)}
    joined = {"Fn::Join": ["", ["{", *({"Ref": name} for name in queues), "}"]]}
    worker = {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": {"Q": joined}}}}
    # 54 for the Region's and the account's part, 28 + 21 + 14 for the name; 40 of them, two braces, one letter
    assert "about 4683 bytes" in _said({"Resources": {**queues, "Worker": worker}})


def test_production_is_far_from_every_limit(production: Templates) -> None:
    assert list(limits.problems(production.directory)) == []


def test_the_stacks_of_the_manifest_are_judged_and_no_leftovers(tmp_path: Path) -> None:
    large = json.dumps({"Resources": {f"R{n}": {"Type": "X"} for n in range(501)}})
    for name in ("shop", "leftover"):
        (tmp_path / f"{name}.template.json").write_text(large)
    stack = {"type": "aws:cloudformation:stack", "properties": {"stackName": "sedano-dev-core", "templateFile": "shop.template.json"}}
    plain = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "shop.template.json"}}
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"shop": stack, "plain": plain, "tree": {"type": "cdk:tree"}}}))
    assert [problem.split(":")[0] for problem in limits.problems(tmp_path)] == ["sedano-dev-core", "plain"]
