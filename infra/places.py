"""The places of the deployed parts: in a clone of the repository, or in the installed package, which contains them."""

import hashlib
import re
from pathlib import Path

from . import assets

_HERE = Path(__file__).resolve().parent
_CARRIED = _HERE / "deployed"
_CLONE = _HERE.parent
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)

#: The root of the parts.
ROOT = _CARRIED if _CARRIED.is_dir() else _CLONE
#: One folder is one function.
FUNCTIONS = ROOT / "functions"
#: The scripts of Glue jobs.
JOBS = ROOT / "glue_jobs"
#: The packages that the library's layer brings, pinned.
LAYER_PINS = ROOT / "requirements" / "layer.txt"
#: These packages as an archive, which the installed package contains; a clone does not have it.
LAYER = ROOT / "layer.zip"
#: Where packages are unpacked once: beside the other things that are built, or in the user's cache.
PACKAGES = Path.home() / ".cache" / "sedano" / "packages" if ROOT == _CARRIED else ROOT / "build" / "packages"


def library() -> Path:
    """The directory that holds the library and nothing else, as functions and Glue jobs import it.

    When installed, the library is among other packages: then it is a link, in a directory of its own in the user's cache.
    """
    if ROOT == _CLONE:
        return ROOT / "layers" / "sedano" / "python"
    package = _HERE.parent
    alone = PACKAGES.with_name("library") / hashlib.sha256(str(package).encode()).hexdigest()[:16]
    return assets.once(alone, lambda directory: (directory / package.name).symlink_to(package))


def library_version() -> str:
    """The version of the library that is deployed; it is the description of its layer, which `sedano doctor` reads."""
    (found,) = _VERSION.findall((library() / "sedano" / "__init__.py").read_text(encoding="utf-8"))
    return str(found)


#: The prefix of the history bucket below which the recorder writes, and which may age; the pipeline's tables are beside it.
HISTORY_PREFIX = "events/"
