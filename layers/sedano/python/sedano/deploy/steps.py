"""The steps of `sedano diff` and `sedano deploy`, from the settings to a plan; each step checks its part before the next one takes time or
money."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sedano.deploy.account import opened, require_room, target
from sedano.deploy.assembly import BOOTSTRAPPED, stacks
from sedano.deploy.cdk_environment import constructs, toolset
from sedano.deploy.clients import Clients, Say
from sedano.deploy.deployment import Deployment, Planned, bootstrap_version
from sedano.deploy.existing_stage import require_empty, require_free, require_same, standing
from sedano.deploy.foreign_queues import require_readable
from sedano.deploy.synthesis import Facts, synthesise

#: The folder of a project for the files that sedano makes; git and deployments ignore it.
OWN = ".sedano"


class Prepared(NamedTuple):
    """A stage that was synthesised and compared with the deployed one, and the deployment that carries out the plan."""

    facts: Facts
    deployment: Deployment
    plan: list[Planned]


def clients_for(stage: str, region: str | None, account: str | None, say: Say) -> Clients:
    """Return clients for the account and Region of *stage*: its own ones, else those of the credentials.

    Raises:
        AccountError: the credentials do not lead to the account of the stage.
    """
    session = opened()
    where = target(session, stage, region, account)
    say(f"account {where.account}, {where.region}, stage {stage}")
    return Clients(session, where, say)


def assembly_folder(root: Path, stage: str) -> Path:
    """Return the folder for the cloud assembly of *stage*, in a folder of the project *root* that only its owner reads."""
    return own_folder(root) / "deploy" / stage


def own_folder(root: Path) -> Path:
    """Return the folder of the project *root* for the files that sedano makes; it is made where it is missing."""
    own = root / OWN
    own.mkdir(mode=0o700, exist_ok=True)
    ignored = own / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")
    return own


def prepare(settings: Mapping[str, str], root: Path, clients: Clients, say: Say) -> Prepared:
    """Synthesise the stage and plan its deployment.

    Raises:
        UsageError: a setting or the code cannot be deployed.
        NotPrepared: the account was never prepared for deployments.
        DeployError: another application has the stage, a queue with messages would be deleted, the account has no room for it, Lambda
            would not read a queue of another program, or a stack cannot be updated.
    """
    bootstrap_version(clients, BOOTSTRAPPED)
    found = constructs()
    tools = toolset(found, say)
    folder = assembly_folder(root, settings["stage"])
    facts = synthesise(settings, folder, found, tools, say)
    _require_ready(facts, clients)
    deployment = Deployment(clients, stacks(folder), say)
    return Prepared(facts, deployment, deployment.plan())


def _require_ready(facts: Facts, clients: Clients) -> None:
    """Refuse a deployment that would fail in the middle, or lose messages."""
    session, where = clients.session, clients.where
    if facts.webhooks:
        require_room(session, where, facts.webhook_concurrency)
    require_readable(session, where, facts.foreign_queues, facts.timeout)
    found = standing(session, where, facts.stage)
    if found is None:
        return
    if not facts.replace:
        require_same(found, facts.stage, facts.app)
        require_empty(session, where, found, facts.queues)
    require_free(session, where, found, facts.queues)
