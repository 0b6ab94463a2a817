"""Tasks of a package that were declared before any app: an app includes them, and until then they say what is missing."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sedano import Breaker, DomainEvent, Retry, Sedano, SharedTasks, chain, current, every, testing
from sedano.errors import ConfigurationError, OptionError
from sedano.task import Task

PACKAGE = """
from sedano import SharedTasks

shared = SharedTasks()

@shared.task(queue="mail")
def send(to: str) -> str:
    return f"sent to {to}"
"""
PROGRAM = """
import sys
import mailing
print([name for name in ("boto3", "sedano.app") if name in sys.modules])
print(mailing.send("anna"))
try:
    mailing.send.delay("anna")
except Exception as refused:
    print(type(refused).__name__, refused)
from sedano import Sedano, testing
app = Sedano("shop", queues=("default", "mail"))
app.include(mailing.shared)
with testing.world(app):
    print(mailing.send.name, mailing.send.delay("berta").get())
"""

UNINCLUDED = (
    "no app includes these shared tasks (mailing.send), so they cannot be published; write app.include(…) in the module of your app, and "
    "import that module first"
)


class Package:
    """A package with a few shared tasks."""

    def __init__(self) -> None:
        """Declare them."""
        self.shared = SharedTasks()
        self.runs: list[Any] = []
        self.add = self.shared.task(name="pack.add")(self._add)
        self.who = self.shared.task(bind=True, name="pack.who", queue="slow")(self._who)

    def _add(self, a: int, b: int = 1) -> int:
        self.runs.append((a, b))
        if a < 0:
            raise ValueError("below zero")
        return a + b

    @staticmethod
    async def _who(task: Task[[], str]) -> str:
        return f"{task.name} {task.request is current()}"


@pytest.fixture
def package() -> Package:
    return Package()


def app_of(package: Package, name: str = "shop", **options: Any) -> Sedano:
    """Return an app that includes the package."""
    app = Sedano(name, **{"queues": ("default", "slow"), **options})
    app.include(package.shared)
    return app


def test_a_package_is_imported_without_an_app_and_works_once_an_app_includes_it(tmp_path: Path) -> None:
    (tmp_path / "mailing.py").write_text(PACKAGE)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environ, check=False, cwd=tmp_path)
    assert ran.stdout.splitlines() == [
        "[]",
        "sent to anna",
        f"ConfigurationError {UNINCLUDED}",
        "mailing.send sent to berta",
    ], ran.stderr


@pytest.mark.parametrize(
    "publish",
    [
        lambda pack: pack.add.delay(1),
        lambda pack: pack.add.apply_async((1,), countdown=3),
        lambda pack: pack.add.s(1).delay(),
        lambda pack: chain(pack.add.s(1), pack.add.s()).delay(),
    ],
    ids=["delay", "apply_async", "signature", "chain"],
)  # fmt: skip
def test_what_no_app_includes_is_called_but_not_published(package: Package, publish: Any) -> None:
    assert package.add(1, 2) == 3
    with pytest.raises(ConfigurationError, match=r"no app includes these shared tasks \(pack\.add, pack\.who\)"):
        publish(package)


def test_shared_tasks_run_as_tasks_of_the_app(package: Package) -> None:
    app = app_of(package)
    with testing.world(app) as world:
        assert package.add.delay(2, 3).get() == 5
        assert package.who.delay().get() == "pack.who True"
        assert app.send_task("pack.add", (5,)).get() == 6
        assert world.sent("pack.add") == [{"args": [2, 3], "kwargs": {}}, {"args": [5], "kwargs": {}}]


def test_a_signature_that_was_made_before_the_app_is_published_by_it(package: Package) -> None:
    early = package.add.s(1) | package.add.s(10)
    with testing.world(app_of(package)):
        assert early.delay().get() == 12


def test_a_task_that_is_declared_after_the_package_was_included_is_in_the_app_too(package: Package) -> None:
    app = app_of(package)
    late = package.shared.task(name="pack.late")(lambda: "late")
    with testing.world(app):
        assert late.delay().get() == "late"
    with pytest.raises(OptionError, match="'mail' is not one of this app's queues"):
        package.shared.task(name="pack.mail", queue="mail")


def test_the_retry_policy_of_the_app_holds_unless_the_task_has_its_own(package: Package) -> None:
    package.shared.task(name="pack.own", retry=Retry(max_retries=1))(package._add)
    app = app_of(package, retry=Retry(max_retries=4))
    with testing.world(app) as world:
        app.send_task("pack.add", (-1,))
        world.drain()
        assert len(package.runs) == 5
        app.send_task("pack.own", (-2,))
        world.drain()
    assert package.runs.count((-2, 1)) == 2


def test_limits_circuits_batches_periodic_tasks_and_events_work_as_for_tasks_of_the_app() -> None:
    shared, seen = SharedTasks(), list[Any]()
    collected = shared.task(name="pack.collected", batch=(2, "1s"))(lambda calls: seen.append(len(calls)))
    guarded = shared.task(name="pack.guarded", circuit=Breaker(failures=3), rate="1/s")(lambda number=1: seen.append(number))
    app = Sedano("shop")
    app.include(shared)

    @app.event
    class Ordered(DomainEvent):
        number: int

    Ordered.subscribe(guarded)
    app.periodic(every(60))(guarded)
    with testing.world(app) as world:
        collected.delay("a")
        collected.delay("b")
        Ordered.delay(number=7)
        world.drain()
    assert sorted(seen) == [2, 7]
    assert app.registry.tasks["pack.guarded"].limits is not None
    assert list(app.periodics) == ["pack.guarded"]


def test_a_queue_that_the_app_does_not_have_is_refused_and_nothing_is_included(package: Package) -> None:
    app = Sedano("shop")
    with pytest.raises(OptionError, match=r"include: the shared task pack\.who: queue: 'slow' is not one of this app's queues"):
        app.include(package.shared)
    assert not [name for name in app.registry.tasks if name.startswith("pack.")]
    with pytest.raises(ConfigurationError, match="no app includes"):
        package.add.delay(1)


def test_an_option_that_the_app_cannot_honour_leaves_nothing_behind(package: Package) -> None:
    package.shared.task(name="pack.urgent", priority="high")(package._add)
    app = Sedano("shop", queues=("default", "slow"))
    with pytest.raises(OptionError, match="the band 'high' is the queue 'default-high'"):
        app.include(package.shared)
    assert not [name for name in app.registry.tasks if name.startswith("pack.")]


def test_a_name_that_the_app_has_already_is_refused(package: Package) -> None:
    app = Sedano("shop", queues=("default", "slow"))
    app.task(name="pack.add")(lambda: None)
    with pytest.raises(OptionError, match=r"include: the app 'shop' already has a task pack\.add"):
        app.include(package.shared)


def test_two_shared_tasks_of_one_name_are_refused(package: Package) -> None:
    with pytest.raises(OptionError, match=r"task pack\.add: declared twice"):
        package.shared.task(name="pack.add")(lambda: None)


def test_a_second_app_is_refused_and_the_same_app_made_anew_takes_over(package: Package) -> None:
    first = app_of(package)
    first.include(package.shared)
    with pytest.raises(OptionError, match="the app 'shop' includes these tasks"):
        app_of(package, "other")
    second = app_of(package)
    with testing.world(second):
        assert package.add.delay(1).get() == 2
        assert second.send_task("pack.add", (2,)).get() == 3
