"""What a role may do, taken apart into single grants: one action on one resource; and a role without one of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

#: How a resource is called, by what its name contains: a logical id in a template, a physical name on an endpoint.
KINDS = {
    ":log-group:": "logs",
    "commands": "commands",
    "eventsqueue": "events",
    "recordsqueue": "records",
    "parkedqueue": "parked",
    "ledgertable": "ledger",
    "controltable": "control",
    "/history/*": "tables",
    "historybucket": "history",
    ".py": "script",
    ".zip": "library",
    ":job/": "job",
    ":alarm:": "alarms",
    "blobsbucket": "blobs",
    "timersrole": "timers role",
    "timersgroup": "timers",
    "schedule/default": "timers",
    "event-source-mapping": "mapping",
    "schedulerfunction": "scheduler",
    "controllerfunction": "controller",
    "workerfunction": "worker",
    "/keys": "keys",
    "parameter/": "secret",
    ":kinesis:": "clicks",
    "/stream/": "orders",
    "logs": "logs",
    ":notes": "notes",
    ":sqs:": "commands",  # the others bear the ids of their resources
}
#: What AWS calls the actions that the local endpoint authorises under names of its own.
ON_AWS = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "lambda:ListEventSourceMappings": "lambda:GetEventSourceMapping",
    "lambda:ListAliases": "lambda:UpdateAlias",
}


#: What stands in a policy from which the last grant was taken: no policy may be empty.
NOTHING = {"Effect": "Deny", "Action": "*", "Resource": "*"}


class Grant(NamedTuple):
    """A role, called by its function or by what else works under it, may call an action on a kind of resource."""

    role: str
    action: str
    resource: str


def kind_of(resource: str) -> str:
    """How a resource is called, whatever its full name."""
    found = next((kind for word, kind in KINDS.items() if word in resource.lower()), None)
    assert found is not None, f"{resource} is of no kind that KINDS names"
    return found


def listed(value: Any) -> list[Any]:
    """One or several, as a list."""
    return value if isinstance(value, list) else [value]


def taken_apart(role: str, document: dict[str, Any]) -> list[tuple[Grant, dict[str, Any]]]:
    """Each grant of a policy, with a statement of its own."""
    return [
        (
            Grant(role, ON_AWS.get(action, action), kind_of(resource)),
            {"Effect": "Allow", "Action": action, "Resource": resource},
        )
        for statement in document["Statement"]
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    ]


class Role:
    """One deployed role, from which grants can be taken away for a while."""

    def __init__(self, iam: Any, role: str, name: str) -> None:
        self._iam, self._name = iam, name
        policies = iam.list_role_policies(RoleName=name)["PolicyNames"]
        self._whole: dict[str, dict[str, Any]] = {
            policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"] for policy in policies
        }
        self._apart = {policy: taken_apart(role, document) for policy, document in self._whole.items()}
        #: Everything that it grants.
        self.grants = {grant for apart in self._apart.values() for grant, _ in apart}

    def resources(self, grant: Grant) -> list[str]:
        """The resources on which it grants this, in full."""
        return [str(statement["Resource"]) for apart in self._apart.values() for one, statement in apart if one == grant]

    @contextmanager
    def without(self, grant: Grant) -> Iterator[None]:
        """The role lacks `grant` while the block runs."""
        for policy, apart in self._apart.items():
            left = [statement for one, statement in apart if one != grant]
            self._put(policy, {"Version": "2012-10-17", "Statement": left or [NOTHING]})
        try:
            yield
        finally:
            for policy, document in self._whole.items():
                self._put(policy, document)

    def _put(self, policy: str, document: dict[str, Any]) -> None:
        self._iam.put_role_policy(RoleName=self._name, PolicyName=policy, PolicyDocument=json.dumps(document))
