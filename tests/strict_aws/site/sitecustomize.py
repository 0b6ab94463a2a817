"""Runs when a child program of a test starts: puts the strict AWS under its clients as well (`tests.strict_aws.child`).

Nothing is imported before the program itself imports botocore, so a program without AWS stays as it is.
"""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

BOTOCORE = "botocore.handlers"


class Hooked:
    """A finder (`sys.meta_path`) that installs the hook as soon as botocore's handlers are there."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Return the spec of the handlers, whose loader installs the hook; nothing of any other module."""
        if name != BOTOCORE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            executed = loader.exec_module

            def exec_module(module: Any) -> None:
                executed(module)
                install()

            loader.exec_module = exec_module
        return spec


def install() -> None:
    """Install the hook in this program."""
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    child: Any = importlib.import_module("tests.strict_aws.child")
    child.install()


sys.meta_path.insert(0, Hooked())
