"""The strict AWS looks at log lines and templates too: each limit passes at n and trips at n + 1."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sedano.testing.strict_aws.limits import LIMITS
from tests.strict_aws import emf, templates


def embedded(count: int = 1, dimensions: Mapping[str, str] | None = None, values: int = 1) -> str:
    """A line with so many metrics of so many values."""
    named = dict(dimensions or {"service": "shop"})
    metrics = [f"m{number}" for number in range(count)]
    directive = {"Namespace": "Sedano", "Dimensions": [list(named)], "Metrics": [{"Name": name} for name in metrics]}
    return json.dumps({"_aws": {"CloudWatchMetrics": [directive]}, **{name: [1] * values for name in metrics}, **named})


@pytest.mark.parametrize(
    ("limit", "make"),
    [
        ("emf.metrics", lambda n: embedded(count=n)),
        ("emf.values", lambda n: embedded(values=n)),
        ("emf.dimensions", lambda n: embedded(dimensions={f"d{number}": "x" for number in range(n)})),
        ("emf.value", lambda n: embedded(dimensions={"d": "x" * n})),
        ("logs.event", lambda n: "x" * n),
    ],
)
def test_a_limit_of_a_log_line_passes_at_n_and_trips_at_one_more(limit: str, make: Callable[[int], str]) -> None:
    assert not list(emf.problems(make(LIMITS[limit])))
    assert {trip.limit for trip in emf.problems(make(LIMITS[limit] + 1))} == {limit}


@pytest.mark.parametrize(
    ("value", "limit"), [("", "emf.dimension"), (" ", "emf.dimension"), ("задача", "emf.ascii"), ("a\u2028", "emf.ascii")]
)
def test_a_dimension_that_cloudwatch_drops_trips(value: str, limit: str) -> None:
    assert {trip.limit for trip in emf.problems(embedded(dimensions={"task": value}))} == {limit}


def policy(size: int) -> dict[str, Any]:
    """A policy of so many characters."""
    return {"Version": "x" * (size - templates.length({"Version": ""}))}


def template(kind: str, **properties: Any) -> str:
    return json.dumps({"Resources": {"Thing": {"Type": kind, "Properties": properties}}})


@pytest.mark.parametrize(
    ("limit", "make"),
    [
        ("iam.trust", lambda n: template("AWS::IAM::Role", AssumeRolePolicyDocument=policy(n))),
        ("iam.inline", lambda n: template("AWS::IAM::Policy", Roles=[{"Ref": "Role"}], PolicyDocument=policy(n))),
        ("iam.managed", lambda n: template("AWS::IAM::ManagedPolicy", PolicyDocument=policy(n))),
        ("s3.policy", lambda n: template("AWS::S3::BucketPolicy", PolicyDocument=policy(n))),
        ("kms.policy", lambda n: template("AWS::KMS::Key", KeyPolicy=policy(n))),
        ("lambda.environment", lambda n: template("AWS::Lambda::Function", Environment={"Variables": {"AA": "x" * (n - 2)}})),
        ("lambda.layers", lambda n: template("AWS::Lambda::Function", Layers=[{"Ref": "Layer"}] * n)),
        ("cloudformation.resources", lambda n: json.dumps({"Resources": {f"R{number}": {"Type": "T"} for number in range(n)}})),
        ("cloudformation.outputs", lambda n: json.dumps({"Outputs": dict.fromkeys(map(str, range(n)), 1)})),
        ("cloudformation.parameters", lambda n: json.dumps({"Parameters": dict.fromkeys(map(str, range(n)), 1)})),
        ("cloudformation.mappings", lambda n: json.dumps({"Mappings": dict.fromkeys(map(str, range(n)), 1)})),
        ("cloudformation.template", lambda n: json.dumps({"Description": "x" * (n - 19)})),
    ],
)
def test_a_limit_of_a_template_passes_at_n_and_trips_at_one_more(limit: str, make: Callable[[int], str]) -> None:
    assert not list(templates.problems(make(LIMITS[limit])))
    assert {trip.limit for trip in templates.problems(make(LIMITS[limit] + 1))} == {limit}
