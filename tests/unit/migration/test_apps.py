"""An app is found in whatever way it is made, and its attributes and those of its tasks in whatever file they are read."""

from pathlib import Path

import pytest

from sedano.migration.report import joined, read
from tests.unit.migration.sources import report, short

MADE = {
    "annotated": 'from celery import Celery\napp: Celery = Celery("x")',
    "from celery.app": 'from celery.app import Celery\napp = Celery("x")',
    "chained": 'from celery import Celery\napp = celery = Celery("x")',
    "conditional": 'from celery import Celery\nif DEBUG: app = Celery("x")\nelse: app = Celery("y")',
    "either": 'from celery import Celery\napp = Celery("x") if DEBUG else None',
    "factory": 'from celery import Celery\ndef make(flask):\n    made = Celery("x"); return made\napp = make(1)',
    "annotated factory": "from celery import Celery\ndef make() -> Celery: ...\napp = make()",
    "star": 'from celery import *\napp = Celery("x")',
    "subclass": 'from celery import Celery\nclass My(Celery): pass\napp = My("x")',
    "walrus": 'from celery import Celery\n(app := Celery("x"))',
    "global": 'from celery import Celery\napp = None\ndef init():\n    global app\n    app = Celery("x")',
}
USED = '\n@app.task(bind=True, serializer="pickle")\ndef f(self): self.retry(eta=3)\napp.conf.task_serializer = "pickle"\nf.delay(1)\n'


@pytest.mark.parametrize("way", MADE)
def test_an_app_is_found_however_it_is_made(way: str, tmp_path: Path) -> None:
    found = {one.found for one in report(tmp_path, {"a.py": MADE[way] + USED}).found}
    assert found >= {
        "@app.task", "@app.task serializer='pickle'", "self.retry(…)", "self.retry eta=3", "app.conf.task_serializer", "f.delay(…)",
    }  # fmt: skip


def test_attributes_of_an_imported_app_and_task_are_found(tmp_path: Path) -> None:
    jobs = "from celery import Celery, shared_task\napp = Celery('x')\n@shared_task\ndef add(a): ...\nadd.retry()\nadd.request.hostname\n"
    uses = [
        "add.apply((1,))", "@app.on_after_configure.connect\ndef s(sender): ...", "app.add_periodic_task(3, add)",
        "app.autodiscover_tasks()", "app.config_from_object('x')", "app.tasks['x']", "app.AsyncResult('x')", "app.backend",
        "add.delay_on_commit(1)", "add.update_state()",
    ]  # fmt: skip
    names = [
        "self.apply", "app.on_after_configure", "app.add_periodic_task", "app.autodiscover_tasks", "app.config_from_object", "app.tasks",
        "app.AsyncResult", "app.backend", "self.delay_on_commit", "self.update_state",
    ]  # fmt: skip
    files = {f"use{number}.py": f"from jobs import add, app\n{use}\n" for number, use in enumerate(uses)}
    found = report(tmp_path, {"jobs.py": jobs, **files}).found
    changes = {(Path(one.path).stem, one.found) for one in found if one.verdict != "same"}
    assert {(f"use{number}", name) for number, name in enumerate(names)} <= changes
    assert [short(one) for one in found if one.path.endswith("jobs.py") and one.line > 4] == [
        "5 change: add.retry(…)", "6 lost: request.hostname",
    ]  # fmt: skip


def test_no_number_and_no_encoding_ends_the_check(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# coding: nosuch\nfrom celery import Celery\n")
    (tmp_path / "b.py").write_text(
        "from celery import Celery\napp = Celery('x')\n"
        f"app.conf.beat_schedule = {{'a': {{'schedule': 1e999}}, 'b': {{'schedule': {'9' * 400}}}}}\n"
        f"from celery.schedules import crontab\ncrontab(minute=0x{'f' * 9000})\n@app.task(max_retries=0x{'f' * 9000}, time_limit=1e999)\n"
        "def f(): ...\n"
    )
    found = joined(read(tmp_path)).found
    assert [(Path(one.path).name, one.line, one.column) for one in found if one.verdict == "unreadable"] == [("a.py", 1, 1)]


def test_an_app_that_cannot_be_followed_is_reported(tmp_path: Path) -> None:
    head = "from celery import chain\nfrom sedano import Sedano\nfrom elsewhere import make\n"
    text = f"{head}app = make()\nours = Sedano('x')\n@app.task\ndef f(): ...\n@ours.task\ndef g(): ...\n"
    assert [short(one) for one in report(tmp_path, {"a.py": text}).found[1:]] == ["6 change: not followed: @app.task"]
