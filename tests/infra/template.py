"""Synthesised templates as the tests of this room ask about them: by type, by who may do what, by what feeds what."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sedano.deploy import assembly

Properties = Mapping[str, Any]

STREAM = "stream"
"""The function that reads streams and queues of other programs."""


@dataclass(frozen=True)
class Statement:
    """One thing that a role is allowed: actions on resources, as the template names them."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True)
class Templates:
    """All stacks of one cloud assembly, their resources by logical id."""

    directory: Path
    resources: Mapping[str, Mapping[str, Any]]
    outputs: Mapping[str, Any]

    def of_type(self, kind: str) -> dict[str, Properties]:
        """The properties of every resource of type `AWS::kind`."""
        return {name: resource["Properties"] for name, resource in self.resources.items() if resource["Type"] == f"AWS::{kind}"}

    def functions(self) -> dict[str, Properties]:
        """Every function, by the name of its directory."""
        by_id = self.of_type("Lambda::Function")
        return {name.split("Function")[0].lower(): properties for name, properties in by_id.items()}

    def function_named(self, reference: Any) -> str:
        """The name of the function that a reference in the template means, directly or by its alias."""
        return self.function_id(reference).split("Function")[0].lower()

    def function_id(self, reference: Any) -> str:
        """The logical id of the function that a reference means, directly or by its alias."""
        name = aliased(reference) or target(reference)
        return target(self.resources[name]["Properties"]["FunctionName"]) if self.resources[name]["Type"] == "AWS::Lambda::Alias" else name

    def allowed(self, function: str) -> list[Statement]:
        """Everything that the role of `function` may do."""
        role = target(self.functions()[function]["Role"])
        return [
            Statement(tuple(listed(statement["Action"])), tuple(map(shown, listed(statement["Resource"]))))
            for policy in self.of_type("IAM::Policy").values()
            if role in map(self.exported, policy["Roles"])
            for statement in policy["PolicyDocument"]["Statement"]
        ]

    def may(self, function: str, action: str) -> set[str]:
        """The resources on which `function` may call `action`."""
        statements = self.allowed(function)
        return {name for statement in statements if action in statement.actions for name in statement.resources}

    def exported(self, reference: Any) -> str:
        """The logical id of the resource that a reference, also one from another stack, means."""
        name = target(reference)
        return target(self.outputs[name]) if name in self.outputs else name

    def sources(self) -> Iterator[tuple[str, str]]:
        """Every (queue, function) that an event source mapping joins, without the queues of other programs."""
        yield from ((queue, function) for queue, function in self._queues() if function != STREAM)

    def foreign(self) -> Iterator[tuple[str, str]]:
        """Every (queue of another program, function) that an event source mapping joins."""
        yield from ((queue, function) for queue, function in self._queues() if function == STREAM)

    def _queues(self) -> Iterator[tuple[str, str]]:
        for mapping in self.of_type("Lambda::EventSourceMapping").values():
            if not of_a_stream(mapping):
                arn = mapping["EventSourceArn"]
                yield arn if isinstance(arn, str) else target(arn), self.function_named(mapping["FunctionName"])

    def followers(self) -> Iterator[tuple[Any, str]]:
        """Every (stream, function) that an event source mapping joins, the stream as the template names it."""
        for mapping in self.of_type("Lambda::EventSourceMapping").values():
            if of_a_stream(mapping):
                yield mapping["EventSourceArn"], self.function_named(mapping["FunctionName"])


def read(directory: Path) -> Templates:
    """The templates of the cloud assembly in `directory`."""
    templates = [json.loads(stack.template) for stack in assembly.stacks(directory)]
    return Templates(
        directory,
        {name: resource for template in templates for name, resource in template["Resources"].items()},
        {name: output["Value"] for template in templates for name, output in template.get("Outputs", {}).items()},
    )


def of_a_stream(mapping: Properties) -> bool:
    """Whether a mapping reads a stream, which has a position to begin at, and not a queue."""
    return "StartingPosition" in mapping


def of_the_stage(mapping: Properties) -> bool:
    """Whether a mapping reads a queue of the stage, and not a stream, nor a queue of another program, whose ARN is a text."""
    return not of_a_stream(mapping) and not isinstance(mapping["EventSourceArn"], str)


def target(reference: Any) -> str:
    """The logical id (or, from another stack, the output) that a reference means."""
    match reference:
        case {"Ref": name} | {"Fn::GetAtt": [name, _]} | {"Fn::GetStackOutput": {"OutputName": name}}:
            return str(name)
    raise ValueError(f"{reference} is not a reference")


def aliased(reference: Any) -> str | None:
    """The logical id of the alias in the form by which the CDK names one to a mapping: its function's ARN, taken apart."""
    match reference:
        case {"Fn::Join": ["", [{"Fn::Select": [6, {"Fn::Split": [":", {"Ref": name}]}]}, _]]}:
            return str(name)
    return None


def shown(resource: Any) -> str:
    """A resource of a policy in one line: `Queue1`, `SedanoLedgerTable`, `SedanoBlobsBucket/*`."""
    match resource:
        case str():
            return resource
        case {"Fn::Join": ["", parts]}:
            named = [part for part in parts if not isinstance(part, str) and not str(part.get("Ref", "")).startswith("AWS::")]
            if not named:  # no resource of the stack: a name that the service gives
                return str(parts[-1]).lstrip(":")
            return target(named[0]) + (parts[-1] if isinstance(parts[-1], str) else "")
    return target(resource)


def listed(value: Any) -> list[Any]:
    """One or several, as a list."""
    return value if isinstance(value, list) else [value]
