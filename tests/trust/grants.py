"""What a role may do, taken apart into single grants: one action on one resource; and a role without one of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

#: How a resource is called, by what its name contains: a logical id in a template, a physical name on an endpoint.
KINDS = {
    "commands": "commands",
    "eventsqueue": "events",
    "recordsqueue": "records",
    "parkedqueue": "parked",
    "ledgertable": "ledger",
    "controltable": "control",
    "historybucket": "history",
    "blobsbucket": "blobs",
    "timersrole": "timers role",
    "timersgroup": "timers",
    "schedule/default": "timers",
    "logs": "logs",
}
#: The local endpoint authorises a batch under a name of its own; AWS under that of the single call.
BATCH = "Batch"


class Grant(NamedTuple):
    """A function may call an action on a kind of resource."""

    function: str
    action: str
    resource: str


def kind_of(resource: str) -> str:
    """How a resource is called, whatever its full name."""
    return next(kind for word, kind in KINDS.items() if word in resource.lower())


def listed(value: Any) -> list[Any]:
    """One or several, as a list."""
    return value if isinstance(value, list) else [value]


def taken_apart(function: str, document: dict[str, Any]) -> list[tuple[Grant, dict[str, Any]]]:
    """Each grant of a policy, with a statement of its own."""
    return [
        (
            Grant(function, action.removesuffix(BATCH) if action.startswith("sqs:") else action, kind_of(resource)),
            {"Effect": "Allow", "Action": action, "Resource": resource},
        )
        for statement in document["Statement"]
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    ]


class Role:
    """The role of one deployed function, from which grants can be taken away for a while."""

    def __init__(self, iam: Any, function: str, name: str) -> None:
        self._iam, self._name = iam, name
        (self._policy,) = iam.list_role_policies(RoleName=name)["PolicyNames"]
        self._whole: dict[str, Any] = iam.get_role_policy(RoleName=name, PolicyName=self._policy)["PolicyDocument"]
        self._apart = taken_apart(function, self._whole)
        #: Everything that it grants.
        self.grants = {grant for grant, _ in self._apart}

    @contextmanager
    def without(self, grant: Grant) -> Iterator[None]:
        """The role lacks `grant` while the block runs."""
        self._put({"Version": "2012-10-17", "Statement": [statement for one, statement in self._apart if one != grant]})
        try:
            yield
        finally:
            self._put(self._whole)

    def _put(self, document: dict[str, Any]) -> None:
        self._iam.put_role_policy(RoleName=self._name, PolicyName=self._policy, PolicyDocument=json.dumps(document))
