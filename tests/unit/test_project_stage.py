"""`sedano dev --aws` finds a Python with the local endpoint, or makes an environment for it; other options of `sedano dev` are refused."""

import sys
from pathlib import Path

import pytest

from sedano.cli import main
from sedano.deploy.cdk_environment import constructs
from sedano.errors import UsageError
from sedano.local.project_stage import MINISTACK, OWN, PINS, endpoint_python


def test_the_named_python_wins_and_a_missing_one_is_refused(tmp_path: Path) -> None:
    assert endpoint_python(tmp_path / PINS, print, {OWN: sys.executable}) == Path(sys.executable)
    with pytest.raises(UsageError, match=f"{OWN} names .*nowhere, which is missing; name a Python with ministack"):
        endpoint_python(tmp_path / PINS, print, {OWN: str(tmp_path / "nowhere")})


def test_the_environment_of_a_clone_is_used_before_another_one_is_made(tmp_path: Path) -> None:
    clone = tmp_path / "python"
    clone.touch()
    assert endpoint_python(tmp_path / "missing.txt", print, {}, clone) == clone


def test_without_a_clone_an_environment_is_made_once_and_apart_from_that_of_the_cdk(tmp_path: Path) -> None:
    pins, said = tmp_path / PINS, list[str]()
    pins.write_text("# no package\n")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path)}  # no uv: by venv
    made = [endpoint_python(pins, said.append, environment, tmp_path / "no clone") for _ in range(2)]
    assert made[0] == made[1]
    assert made[0].is_file()
    assert made[0].parents[1].name.startswith(f"{MINISTACK.name}-")
    assert len(said) == 1, said


def test_the_pins_of_the_endpoint_are_beside_those_of_the_cdk() -> None:
    assert "ministack==" in constructs().pins.with_name(PINS).read_text()


@pytest.mark.parametrize("option", [("--once",), ("--fresh",), ("--no-web",), ("--no-reload",), ("--port", "1"), ("--web-port", "1")])
def test_an_option_of_the_development_server_is_refused(
    option: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dev", "--app", "shop:app", "--code", str(tmp_path), "--aws", *option]) == 2
    assert f"{option[0]}: `sedano dev --aws` runs deployed functions and does not take it" in capsys.readouterr().err
