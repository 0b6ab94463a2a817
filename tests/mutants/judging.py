"""Judges: a pytest run that is held after collection, and a forked process for each mutant.

The judges run once without a mutant. That shows that they are green, fills every cache of the libraries, makes the fixtures of the
session, and finds out which test runs which line and sends which write. Then each mutant is planted in a child of this process, and the
tests that can notice it run there: first those that killed a neighbour, then the fastest. The first failure ends the child; so do limits
on its CPU time, its wall-clock time and its memory, so an endless loop counts as noticed.

Most mutants are killed by a test of a few milliseconds. So there are two stages: tests on moto and tests that take long are late judges,
which run, and are rehearsed, for the mutants that survive the early ones, with those early ones for which there was no time before. For the
texts of conditional writes, moto is no late judge.
"""

from __future__ import annotations

import functools
import gc
import re
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from _pytest.threadexception import thread_exceptions
from _pytest.unraisableexception import unraisable_exceptions
from botocore import handlers
from hypothesis import Phase, is_hypothesis_test, settings

from tests.mutants.children import KILLED, SURVIVED, UNREACHED, Verdict, forked, limit, say
from tests.mutants.mutant import Key, Mutant
from tests.mutants.syntax import find

CPU_S, WALL_S, ASLEEP_S = 0.5, 30, 3
"""What each test of a mutant has beside five times what it took without one."""
EARLY_S, MOST_S = 2.0, 40.0
"""The early judges, and all judges, of one mutant end after tests that took so long without one; the fastest come first."""
PATIENT = 3
"""How many times as much a test gets that did not end, before that counts: the machine may have been busy."""
ENDLESS = "it does not end"
LONG_S = 1.5
"""A test that takes longer than this, while its lines are noted, is a late judge."""


