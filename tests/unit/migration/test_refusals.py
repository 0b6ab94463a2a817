"""Code that sedano refuses is not called the same, and what the check tells to write instead runs under sedano."""

import ast
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sedano import Sedano, chain, chord, cron, every, group
from sedano.canvas.signature import signature
from sedano.errors import SedanoError
from sedano.migration.answers import SAME
from sedano.migration.findings import CodeFinding
from sedano.migration.schedules import every_of
from sedano.testing import world
from tests.unit.migration.sources import report

CELERY = """
from datetime import UTC, datetime, timedelta
from celery import Celery, chain, chord, group, signature
app = Celery("shop")
@app.task(name="shop.add", autoretry_for=(Exception,))
def add(a=0, b=0):
    return a + b
@app.task(name="shop.wait", autoretry_for=(Exception,))
def wait():
    return BODY
"""
PROGRAM = """
app = Sedano("shop")
@app.task(name="shop.add")
def add(a=0, b=0):
    return a + b
@app.task(name="shop.wait", retry=False)
def wait():
    return BODY
"""


def told(folder: Path, line: str, body: str = "None") -> list[CodeFinding]:
    """Return the findings about *line* of a program, or about *body*, the expression that its task `wait` returns."""
    text = CELERY.replace("BODY", body) + f"{line}\n"
    first = 9 if body != "None" else 10
    return [one for one in report(folder, {"a.py": text}).found if one.line >= first and not one.found.startswith("@")]


def run(line: str, body: str = "None") -> object:
    """Return the value of *line* in the same program under sedano; the last result is waited for."""
    names: dict[str, object] = {
        "Sedano": Sedano, "chain": chain, "chord": chord, "group": group, "signature": signature, "cron": cron, "every": every,
        "UTC": UTC, "datetime": datetime, "timedelta": timedelta,
    }  # fmt: skip
    exec(PROGRAM.replace("BODY", body), names)  # noqa: S102 - the texts are those of this file
    app = names["app"]
    assert isinstance(app, Sedano)
    with world(app):
        found = eval(line, names)  # noqa: S307 - the texts are those of this file
        return found.get() if hasattr(found, "get") and "datetime" not in line else found  # the clock of a world is not that of `now`


REFUSED = {
    "add.apply_async(eta=datetime.utcnow())": "add.apply_async(eta=datetime.now(UTC))",
    "add.apply_async(eta=datetime.now() + timedelta(hours=1))": "add.apply_async(eta=datetime.now(UTC) + timedelta(hours=1))",
    "add.apply_async(expires=datetime.now())": None,
    "add.apply_async(expires=datetime(2099, 1, 1))": "add.apply_async(expires=datetime(2099, 1, 1, tzinfo=UTC))",
    "add.apply_async(expires=datetime.fromtimestamp(4e9).replace(hour=3))": None,
    "add.apply_async(expires=timedelta(1))": "add.apply_async(expires=timedelta(1).total_seconds())",
    "add.apply_async(eta=timedelta(hours=1))": "add.apply_async(countdown=timedelta(hours=1).total_seconds())",
    "add.apply_async(countdown=-1)": "add.apply_async()",
    "add.apply_async((1,), None, 'an-id')": "add.apply_async((1,), None, task_id='an-id')",
    "add.apply_async((1,), None, None, None, add.si())": "add.apply_async((1,), None, link=add.si())",
    "add.s(1).apply_async((1,), None, 'an-id')": "add.s(1).apply_async((1,), None, task_id='an-id')",
    "signature('shop.add').delay()": "app.signature('shop.add').delay()",
    "(add.s(1) | add.s(2))()": "(add.s(1) | add.s(2)).delay()",
}  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_code_that_sedano_refuses_is_not_the_same(line: str, tmp_path: Path) -> None:
    with pytest.raises((SedanoError, TypeError, ValueError)):
        run(line)
    assert [one for one in told(tmp_path, line) if one.verdict != SAME and one.remedy]


@pytest.mark.parametrize("line", [line for line, instead in REFUSED.items() if instead is not None])
def test_the_code_that_replaces_it_runs_and_is_what_the_remedy_says(line: str, tmp_path: Path) -> None:
    instead = REFUSED[line]
    assert instead is not None
    run(instead)
    remedies = " ".join(one.remedy for one in told(tmp_path, line))
    changed = set(re.findall(r"[\w.]+(?:=\w+)?", instead)) - set(re.findall(r"[\w.]+(?:=\w+)?", line))
    assert [one for one in changed if one.partition("=")[0] not in remedies] == []


