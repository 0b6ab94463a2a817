"""The CDK app: `python -m infra.app`, which the CDK's command line and `sedano.local` both run.

    cdk deploy --all -c stage=prod -c app=shop.tasks:app -c code=src

Settings come from the context (`-c name=value`); `infra/README.md` lists them.
"""

import json
import sys
from pathlib import Path

import aws_cdk as cdk

from . import cost, limits, nag
from .application import Declared
from .assets import AssetError
from .config import ConfigError
from .context import Deployment, from_context
from .discovery import DiscoveryError
from .sedano_stacks import SedanoStacks
from .task_cost import total


def main() -> int:
    """Write the cloud assembly; print one sentence and return an exit code if a setting cannot be used."""
    app = cdk.App(context={"@aws-cdk/core:stackResourceLimit": 0})  # `limits` reports it in a sentence
    nag.check(app)
    try:
        asked = from_context(app.node.get_all_context())
        made = SedanoStacks(app, app=asked.app, code=asked.code, config=asked.config, requirements=asked.requirements, ignore=asked.ignore)
    except (ConfigError, AssetError, DiscoveryError) as error:
        sys.stderr.write(f"sedano: {error}\n")
        return 2
    assembly = Path(app.synth().directory)
    refused = list(limits.problems(assembly))
    for problem in refused:
        sys.stderr.write(f"sedano: {problem}\n")
    if not asked.config.local:  # a stage on this machine costs nothing
        sys.stderr.write(f"sedano: {asked.config.capacity_sentence()}.\n")
        tell_the_cost(assembly)
    write_facts(assembly, asked, made.application.declared)
    return 2 if refused else 0


def tell_the_cost(assembly: Path) -> None:
    """Write the cost of the stage beside its templates, and print it in one line."""
    stage = cost.read(assembly)
    (assembly / "cost.md").write_text(cost.page(stage), encoding="utf-8")
    sys.stderr.write(f"sedano: {cost.summary(stage)}: see cost.md beside the templates.\n")


def write_facts(assembly: Path, asked: Deployment, declared: Declared) -> None:
    """Write the facts about the stage that a deployment needs before it begins, beside the templates."""
    stage = None if asked.config.local else cost.read(assembly)
    facts = {
        "stage": asked.config.stage,
        "app": asked.app,
        "queues": declared.queues,
        "webhooks": bool(declared.webhooks),
        "webhook_concurrency": asked.config.webhook_concurrency,
        "foreign_queues": declared.foreign_queues(asked.config.streams),
        "timeout": asked.config.timeout,
        "permanent": asked.config.permanent,
        "replace": asked.replace,
        "cost": cost.summary(stage) if stage else "",
        "idle_month_usd": round(total(cost.idle(stage)), 2) if stage else 0.0,
    }
    (assembly / "stage.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
