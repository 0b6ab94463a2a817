"""The pytest plugin: the fixture `sedano_world`, and two markers.

`@pytest.mark.crash_points` repeats a test and kills a process at each call. `@pytest.mark.strict_aws` makes the AWS clients of a test
refuse the calls that AWS would refuse.

    sedano_app = "shop.tasks:app"              # in the ini file; or a fixture `sedano_app` in conftest.py

    @pytest.mark.crash_points
    def test_a_charge_is_made_once(sedano_world):
        charge.delay("order-1")
        sedano_world.drain()
        assert charged() == ["order-1"]

The crash points of a test are known only after it has run once. They cannot be parameters, because pytest fixes parameters at collection,
before fixtures exist. So one item represents all points: its protocol repeats the test, each time with new fixtures, and the report names
each point that failed. Every option of pytest for one item (`--lf`, `-x`, `-n`, `--pdb`) applies to it.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol  # plugins that repeat tests use it; pytest has no public name for it

if TYPE_CHECKING:
    from sedano import Sedano
    from sedano.testing import World
    from sedano.testing.crash_points import CrashWatch, Point
    from sedano.testing.strict_aws.hook import StrictAws

MARK = "crash_points"
MOST = 200
SHOWN = 20
_SEEDS = 2**31
WATCH: pytest.StashKey[CrashWatch] = pytest.StashKey()
STRICT = "strict_aws"
AWS: pytest.StashKey[StrictAws] = pytest.StashKey()
NO_APP = """sedano_world does not know which app to run. Write in the ini file of pytest

    [tool.pytest.ini_options]
    sedano_app = "shop.tasks:app"

