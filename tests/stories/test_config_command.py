"""`sedano config`, `version` and `completion`; and the settings of pyproject.toml in a verb that reads the app."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

import sedano
from sedano.cli import main
from sedano.cli.settings import apply, read
from sedano.errors import UsageError
from sedano.model.settings import VARIABLES

ROOT = Path(__file__).parents[2]
PROJECT = """
[tool.sedano]
app = "pantry:app"
ignore = ["*.ipynb"]

[tool.sedano.stage.prod]
region = "eu-central-1"
profile = "ops"
memory = 1024
"""
PANTRY = """
import os
from sedano import Sedano

app = Sedano(os.environ.get('SEDANO_STAGE', '-') + '.' + os.environ.get('AWS_REGION', '-'))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A project; the working directory is a folder deep in it."""
    before = sys.path[:]
    variables = {name: os.environ.pop(name) for names in VARIABLES.values() for name in names if name in os.environ}
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "pantry.py").write_text(PANTRY)
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    with chdir(tmp_path / "docs" / "deep"):
        yield tmp_path
    os.environ.update(variables)
    sys.path[:] = before
    sys.modules.pop("pantry", None)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, str]]:
    """What `sedano config --json` prints, which the rows of a pipe agree with."""
    assert main([*arguments, "config"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert main(["config", *arguments, "--json"]) == 0
    found: dict[str, dict[str, str]] = json.loads(capsys.readouterr().out)
    assert [name for name, _, _ in rows] == list(found)
    for (_, value, source), one in zip(rows, found.values(), strict=True):
        assert source == one["source"]
        assert isinstance(one["value"], list) or value == str("" if one["value"] is None else one["value"])
    return found


def test_each_value_is_shown_with_its_source(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "--stage", "prod", "--profile", "mine")
    assert found["app"] == {"value": "pantry:app", "source": "[tool.sedano] in pyproject.toml"}
    assert found["code"] == {"value": str(folder / "src"), "source": "default"}
    assert found["stage"] == {"value": "prod", "source": "option --stage"}
    assert found["region"] == {"value": "eu-central-1", "source": "[tool.sedano.stage.prod] in pyproject.toml"}
    assert found["profile"] == {"value": "mine", "source": "option --profile"}
    assert found["memory"] == {"value": 1024, "source": "[tool.sedano.stage.prod] in pyproject.toml"}
    assert shown(capsys)["stage"] == {"value": "dev", "source": "default"}
    assert "memory" not in shown(capsys)


def test_a_verb_uses_the_app_the_stage_and_the_region_of_the_file_and_leaves_the_environment(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = dict(os.environ)
    assert main(["discover", "--stage", "prod", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == "prod.eu-central-1"
    assert found["files"] == [str(folder.resolve() / "src" / "pantry.py")]
    assert dict(os.environ) == before


def test_an_unknown_setting_is_a_usage_error_with_a_suggestion(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pyproject.toml").write_text('[tool.sedano]\nap = "pantry:app"\n')
    for verb in (["config"], ["discover"]):
        assert main(verb) == 2
        said = f"{folder / 'pyproject.toml'}: [tool.sedano] has the unknown setting 'ap'; did you mean app?"
        assert capsys.readouterr() == ("", f"sedano {verb[0]}: {said}\n")


@pytest.mark.parametrize("text", ["[tool.sedano\n", "tool = 1\n[x]\n", "[tool]\nsedano = 'x'\n", "\udcff"])
def test_a_file_that_is_not_toml_is_a_usage_error(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pyproject.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["config"]) == (0 if text.startswith("tool = 1") else 2)
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert (str(folder / "pyproject.toml") in said.err) is (not text.startswith("tool = 1"))


def test_a_folder_without_the_table_has_only_defaults(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    found = read({}, tmp_path, {})
    assert (found.app, found.stage, found.code) == (None, "dev", tmp_path)


def test_the_code_of_the_file_is_relative_to_the_file_and_that_of_an_option_to_the_working_directory(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.sedano]\napp = "pantry:app"\ncode = "lib"\n')
    assert read({}, Path.cwd(), {}).code == folder / "lib"
    assert read({"code": "lib"}, Path.cwd(), {}).code == Path("lib")


def test_the_variables_of_one_stage_are_not_used_for_another(tmp_path: Path) -> None:
    shell = {"SEDANO_LEDGER_TABLE": "prod-ledger", "SEDANO_STAGE": "prod"}
    with pytest.raises(UsageError, match="belong to the stage prod; unset them, or set those of dev"):
        apply(read({"stage": "dev"}, tmp_path, shell), shell)
    undo = apply(read({"stage": "prod", "region": "eu-west-1"}, tmp_path, shell), shell)
    assert shell["AWS_REGION"] == shell["AWS_DEFAULT_REGION"] == "eu-west-1"
    undo()
    assert shell == {"SEDANO_LEDGER_TABLE": "prod-ledger", "SEDANO_STAGE": "prod"}


def test_the_versions_are_those_that_are_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["version"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name} {version}" for name, version in found.items()]
    assert found["sedano"] == sedano.__version__
    assert [*found] == ["sedano", "python", "boto3", "botocore", "aws-lambda-powertools", "click"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"_SEDANO_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_bash_completes_verbs_and_options_without_loading_an_aws_client(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    program = tmp_path / "sedano"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom sedano.cli import main\nstatus = main(sys.argv[1:])\n"
        "assert 'botocore' not in sys.modules\nsys.exit(status)\n"
    )
    program.chmod(0o755)
    words = ["sedano parked red", "sedano expl", "sedano parked list --rea"]
    asked = "".join(
        f"COMPREPLY=(); COMP_WORDS=({line}); COMP_CWORD={line.count(' ')}; _sedano_completion sedano; echo ${{COMPREPLY[@]}}\n"
        for line in words
    )
    bash = shutil.which("bash")
    assert bash is not None
    variables = {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "layers/sedano/python"), *filter(None, sys.path)]),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    run = subprocess.run([bash, "-c", f"{script}\n{asked}"], env=variables, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == ["redrive", "explain", "--reason"], run.stderr
