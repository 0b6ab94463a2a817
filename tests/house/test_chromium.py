"""The browser of the tests: one exact version with its digest, unpacked without root and without a script of the package."""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from requirements import chromium, install, toolchain
from tests.house.tree import ROOT
from tests.pipeline import browser

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


def package(folder: Path) -> Path:
    """Make a package as npm unpacks it, whose browser shows how it was started."""
    packed = folder / "bin"
    (packed / "lib").mkdir(parents=True)
    (packed / "chromium").write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH|$@"\n')
    (packed / "lib" / "libnss3.so").write_text("a library")
    with tarfile.open(packed / chromium.LIBRARIES, "w") as archive:
        archive.add(packed / "lib", "lib")
    for name in ("chromium", chromium.LIBRARIES):
        compressed(packed / name)
    return folder


def npm(folder: Path, *lines: str) -> str:
    """Make a program that stands for npm."""
    made = folder / "npm"
    made.write_text("\n".join(("#!/bin/sh", *lines, "")))
    made.chmod(0o755)
    return str(made)


@pytest.mark.skipif(platform.system() == "Windows", reason="the script that starts the browser is one of a POSIX shell")
def test_a_package_is_unpacked_and_its_program_finds_its_libraries(tmp_path: Path) -> None:
    packed = package(tmp_path / "package") / "bin"
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


def test_a_browser_of_another_version_is_replaced_and_folders_of_killed_runs_are_removed(tmp_path: Path) -> None:
    packed, folder = package(tmp_path / "package"), tmp_path / "venv" / "chromium"
    for old in (folder, folder.parent / "tmpkilled"):
        old.mkdir(parents=True)
        (old / "old").write_text("")
    copies = npm(tmp_path, "mkdir -p node_modules/@sparticuz", f"cp -r {packed} node_modules/@sparticuz/chromium")
    chromium.ensure(folder, copies)
    assert [one.name for one in folder.parent.iterdir()] == ["chromium"]
    assert {one.name for one in folder.iterdir()} == {"chromium", "chromium.bin", "lib", chromium.MARK}


def test_a_browser_that_cannot_be_downloaded_or_unpacked_leaves_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "venv" / "chromium"
    folder.mkdir(parents=True)
    (folder / "old").write_text("")
    torn = package(tmp_path / "package")
    (torn / "bin" / chromium.LIBRARIES).write_bytes(b"torn" * 200)
    compressed(torn / "bin" / chromium.LIBRARIES)
    copies = npm(tmp_path, "mkdir -p node_modules/@sparticuz", f"cp -r {torn} node_modules/@sparticuz/chromium")
    with pytest.raises(tarfile.TarError):
        chromium.ensure(folder, copies)
    with pytest.raises(subprocess.CalledProcessError):
        chromium.ensure(folder, npm(tmp_path, "exit 3"))
    assert [one.name for one in folder.parent.iterdir()] == ["chromium"]
    assert [one.name for one in folder.iterdir()] == ["old"]


def test_a_download_that_takes_too_long_ends_with_its_children(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    waits = npm(tmp_path, f"sh -c 'exec 3>{pipe}; sleep 60' & wait")
    with pytest.raises(subprocess.TimeoutExpired):
        chromium.followed([waits], tmp_path, 0.5)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(reader, 1) == b"", "no process has the pipe open"
    os.close(reader)


def test_a_run_that_is_terminated_leaves_no_folder_and_no_child(tmp_path: Path) -> None:
    waits, folder = npm(tmp_path, "echo begun >&2", "sleep 60 & wait"), tmp_path / "venv" / "chromium"
    code = (
        "import sys, pathlib; from requirements import chromium\n"
        "chromium.ROOT = pathlib.Path(sys.argv[3])\n"
        "with chromium.alone(): chromium.ensure(pathlib.Path(sys.argv[1]), sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(folder), waits, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stderr.readline() == "begun\n"
        run.send_signal(signal.SIGTERM)
        assert run.stderr.read() == "", "its children have ended too: none has stderr open"
    assert (run.returncode, [*folder.parent.iterdir()]) == (128 + signal.SIGTERM, [])


def test_a_browser_that_cannot_start_is_skipped_with_its_reason(tmp_path: Path) -> None:
    broken = npm(tmp_path, "echo libnss3.so: cannot open shared object file >&2", "exit 127")
    assert browser._hindrance(broken) == "libnss3.so: cannot open shared object file"
    assert browser._hindrance(str(tmp_path / "absent")) is not None
    assert browser._hindrance("true") is None
