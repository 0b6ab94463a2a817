"""One conditional write as a value: the texts that DynamoDB checks and carries out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TTL = {"#ttl": "ttl"}
"""The name of the TTL attribute, which is a reserved word."""


@dataclass(frozen=True, slots=True)
class Write:
    """One conditional write: its texts, the names that are reserved words, and the values that never change.

    `parameters` are the arguments of a client's call; the caller adds the values of the moment to `values`.
    """

    condition: str = ""
    update: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Derive the parameters once."""
        given: dict[str, Any] = {}
        if self.condition:
            given |= {"ConditionExpression": self.condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        if self.update:
            given["UpdateExpression"] = self.update
        if self.names:
            given["ExpressionAttributeNames"] = self.names
        object.__setattr__(self, "parameters", given)
