"""The webhook's function and its URL: there only where an application declares webhooks, open in one way and for one thing alone."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.config import ConfigError, StageConfig
from infra.constructs.alarms import REFUSED, UNSIGNED
from sedano.aws.webhook_secrets import parameter
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from sedano.model.sources.signature_schemes import ABSENT
from tests.infra.invariants import broken
from tests.infra.template import Templates, read, target
from tests.infra.test_invariants import EVERYWHERE, IN_PRODUCTION

CODE = Path(__file__).parent / "hooked"


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production of an application with webhooks; `test_accepted` has cdk-nag judge it."""
    context = {**stage_context("hooked:app", CODE), "local": "false", "stage": "prod", "webhook_concurrency": "7"}
    return read(synthesise(context, tmp_path_factory.mktemp("hooked") / "cdk.out"))


def version_of(templates: Templates, reference: Any) -> str | None:
    """The alias that a reference to a function names, if any: a permission holds for what it names alone."""
    named = templates.resources[target(reference)]
    return named["Properties"]["Name"] if named["Type"] == "AWS::Lambda::Alias" else None


def opened(templates: Templates) -> Iterator[str]:
    """What is wrong with how a stage is open to the world: through one URL, to one function, with a ceiling, and by no other way."""
    urls = templates.of_type("Lambda::Url")
    functions = [templates.function_named(url["TargetFunctionArn"]) for url in urls.values()]
    if functions != ["webhook"]:
        yield f"URLs lead to {functions}"
    if not templates.functions()["webhook"].get("ReservedConcurrentExecutions"):
        yield "the webhook has no ceiling"
    permissions, ways = templates.of_type("Lambda::Permission"), set()
    for name, permission in permissions.items():
        by_url = permission.get("FunctionUrlAuthType") == "NONE" and permission["Action"] == "lambda:InvokeFunctionUrl"
        through = permission.get("InvokedViaFunctionUrl") is True and permission["Action"] == "lambda:InvokeFunction"
        if templates.function_named(permission["FunctionName"]) != "webhook" or not (by_url or through):
            yield f"{name} lets {permission['Principal']} call more than the URL"
        if version_of(templates, permission["FunctionName"]) in [url.get("Qualifier") for url in urls.values()]:
            ways.add(permission["Action"])
    for missing in sorted({"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"} - ways):
        yield f"nobody may {missing} what the URL leads to, and AWS asks for both since October 2025"


def test_an_app_without_webhooks_is_open_to_nobody(templates: Templates) -> None:
    assert "webhook" not in templates.functions()
    assert (templates.of_type("Lambda::Url"), templates.of_type("Lambda::Permission")) == ({}, {})
    assert "SedanoWebhookUrl" not in templates.outputs


def test_it_is_open_in_one_way_with_a_ceiling_and_its_address_is_told(hooked: Templates) -> None:
    assert list(opened(hooked)) == []
    assert hooked.functions()["webhook"]["ReservedConcurrentExecutions"] == 7
    assert {url["AuthType"] for url in hooked.of_type("Lambda::Url").values()} == {"NONE"}
    assert "FunctionUrl" in json.dumps(hooked.outputs["SedanoWebhookUrl"])


def test_the_address_that_senders_were_given_is_never_replaced(hooked: Templates) -> None:
    """Another logical id is another resource with another address, and every sender would have to be told."""
    kinds = ("AWS::Lambda::Url", "AWS::Lambda::Alias", "AWS::Lambda::Function")
    webhook = {name for name, one in hooked.resources.items() if one["Type"] in kinds and name.startswith("Webhook")}
    assert webhook == {"WebhookFunction6FF7199F", "WebhookReleaseLive76B2A89C", "WebhookReleaseLiveFunctionUrl453E6EDE"}


def _another_address(resources: dict[str, Any]) -> None:
    (url,) = [one for one in resources.values() if one["Type"] == "AWS::Lambda::Url"]
    (worker,) = [n for n, one in resources.items() if one["Type"] == "AWS::Lambda::Function" and n.startswith("Worker")]
    resources["Another"] = {"Type": "AWS::Lambda::Url", "Properties": {**url["Properties"], "TargetFunctionArn": {"Ref": worker}}}


def _anyone_directly(resources: dict[str, Any]) -> None:
    for one in resources.values():
        if one["Type"] == "AWS::Lambda::Permission":
            one["Properties"].pop("InvokedViaFunctionUrl", None)


def _one_way_alone(resources: dict[str, Any]) -> None:
    (name,) = [
        n for n, one in resources.items() if one["Type"] == "AWS::Lambda::Permission" and "InvokedViaFunctionUrl" in one["Properties"]
    ]
    del resources[name]


