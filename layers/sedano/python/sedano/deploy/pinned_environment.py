"""Makes a separate environment of pinned packages, once on each machine, in the user's cache: for the CDK, and for the local endpoint.

The environment of the user's project never gets these packages. A change of the pins, or another Python, makes another environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sedano.deploy.failure import DeployError

_MARK = "complete"


class Pinned(NamedTuple):
    """An environment to make: the *name* of its folder, its description in *words*, and the *remedy* if it cannot be made."""

    name: str
    words: str
    remedy: str


def python_of(wanted: Pinned, pins: Path, say: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path:
    """Return the Python of the environment *wanted*, which is made from the *pins* if it is missing.

    Raises:
        DeployError: it cannot be made.
    """
    folder = place(wanted, pins, environment)
    if not (folder / _MARK).is_file():
        make(wanted, folder, pins, say, environment)
    return folder / "bin" / "python"


def place(wanted: Pinned, pins: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the environment *wanted* that is made from these *pins* for this Python."""
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]
    return cache / "sedano" / f"{wanted.name}-{digest}-py{sys.version_info.major}.{sys.version_info.minor}"


def make(wanted: Pinned, folder: Path, pins: Path, say: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> None:
    """Make the environment *wanted* in *folder* with the packages of *pins*; if another process is making it, wait.

    Raises:
        DeployError: a command failed, with its last output.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_suffix(".lock")):
        if (folder / _MARK).is_file():
            return
        say(f"making {folder} with {wanted.words}")
        shutil.rmtree(folder, ignore_errors=True)
        uv = shutil.which("uv", path=environment.get("PATH"))
        for command in commands(folder, pins, uv):
            _run(command, wanted, environment)
        (folder / _MARK).write_text("")


def commands(folder: Path, pins: Path, uv: str | None, python: str = sys.executable) -> list[list[str]]:
    """Return the commands that make the environment *folder*: by *uv* where it is installed, else by `venv` and pip."""
    inside = str(folder / "bin" / "python")
    options = ["--require-hashes", "--requirement", str(pins)]
    if uv:
        return [[uv, "venv", "--quiet", "--python", python, str(folder)], [uv, "pip", "install", "--quiet", "--python", inside, *options]]
    quiet = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    return [[python, "-m", "venv", str(folder)], [inside, "-m", "pip", "install", *quiet, *options]]


def _run(command: Sequence[str], wanted: Pinned, environment: Mapping[str, str]) -> None:
    outer = {name: value for name, value in environment.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(command, env=outer, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stdout + done.stderr).strip()
        remedy = f"install uv or python3-venv if that is the reason, or {wanted.remedy}"
        what = f"the environment with {wanted.words.partition(',')[0]}"
        raise DeployError(f"{what} cannot be made: `{' '.join(command)}` failed: {words}; {remedy}")


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one process at a time run the block."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
