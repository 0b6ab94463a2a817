"""The agendas of periodic tasks in the control table: `sedano.ports.ScheduleStore` by the writes of `sedano.aws.expressions.schedules`."""

from __future__ import annotations

from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions.schedules import CHANGE, CHANGE_ABSENT
from sedano.errors import MessageRefused
from sedano.model.schedules.agenda import AGENDAS, Agenda, AgendaChanged, agenda_or_refusal, read_agenda, write_agenda


class DynamoSchedules:
    """The periodic tasks of one deployment: sixteen items, all read with one call.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string).
    """

    def __init__(self, client: Any, table: str) -> None:
        """Use *table*; no call is made yet."""
        self._table = Table(client, table)

    def read(self) -> list[Agenda | MessageRefused]:
        """Return all agendas, strongly consistent, by number; for one that cannot be read, the refusal."""
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
    """Return the text, the nonce and the claim of an agenda; those of an empty one when there is no item."""
    return (item["body"]["S"], item["nc"]["S"], int(item.get("held", {"N": "0"})["N"])) if item else ("{}", "", 0)
