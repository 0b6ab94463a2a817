"""What cdk-nag, cfn-lint and our own rules say of production with everything that an application can declare and a stage can be told:
nothing that has no reason, no reason that nothing needs any more, and one reason for one finding.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sedano.local import LocalStageError
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.invariants import broken
from tests.infra.template import Templates, read
from tests.infra.test_config import CLICKS, KEY
from tests.infra.test_invariants import EVERYWHERE, IN_PRODUCTION, JUDGED_ELSEWHERE
from tests.infra.test_stream_settings import ORDERS

Finding = tuple[str, str]
CODE = Path(__file__).parent / "whole"
PLACE = "eu-central-1:123456789012"
EVERYTHING = {
    **stage_context("whole:app", CODE), "local": "false", "stage": "prod", "account": "123456789012", "region": "eu-central-1",
    "streams": f"orders={ORDERS},clicks={CLICKS}", "stream_keys": f"clicks={KEY}", "tags": "team=shop",
    "permissions_boundary": "arn:aws:iam::123456789012:policy/developers",
    "code_signing": f"arn:aws:lambda:{PLACE}:code-signing-config:csc-0123456789abcdefg",
    "alarm_topic": f"arn:aws:sns:{PLACE}:on-call", "budget": "25", "pipeline_schedule": "cron(15 * * * ? *)", "own_key": "true",
    "served_by": "bulk=fargate,orders.fifo=process", "fleet": "image=123456789012.dkr.ecr.eu-central-1.amazonaws.com/shop:7",
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production of an application that declares one of everything, with every option. Judged."""
    return read(synthesise(EVERYTHING, tmp_path_factory.mktemp("whole") / "cdk.out", judged=True))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> set[Finding]:
    """Every finding about production, those with a reason as well: the construct's path and the finding's id."""
    directory = tmp_path_factory.mktemp("accepted") / "cdk.out"
    with pytest.raises(LocalStageError, match="ValidationFailed"):
        synthesise({**EVERYTHING, "accepted": "false"}, directory, judged=True)
    reports = json.loads((directory / "validation-report.json").read_text())["pluginReports"]
    violations = [violation for report in reports for violation in report["violations"]]
    return {
        (_holder(construct["constructPath"]), violation["ruleName"])
        for violation in violations
        for construct in violation["violatingConstructs"]
    }


def _holder(path: str) -> str:
    """Where the reason for a finding is given: at the construct, and for a policy of a function's role at the role."""
    return re.sub("(Role)/(DefaultPolicy|OverflowPolicy[0-9]+)$", r"\1", path.removesuffix("/Resource"))


def _reasons(templates: Templates) -> dict[Finding, list[str]]:
    """The reasons of each finding that production accepts."""
    found: dict[Finding, list[str]] = {}
    for metadata in templates.directory.glob("*.metadata.json"):
        for path, entries in json.loads(metadata.read_text()).items():
            for entry in entries:
                for finding, reason in entry["data"].items() if entry["type"] == "aws:cdk:acknowledged-rules" else ():
                    found.setdefault((_holder(path.removeprefix("/")), finding), []).append(reason)
    return found


def test_each_reason_is_still_needed(found: set[Finding], whole: Templates) -> None:
    assert set(_reasons(whole)) - found == set(), "nothing is found there any more: take the reason away"


def test_each_finding_has_one_reason_in_words(found: set[Finding], whole: Templates) -> None:
    reasons = _reasons(whole)
    assert found - set(reasons) == set()
    assert {finding: words for finding, words in reasons.items() if len(words) != 1 or len(words[0].split()) < 6} == {}


def test_what_a_key_of_its_own_mends_has_a_reason_without_one(tmp_path: Path) -> None:
    assert synthesise({**EVERYTHING, "own_key": "false"}, tmp_path / "cdk.out", judged=True).is_dir()


def test_every_function_that_there_can_be_is_here(whole: Templates) -> None:
    folders = Path(__file__).resolve().parents[2] / "functions"
    assert set(whole.functions()) == {handler.parent.name for handler in folders.glob("*/handler.py")}


def test_every_rule_holds_for_every_resource_that_there_can_be(whole: Templates) -> None:
    rules = EVERYWHERE | IN_PRODUCTION
    assert [complaint for rule, kinds in rules.items() for complaint in broken(whole, rule, kinds)] == []
    judged = {*JUDGED_ELSEWHERE, *(kind for kinds in rules.values() for kind in kinds)}
    assert {one["Type"].removeprefix("AWS::") for one in whole.resources.values()} <= judged, "a new kind of resource: say what must hold"


#: W3005: the CDK lets a function wait for its role in so many words, beside the reference that already makes it wait.
IGNORED = ["W3005"]


def linted(templates: list[Path]) -> str:
    program = str(Path(sys.executable).with_name("cfn-lint"))
    command = [program, "--regions", "us-east-1", "--ignore-checks", *IGNORED, "--", *map(str, templates)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def test_the_templates_are_what_cloudformation_takes(whole: Templates) -> None:
    templates = list(whole.directory.glob("*.template.json"))
    assert len(templates) >= 4
    assert linted(templates) == ""


def test_a_property_that_cloudformation_does_not_take_is_found(tmp_path: Path) -> None:
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"Visibility": 1}}
    (tmp_path / "planted.template.json").write_text(json.dumps({"Resources": {"Planted": queue}}))
    assert "'Visibility' was unexpected" in linted([tmp_path / "planted.template.json"])
