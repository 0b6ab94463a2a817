"""Reads a cloud assembly: which stacks in which order, which files they need, and what their outputs are called."""

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

_SOME_DAY = (1980, 1, 1, 0, 0, 0)
_OUTPUT = "Sedano"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file or a directory (published as a zip archive), and where it goes; places may hold `${AWS::...}`."""

    source: Path
    zipped: bool
    bucket: str
    key: str

    def body(self) -> bytes:
        """What is published."""
        return archive(self.source) if self.zipped else self.source.read_bytes()


@dataclass(frozen=True, slots=True)
class StackFiles:
    """One stack of the assembly."""

    name: str
    template: str
    assets: tuple[Asset, ...]


def stacks(assembly: Path) -> list[StackFiles]:
    """The stacks of `assembly`, each after those it depends on."""
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    order = TopologicalSorter({name: artifact.get("dependencies", []) for name, artifact in artifacts.items()})
    return [
        StackFiles(
            name=artifacts[name]["properties"].get("stackName", name),
            template=(assembly / artifacts[name]["properties"]["templateFile"]).read_text(),
            assets=tuple(_assets(assembly, name)),
        )
        for name in order.static_order()
        if artifacts[name]["type"] == "aws:cloudformation:stack"
    ]


def _assets(assembly: Path, stack: str) -> list[Asset]:
    files = json.loads((assembly / f"{stack}.assets.json").read_text())["files"]
    return [
        Asset(
            source=assembly / file["source"]["path"],
            zipped=file["source"]["packaging"] == "zip",
            bucket=destination["bucketName"],
            key=destination["objectKey"],
        )
        for file in files.values()
        for destination in file["destinations"].values()
    ]


def archive(directory: Path) -> bytes:
    """A zip archive of `directory` that only its content decides."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), _SOME_DAY)
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def settings(outputs: Mapping[str, str]) -> dict[str, str]:
    """The library's settings among a stack's outputs: `SedanoLedgerTable` is `SEDANO_LEDGER_TABLE`."""
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper(): value for name, value in outputs.items() if name.startswith(_OUTPUT)}
