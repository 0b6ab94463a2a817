"""`sedano new` as a newcomer meets it: files on stdout, the next commands on stderr, and refusals that change nothing."""

from contextlib import chdir
from pathlib import Path

import pytest

from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.projects import TEMPLATES, files


@pytest.mark.parametrize("template", TEMPLATES)
def test_it_makes_the_project_and_lists_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], template: str) -> None:
    with chdir(tmp_path):
        assert main(["new", "shop", "--template", template]) == Exit.DONE
    said = capsys.readouterr()
    assert said.out.splitlines() == [f"shop/{path}" for path in files("shop", template)]
    assert all((tmp_path / line).is_file() for line in said.out.splitlines())
    assert said.err == "\nNext:\n  cd shop\n  pip install '.[dev]' && pytest\n  sedano dev\n"


def test_a_folder_that_exists_is_refused_with_a_code_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop").mkdir()
    with chdir(tmp_path):
        assert main(["new", "shop"]) == Exit.REFUSED
    assert capsys.readouterr() == ("", "sedano new: shop already exists and was not changed; choose another name, or remove it first\n")
    assert list((tmp_path / "shop").iterdir()) == []


@pytest.mark.parametrize("wrong", [["class"], ["../shop"], ["shop", "--template", "flask"], []])
def test_a_wrong_command_line_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str]) -> None:
    with chdir(tmp_path):
        assert main(["new", *wrong]) == Exit.USAGE
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_template(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--help"]) == Exit.DONE
    helped = capsys.readouterr().out
    assert all(name in helped for name in TEMPLATES)
