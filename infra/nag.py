"""cdk-nag's AWS Solutions and Serverless rules over every stack, and the form in which one finding is acknowledged with one reason.

A finding is acknowledged on the construct that it names and nowhere higher, so that a new construct is checked again. The one exception: a
finding in a function's policies is acknowledged on the role that they belong to, because the CDK splits a large policy into several. `cdk
synth -c accepted=false` lists every finding, those with a reason as well.
"""

import json
import re

from aws_cdk import App, Stack, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks
from constructs import IConstruct


def check(app: App) -> None:
    """Make the synthesis of `app` fail on every finding that no reason acknowledges."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))


def acknowledge(construct: IConstruct, finding: str, reason: str) -> None:
    """Accept one `finding` (its full id, such as `AwsSolutions-S1`) on `construct`, for `reason`.

    The id goes into the metadata itself: the library's own form splits an id at `::`, which findings about resources
    contain.
    """
    if construct.node.try_get_context("accepted") == "false":
        return
    construct.node.add_metadata(Validations.ACKNOWLEDGED_RULES_METADATA_KEY, {finding: reason})


def acknowledge_wildcard(holder: IConstruct, arn: str, reason: str) -> None:
    """Accept that `holder`, a policy or the role of several, names the resources of `arn`, which ends in `*`, for `reason`."""
    shown = _shown(Stack.of(holder).resolve(arn))
    acknowledge(holder, f"AwsSolutions-IAM5[Resource::{shown}]", reason)


def _shown(value: object) -> str:
    """Return a resolved template value in the one line by which cdk-nag names it."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}]+)\}", r"<\1>", text)
        case {"Fn::Join": ["", [*parts]]}:
            return "".join(_shown(part) for part in parts)
    return json.dumps(value, separators=(",", ":"))
