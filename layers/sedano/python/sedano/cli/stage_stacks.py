"""The verbs `bootstrap`, `diff`, `deploy`, `destroy`, `outputs` and `logs`, called with the options that were read."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sedano.app import Sedano
from sedano.changes.deployments import deployed
from sedano.changes.plan import apply
from sedano.cli.consent import Consent, note_here, refusal, require_answer
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json
from sedano.cli.settings import Settings
from sedano.deploy import bootstrap as account_bootstrap
from sedano.deploy import changes, logs, removal, smoke, steps
from sedano.deploy.clients import DEPLOY_ROLE, Clients
from sedano.deploy.context import context
from sedano.deploy.deployment import is_prepared
from sedano.deploy.failure import aws_errors
from sedano.deploy.output_variables import exports, variables
from sedano.errors import SedanoError, UsageError
from sedano.model.messages.timestamps import write


class StageOptions(NamedTuple):
    """The options of every verb: the settings of the project, those of the stage that were *given*, and the options of a change."""

    settings: Settings
    given: Mapping[str, str]
    consent: Consent

    @property
    def is_json(self) -> bool:
        """Whether to print JSON."""
        return self.consent.as_json

    @property
    def stage(self) -> str:
        """The name of the stage."""
        return self.settings.stage


@aws_errors()
def bootstrap(asked: StageOptions, policies: Sequence[str]) -> int:
    """Prepare the account, or update an older preparation."""
    require_answer(asked.consent)
    clients = _clients(asked)
    plan = _preparation(clients, policies, account_bootstrap.deployed_version(clients))
    refused = refusal("bootstrap", [plan], asked.consent, "Prepare this account?") if plan else None
    if refused is not None:
        return refused
    version = account_bootstrap.bootstrap(clients, policies, _note)
    if plan:
        note_here("bootstrap", f"account {clients.where.account}, {clients.where.region}", asked.consent)
    if asked.is_json:
        say_json({"account": clients.where.account, "region": clients.where.region, "version": version})
    return Exit.DONE


@aws_errors()
def diff(asked: StageOptions, every: bool) -> int:
    """Show the changes that a deployment would make."""
    settings, clients = _context(asked), _clients(asked)
    prepared = steps.prepare(settings, asked.settings.folder, clients, _note)
    prepared.deployment.forget(prepared.plan)
    plan = [one.found for one in prepared.plan]
    if asked.is_json:
        cost = {"sentence": prepared.facts.cost, "idle_month_usd": prepared.facts.idle_month_usd}
        say_json({"stage": asked.stage, "stacks": changes.as_data(plan), "cost": cost})
    else:
        say(*changes.lines(plan, every=every), *([prepared.facts.cost] if prepared.facts.cost else []))
    return Exit.DONE


@aws_errors()
def deploy(asked: StageOptions, try_it: bool) -> int:
    """Deploy the stage after asking; at the end run a task on it, unless *try_it* is false."""
    require_answer(asked.consent)
    settings, clients = _context(asked), _clients(asked)
    if not is_prepared(clients):
        refused = refusal("deploy", [_preparation(clients, (), None)], asked.consent, "Prepare this account?")
        if refused is not None:
            return refused
        account_bootstrap.bootstrap(clients, (), _note)
    prepared = steps.prepare(settings, asked.settings.folder, clients, _note)
    plan = [one.found for one in prepared.plan]
    try:
        _note(*changes.lines(plan), *([prepared.facts.cost] if prepared.facts.cost else []))
        asks = asked.consent.dry_run or not changes.is_empty(plan)
        refused = refusal("deploy", [], asked.consent, f"Deploy the stage {asked.stage}?") if asks else None
    except BaseException:
        prepared.deployment.forget(prepared.plan)
        raise
    if refused is not None:
        prepared.deployment.forget(prepared.plan)
        return refused
    try:
        prepared.deployment.apply(prepared.plan)
    except KeyboardInterrupt:
        _note("CloudFormation completes the current stack; the stacks after it are unchanged")
        raise
    note_here("deploy", f"the stage {asked.stage}", asked.consent)
    if not changes.is_empty(plan):
        _marked(asked, clients)
    return _deployed(asked, clients, plan, try_it=try_it)


@aws_errors()
def destroy(asked: StageOptions) -> int:
    """Delete the stage after asking."""
    require_answer(asked.consent)
    clients = _clients(asked)
    found = removal.planned(clients, asked.stage)
    _note(*(f"deletes {name}" for name in found.stacks), *(f"empties {name}" for name in found.buckets))
    _note(*(f"keeps {name}" for name in found.kept))
    refused = refusal("destroy", [], asked.consent, f"Destroy the stage {asked.stage} with all its contents?")
    if refused is not None:
        return refused
    removal.remove(clients, found, _note)
    note_here("destroy", f"the stage {asked.stage}", asked.consent)
    if asked.is_json:
        say_json({"stage": asked.stage, "deleted": found.stacks, "emptied": found.buckets, "kept": found.kept})
    return Exit.DONE


@aws_errors()
def outputs(asked: StageOptions) -> int:
    """Print the variables by which a program finds the stage."""
    clients = _clients(asked)
    _print(asked, _variables(asked, clients))
    return Exit.DONE


@aws_errors()
def show_logs(asked: StageOptions, since: str, follow: bool, functions: Sequence[str]) -> int:
    """Print the log lines of the stage's functions."""
    try:
        begin = time.time() - logs.seconds(since)
    except ValueError as error:
        raise UsageError(f"--since: {error}") from error
    clients = _clients(asked)
    groups = logs.groups(clients, asked.stage)
    if unknown := [name for name in functions if name not in groups]:
        raise UsageError(f"--function: {unknown[0]!r} is not a function of the stage; choose one of {', '.join(groups)}")
    chosen = {name: group for name, group in groups.items() if not functions or name in functions}
    for line in logs.lines(clients, chosen, begin, follow=follow, say=_note):
        if asked.is_json:
            say_json({**line._asdict(), "at": write(line.at)})
        else:
            say(f"{datetime.fromtimestamp(line.at, UTC):%Y-%m-%dT%H:%M:%S}Z {line.function}  {line.text}")
        sys.stdout.flush()
    return Exit.DONE


