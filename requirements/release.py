"""Makes a release: dates the changelog, builds the packages, checks them as users get them, and tags the commit.

    python -m requirements.release            does all of it in a clone that is deleted: nothing changes here
    python -m requirements.release 0.1.0      afterwards commits the dated changelog, tags v0.1.0 and puts the packages into dist/

Nothing is pushed or uploaded. A release needs a clean tree, a version that has no tag, changes in CHANGELOG.md, and each Python that the
package names in its classifiers; the next newer Python is tried if it is installed. Without a version, a missing Python does not prevent
the other checks, and the command fails at the end. Everything happens in a clone of the commit first, so a failure does not change the
repository.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from requirements import changelog

ROOT = Path(__file__).resolve().parent.parent
LAYER = "sedano/cdk/deployed/layer.zip"
"""The archive of the packages of the library's layer in the wheel; without it each deployment downloads them."""
CLASSIFIED = re.compile(r"^Programming Language :: Python :: (3\.\d+)$")
ANOTHER_TIME = 1_000_000_000
"""The modification time of each file of the unpacked sdist; it differs from the times in the clone."""
PROJECT = "release-check"
INSTALLED = "import sedano, importlib.metadata as m; assert m.version('sedano') == sedano.__version__; print(sedano.__version__)"


class ReleaseError(Exception):
    """A release is not possible; the message has the remedy."""


class Packages(NamedTuple):
    """The files that are released."""

    wheel: Path
    sdist: Path


class Interpreters(NamedTuple):
    """The Pythons with which a release is checked, by version, and those that this machine does not have."""

    found: dict[str, Path]
    required: list[str]
    missing: list[str]


def say(words: str) -> None:
    """Print a line without buffering, also into a pipe."""
    print(words, flush=True)


