"""The tree as the rules see it: each file with its path, its text and, for Python, its syntax.

Files are those that git would commit, so what is generated or downloaded is nobody's business. A rule is a pure
function from a source to its complaints; that is why each rule can be shown a planted violation.
"""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE_PATH = "layers/sedano/python/"
LIBRARY = f"{PACKAGE_PATH}sedano/"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One file: its path from the root with forward slashes, and its text."""

    path: str
    text: str

    @property
    def stem(self) -> str:
        """The file's name without its folder and suffix."""
        return self.path.rsplit("/", 1)[-1].split(".", 1)[0]

    @property
    def is_library(self) -> bool:
        """Whether the file is part of the package that users install."""
        return self.path.startswith(LIBRARY)

    @property
    def module(self) -> str:
        """The dotted name that Python imports it by."""
        dotted = self.path.removeprefix(PACKAGE_PATH).removesuffix(".py").replace("/", ".")
        return dotted.removesuffix(".__init__")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax, parsed once."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of its syntax."""
        return list(ast.walk(self.tree))

    @property
    def functions(self) -> list[Function]:
        """Every function and method in it."""
        return [node for node in self.nodes if isinstance(node, Function)]


@cache
def paths() -> tuple[str, ...]:
    """The paths that git tracks or would track, in order."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(sorted({path for path in listed.split("\0") if path and (ROOT / path).is_file()}))


@cache
def sources() -> tuple[Source, ...]:
    """Every text file of the tree."""
    return tuple(Source(path, text) for path, text in texts())


def texts() -> Iterator[tuple[str, str]]:
    """Every path with its text, without what is not text."""
    for path in paths():
        content = (ROOT / path).read_bytes()
        if b"\0" not in content[:1024] and not path.endswith((".gz", ".zip")):
            yield path, content.decode()


def python() -> list[Source]:
    """Every Python file of the tree."""
    return [source for source in sources() if source.path.endswith(".py")]


def library() -> list[Source]:
    """Every module of the library."""
    return [source for source in python() if source.is_library]
