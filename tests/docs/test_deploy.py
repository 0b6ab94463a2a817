"""The page about deploying says what is so: its application is discovered as shown, its commands and settings exist."""

import ast
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from infra.config import StageConfig
from infra.context import from_context
from sedano import webhooks
from sedano.aws.webhook_secrets import parameter
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.streams import BusEvent, ObjectChange, QueueMessage, StreamRecord, TableChange, TopicMessage

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
README = (ROOT / "infra" / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```python (\S+)\n(.*?)```", PAGE, re.DOTALL))
USE = "import shop, sedano.testing\nwith sedano.testing.world(shop.app):\n    print(shop.price.delay('tea', 2).get())\n"
SCHEMES = ("hmac_sha256", "secret_token", "stripe", "slack", "standard_webhooks", "unsigned")
#: A record of a DynamoDB stream, as a pipe reads it, and what a pipe makes of a template for it.
RECORD = {"$.eventID": "c4ca4238a0b923820dcc509a6f75849b", "$.dynamodb.NewImage.number.S": "4711"}
PIPED = """
import sys, shop, sedano.testing
from sedano.ports import EVENTS, Outgoing
with sedano.testing.world(shop.app) as world:
    for _ in range(2):
        world.queues.send(EVENTS, [Outgoing(sys.argv[1])])
        world.drain()
    assert not world.parked(), world.parked()
"""


def _run(directory: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers" / "sedano" / "python")}
    return subprocess.run([sys.executable, *words], cwd=directory, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_application_declares_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "shop.py").write_text(BLOCKS["shop.py"])
    (shown,) = re.findall(r"```console\n\$ \.venv/bin/python (.*?)\n(.*?)```", PAGE, re.DOTALL)
    said = _run(tmp_path, *shown[0].split())
    assert [line.rstrip() for line in said.splitlines()] == shown[1].splitlines()


def test_its_task_returns_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(BLOCKS["shop.py"])
    assert f'`shop.price.delay("tea", 2).get()` is {_run(tmp_path, "-c", USE).strip()}' in PAGE


def test_what_a_pipe_makes_of_its_template_runs_the_task_that_subscribed_once(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(BLOCKS["shop.py"])
    (template,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    message = re.sub(r"<(.*?)>", lambda found: RECORD[found[1]], template)
    assert _run(tmp_path, "-c", PIPED, message) == "order 4711 is confirmed\n"


def test_the_webhook_that_is_shown_publishes_what_its_sender_signs(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(BLOCKS["shop.py"] + BLOCKS["shop.py+"])
    assert _run(tmp_path, "-c", BLOCKS["test_shop.py"]) == "order 4711 is confirmed\n"


def test_the_task_that_is_shown_on_a_stream_is_called_once_with_a_record(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(BLOCKS["shop.py"] + BLOCKS["shop.py++"])
    assert _run(tmp_path, "-c", BLOCKS["test_stream.py"]) == "order 4711 is paid\n"


def test_the_tasks_that_are_shown_on_queues_of_other_programs_are_called(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(BLOCKS["shop.py"] + BLOCKS["shop.py+++"])
    assert _run(tmp_path, "-c", BLOCKS["test_queues.py"]) == "june.csv has 7 bytes\ntea {'kind': 'order'}\n"


def test_the_fields_that_the_page_lists_of_a_message_are_those_that_it_has() -> None:
    rows = [row.strip("| ").split(" | ") for row in PAGE.splitlines() if re.match(r"\| (`\"(s3|sns|eventbridge)\"`|left out) \|", row)]
    for row, kind in zip(rows, (ObjectChange, TopicMessage, BusEvent, QueueMessage), strict=True):
        name, *listed = re.findall(r"`(\w+)`", row[1])
        assert (name, {*listed, "stream", "id", "at"}) == (kind.__name__, set(kind.__annotations__))


def test_what_the_page_says_a_record_has_is_what_it_has() -> None:
    (table,) = re.findall(r"\| a task gets .*?\n\n", PAGE, re.DOTALL)
    rows = [row.strip("| ").split(" | ") for row in table.strip().splitlines()[2:]]
    for column, record in ((1, TableChange), (2, StreamRecord)):
        assert {name for row in rows for name in re.findall(r"`(\w+)`", row[column])} == set(record.__annotations__)


def test_the_name_of_the_table_in_the_commands_is_that_of_the_setting() -> None:
    assert len(re.findall(r"--table-name orders ", PAGE)) == 2
    assert "streams=orders=arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/" in PAGE


@pytest.mark.parametrize("scheme", re.findall(r"^\|.*?\| `((?:hmac|secret|stripe|slack|standard|unsigned)\w*\(.*?\))`", PAGE, re.MULTILINE))
def test_every_scheme_of_the_table_is_one(scheme: str) -> None:
    made = eval(scheme, {name: getattr(webhooks, name) for name in SCHEMES})  # noqa: S307 - the page is ours
    assert made.signs is (scheme != "unsigned()")


def test_the_table_has_every_scheme() -> None:
    assert all(f"`{name}(" in PAGE for name in SCHEMES)


def test_the_parameter_of_the_secret_is_where_the_function_looks() -> None:
    assert f"--name {parameter('dev', 'till')} " in PAGE


def test_the_ledger_remembers_as_long_as_the_page_says() -> None:
    assert f"the ledger remembers the first, which is {RECORD_LIFETIME_S // 86_400} days;" in " ".join(PAGE.split())


def test_every_command_is_one() -> None:
    named = set(re.findall(r"^ +make ([a-z]+)|`make ([a-z]+)`", PAGE, re.MULTILINE))
    targets = {next(filter(None, pair)) for pair in named}
    assert {"setup", "local", "bootstrap", "diff", "deploy", "destroy"} <= targets
    assert all(re.search(rf"^{target}:.*## ", MAKEFILE, re.MULTILINE) for target in targets)


def test_every_setting_that_is_given_is_understood() -> None:
    given = re.findall(r'SET="([^"]+)"', PAGE)
    assert len(given) == 10
    plain = from_context({"app": "shop:app", "code": "demo"})
    for words in given:
        settings = dict(word.split("=", 1) for word in shlex.split(words.replace("\\\n", " ")))
        assert from_context({"app": "shop:app", "code": "demo", **settings}) != plain


def test_the_list_of_settings_is_complete() -> None:
    listed = {name for row in re.findall(r"^\| (`.*?) \|", README, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert listed == {"app", "code", "requirements", "ignore"} | {field.name for field in fields(StageConfig)}


def test_the_app_of_ones_own_composes_what_is_installed() -> None:
    tree = ast.parse(BLOCKS["app.py"])
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "SedanoStacks"]
    assert [[word.arg for word in call.keywords] for call in calls] == [["app", "code", "config"]] * 2
    assert sorted(ast.unparse(call.args[0]) for call in calls) == ["app", "live"]
