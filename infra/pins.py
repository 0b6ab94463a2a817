"""The packages that an application pins, from its requirements file: those that apply where the functions run.

    stripe==12.1.0 --hash=sha256:…

Every package is pinned with `==` and its hashes, and so is everything that it needs (`uv pip compile --generate-hashes`,
`pip-compile --generate-hashes`): the file alone decides what is deployed, today and after a year. Markers are evaluated for the
functions' Python and processor, not for the machine that deploys.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from .assets import AssetError

#: Options for the places of packages that are part of the project: folders of wheels. Indexes are configured on each machine.
_PLACES = ("--find-links", "-f", "--no-index")
_COMMENT = re.compile(r"(^|\s)#.*$")
_HASH = re.compile(r"\s--hash=(\S+)")
#: How such a file is made.
MAKE = "`uv pip compile --generate-hashes requirements.in -o requirements.txt` writes such a file"
#: The library is in a layer of its own.
_LIBRARY = "sedano"


class Platform(NamedTuple):
    """Where functions run: the *python*, such as 3.13, the *machine*, such as aarch64, and the *tags* of wheels that run there.

    Without tags it is this process: its installer selects the wheels that run here.
    """

    python: str
    machine: str
    tags: tuple[str, ...]

    def markers(self) -> dict[str, str]:
        """Return the variables of environment markers (PEP 508) that are not this process's own."""
        if not self.tags:
            return {"extra": ""}
        return {
            "implementation_name": "cpython", "implementation_version": f"{self.python}.0", "os_name": "posix",
            "platform_machine": self.machine, "platform_python_implementation": "CPython", "platform_release": "",
            "platform_system": "Linux", "platform_version": "", "python_full_version": f"{self.python}.0",
            "python_version": self.python, "sys_platform": "linux", "extra": "",
        }  # fmt: skip


#: Lambda's python3.13 on arm64: Amazon Linux 2023, whose glibc is 2.34.
LAMBDA = Platform("3.13", "aarch64", tuple(f"{tag}_aarch64" for tag in ("manylinux2014", "manylinux_2_28", "manylinux_2_34", "linux")))


class Pins(NamedTuple):
    """The pinned packages by canonical name, in order, and the lines that say where they come from."""

    packages: Mapping[str, str]
    places: tuple[str, ...]

    def lines(self) -> str:
        """Return a requirements file of the pins that apply, without markers."""
        return "".join(f"{line}\n" for line in (*self.places, *self.packages.values()))


def read(path: Path, on: Platform, brought: Mapping[str, str]) -> Pins:
    """Read the requirements file at *path* for the platform *on*.

    Args:
        path: the file.
        on: where the packages run.
        brought: versions by canonical name that the library's layer has; they are left out when they are the same.

    Raises:
        AssetError: a line is not a pin with hashes, pins what another line pins, or another version than *brought* has.
    """
    packages: dict[str, str] = {}
    places: list[str] = []
    for line in _lines(path):
        if line.startswith("-"):
            places.append(_place(path, line))
            continue
        wanted, hashes = _pin(path, line)
        name = canonicalize_name(wanted.name)
        if name == _LIBRARY or (wanted.marker and not wanted.marker.evaluate(on.markers())):
            continue
        version = str(wanted.specifier).removeprefix("==")
        if brought.get(name, version) != version:
            raise AssetError(
                f"{path.name}: pins {name} {version}, and the library's layer has {brought[name]}: pin that version, or remove the pin"
            )
        pinned = " ".join([f"{name}=={version}", *(f"--hash={digest}" for digest in sorted(hashes))])
        if packages.get(name, pinned) != pinned:
            raise AssetError(f"{path.name}: pins {name} twice, differently: keep one of the two. {MAKE}")
        if name not in brought:
            packages[name] = pinned
    return Pins(dict(sorted(packages.items())), tuple(places))


def _lines(path: Path) -> Iterator[str]:
    """Yield the logical lines: continued ones joined, without comments and blank lines."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise AssetError(f"{path.name}: is not text in UTF-8, which some shells do not write with `>`: save it as UTF-8. {MAKE}") from wrong
    joined = re.sub(r"\\\r?\n", " ", text)
    for line in joined.splitlines():
        if bare := _COMMENT.sub("", line).strip():
            yield bare


def _place(path: Path, line: str) -> str:
    option, _, value = line.replace("=", " ", 1).partition(" ")
    if option not in _PLACES:
        advice = "one file pins every package, and the index is a setting of the machine's pip"
        raise AssetError(f"{path.name}: {line!r} cannot be used: {advice}. {MAKE}")
    local = path.parent / value.strip()
    return f"{option} {local.resolve()}" if option in ("--find-links", "-f") and local.is_dir() else line


def _pin(path: Path, line: str) -> tuple[Requirement, list[str]]:
    hashes: list[str] = _HASH.findall(line)
    try:
        wanted = Requirement(_HASH.sub("", line))
    except InvalidRequirement as wrong:
        raise AssetError(f"{path.name}: {line!r} is not a requirement: {str(wrong).splitlines()[0]}. {MAKE}") from wrong
    exact = [pin for pin in wanted.specifier if pin.operator == "==" and "*" not in pin.version]
    if canonicalize_name(wanted.name) != _LIBRARY and (len(exact) != 1 or len(wanted.specifier) != 1 or wanted.url or not hashes):
        raise AssetError(f"{path.name}: {wanted.name} is not pinned with == and its hashes, so a deployment could differ. {MAKE}")
    return wanted, hashes
