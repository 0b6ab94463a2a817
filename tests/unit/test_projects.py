"""What `sedano new` makes: names that Python can import, and a folder that appears whole or not at all."""

import stat
import tomllib
from pathlib import Path

import pytest

from sedano.cli.projects import TEMPLATES, files, package, write
from sedano.errors import FolderExists, UsageError

EACH = pytest.mark.parametrize("template", TEMPLATES)
WHOLE = {
    ".github/workflows/ci.yml", ".gitignore", ".sedanoignore", "README.md", "pyproject.toml", "requirements.in", "requirements.txt",
    "my_shop/__init__.py", "my_shop/tasks.py", "tests/test_tasks.py",
}  # fmt: skip


@EACH
def test_every_template_has_all_that_a_project_needs_under_its_own_name(template: str) -> None:
    made = files("my-shop", template)
    assert made.keys() >= WHOLE
    assert list(made) == sorted(made)
    settings = tomllib.loads(made["pyproject.toml"])
    assert settings["project"]["name"] == "my-shop"
    app = settings["tool"]["sedano"]["app"]
    assert f"{app.partition(':')[0].replace('.', '/')}.py" in made
    assert settings["tool"]["pytest"]["ini_options"]["sedano_app"] == app
    assert 'Sedano("my-shop")' in made["my_shop/tasks.py"]
    assert not [path for path, text in made.items() if "$" in text.replace("${{", "") or "PACKAGE" in path or path.endswith(".tmpl")]


@EACH
def test_packages_that_are_deployed_are_pinned_with_their_hashes(template: str) -> None:
    made = files("shop", template)
    wanted = {line.partition(">")[0] for line in made["requirements.in"].splitlines() if line and not line.startswith("#")}
    pinned = [line for line in made["requirements.txt"].splitlines() if line and not line.startswith((" ", "#"))]
    assert wanted <= {line.partition("==")[0] for line in pinned}
    assert made["requirements.txt"].count("--hash=sha256:") >= len(pinned)
    assert all(line.endswith("\\") for line in pinned)


@pytest.mark.parametrize(("name", "expected"), [("shop", "shop"), ("my-shop", "my_shop"), ("shop2_eu", "shop2_eu"), ("a" * 40, "a" * 40)])
def test_a_name_becomes_a_package(name: str, expected: str) -> None:
    assert package(name) == expected


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "begin with a letter"),
        ("a" * 41, "1 to 40"),
        ("Shop", "lower-case"),
        ("2shop", "begin with a letter"),
        ("shop-", "between"),
        ("a--b", "between"),
        ("../shop", "begin with a letter"),
        ("shop\n", "begin with a letter"),
        ("ſhop", "begin with a letter"),
        ("class", "a keyword of Python"),
        ("match", "a keyword of Python"),
        ("json", "hide the module json"),
        ("tests", "hide the module tests"),
        ("sedano", "hide the module sedano"),
        ("django", "hide the module django"),
    ],
)
def test_a_name_that_cannot_be_imported_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        files(name)


def test_an_unknown_template_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=f"choose one of {', '.join(TEMPLATES)}"):
        files("shop", "flask")


def test_the_folder_appears_with_all_its_files_and_can_be_read_by_others(tmp_path: Path) -> None:
    made = files("shop")
    write(made, tmp_path / "shop")
    written = {path.relative_to(tmp_path / "shop").as_posix(): path for path in (tmp_path / "shop").rglob("*") if path.is_file()}
    assert {name: path.read_text(encoding="utf-8") for name, path in written.items()} == made
    assert stat.S_IMODE((tmp_path / "shop").stat().st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]


@pytest.mark.parametrize("kind", ["folder", "file", "broken link"])
def test_what_exists_is_refused_and_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "shop"
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / "nowhere")
    before = place.lstat()
    with pytest.raises(FolderExists, match="already exists and was not changed; choose another name"):
        write(files("shop"), place)
    assert place.lstat().st_mtime_ns == before.st_mtime_ns
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]


def test_nothing_is_left_when_a_file_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"shop\.py"):
        write({"shop.py": "", "shop.py/tasks.py": ""}, tmp_path / "shop")
    assert list(tmp_path.iterdir()) == []
