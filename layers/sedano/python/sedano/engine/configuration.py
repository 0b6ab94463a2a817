"""The configuration of an app in one process: the version that holds now, and how a new one takes its place.

A new version is read and checked as a whole. An invalid one is logged and counted, and the last one stays. A version that changes only hot
fields replaces the old one at once; bodies that have begun keep the version with which they began. A version that changes a cold field
waits until no body runs:

    Lambda          it replaces the old one before the next batch
    a process       no more bodies begin, the running ones end, then it replaces the old one (`enter`, `leave`)

The control record (`sedano.model.cluster.control_record`), which every worker looks at, announces a new version.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from sedano.engine.configuration_layers import LOCAL, read
from sedano.engine.task_context import CURRENT
from sedano.errors import SedanoError, Unavailable
from sedano.model.cluster.control_record import was_announced_before
from sedano.model.configuration.fields import ConfigField
from sedano.model.configuration.layers import Layer
from sedano.model.configuration.snapshots import ConfigRow, ConfigSnapshot, changed, digest, merged, must_wait, rows
from sedano.ports import Ports

C = TypeVar("C")
AGAIN_S = 30.0
"""The seconds after which layers that did not answer are read again."""
UNCHANGED = "nothing changed"


class Configuration(Generic[C]):
    """The configuration of an app; calling it returns the current version. Several threads may use it.

    Inside a body it returns the version with which that body began, elsewhere the newest one of this process, read at the first call.
    """

    def __init__(
        self, cls: type[C], fields: Mapping[str, ConfigField], layers: Sequence[Layer], connect: Callable[[], Ports]
    ) -> None:  # fmt: skip
        """Declare it; no layer is read yet. A program gets the ports that a layer needs by *connect*."""
        self.cls, self._fields, self.layers, self._connect = cls, fields, tuple(layers), connect
        self._snapshot: ConfigSnapshot | None = None
        self._next: ConfigSnapshot | None = None
        self._ports: Ports | None = None
        self._announced, self._asked = "", ("", "")
        self._not_before = self._begun = float("-inf")
        self._reading, self._bodies, self._lock = threading.Lock(), 0, threading.Lock()

    def __call__(self) -> C:
        """Return the current version.

        Raises:
            ConfigurationError: the layers give no valid version; the message lists each field, its layer and what to write.
        """
        context = CURRENT.get()
        if context is not None and type(context.snapshot) is self.cls:
            return context.snapshot
        found: C = self._current().value
        return found

    def origins(self) -> dict[str, str]:
        """Return for each field, by its path, the layer of its newest value, or ``default``. Raises as a call does."""
        return dict(self._current().origins)

    def rows(self) -> list[ConfigRow]:
        """Return the newest version for people: a row for each field, secrets hidden. Raises as a call does."""
        return rows(self._fields, self._current())

    @property
    def newest(self) -> Any:
        """The newest version, with which a body begins; None before the first was read."""
        return None if self._snapshot is None else self._snapshot.value

    @property
    def version(self) -> str:
        """A short text for the newest version, equal in all workers that have equal values; "" before the first was read."""
        return "" if self._snapshot is None else digest(self._fields, self._snapshot)

    @property
    def is_waiting(self) -> bool:
        """Whether a new version waits until no body runs."""
        return self._next is not None

    def begin(self, ports: Ports) -> None:
        """Read the first version for a worker over *ports*; a second call over the same ports does nothing.

        Raises:
            ConfigurationError: it is not valid.
            Unavailable: a layer did not answer.
        """
        with self._reading:
            if self._ports is not ports or self._snapshot is None:
                self._ports, self._begun = ports, ports.clock.now()
                self._next, self._snapshot = None, self._read()

    def forget(self) -> None:
        """Forget every version; the next use reads the layers anew."""
        with self._reading, self._lock:
            self._ports = self._snapshot = self._next = None
            self._announced = ""

    def look(self, announced: str) -> None:
        """Read the layers again if *announced*, the text of the control record, is new: before a batch, and each second in a process."""
        if self._reading.acquire(blocking=False):
            try:
                known = announced == self._announced or was_announced_before(announced, self._begun)
                if known or (self._now() >= self._not_before and self._renewed() is not None):
                    self._announced = announced
            finally:
                self._reading.release()

    def reload(self, message_id: str = "") -> str:
        """Read the layers again now and describe the result; a second call with the same *message_id* returns the same."""
        with self._reading:
            if not message_id or self._asked[0] != message_id:
                self._asked = (message_id, self._renewed() or "a layer did not answer; the last configuration stays")
            return self._asked[1]

    def enter(self) -> bool:
        """Let the bodies of one more lane begin; False if a new version waits until no body runs. `leave` ends it."""
        with self._lock:
            if self._next is not None:
                return False
            self._bodies += 1
            return True

    def leave(self) -> None:
        """Count the bodies of one lane as over; after the last one the version that waits takes its place."""
        with self._lock:
            self._bodies -= 1
            self._swap()

    def _current(self) -> ConfigSnapshot:
        found = self._snapshot
        if found is not None:
            return found
        with self._reading:
            if self._snapshot is None:
                self._snapshot = self._read()
            return self._snapshot

    def _read(self) -> ConfigSnapshot:
        ports = self._ports
        if ports is None and not all(layer.kind in LOCAL for layer in self.layers):
            ports = self._connect()
        return merged(self.cls, self._fields, [(layer, read(layer, ports)) for layer in self.layers])

    def _renewed(self) -> str | None:
        """Read a new version, and apply it or let it wait; return a description, or None if a layer did not answer."""
        try:
            new = self._read()
        except Unavailable as error:
            self._not_before = self._now() + AGAIN_S
            self._log("warning", "a layer of the configuration did not answer; it is read again later", error=str(error))
            return None
        except SedanoError as error:
            return self._refused(error)
        old = self._next or self._snapshot
        paths = changed(self._fields, old.value, new.value) if old is not None else [*self._fields]
        if not paths:
            return UNCHANGED
        if self._snapshot is not None and must_wait(self._fields, changed(self._fields, self._snapshot.value, new.value)):
            with self._lock:
                self._next = new
                if self._swap():
                    return f"changed: {', '.join(paths)}"
            self._log("info", "a new configuration waits until no body runs", fields=paths)
            return f"changes when no body runs: {', '.join(paths)}"
        with self._lock:
            self._next = None
            self._put(new, paths)
        return f"changed: {', '.join(paths)}"

    def _refused(self, error: SedanoError) -> str:
        self._log("error", "a new configuration is refused as a whole; the last one stays", error=str(error))
        if self._ports is not None:
            self._ports.telemetry.count("ConfigurationsRefused")
        return f"refused: {error}"

    def _swap(self) -> bool:
        """Apply the waiting version if no body runs, and return whether it was applied. The caller has the lock."""
        if self._next is None or self._snapshot is None or self._bodies:
            return False
        new, self._next = self._next, None
        self._put(new, changed(self._fields, self._snapshot.value, new.value))
        return True

    def _put(self, new: ConfigSnapshot, paths: Sequence[str]) -> None:
        self._snapshot = new
        self._log("info", "the configuration changed", fields=[*paths], origins=sorted({new.origins[path] for path in paths}))

    def _now(self) -> float:
        return self._ports.clock.monotonic() if self._ports is not None else float("-inf")

    def _log(self, level: str, words: str, **fields: Any) -> None:
        if self._ports is not None:
            self._ports.telemetry.log(level, words, **fields)


