"""The agendas of periodic tasks in the table `agenda`, by compare-and-swap (`sedano.sqlite.compare_and_swap`)."""

from __future__ import annotations

from sedano.errors import MessageRefused
from sedano.model.schedules.agenda import AGENDAS, Agenda, AgendaChanged, agenda_or_refusal, read_agenda, write_agenda
from sedano.sqlite.compare_and_swap import Swap, swapped
from sedano.sqlite.store import Store

AGENDA = Swap(
    create="INSERT INTO agenda (body, nonce, held, number) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    change="UPDATE agenda SET body = ?, nonce = ?, held = ? WHERE number = ? AND nonce = ?",
    read="SELECT body, nonce, held FROM agenda WHERE number = ?",
)
_ALL = "SELECT number, body, nonce, held FROM agenda"
_NONE = ("{}", "", 0)


class SqliteSchedules:
    """The periodic tasks of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def read(self) -> list[Agenda | MessageRefused]:
        """Return all agendas, by number; for one that cannot be read, the refusal."""
        kept = {number: (body, nonce, held) for number, body, nonce, held in self._store.rows(_ALL)}
        return [agenda_or_refusal(number, *kept.get(number, _NONE)) for number in range(AGENDAS)]

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Write *agenda* if the stored agenda is still *seen*."""
        row = swapped(self._store, AGENDA, agenda.number, (write_agenda(agenda), agenda.nonce, agenda.held), seen.nonce or None)
        if row is None:
            return AgendaChanged(True, agenda)
        found = read_agenda(agenda.number, *(row or _NONE))
        return AgendaChanged(found.nonce == agenda.nonce, found)
