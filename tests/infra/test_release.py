"""A release is made whole or not at all, from what is committed, with a dated changelog and packages that are the same bytes again."""

import datetime as dt
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from requirements import changelog, release
from requirements.build_hook import IN_THE_WHEEL
from requirements.release import Packages, ReleaseError

DAY = dt.date(2026, 11, 23)
TOOLS = {"hatchling": Path(sys.executable), "twine": Path(sys.executable)}
OURS = f"3.{sys.version_info.minor}"
LOG = "# Changelog\n\n## Unreleased\n\n### Added\n- Tasks.\n\n## 0.0.9 - 2026-01-02\n\n- Nothing.\n"
PROJECT = f"""
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "sedano"
version = "0.1.0"
classifiers = ["Programming Language :: Python :: {OURS}"]

[tool.hatch.build]
only-include = ["sedano"]
"""


def git(repository: Path, *words: str) -> str:
    """Run git and return its output."""
    return subprocess.run(["git", *words], cwd=repository, capture_output=True, text=True, check=True).stdout.strip()


def commit(repository: Path, **files: str) -> None:
    """Write *files*, whose names have _ for the dot, and commit."""
    for name, text in files.items():
        (repository / name.replace("_", ".")).write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "a change")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone with a package, a changelog and an author."""
    root = tmp_path / "repository"
    (root / "sedano").mkdir(parents=True)
    (root / "sedano" / "__init__.py").write_text("")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "Anna")
    git(root, "config", "user.email", "anna@example.org")
    commit(root, pyproject_toml=PROJECT, CHANGELOG_md=LOG, _gitignore="dist/\n")
    return root


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with this Python, below the name of its version."""
    folder = tmp_path / "pythons"
    folder.mkdir()
    (folder / f"python{OURS}").symlink_to(sys.executable)
    return str(folder)


class Checks:
    """Notes what it was asked to check; fails when it is told to."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.seen: list[tuple[str, ...]] = []

    def __call__(self, packages: Packages, twine: Path, pythons: Mapping[str, Path], folder: Path, version: str) -> None:
        """Check."""
        assert all(package.is_file() for package in packages)
        self.seen.append((*pythons, version))
        if self.fails:
            raise ReleaseError("it does not import")


def state(repository: Path) -> tuple[str, str, str]:
    """The commit, the tags, and the changes of the tree."""
    return git(repository, "rev-parse", "HEAD"), git(repository, "tag"), git(repository, "status", "--porcelain")


def test_a_release_dates_the_changelog_tags_and_keeps_the_packages(repository: Path, path: str) -> None:
    checks = Checks()
    release.release(repository, "0.1.0", TOOLS, DAY, path, checks)
    assert checks.seen == [(OURS, "0.1.0")]
    assert "## Unreleased\n\n## 0.1.0 - 2026-11-23\n\n### Added\n- Tasks.\n" in (repository / "CHANGELOG.md").read_text()
    assert git(repository, "rev-parse", "v0.1.0^{commit}") == git(repository, "rev-parse", "HEAD")
    assert git(repository, "tag", "--list", "--format=%(contents)", "v0.1.0") == "sedano 0.1.0\n\n### Added\n- Tasks."
    assert git(repository, "log", "-1", "--format=%an %s") == "Anna release: 0.1.0"
    assert git(repository, "status", "--porcelain") == ""
    assert sorted(one.suffix for one in (repository / "dist").iterdir()) == [".gz", ".whl"]
    with pytest.raises(ReleaseError, match=r"the tag v0\.1\.0 exists"):
        release.release(repository, "0.1.0", TOOLS, DAY, path, checks)


def test_without_a_version_everything_is_checked_and_nothing_changes(
    repository: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, checks = state(repository), Checks()
    release.release(repository, None, TOOLS, DAY, path, checks)
    assert (checks.seen, state(repository)) == ([(OURS, "0.1.0")], before)
    assert not (repository / "dist").exists()
    said = capsys.readouterr().out
    assert "`make release VERSION=0.1.0` makes it" in said
    assert f"python3.{sys.version_info.minor + 1}: not checked" in said


def test_a_check_that_fails_leaves_no_commit_and_no_tag(repository: Path, path: str) -> None:
    before = state(repository)
    with pytest.raises(ReleaseError, match="it does not import"):
        release.release(repository, "0.1.0", TOOLS, DAY, path, Checks(fails=True))
    assert state(repository) == before


def test_a_tree_with_changes_is_refused_by_their_names(repository: Path, path: str) -> None:
    (repository / "new.py").write_text("")
    with pytest.raises(ReleaseError, match=r"not committed(.|\n)*new\.py"):
        release.release(repository, "0.1.0", TOOLS, DAY, path, Checks())


def test_another_version_than_that_of_the_package_is_refused(repository: Path, path: str) -> None:
    with pytest.raises(ReleaseError, match=r"VERSION=0\.2\.0, but pyproject\.toml has 0\.1\.0"):
        release.release(repository, "0.2.0", TOOLS, DAY, path, Checks())


def test_a_python_of_the_classifiers_that_is_missing_is_refused(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=rf"no python{OURS} on PATH"):
        release.release(repository, "0.1.0", TOOLS, DAY, str(tmp_path), Checks())


def test_without_a_version_a_missing_python_fails_the_check_after_all_others(
    repository: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = "Programming Language :: Python :: 3.8"
    commit(repository, pyproject_toml=PROJECT.replace("classifiers = [", f'classifiers = ["{absent}", '))
    before, checks = state(repository), Checks()
    with pytest.raises(ReleaseError, match=r"but the check is not complete: no python3\.8 on PATH.*`uv python install 3\.8`"):
        release.release(repository, None, TOOLS, DAY, path, checks)
    assert (checks.seen, state(repository)) == ([(OURS, "0.1.0")], before)
    said = capsys.readouterr().out
    assert "both packages have the same bytes" in said
    assert "python3.8: not checked" in said
    with pytest.raises(ReleaseError, match=r"^no python3\.8 on PATH"):
        release.release(repository, "0.1.0", TOOLS, DAY, path, checks)


def test_an_sdist_that_depends_on_more_than_the_sources_is_refused(repository: Path, path: str) -> None:
    hook = "\n[tool.hatch.build.targets.sdist.hooks.custom]\npath = 'hook.py'\n"
    code = """from pathlib import Path
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

