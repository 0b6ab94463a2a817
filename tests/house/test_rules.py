"""Every house rule catches a planted violation and leaves what is allowed alone."""

from collections.abc import Callable

import pytest

from tests.house import imports, purity, shape
from tests.house.tree import LIBRARY, Source

Rule = Callable[[Source], list[str]]

ENGINE = f"{LIBRARY}engine/worker.py"
MODEL = f"{LIBRARY}model/clock.py"
AWS = f"{LIBRARY}aws/ledger.py"
APP = f"{LIBRARY}app.py"
PAGE = f"{LIBRARY}web/pages.py"
JOB = "glue_jobs/pipeline/timeline.py"
TEST = "tests/unit/test_clock.py"
MANY = [f"    def method_{number}(self): ..." for number in range(16)]
LARGE_CLASS = "\n".join(["class Hub:", *MANY])
LONG_FUNCTION = "def long():\n" + "    x = 1\n" * 30
DOCUMENTED = 'def documented():\n    """' + "words\n" * 20 + '"""\n' + "    x = 1\n" * 27
CONDITION = "Condition" + "Expression"

REFUSED: list[tuple[Rule, str, str]] = [
    (imports.only_floors_below, MODEL, "from sedano.ports import Ledger"),
    (imports.only_floors_below, MODEL, "import sedano.engine.worker.pipeline"),
    (imports.only_floors_below, MODEL, "from ..engine import worker"),
    (imports.only_floors_below, ENGINE, "from sedano.aws.ledger import DynamoLedger"),
    (imports.only_floors_below, ENGINE, "from sedano.memory import MemoryLedger"),
    (imports.only_floors_below, ENGINE, "from sedano import app"),
    (imports.only_floors_below, ENGINE, "from sedano import Sedano"),
    (imports.only_floors_below, APP, "from sedano.host.functions import connect"),
    (imports.only_floors_below, f"{LIBRARY}views/overview.py", "from sedano.web import page"),
    (imports.only_floors_below, f"{LIBRARY}drawer/things.py", ""),
    (imports.only_floors_below, APP, "from sedano.signboard import text"),
    (imports.only_floors_below, f"{LIBRARY}streams.py", "from sedano.webhooks import slack"),
    (imports.only_floors_below, f"{LIBRARY}result/late_imports.py", "def late():\n    from sedano.canvas import chain"),
    (imports.one_room_knows_engine_and_aws, APP, "import sedano.engine.worker.pipeline\nimport sedano.aws.ledger"),
    (imports.visitors_use_their_door, "functions/worker/handler.py", "from sedano.engine import worker"),
    (imports.visitors_use_their_door, "glue_jobs/timeline.py", "from sedano.aws import blobs"),
    (imports.visitors_use_their_door, "infra/app.py", "from sedano import settings"),
    (imports.queues_say_their_bounds, ENGINE, "from sedano.model.queues import MAX_DELAY_S, is_fifo"),
    (imports.at_the_top, ENGINE, "def late():\n    import json"),
    (imports.at_the_top, ENGINE, "try:\n    import json\nexcept ImportError:\n    json = None"),
    (imports.no_type_checking, ENGINE, "from typing import " + "TYPE" + "_CHECKING"),
    (imports.no_type_checking, ENGINE, "import typing\nif typing." + "TYPE" + "_CHECKING: pass"),
    (imports.at_the_top, ENGINE, "if fast:\n    import json"),
    (imports.only_floors_below, ENGINE, "if " + "TYPE" + "_CHECKING:\n    from sedano.aws.ledger import DynamoLedger"),
    (imports.by_name_only_where_allowed, ENGINE, "import importlib"),
    (imports.by_name_only_where_allowed, ENGINE, "from importlib import import_module"),
    (imports.by_name_only_where_allowed, ENGINE, "json = __import__('json')"),
    (imports.frameworks_in_their_rooms, APP, "from starlette.concurrency import run_in_threadpool"),
    (imports.ours_by_statement, APP, "import importlib\nx = importlib.import_module('sedano.api.leases').Lock"),
    (imports.ours_by_statement, APP, "from importlib import import_module\nx = import_module(f'sedano.cli.{verb}')"),
    (imports.ours_by_statement, "infra/__init__.py", "import importlib\nx = importlib.import_module(f'.{name}', __name__)"),
    (imports.ours_by_statement, "functions/worker/handler.py", "x = __import__('sedano.host.functions')"),
    (purity.imports_only_pure, MODEL, "import time"),
    (purity.imports_only_pure, MODEL, "import boto3"),
    (purity.imports_only_pure, MODEL, "from threading import Thread"),
    (purity.imports_only_pure, MODEL, "from uuid import uuid4"),
    (purity.imports_only_pure, MODEL, "from sedano.ports import Clock"),
    (purity.calls_only_pure, MODEL, "import uuid\nx = uuid.uuid4()"),
    (purity.calls_only_pure, MODEL, "import threading\nx = threading.Thread()"),
    (purity.calls_only_pure, MODEL, "from datetime import datetime\nx = datetime.now()"),
    (purity.calls_only_pure, MODEL, "import datetime\nx = datetime.date.today()"),
    (purity.calls_only_pure, MODEL, "x = open('file')"),
    (purity.expressions_in_their_room, AWS, f"client.put_item({CONDITION}='x')"),
    (purity.expressions_in_their_room, AWS, f"x = {{'{CONDITION}': 'x'}}"),
    (purity.expressions_in_their_room, AWS, "x = 'attribute" + "_not_exists(pk)'"),
    (purity.html_by_escaping, PAGE, "x = f'<b>{name}</b>'"),
    (purity.html_by_escaping, PAGE, "x = '<a href=' + name"),
    (purity.html_by_escaping, f"{LIBRARY}cli/web_pages.py", "x = '<br/>'"),
    (purity.html_by_escaping, PAGE, "x = Markup(name)"),
    (purity.frames_are_sparks_own, JOB, "import pandas"),
    (purity.frames_are_sparks_own, JOB, "from pyspark import pandas"),
    (purity.frames_are_sparks_own, JOB, "from awsglue.context import GlueContext"),
    (purity.frames_are_sparks_own, JOB, "from pyspark.sql.pandas.functions import pandas_udf"),
    (purity.frames_are_sparks_own, JOB, "from pyspark.sql import functions as F\nlong = F.udf(len)"),
    (purity.frames_are_sparks_own, JOB, "from pyspark.sql.functions import udf"),
    (purity.frames_are_sparks_own, JOB, "rows = table.rdd.map(str)"),
    (shape.fits_on_a_few_screens, ENGINE, "x = 1\n" * 401),
    (shape.functions_are_short, ENGINE, LONG_FUNCTION),
    (shape.functions_are_short, ENGINE, LONG_FUNCTION.replace("def", "async def")),
    (shape.functions_are_short, ENGINE, f"class A:\n    {LONG_FUNCTION.replace('    ', '        ')}"),
    (shape.classes_are_small, ENGINE, LARGE_CLASS),
    (shape.classes_are_small, ENGINE, LARGE_CLASS.replace("    def", "    @property\n    def")),
    (shape.classes_are_small, "infra/stage.py", LARGE_CLASS.replace("def", "async def")),
    (shape.has_a_name_that_says_something, f"{LIBRARY}aws/utils.py", ""),
    (shape.has_a_name_that_says_something, f"{LIBRARY}common/queues.py", ""),
    (shape.records_name_their_fields, ENGINE, "x = Outcome(1, 2, 3, 4, 5, 6)"),
    (shape.says_what_it_is, ENGINE, ""),
    (shape.says_what_it_is, TEST, "x = 1"),
    (shape.public_things_are_documented, ENGINE, "def work(): ..."),
    (shape.public_things_are_documented, ENGINE, "class Worker: ..."),
    (shape.nothing_unfinished, "docs/walk.md", "TO" + "DO: write this"),
    (shape.nothing_unfinished, ENGINE, "# FIX" + "ME later"),
    (shape.names_no_machine, "requirements/dev.txt", "--extra-" + "index-url https://example.org"),
    (shape.names_no_machine, "package-lock.json", "https:" + "//registry.example/aws-cdk"),
    (shape.names_no_machine, "docs/walk.md", "see /ho" + "me/someone/sedano"),
    (shape.tests_replace_nothing, TEST, "def test_time(monkey" + "patch): ..."),
    (shape.tests_replace_nothing, TEST, "from unittest" + ".mock import Mock"),
    (shape.tests_replace_nothing, TEST, "from unittest import " + "mock"),
    (shape.readme_fits_a_glance, "infra/README.md", "line\n" * 26),
    (shape.handler_decides_nothing, "functions/worker/handler.py", "x = 1\n" * 26),
    (shape.handler_decides_nothing, "functions/worker/handler.py", "if True:\n    x = 1"),
]

