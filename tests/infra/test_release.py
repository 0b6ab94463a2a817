"""New code is let in when it does no worse than the code before it: also while that fails, and also when one invocation is killed."""

import re
from typing import Any

import pytest

from infra.config import ConfigError, StageConfig
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates, read, target
from tests.plugins.resources import APP, CODE


class Figure:
    """A number of CloudWatch's metric math, which may be missing: what is worked out from nothing, or divided by zero, is missing too."""

    def __init__(self, number: float | None) -> None:
        self.number = number

    def _with(self, other: Any, work: Any) -> "Figure":
        right = other.number if isinstance(other, Figure) else other
        return Figure(None if self.number is None or right is None else work(self.number, right))

    def __sub__(self, other: Any) -> "Figure":
        return self._with(other, lambda one, two: one - two)

    def __rmul__(self, factor: float) -> "Figure":
        return self._with(factor, lambda one, two: one * two)

    def __truediv__(self, other: Any) -> "Figure":
        return self._with(other, lambda one, two: one / two if two else None)

    def __gt__(self, other: float) -> bool:
        return self.number is not None and self.number > other


def _fill(figure: Figure, instead: float) -> Figure:
    return Figure(instead) if figure.number is None else figure


def _rings(templates: Templates, **counted: float | None) -> bool:
    """Whether the worker's release goes back at these counts of one minute."""
    alarm = _alarm(templates)
    (expression,) = [one["Expression"] for one in alarm["Metrics"] if "Expression" in one]
    assert set(re.findall(r"\b[a-z]\w+", expression)) == {one["Id"] for one in alarm["Metrics"] if "MetricStat" in one}
    figures = {name: Figure(counted.get(name)) for name in ("newCalls", "newErrors", "calls", "errors")}
    found = eval(expression, {"IF": lambda which, one, two: one if which else two, "FILL": _fill, **figures})  # noqa: S307 - our own text
    number = found.number if isinstance(found, Figure) else found
    return number is not None and number >= alarm["Threshold"]


def _alarm(templates: Templates) -> Any:
    (alarm,) = [one for name, one in templates.of_type("CloudWatch::Alarm").items() if name.startswith("FailuresWorker")]
    return alarm


@pytest.mark.parametrize(
    ("what", "counted", "back"),
    [
        ("nothing runs", {}, False),
        ("nothing reached the new version yet", {"calls": 90, "errors": 90}, False),
        ("the new version is a fix, and the old one fails", {"newCalls": 10, "newErrors": 0, "calls": 100, "errors": 90}, False),
        ("both fail at the same messages", {"newCalls": 10, "newErrors": 10, "calls": 100, "errors": 100}, False),
        ("one invocation of many ran out of memory", {"newCalls": 60, "newErrors": 1, "calls": 600, "errors": 1}, False),
        ("the new version does not import", {"newCalls": 10, "newErrors": 10, "calls": 100, "errors": 10}, True),
        ("the new version does not import, and nothing else runs", {"newCalls": 1, "newErrors": 1, "calls": 1, "errors": 1}, True),
        ("one in ten fails that did not before", {"newCalls": 10, "newErrors": 1, "calls": 100, "errors": 1}, True),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_a_release_goes_back_when_the_new_version_does_worse(production: Templates, what: str, counted: Any, back: bool) -> None:
    assert _rings(production, **counted) is back, what


def test_the_alarm_tells_the_new_version_from_the_old_one(production: Templates) -> None:
    versions = {one["Id"]: _executed(one) for one in _alarm(production)["Metrics"] if "MetricStat" in one}
    assert {name: production.resources[version]["Type"] for name, version in versions.items() if version} == {
        "newCalls": "AWS::Lambda::Version",
        "newErrors": "AWS::Lambda::Version",
    }
    assert [name for name, version in versions.items() if version is None] == ["calls", "errors"]


def _executed(metric: Any) -> str | None:
    dimensions = {one["Name"]: one["Value"] for one in metric["MetricStat"]["Metric"]["Dimensions"]}
    assert {"FunctionName", "Resource"} <= set(dimensions)
    return target(dimensions["ExecutedVersion"]) if "ExecutedVersion" in dimensions else None


def test_each_version_has_an_alarm_that_never_rang(production: Templates) -> None:
    """CodeDeploy begins no release while an alarm of its group rings: the alarm of the last version must not be that of the next."""
    versions = [name for name in production.of_type("Lambda::Version") if name.startswith("Worker")]
    assert [name for name in production.of_type("CloudWatch::Alarm") if name.startswith("FailuresWorker")] == [f"Failures{versions[0]}"]


def test_the_version_before_is_there_to_go_back_to(production: Templates) -> None:
    versions = [one for one in production.resources.values() if one["Type"] == "AWS::Lambda::Version"]
    assert {(one["DeletionPolicy"], one["UpdateReplacePolicy"]) for one in versions} == {("Retain", "Retain")}


def test_a_fix_that_must_not_wait_is_let_in_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", "release": "all-at-once"}
    templates = read(synthesise(context, tmp_path_factory.mktemp("at-once") / "cdk.out"))
    groups = templates.of_type("CodeDeploy::DeploymentGroup").values()
    assert {group["DeploymentConfigName"] for group in groups} == {"CodeDeployDefault.LambdaAllAtOnce"}
    assert not [group for group in groups if group["AlarmConfiguration"]["Enabled"]]
    assert not [name for name in templates.of_type("CloudWatch::Alarm") if name.startswith("Failures")]


def test_a_way_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^release: 'fast' cannot be used; expected one of canary, all-at-once"):
        StageConfig(release="fast")
