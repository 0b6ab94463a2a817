"""`sedano migrate check` finds each use of Celery in a file, with the answer to it, and nothing else."""

from pathlib import Path

import pytest

from tests.unit.migration.sources import lines, report, short

BOUND = """
    from celery import shared_task

    @shared_task(bind=True, max_retries=5)
    def pay(self, order):
        if self.request.retries:
            raise self.retry(exc=ValueError(), countdown=60)
        return self.request.id
"""
USES: dict[str, tuple[str, list[str]]] = {
    "app": (
        """
        from celery import Celery
        app = Celery("shop", broker="sqs://")
        app.config_from_object("django.conf:settings", namespace="CELERY")
        app.autodiscover_tasks()
        app.conf.task_acks_late = True
        app.conf["task_serializer"] = "pickle"
        app.conf.update(timezone="UTC", MY_OWN=1)
        print(app.conf.task_routes)
        """,
        [
            "1 change: from celery import Celery",
            "2 change: Celery(…)",
            "2 change: Celery(broker='sqs://')",
            "3 change: app.config_from_object",
            "4 change: app.autodiscover_tasks",
            "5 remove: app.conf.task_acks_late",
            "6 lost: app.conf.task_serializer",
            "7 change: app.conf.timezone",
            "7 change: app.conf.MY_OWN",
            "8 change: app.conf.task_routes",
        ],
    ),
    "a bound task": (
        BOUND,
        [
            "1 change: from celery import shared_task",
            "3 change: @shared_task",
            "3 same: @shared_task bind=True",
            "3 change: @shared_task max_retries=5",
            "5 change: request.retries",
            "6 change: self.retry(…)",
            "6 change: self.retry exc=ValueError()",
            "6 change: self.retry countdown=60",
            "7 same: request.id",
        ],
    ),
    "a helper of bound tasks": (
        """
        from celery import shared_task
        def again(self):
            raise self.retry()
        """,
        ["1 change: from celery import shared_task", "3 change: self.retry(…)"],
    ),
    "options that depend on their value": (
        """
        from celery import shared_task
        @shared_task(acks_late=True)
        def a(): ...
        @shared_task(acks_late=False, max_retries=None, soft_time_limit=7200, serializer="pickle")
        def b(): ...
        @shared_task(soft_time_limit=60, rate_limit="10/m", max_retries=20)
        def c(): ...
        """,
        [
            "1 change: from celery import shared_task",
            "2 change: @shared_task",
            "2 remove: @shared_task acks_late=True",
            "4 change: @shared_task",
            "4 lost: @shared_task acks_late=False",
            "4 change: @shared_task max_retries=None",
            "4 change: @shared_task soft_time_limit=7200",
            "4 lost: @shared_task serializer='pickle'",
            "6 change: @shared_task",
            "6 same: @shared_task soft_time_limit=60",
            "6 change: @shared_task rate_limit='10/m'",
            "6 change: @shared_task max_retries=20",
        ],
    ),
    "options in a mapping": (
        """
        from celery import shared_task
        from shop import MORE
        DEFAULTS = {"max_retries": 3}
        @shared_task(**{**DEFAULTS, **{"bind": True}})
        def a(self):
            self.update_state("PROGRESS")
        @shared_task(**DEFAULTS)
        def b(): ...
        @shared_task(**MORE)
        def c(): ...
        """,
        [
            "1 change: from celery import shared_task",
            "3 change: @shared_task max_retries=3",
            "4 change: @shared_task",
            "4 same: @shared_task bind=True",
            "6 change: self.update_state",
            "7 change: @shared_task",
            "9 change: @shared_task",
            "9 change: @shared_task **MORE",
        ],
    ),
    "publications and results": (
        """
        from celery import shared_task
        @shared_task
        def add(a, b): ...
        def use(pool):
            made = add.apply_async((1, 2), countdown=3, priority=4, headers={})
            made.get(timeout=3, interval=1)
            add.delay(1, 2).date_done
            pool.apply_async(add, args=(1, 2))
        """,
        [
            "1 change: from celery import shared_task",
            "2 change: @shared_task",
            "5 same: add.apply_async(…)",
            "5 same: apply_async: countdown=3",
            "5 change: apply_async: priority=4",
            "5 same: apply_async: headers={}",
            "6 same: result.get",
            "6 change: result.get(interval=…)",
            "7 change: result.date_done",
            "7 same: add.delay(…)",
        ],
    ),
    "canvas": (
        """
        from celery import chain, group, shared_task
        @shared_task
        def add(a, b): ...
        def use():
            work = group(add.s(1, 2), add.si(1, 2)) | add.s(3).set(priority=1)
            work.delay()
            chain(add.s(1, 2)).apply_async(link=add.s())
            add.starmap([(1, 2)])
            add.chunks([(1, 2)], 2)
        """,
        [
            "1 change: from celery import chain",
            "1 change: from celery import group",
            "1 change: from celery import shared_task",
            "2 change: @shared_task",
            "5 same: add.s(…)",
            "5 same: add.si(…)",
            "5 same: add.s(3).set(…)",
            "5 same: add.s(…)",
            "5 change: set: priority=1",
            "6 same: work.delay(…)",
            "7 same: chain(add.s(1, 2)).apply_async(…)",
            "7 same: add.s(…)",
            "7 same: apply_async: link=add.s()",
            "7 same: add.s(…)",
            "8 same: add.starmap(…)",
            "9 same: add.chunks(…)",
        ],
    ),
    "control": (
        """
        from celery import current_app
        def use(id):
            current_app.control.revoke(id, terminate=True, signal="SIGKILL")
            found = current_app.control.inspect().active()
            current_app.control.purge()
            return found, current_app.connection_or_acquire()
        """,
        [
            "1 change: from celery import current_app",
            "3 same: app.control.revoke",
            "3 change: app.control.revoke(signal=…)",
            "4 change: inspect().active",
            "4 same: app.control.inspect",
            "5 change: app.control.purge",
            "6 change: app.connection_or_acquire",
        ],
    ),
    "signals": (
        """
        from celery import signals
        from celery.signals import task_success, task_revoked
        @signals.task_failure.connect
        def on_failure(**given): ...
        """,
        [
            "1 change: from celery import signals",
            "2 change: from celery.signals import task_success",
            "2 change: from celery.signals import task_revoked",
            "3 change: celery.signals.task_failure",
        ],
    ),
    "a class of tasks": (
        """
        from celery import Task, shared_task
        class Base(Task):
            max_retries = 5; name = "base"
            def on_failure(self, *given):
                self.retry()
            def apply_async(self, *given): ...
        @shared_task(base=Base)
        def add(a, b): ...
        """,
        [
            "1 change: from celery import Task",
            "1 change: from celery import shared_task",
            "2 change: class Base",
            "3 change: Base.max_retries=5",
            "4 change: Base.on_failure",
            "5 change: self.retry(…)",
            "6 lost: Base.apply_async",
            "7 change: @shared_task",
            "7 change: @shared_task base=Base",
        ],
    ),
    "settings of Django": (
        """
        from celery.schedules import crontab
        CELERY_TASK_ALWAYS_EAGER = True
        CELERYBEAT_SCHEDULE = {"clean": {"task": "shop.clean", "schedule": crontab(minute=0, hour="*/4"), "args": (1,)}}
        CELERY_BEAT_SCHEDULE["count"] = {"task": "shop.count", "schedule": 30.0}
        CELERY_ACCEPT_CONTENT: list = ["json", "pickle"]
        CELERY_IS_OURS = True
        INSTALLED_APPS = ["shop", "django_celery_beat"]
        """,
        [
            "1 change: from celery.schedules import crontab",
            "2 change: CELERY_TASK_ALWAYS_EAGER",
            "3 change: CELERYBEAT_SCHEDULE",
            "3 change: schedule 'clean'",
            "3 change: crontab(minute=0, hour='*/4')",
            "4 change: schedule CELERY_BEAT_SCHEDULE['count']",
            "5 lost: CELERY_ACCEPT_CONTENT",
            '7 change: INSTALLED_APPS "django_celery_beat"',
        ],
    ),
    "other packages": (
        """
        from celery.utils.log import get_task_logger
        from celery_once import QueueOnce
        from celery import shared_task
        import celery
        @shared_task(base=QueueOnce, once={"keys": ["user"], "graceful": True})
        def add(user): ...
        @celery.shared_task
        def count(): ...
        """,
        [
            "1 change: from celery.utils.log import get_task_logger",
            "2 change: from celery_once import QueueOnce",
            "3 change: from celery import shared_task",
            "4 change: import celery",
            "5 change: @shared_task",
            "5 change: @shared_task base=QueueOnce",
            "5 change: @shared_task once={'keys': ['user'], 'graceful': True}",
            "7 change: celery.shared_task",
            "7 change: @celery.shared_task",
        ],
    ),
}
NOTHING = {
    "another delay": "def use(timer, s):\n    timer.delay(3)\n    s.s(1)\n    timer.retry()\n    timer.request.id\n",
    "a pool": "from multiprocessing import Pool\nwith Pool() as pool:\n    pool.apply_async(print, args=(1,), callback=print)\n",
    "a view of Django": "class View:\n    def get(self):\n        return self.request.args, self.retry()\n",
    "a flask app": "from flask import Flask, current_app\napp = Flask('x')\napp.conf.task_routes = {}\n@app.task\ndef add(): ...\n"
    "current_app.control.inspect()\n",
    "a program of sedano": "from sedano import Sedano, chain\napp = Sedano('shop')\n@app.task(bind=True)\ndef add(self):\n"
    "    self.request.retries\nadd.delay()\nchain(add.s(1)).delay()\nadd.apply_async(())\n",
    "a name that hides an import": "from shop import tasks\ndef use(tasks):\n    tasks.add.delay(1)\n",
    "chain of itertools": "from itertools import chain\nchain([1]).delay()\n",
    "a setting of another program": "CELERY_IS_OURS = 1\nBROKER_OF_OURS = 2\nTASK_ROUTES = {}\ntimezone = 'UTC'\n",
    "a comment and a text": "# from celery import shared_task; add.delay()\n'from celery import Celery'\n",
    "an attribute of the same name": "class Row:\n    def use(self, celery):\n"
    "        return celery.shared_task, self.celery.control.purge()\n",
}


