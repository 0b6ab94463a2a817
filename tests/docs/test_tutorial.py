"""The tutorial, walked: its files are written, its commands are run one after the other, and each prints what the page shows."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

from tests.docs.pages import page
from tests.plugins.pytest_runs import Elsewhere

PAGE = page("tutorial.md")


class Walk:
    """The environment of a newcomer, the *place* where the shell is, and the files that the page has *changed*."""

    def __init__(self, elsewhere: Elsewhere) -> None:
        self.path, self.place = elsewhere.path, elsewhere.folder
        self.changed: set[str] = set()

    def write(self, head: str, text: str) -> None:
        """Write a file of the page, or add to it. The page shows a file that it has not changed yet as `sedano new` made it."""
        name = head.removeprefix("add to ")
        file = self.place / name
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        if before and name not in self.changed and name == head:
            assert before == text
        file.write_text(f"{before}\n\n{text}" if name != head else text, encoding="utf-8")
        self.changed |= {name} if file.read_text(encoding="utf-8") != before else set()

    def run(self, command: str) -> str:
        """Run a command of the page; return all that it prints. The two programs are modules of the environment."""
        if command.startswith("cd "):
            self.place /= command.removeprefix("cd ")
            return ""
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": self.path, "COLUMNS": "200"}
        words = [sys.executable, "-S", "-P", "-m", *shlex.split(command)]
        done = subprocess.run(words, cwd=self.place, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


def steps() -> Iterator[tuple[str, str, str]]:
    """Yield what the page does, in order: the language of a block, the file or command at its head, and its text."""
    for language, body in re.findall(r"^```(python|console)\n(.*?)^```", PAGE.text, re.DOTALL | re.MULTILINE):
        if language == "python":
            head, text = body.removeprefix("# ").split("\n", 1)
            yield language, head, text
        else:
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                yield language, command, shown


def test_every_command_prints_what_the_page_shows(elsewhere: Elsewhere) -> None:
    walk = Walk(elsewhere)
    for language, head, text in steps():
        if language == "python":
            walk.write(head, text)
        else:
            said = walk.run(head)
            assert [line for line in text.splitlines() if line not in said] == [], said
    assert walk.changed == {"shop/tasks.py", "tests/test_bonus.py"}
