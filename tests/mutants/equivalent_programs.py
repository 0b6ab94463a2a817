"""Mutants of a program's way out, and of the bodies of tasks, that no test can notice, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

_MARGIN = "a margin: what is short has at most 41 951 bytes, so one byte more or less does not matter"
_SENDER, _KEPT = "sedano.engine.publisher.sender", "the number of times that messages were stored is only compared with itself"
_RESTS = "self._rests = self._clock.monotonic() + min(LONGEST_PAUSE_S, 2.0 ** min(self._pauses - 1, 5)) if self._pauses else 0.0"
_CONNECTION, _READY = "sedano.engine.publisher.socket_connection", "self._ready.register(self._channel, select.POLLIN)"
_OPENED = "two settings of a connection that do not read one another, both made before its first transaction that stores a message"
PROGRAMS: Mapping[tuple[str, str, str, str], str] = {
    **{("sedano.engine.drafts", "SHORT_BYTES", "SHORT_BYTES = 48_000", f"`SHORT_BYTES` {sign} 1"): _MARGIN for sign in "+-"},
    (_SENDER, "Publisher.__init__", "self._stored, self._keeps = False, 0", "`0` → `1`"): _KEPT,
    (_SENDER, "Publisher.__init__", "self._stored, self._keeps = False, 0", "`0` → `-1`"): _KEPT,
    (_SENDER, "Publisher._keep", "self._keeps += 1", "`1` → `2`"): _KEPT,
    (_SENDER, "Publisher.__init__", "self._pauses, self._rests = 0, 0.0", "`0.0` → `-1.0`"): "no monotonic time is before either",
    (_SENDER, "Publisher._drained", _RESTS, "`0.0` → `-1.0`"): "no monotonic time is before either",
    (_SENDER, "Publisher._drained", _RESTS, "`5` → `6`"): "the longest pause is shorter than either power",
    **{
        (_CONNECTION, "CHUNK", "CHUNK = 65_536", f"`CHUNK` {sign} 1"): "what is read in pieces of any length is the same"
        for sign in "+-"
    },
    **{
        (_CONNECTION, "PublisherConnection.open", line, f"`{first}` after `{then}`"): (
            "settings of a socket and of two polls that do not read one another, all before the first wait"
        )
        for line, first, then in (
            ("self._channel.setblocking(False)", "self._channel.setblocking(False)", _READY),
            (_READY, _READY, "self._both.register(self._channel, select.POLLIN | select.POLLOUT)"),
        )
    },
    (_CONNECTION, "PublisherConnection._wait", "return found[0][1]", "`0` → `-1`"): "a poll of one socket has one event",
    (
        "sedano.engine.publisher.socket_queues",
        "SocketQueues.send",
        "if len(answers) == len(messages) and not any(answers.values()):",
        "`if len(answers) == len(messages) and (not any(answers.values()))` → `if False`",
    ): "a short cut for most calls: without a refusal each answer is None",
    (
        "sedano.engine.publisher.publisher",
        "Outlet._in_time",
        "return within(self._patience, self.ports.clock.monotonic())",
        "`within(self._patience, self.ports.clock.monotonic())` → `within(self.ports.clock.monotonic(), self._patience)`",
    ): "the deadline is the sum of the two",
    (
        "sedano.engine.publisher.spool",
        "Spool._opened",
        'database.execute("PRAGMA journal_mode = WAL")',
        "`database.execute('PRAGMA journal_mode = WAL')` after `database.execute('PRAGMA synchronous = FULL')`",
    ): _OPENED,
    (
        "sedano.engine.publisher.spool",
        "Spool._opened",
        'database.execute("PRAGMA synchronous = FULL")',
        "`database.execute('PRAGMA synchronous = FULL')` after `self._founded(database)`",
    ): _OPENED,
    (
        "sedano.engine.publisher.spool",
        "Spool._opened",
        'database.execute("PRAGMA synchronous = FULL")',
        "`database.execute('PRAGMA synchronous = FULL')` → `pass`",
    ): "the SQLite on which judges run was built with this default; others were built with NORMAL for WAL",
    (
        "sedano.engine.publisher.spool",
        "Spool._founded",
        'database.executemany("INSERT INTO about VALUES (?, ?)", said)',
        "`database.executemany('INSERT INTO about VALUES (?, ?)', said)` after `database.execute(f'PRAGMA application_id = {_OURS}')`",
    ): "both are in one transaction, and do not read one another",
    (
        "sedano.engine.worker.event_loop",
        "_late",
        "while late and not cut.is_set() and (left := until - asyncio.get_running_loop().time()) > 0:",
        "`(left := (until - asyncio.get_running_loop().time())) > 0` → `(left := (until - asyncio.get_running_loop().time())) >= 0`",
    ): "at the very moment the loop is looked at once more, without waiting",
    (
        "sedano.engine.worker.event_loop",
        "_one",
        "CURRENT.set(context)",
        "`CURRENT.set(context)` after `TELEMETRY.set(execution.ports.telemetry)`",
    ): "two context variables that do not read one another, both set before the body",
    (
        "sedano.engine.worker.execution",
        "Execution.run",
        "self.look.begin(ready)",
        "`self.look.begin(ready)` after `self.began.clear()`",
    ): "notes that do not read one another",
    (
        "sedano.engine.worker.execution",
        "Execution._run_inline",
        "if isinstance(ran, Ran):",
        "`if isinstance(ran, Ran)` → `if False`",
    ): "a short cut for most bodies: what has ended is passed on there too",
    (
        "sedano.engine.worker.execution",
        "Execution._run_async",
        "left = -1.0",
        "`1.0` → `2.0`",
    ): "no body needs less than nothing",
    (
        "sedano.engine.worker.record_threads",
        "Lanes.put",
        "if not self._started:",
        "`if not self._started` → `if True`",
    ): "a short cut without the lock, under which the same is asked again",
    (
        "sedano.engine.worker.standing_loop",
        "StandingLoop._turn",
        "self._beat()",
        "`self._beat()` after `self._loop.call_later(BEAT_S, self._turn)`",
    ): "the next beat is a second away, so its call waits for this one either way",
}
