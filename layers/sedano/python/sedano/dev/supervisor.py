"""The supervisor of `sedano dev`: it keeps one worker process running on the code as it is now, and ends workers that are overdue.

    starting ──ready──> working ──files changed──> stopping ──> ended
        │                  └──died──> a new worker, later each time
        └──does not load──> nothing runs, messages wait ──files changed──> a new worker

With `--once` a worker ends when nothing is due, and the supervisor after it.

When a file changes, the new worker starts at once, and the old one receives no more messages and finishes its current batch. The new one
is a spare process, which has imported this library and nothing else (`sedano.dev.worker_processes`). The database, the lock and the
listening socket of the webhooks belong to the project or to the supervisor, so a reload loses nothing.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from sedano.api.dev_server import DevServer
from sedano.dev.folder import DevFolder
from sedano.dev.keys import QUIT, RESTART, WORDS, pressed, terminal
from sedano.dev.output import Console
from sedano.dev.pages import DevPages
from sedano.dev.settings import DevSettings
from sedano.dev.watch import FolderWatch
from sedano.dev.worker import VISIBILITY_S
from sedano.dev.worker_processes import Child, overdue
from sedano.errors import SedanoError
from sedano.host import one_file
from sedano.model.queues import messages_wait
from sedano.model.restarts import STEADY_S, backoff
from sedano.ports import command_queue

LOOK_S = 0.5
"""The longest time between two checks of the deadlines."""
LOADS_LONG_S = 10.0
"""The seconds after which the supervisor reports that a worker still loads."""
FAILED, TASK_FAILED = 1, 6
"""Exit statuses of `--once` (`sedano.cli.exits`)."""
UNREAD = "not read here, its table, shards or queue are on AWS; call its task with a record, or use a world of sedano.testing"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """Runs the workers of one project."""

    def __init__(
        self, settings: DevSettings, folder: DevFolder, listening: socket.socket, console: Console,
        last: DevServer | None, announced: Callable[[Mapping[str, Any]], None], environment: Mapping[str, str], keyboard: int = 0,
        pages: DevPages | None = None,
    ) -> None:  # fmt: skip
        """Run *settings* in *folder*, on *listening*.

        *last* is the previous server in this folder; *announced* is called with the first report of a worker. *keyboard* is a
        file descriptor, stdin; keys are read from it if it is a terminal. *pages* are loaded at the first visit.
        """
        self._settings, self._folder, self._listening, self._console = settings, folder, listening, console
        self._announced, self._environment, self._keyboard, self._pages = announced, environment, keyboard, pages
        self._watch = FolderWatch(settings.code) if settings.reload else None
        self._selector = selectors.DefaultSelector()
        self._children: list[Child] = []
        self._current: Child | None = None
        self._spare: Child | None = None
        self._asked: list[int] = []
        self._status: int | None = None
        self._deaths, self._again, self._started, self._next_look = 0, 0.0, 0.0, 0.0
        self._is_announced = self._is_slow = False
        self._running = last

    def run(self) -> int:
        """Run until a signal arrives and all workers have ended; return the exit status.

        It is 0 after SIGTERM and the key `q`, else 128 and the signal's number. With *once*: 0 if all due tasks have succeeded,
        `TASK_FAILED` if a task failed or a message was parked, and `FAILED` if the app does not load or the database did not answer.
        """
        with self._signals() as woken, terminal(self._keyboard) as has_keys:
            self._selector.register(woken, selectors.EVENT_READ)
            if has_keys:
                self._selector.register(self._keyboard, selectors.EVENT_READ)
                self._console.say(WORDS, "dim")
            if self._pages is not None:
                self._selector.register(self._pages.listening, selectors.EVENT_READ, self._pages)
            self._start()
            while not self._asked and self._status is None:
                self._turn(woken)
                self._look_at_files(time.monotonic())
                self._start_again(time.monotonic())
            self._finish(woken)
        if self._status is not None:
            return self._status
        return 0 if self._asked[0] == signal.SIGTERM and not self._settings.once else 128 + self._asked[0]

    def _turn(self, woken: socket.socket) -> None:
        """Wait for messages of the workers and for signals, and end the workers that are overdue."""
        for key, _ in self._selector.select(self._pause()):
            if key.fileobj is woken:
                with suppress(BlockingIOError):
                    woken.recv(4096)
            elif key.fileobj == self._keyboard:
                self._obey(pressed(self._keyboard))
            elif key.data is self._pages:
                self._selector.unregister(key.fileobj)
                self._pages.begin()
            else:
                self._hear(key.data)
        if self._current is not None and self._current.ready is None and not self._is_slow and self._age() > LOADS_LONG_S:
            self._is_slow = True
            self._console.say(f"{self._settings.app} still loads after {LOADS_LONG_S:g} s; messages wait", "warning")
        now = time.time()
        for child in self._children:
            if not child.was_ended and overdue(child.deadline, child.stopping, now):
                self._end(child)

    def _pause(self) -> float:
        now = time.monotonic()
        looks = [self._next_look - now] if self._watch is not None else []
        starts = [self._again - now] if self._again else []
        return max(0.0, min([LOOK_S, *looks, *starts]))

    def _start(self) -> None:
        given = {
            "app": self._settings.app, "code": str(self._settings.code), "database": str(self._folder.database),
            "timeout": self._settings.timeout, "secrets": dict(self._settings.secrets), "colour": self._console.colour,
            "once": self._settings.once,
        }  # fmt: skip
        self._again, self._started, self._is_slow = 0.0, time.monotonic(), False
        self._current = self._process()
        self._current.begin(given, self._listening)
        self._children.append(self._current)
        self._selector.register(self._current.channel.connection, selectors.EVENT_READ, self._current)

    def _process(self) -> Child:
        """Return a process that waits for its arguments: the spare one, unless it has died or the library was reinstalled."""
        spare, self._spare = self._spare, None
        if spare is not None and spare.is_fresh():
            return spare
        if spare is not None:
            spare.stop(time.time())
            spare.ended()
        return Child(self._console.target, self._environment)

    def _prepare(self) -> None:
        """Start the spare process after the current worker has loaded, because at the same time both would load more slowly."""
        if self._spare is None and self._watch is not None:
            self._spare = Child(self._console.target, self._environment)

    def _hear(self, child: Child) -> None:
        rows = child.channel.arrived()
        if rows is None:
            self._selector.unregister(child.channel.connection)
            self._children.remove(child)
            self._ended(child, child.ended())
            return
        was_ready = child.ready
        for row in rows:
            child.receive_line(row)
        if was_ready is None and child.ready is not None and child is self._current:
            self._is_ready(child.ready)
            self._prepare()

    def _is_ready(self, report: Mapping[str, Any]) -> None:
        host, port = self._listening.getsockname()[:2]
        url = f"http://{host}:{port}" if report["webhooks"] else ""
        server = DevServer(
            pid=os.getpid(), app=self._settings.app, database=str(self._folder.database), queues=tuple(report["queues"]), webhooks=url,
            started=self._running.started if self._running is not None and self._is_announced else time.time(),
        )  # fmt: skip
        if server != self._running or not self._is_announced:
            self._folder.announce(server)
            self._running = server
        if self._pages is not None:
            self._pages.declare(report["declared"])
        number = report["tasks"]
        parts = [f"{number} task{'s' * (number != 1)}"] + [f"{report['periodic']} by a timetable"] * bool(report["periodic"])
        self._console.say(f"ready in {self._age():.2f} s: {', '.join(parts)}", "bold")
        for name in report["webhooks"]:
            self._console.say(f"webhook {url}/{name}", "dim")
        for name in report["streams"]:
            self._console.say(f"stream {name}: {UNREAD}", "warning")
        if not self._is_announced:
            self._is_announced = True
            if self._settings.once:
                return
            seen = {name: value for name, value in {**report, **server._asdict()}.items() if name != "declared"}
            hooks = {name: f"{url}/{name}" for name in report["webhooks"]}
            self._announced({**seen, "webhooks": hooks, "pages": self._pages.address if self._pages is not None else ""})

    def _ended(self, child: Child, how: str) -> None:
        """Decide what follows the end of a worker."""
        if child is not self._current:
            return
        self._current = None
        if child.drained is not None and child.stopping is None:
            self._drained(child.drained)
            return
        if child.ready is None:  # its code does not load: wait until a file changes
            self._prepare()
            self._status = FAILED if self._settings.once else None
            waiting = self._waiting()
            if waiting:
                self._console.say(f"{messages_wait(waiting)} for code that loads", "warning")
            if how:
                words = f"the worker ended while it loaded {self._settings.app}: {how}"
                self._console.say(f"{words}; messages wait until a file changes", "bad")
            return
        if child.stopping is not None:
            return
        self._deaths = self._deaths + 1 if self._age() < STEADY_S else 1
        if not child.was_ended:
            self._console.say(f"the worker ended: {how}; a new one starts, and its tasks run again within {VISIBILITY_S:g} s", "bad")
        self._again = time.monotonic() + backoff(self._deaths)

    def _drained(self, counts: Mapping[str, Any]) -> None:
        """Report what a worker has done with `--once`, and set the exit status."""
        ended, failed, parked, later = (counts[name] for name in ("ended", "failed", "parked", "later"))
        self._status = TASK_FAILED if failed or parked else 0 if counts["done"] else FAILED
        first = "nothing is due any more" if counts["done"] else "the database did not answer; run it again"
        parts = [f"{ended} task{'s' * (ended != 1)} ended, {failed} of them failed"] + [f"{parked} parked"] * bool(parked)
        parts += [f"{messages_wait(later)} for a later moment"] * bool(later)
        self._console.say(f"{first}: {', '.join(parts)}", "bad" if self._status else "bold")
        self._announced(counts)

    def _age(self) -> float:
        """Return the age of the current worker in seconds."""
        return time.monotonic() - self._started

    def _waiting(self) -> int:
        """Return how many messages wait in the command queues; 0 if that is not known."""
        server = self._running
        if server is None:
            return 0
        consumers = one_file.ports(self._folder.database, server.queues).consumers
        with suppress(SedanoError):
            return sum(consumers.load(command_queue(queue)).waiting for queue in server.queues)
        return 0

    def _end(self, child: Child) -> None:
        child.end()
        if child.deadline is not None:
            words = f"a batch of tasks ran longer than {self._settings.timeout} s (timeout); its worker was ended, as on AWS"
            self._console.say(f"{words}; its tasks run again within {VISIBILITY_S:g} s", "bad")

    def _start_again(self, now: float) -> None:
        if self._again and now >= self._again:
            self._start()

    def _look_at_files(self, now: float) -> None:
        if self._watch is None or now < self._next_look:
            return
        changes = self._watch.changes()
        self._next_look = now + self._watch.pause
        if changes:
            more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
            self._restart(f"{os.path.relpath(changes[0], self._settings.code)}{more} changed: reloading")

    def _restart(self, why: str) -> None:
        """Start a new worker, and let the current one finish its batch."""
        self._console.say(why, "dim")
        self._deaths = 0
        if self._current is not None:
            self._current.stop(time.time())
        self._start()

    def _obey(self, keys: str | None) -> None:
        """Execute the commands of the pressed *keys*; a second `q` ends the running task, as a second Ctrl-C does."""
        if keys is None:
            self._selector.unregister(self._keyboard)
            return
        self._asked += [signal.SIGTERM] * keys.count(QUIT)
        if RESTART in keys and not self._asked:
            self._restart("restarting the worker")

    def _finish(self, woken: socket.socket) -> None:
        """Stop all workers, and wait for them; a second signal ends them."""
        if self._spare is not None:
            self._spare.stop(time.time())
            self._spare.ended()
            self._spare = None
        for child in self._children:
            child.stop(time.time())
        asked, is_said = len(self._asked), False
        while self._children:
            if not is_said and any(child.deadline is not None for child in self._children):
                is_said = True
                self._console.say("stopping: the running task ends first; a second Ctrl-C ends it now", "dim")
            self._turn(woken)
            if len(self._asked) > asked:
                asked = len(self._asked)
                for child in self._children:
                    child.end()

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Collect signals, which also wake the selector."""
        woken, wakes = socket.socketpair()
        woken.setblocking(False)
        wakes.setblocking(False)
        before = {number: signal.signal(number, lambda number, _: self._asked.append(number)) for number in SIGNALS}
        descriptor = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        try:
            yield woken
        finally:
            signal.set_wakeup_fd(descriptor)
            for number, handler in before.items():
                signal.signal(number, handler)
            woken.close()
            wakes.close()