def run(command: Sequence[str | Path], folder: Path, **more: str) -> str:
    """Run *command* in *folder* and return its output.

    Raises:
        ReleaseError: the command failed; the message has its last lines.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env={**environment, **more}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise ReleaseError(f"`{' '.join(words)}` failed:\n{last}")
    return done.stdout.strip()


def required(classifiers: Iterable[str]) -> list[str]:
    """Return the versions of Python that the *classifiers* of the package name."""
    return sorted((found[1] for each in classifiers if (found := CLASSIFIED.match(each))), key=_number)


def interpreters(classifiers: Iterable[str], path: str) -> Interpreters:
    """Return the interpreters on *path* of each version that the *classifiers* name, and of the version after them."""
    needed = required(classifiers)
    wanted = [*needed, f"3.{_number(needed[-1]) + 1}"]
    found = {version: python for version in wanted if (python := _interpreter(version, path)) is not None}
    return Interpreters(found, needed, [version for version in wanted if version not in found])


def _number(version: str) -> int:
    return int(version.removeprefix("3."))


def _interpreter(version: str, path: str) -> Path | None:
    """Return the first `python3.x` on *path* that runs and has that version: a shim can name a Python that is not installed."""
    asks = "import sys, venv; print('.'.join(map(str, sys.version_info[:2])))"
    for folder in path.split(os.pathsep):
        candidate = Path(folder) / f"python{version}"
        if candidate.is_file():
            done = subprocess.run([str(candidate), "-I", "-c", asks], capture_output=True, text=True, check=False)
            if done.stdout.strip() == version:
                return candidate
    return None


def require_that_it_can_be_made(root: Path, version: str) -> None:
    """Refuse a tree with changes that are not committed, and a version that has a tag.

    Raises:
        ReleaseError: the message names the changes or the tag.
    """
    changed = run(["git", "status", "--porcelain"], root)
    if changed:
        raise ReleaseError(f"the tree has changes that are not committed: commit or remove them\n{changed}")
    if run(["git", "tag", "--list", f"v{version}"], root):
        raise ReleaseError(f"the tag v{version} exists: raise the version in pyproject.toml and in sedano/__init__.py")


def cloned(root: Path, folder: Path, version: str, day: dt.date) -> Path:
    """Clone the commit of *root* into *folder* and commit the dated changelog there, unless it has a date already.

    Raises:
        ReleaseError: the changelog does not fit, or git has no author.
    """
    clone = folder / "clone"
    run(["git", "clone", "--quiet", "--no-hardlinks", root, clone], folder)
    said = clone / "CHANGELOG.md"
    text = said.read_text(encoding="utf-8")
    try:
        new = changelog.dated(text, version, day)
    except changelog.ChangelogError as error:
        raise ReleaseError(str(error)) from error
    if new != text:
        said.write_text(new, encoding="utf-8")
        author = [word for name in ("name", "email") for word in ("-c", f"user.{name}={run(['git', 'config', f'user.{name}'], root)}")]
        run(["git", *author, "commit", "--quiet", "--all", "--message", f"release: {version}"], clone)
    return clone


def built(clone: Path, hatchling: Path) -> Packages:
    """Build both packages from *clone*, and once more from the sdist, with other times of all files.

    Raises:
        ReleaseError: the two wheels or the two sdists differ.
    """
    epoch = run(["git", "log", "-1", "--format=%ct"], clone)
    build: list[str | Path] = [hatchling, "-m", "hatchling", "build", "-d", "dist"]
    run(build, clone, SOURCE_DATE_EPOCH=epoch)
    packages = Packages(*(next((clone / "dist").glob(each)) for each in ("*.whl", "*.tar.gz")))
    with tempfile.TemporaryDirectory(dir=clone.parent) as scratch:
        with tarfile.open(packages.sdist) as archive:
            archive.extractall(scratch, filter="data")
        (unpacked,) = Path(scratch).iterdir()
        for path in unpacked.rglob("*"):
            os.utime(path, (ANOTHER_TIME, ANOTHER_TIME))
        run(build, unpacked, SOURCE_DATE_EPOCH=epoch)
        for package in packages:
            if (unpacked / "dist" / package.name).read_bytes() != package.read_bytes():
                kind = "wheel" if package == packages.wheel else "sdist"
                reason = "its contents depend on something outside the sources"
                raise ReleaseError(f"the {kind} that is built from the sdist differs from that of the clone: {reason}")
    say("reproducible: built from the sdist, with other times of all files, both packages have the same bytes")
    return packages


def check_in_an_environment(wheel: Path, python: Path, folder: Path, version: str) -> None:
    """Install *wheel* into an empty environment of *python*, import it, then make a project and run its tests.

    Raises:
        ReleaseError: a command failed, or the installed version differs.
    """
    run([python, "-m", "venv", "venv"], folder)
    inside = folder / "venv" / "bin"
    pip: list[str | Path] = [inside / "python", "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    run([*pip, wheel], folder)
    answered = [run([inside / "python", "-P", "-c", INSTALLED], folder)]
    run([*pip, f"{wheel}[dev]", "pytest"], folder)
    run([inside / "python", "-m", "pip", "check"], folder)
    answered.append(run([inside / "sedano", "version"], folder).splitlines()[0].removeprefix("sedano "))
    if answered != [version, version]:
        raise ReleaseError(f"the installed package reports version {' and '.join(answered)}, but pyproject.toml has {version}")
    run([inside / "sedano", "new", PROJECT], folder)
    run([inside / "python", "-m", "pytest", "-q"], folder / PROJECT)


def require_the_layer(wheel: Path) -> None:
    """Refuse a *wheel* without the packages of the library's layer: a build without pip makes such a wheel.

    Raises:
        ReleaseError: the wheel lacks their archive.
    """
    if LAYER not in zipfile.ZipFile(wheel).namelist():
        raise ReleaseError(f"{wheel.name} lacks {LAYER}: the environment that builds it needs pip (`make setup`)")


def check(packages: Packages, twine: Path, pythons: Mapping[str, Path], folder: Path, version: str) -> None:
    """Check the metadata of *packages*, and install the wheel with each of *pythons*."""
    require_the_layer(packages.wheel)
    run([twine, "-m", "twine", "check", "--strict", *packages], folder)
    say("twine check: the metadata of both packages is valid")
    for name, python in pythons.items():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            check_in_an_environment(packages.wheel, python, Path(scratch), version)
        say(f"python{name}: installed, imported, and a new project's tests pass ({python})")


def keep(root: Path, clone: Path, version: str) -> None:
    """Bring the commit of *clone* into *root*, tag it, and put the packages into dist/.

    Raises:
        ReleaseError: the branch or the tree has changed in the meantime.
    """
    text = (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    run(["git", "fetch", "--quiet", clone, "HEAD"], root)
    run(["git", "merge", "--quiet", "--ff-only", "FETCH_HEAD"], root)
    notes = f"sedano {version}\n\n{changelog.section(text, version)}\n"
    run(["git", "tag", "--annotate", "--cleanup=verbatim", "--message", notes, f"v{version}"], root)
    shutil.rmtree(root / "dist", ignore_errors=True)
    shutil.copytree(clone / "dist", root / "dist", ignore=shutil.ignore_patterns(".*"))


Check = Callable[[Packages, Path, Mapping[str, Path], Path, str], None]
"""The type of `check`: the packages, the Python with twine, the Pythons by version, a folder for their environments, and the version."""


def release(
    root: Path, named: str | None, tools: Mapping[str, Path], day: dt.date, path: str, check: Check = check
) -> None:  # fmt: skip
    """Check the release of the tree *root*; make it if a version is *named*.

    Args:
        root: the repository.
        named: the version to release; None changes nothing.
        tools: the Pythons that have `hatchling` and `twine`.
        day: the date of the section in the changelog.
        path: where interpreters are, as in PATH.
        check: the check that the packages must pass.

    Raises:
        ReleaseError: the release cannot be made.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version, pythons = project["version"], interpreters(project["classifiers"], path)
    if named not in (None, version):
        raise ReleaseError(f"VERSION={named}, but pyproject.toml has {version}: raise it there and in sedano/__init__.py first")
    require_that_it_can_be_made(root, version)
    lacking = [each for each in pythons.required if each in pythons.missing]
    without = f"no python{', python'.join(lacking)} on PATH, which the classifiers name: `uv python install {' '.join(lacking)}`"
    if lacking and (named is not None or not pythons.found):
        raise ReleaseError(without)
    with tempfile.TemporaryDirectory() as scratch:
        clone = cloned(root, Path(scratch), version, day)
        check(built(clone, tools["hatchling"]), tools["twine"], pythons.found, Path(scratch), version)
        for each in pythons.missing:
            say(f"python{each}: not checked, because it is not on PATH (`uv python install {each}`)")
        if lacking:
            raise ReleaseError(f"all checks that ran have passed, but the check is not complete: {without}")
        if named is None:
            say(f"sedano {version} can be released; nothing was changed. `make release VERSION={version}` makes it")
            return
        keep(root, clone, version)
    say(f"v{version} is tagged, and dist/ has its packages. Publish: git push --follow-tags, then `twine upload dist/*`")


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Check a release, and make it when its version is named.")
    parser.add_argument("version", nargs="?", metavar="VERSION", help="the version to release (default: change nothing)")
    named = parser.parse_args().version
    tools = {"hatchling": ROOT / ".venv" / "bin" / "python", "twine": ROOT / ".venv-release" / "bin" / "python"}
    try:
        release(ROOT, named, tools, dt.datetime.now(dt.UTC).date(), os.environ["PATH"])
    except ReleaseError as error:
        print(f"make release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
