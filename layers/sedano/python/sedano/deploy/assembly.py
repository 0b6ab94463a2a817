"""Reads a cloud assembly: its stacks in their order, the files that they need, the role that deploys each stack, and its settings."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from sedano.deploy.failure import DeployError

#: Where `cdk bootstrap` notes its version, unless the assembly names another place.
BOOTSTRAPPED = "/cdk-bootstrap/hnb659fds/version"
_SOME_DAY = (1980, 1, 1, 0, 0, 0)
_OURS = re.compile(r"Sedano\w+")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_STACK = "aws:cloudformation:stack"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file or a directory (published as a zip archive), and its destination; places may contain `${AWS::...}`.

    *role*: the ARN of the role that publishes it; empty for none.
    """

    source: Path
    zipped: bool
    bucket: str
    key: str
    role: str = ""

    def body(self) -> bytes:
        """Return the bytes to publish."""
        return archive(self.source) if self.zipped and self.source.is_dir() else self.source.read_bytes()


@dataclass(frozen=True, slots=True)
class StackFiles:
    """One stack of the assembly.

    Args:
        name: of the deployed stack.
        template: its text.
        assets: the files to publish before; the template is one of them.
        url: where the template is published, as `s3://bucket/key`; empty if it is not one of the assets.
        role: the ARN of the role that deploys it, and *execution_role* that of the role that CloudFormation uses; empty for none.
        bootstrap: the minimum version of the account's bootstrap stack, and *noted* the parameter that holds it.
        protected: whether it is protected from deletion.
        tags: of the stack.
    """

    name: str
    template: str
    assets: tuple[Asset, ...]
    url: str = ""
    role: str = ""
    execution_role: str = ""
    bootstrap: int = 0
    noted: str = BOOTSTRAPPED
    protected: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)

    def templates(self) -> list[Asset]:
        """Return the assets that are the template: CloudFormation reads it from there."""
        return [asset for asset in self.assets if self.url == f"s3://{asset.bucket}/{asset.key}"]


def stacks(assembly: Path) -> list[StackFiles]:
    """Return the stacks of `assembly`, each after those it depends on.

    Raises:
        DeployError: the templates lack a value that the CDK's own command line looks up.
    """
    manifest = json.loads((assembly / "manifest.json").read_text())
    if manifest.get("missing"):
        raise DeployError(f"{assembly}: the app asks the account for values; `cdk synth` looks them up and writes them to cdk.context.json")
    artifacts = manifest["artifacts"]
    order = TopologicalSorter({name: artifact.get("dependencies", []) for name, artifact in artifacts.items()})
    return [_stack(assembly, name, artifacts[name]["properties"]) for name in order.static_order() if artifacts[name]["type"] == _STACK]


def _stack(assembly: Path, artifact: str, said: Mapping[str, Any]) -> StackFiles:
    return StackFiles(
        name=said.get("stackName", artifact),
        template=(assembly / said["templateFile"]).read_text(),
        assets=tuple(_assets(assembly, artifact)),
        url=said.get("stackTemplateAssetObjectUrl", ""),
        role=said.get("assumeRoleArn", ""),
        execution_role=said.get("cloudFormationExecutionRoleArn", ""),
        bootstrap=said.get("requiresBootstrapStackVersion", 0),
        noted=said.get("bootstrapStackVersionSsmParameter", BOOTSTRAPPED),
        protected=said.get("terminationProtection", False),
        tags=said.get("tags", {}),
    )


def _assets(assembly: Path, stack: str) -> list[Asset]:
    files = json.loads((assembly / f"{stack}.assets.json").read_text())["files"]
    return [
        Asset(
            source=assembly / file["source"]["path"],
            zipped=file["source"]["packaging"] == "zip",
            bucket=destination["bucketName"],
            key=destination["objectKey"],
            role=destination.get("assumeRoleArn", ""),
        )
        for file in files.values()
        for destination in file["destinations"].values()
    ]


def archive(directory: Path) -> bytes:
    """Return a zip archive of `directory`, which depends only on its content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), _SOME_DAY)
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def settings(outputs: Mapping[str, str]) -> dict[str, str]:
    """Return the library's settings among a stack's outputs: `SedanoLedgerTable` becomes `SEDANO_LEDGER_TABLE`."""
    return {_WORDS.sub("_", name).upper(): value for name, value in outputs.items() if _OURS.fullmatch(name)}
