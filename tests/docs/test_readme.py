"""What the README says runs, and its commands exist."""

import re
import shlex
import subprocess
import sys
import types
from html import unescape
from pathlib import Path

import pytest

import sedano
from tests.docs.pages import DOCS
from tests.stories.dev_project import DevProject

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ADDED, *EXAMPLES = BLOCKS
PICTURES = ROOT / "docs" / "pictures"
LARGEST_PICTURE = 60_000
ANY = (
    (r"^\d\d:\d\d:\d\d", r"^\\d\\d:\\d\\d:\\d\\d"), (r"\d+\\\.\d+\\ s", r"[\\d.]+ s"), (r"\d+\\ ms", r"\\d+ ms"),
    (r"\\\[\w{6}\\\]", r"\\[\\w{6}\\]"),
    (r"(127\\\.0\\\.0\\\.1:)\d+(.*token=)[\w-]{43}", r"\1\\d+\2[\\w-]{43}"),
)  # fmt: skip
"""What differs from run to run, as an escaped line of the README has it, and what stands for any of it."""


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


def test_the_first_minute_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """Each line that the README shows is printed, but for moments, durations, ids and the folder."""
    starts, calls, fails = (block.strip().splitlines() for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL))
    (seen,) = (block.rstrip().splitlines() for block in re.findall(r"```text\n(.*?)```", README, re.DOTALL))
    first = [sys.executable, "-m", "sedano", *shlex.split(starts[0].removeprefix("$ sedano ").split(" && ")[0])]
    project = DevProject(tmp_path / "shop", write=False)
    subprocess.run(first, cwd=tmp_path, env=project.environment, capture_output=True, check=True)
    try:
        project.start()
        assert (_called(project, calls[0]), calls[1:]) == (calls[1:], ['"Hello, Ada!"'])
        (project.folder / "shop/tasks.py").write_text((project.folder / "shop/tasks.py").read_text() + f"\n\n{ADDED}")
        project.said(_like(seen[2]))
        _called(project, fails[0])
        for line in [*starts[2:], *seen]:
            project.said(_like(line))
    finally:
        project.close()


def _called(project: DevProject, line: str) -> list[str]:
    command = [sys.executable, "-m", *shlex.split(line.removeprefix("$ "))]
    done = subprocess.run(command, cwd=project.folder, env=project.environment, text=True, capture_output=True, check=True)
    return done.stdout.splitlines()


def _like(line: str) -> str:
    """A pattern for the line: at another moment, in another time, with other ids, in another folder."""
    text = re.escape(line).replace('File\\ "shop', 'File\\ ".*shop')
    for shown, other in ANY:
        text = re.sub(shown, other, text)
    return text + "$"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w+)", README))))
def test_every_make_command_of_the_readme_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), target


def test_the_recorded_terminals_show_the_lines_of_the_readme() -> None:
    rows = re.findall(r"<text x=[^>]*>(.*?)</text>", (PICTURES / "terminal.svg").read_text(encoding="utf-8"))
    shown = [unescape(re.sub(r"<[^>]+>", "", row)) for row in rows]
    (seen,) = (block.rstrip().splitlines() for block in re.findall(r"```text\n(.*?)```", README, re.DOTALL))
    typed = "".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL)).splitlines()
    for line in [*(line for line in typed if " new " not in line), *seen]:
        assert any(re.search(_like(line), row) for row in shown), line


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.[sp][vn]g")), ids=lambda path: path.name)
def test_each_picture_is_small_and_the_readme_shows_it_in_words_too(picture: Path) -> None:
    assert picture.stat().st_size <= LARGEST_PICTURE
    place = f"docs/pictures/{picture.name}"
    others = {place, place.replace("-dark", "-light")}
    texts = re.findall(r"!\[([^\]]+)\]\((\S+)\)", README) + re.findall(r'<img alt="([^"]+)" src="([^"]+)"', README)
    assert place in README
    assert [words for words, source in texts if source in others]


def test_the_readme_shows_no_picture_that_is_missing() -> None:
    named = set(re.findall(r"docs/pictures/[\w-]+\.(?:svg|png)", README))
    assert named == {f"docs/pictures/{path.name}" for path in PICTURES.glob("*.[sp][vn]g")}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_local_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists(), link


def test_the_public_names_are_documented() -> None:
    reference = "".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*")))
    undocumented = [name for name in sedano.__all__ if not getattr(sedano, name).__doc__ and f"autodata:: sedano.{name}" not in reference]
    assert not undocumented
