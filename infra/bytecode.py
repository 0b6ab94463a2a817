"""The bytecode of modules, compiled ahead of time.

A layer cannot be written to, so a module without bytecode is compiled again at every cold start. Bytecode belongs to one minor version of
CPython (PEP 3147), so it is made by the version of the functions, if this machine has it. It is not checked against the sources (PEP 552):
no file of a layer changes, and an archive keeps no times that could be compared.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from . import assets

#: The directory in which Lambda merges the modules of all layers.
DEPLOYED = "/opt/python"
#: The folder beside the sources in which Python looks for bytecode.
FOLDER = "__pycache__"
#: The most bytes of modules with their bytecode: packages and application, each with bytecode, still fit beside the library.
MOST_BYTES = 100 * 1024 * 1024
#: A program that prints the cache tag of an interpreter's bytecode, and its release level.
_SAYS = "import sys; print(sys.implementation.cache_tag, sys.version_info.releaselevel)"


@cache
def compiler(python: str, path: str | None = None) -> str | None:
    """Return an interpreter whose bytecode CPython *python* (such as `3.13`) runs; None without one.

    Args:
        python: the version that runs the functions.
        path: where to search besides this process's own interpreter, in the format of `PATH`; by default `PATH`.
    """
    named = shutil.which(f"python{python}", path=path)
    return next((each for each in (sys.executable, named) if each and _says(each) == f"cpython-{python.replace('.', '')} final"), None)


def compile_beside(modules: Path, python: str, most: int = MOST_BYTES) -> None:
    """Put bytecode beside the sources in *modules*, unless this machine cannot make it, or both together would exceed *most* bytes.

    A file that does not compile stays as it is: packages contain templates of code, and code for other versions.
    """
    chosen = compiler(python)
    if chosen is None:
        return
    # It has the paths of the function: made on two machines it is the same, and it reveals nothing about them.
    paths = ["-s", str(modules), "-p", DEPLOYED]
    command = [chosen, "-I", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", *paths, str(modules)]
    subprocess.run(command, check=False, capture_output=True)
    if sum(path.stat().st_size for path in modules.rglob("*") if path.is_file()) > most:
        for folder in list(modules.rglob(FOLDER)):
            shutil.rmtree(folder)


def bytecode_of(directories: Iterable[Path], python: str, target: Path) -> None:
    """Put into *target* the bytecode of the modules in *directories*, laid out as Python would place it."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch)
        for directory in directories:
            assets.copy(directory, made)
        compile_beside(made, python)
        for path in made.rglob("*.pyc"):
            destination = target / path.relative_to(made)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, destination)


def _says(interpreter: str) -> str:
    return subprocess.run([interpreter, "-I", "-c", _SAYS], capture_output=True, text=True, check=False).stdout.strip()
