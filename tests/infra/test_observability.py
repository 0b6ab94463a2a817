"""Whoever is on call is told: every alarm and every line of the dashboard counts something that AWS or the library emits."""

import ast
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.places import library
from sedano.engine.history.run_events import ENDS, UNRUN
from sedano.model.queues import OLD_MESSAGE_S
from tests.infra.template import Templates, read

#: What AWS emits, by namespace: the metrics used here and the dimensions that each stands under, from the services' own pages
#: ("Available CloudWatch metrics for Amazon SQS", "Types of metrics for Lambda functions", "DynamoDB metrics and dimensions",
#: "Monitoring Amazon EventBridge Scheduler with CloudWatch", "CloudWatch Logs usage metrics", "Job monitoring" of Glue).
BY_AWS: dict[str, tuple[set[frozenset[str]], set[str]]] = {
    "AWS/SQS": (
        {frozenset({"QueueName"})},
        {"ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible", "NumberOfEmptyReceives", "NumberOfMessagesDeleted"}
        | {"NumberOfMessagesReceived", "NumberOfMessagesSent"},
    ),
    "AWS/Lambda": (
        {frozenset({"FunctionName"}), frozenset({"FunctionName", "Resource"}), frozenset({"FunctionName", "Resource", "ExecutedVersion"})},
        {"Duration", "Errors", "Invocations", "Throttles"},
    ),
    "AWS/DynamoDB": (
        {frozenset({"TableName"})},
        {"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ReadThrottleEvents", "WriteThrottleEvents"},
    ),
    "AWS/Scheduler": (
        {frozenset({"ScheduleGroup"})},
        {"InvocationAttemptCount", "InvocationDroppedCount", "InvocationThrottleCount", "TargetErrorCount"},
    ),
    "AWS/Logs": ({frozenset({"LogGroupName"})}, {"IncomingBytes"}),
    "AWS/Events": ({frozenset({"RuleName"})}, {"TriggeredRules"}),
}
OWN = re.compile(r'FROM "sedano/prod"|Namespace="sedano/prod"')
NAMED = re.compile(r'SUM\((\w+)\)|MetricName="(\w+)"')


