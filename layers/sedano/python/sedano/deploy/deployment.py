"""Deploys the stacks of a cloud assembly: plans with change sets, executes them in order, follows the events, deletes stacks again.

A stack that does not exist yet is planned from its template, because a change set would need the stacks below it. The plan's change set
is executed as it was shown, unless a stack below it changed in the meantime: then a new change set is made of the same template.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from sedano.deploy import changes, states
from sedano.deploy.assembly import BOOTSTRAPPED, StackFiles
from sedano.deploy.assets import publish, template_url
from sedano.deploy.changes import StackChanges
from sedano.deploy.clients import Clients, Say
from sedano.deploy.failure import DeployError
from sedano.deploy.progress import StackProgress
from sedano.deploy.stack_events import FIRST_PAUSE_S, LONGEST_PAUSE_S, described, follow, newest

#: CloudFormation's words for a change set without a change.
_NOTHING = ("didn't contain changes", "No updates are to be performed")
_CAPABILITIES = ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


class NotPrepared(DeployError):
    """The account was never prepared for deployments; the message names the command."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The changes of one stack, and the name of the change set with them; empty without a change set."""

    stack: StackFiles
    found: StackChanges
    change_set: str = ""


class Deployment:
    """Deploys *stacks*, each after those before it."""

    def __init__(
        self,
        clients: Clients,
        stacks: Sequence[StackFiles],
        say: Say,
        *,
        name: Callable[[], str] = lambda: f"sedano-{time.time_ns()}",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare to deploy.

        Args:
            clients: of the account.
            stacks: in the order of their dependencies.
            say: takes each line of progress.
            name: returns a new name for a change set.
            sleep: waits for some seconds.
        """
        self._clients, self._stacks, self._say, self._name, self._sleep = clients, stacks, say, name, sleep

    def plan(self) -> list[Planned]:
        """Return what would change. Publishes the templates, and makes a change set of each stack that exists.

        Raises:
            DeployError: the account's bootstrap is too old, or a stack is in a state in which it cannot be updated.
        """
        self._require_bootstrap()
        refused = [text for one in self._stacks if (text := states.refusal(one.name, self._status(one)))]
        if refused:
            raise DeployError("; ".join(refused))
        return [self._planned(one) for one in self._stacks]

    def forget(self, plan: Iterable[Planned]) -> None:
        """Delete the change sets of a *plan* that is not executed."""
        for one in plan:
            if one.change_set:
                self._cloudformation(one.stack).delete_change_set(StackName=one.stack.name, ChangeSetName=one.change_set)

    def apply(self, plan: Sequence[Planned]) -> dict[str, str]:
        """Execute the *plan*; return the outputs of all stacks.

        Raises:
            DeployError: a stack failed, with CloudFormation's reasons. The stacks above it were not touched.
        """
        changed, outputs = False, dict[str, str]()
        for number, one in enumerate(plan):
            try:
                if one.found.new or one.found.changes or changed:
                    changed |= self._applied(one, again=changed)
            except BaseException:
                self.forget(plan[number + 1 :])
                raise
            described = self._described(one.stack)
            outputs |= {each["OutputKey"]: each["OutputValue"] for each in (described or {}).get("Outputs", [])}
        return outputs

    def _applied(self, one: Planned, *, again: bool) -> bool:
        """Execute what is planned for a stack; return whether anything changed."""
        done = publish(self._clients, one.stack.assets)
        if done.sent:
            self._say(f"{one.stack.name}  {done.sent} files sent, {done.bytes:,} bytes; {done.kept} existed")
        made, found = one.change_set, one.found
        if again or not made:
            self.forget([one])
            made, found = self._change_set(one.stack)
        if not made:
            return False
        cloudformation = self._cloudformation(one.stack)
        progress, seen = StackProgress(one.stack.name, len(found.changes)), newest(cloudformation, one.stack.name)
        cloudformation.execute_change_set(StackName=one.stack.name, ChangeSetName=made)
        status = follow(cloudformation, one.stack.name, progress, seen, self._say, self._sleep)
        if not states.is_good(status):
            reasons = "; ".join(progress.failures) or "its events in the CloudFormation console name the reason"
            remedy = states.refusal(one.stack.name, status)
            raise DeployError(f"{one.stack.name} ended as {status}: {reasons}{f'. {remedy}' if remedy else ''}")
        if one.stack.protected:
            cloudformation.update_termination_protection(StackName=one.stack.name, EnableTerminationProtection=True)
        return True

    def _planned(self, stack: StackFiles) -> Planned:
        if states.is_new(self._status(stack)):
            return Planned(stack, StackChanges(stack.name, changes.of_templates("", stack.template), new=True))
        made, found = self._change_set(stack, estimate=True)
        return Planned(stack, found, made)

    def _change_set(self, stack: StackFiles, *, estimate: bool = False) -> tuple[str, StackChanges]:
        """Make a change set of *stack*; return its name, empty when nothing would change, and the changes.

        *estimate*: when CloudFormation cannot make one yet, compare the templates.
        """
        publish(self._clients, stack.templates())
        new = states.is_new(self._status(stack))
        made, cloudformation = self._name(), self._cloudformation(stack)
        cloudformation.create_change_set(**self._request(stack, made, new=new))
        described = self._made(cloudformation, stack, made)
        if described["Status"] == "FAILED":
            cloudformation.delete_change_set(StackName=stack.name, ChangeSetName=made)
            reason = described.get("StatusReason", "CloudFormation gives no reason")
            if any(words in reason for words in _NOTHING):
                return "", StackChanges(stack.name, ())
            if estimate:
                return "", StackChanges(stack.name, changes.of_templates(self._template(stack), stack.template), estimated=True)
            self._forget_new(stack, new=new)
            raise DeployError(f"{stack.name}: CloudFormation refuses the template: {reason}")
        return made, StackChanges(stack.name, changes.of_change_set(described["Changes"]), new=new)

    def _request(self, stack: StackFiles, made: str, *, new: bool) -> dict[str, Any]:
        execution = {"RoleARN": self._clients.where.filled(stack.execution_role)} if stack.execution_role else {}
        source = {"TemplateURL": template_url(self._clients, stack)} if stack.templates() else {"TemplateBody": stack.template}
        return {
            **execution,
            **source,
            "StackName": stack.name,
            "ChangeSetName": made,
            "ChangeSetType": "CREATE" if new else "UPDATE",
            "Capabilities": _CAPABILITIES,
            "Tags": [{"Key": key, "Value": value} for key, value in stack.tags.items()],
        }

    def _made(self, cloudformation: Any, stack: StackFiles, made: str) -> dict[str, Any]:
        """Return the change set with all its changes as soon as CloudFormation has computed it."""
        pause = FIRST_PAUSE_S
        while True:
            described: dict[str, Any] = cloudformation.describe_change_set(StackName=stack.name, ChangeSetName=made)
            if described["Status"] in ("CREATE_COMPLETE", "FAILED"):
                break
            self._sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_S)
        further = described.get("NextToken")
        while further:
            page = cloudformation.describe_change_set(StackName=stack.name, ChangeSetName=made, NextToken=further)
            described["Changes"] += page["Changes"]
            further = page.get("NextToken")
        return described

    def _forget_new(self, stack: StackFiles, *, new: bool) -> None:
        """Delete the stack without resources that a refused change set of a *new* stack leaves."""
        if new and self._status(stack) == states.REVIEWED:
            self._cloudformation(stack).delete_stack(StackName=stack.name)

    def _require_bootstrap(self) -> None:
        """Refuse an account whose bootstrap stack is older than the stacks need."""
        needed = {one.noted: max(each.bootstrap for each in self._stacks if each.noted == one.noted) for one in self._stacks}
        for name, least in needed.items():
            version = bootstrap_version(self._clients, name)
            if version is not None and version < least:
                place = f"account {self._clients.where.account} in {self._clients.where.region}"
                raise DeployError(f"the bootstrap of {place} has version {version}, and {least} is needed: run `sedano bootstrap`")

    def _cloudformation(self, stack: StackFiles) -> Any:
        return self._clients.client("cloudformation", stack.role)

    def _status(self, stack: StackFiles) -> str | None:
        described = self._described(stack)
        return str(described["StackStatus"]) if described else None

    def _described(self, stack: StackFiles) -> dict[str, Any] | None:
        return described(self._cloudformation(stack), stack.name)

    def _template(self, stack: StackFiles) -> str:
        body = self._cloudformation(stack).get_template(StackName=stack.name)["TemplateBody"]
        return body if isinstance(body, str) else json.dumps(body)


def is_prepared(clients: Clients) -> bool:
    """Return whether the account is prepared for deployments; true for a caller without the right to check."""
    try:
        bootstrap_version(clients, BOOTSTRAPPED)
    except NotPrepared:
        return False
    return True


def bootstrap_version(clients: Clients, name: str) -> int | None:
    """Return the version that the bootstrap noted in the parameter *name*; None for a caller without the right to read it.

    Raises:
        NotPrepared: the account was never prepared.
    """
    try:
        return int(clients.client("ssm").get_parameter(Name=name)["Parameter"]["Value"])
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            place = f"account {clients.where.account} in {clients.where.region}"
            raise NotPrepared(f"{place} is not prepared for deployments: run `sedano bootstrap` once") from error
        return None
