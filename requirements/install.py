"""Makes the project's virtual environments from the pinned, hashed requirement files.

`python requirements/install.py [dev] [ministack]` (all of them without an argument). Needs Python 3.11 and its standard
library, nothing else. An environment is stamped with the digest of its inputs, so a second run returns at once, a changed
requirement file creates the environment again, and an interrupted run continues with pip's cache.
Python 3.8 and later can read this file, so that an old Python gets an error message instead of a syntax error.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TextIO

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
OLDEST = (3, 11)
SHOWN_EVERY = 10


class Environment(NamedTuple):
    """A virtual environment: its folder, its description, and its requirement files in the order of installation."""

    folder: str
    words: str
    files: tuple[str, ...]
    sees_the_tree: bool


ENVIRONMENTS = {
    "dev": Environment(".venv", "everything that tests and the demo need", ("build.txt", "dev.txt"), True),
    "bench": Environment(".venv-bench", "the peers of the benchmarks", ("bench.txt",), False),
    "spark35": Environment(".venv-spark35", "Spark 3.5, as Glue 5.1 and EMR 7 have it", ("build.txt", "spark35.txt"), False),
    "docs": Environment(".venv-docs", "the tools that build the documentation's site", ("docs.txt",), True),
    "release": Environment(".venv-release", "the tools that check the packages of a release", ("release.txt",), False),
    "ministack": Environment(".venv-ministack", "the local AWS endpoint", ("ministack.txt",), False),
    "browser": Environment(".venv-browser", "what opens pages in a browser, for tests", ("browser.txt",), False),
}


class InstallError(Exception):
    """The environment could not be created; the message has the remedy."""


def say(words: str) -> None:
    """Print a line without buffering, also into a pipe."""
    print(words, flush=True)


def interpreter(environment: Environment) -> Path:
    """Return the Python of an environment."""
    return ROOT / environment.folder / "bin" / "python"


def fingerprint(environment: Environment) -> str:
    """Return a digest of the inputs of an environment: the Python, the requirement files, the place of this tree."""
    digest = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for name in environment.files:
        digest.update((REQUIREMENTS / name).read_bytes())
    return digest.hexdigest()


def create(environment: Environment) -> None:
    """Create the folder with an empty environment, over an incomplete one."""
    folder = ROOT / environment.folder
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False)
    if made.returncode:
        words = (made.stdout + made.stderr).strip()
        raise InstallError(
            f"{sys.executable} cannot make a virtual environment:\n{words}\n"
            "On Debian and Ubuntu: apt install python3-venv; or choose another Python: make PYTHON=/path/to/python3.12"
        )


def show(line: str, seen: int, total: int) -> int:
    """Translate one line of pip into progress; return how many packages have been seen."""
    if line.startswith(("Collecting ", "Processing ")):
        seen += 1
        if seen % SHOWN_EVERY == 0:
            say(f"  {seen} of about {total} packages")
    elif "Building wheel for" in line and "started" in line:
        say(f"  building {line.split()[3]} (a minute)")
    elif line.startswith("Installing collected") and seen > SHOWN_EVERY:
        say("  unpacking")
    return seen


def follow(lines: Iterable[str], log: TextIO, total: int) -> deque[str]:
    """Copy pip's output to the log, show progress, return its last lines."""
    last: deque[str] = deque(maxlen=20)
    seen = 0
    for line in lines:
        log.write(line)
        last.append(line)
        seen = show(line, seen, total)
    return last


def install(environment: Environment, name: str) -> None:
    """Install one requirement file, with required hashes, and build only from pinned packages."""
    requirements = REQUIREMENTS / name
    command = [str(interpreter(environment)), "-m", "pip", "install", "--require-hashes", "--no-build-isolation"]
    command += ["--no-input", "--progress-bar", "off", "-r", str(requirements)]
    log = ROOT / "build" / "setup" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    total = sum("==" in line and not line.startswith(" ") for line in requirements.read_text().splitlines())
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet)
    with pip, log.open("w") as kept:
        last = follow(pip.stdout or (), kept, total)
    if pip.returncode:
        raise InstallError(f"pip failed on requirements/{name} (all of it in {log}):\n{''.join(last)}")


def point_at_the_tree(environment: Environment) -> None:
    """Let the environment import the library and the repository's own packages from the working tree."""
    (packages,) = (ROOT / environment.folder / "lib").glob("python3*/site-packages")
    (packages / "sedano-tree.pth").write_text(f"{ROOT / 'layers/sedano/python'}\n{ROOT}\n")


def ensure(environment: Environment) -> None:
    """Create the environment unless it exists and was created from the same files."""
    stamp = ROOT / environment.folder / "made-from"
    wanted = fingerprint(environment)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    began = time.monotonic()
    say(f"{environment.folder}: {environment.words} (once; downloads packages that are not in pip's cache)")
    create(environment)
    for name in environment.files:
        install(environment, name)
    if environment.sees_the_tree:
        point_at_the_tree(environment)
    stamp.write_text(wanted)
    say(f"{environment.folder}: ready after {time.monotonic() - began:.0f} s")


def main() -> int:
    """Create the requested environments, one process at a time."""
    if sys.version_info < OLDEST:
        version = ".".join(str(part) for part in sys.version_info[:3])
        say(f"sedano needs Python 3.11 or later; {sys.executable} is {version}. Try: make PYTHON=/path/to/python3.12")
        return 1
    parser = argparse.ArgumentParser(description="Make the project's virtual environments.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(ENVIRONMENTS)} (default: all)")
    names = parser.parse_args().names or list(ENVIRONMENTS)
    if unknown := sorted(set(names) - set(ENVIRONMENTS)):
        parser.error(f"no environment is called {', '.join(unknown)}; choose from {', '.join(ENVIRONMENTS)}")
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            for name in names:
                ensure(ENVIRONMENTS[name])
        except InstallError as error:
            say(str(error))
            return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
