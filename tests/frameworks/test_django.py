"""A Django project: its tasks are discovered, published after a commit, and run with fresh connections."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.test import override_settings

from sedano.django import apply_on_commit, configured_app, delay_on_commit
from sedano.errors import ArgumentError, ConfigurationError
from sedano.testing import World
from tests.frameworks.conftest import SETTINGS

ROOT = Path(__file__).parents[2]
WORKER = """
from sedano.django.worker import app
print(sorted(name for name in app.registry.tasks if name.startswith(("shop.", "mailing."))))
import sedano.testing
from tests.frameworks.django_shop.tasks import add, aship, ship
with sedano.testing.world(app):
    print(ship.delay(7).get(), aship.delay(8).get())
    result = add.enqueue(2)
    app.result(result.id).get()
    result.refresh()
    print(result.return_value)
"""


def ran(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the project."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "layers/sedano/python")])
    every = {**os.environ, "PYTHONPATH": paths, **environ}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=every, timeout=300)


def test_tasks_of_installed_apps_are_discovered_and_shared_ones_included(project: ModuleType, stage: World) -> None:
    app = configured_app()
    assert {"shop.ship", "shop.aship", "mailing.send"} <= set(app.registry.tasks)
    assert app.send_task("mailing.send", ("anna",)).get() == "sent to anna"


def test_a_worker_imports_one_app_that_has_set_django_up() -> None:
    done = ran(WORKER, DJANGO_SETTINGS_MODULE=SETTINGS)
    assert done.stdout.splitlines() == ["['mailing.send', 'shop.aship', 'shop.ship']", "parcel 7 parcel 8", "3"], done.stderr


def test_a_worker_without_the_settings_says_so() -> None:
    done = ran("import sedano.django.worker", DJANGO_SETTINGS_MODULE="")
    assert "DJANGO_SETTINGS_MODULE" in done.stderr
    assert done.returncode == 1


def test_a_missing_or_wrong_setting_is_named(project: ModuleType) -> None:
    with override_settings(SEDANO_APP=""), pytest.raises(ImproperlyConfigured, match=r"SEDANO_APP = 'shop\.queue:app'"):
        configured_app()
    with override_settings(SEDANO_APP="tests.nowhere:app"), pytest.raises(ConfigurationError, match=r"settings\.SEDANO_APP"):
        configured_app()


def test_a_task_is_published_when_the_transaction_commits(project: ModuleType, stage: World) -> None:
    with transaction.atomic():
        delay_on_commit(project.ship, 1)
        apply_on_commit(project.ship, (2,), queue="slow", countdown=60)
        assert stage.sent("shop.ship") == []
    assert [sent["args"] for sent in stage.sent("shop.ship")] == [[1], [2]]
    delay_on_commit(project.ship, 3)
    assert len(stage.sent("shop.ship")) == 3


def test_a_task_is_never_published_when_the_transaction_is_rolled_back(project: ModuleType, stage: World) -> None:
    with transaction.atomic():
        delay_on_commit(project.ship, 1)
        transaction.set_rollback(True)
    assert stage.sent("shop.ship") == []


def test_a_wrong_argument_raises_inside_the_transaction(project: ModuleType, stage: World) -> None:
    with pytest.raises(ArgumentError, match="expected int, got str"), transaction.atomic():
        delay_on_commit(project.ship, "one")
    assert stage.sent("shop.ship") == []


def test_each_body_of_a_worker_begins_and_ends_with_fresh_connections(tmp_path: Path, project: ModuleType) -> None:
    from_worker = """
from sedano.django.worker import app, with_fresh_connections
"""
    program = from_worker + PROBE.format(path=str(tmp_path / "shop.db"))
    done = ran(program, DJANGO_SETTINGS_MODULE=SETTINGS)
    assert done.stdout.splitlines() == ["closed before True", "closed after True", "closed before True", "closed after True"], done.stderr


PROBE = """
import asyncio
from asgiref.sync import sync_to_async
from django.db import connections
from sedano.model.tasks.task_spec import TaskSpec
from sedano.model.tasks.parameters import Parameters

connections["file"].settings_dict["NAME"] = {path!r}

def opened():
    connection = connections["file"]
    connection.ensure_connection()
    connection.close_at = 0.0
    return connection.connection

def body(old):
    print("closed before", connections["file"].connection is not old)
    opened()

async def abody(old):
    await sync_to_async(body)(old)

def spec(function, is_async):
    return with_fresh_connections(TaskSpec("shop.body", function, Parameters(function), is_async=is_async)).function

spec(body, False)(opened())
print("closed after", connections["file"].connection is None)

async def run():
    await spec(abody, True)(await sync_to_async(opened)())
    print("closed after", await sync_to_async(lambda: connections["file"].connection is None)())
asyncio.run(run())
"""
