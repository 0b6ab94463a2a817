"""The agendas of periodic tasks, in memory."""

from __future__ import annotations

import threading

from sedano.errors import MessageRefused
from sedano.model.schedules.agenda import AGENDAS, Agenda, AgendaChanged, agenda_or_refusal, read_agenda, write_agenda


class MemorySchedules:
    """The periodic tasks of one deployment, kept as the text that a table would keep."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[int, tuple[str, str, int]] = {}
        self._lock = threading.Lock()

    def read(self) -> list[Agenda | MessageRefused]:
        """Return all agendas, by number; for one that cannot be read, the refusal."""
        with self._lock:
            kept = [self._kept.get(number, ("{}", "", 0)) for number in range(AGENDAS)]
        return [agenda_or_refusal(number, *found) for number, found in enumerate(kept)]

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Write *agenda* if the stored agenda is still *seen*."""
        text = write_agenda(agenda)
        with self._lock:
            found = self._read(agenda.number)
            if found.nonce != seen.nonce:
                return AgendaChanged(found.nonce == agenda.nonce, found)
            self._kept[agenda.number] = (text, agenda.nonce, agenda.held)
            return AgendaChanged(True, agenda)

    def _read(self, number: int) -> Agenda:
        kept = self._kept.get(number)
        return read_agenda(number, *kept) if kept is not None else Agenda(number)