@functools.cache
def _counted() -> set[str]:
    """Every word by which the library may count: what stands in a function that counts, and the tables of how tasks end."""
    words = {metric for _, metric in ENDS.values()} | set(UNRUN.values())
    for path in sorted(library().rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and any(map(_counts, ast.walk(function))):
                words.update(str(node.value) for node in ast.walk(function) if isinstance(node, ast.Constant))
    return words


def _counts(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    return name in ("count", "count_at_once")


def _own(expression: str) -> set[str]:
    """The library's metrics that an expression names, which must ask for this stage's."""
    names = {first or second for first, second in NAMED.findall(expression)}
    assert not names or OWN.search(expression), f"{expression} looks at no stage, or at another one"
    return names


def _of_alarms(templates: Templates) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, alarm in templates.of_type("CloudWatch::Alarm").items():
        for metric in (alarm, *(part["MetricStat"]["Metric"] for part in alarm.get("Metrics", []) if "MetricStat" in part)):
            if "MetricName" in metric:
                yield name, dict(metric)


def test_every_alarm_counts_what_aws_or_the_library_emits(production: Templates) -> None:
    for name, metric in _of_alarms(production):
        dimensions, names = BY_AWS[metric["Namespace"]]
        assert metric["MetricName"] in names, name
        assert frozenset(dimension["Name"] for dimension in metric["Dimensions"]) in dimensions, name
    counted = _counted()
    for name, alarm in production.of_type("CloudWatch::Alarm").items():
        own = {metric for part in alarm.get("Metrics", []) for metric in _own(part.get("Expression", ""))}
        assert own <= counted, f"{name}: nothing counts {own - counted}"


WITH_ALARM = [
    "TasksFailed", "TasksPoisoned", "WritesFencedOff", "ClaimsStolen", "RecordsLost", "FollowUpsDelayed", "UnexpectedErrors",
    "LimitsRefused", "ClocksWrong",
]  # fmt: skip


@pytest.mark.parametrize("metric", WITH_ALARM)
def test_what_the_library_counts_has_an_alarm(metric: str, production: Templates) -> None:
    alarms = [json.dumps(alarm.get("Metrics", [])) for alarm in production.of_type("CloudWatch::Alarm").values()]
    assert sum(f"SUM({metric})" in alarm for alarm in alarms) == 1


def test_every_function_table_and_consumed_queue_has_its_alarms(production: Templates) -> None:
    watched: dict[str, set[str]] = {}
    for _, metric in _of_alarms(production):
        for dimension in metric["Dimensions"]:
            if dimension["Name"] in ("Resource", "ExecutedVersion") or metric["Namespace"] == "AWS/Events":
                continue
            if isinstance(dimension["Value"], dict):
                watched.setdefault(production.exported(dimension["Value"]), set()).add(metric["MetricName"])
    for function in production.of_type("Lambda::Function"):
        assert {"Errors", "Throttles"} <= watched[function], function
    for queue, _ in production.sources():
        assert "ApproximateAgeOfOldestMessage" in watched[queue], queue
    for table in production.of_type("DynamoDB::Table"):
        assert {"ReadThrottleEvents", "WriteThrottleEvents"} <= watched[table], table
    assert {"InvocationDroppedCount", "TargetErrorCount"} <= watched["TimersGroup"]


def test_the_age_that_raises_the_alarm_is_the_age_at_which_the_pages_report_a_queue(production: Templates) -> None:
    ages = {one["Threshold"] for name, one in _of_alarms(production) if "AlarmsOld" in name}
    assert ages == {OLD_MESSAGE_S}


def missed(templates: Templates) -> Iterator[str]:
    """Functions that a schedule invokes, and that nobody is told of when it does not."""
    for schedule in templates.of_type("Scheduler::Schedule").values():
        function = templates.function_id(schedule["Target"]["Arn"])
        alarms = [alarm for name, alarm in templates.of_type("CloudWatch::Alarm").items() if alarm.get("MetricName") == "Invocations"]
        mine = [alarm for alarm in alarms if [templates.exported(one["Value"]) for one in alarm["Dimensions"]] == [function]]
        rings = [(one["ComparisonOperator"], one["Threshold"], one["TreatMissingData"], one["Statistic"]) for one in mine]
        if rings != [("LessThanThreshold", 1, "breaching", "Sum")]:
            yield function


def test_a_round_that_does_not_come_is_missed(production: Templates) -> None:
    assert production.of_type("Scheduler::Schedule")
    assert list(missed(production)) == []


@pytest.mark.parametrize(
    "changed", [{"TreatMissingData": "notBreaching"}, {"ComparisonOperator": "GreaterThanThreshold"}, {"Threshold": 0}]
)
def test_an_alarm_that_would_not_ring_when_a_round_does_not_come_is_seen(changed: dict[str, object], production: Templates) -> None:
    name = next(name for name in production.of_type("CloudWatch::Alarm") if name.startswith("AlarmsMissedscheduler"))
    alarm = production.resources[name]
    resources = {**production.resources, name: {**alarm, "Properties": {**alarm["Properties"], **changed}}}
    assert [one[:9] for one in missed(Templates(production.directory, resources, production.outputs))] == ["Scheduler"]


def _page(templates: Templates) -> list[dict[str, Any]]:
    (page,) = templates.of_type("CloudWatch::Dashboard").values()
    parts = page["DashboardBody"]["Fn::Join"][1]
    widgets: list[dict[str, Any]] = json.loads("".join(part if isinstance(part, str) else "-" for part in parts))["widgets"]
    return widgets


def test_every_line_of_the_dashboard_is_drawn_by_what_is_emitted(production: Templates) -> None:
    counted, drawn = _counted(), set()
    for widget in _page(production):
        for line in widget["properties"].get("metrics", []):
            drawn |= _own(line[0].get("expression", "")) if isinstance(line[0], dict) else _aws_line(line)
    assert drawn - counted <= set().union(*(names for _, names in BY_AWS.values()))
    assert {"TasksPoisoned", "WritesFencedOff", "ClaimsStolen", "MessagesParked", "ApproximateAgeOfOldestMessage", "Throttles"} <= drawn


def _aws_line(line: list[Any]) -> set[str]:
    dimensions, names = BY_AWS[line[0]]
    assert line[1] in names, line
    assert frozenset(part for part in line[2::2] if isinstance(part, str)) in dimensions, line
    return {line[1]}


def test_the_dashboard_says_why_the_age_of_the_oldest_message_lies(production: Templates) -> None:
    texts = [widget["properties"].get("markdown", "") for widget in _page(production)]
    assert any("received three times" in text and "dead letters" in text for text in texts)


def test_the_cost_of_a_day_adds_up_every_function_queue_and_table(production: Templates) -> None:
    (cost,) = (widget for widget in _page(production) if widget["properties"].get("title") == "Cost a day, USD")
    total, *parts = cost["properties"]["metrics"]
    weighed = dict(re.findall(r"FILL\((m\d+), 0\) \* ([\d.]+)", total[0]["expression"]))
    assert set(weighed) == {part[-1]["id"] for part in parts}
    assert cost["properties"]["period"] == 86_400
    prices = {(part[0], part[1]): float(weighed[part[-1]["id"]]) for part in parts}
    assert prices["AWS/Lambda", "Invocations"] == pytest.approx(0.20 / 1e6)
    assert prices["AWS/Lambda", "Duration"] == pytest.approx(13.3334 / 1e6 * 512 / 1024 / 1000, rel=1e-4)
    assert prices["AWS/SQS", "NumberOfMessagesSent"] == pytest.approx(0.40 / 1e6)
    assert prices["AWS/DynamoDB", "ConsumedWriteCapacityUnits"] == pytest.approx(0.625 / 1e6)


def test_this_machine_has_nobody_on_call(assembly: Path) -> None:
    assert read(assembly).of_type("CloudWatch::Dashboard") == read(assembly).of_type("CloudWatch::Alarm") == {}
