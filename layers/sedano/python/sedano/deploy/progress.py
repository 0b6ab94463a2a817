"""Reads CloudFormation's events of a stack that it works on: how many resources are done, which failed, and the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_ENDS = ("_COMPLETE", "_SKIPPED")
_CAUSED = "Resource creation cancelled", "Resource update cancelled"


@dataclass(slots=True)
class StackProgress:
    """Counts the resources of *stack* that are done, of about *total*."""

    stack: str
    total: int
    done: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def take(self, events: Iterable[Mapping[str, Any]]) -> list[str]:
        """Count *events*, oldest first; return a sentence for each failure among them that has a cause of its own."""
        found = []
        for event in events:
            name, status = event["LogicalResourceId"], event["ResourceStatus"]
            if name == self.stack:
                continue
            if status.endswith(_ENDS) and "ROLLBACK" not in status:
                self.done.add(name)
            reason = event.get("ResourceStatusReason", "CloudFormation gives no reason")
            if status.endswith("_FAILED") and not reason.startswith(_CAUSED):
                found.append(f"{name} ({event['ResourceType']}): {reason}")
        self.failures += found
        return found

    def line(self) -> str:
        """Return how far the stack is."""
        return f"{self.stack}  {len(self.done)} of {max(self.total, len(self.done))} resources"
