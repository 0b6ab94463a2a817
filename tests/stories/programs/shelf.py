"""Queues on disk for programs that really end: a message that was accepted is a line in a file; the queue is away while a file says so."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sedano import Sedano, memory
from sedano.errors import SedanoError, Unavailable
from sedano.model.queues import SQS
from sedano.ports import Outgoing, Ports

app = Sedano("shelf", connect="tests.stories.programs.shelf:connect")


@app.task(name="keep")
def keep(what: str) -> str:
    """Do nothing but exist."""
    return what


class Shelf:
    """Keeps what was sent in the file `sent`, unless there is a file `away` beside it."""

    bounds = SQS

    def __init__(self, folder: Path) -> None:
        """Keep it in *folder*."""
        self.folder = folder

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Keep all, or none."""
        if (self.folder / "away").exists():
            raise Unavailable("the queue is away")
        with (self.folder / "sent").open("a", encoding="utf-8") as file:
            file.writelines(f"{message.body}\n" for message in messages)
        return [None] * len(messages)


def connect() -> Ports:
    """Ports in memory, on a clock that does not wait, with queues on disk."""
    shelf: Any = Shelf(Path(os.environ["SHELF"]))
    return replace(memory.ports(seed=os.getpid()), queues=shelf)
