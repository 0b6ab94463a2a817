"""The directory of an application's pinned packages, as the functions import them, made without Docker.

Wheels are chosen for the functions' Python and processor, never built: a package without such a wheel is refused by name. The
directory is named after a digest of its inputs, so it is made once and an unchanged file is never published twice. Bytecode
is included if this machine can make it.
"""

import json
import platform
import re
import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from . import assets, native
from .assets import AssetError
from .bytecode import compile_beside, compiler
from .pins import MAKE, Pins, Platform, read
from .places import LAYER, LAYER_PINS, PACKAGES

#: The packages of Lambda's Python besides the standard library.
LAMBDAS_OWN = frozenset({"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"})
#: The folder that Lambda puts on the path of Python, in every layer.
MODULES = "python"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
#: pip's words before it gives up on a connection; after that it finds no version of any package.
_UNREACHABLE = "Retrying (Retry("
_NO_WHEEL = re.compile(r"No matching distribution found for (\S+)")


def packages_for(requirements: Path, on: Platform, cache: Path = PACKAGES) -> Path | None:
    """Return the directory that holds, in the folder `python`, what *requirements* pins for the platform *on*; None when nothing applies.

    Args:
        requirements: a file of pins with hashes.
        on: where they run.
        cache: the parent of such directories.

    Raises:
        AssetError: a pin cannot be used, has no wheel for the platform, or needs an unpinned package.
    """
    present = brought()
    pins = read(requirements, on, present)
    if not pins.packages:
        return None
    compiled = ["bytecode"] if compiler(on.python) else []
    name = assets.digest(and_bytes=json.dumps([on, pins.packages, *compiled]).encode())[:16]
    return assets.once(cache / name, lambda target: _fill(target, pins, on, {*present, *LAMBDAS_OWN}, requirements.name))


def library_packages() -> Path:
    """Return the directory of the packages that the library's layer brings; it has no folder `python`.

    The installed package carries them; in a clone pip downloads them once.
    """
    name = assets.digest(and_bytes=LAYER_PINS.read_bytes())[:16]
    if LAYER.is_file():
        return assets.once(PACKAGES / name, lambda target: assets.unpack(LAYER, target))
    return assets.once(PACKAGES / name, lambda target: assets.install(LAYER_PINS, target))


def brought() -> dict[str, str]:
    """Return the versions of the packages in the library's layer, by canonical name."""
    return {str(canonicalize_name(name)): version for name, version in _PIN.findall(LAYER_PINS.read_text())}


def is_compiled(packages: Path) -> bool:
    """Return whether the packages hold compiled code, so that they run on one kind of machine only."""
    return any(native.machine(path) is not None for path in assets.sources(packages))


def here() -> Platform:
    """Return the platform of this process; no tags: the installer selects the wheels that run here."""
    return Platform(f"{sys.version_info.major}.{sys.version_info.minor}", f"{sys.platform} {platform.machine()}", ())


def _fill(target: Path, pins: Pins, on: Platform, present: set[str], name: str) -> None:
    wanted, modules = target.with_name(name), target / MODULES
    wanted.write_text(pins.lines(), encoding="utf-8")
    try:
        assets.install(wanted, modules, _options(on))
    except AssetError as error:
        raise _explained(error, on, name) from error
    if on.tags:
        remedy = f"pin a version that has a wheel for it in {name}"
        native.require_that_it_runs(assets.sources(modules), architecture=on.machine, python=on.python, remedy=remedy)
        _require_whole(modules, on, present, name)
    compile_beside(modules, on.python)


def _options(on: Platform) -> list[str]:
    if not on.tags:
        return []
    return ["--implementation", "cp", "--python-version", on.python, *(f"--platform={tag}" for tag in on.tags)]


def _explained(error: AssetError, on: Platform, name: str) -> AssetError:
    """Return the error with the remedy, followed by pip's own words."""
    missing = _NO_WHEEL.search(str(error))
    if _UNREACHABLE in str(error):
        words = "the index of packages cannot be reached: check the network, and the output of `pip config list`"
    elif missing:
        where = f"Python {on.python} on Linux {on.machine}" if on.tags else "this machine's Python"
        remedy = "and nothing is compiled for it here: pin a version that has one, or a package without compiled code"
        words = f"{missing[1]} has no wheel for {where}, {remedy}, and check that the version exists"
    else:
        words = f"pip cannot install a pinned package, for the reason below: correct the pin, or make the file again. {MAKE}"
    return AssetError(f"{name}: {words}.\n{error}")


def _require_whole(modules: Path, on: Platform, present: set[str], name: str) -> None:
    """Refuse packages that need unpinned ones: the first import would fail in the function."""
    needs = dict(_metadata(modules))
    for package, wanted in needs.items():
        for need in wanted:
            other = canonicalize_name(need.name)
            applies = need.marker is None or need.marker.evaluate(on.markers())
            if applies and other not in needs and other not in present:
                raise AssetError(f"{name}: {package} needs {need}, which is not pinned there: pin it with its hashes too")


def _metadata(modules: Path) -> Iterator[tuple[str, list[Requirement]]]:
    """Yield each installed package with the requirements that it states."""
    for file in sorted(modules.glob("*.dist-info/METADATA")):
        said = HeaderParser().parsestr(file.read_text(encoding="utf-8"))
        yield canonicalize_name(str(said["Name"])), [Requirement(line) for line in said.get_all("Requires-Dist", [])]