class Judges:
    """The plugin. `each` gets the judges when they are collected; `rehearse` must be called before the first `judge`."""

    def __init__(self, files: Iterable[str], each: Callable[[Judges], None], *, moto_is_late: bool) -> None:
        """Watch the lines of *files*."""
        self._files, self._each, self._moto_is_late = frozenset(files), each, moto_is_late
        self._seconds: dict[str, float] = {}
        self._slept: dict[str, float] = {}
        self._ran: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._sent: dict[str, set[str]] = defaultdict(set)
        self._killers: dict[str, list[str]] = defaultdict(list)
        self._kills: Counter[str] = Counter()
        self._sound: dict[str, bool] = {}
        self._tried_early: dict[Key, set[str]] = {}
        self._is_rehearsed = False
        self._now = ""
        self.items: list[pytest.Item] = []
        self.early: list[pytest.Item] = []
        self.late: list[pytest.Item] = []
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
        self.late = [item for item in self.items if self._is_late(item)]
        self.early = [item for item in self.items if not self._is_late(item)]
        self._each(self)
        return True

    def rehearse(self, *, late: bool) -> None:
        """Run the early judges, or also the late ones, without a mutant. A test that is red judges nothing and is named in `red`."""
        if late and not self._is_rehearsed:
            self.rehearse(late=False)
        self._is_rehearsed = True
        items = self.late if late else self.early
        gc.unfreeze()  # `find` does not see what is frozen
        caches = [one for one in _caches() if getattr(getattr(one.__wrapped__, "__code__", None), "co_filename", "") in self._files]
        for index, item in enumerate(items):
            for cache in caches:  # a test that another has spared a function must count as one that runs it
                cache.cache_clear()
            began, slept = time.process_time(), time.monotonic()
            if not self._rehearsed(item, items[(index + 1) % len(items)], 0 if late else LONG_S):
                continue
            self._seconds[item.nodeid] = time.process_time() - began
            self._slept[item.nodeid] = time.monotonic() - slept
        if items:  # only the session stays set up: the first test of a child may be in another folder than the last test here
            items[0].session._setupstate.teardown_exact(items[0].session)
            _forget_errors(items[0].config)
        gc.unfreeze()  # `tests/plugins/garbage.py` set the modules aside, and what is aside is not listed
        for cache in _caches():
            if (cache.__module__ or "").startswith(("sedano", "tests")):
                cache.cache_clear()
        find(self._files)
        gc.collect()
        gc.freeze()

    def judge(self, mutant: Mutant, path: str, *, late: bool) -> Verdict:
        """Plant *mutant*, whose source is at *path*, in a child and return what its early judges, or its late ones, said."""
        chosen = self._chosen(mutant, path, late)
        if not late:
            self._tried_early[mutant.key] = {item.nodeid for item in chosen}
        verdict = self._patiently(mutant, chosen)
        while verdict.judge and not self._is_sound(verdict.judge):
            chosen = [item for item in chosen if item.nodeid != verdict.judge]
            verdict = self._patiently(mutant, chosen)
        if verdict.judge:
            place = f"{mutant.module} {mutant.place}"
            self._kills[verdict.judge] += 1
            self._killers[place] = [verdict.judge, *(one for one in self._killers[place] if one != verdict.judge)][:3]
        return verdict

    def _patiently(self, mutant: Mutant, chosen: list[pytest.Item]) -> Verdict:
        """Return what the *chosen* tests say of *mutant*; one that does not end is asked again, with more time."""
        if not chosen:
            return Verdict(UNREACHED)
        verdict = self._said(mutant, chosen, 1)
        if verdict.why != ENDLESS:
            return verdict
        return self._said(mutant, sorted(chosen, key=lambda item: item.nodeid != verdict.judge), PATIENT)

    def _is_sound(self, judge: str) -> bool:
        """Return whether *judge* is green in a child without a mutant, so that its failure speaks of one; else it judges no more."""
        if judge not in self._sound:
            alone = [item for item in self.items if item.nodeid == judge]
            verdict = self._said(None, alone, PATIENT)
            self._sound[judge] = verdict.status == SURVIVED
            if not self._sound[judge]:
                self.red.append(f"{judge}, in a process of its own: {verdict.why}")
                self._seconds.pop(judge, None)
        return self._sound[judge]

    def _is_late(self, item: pytest.Item) -> bool:
        fixtures = getattr(item, "fixturenames", ())
        worlds = getattr(getattr(item, "callspec", None), "params", {}).values()
        on_moto = "moto" in worlds or "assembly" in fixtures
        return (on_moto and self._moto_is_late) or item.get_closest_marker("slow") is not None

    def _rehearsed(self, item: pytest.Item, then: pytest.Item, most: float) -> bool:
        """Run *item*, note the lines, and return whether it is a judge: it ended in time, *most* seconds unless that is 0, and is green.

        The interruption may be swallowed where an error cannot leave, as in a destructor or a callback of the garbage collector. Then the
        test goes on, and is red or green for no reason of its own.
        """
        self._now, alarm, reports = item.nodeid, _Alarm(), list[pytest.TestReport]()
        signal.signal(signal.SIGPROF, alarm)
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            signal.setitimer(signal.ITIMER_PROF, most)
            reports = runtestprotocol(item, log=False, nextitem=then)
        except KeyboardInterrupt:
            if not alarm.has_rung:
                raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        if alarm.has_rung:
            self._postpone(item)
            return False
        failed = [report for report in reports if report.failed]
        self.red += [f"{item.nodeid}: {report.longreprtext}" for report in failed]
        return not failed

    def _postpone(self, item: pytest.Item) -> None:
        """Make *item*, which was interrupted, a late judge, and leave nothing of it to the next test."""
        with suppress(Exception):
            item.session._setupstate.teardown_exact(None)
        _forget_fixtures(item)
        _forget_errors(item.config)
        self.late.append(item)

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

    def _chosen(self, mutant: Mutant, path: str, late: bool) -> list[pytest.Item]:
        """Return the tests that can notice *mutant*, the most promising first."""
        tried = self._tried_early.get(mutant.key, set())
        some = dict.fromkeys([*self.late, *self.early] if late else self.early)  # an early one that took too long is in both
        fresh = {*self._seconds} - tried
        items = [item for item in some if item.nodeid in fresh]
        named = {item.nodeid for item in items}
        if mutant.line:
            named = set().union(*(self._ran.get((path, line), set()) for line in range(mutant.line, mutant.last + 1)))
        elif mutant.written:
            named = set.intersection(*(self._sent[text] for text in mutant.written if text))
        killers = self._killers[f"{mutant.module} {mutant.place}"]
        order = sorted((item for item in items if item.nodeid in named), key=self._promise)
        order.sort(key=lambda item: killers.index(item.nodeid) if item.nodeid in killers else len(killers))
        if not (mutant.line or mutant.written):
            near = self._near(mutant, path)
            order.sort(key=lambda item: item.nodeid not in near)
        left, chosen = MOST_S if late else EARLY_S, []
        for item in order:
            left -= self._seconds[item.nodeid]
            if left > 0 or not chosen:
                chosen.append(item)
        return chosen

    def _near(self, mutant: Mutant, path: str) -> set[str]:
        """Return the tests that run a line of the module at *path* that names the constant which *mutant* changes."""
        name = re.compile(rf"\b{mutant.place}\b")
        lines = enumerate(Path(path).read_text().splitlines(), 1)
        return set().union(*(self._ran.get((path, number), set()) for number, line in lines if name.search(line)))

    def _promise(self, item: pytest.Item) -> float:
        """Return the seconds that a kill by *item* is likely to take: its own time, less if it killed others before."""
        return self._seconds[item.nodeid] / (1 + self._kills[item.nodeid])

    def _said(self, mutant: Mutant | None, chosen: Sequence[pytest.Item], patience: int) -> Verdict:
        """Return what the *chosen* tests say of *mutant*, or of the code as it is, when each has *patience* times its limits."""
        asleep = max(self._slept[item.nodeid] for item in chosen) + ASLEEP_S
        seconds = sum(self._seconds[item.nodeid] * 10 for item in chosen) + WALL_S
        return forked(functools.partial(self._tried, mutant, chosen, patience), seconds * patience, asleep * patience)

    def _tried(self, mutant: Mutant | None, chosen: Sequence[pytest.Item], patience: int, out: int) -> None:
        _forget_errors(chosen[0].config)
        if mutant is not None:
            mutant.plant()
        for index, item in enumerate(chosen):
            seconds = self._seconds[item.nodeid]
            say(out, Verdict(KILLED, item.nodeid, ENDLESS))
            limit((5 * seconds + CPU_S) * patience, (10 * seconds + WALL_S) * patience)
            reports = runtestprotocol(item, log=False, nextitem=chosen[(index + 1) % len(chosen)])
            failed = [report for report in reports if report.failed]
            if failed:
                crash = getattr(failed[0].longrepr, "reprcrash", None) or failed[0].longreprtext
                say(out, Verdict(KILLED, item.nodeid, str(crash)[-300:]))
                return
        say(out, Verdict(SURVIVED))


def _forget_fixtures(item: pytest.Item) -> None:
    """Let the fixtures of *item* be made anew: one that was interrupted while it was made would fail in every later test."""
    info: Any = getattr(item, "_fixtureinfo", None)
    for one in [one for several in (info.name2fixturedefs if info else {}).values() for one in several]:
        one._finalizers.clear()
        one.cached_result = None


def _forget_errors(config: pytest.Config) -> None:
    """Forget the errors of threads and destructors that earlier tests left behind: the next test would fail for them."""
    for left in (thread_exceptions, unraisable_exceptions):
        config.stash[left].clear()


def _caches() -> list[Any]:
    """Return all functions that keep their answers."""
    return [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]


class _Alarm:
    """A handler of a signal: it interrupts what runs, and remembers that."""

    has_rung = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.has_rung = True
        raise KeyboardInterrupt
