"""The templates of a cloud assembly, as its manifest lists them; files of an earlier synthesis in the directory are not included."""

import json
from collections.abc import Iterator
from pathlib import Path


def templates(assembly: Path) -> dict[str, str]:
    """Return the text of each stack's template, by the stack's name; of one in a `cdk.Stage` by `STAGE/NAME`."""
    return dict(_found(assembly, ""))


def _found(assembly: Path, above: str) -> Iterator[tuple[str, str]]:
    artifacts = json.loads((assembly / "manifest.json").read_text(encoding="utf-8"))["artifacts"]
    for name, artifact in artifacts.items():
        properties = artifact.get("properties", {})
        if artifact["type"] == "aws:cloudformation:stack":
            # The manifest omits the name of a stack that is also the name of its artifact.
            yield above + properties.get("stackName", name), (assembly / properties["templateFile"]).read_text(encoding="utf-8")
        elif artifact["type"] == "cdk:cloud-assembly":
            yield from _found(assembly / properties["directoryName"], f"{above}{properties.get('displayName', name)}/")
