"""Polls in a stage: a scheduler starts them, the worker may read their parameters and no others, and an alarm fires when one fails."""

import json
from pathlib import Path

import pytest

from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.invariants import broken
from tests.infra.template import Templates, read
from tests.infra.test_invariants import EVERYWHERE, IN_PRODUCTION

CODE = Path(__file__).parent / "polled"


@pytest.fixture(scope="module")
def polled(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production of an application with polls."""
    context = {**stage_context("polled:app", CODE), "local": "false", "stage": "prod"}
    return read(synthesise(context, tmp_path_factory.mktemp("polled") / "cdk.out"))


def test_a_stage_with_polls_has_a_scheduler_and_an_alarm_that_one_without_lacks(polled: Templates, templates: Templates) -> None:
    assert "scheduler" in polled.functions()
    alarms = [name for name in polled.of_type("CloudWatch::Alarm") if "PollsFailed" in name]
    assert len(alarms) == 1
    assert "SUM(PollsFailed)" in json.dumps(polled.of_type("CloudWatch::Alarm")[alarms[0]])
    assert [name for name in templates.of_type("CloudWatch::Alarm") if "PollsFailed" in name] == []


def test_the_worker_may_read_the_parameter_of_a_poll_and_no_other_function_may(polled: Templates) -> None:
    found = {function: {name.split(":")[-1] for name in polled.may(function, "ssm:GetParameter")} for function in polled.functions()}
    mine = "parameter/shop/orders/authorization"
    assert found["worker"] == {mine, "parameter/sedano/prod/keys"}
    assert [function for function, names in found.items() if mine in names] == ["worker"]


def test_every_rule_that_holds_for_other_stages_holds_for_this_one(polled: Templates) -> None:
    rules = EVERYWHERE | IN_PRODUCTION
    assert [complaint for rule, kinds in rules.items() for complaint in broken(polled, rule, kinds)] == []