or in conftest.py

    @pytest.fixture
    def sedano_app():
        return app"""


class Failure(NamedTuple):
    """A crash point at which the test failed: described in *words*, with the error text (*said*), the command that *repeats* it, and the
    *report* of the failed phase."""

    words: str
    said: str
    repeats: str
    report: pytest.TestReport | None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini option and the command-line options."""
    parser.addini("sedano_app", "the app that sedano_world runs, as module:attribute")
    words = "repeat tests marked crash_points at this point only, such as 31-after, or doubled"
    group = parser.getgroup("sedano")
    group.addoption("--crash-point", metavar="POINT", help=words)
    words = "the seed of sedano_world's random choices, or random; default: 0"
    group.addoption("--sedano-seed", type=_seed, default=0, metavar="N", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and refuse an invalid crash point."""
    words = f"repeat the test with a death before and after each call of a port (at most {MOST} points), and with each message sent twice"
    config.addinivalue_line("markers", f"{MARK}(most={MOST}): {words}")
    words = "make the test's AWS clients refuse calls that AWS would refuse: sizes, counts, totals of batches, expressions"
    config.addinivalue_line("markers", f"{STRICT}: {words}")
    if (text := config.getoption("crash_point")) is not None:
        from sedano.errors import OptionError
        from sedano.testing.crash_points import Point

        try:
            Point.read(text)
        except OptionError as wrong:
            raise pytest.UsageError(f"--crash-point: {wrong}") from wrong


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a marker that cannot be honoured."""
    for item in items:
        strict = item.get_closest_marker(STRICT)
        if strict is not None and (strict.args or strict.kwargs):
            raise pytest.UsageError(f"{item.nodeid}: {STRICT} takes no arguments: @pytest.mark.{STRICT}")
        marker = item.get_closest_marker(MARK)
        if marker is None:
            continue
        if "sedano_world" not in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(f"{item.nodeid}: {MARK} kills the processes of sedano_world; take that fixture as an argument")
        most = marker.kwargs.get("most", MOST)
        if marker.args or marker.kwargs.keys() - {"most"} or not isinstance(most, int) or most < 1:
            raise pytest.UsageError(f"{item.nodeid}: {MARK} takes most=, a whole number from 1: @pytest.mark.{MARK}(most={MOST})")


@pytest.fixture
def sedano_app(request: pytest.FixtureRequest) -> Sedano:
    """The app under test, from the ini option `sedano_app`; a fixture of this name in your conftest.py replaces it."""
    from sedano.app import load
    from sedano.errors import ConfigurationError

    reference = request.config.getini("sedano_app")
    if not reference:
        pytest.fail(NO_APP, pytrace=False)
    try:
        return load(reference, "sedano_app in the ini file of pytest")
    except ConfigurationError as wrong:
        pytest.fail(str(wrong), pytrace=False)


@pytest.fixture
def sedano_world(request: pytest.FixtureRequest, sedano_app: Sedano) -> Iterator[World]:
    """The app bound to a deployment in memory, on virtual time (`sedano.testing.world`), for the length of a test."""
    from sedano.testing import world

    with world(sedano_app, seed=request.config.getoption("sedano_seed"), watch=request.node.stash.get(WATCH, None)) as built:
        yield built


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Make the AWS clients of a marked test and its fixtures refuse calls that AWS would refuse."""
    if item.get_closest_marker(STRICT) is not None:
        aws = _strict_aws(item.config)
        aws.is_on = True
        aws.taken()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test whose calls AWS would refuse, even if its code caught the client's error."""
    try:
        yield
    except BaseException as error:
        if refused := _refused(item):
            error.add_note(refused)
        raise
    if refused := _refused(item):
        pytest.fail(refused, pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test whose fixtures made such a call; stop checking the clients of other tests."""
    try:
        yield
        if refused := _refused(item):
            pytest.fail(refused, pytrace=False)
    finally:
        if (aws := item.config.stash.get(AWS, None)) is not None:
            aws.taken()
            aws.is_on = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test once undisturbed, then at each of its points; report it as one test."""
    if item.get_closest_marker(MARK) is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _repeated(item, nextitem):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the number of points at which each marked test ran and that it left out, and the seed that repeats the run."""
    if seed := terminalreporter.config.getoption("sedano_seed"):
        terminalreporter.write_line(f"sedano: repeat these random choices with --sedano-seed={seed}")
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    told = [f"{one.nodeid}: {words}" for one in reports for name, words in getattr(one, "user_properties", ()) if name == MARK]
    if told:
        terminalreporter.section("crash points")
        for line in told:
            terminalreporter.line(line)


def _strict_aws(config: pytest.Config) -> StrictAws:
    """Return the strict AWS of this run; the first test that needs it installs it below every client."""
    if AWS not in config.stash:
        from sedano.testing.strict_aws.clients import installed

        config.stash[AWS] = installed()
    return config.stash[AWS]


def _refused(item: pytest.Item) -> str:
    """Return the calls since the last check that AWS would refuse, as text; empty if AWS would accept all."""
    aws = item.config.stash.get(AWS, None)
    refused = aws.taken() if aws is not None and aws.is_on else ()
    return "\n".join(("AWS would refuse:", *refused)) if refused else ""


def _seed(text: str) -> int:
    """Read the option as a whole number; ``random`` draws one."""
    if text == "random":
        return secrets.randbelow(_SEEDS) + 1
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: write a whole number, or random")
    return int(text)


def _repeated(item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    """Return the reports of the undisturbed run; that of its call lists the results at its points."""
    from sedano.testing.crash_points import CrashWatch

    undisturbed = CrashWatch()
    reports = _run(item, undisturbed)
    if len(reports) == 3 and all(one.passed and not hasattr(one, "wasxfail") for one in reports):
        _judge(item, undisturbed, reports[1])
    ended = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), "teardown")  # noqa: SLF001
    if ended.excinfo is not None:
        last = item.ihook.pytest_runtest_makereport(item=item, call=ended)
        reports[-1:] = [last] if reports[-1].passed else [reports[-1], last]
    return reports


def _run(item: pytest.Item, watch: CrashWatch) -> list[pytest.TestReport]:
    """Run the test with new fixtures; fixtures that it shares with other tests are kept."""
    item.stash[WATCH] = watch
    return runtestprotocol(item, log=False, nextitem=item.parent)  # type: ignore[arg-type]  # a sibling of the test


def _judge(item: pytest.Item, undisturbed: CrashWatch, report: pytest.TestReport) -> None:
    """Run the test at its points, and write the results in *report*."""
    from sedano.testing.crash_points import Point, points, sampled

    marker, only = item.get_closest_marker(MARK), item.config.getoption("crash_point")
    every = points(undisturbed.calls)
    chosen = sampled(every, marker.kwargs.get("most", MOST) if marker is not None else MOST)
    planned = [Point.read(only)] if only is not None else [*chosen, Point(None)] if chosen else []
    failures = []
    for point in planned:
        if item.session.shouldfail or item.session.shouldstop:
            break
        failure = _failure(item, point, undisturbed, report)
        failures += [failure] if failure is not None else []
    if not every:
        words = "no process of sedano_world made a call: run them with sedano_world.drain(), or wait for a result with get()"
        failures = [Failure(words, "", "", None)]
    left = f", {len(every) - len(chosen)} left out (most={len(chosen)})" if len(chosen) < len(every) else ""
    ran = f"only {only}" if only is not None else f"{len(chosen)} of {len(every)} deaths{left}, and every message doubled"
    report.user_properties.append((MARK, ran))
    if failures:
        _fail(report, failures, len(planned))


def _failure(item: pytest.Item, point: Point, undisturbed: CrashWatch, whole: pytest.TestReport) -> Failure | None:
    """Run the test at *point*; return how it failed, or None. Its time is added to that of the *whole*."""
    from sedano.testing.crash_points import CrashWatch, Point, place, points, ran_again

    repeats = f"pytest {shlex.quote(item.nodeid)} --crash-point={point}"
    every = [*points(undisturbed.calls), Point(None)]
    if point not in every:
        return Failure(f"the crash point {point} does not exist: the first is {every[0]}, the last {every[-2:][0]}", "", "", None)
    watch = CrashWatch(point)
    reports = _run(item, watch)
    whole.duration += sum(one.duration for one in reports)
    words = place(point, undisturbed.calls)
    bad = next((one for one in reports if not one.passed), None)
    if bad is not None:
        return Failure(f"{words}: {ran_again(watch.runs, undisturbed.runs)}", _said(bad), repeats, bad)
    if not watch.fired and not watch.doubles:
        words = f"{words}: never reached, because the test made other calls this time; make each run do the same (use a fixed seed)"
        return Failure(words, "", repeats, None)
    return None


def _said(report: pytest.TestReport) -> str:
    """Return the error message of a failed phase."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)


def _fail(report: pytest.TestReport, failures: list[Failure], planned: int) -> None:
    """Make *report* a failure, with the traceback of the first of *failures* that has one, and the names of all."""
    lines = [f"{len(failures)} of {planned} points break this test:" if planned else "This test has no crash points:"]
    for one in failures[:SHOWN]:
        said = one.said.splitlines()[:1]
        lines += ["", one.words, *(f"    {line}" for line in said), *([f"    {one.repeats}"] if one.repeats else [])]
    lines += ["", f"and {len(failures) - SHOWN} more"] if len(failures) > SHOWN else []
    first = next((one for one in failures if one.report is not None), failures[0])
    shown: Any = first.report.longrepr if first.report is not None else None
    report.outcome = "failed"
    if first.report is not None:
        report.sections = first.report.sections
    if hasattr(shown, "addsection"):
        shown.addsection("crash points", "\n".join(lines))
        if shown.reprcrash is not None:
            shown.reprcrash.message = f"{first.words}; {first.said}"
        report.longrepr = shown
    else:
        report.longrepr = "\n".join([*([str(shown)] if shown is not None else []), *lines])
