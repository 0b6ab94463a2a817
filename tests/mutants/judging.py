"""Judges: a pytest run that is held after collection, and a forked process for each mutant.

The judges run once without a mutant. That shows that they are green, fills every cache of the libraries, makes the fixtures of the
session, and finds out which test runs which line and sends which write. Then each mutant is planted in a child of this process, and the
tests that can notice it run there: first those that killed a neighbour, then the fastest. The first failure ends the child; so do limits
on its CPU time, its wall-clock time and its memory, so an endless loop counts as noticed.
"""

from __future__ import annotations

import functools
import gc
import json
import math
import os
import resource
import select
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from botocore import handlers
from hypothesis import Phase, is_hypothesis_test, settings

from tests.mutants.mutant import Mutant
from tests.mutants.syntax import find

KILLED, SURVIVED, UNREACHED, UNPLANTED = "killed", "survived", "unreached", "unplanted"
CPU_S, WALL_S = 1, 30
"""What each test of a mutant has beside five times what it took without one."""
MOST_S = 40.0
"""The judges of one mutant end after tests that took so long without one; the fastest come first."""
MOST_MEMORY = 4 * 1_073_741_824
SAID = 8_000
"""The bytes of a verdict, in a file that the child shares with its parent."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a mutant was judged: killed, survived, run by no test, or not to be planted; by which test, for what."""

    status: str
    judge: str = ""
    why: str = ""


