"""Synthesises a cloud assembly from an application with the constructs, in a separate process that has the CDK, and reads its output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sedano.deploy.cdk_environment import PACKAGE, Constructs, Toolset
from sedano.deploy.clients import Say
from sedano.deploy.failure import DeployError
from sedano.errors import UsageError

#: The file that the synthesis writes beside the templates, about the stage.
FACTS = "stage.json"
_OURS = "sedano: "
#: The exit code of the synthesis after an error in a setting or in the code, which its last line describes.
_REFUSED = 2


class Facts(NamedTuple):
    """The stage that was synthesised.

    Args:
        stage, app: as requested.
        queues: the names of its command queues.
        webhooks: whether the app has any.
        webhook_concurrency: the executions that are reserved for them.
        foreign_queues: the ARN of each queue of another program that it reads, by the name of the stream.
        timeout: the time limit of its functions, in s.
        permanent: whether its data outlives its stacks.
        replace: whether it may replace another app, and queues with messages.
        cost: a sentence about its monthly cost; empty for a stage on this machine.
        idle_month_usd: the cost of an idle month.
    """

    stage: str
    app: str
    queues: tuple[str, ...]
    webhooks: bool
    webhook_concurrency: int
    foreign_queues: Mapping[str, str]
    timeout: int
    permanent: bool
    replace: bool
    cost: str
    idle_month_usd: float


def synthesise(context: Mapping[str, str], directory: Path, found: Constructs, tools: Toolset, say: Say) -> Facts:
    """Write the cloud assembly of *context* to *directory*, replacing an older one; return the facts about the stage.

    Raises:
        UsageError: a setting or the code cannot be deployed; the traceback of the user's own code was printed.
        DeployError: the synthesis failed otherwise.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with _library(found) as places:
        done = subprocess.run(
            [str(tools.python), "-P", "-m", found.module],
            env=_environment(context, directory, places, tools),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode == 0:
        facts = json.loads((directory / FACTS).read_text(encoding="utf-8"))
        for line in lines:
            if line.startswith(_OURS) and facts["cost"] not in line:
                say(line.removeprefix(_OURS))
        return Facts(**{**facts, "queues": tuple(facts["queues"])})
    last = lines.pop().removeprefix(_OURS) if lines and lines[-1].startswith(_OURS) else ""
    for line in lines:
        say(line)
    if done.returncode == _REFUSED and last:
        raise UsageError(last)
    raise DeployError(last or f"the synthesis ended with exit code {done.returncode}; its output is above")


@contextmanager
def _library(found: Constructs) -> Iterator[Sequence[Path]]:
    """Yield the directories of the constructs and the library: for the installed package, one with nothing but a link to it."""
    if found.places:
        yield found.places
        return
    with tempfile.TemporaryDirectory(prefix="sedano-") as alone:
        (Path(alone) / PACKAGE.name).symlink_to(PACKAGE)
        yield (Path(alone),)


def _environment(context: Mapping[str, str], directory: Path, places: Sequence[Path], tools: Toolset) -> dict[str, str]:
    node = {"JSII_NODE": str(tools.node)} if tools.node else {}
    unjudged = {"CDK_VALIDATION": "false"} if context.get("local") == "true" else {}  # cdk-nag is only for deployments to AWS
    return {
        **os.environ,
        **node,
        **unjudged,
        "PYTHONPATH": os.pathsep.join(map(str, places)),
        "CDK_CONTEXT_JSON": json.dumps(dict(context)),
        "CDK_OUTDIR": str(directory),
    }
