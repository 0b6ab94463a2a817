"""Prepares an account and Region for deployments, once, with the template of the CDK's own `cdk bootstrap` (`bootstrap.yaml`, Apache-2.0).

Both commands make the same stack, `CDKToolkit`: a bucket for assets, and the roles that publish and deploy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from sedano.deploy import states
from sedano.deploy.clients import Clients, Say
from sedano.deploy.failure import DeployError
from sedano.deploy.progress import StackProgress
from sedano.deploy.stack_events import described, follow, newest

STACK = "CDKToolkit"
TEMPLATE = Path(__file__).with_name("bootstrap.yaml")
ADMINISTRATOR = "arn:${AWS::Partition}:iam::aws:policy/AdministratorAccess"
_POLICIES = "CloudFormationExecutionPolicies"
_VERSION = re.compile(r"^    Value: '(\d+)'$", re.MULTILINE)
_NOTHING = "No updates are to be performed"


def version(template: str) -> int:
    """Return the version of a bootstrap *template*."""
    return int(_VERSION.findall(template)[-1])


def wanted_version() -> int:
    """Return the version of the template of this sedano."""
    return version(TEMPLATE.read_text(encoding="utf-8"))


def deployed_version(clients: Clients) -> int | None:
    """Return the version of the account's bootstrap stack; None where it has none."""
    found = described(clients.client("cloudformation"), STACK)
    if found is None or states.is_new(found["StackStatus"]):
        return None
    outputs = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
    return int(outputs.get("BootstrapVersion", "0"))


def bootstrap(clients: Clients, policies: Sequence[str], say: Say, sleep: Callable[[float], None] = time.sleep) -> int:
    """Create the stack, or update an older one; return its version. A stack of the same or a newer version is left as it is.

    Args:
        clients: of the account.
        policies: the ARNs of the policies of CloudFormation's role; if empty, an existing stack keeps its policies.
        say: takes each line of progress.
        sleep: waits for some seconds.

    Raises:
        DeployError: the stack cannot be made.
    """
    body = TEMPLATE.read_text(encoding="utf-8")
    before, wanted = deployed_version(clients), version(body)
    if before is not None and before >= wanted and not policies:
        say(f"{STACK} has version {before} already")
        return before
    cloudformation = clients.client("cloudformation")
    found = described(cloudformation, STACK)
    if refusal := states.refusal(STACK, str(found["StackStatus"]) if found else None):
        raise DeployError(refusal)
    seen = newest(cloudformation, STACK) if found else ""
    request = {"StackName": STACK, "TemplateBody": body, "Capabilities": ["CAPABILITY_NAMED_IAM"]}
    chosen = ",".join(clients.where.filled(one) for one in policies or ([] if before else [ADMINISTRATOR]))
    if before is None:
        cloudformation.create_stack(**request, Parameters=_parameters({}, chosen))
    elif not _updated(cloudformation, request, _parameters(found or {}, chosen)):
        return before
    progress = StackProgress(STACK, _count(body))
    status = follow(cloudformation, STACK, progress, seen, say, sleep)
    if not states.is_good(status):
        raise DeployError(f"{STACK} ended as {status}: {'; '.join(progress.failures)}")
    return wanted


def _parameters(found: dict[str, Any], policies: str) -> list[dict[str, Any]]:
    """Return the parameters of the stack: each as it is in *found*, and the *policies* where any are given."""
    kept = [{"ParameterKey": one["ParameterKey"], "UsePreviousValue": True} for one in found.get("Parameters", [])]
    if not policies:
        return kept
    return [*(one for one in kept if one["ParameterKey"] != _POLICIES), {"ParameterKey": _POLICIES, "ParameterValue": policies}]


def _updated(cloudformation: Any, request: dict[str, Any], parameters: list[dict[str, Any]]) -> bool:
    """Start the update; return whether it changes anything."""
    try:
        cloudformation.update_stack(**request, Parameters=parameters)
    except ClientError as error:
        if _NOTHING not in str(error):
            raise
        return False
    return True


def _count(body: str) -> int:
    """Return how many resources the template has: each is a name indented by two spaces below `Resources`."""
    resources = body.partition("\nResources:\n")[2].partition("\nOutputs:\n")[0]
    return len(re.findall(r"^  \w+:$", resources, re.MULTILINE))
