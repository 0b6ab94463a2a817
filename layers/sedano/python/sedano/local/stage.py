"""A complete local stage: the endpoint, its stacks and the settings for clients. The endpoint starts while the stacks are synthesised."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sedano.local.deployment import deploy
from sedano.local.endpoint import Endpoint
from sedano.local.failure import LocalStageError
from sedano.local.synthesis import ROOT, synthesise

FILE = "environment"
ENDPOINT_PYTHON = ROOT / ".venv-ministack" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class LocalStage:
    """A running stage: its endpoint, its stacks, and the variables that a client's environment needs to use it."""

    endpoint: Endpoint
    stacks: tuple[str, ...]
    environment: Mapping[str, str]
    file: Path
    """The same variables as a file for a shell (`. FILE`); it contains this run's credentials, so only its owner may read it."""

    @property
    def exports(self) -> str:
        """Return the environment as shell commands."""
        return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.environment.items())


def stage_context(app: str, code: Path) -> dict[str, str]:
    """Return the settings of a local stage for the CDK app."""
    return {"app": app, "code": str(code.resolve()), "local": "true"}


class Parts(NamedTuple):
    """The interpreter of the endpoint's environment, and the function that writes the cloud assembly of some settings to a directory."""

    endpoint_python: Path
    synthesise: Callable[[Mapping[str, str], Path], object]


@contextmanager
def local_stage(
    *, app: str, code: Path, directory: Path, enforce_iam: bool = False, parts: Parts | None = None, **context: str
) -> Iterator[LocalStage]:
    """Run a stage of `app` (module:attribute, found in `code`) until the `with` statement ends.

    `enforce_iam`: each function may do only what its role allows. `directory`: the place of the endpoint's log, the cloud assembly and,
    while the stage runs, the file `environment`; if another stage runs in this directory, the new stage uses a directory below it.
    `context`: further settings of the stage, such as `timeout="10"`. `parts`: needed if the stage is made without a clone.
    Raises `LocalStageError` with the remedy if a part of the stage cannot run.
    """
    if parts is None and not (ROOT / "cdk.json").is_file():
        raise LocalStageError("this is not a clone of sedano: run `sedano dev --aws` in the folder of your project")
    made = parts or Parts(ENDPOINT_PYTHON, synthesise)
    endpoint = Endpoint(made.endpoint_python, directory, enforce_iam=enforce_iam)
    try:
        assembly = endpoint.directory / "cdk.out"
        made.synthesise({**stage_context(app, code), **context}, assembly)
        endpoint.wait_until_ready()
        stage = _deployed(endpoint, assembly)
        _write(stage)
        yield stage
    finally:
        (endpoint.directory / FILE).unlink(missing_ok=True)
        endpoint.stop()


def _deployed(endpoint: Endpoint, assembly: Path) -> LocalStage:
    deployment = deploy(endpoint.session(), endpoint.url, assembly)
    environment = MappingProxyType({**endpoint.environment, **deployment.settings})
    return LocalStage(endpoint, deployment.stacks, environment, endpoint.directory / FILE)


def _write(stage: LocalStage) -> None:
    """Write the stage's file as a new file, so that no other process has it open and its mode is right from the first byte."""
    stage.file.unlink(missing_ok=True)
    with os.fdopen(os.open(stage.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(stage.exports)
