"""User code is read alike by `mypy --strict` and by pyright: what is right passes both, what is wrong is refused by both, line by line.

Pyright is a program for Node that its wheel carries whole. The test starts that program itself, by the Node of
`requirements/toolchain.py`: the command that the wheel installs would look for another Node and for a newer pyright, and could download.
The programs are copied into a folder of their own, and pyright is told their names there: from an absolute path it would walk the folders
above. The blocks of docs/types.md are checked with them.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from requirements.toolchain import node
from sedano.model.tasks.published_options import LinkedOptions, PublishedOptions
from sedano.model.tasks.signature import Options
from tests.docs.pages import page

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WRITTEN = ("shop.py", "worker.py", "mistakes.py")
PROGRAMS = (*WRITTEN, "types_page.py", "refused.py")
PAGE = page("types.md")
BLOCKS = "\n".join(PAGE.blocks)
QUOTED = re.findall(r"^\| `(\w.*?)` \| `(.*?)` \| `(.*?)` \|$", PAGE.text, re.MULTILINE)
"""The mistakes that the page shows: a line, what mypy says, what pyright says."""
Said = dict[str, dict[int, list[str]]]
"""What a checker refuses: its words by line, by program."""


def run(*command: str) -> str:
    """Return what a checker prints; it ends with 1 when it refuses something."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout


def collected(found: list[tuple[str, int, str]]) -> Said:
    """Return what was *found* in programs, lines and words."""
    said: Said = {}
    for path, line, words in found:
        said.setdefault(Path(path).name, {}).setdefault(line, []).append(words)
    return said


def by_mypy(folder: Path) -> Said:
    """Return what mypy refuses of the programs in *folder*, with the settings of this repository, which are strict."""
    said = run(sys.executable, "-m", "mypy", "--strict", *(str(folder / name) for name in PROGRAMS))
    lines = (re.match(r"(.+?):(\d+): error: (.*)", line) for line in said.splitlines())
    return collected([(line[1], int(line[2]), line[3]) for line in lines if line])


def by_pyright(folder: Path) -> Said:
    """Return what pyright refuses of the programs in *folder*, in its strict mode."""
    wheel = importlib.util.find_spec("pyright")
    assert wheel is not None, "pyright is not installed: run requirements/install.py dev"
    assert wheel.origin is not None
    settings = {"include": PROGRAMS, "extraPaths": [str(ROOT / "layers/sedano/python")], "typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps({**settings, "pythonVersion": "3.11"}))
    program = Path(wheel.origin).parent / "dist" / "index.js"
    command = (str(node(os.environ)), str(program), "--outputjson", "--project", str(folder), "--pythonpath", sys.executable)
    answer = json.loads(run(*command))
    assert answer["summary"]["filesAnalyzed"] == len(PROGRAMS), answer
    refused = [said for said in answer["generalDiagnostics"] if said["severity"] == "error"]
    return collected([(said["file"], said["range"]["start"]["line"] + 1, said["message"]) for said in refused])


@pytest.fixture(scope="module", params=["mypy", "pyright"])
def checker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Said]:
    """A checker by name, and what it refuses."""
    folder = tmp_path_factory.mktemp("typing")
    for name in WRITTEN:
        shutil.copy(HERE / name, folder)
    (folder / "types_page.py").write_text(BLOCKS, encoding="utf-8")
    (folder / "refused.py").write_text("\n".join([BLOCKS, *(line for line, _, _ in QUOTED), "print(text, count)"]), encoding="utf-8")
    return request.param, by_mypy(folder) if request.param == "mypy" else by_pyright(folder)


def planted(checker: str) -> dict[int, str]:
    """Return the lines that *checker* refuses, each with the words that the comment above it expects."""
    found, words = dict[int, str](), ""
    for number, line in enumerate((HERE / "mistakes.py").read_text(encoding="utf-8").splitlines(), 1):
        comment = re.match(r" +# (mypy|pyright) says: (.+)", line)
        if comment is None:
            found |= {number: words} if words else {}
            words = ""
        elif comment[1] == checker:
            words = comment[2]
    return found


@pytest.mark.parametrize("program", ["shop.py", "worker.py", "types_page.py"])
def test_what_a_user_writes_rightly_passes(checker: tuple[str, Said], program: str) -> None:
    assert checker[1].get(program, {}) == {}


def test_what_a_user_writes_wrongly_is_refused_at_exactly_its_line_and_in_these_words(checker: tuple[str, Said]) -> None:
    name, said = checker
    wanted, refused = planted(name), said["mistakes.py"]
    assert len(wanted) == 41
    assert refused.keys() == wanted.keys()
    misworded = {line: (words, refused[line]) for line, words in wanted.items() if not any(words in one for one in refused[line])}
    assert misworded == {}


def test_the_page_about_types_quotes_what_the_checkers_say(checker: tuple[str, Said]) -> None:
    name, said = checker
    refused = said["refused.py"]
    first = len(BLOCKS.split("\n")) + 1
    assert len(QUOTED) == 4
    assert sorted(refused) == [*range(first, first + 4)]
    for number, (_, mypy, pyright) in enumerate(QUOTED, first):
        assert (mypy if name == "mypy" else pyright) in " ".join(refused[number])


def test_both_checkers_are_asked_the_same() -> None:
    assert planted("mypy").keys() == planted("pyright").keys()


def test_type_checkers_know_every_option_of_a_publication_and_no_other() -> None:
    known = {one.name for one in fields(Options)}
    assert set(PublishedOptions.__annotations__) == known
    assert set(LinkedOptions.__annotations__) == known | {"link", "link_error"}