ACCEPTED: list[tuple[Rule, str, str]] = [
    (imports.only_floors_below, MODEL, "from sedano.errors import SedanoError\nfrom sedano.model.states import State"),
    (imports.only_floors_below, ENGINE, "from sedano.ports import Ledger\nfrom . import publisher"),
    (imports.only_floors_below, APP, "from sedano.task import Task\nfrom sedano import result"),
    (imports.only_floors_below, f"{LIBRARY}__init__.py", "from sedano.app import Sedano"),
    (imports.only_floors_below, f"{LIBRARY}cli/main.py", "from sedano.views import overview"),
    (imports.one_room_knows_engine_and_aws, f"{LIBRARY}host/functions.py", "from sedano import aws, engine"),
    (imports.queues_say_their_bounds, AWS, "from sedano.model.queues import SQS"),
    (imports.queues_say_their_bounds, ENGINE, "from sedano.model.queues import is_fifo"),
    (imports.visitors_use_their_door, "functions/worker/handler.py", "from sedano.host.functions import worker"),
    (imports.visitors_use_their_door, "glue_jobs/pipeline/timeline.py", "from sedano.model import states"),
    (imports.by_name_only_where_allowed, APP, "import importlib"),
    (imports.no_type_checking, APP, "from typing import " + "TYPE" + "_CHECKING"),
    (imports.at_the_top, APP, "def late():\n    import json"),
    (imports.at_the_top, ENGINE, "if " + "TYPE" + "_CHECKING:\n    import json"),
    (imports.by_name_only_where_allowed, ENGINE, "from importlib.metadata import version"),
    (imports.ours_by_statement, APP, "import importlib\nx = importlib.import_module(module)"),
    (purity.imports_only_pure, MODEL, "from uuid import UUID, uuid5\nfrom collections.abc import Mapping"),
    (purity.imports_only_pure, MODEL, "from threading import Lock"),
    (purity.calls_only_pure, MODEL, "from datetime import datetime\nx = datetime.fromtimestamp(0)"),
    (purity.html_by_escaping, PAGE, "x = el('b', name)"),
    (purity.html_by_escaping, PAGE, "x = 'install it with pip install <name>, or a < b > c'"),
    (purity.html_by_escaping, purity.HTML_ROOM, "x = Markup('<br/>')"),
    (purity.frames_are_sparks_own, JOB, "import json\nfrom pyspark.sql import functions as F\nfrom sedano.model import states"),
    (purity.expressions_in_their_room, f"{purity.EXPRESSION_ROOM}tasks.py", f"x = {{'{CONDITION}': 'x'}}"),
    (purity.expressions_in_their_room, AWS, f'"""Every {CONDITION} stands in expressions."""'),
    (shape.functions_are_short, ENGINE, DOCUMENTED),
    (shape.classes_are_small, ENGINE, LARGE_CLASS.replace("method_15", "_method")),
    (shape.classes_are_small, ENGINE, LARGE_CLASS.replace("    def method_15", "    @method_14.setter\n    def method_14")),
    (shape.classes_are_small, f"{LIBRARY}result/async_result.py", LARGE_CLASS.replace("Hub", "AsyncResult")),
    (shape.records_name_their_fields, ENGINE, "x = Outcome(1, 2, 3, 4, 5, f=6)\ny = select(1, 2, 3, 4, 5, 6)"),
    (shape.has_a_name_that_says_something, "infra/stacks/core.py", ""),
    (shape.says_what_it_is, "infra/__init__.py", ""),
    (shape.public_things_are_documented, ENGINE, "def _step(): ..."),
    (shape.nothing_unfinished, "CONTRIBUTING.md", "no TO" + "DO on main"),
    (shape.names_no_machine, "docs/layer.md", "a layer lies under /opt/python, scratch under /tmp"),
]


