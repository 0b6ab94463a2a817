"""Where the parts that are deployed stand: in a clone of the repository, or in the installed package, which carries them along."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
_CARRIED = _HERE / "deployed"
_CLONE = _HERE.parent

#: The root below which the parts stand.
ROOT = _CARRIED if _CARRIED.is_dir() else _CLONE
#: The library, as functions and Glue jobs import it.
LIBRARY = ROOT / "layers" / "sedano" / "python"
#: One folder is one function.
FUNCTIONS = ROOT / "functions"
#: The scripts of Glue jobs.
JOBS = ROOT / "glue_jobs"
#: The packages that the library's layer brings, pinned.
LAYER_PINS = ROOT / "requirements" / "layer.txt"
#: Where packages are unpacked once: beside the other things that are built, or in the user's cache.
PACKAGES = Path.home() / ".cache" / "sedano" / "packages" if ROOT == _CARRIED else ROOT / "build" / "packages"

#: The prefix of the history bucket below which the recorder writes, and which may age; the tables that the pipeline makes stand beside it.
HISTORY_PREFIX = "events/"
