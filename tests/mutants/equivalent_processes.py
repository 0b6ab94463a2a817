"""Mutants of boot steps, services and boxed programs that no test can notice, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

_ENDS = "a service that does not end is waited for a little longer than the grace; how much longer does not matter"
_MARGIN = "a margin: one more or less does not matter"
_WAIT = "how long, or how often, the code looks for an end that comes without it; no result depends on it"
PROCESSES: Mapping[tuple[str, str, str, str], str] = {
    (
        "sedano.engine.boot",
        "Boot.begin",
        "if self._registry.hooks:",
        "`if self._registry.hooks` → `if True`",
    ): "a short cut that loads no module: without hooks nothing is called",
    ("sedano.engine.services", "Services.end", "self._thread.join(2 * self._grace)", "`2` → `3`"): _ENDS,
    **{
        ("sedano.engine.services", "GRACE_S", "GRACE_S = 5.0", f"`GRACE_S` {change}"): (
            "the time that services get to end; tests give a shorter one, and one second more or less does not matter"
        )
        for change in ("+ 1.0", "- 1.0")
    },
    **{
        ("sedano.engine.boxes.child", name, f"{name} = {value}", f"`{name}` {sign} 1"): _MARGIN
        for name, value in (("PIECE", "65_536"), ("AT_FIRST", "1 << 30"), ("SPARE", "32 << 20"))
        for sign in "+-"
    },
    ("sedano.engine.boxes.child", "REAPED_S", "REAPED_S = 1.0", "`REAPED_S` + 1.0"): _WAIT,
    ("sedano.engine.boxes.exchange", "ENDED_S", "ENDED_S = 0.25", "`ENDED_S` + 1.0"): _WAIT,
    ("sedano.engine.boxes.exchange", "LOOK_S", "LOOK_S = 0.002", "`LOOK_S` + 1.0"): _WAIT,
    ("sedano.engine.boxes.exchange", "LOOK_S", "LOOK_S = 0.002", "`LOOK_S` - 1.0"): _WAIT,
    (
        "sedano.engine.boxes.child",
        "BoxProcess.__init__",
        "WATCHER.add(self._process.pid)",
        (
            "`WATCHER.add(self._process.pid)` after `_limit(self._process.pid, plan.memory, AT_FIRST if reserved is None else reserved + "
            "SPARE)`"
        ),
    ): "the limit and the watching process do not read one another",
    (
        "sedano.engine.boxes.child",
        "_limit",
        'if not hasattr(resource, "prlimit"):',
        "`if not hasattr(resource, 'prlimit')` → `if False`",
    ): "every system on which judges run has it; macOS has not",
    (
        "sedano.engine.boxes.child",
        "_limit",
        "resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))",
        "`resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))` → `pass`",
    ): "a judge itself may write no core file, and what it starts has the same limit",
    (
        "sedano.engine.boxes.child",
        "BoxProcess.kill",
        "WATCHER.remove(self.pid)",
        "`WATCHER.remove(self.pid)` after `self.forget()`",
    ): "the pipes and the watching process do not read one another",
    (
        "sedano.engine.boxes.exchange",
        "_Exchange.begin",
        "loop.add_reader(child.output, self._output)",
        "`loop.add_reader(child.output, self._output)` after `self._send()`",
    ): "nothing is read before the loop goes on, which is after both",
    (
        "sedano.engine.boxes.exchange",
        "_crash",
        "while (status := child.status()) is None and loop.time() < until:  # noqa: ASYNC110 - the system alone knows of its end",
        "`loop.time() < until` → `loop.time() <= until`",
    ): _WAIT,
    ("sedano.engine.boxes.pool", "GRACE_S", "GRACE_S = 0.5", "`GRACE_S` + 1.0"): _WAIT,
    (
        "sedano.engine.boxes.pool",
        "Pool.close",
        "while child.status() is None and time.monotonic() < until:",
        "`time.monotonic() < until` → `time.monotonic() <= until`",
    ): _WAIT,
    ("sedano.engine.boxes.pool", "Pool.close", "time.sleep(0.002)", "`time.sleep(0.002)` → `pass`"): _WAIT,
    ("sedano.engine.boxes.watcher", "_started", "process.stdout.read(1)", "`1` → `2`"): (
        "one byte is all that is written, and a read of the pipe returns what has arrived"
    ),
}
