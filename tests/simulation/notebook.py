"""What a long run has found so far: a line of JSON for each piece of work, written when it is done, so that a run which was cut goes on.

Each line bears the source of its piece (`tests.simulation.sources`): what was played with other code says nothing about this one, so it is
forgotten, and the others are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Notebook:
    """The lines of one file, by key.

    Args:
        path: where it lies; its folder is made.
        sources: what the line of each key depends on; a line of another source is forgotten. What has no source depends on nothing.
    """

    def __init__(self, path: Path, sources: Mapping[str, str]) -> None:
        """Read what is there; a last line that was cut in the middle is left out."""
        self.path, self.sources, self.known = path, sources, dict[str, Any]()
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                key, found, source = json.loads(line)
            except ValueError:
                continue
            if source == sources.get(key, ""):
                self.known[key] = found
        self._rewrite()

    def _rewrite(self) -> None:
        """Write the file anew with what was read of it, whole or not at all, and go on behind that."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text("".join(self._line(key, found) for key, found in self.known.items()), "utf-8")
        fresh.replace(self.path)
        self._file = self.path.open("a", encoding="utf-8")

    def _line(self, key: str, found: Any) -> str:
        return json.dumps([key, found, self.sources.get(key, "")], ensure_ascii=False) + "\n"

    def add(self, key: str, found: Any) -> None:
        """Write down that the work *key* was done and *found* this."""
        self.known[key] = json.loads(json.dumps(found))
        self._file.write(self._line(key, found))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
