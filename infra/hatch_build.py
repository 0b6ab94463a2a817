"""How the wheel and the sdist get what is deployed: from the clone around this folder, or from the sdist that was unpacked."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: What is deployed, as it stands in a clone.
PARTS = ("functions", "glue_jobs", "layers/sedano/python/sedano", "requirements/layer.txt")
#: Where it stands in an sdist, and in the installed package.
CARRIED = "deployed"


class Deployed(BuildHookInterface[Any]):
    """Adds what is deployed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the parts to the build; *version* is that of the target's form."""
        here = Path(self.root)
        source = here / CARRIED if (here / CARRIED).is_dir() else here.parent
        build_data["force_include"].update({str(source / part): f"{CARRIED}/{part}" for part in PARTS})
