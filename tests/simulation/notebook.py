"""What a long run has found so far: a line of JSON for each piece of work, written when it is done, so that a run which was cut goes on.

A notebook belongs to one state of the source: what was played with other code says nothing about this one, so it is begun anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def source_of(roots: Iterable[Path]) -> str:
    """Return a hash of all Python files below *roots*, by name and content."""
    found = hashlib.sha256()
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()


class Notebook:
    """The lines of one file, by key.

    Args:
        path: where it lies; its folder is made.
        title: what every line depends on; a file with another title is begun anew.
    """

    def __init__(self, path: Path, title: str) -> None:
        """Read what is there; a last line that was cut in the middle is left out."""
        self.path, self.known = path, dict[str, Any]()
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.again = bool(lines) and lines[0] == json.dumps({"title": title})
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in lines[1:] if self.again else ():
            try:
                key, found = json.loads(line)
            except ValueError:
                break
            self.known[key] = found
        self._rewrite(title)

    def _rewrite(self, title: str) -> None:
        """Write the file anew with what was read of it, whole or not at all, and go on behind that."""
        fresh = self.path.with_suffix(".new")
        lines = [json.dumps({"title": title}), *(json.dumps(entry, ensure_ascii=False) for entry in self.known.items())]
        fresh.write_text("\n".join(lines) + "\n", "utf-8")
        fresh.replace(self.path)
        self._file = self.path.open("a", encoding="utf-8")

    def add(self, key: str, found: Any) -> None:
        """Write down that the work *key* was done and *found* this."""
        self.known[key] = json.loads(json.dumps(found))
        self._file.write(json.dumps([key, found], ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
