"""The notice to a developer when the local stage ends a function at its time limit: on AWS it is only in the function's log."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_ENDED = re.compile(r"Lambda (\S+) timed out after (\d+)s")
VISIBILITY_FACTOR = 6
"""A message stays hidden this many time limits of its function: so the stacks set it."""


def notices(lines: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each line of the endpoint's log that says that a function was ended at its time limit."""
    for line in lines:
        if found := _ENDED.search(line):
            function, limit = found[1], int(found[2])
            hidden = VISIBILITY_FACTOR * limit
            yield (
                f"{function} was ended at its time limit of {limit} s: the tasks that it ran begin again in up to {hidden} s. "
                f"Make them shorter, or give the functions more time: --set timeout={min(2 * limit, 900)}."
            )


class LogTail:
    """The lines that a file gained since the last look."""

    def __init__(self, path: Path) -> None:
        """Begin at the present end of the file at *path*."""
        self._path, self._place, self._rest = path, path.stat().st_size, ""

    def lines(self) -> list[str]:
        """Return the whole lines that were written since; half a line waits for its end."""
        with self._path.open(encoding="utf-8", errors="replace", newline="") as file:
            file.seek(self._place)
            text = self._rest + file.read()
            self._place = file.tell()
        *whole, self._rest = text.split("\n")
        return whole
