"""The declarations of an application, found by importing it as the functions will: with its pins, the library's layer and Lambda's Python.
Other packages of this machine are hidden, because a deployment would not have them.
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .packages import LAMBDAS_OWN

#: The most seconds that the import of an application may take.
MOST_SECONDS = 120
#: The modules of Lambda's Python besides the standard library.
LAMBDAS_MODULES = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
#: The prefix of the one sentence that `sedano.cli.declared` prints after the user's own traceback.
_REFUSED = "sedano discover: "


class DiscoveryError(RuntimeError):
    """An application does not import; its own traceback was written to stderr, and the message says what to do."""


def discovered(app: str, code: Path, places: Sequence[Path]) -> dict[str, Any]:
    """Return what *app* declares, as `sedano.cli.declared` prints it; what its modules print goes to stderr.

    Args:
        app: names the application, as `module:attribute`.
        code: the directory that its modules are imported from.
        places: the directories of everything else that it may import beside the standard library and what Lambda brings.

    Raises:
        DiscoveryError: it does not import.
    """
    with tempfile.TemporaryDirectory() as scratch:
        _link(Path(scratch))
        done = _run(app, code, [*places, Path(scratch)])
    said, mark, refusal = done.stderr.rpartition(_REFUSED) if done.returncode else (done.stderr, "", "")
    sys.stderr.write(said if mark else done.stderr)
    if mark:
        raise DiscoveryError(refusal.strip())
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise DiscoveryError(f"app: importing {app} ended the process ({how}) before all was declared; check what it runs and imports")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _link(directory: Path) -> None:
    """Put the packages of Lambda's Python, as installed here, into *directory*."""
    for name in LAMBDAS_MODULES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            module = Path(spec.origin)
            installed = module.parent if module.name == "__init__.py" else module
            (directory / installed.name).symlink_to(installed)
    for package in LAMBDAS_OWN:
        about = _metadata(package)
        if about is not None:
            (directory / about.name).symlink_to(about)


def _metadata(package: str) -> Path | None:
    """Return the directory with the metadata of *package* as installed here: some packages read that of another package when they are
    imported."""
    installed = next(iter(importlib.metadata.distributions(name=package)), None)
    files = (installed.files if installed is not None else None) or ()
    return next((Path(str(file.locate())).parent for file in files if file.name == "METADATA"), None)


def _run(app: str, code: Path, places: Sequence[Path]) -> subprocess.CompletedProcess[str]:
    # -S: packages installed here are not deployed, so they must not be found; -P: nor modules in the current directory. No .pyc: the
    # tree is the user's.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-S", "-m", "sedano.cli.declared", "--app", app, "--code", str(code)]
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise DiscoveryError(f"app: importing {app} takes more than {MOST_SECONDS} s; move work out of what runs at import") from error
