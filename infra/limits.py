"""The limits of CloudFormation and Lambda for one template, checked before anything is deployed.

Sources: CloudFormation quotas (500 resources, 200 outputs, 1 MB a template), Lambda quotas (4 KB of environment variables).
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .templates import templates

MOST_RESOURCES = 500
MOST_OUTPUTS = 200
MOST_BYTES = 1_000_000
MOST_ENVIRONMENT = 4096
#: A queue's address is that of its Region and account and a name; CloudFormation makes the name of the stack's, the logical id and
#: 12 characters, at most 80 in all.
_ADDRESS, _NAME, _STACK, _MADE = len("https://sqs.ap-southeast-1.amazonaws.com/123456789012/"), 80, 28, 14
#: A mapping is referred to by its UUID.
_UUID = 36
#: The longest name or ARN of any other resource.
_LONGEST = 100


def problems(assembly: Path) -> Iterator[str]:
    """Yield each reason for which AWS would refuse the templates in *assembly*, with the remedy."""
    for name, text in templates(assembly).items():
        yield from of_template(name, json.loads(text), len(text.encode()))


def of_template(name: str, template: Mapping[str, Any], size: int) -> Iterator[str]:
    """Yield each reason for which AWS would refuse one *template* of *size* bytes."""
    fewer = "declare fewer queues, or deploy two applications"
    resources = template.get("Resources", {})
    if len(resources) > MOST_RESOURCES:
        yield f"{name}: {len(resources)} resources, and CloudFormation allows {MOST_RESOURCES} in a stack: {fewer}"
    if len(template.get("Outputs", {})) > MOST_OUTPUTS:
        yield f"{name}: {len(template['Outputs'])} outputs, and CloudFormation allows {MOST_OUTPUTS} in a stack: {fewer}"
    if size > MOST_BYTES:
        yield f"{name}: {size} bytes, and CloudFormation allows templates of {MOST_BYTES}: {fewer}"
    for function, resource in resources.items():
        variables = resource.get("Properties", {}).get("Environment", {}).get("Variables", {})
        taken = sum(len(key) + _length(value, resources) for key, value in variables.items())
        if taken > MOST_ENVIRONMENT:
            yield f"{function}: about {taken} bytes of environment variables, and Lambda allows {MOST_ENVIRONMENT}: {fewer}"


def _length(value: object, resources: Mapping[str, Any]) -> int:
    """Return how many bytes a value of the template has at most, names that AWS makes included."""
    match value:
        case str():
            return len(value.encode())
        case {"Fn::Join": [str(between), [*parts]]}:
            return sum(_length(part, resources) for part in parts) + len(between) * max(0, len(parts) - 1)
        case {"Ref": str(name)} if resources.get(name, {}).get("Type") == "AWS::SQS::Queue":
            return _ADDRESS + min(_NAME, _STACK + len(name) + _MADE)
        case {"Ref": str(name)} if resources.get(name, {}).get("Type") == "AWS::Lambda::EventSourceMapping":
            return _UUID
    return _LONGEST