@pytest.mark.parametrize(("rule", "path", "text"), REFUSED, ids=[rule.__name__ for rule, _, _ in REFUSED])
def test_the_rule_catches(rule: Rule, path: str, text: str) -> None:
    assert rule(Source(path, text)) != []


@pytest.mark.parametrize(("rule", "path", "text"), ACCEPTED, ids=[rule.__name__ for rule, _, _ in ACCEPTED])
def test_the_rule_leaves_alone(rule: Rule, path: str, text: str) -> None:
    assert rule(Source(path, text)) == []


def test_a_circle_of_three_is_found_and_named() -> None:
    circle = [
        Source(f"{LIBRARY}model/a.py", "from sedano.model.b import x"),
        Source(f"{LIBRARY}model/b.py", "from sedano.model import c"),
        Source(f"{LIBRARY}model/c.py", "from .a import x"),
    ]
    assert "sedano.model.a" in imports.no_cycles(circle)[0]
    assert imports.no_cycles(circle[:2]) == []


def test_a_folder_without_a_readme_is_named() -> None:
    assert shape.every_folder_says_what_it_is(["infra/app.py", ".ci/run", "docs/README.md"]) == [
        "infra/ has no README.md"
    ]


def test_an_eleventh_module_at_the_top_level_is_named_and_folders_are_not_counted() -> None:
    ten = [f"{LIBRARY}{name}.py" for name in "abcdefghij"]
    assert shape.top_level_is_small([*ten, f"{LIBRARY}__init__.py", f"{LIBRARY}__main__.py", f"{LIBRARY}model/__init__.py", "k.py"]) == []
    named = ", ".join(f"{name}.py" for name in "abcdefghijk")
    assert shape.top_level_is_small([*ten, f"{LIBRARY}k.py"]) == [f"{LIBRARY}: 11 modules, {named}; at most 10"]
