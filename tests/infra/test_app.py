"""The app as it is run: what it refuses in words, and what the AWS Solutions rules refuse for it."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sqs as sqs

from infra import nag
from infra.config import LOG_RETENTIONS
from infra.constructs import function
from sedano.local import LocalStageError
from sedano.local.stage import stage_context
from sedano.local.synthesis import ROOT, synthesise
from tests.infra.template import Templates
from tests.plugins.resources import APP, CODE


def test_a_setting_that_cannot_be_used_ends_the_synthesis_with_one_sentence(tmp_path: Path) -> None:
    context = {**stage_context(APP, CODE), "concurrency": "1"}
    with pytest.raises(LocalStageError) as refused:
        synthesise(context, tmp_path / "cdk.out")
    assert "sedano: concurrency: 1 cannot be used; expected a whole number from 2 to 1000" in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_production_passes_every_rule_of_aws_solutions_and_serverless(production: Templates) -> None:
    assert production.functions(), "the synthesis was judged, and it is here"


def test_a_queue_that_anyone_may_read_on_its_way_does_not_pass(tmp_path: Path) -> None:
    assert _findings(tmp_path, acknowledged=None) == {"AwsSolutions-SQS3", "AwsSolutions-SQS4", "Serverless-SQSRedrivePolicy"}


def test_a_reason_accepts_the_one_finding_that_it_names(tmp_path: Path) -> None:
    assert _findings(tmp_path, acknowledged="AwsSolutions-SQS3") == {"AwsSolutions-SQS4", "Serverless-SQSRedrivePolicy"}


def test_logs_can_be_kept_for_every_time_that_the_settings_allow() -> None:
    assert set(function.RETENTION) == set(LOG_RETENTIONS)


def test_every_flag_of_a_new_cdk_project_is_set() -> None:
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    assert flags["@aws-cdk/aws-lambda:recognizeLayerVersion"] is True
    assert flags["@aws-cdk/core:defaultCrossStackReferences"] == "weak"
    assert len(flags) >= 80


def _findings(directory: Path, acknowledged: str | None) -> set[str]:
    app = cdk.App(outdir=str(directory))
    queue = sqs.Queue(cdk.Stack(app, "planted"), "Queue")
    if acknowledged:
        nag.acknowledge(queue, acknowledged, "planted")
    nag.check(app)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    reports = json.loads((directory / "validation-report.json").read_text())["pluginReports"]
    return {violation["ruleName"] for report in reports for violation in report["violations"]}
