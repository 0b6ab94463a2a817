"""What cdk-nag and cfn-lint say of production: nothing that has no reason, and no reason that nothing needs any more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sedano.local import LocalStageError
from sedano.local.stage import stage_context
from sedano.local.synth import synthesise
from tests.infra.template import Templates
from tests.plugins.resources import APP, CODE

Finding = tuple[str, str]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> set[Finding]:
    """Every finding about production, those with a reason as well: the construct's path and the finding's id."""
    directory = tmp_path_factory.mktemp("accepted") / "cdk.out"
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", "accepted": "false"}
    with pytest.raises(LocalStageError, match="ValidationFailed"):
        synthesise(context, directory, judged=True)
    reports = json.loads((directory / "validation-report.json").read_text())["pluginReports"]
    violations = [violation for report in reports for violation in report["violations"]]
    return {
        (construct["constructPath"].removesuffix("/Resource"), violation["ruleName"])
        for violation in violations
        for construct in violation["violatingConstructs"]
    }


def _reasons(templates: Templates) -> dict[Finding, str]:
    """The reason of each finding that production accepts."""
    return {
        (path.removeprefix("/"), finding): reason
        for metadata in templates.directory.glob("*.metadata.json")
        for path, entries in json.loads(metadata.read_text()).items()
        for entry in entries
        if entry["type"] == "aws:cdk:acknowledged-rules"
        for finding, reason in entry["data"].items()
    }


def test_each_reason_is_still_needed(found: set[Finding], production: Templates) -> None:
    assert set(_reasons(production)) - found == set(), "nothing is found there any more: take the reason away"


def test_each_finding_has_one_reason_in_words(found: set[Finding], production: Templates) -> None:
    reasons = _reasons(production)
    assert found - set(reasons) == set()
    assert all(len(reason.split()) >= 6 for reason in reasons.values())


#: W3005: the CDK lets a function wait for its role in so many words, beside the reference that already makes it wait.
IGNORED = ["W3005"]


def linted(templates: list[Path]) -> str:
    program = str(Path(sys.executable).with_name("cfn-lint"))
    command = [program, "--regions", "us-east-1", "--ignore-checks", *IGNORED, "--", *map(str, templates)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def test_the_templates_are_what_cloudformation_takes(production: Templates) -> None:
    templates = list(production.directory.glob("*.template.json"))
    assert len(templates) >= 4
    assert linted(templates) == ""


def test_a_property_that_cloudformation_does_not_take_is_found(tmp_path: Path) -> None:
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"Visibility": 1}}
    (tmp_path / "planted.template.json").write_text(json.dumps({"Resources": {"Planted": queue}}))
    assert "'Visibility' was unexpected" in linted([tmp_path / "planted.template.json"])
