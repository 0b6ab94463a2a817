"""The agendas as the version before `sedano.model.schedules.schedule_states` keeps them: definitions and states in one text."""

from __future__ import annotations

from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions import Write
from sedano.errors import MessageRefused
from sedano.model.schedules.agenda import AGENDAS, Agenda, AgendaChanged, agenda_or_refusal, read_agenda, write_agenda

ALL = "SET nc = :nc, body = :body, held = :held"
CHANGE = Write(condition="nc = :seen", update=ALL)
CHANGE_ABSENT = Write(condition="attribute_not_exists(pk)", update=ALL)


class OlderSchedules:
    """Agendas in *table*: what this class reads and writes is what that version did."""

    def __init__(self, client: Any, table: str) -> None:
        """Use *table*."""
        self._table = Table(client, table)

    def read(self) -> list[Agenda | MessageRefused]:
        """Return all agendas; for one that cannot be read, such as one of the next version, the refusal."""
        wanted = [keys.agenda(number) for number in range(AGENDAS)]
        items = self._table.read(wanted)
        return [agenda_or_refusal(number, *_kept(items.get(key))) for number, key in enumerate(wanted)]

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Write *agenda* if the stored agenda is still *seen*."""
        values: dict[str, Any] = {":nc": {"S": agenda.nonce}, ":body": {"S": write_agenda(agenda)}, ":held": {"N": str(agenda.held)}}
        if seen.nonce:
            values[":seen"] = {"S": seen.nonce}
        done, item = self._table.update(CHANGE if seen.nonce else CHANGE_ABSENT, keys.agenda(agenda.number), values)
        if done:
            return AgendaChanged(True, agenda)
        found = read_agenda(agenda.number, *_kept(item))
        return AgendaChanged(found.nonce == agenda.nonce, found)


def _kept(item: Item | None) -> tuple[str, str, int]:
    return (item["body"]["S"], item["nc"]["S"], int(item.get("held", {"N": "0"})["N"])) if item else ("{}", "", 0)
