"""Streams: each record of a table's or a Kinesis stream, and each message of a foreign queue, becomes a call of the tasks that read it.

    read -> call -> publish -> answer how far it got

The only user code that runs here finds a call's key or tenant, so no record can crash this function or block its shard: a body fails in a
task, with the task's retries and parking. Ids of calls are derived from the record's id, so a batch that Lambda delivers again, completely
or in part, calls nothing twice. A record that cannot be read, or with which a task cannot be called, is parked whole; then no call of it
was published, unless a queue refused one of them for good. If a service is unavailable, the record and all records after it stay in the
stream: no unpublished record is skipped, and repeated calls are recognised downstream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sedano.engine.batch import Batch
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.publisher.sender import Publisher
from sedano.engine.unexpected_errors import answers_of, is_unexpected, unexpected
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, Unavailable
from sedano.model import refusals
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import NOTHING
from sedano.model.sources.queue_messages import MESSAGE
from sedano.model.sources.streams import QUEUE, Record, call_id, read_all, read_back, sequence, written
from sedano.ports import Delivery, Ports

TOGETHER = 100
"""The number of records published together; after each group the remaining time is checked."""
GUARD_S = 10.0
"""No more publications begin this many seconds before the deadline, so that the function can report its progress if queues are slow."""
Standing = Mapping[str, Mapping[str, Sequence[str]]]
"""By the name of a stream: the tasks that read it, each with the operations that it wants; an empty list: all."""
Called = Callable[[str, Record, str], CommandDraft]
"""Makes the call of a task, by its name, with a record, under an id. Raises `SedanoError` when there can be none."""


Stop = tuple[int, SedanoError]
"""The record before which the batch stops, and the reason."""


class _Read(NamedTuple):
    """The records that were read: the calls by queue, each with the place of its record; the refused ones with the reasons; the place of
    the stop."""

    calls: dict[str, list[tuple[int, Addressed]]]
    refused: dict[int, MessageRefused]
    stop: Stop | None


class Streams:
    """Processes the records of streams. One per process; one batch at a time."""

    def __init__(
        self, standing: Standing, called: Called, ports: Ports, host: Host, lamport: LamportClock, *, formats: Mapping[str, str] = NOTHING
    ) -> None:  # fmt: skip
        """Call the tasks that are *standing* on streams as *called* does; *formats*: that of the messages of each stream that names one."""
        self._formats = formats
        self._standing, self._called, self._ports, self._host = standing, called, ports, host
        self._composer = Composer(host.hostname, lamport, ports)
        self._publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry)
        self._parking = ParkingLot(ports, lamport)
        self._away = ""

    def take(self, name: str, records: Sequence[Mapping[str, Any]], deadline: float) -> int:
        """Publish the calls of *records* of the stream *name* until *deadline* (epoch s); return how many records, from the first, are
        finished.

        Raises:
            ConfigurationError: the stream *name* is unknown, or the first record could not be sent and waiting does not help.
            Unavailable: the first record could not be sent.
        """
        done, why = 0, None
        while done < len(records) and why is None and (not done or self._ports.clock.now() < deadline - GUARD_S):
            went, why = self._contained(name, records[done : done + TOGETHER])
            done += went
        if done == len(records):
            return done
        self._ports.telemetry.count("StreamsStopped")
        self._ports.telemetry.log(
            "warning", "stream: the rest of the batch stays in it and is delivered again", stream=name, records=len(records), done=done,
            next=sequence(records[done]), error=str(why or "the time of the invocation is over"),
        )  # fmt: skip
        if not done and why is not None:
            raise why
        return done

    def again(self, name: str, text: str) -> int:
        """Process a parked record again, and return how many tasks were called with it.

        Raises:
            SedanoError: the stream *name* is no longer declared, or it still cannot be read, or it cannot be sent.
        """
        if name not in self._standing:
            raise ConfigurationError(f"stream {name}: this app does not declare it; name the app that does with --app")
        calls = self._calls(name, read_back(text))
        for error in self._publisher.publish_all(calls):
            if error is not None:
                raise error
        return len(calls)

    def _contained(self, name: str, records: Sequence[Mapping[str, Any]]) -> tuple[int, SedanoError | None]:
        """Do as `_some` does. If it raises an unforeseen exception, do so for each record alone, and park the one that raises again. Calls
        that were published before have derived ids, so copies are recognised downstream.
        """
        try:
            return self._some(name, records)
        except Exception as error:  # noqa: BLE001 - the last resort
            answer = unexpected(self._ports.telemetry, error)
        if len(records) == 1:
            return self._park(name, records, {0: answer}, None) or (1, None) if isinstance(answer, MessageRefused) else (0, answer)
        for done, record in enumerate(records):
            _, why = self._contained(name, [record])
            if why is not None:
                return done, why
        return len(records), None

    def _some(self, name: str, records: Sequence[Mapping[str, Any]]) -> tuple[int, SedanoError | None]:
        """Publish the calls of *records*; return how many records are finished, and the reason for a stop, if any."""
        found = self._read(name, records)
        stop = self._publish(found)
        return self._park(name, records, found.refused, stop) or (len(records), None)

    def _publish(self, some: _Read) -> Stop | None:
        """Publish the calls, queue after queue, none of a record beyond the one that stopped; return where it stops.

        The queue that failed last is tried first, so that while it fails, the other queues do not get the same calls repeatedly.
        """
        stop = some.stop
        for queue in sorted(some.calls, key=lambda one: one != self._away):
            going = [(place, call) for place, call in some.calls[queue] if stop is None or place < stop[0]]
            answers = answers_of(self._ports.telemetry, self._publisher.publish_all, [call for _, call in going])
            for (place, _), error in zip(going, answers, strict=True):
                if error is None:
                    continue
                if isinstance(error, MessageRefused) and is_unexpected(error):
                    some.refused.setdefault(place, error)
                elif error.is_final:
                    some.refused.setdefault(place, MessageRefused(refusals.STREAM, "call", str(error)))
                elif stop is None or place < stop[0]:
                    stop, self._away = (place, error), queue
        return stop

    def _read(self, name: str, records: Sequence[Mapping[str, Any]]) -> _Read:
        found = _Read({}, {}, None)
        for place, record in enumerate(records):
            try:
                calls = self._calls(name, record)
            except MessageRefused as unread:
                found.refused[place] = unread
            except SedanoError as away:
                return found._replace(stop=(place, away))
            else:
                for call in calls:
                    found.calls.setdefault(call.queue, []).append((place, call))
        return found

    def _calls(self, name: str, record: Mapping[str, Any]) -> list[Addressed]:
        """Return the calls that *record* asks for.

        Raises:
            MessageRefused: there is no valid call, because of the record itself.
            SedanoError: the calls cannot be made now.
        """
        standing = self._standing.get(name)
        if standing is None:
            raise ConfigurationError(f"stream {name}: this app does not declare it; write @app.stream({name!r}) above a task")
        try:
            return [
                self._composer.compose(self._called(task, said, call_id(name, task, said["id"])))
                for said in read_all(name, record, self._ports.clock.now(), self._formats.get(name, MESSAGE))
                for task, operations in standing.items()
                if not operations or said.get("operation") in operations
            ]
        except MessageRefused:
            raise
        except (Exception, SystemExit) as error:  # a key's function that ends the process would end each that is handed the record again
            if isinstance(error, SedanoError) and not error.is_final:
                raise
            raise MessageRefused(refusals.STREAM, "call", f"{type(error).__name__}: {error}") from error

    def _park(
        self, name: str, records: Sequence[Mapping[str, Any]], refused: Mapping[int, MessageRefused], stop: Stop | None
    ) -> Stop | None:
        """Park the refused records before the place of *stop*; return the final stop."""
        batch = Batch(self._ports.clock.now(), Chronicle(self._host))
        places: dict[int, int] = {}
        for place, why in sorted(refused.items()):
            if stop is None or place < stop[0]:
                number = sequence(records[place])
                which = number if number.isascii() and number.isprintable() and number else "no sequence number"
                delivery = Delivery(f"{QUEUE}{name}", which, "", written(records[place]))
                places[id(delivery)] = place
                batch.park(delivery, why.code, why.field, why.detail)
        self._parking.settle(batch)
        if not batch.given_back:
            return stop
        return min(places[id(one)] for one in batch.given_back), Unavailable("a record cannot be read, and could not be parked")
