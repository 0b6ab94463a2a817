"""What the README says runs, and its commands exist."""

import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import sedano

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_first_example_has_at_most_twenty_lines_with_its_blank_ones() -> None:
    assert len(EXAMPLES[0].strip().splitlines()) <= 20


def test_the_readmes_first_program_runs_as_it_is_printed(tmp_path: Path) -> None:
    program = tmp_path / "shop.py"
    program.write_text(EXAMPLES[0], encoding="utf-8")
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("11\n", "", 0)


def test_the_readmes_test_runs_beside_its_first_program() -> None:
    module = types.ModuleType("shop")
    sys.modules["shop"] = module
    try:
        exec(compile(EXAMPLES[0], "README.md", "exec"), module.__dict__)  # noqa: S102 - the README is ours
        exec(compile(EXAMPLES[1], "README.md", "exec"), module.__dict__)  # noqa: S102
    finally:
        del sys.modules["shop"]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w+)", README))))
def test_every_make_command_of_the_readme_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), target


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_local_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists(), link


def test_the_public_names_are_documented() -> None:
    undocumented = [name for name in sedano.__all__ if not getattr(sedano, name).__doc__]
    assert not undocumented
