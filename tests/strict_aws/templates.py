"""What CloudFormation, and the services behind it, refuse of a synthesised template; values that deployment fills in count as 60."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sedano.testing.strict_aws.limits import Trip, bytes_of, over

_REFERENCE = 60
_UUID = "00000000-0000-0000-0000-000000000000"
_REFERENCES = frozenset({"Ref", "Fn::GetAtt", "Fn::Sub", "Fn::ImportValue", "Fn::GetStackOutput", "Fn::Select"})
_COUNTED = ("Resources", "Outputs", "Parameters", "Mappings")
_POLICIES = {
    "AWS::IAM::Role": ("iam.trust", "AssumeRolePolicyDocument"),
    "AWS::IAM::ManagedPolicy": ("iam.managed", "PolicyDocument"),
    "AWS::S3::BucketPolicy": ("s3.policy", "PolicyDocument"),
    "AWS::KMS::Key": ("kms.policy", "KeyPolicy"),
}


def problems(text: str) -> Iterator[Trip]:
    """Yield what a template cannot be deployed for."""
    template = json.loads(text)
    yield from over("cloudformation.template", "bytes of the template", bytes_of(text))
    for what in _COUNTED:
        yield from over(f"cloudformation.{what.lower()}", what, len(template.get(what, {})))
    mappings = [name for name, one in template.get("Resources", {}).items() if one["Type"] == "AWS::Lambda::EventSourceMapping"]
    template = _filled_in(template, dict.fromkeys(mappings, _UUID))
    resources = {name: (resource["Type"], resource.get("Properties", {})) for name, resource in template.get("Resources", {}).items()}
    for name, (kind, given) in resources.items():
        yield from _resource_problems(name, kind, given)
    for role, size in _inline(resources).items():
        yield from over("iam.inline", f"characters of all inline policies of {role}", size)


def _filled_in(value: Any, known: Mapping[str, str]) -> Any:
    """Return *value* with each reference to one of the *known* names replaced by what stands for it."""
    if isinstance(value, list):
        return [_filled_in(one, known) for one in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("Ref"), str) and value["Ref"] in known:
        return known[value["Ref"]]
    return {key: _filled_in(one, known) for key, one in value.items()}


def _resource_problems(name: str, kind: str, given: Mapping[str, Any]) -> Iterator[Trip]:
    if kind in _POLICIES:
        limit, member = _POLICIES[kind]
        yield from over(limit, f"{name}: characters of {member}", length(given[member]))
    if kind == "AWS::Lambda::Function":
        variables = given.get("Environment", {}).get("Variables", {})
        size = sum(bytes_of(variable) + length(value) for variable, value in variables.items())
        yield from over("lambda.environment", f"{name}: bytes of environment variables", size)
        yield from over("lambda.layers", f"{name}: layers", len(given.get("Layers", ())))


def _inline(resources: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for name, (kind, given) in resources.items():
        if kind == "AWS::IAM::Role":
            sizes[name] += sum(length(policy["PolicyDocument"]) for policy in given.get("Policies", ()))
        elif kind == "AWS::IAM::Policy":
            for role in given.get("Roles", ()):
                sizes[role.get("Ref", json.dumps(role))] += length(given["PolicyDocument"])
    return sizes


def length(value: Any) -> int:
    """Return the characters of a value without white space, once deployment has filled it in."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return 2 + sum(_member(one) + 1 for one in value)
    if not isinstance(value, dict):
        return len(json.dumps(value))
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name in _REFERENCES:
            return _REFERENCE
        if name == "Fn::Join":
            return sum(map(length, inner[1]))
    return 2 + sum(len(name) + 4 + _member(inner) for name, inner in value.items())


def _member(value: Any) -> int:
    """Return the characters of a value within JSON, where a text has quotes."""
    return length(value) + 2 * isinstance(value, str)
