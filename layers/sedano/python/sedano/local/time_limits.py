"""The notice that the local stage has ended a function at its time limit; on AWS, only the function's log has it."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_ENDED = re.compile(r"Lambda (\S+) timed out after (\d+)s")
VISIBILITY_FACTOR = 6
"""The stacks set the visibility timeout of a message to this many time limits of its function."""


def notices(lines: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each line of the endpoint's log about a function that was ended at its time limit."""
    for line in lines:
        if found := _ENDED.search(line):
            function, limit = found[1], int(found[2])
            hidden = VISIBILITY_FACTOR * limit
            yield (
                f"{function} was ended at its time limit of {limit} s: its tasks run again within {hidden} s. "
                f"Make them shorter, or give the functions more time: --set timeout={min(2 * limit, 900)}."
            )


class LogTail:
    """The lines that were added to a file since the last read."""

    def __init__(self, path: Path) -> None:
        """Start at the present end of the file at *path*."""
        self._path, self._place, self._rest = path, path.stat().st_size, ""

    def lines(self) -> list[str]:
        """Return the complete lines that were added; keep an incomplete line until it ends."""
        with self._path.open(encoding="utf-8", errors="replace", newline="") as file:
            file.seek(self._place)
            text = self._rest + file.read()
            self._place = file.tell()
        *whole, self._rest = text.split("\n")
        return whole
