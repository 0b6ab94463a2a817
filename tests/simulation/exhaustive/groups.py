"""The claim with group commit, exhaustively: a first claim is an INSERT, and any process may go on by CLAIM at any time, under its nonce.

It does so when its statement was refused, throttled, or not answered: to the search these are the same, because the statement may have been
carried out, may be carried out later, or never. The texts are the shipped ones: INSERT, END, CLAIM, STEAL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sedano.aws.expressions import Write, tasks
from sedano.aws.expressions.statements import END, INSERT, Statement
from sedano.model import states
from tests.simulation.exhaustive.claims import CLAIMING, ClaimModel, Process, Record, Request
from tests.simulation.exhaustive.network import Move
from tests.simulation.statements import meaning

VALUES = {":running": {"S": str(states.RUNNING)}, ":one": {"N": "1"}}


def shipped(statement: Statement) -> Write:
    """Return the write that *statement* is, with the values that never change."""
    found = meaning(statement.of("t").text, statement.parameters).write
    return Write(condition=found.condition, update=found.update, values=VALUES)


class GroupModel(ClaimModel):
    """*processes* are each given the message *deliveries* times. The statements may be replaced by mutants."""

    def __init__(self, processes: int, deliveries: int, insert: Write | None = None, end: Write | None = None) -> None:
        """Begin with no record."""
        super().__init__(processes, deliveries, tasks.CLAIM, tasks.STEAL, end or shipped(END))
        self.writes["insert"] = insert or shipped(INSERT)

    def moves(self, record: Record, process: Process) -> Sequence[Move]:
        """Return what *process* may do by itself: a claim begins as an INSERT, and goes on as CLAIM."""
        found = [
            (label, after, Request("insert", sent.nonce) if sent is not None and sent.kind == "claim" else sent)
            for label, after, sent in super().moves(record, process)
        ]
        if process.at == CLAIMING:
            found.append((f"{process.number} goes on singly", process, Request("claim", process.nonce)))
        return found