KEPT = [
    "add.apply_async(eta=datetime.now(UTC))", "add.apply_async(eta=datetime.now(tz=UTC) + timedelta(hours=1))",
    "add.apply_async(expires=datetime(2099, 1, 1, tzinfo=UTC))", "add.apply_async(expires=datetime(2099, 1, 1).replace(tzinfo=UTC))",
    "add.apply_async((1,), {'b': 2}, countdown=3)", "add.apply_async(expires=10)", "add.apply_async(time_limit=5)",
    "add.apply_async(link=add.si(), link_error=[add.si()])", "add.apply_async(task_id='x', queue=None)",
    "app.signature('shop.add').delay()",
    "app.send_task('shop.add', (1,), {'b': 2}, countdown=1)", "chain(add.s(1), add.s(2))()", "group(add.s(1), add.s(2))()",
    "chord([add.s(1)], add.si())()", "(add.s(1) | add.s(2)).delay()", "add.chunks([(1, 2)], 2)()", "add.starmap([(1, 2)]).delay()",
    "add.si(1).set(countdown=1, expires=9).delay()", "add.signature((1,), immutable=True).delay()", "group(add.s(1)).delay().join()",
]  # fmt: skip


@pytest.mark.parametrize("line", KEPT)
def test_code_that_is_the_same_runs(line: str, tmp_path: Path) -> None:
    found = told(tmp_path, line)
    assert found
    assert {one.verdict for one in found} == {SAME}
    run(line)


@pytest.mark.parametrize("body", ["add.delay().get()", "group(add.s(1))().get()", "list(group(add.s()).delay().iterate())"])
def test_a_body_that_waits_for_a_task_is_not_the_same(body: str, tmp_path: Path) -> None:
    with pytest.raises(SedanoError, match="WaitInsideTask"):
        run("wait.delay()", body)
    (found,) = (one for one in told(tmp_path, "", body) if one.found.startswith("result."))
    assert (found.verdict, "chain or a chord" in found.remedy) == ("change", True)
    assert {one.verdict for one in told(tmp_path, body)} == {SAME}


@pytest.mark.parametrize(
    ("given", "rate"),
    [("'10/m'", '"10/m"'), ("'10'", "10"), ("10", "10"), ("0.5", "0.5"), ("'2.5'", "2.5"), ("' 5/h '", '"5/h"'), ("'x'", '"10/s"'),
     ("b'x'", '"10/s"'), ("'-1'", '"10/s"'), ("1e999", '"10/s"')],
)  # fmt: skip
def test_a_rate_is_one_that_sedano_accepts(given: str, rate: str, tmp_path: Path) -> None:
    text = f"from celery import shared_task\n@shared_task(rate_limit={given})\ndef add(): ...\n"
    (found,) = (one for one in report(tmp_path, {"a.py": text}).found if "rate_limit" in one.found)
    written = re.search(r"rate=(\S+?)[,;]", found.remedy)
    assert written is not None
    assert written[1] == rate
    Sedano("shop").task(rate=ast.literal_eval(rate))(len)


@pytest.mark.parametrize("given", ["None", "0", "'0'"])
def test_a_rate_that_limits_nothing_is_removed(given: str, tmp_path: Path) -> None:
    text = f"from celery import shared_task\n@shared_task(rate_limit={given})\ndef add(): ...\n"
    assert [one.verdict for one in report(tmp_path, {"a.py": text}).found if "rate_limit" in one.found] == ["remove"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1234567.0", 1_234_567), ("31536001", 31_536_001), ("timedelta(5)", 432_000), ("timedelta(weeks=1)", 604_800),
        ("timedelta(0, 90)", 90), ("timedelta(minutes=1.5)", 90), ("timedelta(seconds=0.5)", None), ("timedelta(seconds=-3)", None),
        ("timedelta(days=400)", None), ("1e9", None), ("1e999", None), ("9" * 400, None), ("timedelta(days=1e999)", None),
        ("timedelta(days=10**9)", None), ("timedelta(days=9999999999)", None), ("-5", None), ("timedelta(hours=x)", None),
        ("timedelta(*x)", None), ("timedelta(**x)", None),
    ],
)  # fmt: skip
def test_an_interval_keeps_its_digits_or_is_not_written(text: str, seconds: int | None) -> None:
    written = every_of(ast.parse(text, mode="eval").body)
    assert (written is None) == (seconds is None)
    if written is not None:
        assert eval(written, {"every": every}).seconds == seconds  # noqa: S307 - it is one of the texts above
