"""A real browser looks at a page: what it drew, as pixels. Skips, and says why, where there is no browser."""

import functools
import shutil
import struct
import subprocess
import sys
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from requirements.chromium import FOLDER, PROGRAM

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ANYWHERE = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
"""Options with which it starts in a container too."""
HIDDEN = (
    "innerWidth > 640 ? [] : [...document.querySelectorAll('.scroll')]"
    ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"
)
"""Yields the parts of a page of which a narrow window hides something at the right until it is scrolled."""
_CHANNELS = {2: 3, 6: 4}

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Picture:
    """What the browser drew: rows of colours."""

    rows: list[list[Colour]]

    def colours(self) -> Counter[Colour]:
        """How often each colour was drawn."""
        return Counter(colour for row in self.rows for colour in row)

    def column(self, x: int) -> set[Colour]:
        """The colours of one column of pixels."""
        return {row[x] for row in self.rows}


def chromium() -> str:
    """Return the path of the browser; skip the test, or the module that is being imported, where there is none."""
    ours = str(PROGRAM) if PROGRAM.exists() else None
    found = next((found for found in (ours, *map(shutil.which, NAMES)) if found), None)
    if found is None:
        pytest.skip(f"`make setup-browser` unpacked no browser, and none of {', '.join(NAMES)} is on PATH", allow_module_level=True)
    if (why := _hindrance(found)) is not None:
        pytest.skip(f"{found} does not start: {why}", allow_module_level=True)
    return found


@functools.cache
def _hindrance(program: str) -> str | None:
    """Return why the browser *program* cannot start here, such as a library that is missing; None if it can."""
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return (run.stderr or run.stdout).strip() or f"it ended with {run.returncode}" if run.returncode else None


def tool(name: str) -> Any:
    """Import Playwright or axe: from the environment of the tests, else from that of the browser; skip the module where neither has it."""
    for folder in FOLDER.parent.glob("lib/python3*/site-packages"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return pytest.importorskip(name, reason=f"{name} is not installed: `make setup-browser` does that")


def look(page: Path, folder: Path, width: int, height: int) -> Picture:
    """Return what a browser with a window of this size shows of *page*; it may load nothing, not even from this machine."""
    shot = folder / f"{page.stem}-{width}.png"
    with tool("playwright.sync_api").sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium(), args=[*ANYWHERE, "--host-resolver-rules=MAP * ~NOTFOUND"])
        window = running.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        window.goto(page.as_uri())
        window.screenshot(path=shot)
        running.close()
    return decoded(shot.read_bytes())


def decoded(png: bytes) -> Picture:
    """Decode a PNG of eight bits a channel, as browsers write it."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    packed, at, header = b"", 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        header = body if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", header)
    assert depth == 8, "sixteen bits a channel are not what a browser writes"
    return Picture(_rows(zlib.decompress(packed), width, height, _CHANNELS[colour]))


def _rows(raw: bytes, width: int, height: int, channels: int) -> list[list[Colour]]:
    stride, above, rows = width * channels, bytes(width * channels), []
    for y in range(height):
        start = y * (stride + 1)
        above = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above, channels)
        rows.append([(above[x], above[x + 1], above[x + 2]) for x in range(0, stride, channels)])
    return rows


def _unfiltered(kind: int, line: bytearray, above: bytes, channels: int) -> bytes:
    """Undo the filter of one line (PNG specification, section 9)."""
    for x in range(len(line)) if kind else ():
        left = line[x - channels] if x >= channels else 0
        corner = above[x - channels] if x >= channels else 0
        guess = (0, left, above[x], (left + above[x]) // 2, _paeth(left, above[x], corner))[kind]
        line[x] = (line[x] + guess) & 0xFF
    return bytes(line)


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    return min((abs(estimate - left), 0, left), (abs(estimate - up), 1, up), (abs(estimate - corner), 2, corner))[2]
