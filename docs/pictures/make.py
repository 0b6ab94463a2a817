"""Makes the pictures of the README from a real run: `python -m docs.pictures.make`.

A project is made in an empty folder, `sedano dev` runs in it on a pseudo-terminal, tasks are published by `sedano call`, and a browser
opens its pages, light and dark. The files in this folder are what these programs showed, but for the folder, which is that of any user.
It needs an environment with what the package depends on, with PyPI's `playwright` and `pillow`, and a Chromium (`--chromium PATH`).
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from docs.pictures.terminal import COLUMNS, Screen, drawn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = 40
SECONDS = 60.0
"""How long anything may take: the machine may be busy."""
ADDED = """

@app.task(retry=False)
def ship(order: int) -> str:
    raise ValueError(f"order {order} has no address")
"""
MORE = """

@app.task
def price(item: str, amount: int) -> int:
    return amount * {"tea": 3, "cake": 5}[item]


@app.task
def total(prices: list[int]) -> int:
    return sum(prices)


@app.task(retry=Retry(max_retries=3, interval_start=600.0))
def charge(order: int) -> int:
    raise TimeoutError("the bank does not answer")


@app.periodic(cron("0 9 * * MON-FRI"))
def remind() -> None:
    pass


def begin() -> None:
    for name in ("Ada", "Grace", "Edsger"):
        greet.delay(name)
    for order in (17, 18):
        ship.delay(order)
    charge.delay(17)
    chord([price.s("tea", 2), price.s("cake", 1), price.s("tea", 5)])(total.s()).get(timeout=60)
"""
PROMPT = "\x1b[32m$\x1b[0m "
DESCRIBED = (
    "Two terminals. In the first, sedano dev prints that it is ready, that greet succeeded, that it loaded a saved file, and a task that "
    "failed with its traceback. In the second, sedano call prints a result, and the id of another task."
)
SHOTS = {"now": "/", "failure": "/tasks?q=name:ship"}
"""The pages that are shown; of `failure`, the first task that it lists."""
SIZE = {"width": 1_080, "height": 660}
COLOURS = 64
HOME = "~"
RENAME = """([folder, home]) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(folder, home)
}"""


class Terminal:
    """A command on a pseudo-terminal, and what it showed so far."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        """Start *command* in *folder*."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.text, self._ours, self._more = "", ours, threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._ours, 65_536)
            except OSError:  # Linux: the last program that had the terminal has ended
                data = b""
            with self._more:
                self.text += data.decode("utf-8", "replace")
                self._more.notify_all()
            if not data:
                return

    def shows(self, pattern: str) -> str:
        """Wait until the terminal shows *pattern*; return what it matched."""
        with self._more:
            if not self._more.wait_for(lambda: re.search(pattern, self.text), SECONDS):
                raise SystemExit(f"{pattern} was not shown within {SECONDS:.0f} s:\n{self.text}")
            found = re.search(pattern, self.text)
        return found[0] if found else ""

    def end(self) -> str:
        """Wait for the end of the command, and return all that it showed."""
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        os.close(self._ours)
        return self.text


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a new user with colours."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SEDANO_", "AWS_")) and name != "NO_COLOR"}
    places = os.pathsep.join([str(ROOT / "layers/sedano/python"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**own, "HOME": str(home), "TERM": "xterm-256color", "PYTHONPATH": places, "TZ": "UTC"}


def sedano(*words: str) -> list[str]:
    """Return the command line of a verb."""
    return [sys.executable, "-m", "sedano", *words]


def recorded(folder: Path, variables: dict[str, str], dev: Terminal) -> list[Screen]:
    """Run the README's first minute in *folder* beside *dev*; return both terminals."""
    beside = ""
    dev.shows(r"ready in .*1 task")
    tasks = folder / "shop" / "tasks.py"

    def said(*words: str) -> str:
        shown = Terminal(sedano(*words), folder, variables).end()
        return f"{PROMPT}sedano {' '.join(words)}\n{shown}"

    beside += said("call", "greet", "Ada", "--wait")
    dev.shows(r"greet.*SUCCESS")
    tasks.write_text(tasks.read_text(encoding="utf-8") + ADDED, encoding="utf-8")
    dev.shows(r"ready in .*2 tasks")
    beside += said("call", "ship", "17")
    dev.shows(r"(?s)FAILURE.*ValueError: order 17 has no address.*ValueError: order 17 has no address[^\n]*\n")
    return [Screen("shop: sedano dev", f"{PROMPT}sedano dev\n{dev.text}"), Screen("shop: another terminal", beside)]


def photographed(address: str, chromium: str, scratch: Path) -> None:
    """Take the pictures of the pages at *address*, light and dark."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        page: Any = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
        page.goto(address)
        base = address.partition("/-/")[0]
        for name, target in SHOTS.items():
            page.goto(base + target)
            if name != "now":
                page.click("main tbody a[href^='/task?id=']")
            page.evaluate(RENAME, [str(scratch), HOME])
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                _saved(page.screenshot(), HERE / f"{name}-{scheme}.png")
        browser.close()


def _saved(png: bytes, path: Path) -> None:
    """Write a picture with so few colours that it is small; a page has hardly more."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> int:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description="Make the pictures of the README from a real run.")
    named = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
    parser.add_argument("--chromium", default=named, metavar="PATH", help="the browser; default: the one on PATH")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        variables = environment(Path(scratch))
        subprocess.run(sedano("new", "shop"), cwd=scratch, env=variables, capture_output=True, check=True)
        folder = Path(scratch) / "shop"
        dev = Terminal(sedano("dev"), folder, variables)
        try:
            screens = recorded(folder, variables, dev)
            (HERE / "terminal.svg").write_text(drawn(screens, DESCRIBED).replace(scratch, HOME), encoding="utf-8")
            tasks = folder / "shop" / "tasks.py"
            text = tasks.read_text(encoding="utf-8").replace("import Sedano", "import Retry, Sedano, chord, cron")
            tasks.write_text(text + MORE, encoding="utf-8")
            dev.shows(r"ready in .*6 tasks")
            subprocess.run([sys.executable, "-c", "from shop.tasks import begin; begin()"], cwd=folder, env=variables, check=True)
            photographed(dev.shows(r"http://[\w.:/?=&-]+token=[\w-]+"), asked.chromium, Path(scratch))
        finally:
            dev.process.send_signal(signal.SIGTERM)
            dev.end()
    sys.stdout.write("".join(f"{path.relative_to(ROOT)} {path.stat().st_size}\n" for path in sorted(HERE.glob("*.[sp][vn]g"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
