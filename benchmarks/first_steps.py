"""The first steps of a user: the size of the install, and the time and the commands to a first task, test and deployment.

The wheel is built from this clone and installed into empty environments, with an empty HOME, as by a user; then a project is made and
run. Sizes, packages, commands and lines are the same everywhere; seconds are those of this machine, with its present pip cache.
"""

from __future__ import annotations

import io
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tokenize
import venv
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

from benchmarks.report import Entry, Section, Target
from sedano.deploy.cdk_environment import OWN
from sedano.local import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"
EXTRAS = {"sedano": "", "sedano[dev]": "[dev]"}
ROUNDS = 5
SECONDS = 180.0
"""How long `sedano dev` may run: a busy machine takes longer."""
MOST_HELP_MS, MOST_COMMANDS, MOST_SECONDS, MOST_RELOAD_S = 80, 2, 10, 1
NOTHING: Mapping[str, str] = MappingProxyType({})
NOT_COUNTED = ("pip", "setuptools", "_distutils_hack", "distutils-precedence.pth", "wheel")
"""The packages of an empty environment."""
COMMANDS = (("new", "shop"), ("dev",))
"""The commands until a task can run; `call` publishes it."""
DEPLOYMENT = (("new", "shop"), ("deploy", "--yes", "--set", "local=true"))
"""The commands until a task has run on a stage: the second one prepares the account and runs a task. The setting is for the endpoint."""
HOW = (
    "the built wheel in empty environments, with an empty HOME; MB of site-packages without pip; seconds from the first command to the\n"
    "  result, without the install; reload from the save of a file to the line that reports it ready; lines without blanks and comments;\n"
    "  the deployment into an empty account on the local endpoint, which answers sooner than AWS; the CDK is installed before"
)


class Installed(NamedTuple):
    """An environment with the package: its Python, how long the install took, and its size."""

    python: Path
    seconds: float
    megabytes: float
    packages: int


def section(progress: Callable[[], None]) -> Section:
    """Return the numbers for the report."""
    with tempfile.TemporaryDirectory(prefix="sedano-first-") as scratch:
        folder = Path(scratch)
        wheel = _wheel(folder)
        progress()
        installed = {}
        for name, extra in EXTRAS.items():
            installed[name] = _installed(folder / (name.strip("]").replace("[", "-")), wheel, extra)
            progress()
        python = installed["sedano[dev]"].python
        entries = [entry for name, one in installed.items() for entry in _sizes(name, one)]
        return Section("First steps", HOW, [*entries, *_taken(folder, python, progress), *_deployed(folder, python), *_written()])


def lines(code: str) -> int:
    """Return the number of lines of Python that are neither blank nor only a comment; lines of docstrings count."""
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(code).readline) if one.type not in ignored]
    return len({number for one in tokens for number in range(one.start[0], one.end[0] + 1)})


def written(page: str) -> dict[str, int]:
    """Return the lines of each file that the reader of a *page* writes, in the final version of the file.

    The first line of a block names the file, `# shop/tasks.py`, or adds to it, `# add to shop/tasks.py`.
    """
    files: dict[str, str] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        head, _, code = block.partition("\n")
        if (named := re.fullmatch(r"# (add to )?([\w/]+\.py)", head)) is not None:
            files[named[2]] = (files.get(named[2], "") + "\n" + code) if named[1] else code
    return {name: lines(code) for name, code in files.items()}


