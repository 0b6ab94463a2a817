"""The one distribution holds the library, the constructs and what they deploy; it is the same bytes from any tree."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from infra import assets
from infra.packages import library_packages
from sedano.local.synthesis import ROOT
from sedano.web.respond import ASSETS

SAID = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _built(directory: Path, kind: str, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=directory, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}, capture_output=True, check=True)
    (found,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is built from a clone."""
    return _built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def _names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_it_holds_everything_below_one_name(wheel: Path) -> None:
    assert {name.split("/")[0] for name in _names(wheel)} == {"sedano", f"sedano-{SAID['version']}.dist-info"}
    carried = {name.removeprefix("sedano/cdk/deployed/") for name in _names(wheel)}
    assert {"functions/worker/handler.py", "glue_jobs/history.py", "requirements/layer.txt", "requirements/ministack.txt"} < carried
    assert {"sedano/deploy/bootstrap.yaml", "sedano/cdk/deployed/requirements/deploy.txt"} < _names(wheel)
    assert "glue_jobs/pipeline/quiet/log4j2.properties" in carried
    assert {"sedano/__init__.py", "sedano/py.typed", "sedano/cdk/__init__.py", "sedano/cdk/constructs/layers.py"} < _names(wheel)
    assert not [name for name in _names(wheel) if "__pycache__" in name or name.endswith((".pyc", "README.md"))]


def test_it_holds_the_templates_of_new_projects(wheel: Path) -> None:
    templates = ROOT / "layers/sedano/python/sedano/cli/templates"
    ours = {f"sedano/cli/templates/{path.relative_to(templates).as_posix()}" for path in templates.rglob("*.tmpl")}
    assert "sedano/cli/templates/every/dot-gitignore.tmpl" in ours
    assert ours == {name for name in _names(wheel) if name.startswith("sedano/cli/templates/")}


def test_it_holds_the_assets_of_the_pages(wheel: Path) -> None:
    assert {f"sedano/web/{file}" for file, _ in ASSETS.values()} < _names(wheel)


def test_an_sdist_becomes_the_same_wheel_byte_for_byte(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(_built(ROOT, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    for path in unpacked.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    assert _built(unpacked, "wheel", tmp_path / "again").read_bytes() == wheel.read_bytes()


def test_an_sdist_is_the_same_bytes_twice(tmp_path: Path) -> None:
    assert _built(ROOT, "sdist", tmp_path / "one").read_bytes() == _built(ROOT, "sdist", tmp_path / "two").read_bytes()


def test_it_is_typed_and_licensed(wheel: Path) -> None:
    assert "Typing :: Typed" in SAID["classifiers"]
    assert {"sedano/py.typed", "sedano/cdk/py.typed"} < _names(wheel)
    (licence,) = [name for name in _names(wheel) if name.endswith("licenses/LICENSE")]
    assert zipfile.ZipFile(wheel).read(licence) == (ROOT / "LICENSE").read_bytes()


def test_it_carries_the_packages_of_the_layer_so_that_a_deployment_downloads_none(wheel: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    script = "from sedano.cdk.packages import library_packages as found; print(found())"
    environment = {
        **os.environ, "PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path / "home"), "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    carried, installed = Path(done.stdout.strip()), library_packages()
    wanted = {path.relative_to(installed): path.read_bytes() for path in assets.sources(installed)}
    assert {path.relative_to(carried): path.read_bytes() for path in carried.rglob("*") if path.is_file()} == wanted


def test_the_archive_of_the_layer_is_the_same_bytes_whenever_it_is_made(tmp_path: Path) -> None:
    for name, when in (("one", 1_600_000_000), ("two", 1_700_000_000)):
        (tmp_path / name / "package").mkdir(parents=True)
        for file in ("b.py", "a.py", "package/__init__.py"):
            (tmp_path / name / file).write_text(file)
            os.utime(tmp_path / name / file, (when, when))
        assets.archive(tmp_path / name, tmp_path / f"{name}.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assets.unpack(tmp_path / "one.zip", tmp_path / "again")
    assert assets.digest(tmp_path / "again") == assets.digest(tmp_path / "one")


def test_it_brings_no_command_that_needs_a_clone(wheel: Path) -> None:
    """Each module of the constructs imports, so none leans on one that was left out."""
    names = sorted(name for name in _names(wheel) if name.startswith("sedano/cdk/") and name.count("/") == 2 and name.endswith(".py"))
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    assert "sedano.cdk.cost" in modules
    script = "\n".join(f"import {module}" for module in modules)
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    done = subprocess.run([sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_brings_pip_and_without_pip_says_how_to_get_it() -> None:
    """Without site packages this interpreter has none, as an environment that uv makes."""
    assert any(need.startswith("pip") for need in SAID["optional-dependencies"]["deploy"])
    script = "from pathlib import Path; from infra.assets import install; install(Path('requirements.txt'), Path('target'))"
    done = subprocess.run([sys.executable, "-S", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "has no pip, which installs packages for Lambda: `uv pip install pip` or `python -m ensurepip` adds it" in done.stderr


def test_every_extra_is_needed_by_something() -> None:
    trees = {
        "dev": ("layers", "click"), "yaml": ("layers", "yaml"), "spark": ("layers", "pyspark"), "fastapi": ("layers", "fastapi"),
        "flask": ("layers", "flask"), "django": ("layers", "django"), "trio": ("layers", "trio"),
        "deploy": ("infra", "aws_cdk"),
    }  # fmt: skip
    assert trees.keys() == SAID["optional-dependencies"].keys()
    for tree, module in trees.values():
        assert any(module in path.read_text() for path in (ROOT / tree).rglob("*.py"))
