"""The templates of a cloud assembly, as its manifest lists them: what an earlier synthesis left in the directory is none of it."""

import json
from pathlib import Path


def templates(assembly: Path) -> dict[str, str]:
    """Return the text of each stack's template, by the stack's name."""
    artifacts = json.loads((assembly / "manifest.json").read_text(encoding="utf-8"))["artifacts"]
    stacks = {name: artifact["properties"] for name, artifact in artifacts.items() if artifact["type"] == "aws:cloudformation:stack"}
    # A stack whose name is that of its artifact does not say it again.
    return {stack.get("stackName", name): (assembly / stack["templateFile"]).read_text(encoding="utf-8") for name, stack in stacks.items()}