class Judges:
    """The plugin. `each` gets the judges when they are ready."""

    def __init__(self, files: Iterable[str], each: Callable[[Judges], None]) -> None:
        """Watch the lines of *files*."""
        self._files, self._each = frozenset(files), each
        self._seconds: dict[str, float] = {}
        self._ran: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._sent: dict[str, set[str]] = defaultdict(set)
        self._killers: dict[str, list[str]] = defaultdict(list)
        self._now = ""
        self.items: list[pytest.Item] = []
        self.red: list[str] = []
        handlers.BUILTIN_HANDLERS.append(("before-parameter-build", self._note))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A generated test that fails has noticed the change; what is the smallest example does not matter."""
        for item in items:
            test: Any = getattr(item, "function", None)
            if test is not None and is_hypothesis_test(test):
                own = getattr(test, "_hypothesis_internal_use_settings", None) or settings.default
                phases = [phase for phase in own.phases if phase in (Phase.explicit, Phase.generate)]
                test._hypothesis_internal_use_settings = settings(own, database=None, phases=phases)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        if session.testsfailed:
            raise session.Interrupted("the judges cannot be collected")
        self.items = list(session.items)
        self._rehearse()
        if not self.red:
            self._each(self)
        return True

    def judge(self, mutant: Mutant, path: str) -> Verdict:
        """Plant *mutant*, whose source is at *path*, in a child and return what its judges said."""
        chosen = self._chosen(mutant, path)
        if not chosen:
            return Verdict(UNREACHED)
        verdict = _forked(functools.partial(self._tried, mutant, chosen), self._limits(chosen))
        if verdict.judge:
            place = f"{mutant.module} {mutant.place}"
            self._killers[place] = [verdict.judge, *(one for one in self._killers[place] if one != verdict.judge)][:3]
        return verdict

    def _rehearse(self) -> None:
        for index, item in enumerate(self.items):
            began, self._now = time.process_time(), item.nodeid
            threading.settrace(self._trace)
            sys.settrace(self._trace)
            try:
                reports = runtestprotocol(item, log=False, nextitem=self.items[(index + 1) % len(self.items)])
            finally:
                sys.settrace(None)
                threading.settrace(None)  # type: ignore[arg-type]
            self._seconds[item.nodeid] = time.process_time() - began
            self.red += [f"{item.nodeid}: {report.longreprtext}" for report in reports if report.failed]
        for one in gc.get_objects():
            if isinstance(one, functools._lru_cache_wrapper) and (one.__module__ or "").startswith(("sedano", "tests")):
                one.cache_clear()
        find(self._files)
        gc.collect()
        gc.freeze()

    def _trace(self, frame: FrameType, _event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._ran[frame.f_code.co_filename, frame.f_lineno].add(self._now)
        return self._line

    def _note(self, params: Any, **_: Any) -> None:
        """Note the texts that a call of an AWS client sends, those in transactions too."""
        if isinstance(params, dict):
            for name, value in params.items():
                if name in ("ConditionExpression", "UpdateExpression"):
                    self._sent[value].add(self._now)
                self._note(value)
        elif isinstance(params, list):
            for one in params:
                self._note(one)

    def _chosen(self, mutant: Mutant, path: str) -> list[pytest.Item]:
        """Return the tests that can notice *mutant*, the most promising first."""
        named = {item.nodeid for item in self.items}
        if mutant.line:
            named = set().union(*(self._ran.get((path, line), set()) for line in range(mutant.line, mutant.last + 1)))
        elif mutant.written:
            named = set.intersection(*(self._sent[text] for text in mutant.written if text))
        killers = self._killers[f"{mutant.module} {mutant.place}"]
        order = sorted((item for item in self.items if item.nodeid in named), key=lambda item: self._seconds[item.nodeid])
        order.sort(key=lambda item: killers.index(item.nodeid) if item.nodeid in killers else len(killers))
        left, chosen = MOST_S, []
        for item in order:
            left -= self._seconds[item.nodeid]
            if left > 0 or not chosen:
                chosen.append(item)
        return chosen

    def _limits(self, chosen: Sequence[pytest.Item]) -> float:
        return sum(self._seconds[item.nodeid] * 10 for item in chosen) + WALL_S

    def _tried(self, mutant: Mutant, chosen: Sequence[pytest.Item], out: int) -> None:
        mutant.plant()
        for index, item in enumerate(chosen):
            seconds = self._seconds[item.nodeid]
            _say(out, Verdict(KILLED, item.nodeid, "it does not end"))
            used = math.ceil(time.process_time() + 5 * seconds) + CPU_S
            resource.setrlimit(resource.RLIMIT_CPU, (used, resource.RLIM_INFINITY))
            signal.alarm(math.ceil(10 * seconds) + WALL_S)
            reports = runtestprotocol(item, log=False, nextitem=chosen[(index + 1) % len(chosen)])
            failed = [report for report in reports if report.failed]
            if failed:
                crash = getattr(failed[0].longrepr, "reprcrash", None) or failed[0].longreprtext
                _say(out, Verdict(KILLED, item.nodeid, str(crash)[-300:]))
                return
        _say(out, Verdict(SURVIVED))


def _say(out: int, verdict: Verdict) -> None:
    """Write down *verdict* in the place of what was said before."""
    text = json.dumps([verdict.status, verdict.judge, verdict.why]).encode()
    os.pwrite(out, text.ljust(SAID), 0)


def _forked(body: Callable[[int], None], seconds: float) -> Verdict:
    """Run *body* in a child, for at most *seconds*, and return the last thing that it said."""
    with TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            _child(body, out.fileno())
        _await(child, seconds)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        return Verdict(*json.loads(os.pread(out.fileno(), SAID, 0)))


def _await(child: int, seconds: float) -> None:
    """Return when *child* has ended, which it does after at most *seconds*; without pidfds, its own alarm alone ends it."""
    if hasattr(os, "pidfd_open"):
        ended = os.pidfd_open(child)
        try:
            if not select.select([ended], [], [], seconds)[0]:
                os.kill(child, signal.SIGKILL)
        finally:
            os.close(ended)
    os.waitpid(child, 0)


def _child(body: Callable[[int], None], out: int) -> None:
    """Be the child: whatever happens, nothing of the parent runs in it afterwards."""
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _say(out, Verdict(UNPLANTED, "", "its process died"))
        body(out)
    except BaseException as error:  # noqa: BLE001 - the child ends here
        _say(out, Verdict(UNPLANTED, "", repr(error)[:500]))
    finally:
        os._exit(0)