def _another_version(resources: dict[str, Any]) -> None:
    (url,) = [
        one for one in resources.values() if one["Type"] == "AWS::Lambda::Permission" and "InvokedViaFunctionUrl" in one["Properties"]
    ]
    (name,) = [n for n, one in resources.items() if one["Type"] == "AWS::Lambda::Function" and n.startswith("Webhook")]
    url["Properties"]["FunctionName"] = {"Ref": name}


def _no_ceiling(resources: dict[str, Any]) -> None:
    (name,) = [n for n, one in resources.items() if one["Type"] == "AWS::Lambda::Function" and n.startswith("Webhook")]
    del resources[name]["Properties"]["ReservedConcurrentExecutions"]


@pytest.mark.parametrize("plant", [_another_address, _anyone_directly, _no_ceiling, _one_way_alone, _another_version])
def test_another_opening_is_seen(hooked: Templates, plant: Callable[[dict[str, Any]], None]) -> None:
    resources = copy.deepcopy(dict(hooked.resources))
    plant(resources)
    assert len(list(opened(Templates(hooked.directory, resources, hooked.outputs)))) == 1


def test_it_may_publish_events_park_keep_large_content_and_read_its_own_secrets(hooked: Templates) -> None:
    actions = {action for statement in hooked.allowed("webhook") for action in statement.actions if not action.startswith("logs:")}
    assert actions == {"sqs:SendMessage", "s3:PutObject", "ssm:GetParameter", "ssm:PutParameter"}
    assert {name.split("Queue")[0] for name in hooked.may("webhook", "sqs:SendMessage")} == {"Events", "Parked"}
    assert hooked.may("webhook", "s3:PutObject") == {"SedanoBlobsBucket/*"}


def test_the_one_secret_that_it_reads_is_where_the_library_looks(hooked: Templates) -> None:
    (secret,) = hooked.may("webhook", "ssm:GetParameter") - hooked.may("webhook", "ssm:PutParameter")
    assert secret.endswith(f"parameter{parameter('prod', 'shop')}")
    assert "inside" not in secret, "what is not signed has no secret"


def test_every_rule_that_holds_for_other_stages_holds_for_this_one(hooked: Templates) -> None:
    rules = EVERYWHERE | IN_PRODUCTION
    assert [complaint for rule, kinds in rules.items() for complaint in broken(hooked, rule, kinds)] == []


def test_without_its_url_it_would_have_nothing_that_feeds_it(hooked: Templates) -> None:
    (loses,) = (rule for rule in EVERYWHERE if rule.__name__ == "loses_no_failure")
    without = {name: one for name, one in hooked.resources.items() if one["Type"] != "AWS::Lambda::Url"}
    (complaint,) = broken(Templates(hooked.directory, without, hooked.outputs), loses, EVERYWHERE[loses])
    assert complaint.startswith("WebhookFunction")


def test_somebody_is_told_when_senders_are_refused_or_not_answered(hooked: Templates) -> None:
    asked = {
        part["Expression"]: alarm["Threshold"]
        for alarm in hooked.of_type("CloudWatch::Alarm").values()
        for part in alarm.get("Metrics", [])
        if "Expression" in part
    }
    assert asked['SELECT SUM(WebhooksUnanswered) FROM "sedano/prod"'] == 1
    assert asked['SELECT SUM(WebhooksRefused) FROM "sedano/prod"'] == REFUSED, "anybody may knock"
    assert asked["SELECT SUM(WebhooksRefused) FROM \"sedano/prod\" WHERE reason != 'no-signature'"] == 1, "a sender that posts once a day"
    assert UNSIGNED == ABSENT


def test_one_request_that_found_no_room_is_told_for_it_waits_nowhere(hooked: Templates) -> None:
    alarms = hooked.of_type("CloudWatch::Alarm").items()
    periods = {name: alarm["EvaluationPeriods"] for name, alarm in alarms if alarm.get("MetricName") == "Throttles"}
    assert {name for name, number in periods.items() if number == 1} == {
        name for name in periods if name.startswith("AlarmsThrottledwebhook")
    }


def test_the_dashboard_and_the_page_of_costs_show_it(hooked: Templates) -> None:
    (page,) = hooked.of_type("CloudWatch::Dashboard").values()
    assert set(re.findall(r'MetricName=\\+"(Webhooks\w+)', json.dumps(page))) == {"WebhooksRefused", "WebhooksUnanswered"}
    assert "## A million requests to webhooks, beside the tasks that they cause: 0.88" in (hooked.directory / "cost.md").read_text()


@pytest.mark.parametrize("number", [-1, 1001, 1.5, True])
def test_a_ceiling_that_there_is_not_is_refused(number: Any) -> None:
    with pytest.raises(ConfigError, match="webhook_concurrency"):
        StageConfig(webhook_concurrency=number)
