"""`make synth|diff|deploy|variables|destroy|bootstrap`: the CDK's own command line, after all checks that are possible beforehand.

    python -m infra.command deploy --app shop.tasks:app --code src --stage prod memory=1024 tags=team=shop -- --require-approval never

The cheapest check is first: settings and code, then the credentials, then the templates; then the CDK of package.json does the work.
Arguments after `--` are passed to it unchanged.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from sedano.deploy import buckets
from sedano.deploy.account import AccountError, Target, opened, require_deployed, require_prepared, require_room, target
from sedano.deploy.command_names import MAKE
from sedano.deploy.existing_stage import require_empty, require_free, require_same, standing
from sedano.deploy.foreign_queues import require_readable
from sedano.deploy.output_variables import exports, variables

from .application import Declared, application
from .assets import AssetError
from .config import ConfigError, StageConfig, require
from .context import Deployment, from_context
from .discovery import DiscoveryError
from .places import ROOT

ASSEMBLY = ROOT / "build" / "cdk.out"
TOOLCHAIN = ROOT / "requirements" / "toolchain.py"
#: The verbs that need only the account. They do not read the code, which may not import any more.
OF_THE_ACCOUNT = ("variables", "bootstrap")
VERBS = ("synth", "diff", "deploy", "destroy", *OF_THE_ACCOUNT)


def main(given: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    mark = list(given).index("--") if "--" in given else len(given)
    asked, further = _arguments(given[:mark]), given[mark + 1 :]
    try:
        context = _context(asked)
        wanted = from_context(context)
        declared = None
        if asked.verb not in OF_THE_ACCOUNT:
            declared = application(wanted.app, wanted.code, wanted.config, wanted.requirements, wanted.ignore).declared
        return synthesise(context) if asked.verb == "synth" else _act(asked.verb, context, wanted, declared, further)
    except (ConfigError, AssetError, DiscoveryError, AccountError) as error:
        sys.stderr.write(f"sedano: {error}\n")
    except (BotoCoreError, ClientError) as error:
        remedy = f"check the network and the rights of the credentials, then run `make {asked.verb}` again"
        sys.stderr.write(f"sedano: AWS refused a call or did not answer: {error}; {remedy}\n")
    return 2


def synthesise(context: Mapping[str, str]) -> int:
    """Write the templates to `build/cdk.out`; return the exit code of the app, which has printed the error."""
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    environment = {**os.environ, "CDK_CONTEXT_JSON": json.dumps({**flags, **context}), "CDK_OUTDIR": str(ASSEMBLY)}
    return subprocess.run([sys.executable, "-m", "infra.app"], cwd=ROOT, env=environment, check=False).returncode


def _act(verb: str, context: Mapping[str, str], wanted: Deployment, declared: Declared | None, further: Sequence[str]) -> int:
    session, config = opened(), wanted.config
    where = target(session, config.stage, config.region, config.account, MAKE)
    config.require_in(where.region)
    sys.stderr.write(f"Account {where.account}, {where.region}.\n")
    if verb == "bootstrap":
        return _cdk(verb, [f"aws://{where.account}/{where.region}", *further], where.region)
    if verb == "variables":
        cloudformation = session.client("cloudformation", region_name=where.region)
        sys.stdout.write("".join(f"{line}\n" for line in exports(variables(cloudformation, where, config.stage, MAKE))))
        return 0
    _require_ready(verb, session, where, wanted, declared)
    if failed := synthesise(context):
        return failed
    if verb == "diff":  # the diff of all stacks, without naming them
        return _cdk(verb, further, where.region)
    if verb == "deploy":
        return _cdk(verb, ["--all", *further], where.region)
    agreed, further = "--force" in further, [word for word in further if word != "--force"]
    if not _emptied(session, where.region, config, agreed=agreed):
        return 1
    return _cdk(verb, ["--all", "--force", *further], where.region)


def _emptied(session: boto3.Session, region: str, config: StageConfig, *, agreed: bool) -> bool:
    """Empty the stage's buckets after asking, unless that was *agreed*; return whether the stage may be destroyed."""
    names = [] if config.permanent else buckets.of_stage(session, region, config.stage)
    kept = "and keep its data" if config.permanent else f"and with it every object in {', '.join(names) or 'its buckets'}"
    if not agreed and not _confirmed(f"Destroy the stage {config.stage}, {kept}? (y/n) "):
        sys.stderr.write("Nothing was changed.\n")
        return False
    s3 = session.client("s3", region_name=region)
    for name in names:
        sys.stderr.write(f"{name}: {buckets.emptied(s3, name)} objects deleted\n")
    return True


def _confirmed(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _require_ready(verb: str, session: boto3.Session, where: Target, wanted: Deployment, declared: Declared | None) -> None:
    """Refuse a stage that the account cannot have, before the templates are made, which takes seconds."""
    require_prepared(session, where, MAKE)
    if verb == "destroy":
        require_deployed(session, where, wanted.config.stage, MAKE)
    if verb == "deploy" and declared:
        if declared.webhooks:
            require_room(session, where, wanted.config.webhook_concurrency, MAKE)
        require_readable(session, where, declared.foreign_queues(wanted.config.streams), wanted.config.timeout)
        found = standing(session, where, wanted.config.stage)
        if found is not None and not wanted.replace:
            require_same(found, wanted.config.stage, wanted.app, MAKE)
            require_empty(session, where, found, declared.queues, MAKE)
        if found is not None:
            require_free(session, where, found, declared.queues)


def _cdk(verb: str, words: Sequence[str], region: str) -> int:
    # An account is prepared for every stage: with an app the CDK would read templates, and before the first deployment no template exists.
    app = "" if verb == "bootstrap" else str(ASSEMBLY)
    # Notices are about the CDK, not about the stage.
    command = [sys.executable, str(TOOLCHAIN), "cdk", verb, "--app", app, "--no-notices", *words]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "AWS_REGION": region}, check=False).returncode


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.command", description="Deploy a stage.")
    parser.add_argument("verb", choices=VERBS)
    for name, words in (("app", "module:attribute"), ("code", "the directory of its modules"), ("stage", "such as dev or prod")):
        parser.add_argument(f"--{name}", default="", help=words)
    parser.add_argument("settings", nargs="*", metavar="name=value", help="further settings of the stage")
    return parser.parse_intermixed_args(given)


def _context(asked: argparse.Namespace) -> dict[str, str]:
    """Return the settings as the CDK app reads them; paths are relative to the working directory of the command."""
    require(asked.stage, "stage", asked.stage, "the stage's name, such as dev or prod")
    context = {"app": asked.app, "code": str(Path(asked.code).resolve()) if asked.code else "", "stage": asked.stage}
    for setting in asked.settings:
        name, sign, value = setting.partition("=")
        require(sign and name, setting, value, "name=value")
        require(not context.get(name), name, value, f"one value: it is {context.get(name)!r} already")
        context[name] = str(Path(value).resolve()) if name == "requirements" else value
    return context


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
