"""The frames of a traceback that was stored as text, with a mark on those of the application. Pure.

A frame belongs to the application unless its file belongs to Python, to an installed package, to the layer of a Lambda function or to this
library. The innermost frame of the application, in the last traceback of the text, is reported as the location of an error, even if a
library raised it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3", "/opt/python/", "/var/lang/", "/python/sedano/")
MOST_FRAMES = 200
_FRAME = re.compile(r'^  File "([^"\n]{1,1000})", line ([0-9]{1,9}), in ([^\n]{0,500})$(?:\n    (?! *[~^])([^\n]{0,1000}))?', re.MULTILINE)
_HEAD = "Traceback (most recent call last):"


class Frame(NamedTuple):
    """One frame: *file*, *line*, *function*, its *code*, and whether it belongs to the application (*own*)."""

    file: str
    line: int
    function: str
    code: str
    own: bool

    @property
    def place(self) -> str:
        """Return a short location: the file's name, the line and the function."""
        return f"{self.file.rpartition('/')[2]}:{self.line} in {self.function}"


def frames(text: str) -> tuple[Frame, ...]:
    """Return the frames of the last traceback of *text*, the outermost first; if there are too many, only the innermost ones."""
    last = text.rpartition(_HEAD)[2]
    found = [Frame(file, int(line), name, code.strip(), _is_own(file)) for file, line, name, code in _FRAME.findall(last)]
    return tuple(found[-MOST_FRAMES:])


def origin(text: str) -> str:
    """Return the location of the innermost frame of the application in *text*; if it has none, of the innermost frame; empty without
    frames.
    """
    found = frames(text)
    own = [frame for frame in found if frame.own]
    return (own or found)[-1].place if found else ""


def _is_own(file: str) -> bool:
    return not file.startswith("<") and not any(part in file for part in FOREIGN)
