"""What another CDK app installs is built from a clone and from an sdist, is whole, typed and licensed, and says when pip is missing."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from sedano.local.synthesis import ROOT

INFRA = ROOT / "infra"


def _built(directory: Path, kind: str, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=directory, capture_output=True, check=True)
    (found,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is built from a clone."""
    return _built(INFRA, "wheel", tmp_path_factory.mktemp("wheel"))


def _names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_an_sdist_becomes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(_built(INFRA, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    again = _built(unpacked, "wheel", tmp_path / "again")
    assert _names(again) == _names(wheel)
    carried = {name.removeprefix("sedano_cdk/deployed/") for name in _names(again)}
    assert {"functions/worker/handler.py", "layers/sedano/python/sedano/__init__.py", "glue_jobs/history.py"} < carried
    assert "requirements/layer.txt" in carried


def test_it_is_typed_and_licensed(wheel: Path) -> None:
    said = tomllib.loads((INFRA / "pyproject.toml").read_text())["project"]
    assert "Typing :: Typed" in said["classifiers"]
    assert "sedano_cdk/py.typed" in _names(wheel)
    (licence,) = [name for name in _names(wheel) if name.endswith("licenses/LICENSE")]
    assert zipfile.ZipFile(wheel).read(licence) == (ROOT / "LICENSE").read_bytes()


def test_it_brings_no_command_that_needs_a_clone(wheel: Path) -> None:
    """Each of its modules imports, so none leans on one that was left out."""
    modules = sorted(name.removesuffix(".py").replace("/", ".") for name in _names(wheel) if name.count("/") == 1 and name.endswith(".py"))
    assert "sedano_cdk.cost" in modules
    script = "\n".join(f"import {module.removesuffix('.__init__')}" for module in modules)
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    done = subprocess.run([sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_brings_pip_and_without_pip_says_how_to_get_it() -> None:
    """Without site packages this interpreter has none, as an environment that uv makes."""
    assert any(need.startswith("pip") for need in tomllib.loads((INFRA / "pyproject.toml").read_text())["project"]["dependencies"])
    script = "from pathlib import Path; from infra.assets import install; install(Path('requirements.txt'), Path('target'))"
    done = subprocess.run([sys.executable, "-S", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "has no pip, which installs packages for Lambda: `uv pip install pip` or `python -m ensurepip` adds it" in done.stderr


def test_every_extra_of_the_library_is_needed_by_something() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    imported = {name for path in (ROOT / "layers").rglob("*.py") for name in ("pyspark", "yaml") if name in path.read_text()}
    assert {"yaml": "yaml", "spark": "pyspark"}.keys() == extras.keys()
    assert imported == {"yaml", "pyspark"}
