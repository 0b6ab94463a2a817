"""The browser of the tests: one exact version with its digest, unpacked without root and without a script of the package."""

import json
import platform
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from requirements import chromium, install, toolchain
from tests.house.tree import ROOT

COMPRESS = (
    "const z=require('zlib'),f=require('fs');f.writeFileSync(process.argv[1]+'.br',z.brotliCompressSync(f.readFileSync(process.argv[1])))"
)


def compressed(file: Path) -> None:
    """Write *file* beside itself as the package has it."""
    subprocess.run([shutil.which("node") or toolchain.environment({"PATH": ""})["JSII_NODE"], "-e", COMPRESS, str(file)], check=True)


def test_the_browser_is_one_exact_version_with_its_digest() -> None:
    wanted = json.loads((chromium.PINS / "package.json").read_text())["devDependencies"]
    locked = json.loads((chromium.PINS / "package-lock.json").read_text())["packages"]
    assert wanted == {"@sparticuz/chromium": locked["node_modules/@sparticuz/chromium"]["version"]}
    assert all("integrity" in package and "resolved" not in package for name, package in locked.items() if name)


def test_playwright_brings_no_second_version_of_what_the_tests_import() -> None:
    ours, theirs = (
        dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE))
        for name in ("dev", "browser")
    )
    assert {"playwright", "axe-playwright-python"} <= theirs.keys()
    assert {name: version for name, version in theirs.items() if ours.get(name, version) != version} == {}
    assert install.ENVIRONMENTS["browser"].folder == chromium.FOLDER.parent.name


@pytest.mark.skipif(platform.system() == "Windows", reason="the script that starts the browser is one of a POSIX shell")
def test_a_package_is_unpacked_and_its_program_finds_its_libraries(tmp_path: Path) -> None:
    packed = tmp_path / "package" / "bin"
    (packed / "lib").mkdir(parents=True)
    (packed / "chromium").write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH|$@"\n')
    (packed / "lib" / "libnss3.so").write_text("a library")
    with tarfile.open(packed / chromium.LIBRARIES, "w") as archive:
        archive.add(packed / "lib", "lib")
    for name in ("chromium", chromium.LIBRARIES):
        compressed(packed / name)
    folder = tmp_path / "found"
    chromium.unpacked(packed.parent, folder)
    said = subprocess.run([folder / "chromium", "--a b"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    assert said.stdout == f"{folder}/lib|--a b\n"
    assert (folder / "lib" / "libnss3.so").read_text() == "a library"
    assert not (folder / chromium.LIBRARIES).exists()


def test_a_browser_of_the_pinned_version_is_not_unpacked_again(tmp_path: Path) -> None:
    (tmp_path / chromium.MARK).write_text((chromium.PINS / "package-lock.json").read_text())
    chromium.ensure(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == [chromium.MARK]
