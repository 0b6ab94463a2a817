"""The CDK gets an environment of its own, once, by uv or by venv; a machine that has it in another way names it."""

import sys
import threading
from pathlib import Path

import pytest

from sedano.deploy.cdk_environment import CDK, OWN, Constructs, constructs, toolset
from sedano.deploy.failure import DeployError
from sedano.deploy.pinned_environment import commands, make, place


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    """Pins of no package at all: an environment is made of them without a network."""
    file = tmp_path / "deploy.txt"
    file.write_text("# nothing\n")
    return file


def test_uv_needs_no_pip_and_venv_needs_no_uv(pins: Path) -> None:
    by_uv, by_venv = (commands(Path("/there"), pins, uv, "python3") for uv in ("/bin/uv", None))
    assert by_uv[0] == ["/bin/uv", "venv", "--quiet", "--python", "python3", "/there"]
    assert by_uv[1][:3] == ["/bin/uv", "pip", "install"]
    assert by_venv[0] == ["python3", "-m", "venv", "/there"]
    assert all("--require-hashes" in command[1] for command in (by_uv, by_venv))


def test_the_environment_is_made_once_and_two_at_the_same_time_make_one(pins: Path, tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path)}  # no uv: by venv
    folder, said = place(CDK, pins, environment), list[str]()
    assert folder.is_relative_to(tmp_path / "cache" / "sedano")
    threads = [threading.Thread(target=make, args=(CDK, folder, pins, said.append, environment)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (folder / "bin" / "python").exists()
    assert len(said) == 1, said


def test_other_pins_are_another_environment(pins: Path, tmp_path: Path) -> None:
    before = place(CDK, pins, {"XDG_CACHE_HOME": str(tmp_path)})
    pins.write_text("# something else\n")
    assert place(CDK, pins, {"XDG_CACHE_HOME": str(tmp_path)}) != before


def test_a_failure_says_which_command_and_what_helps(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("aws-cdk-lib==2.275.0\n")  # without its hash
    uv = Path(sys.executable).with_name("uv")
    with pytest.raises(DeployError, match=rf"pip install .* failed: .*; install uv or python3-venv .* in {OWN}"):
        make(CDK, tmp_path / "env", wrong, print, {"PATH": str(uv.parent), "UV_OFFLINE": "1", "HOME": str(tmp_path)})
    assert not (tmp_path / "env" / "complete").exists()


def test_a_python_that_is_named_has_to_have_the_cdk(pins: Path, tmp_path: Path) -> None:
    found = Constructs("sedano.cdk.app", (), pins)
    with pytest.raises(DeployError, match=rf"{OWN} names .*nowhere, which has no aws_cdk"):
        toolset(found, print, {OWN: str(tmp_path / "nowhere")})
    assert toolset(found, print, {OWN: sys.executable}).python == Path(sys.executable)


def test_constructs_are_those_of_the_package_before_those_of_a_clone(tmp_path: Path) -> None:
    package, clone = tmp_path / "site" / "sedano", tmp_path / "clone"
    package.mkdir(parents=True)
    with pytest.raises(DeployError, match="has no constructs: install the whole package"):
        constructs(package, clone)
    (clone / "infra").mkdir(parents=True)
    assert constructs(package, clone).module == "infra.app"
    (package / "cdk").mkdir()
    assert constructs(package, clone).module == "sedano.cdk.app"
    assert constructs().pins.is_file()