def size(site: Path, left_out: Iterable[str] = NOT_COUNTED) -> tuple[int, int]:
    """Return the bytes below *site* and how many packages it has, except the packages *left_out*."""
    named = re.compile(f"({'|'.join(map(re.escape, left_out))})(-.*)?")
    names = [path for path in site.iterdir() if not named.fullmatch(path.name)]
    files = [file for path in names for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return sum(file.stat().st_size for file in files), sum(path.suffix == ".dist-info" for path in names)


def _wheel(folder: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    return next(folder.glob("*.whl"))


def _installed(folder: Path, wheel: Path, extra: str) -> Installed:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    seconds = _run([str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", f"{wheel}{extra}"], folder)
    (site,) = (folder / "lib").glob("python3*/site-packages")
    found, packages = size(site)
    return Installed(python, seconds, found / 1e6, packages)


def _sizes(name: str, one: Installed) -> list[Entry]:
    return [
        Entry(f"{name}: installed", one.megabytes, "MB", more={"packages": one.packages}),
        Entry(f"{name}: install", one.seconds, "s"),
    ]


def _taken(folder: Path, python: Path, progress: Callable[[], None]) -> list[Entry]:
    """Make a project, and return the entries about its first task, a reload and its first test."""
    home = folder / "home"
    home.mkdir()
    sedano = [str(python.parent / "sedano")]
    began = time.monotonic()
    _run([*sedano, *COMMANDS[0]], home, home)
    project = home / "shop"
    with _dev([*sedano, *COMMANDS[1]], project, home) as said:
        _until(said, "ready in")
        _run([*sedano, "call", "greet", "Ada", "--wait"], project, home)
        first = time.monotonic() - began
        reloads = [_reloaded(project / "shop" / "tasks.py", said, number) for number in range(ROUNDS)]
    progress()
    helps = [_cpu([*sedano, "--help"], project, home) * 1e3 for _ in range(ROUNDS)]
    _run([str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", "pytest"], home)
    test = _run([str(python), "-m", "pytest", "-q"], project, home)
    progress()
    return [
        Entry("commands until a task can run", len(COMMANDS), "", Target(MOST_COMMANDS)),
        Entry("until the first task's result", first, "s", Target(MOST_SECONDS)),
        Entry("the tests of a new project", test, "s"),
        Entry("reload", statistics.median(reloads), "s", Target(MOST_RELOAD_S), {"worst": max(reloads)}),
        Entry("sedano --help", statistics.median(helps), "ms CPU", Target(MOST_HELP_MS), {"best": min(helps)}),
    ]


def _deployed(folder: Path, python: Path) -> list[Entry]:
    """Make a project, deploy it into an empty account, and return the entries about that."""
    home = folder / "deploying"
    home.mkdir()
    sedano = [str(python.parent / "sedano")]
    new, deploy = DEPLOYMENT
    with Endpoint(ENDPOINT_PYTHON, folder / "endpoint") as account:
        more = {**account.environment, OWN: sys.executable}
        seconds = _run([*sedano, *new], home, home) + _run([*sedano, *deploy], home / "shop", home, more)
    return [Entry("commands until a deployed task", len(DEPLOYMENT), ""), Entry("until the first deployed task's result", seconds, "s")]


def _written() -> list[Entry]:
    found = written(TUTORIAL.read_text(encoding="utf-8"))
    tests = sum(number for name, number in found.items() if name.startswith("tests/"))
    return [Entry("lines of the tutorial's app", sum(found.values()) - tests, "", more={"of its test": tests})]


def _environment(home: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SEDANO_", "AWS_", "PYTHON", "VIRTUAL_ENV"))}
    return {**own, "HOME": str(home), "NO_COLOR": "1"}


def _run(command: list[str], folder: Path, home: Path | None = None, more: Mapping[str, str] = NOTHING) -> float:
    """Run *command* with the variables *more*, and return how many seconds it took."""
    began = time.monotonic()
    subprocess.run(command, cwd=folder, env={**_environment(home), **more} if home else None, capture_output=True, check=True)
    return time.monotonic() - began


def _cpu(command: list[str], folder: Path, home: Path) -> float:
    """Run *command*, and return the seconds of CPU that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command, folder, home)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@contextmanager
def _dev(command: list[str], project: Path, home: Path) -> Iterator[IO[str]]:
    """Run `sedano dev` in *project*, yield its output, and stop it at the end."""
    nothing, pipe, both = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
    running = subprocess.Popen(command, cwd=project, env=_environment(home), text=True, stdin=nothing, stdout=pipe, stderr=both)
    watchdog = threading.Timer(SECONDS, running.terminate)
    watchdog.start()
    try:
        if running.stdout is None:
            raise RuntimeError("no pipe")
        yield running.stdout
    finally:
        watchdog.cancel()
        running.terminate()
        running.communicate()


def _until(said: IO[str], words: str) -> None:
    """Read until a line has *words*.

    Raises:
        RuntimeError: the command ended without such a line.
    """
    read = []
    for line in said:
        read.append(line)
        if words in line:
            return
    raise RuntimeError(f"sedano dev ended without a line that has {words!r}:\n{''.join(read)}")


def _reloaded(module: Path, said: IO[str], number: int) -> float:
    """Save *module*, and return the seconds until the new code is ready."""
    began = time.monotonic()
    module.write_text(f"{module.read_text(encoding='utf-8')}# {number}\n", encoding="utf-8")
    _until(said, "ready in")
    return time.monotonic() - began
