"""Compiled code for another processor or another Python is refused by name before it is deployed."""

from pathlib import Path

import pytest

from infra.assets import AssetError
from infra.native import machine, require_that_it_runs


def elf(number: int, *, big: bool = False) -> bytes:
    """The header of a shared library for the machine of this ELF number."""
    order = b"\x02" if big else b"\x01"
    return b"\x7fELF\x02" + order + b"\x01" + bytes(9) + b"\x03\x00" + number.to_bytes(2, "big" if big else "little")


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (elf(0xB7), "aarch64"), (elf(0x3E), "x86_64"), (elf(0x15, big=True), "machine 21"), (b"MZ\x90\x00" + bytes(20), "Windows"),
        (b"\xcf\xfa\xed\xfe" + bytes(20), "macOS"), (b"import os\n", None), (b"", None), (b"\x7fELF", None),
    ],
)  # fmt: skip
def test_what_a_file_is_compiled_for_stands_in_its_header(tmp_path: Path, head: bytes, found: str | None) -> None:
    file = tmp_path / "fast.so"
    file.write_bytes(head)
    assert machine(file) == found


@pytest.mark.parametrize(
    ("name", "head", "said"),
    [
        ("fast.so", elf(0x3E), "fast.so is compiled for x86_64, and the functions run on aarch64: pin it"),
        ("libfast.so.1.2", elf(0x3E), "libfast.so.1.2 is compiled for x86_64"),
        ("fast.pyd", b"MZ" + bytes(30), "compiled for Windows"),
        ("fast.cpython-311-aarch64-linux-gnu.so", elf(0xB7), "compiled for CPython 3.11, and the functions run 3.13: pin it"),
    ],
)
def test_what_does_not_run_there_is_refused_with_the_remedy(tmp_path: Path, name: str, head: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(head)
    with pytest.raises(AssetError) as refused:
        require_that_it_runs(tmp_path.iterdir(), architecture="aarch64", python="3.13", remedy="pin it")
    assert said in str(refused.value)


def test_what_runs_there_and_what_is_not_compiled_passes(tmp_path: Path) -> None:
    for name, head in (("a.so", elf(0xB7)), ("b.cpython-313-aarch64-linux-gnu.so", elf(0xB7)), ("c.abi3.so", elf(0xB7)), ("x.so", b"text")):
        (tmp_path / name).write_bytes(head)
    (tmp_path / "tool").write_bytes(elf(0x3E))
    require_that_it_runs(tmp_path.iterdir(), architecture="aarch64", python="3.13", remedy="")