class Again(BuildHookInterface):
    def initialize(self, version, build_data):
        mark = Path("sedano/again.txt")
        mark.write_text(mark.read_text() + "again" if mark.exists() else "once")
"""
    only = PROJECT.replace('["sedano"]', '["sedano", "hook.py"]').replace(
        "[tool.hatch.build]", '[tool.hatch.build.targets.wheel]\nexclude = ["again.txt"]\n[tool.hatch.build]'
    )
    commit(repository, pyproject_toml=only + hook, hook_py=code)
    with pytest.raises(ReleaseError, match="the sdist that is built from the sdist differs from that of the clone"):
        release.release(repository, "0.1.0", TOOLS, DAY, path, Checks())


def test_a_commit_that_was_made_meanwhile_ends_the_release_without_a_tag(repository: Path, path: str) -> None:
    def another(*_: object) -> None:
        commit(repository, notes_txt="meanwhile")

    with pytest.raises(ReleaseError, match="merge"):
        release.release(repository, "0.1.0", TOOLS, DAY, path, another)
    assert git(repository, "tag") == ""


def test_a_shim_without_its_python_is_passed_over(tmp_path: Path, path: str) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    shim = shims / f"python{OURS}"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    found = release.interpreters([f"Programming Language :: Python :: {OURS}"], os.pathsep.join([str(shims), path]))
    assert found.found == {OURS: Path(path) / f"python{OURS}"}


def test_the_pythons_of_a_release_are_those_of_the_classifiers_in_order() -> None:
    classifiers = ["Typing :: Typed", *(f"Programming Language :: Python :: {each}" for each in ("3", "3.9", "3.13", "3.11"))]
    assert release.required(classifiers) == ["3.9", "3.11", "3.13"]


def test_a_wheel_that_depends_on_more_than_the_sources_is_refused(repository: Path, path: str) -> None:
    hook = "\n[tool.hatch.build.targets.wheel.hooks.custom]\npath = 'hook.py'\n[tool.hatch.build.targets.sdist]\ninclude = ['hook.py']\n"
    code = """import os
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

class Where(BuildHookInterface):
    def initialize(self, version, build_data):
        with open("sedano/where.py", "w") as file:
            file.write(f"PLACE = {os.getcwd()!r}")
"""
    commit(repository, pyproject_toml=PROJECT.replace('["sedano"]', '["sedano", "hook.py"]') + hook, hook_py=code)
    with pytest.raises(ReleaseError, match="from the sdist differs from that of the clone"):
        release.release(repository, "0.1.0", TOOLS, DAY, path, Checks())


def test_a_wheel_without_the_packages_of_the_layer_is_refused(tmp_path: Path) -> None:
    for name, files in (("bare.whl", ["sedano/__init__.py"]), ("whole.whl", ["sedano/__init__.py", IN_THE_WHEEL])):
        with zipfile.ZipFile(tmp_path / name, "w") as written:
            for file in files:
                written.writestr(file, "")
    with pytest.raises(ReleaseError, match=r"bare\.whl lacks sedano/cdk/deployed/layer\.zip"):
        release.require_the_layer(tmp_path / "bare.whl")
    release.require_the_layer(tmp_path / "whole.whl")


def test_a_changelog_that_does_not_fit_is_refused_with_what_to_write() -> None:
    empty = "# Changelog\n\n## Unreleased\n\n## 0.0.9 - 2026-01-02\n"
    newer = LOG.replace("0.0.9 -", "0.1.0 -")
    undated = empty.replace("0.0.9 - 2026-01-02", "0.1.0")
    for text, words in (
        (empty, "has no changes below Unreleased"), (newer, "raise the version"), (undated, "write `## 0.1.0 - 2026-11-23`"),
        ("# Changelog\n", "has no section Unreleased"),
    ):  # fmt: skip
        with pytest.raises(changelog.ChangelogError, match=words):
            changelog.dated(text, "0.1.0", DAY)


def test_a_section_that_has_its_date_keeps_it() -> None:
    text = "## Unreleased\n\n## 0.1.0 - 2026-10-01\n\n- Tasks.\n"
    assert changelog.dated(text, "0.1.0", DAY) == text
    assert changelog.date_of(text, "0.1.0") == dt.date(2026, 10, 1)


def test_the_changelog_of_this_repository_has_a_place_for_changes() -> None:
    text = (release.ROOT / "CHANGELOG.md").read_text()
    assert changelog.section(text, changelog.UNRELEASED) is not None