@pytest.mark.parametrize("name", USES)
def test_each_use_is_found_with_its_verdict(name: str, tmp_path: Path) -> None:
    text, expected = USES[name]
    assert lines(tmp_path, text) == expected


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_found_where_celery_is_not_used(name: str, tmp_path: Path) -> None:
    assert lines(tmp_path, NOTHING[name]) == []


def test_a_task_is_known_in_the_files_that_import_it(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        {
            "src/shop/__init__.py": "",
            "src/shop/celery.py": "from celery import Celery\napp = Celery('shop')\n",
            "src/shop/tasks.py": "from .celery import app\n@app.task(bind=True)\ndef add(self):\n    self.retry()\n",
            "src/shop/views.py": "from . import tasks\nfrom shop.tasks import add as plus\n"
            "tasks.add.delay()\nplus.delay()\ntasks.other.delay()\n",
            "src/shop/other.py": "from .views import app\n@app.task\ndef sub(): ...\nsub.delay()\n",
            "src/shop/panel.py": "from shop.celery import app\napp.control.purge()\napp.conf.task_routes = {}\n",
        },
    ).found
    assert [f"{one.path.removeprefix(f'{tmp_path}/src/shop/')}:{short(one)}" for one in found if not one.path.endswith("celery.py")] == [
        "panel.py:2 change: app.control.purge",
        "panel.py:3 change: app.conf.task_routes",
        "tasks.py:2 change: @app.task",
        "tasks.py:2 same: @app.task bind=True",
        "tasks.py:4 change: self.retry(…)",
        "views.py:3 same: tasks.add.delay(…)",
        "views.py:4 same: plus.delay(…)",
    ]


def test_each_remedy_has_the_value_of_the_source(tmp_path: Path) -> None:
    text = """
        from celery import shared_task
        @shared_task(autoretry_for=(Exception,), max_retries=5, default_retry_delay=30, rate_limit="10/m",
                     once={"keys": ["user"], "graceful": True})
        def add(user): ...
    """
    found = {one.found.split()[1].partition("=")[0]: one.remedy for one in report(tmp_path, {"a.py": text}).found[2:]}
    assert found == {
        **dict.fromkeys(
            ("autoretry_for", "max_retries", "default_retry_delay"),
            "write retry=Retry(max_retries=5, interval_start=30, backoff=1, jitter=False)",
        ),
        "rate_limit": 'write rate="10/m"; it limits all workers together, per="worker" each one',
        "once": "write singleton='user', on_busy=\"drop\": one run at a time; "
        "a duplicate that is published while the first waits is not refused",
    }
