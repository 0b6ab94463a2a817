"""Checks that compiled code in a deployment is for the processor and the Python that run the functions.

Otherwise the first task that imports a shared library for another machine would fail, long after the deployment. The library's header
identifies the machine (the ELF specification, `e_machine`), and so does CPython's tag in its name.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from .assets import AssetError

#: The machine that the header of an ELF file names.
_MACHINES = {0x03: "x86", 0x28: "arm", 0x3E: "x86_64", 0xB7: "aarch64", 0xF3: "riscv64"}
_OTHERS = {b"MZ": "Windows", b"\xcf\xfa\xed\xfe": "macOS", b"\xca\xfe\xba\xbe": "macOS"}
_NAMES = re.compile(r"\.(so|pyd|dylib)(\.\d+)*$")
_TAG = re.compile(r"\.cpython-(\d+)[-.]")


def machine(path: Path) -> str | None:
    """Return the machine of the compiled file, such as `aarch64`; None if it is not compiled code."""
    with path.open("rb") as file:
        head = file.read(20)
    if head.startswith(b"\x7fELF") and len(head) == 20:
        number = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
        return _MACHINES.get(number, f"machine {number}")
    return next((system for magic, system in _OTHERS.items() if head.startswith(magic)), None)


def require_that_it_runs(files: Iterable[Path], *, architecture: str, python: str, remedy: str) -> None:
    """Refuse compiled code for another processor than `architecture` or another Python than `python`, such as 3.13.

    Raises:
        AssetError: names the file, its machine or Python, and the *remedy*.
    """
    for path in files:
        if not _NAMES.search(path.name):
            continue
        made_for = machine(path)
        if made_for is not None and made_for != architecture:
            raise AssetError(f"{path.name} is compiled for {made_for}, and the functions run on {architecture}: {remedy}")
        tag = _TAG.search(path.name)
        if tag and tag[1] != python.replace(".", ""):
            raise AssetError(f"{path.name} is compiled for CPython {tag[1][0]}.{tag[1][1:]}, and the functions run {python}: {remedy}")