def _clients(asked: StageOptions) -> Clients:
    """Return clients of the stage's account."""
    values = asked.settings.values
    account = asked.given.get("account") or (values["account"].value if "account" in values else None)
    return steps.clients_for(asked.stage, asked.given.get("region"), account, _note)


def _context(asked: StageOptions) -> dict[str, str]:
    """Return the settings of the stage for the constructs."""
    found = asked.settings
    return context({name: one.value for name, one in found.values.items()}, found.app, found.code, found.folder, asked.given)


def _deployed(asked: StageOptions, clients: Clients, plan: Sequence[changes.StackChanges], *, try_it: bool) -> int:
    """Print the variables of the stage that was deployed, and run a task on it."""
    found = _variables(asked, clients)
    queue = smoke.queue_of(found) if try_it and "SEDANO_CONNECT" not in found else None
    seconds = None
    if queue is not None:
        _note(f"running a task on {queue}")
        seconds = smoke.round_trip(found, queue)
        _note(f"the task succeeded after {seconds:.1f} s")
    if asked.is_json:
        trial = None if seconds is None else round(seconds, 3)
        say_json({"stage": asked.stage, "stacks": changes.as_data(plan), "outputs": found, "task_s": trial})
    else:
        _print(asked, found)
    return Exit.DONE


def _marked(asked: StageOptions, clients: Clients) -> None:
    """Record this deployment on the stage; without the permission for that, the output says so."""
    try:
        found = _variables(asked, clients)
        if "SEDANO_CONNECT" in found:
            return
        with smoke.environment(found):
            app = Sedano("sedano-deploy")
            apply(app, deployed(app), asked.consent.reason)
            app.close()
    except SedanoError as error:
        _note(f"the time of the deployment was not recorded, so `sedano failures --new` does not count from it: {error}")


def _variables(asked: StageOptions, clients: Clients) -> dict[str, str]:
    return variables(clients.client("cloudformation", DEPLOY_ROLE), clients.where, asked.stage)


def _print(asked: StageOptions, found: Mapping[str, str]) -> None:
    say(json.dumps(found)) if asked.is_json else say(*exports(found))


def _preparation(clients: Clients, policies: Sequence[str], before: int | None) -> str:
    """Return the plan that prepares the account, whose preparation has the version *before*; empty if nothing would change."""
    place, stack = f"account {clients.where.account} in {clients.where.region}", account_bootstrap.STACK
    wanted = account_bootstrap.wanted_version()
    if before is None:
        rights = ", ".join(clients.where.filled(one) for one in policies or [account_bootstrap.ADMINISTRATOR])
        return f"{place} is not prepared for deployments: create 1 stack there, {stack}, whose deployments have {rights}"
    if before >= wanted and not policies:
        return ""
    rights = f", and give deployments {', '.join(clients.where.filled(one) for one in policies)}" if policies else ""
    return f"{place} is prepared with version {before}: update the stack {stack} there to version {max(before, wanted)}{rights}"


def _note(*lines: str) -> None:
    say(*lines, err=True)
    sys.stderr.flush()
