"""The remedies for Celery's retries run the body as often as Celery does: each is executed, and Celery itself is the oracle."""

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from hypothesis import given
from hypothesis import strategies as st

from sedano import Retry, Sedano, current, poisonous, retry
from sedano.migration.answers import CHANGE, LOST, REMOVE, SAME, find
from sedano.migration.imports import RETRY
from sedano.migration.retries import of_declaration
from sedano.task import Task
from sedano.testing import world
from tests.unit.migration.sources import lines, report

ERRORS = (OSError, ValueError, KeyError)


def remedies(folder: Path, options: str) -> dict[str, str]:
    """Return what the check says to do about a task with *options*: for the declaration (empty name), and for each option."""
    text = f"from celery import shared_task\n@shared_task({options})\ndef body(): ...\n"
    found = report(folder, {"tasks.py": text}).found[1:]
    return {one.found.removeprefix("@shared_task").strip().partition("=")[0]: one.remedy for one in found}


def rewritten(told: dict[str, str]) -> tuple[str, list[str]]:
    """Return the option `retry=` that remedies propose, and the handlers of the body, innermost first."""
    text = "\n".join(told.values())
    policy = re.search(r"write (retry=(?:False|Retry\([^)]*\)))", text)
    assert policy is not None, text
    if policy[1] != "retry=False" or "in the body `except" not in text:
        narrow = None
    else:
        narrow = re.search(r"in the body `(except .*?:)` with `(with retry\(.*?\)): raise`", text)
    final = re.search(r"write `(except .*?:)` with `(with poisonous\(\)): raise`", text)
    handlers = [f"{one[1]}\n        {one[2]}: raise" for one in (final, narrow) if one is not None]
    wide = re.search(r"write (retry=Retry\([^)]*\))", text)
    return wide[1] if wide is not None and narrow is None else "retry=False", handlers


def runs_of_celery(options: str, error: type[Exception]) -> int:
    """Return how often Celery runs a body that raises *error*."""
    runs: list[int] = []

    def body() -> None:
        runs.append(1)
        raise error("x")

    declared = eval(f"dict({options})")  # noqa: S307 - it is one of the texts below
    Celery("oracle", set_as_current=False).task(**declared)(body).apply(throw=False)
    return len(runs)


def runs_of_sedano(told: dict[str, str], error: type[Exception]) -> int:
    """Return how often sedano runs the body as the remedies write it."""
    policy, handlers = rewritten(told)
    app, runs = Sedano("oracle"), list[int]()
    source = f"@app.task({policy})\ndef body():\n    runs.append(1)\n    try: raise error('x')\n"
    source += "".join(f"    {one}\n" for one in handlers) or "    finally: pass\n"
    names: dict[str, object] = {"app": app, "runs": runs, "error": error, "Retry": Retry, "retry": retry, "poisonous": poisonous}
    exec(source, names)  # noqa: S102 - it is what the remedies say
    with world(app):
        body = names["body"]
        assert isinstance(body, Task)
        body.delay().get(propagate=False)
    return len(runs)


DECLARATIONS = [
    "", "max_retries=5", "default_retry_delay=3600", "max_retries=0", "retry_backoff=True", "autoretry_for=()",
    "autoretry_for=(OSError,)", "autoretry_for=(OSError,), max_retries=5", "autoretry_for=[OSError, KeyError], retry_backoff=True",
    "autoretry_for=(Exception,)", "autoretry_for=(Exception,), max_retries=7, default_retry_delay=3600",
    "autoretry_for=(Exception,), dont_autoretry_for=(KeyError,)",
    "autoretry_for=(Exception,), retry_backoff=700, retry_backoff_max=3600, retry_jitter=False",
    "autoretry_for=(OSError,), max_retries=2, retry_kwargs={'max_retries': 4, 'countdown': 900}",
    "autoretry_for=(Exception,), retry_backoff=True, retry_backoff_max=1000000, retry_kwargs=dict(max_retries=1)",
    "autoretry_for=(Exception,), max_retries=0",
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("options", DECLARATIONS)
def test_the_remedies_of_a_declaration_run_the_body_as_often_as_celery(options: str, error: type[Exception], tmp_path: Path) -> None:
    assert runs_of_sedano(remedies(tmp_path, options), error) == runs_of_celery(options, error)


def test_a_task_without_autoretry_for_is_a_change(tmp_path: Path) -> None:
    text = """
        from celery import Celery, shared_task
        app = Celery("shop")
        @shared_task
        def a(): ...
        @app.task()
        def b(): ...
        @app.task(retry=False)
        def c(): ...
        @shared_task(autoretry_for=(Exception,))
        def d(): ...
    """
    found = [one for one in report(tmp_path, {"a.py": text}).found if one.found in ("@shared_task", "@app.task")]
    assert [one.verdict for one in found] == [CHANGE, CHANGE, SAME, SAME]
    assert "sedano retries it 3 times: write retry=False" in found[0].remedy
    assert "`with retry(…):` retries a part" in found[0].remedy


def test_what_the_source_does_not_say_is_a_condition_of_the_remedy(tmp_path: Path) -> None:
    assert remedies(tmp_path, "**MORE")[""].startswith("unless **options has autoretry_for: ")
    assert remedies(tmp_path, "base=Base")[""].startswith("unless the class has autoretry_for: ")


def test_a_bound_alone_does_not_retry_every_error(tmp_path: Path) -> None:
    assert remedies(tmp_path, "max_retries=5")["max_retries"] == (
        "with retry=Retry(max_retries=5) every error is retried, and in Celery this is for self.retry(…) alone: write retry=False, and "
        "`with retry(max_retries=5, interval_start=180, backoff=1, jitter=False): raise` where the body calls self.retry(…)"
    )


def test_named_errors_are_not_widened(tmp_path: Path) -> None:
    assert remedies(tmp_path, "autoretry_for=(OSError,)")["autoretry_for"] == (
        "Retry(…) has no list of errors: write retry=False, and in the body `except OSError:` with "
        "`with retry(interval_start=180, backoff=1, jitter=False): raise` in it"
    )


@pytest.mark.parametrize(
    ("options", "name", "policy"),
    [
        ("default_retry_delay=300", "default_retry_delay", "interval_start=300, backoff=1, jitter=False"),
        ("default_retry_delay=301", "default_retry_delay", "interval_start=301, backoff=1, interval_max=301, jitter=False"),
        ("default_retry_delay=DELAY", "default_retry_delay", "interval_start=DELAY, backoff=1, interval_max=DELAY, jitter=False"),
        ("default_retry_delay=100000", "default_retry_delay", "interval_start=86400, backoff=1, interval_max=86400, jitter=False"),
        ("default_retry_delay=-1", "default_retry_delay", "interval_start=0, backoff=1, jitter=False"),
        ("default_retry_delay='x'", "default_retry_delay", "interval_start=…, backoff=1, interval_max=…, jitter=False"),
        ("autoretry_for=E, retry_backoff=True, retry_jitter=0", "retry_jitter",
         "interval_start=1, backoff=2, interval_max=600, jitter=False"),
        ("autoretry_for=E, retry_backoff=False", "retry_backoff", "interval_start=180, backoff=1, jitter=False"),
    ],
)  # fmt: skip
def test_a_pause_is_one_policy_with_a_bound_that_allows_it(options: str, name: str, policy: str, tmp_path: Path) -> None:
    assert f"retry({policy})" in remedies(tmp_path, options)[name]


def test_options_without_effect_and_bounds_above_the_limit(tmp_path: Path) -> None:
    assert lines(tmp_path, "from celery import shared_task\n@shared_task(retry_backoff=True, max_retries=1000000)\ndef a(): ...\n")[2:] == [
        f"2 {REMOVE}: @shared_task retry_backoff=True", f"2 {LOST}: @shared_task max_retries=1000000",
    ]  # fmt: skip
    for most in ("None", "20"):
        found = remedies(tmp_path, f"autoretry_for=(Exception,), max_retries={most}")
        assert f"write retry=Retry(max_retries={most}" in found["max_retries"]
    for most in ("1000000", "-1"):
        assert "write max_retries=999999" in remedies(tmp_path, f"autoretry_for=(Exception,), max_retries={most}")["max_retries"]


@given(st.floats(allow_nan=False, min_value=-1e6, max_value=1e6) | st.integers(-(10**6), 10**6) | st.booleans(), st.integers(0, 19))
def test_every_policy_of_constants_is_one_that_sedano_accepts(delay: float, most: int) -> None:
    given_options: dict[str, ast.expr] = {
        "autoretry_for": ast.parse("Exception", mode="eval").body, "max_retries": ast.Constant(most),
        "default_retry_delay": ast.parse(repr(delay), mode="eval").body,
    }  # fmt: skip
    remedy = of_declaration("max_retries", given_options).remedy
    if "…" not in remedy:
        eval(remedy.removeprefix("write retry="), {"Retry": Retry})  # noqa: S307 - it is a policy


def test_a_call_of_retry_is_a_section_with_its_arguments(tmp_path: Path) -> None:
    text = """
        from celery import shared_task
        @shared_task(bind=True)
        def a(self):
            self.retry(exc=error, countdown=600, max_retries=4)
            self.retry(countdown=2 ** self.request.retries)
            self.retry()
    """
    found = [one.remedy for one in report(tmp_path, {"a.py": text}).found if one.found == "self.retry(…)"]
    assert [re.findall("`(with.*?)`", one)[0] for one in found] == [
        "with retry(max_retries=4, interval_start=600, backoff=1, interval_max=600, jitter=False): raise error",
        "with retry(interval_start=…, backoff=…, interval_max=…): raise",
        "with retry(interval_start=180, backoff=1, jitter=False): raise",
    ]


def asks(folder: Path, call: str) -> dict[str, str]:
    """Return what the check says to do about a *call* of `self.retry`: for the call, and for each of its options."""
    text = f"from celery import shared_task\n@shared_task(bind=True)\ndef a(self, n):\n    {call}\n"
    found = [one for one in report(folder, {"a.py": text}).found if one.found.startswith("self.retry")]
    return {one.found.removeprefix("self.retry").strip().partition("=")[0]: one.remedy for one in found}


def test_a_retry_with_other_arguments_and_its_remedy_run_the_same_attempts(tmp_path: Path) -> None:
    told = asks(tmp_path, "raise self.retry(exc=error, args=[n + 1], countdown=600, max_retries=2)")
    section = "with retry(max_retries=2): current().retry(args=[n + 1], countdown=600)"
    assert told == {
        "(…)": f"write `{section}` in the `except`", "countdown": f"write `{section}`", "max_retries": f"write `{section}`",
        "exc": "remove it: the error of the attempt is the one that the `except` handles", "args": find_row("args"),
    }  # fmt: skip
    app, began = Sedano("oracle"), list[tuple[int, float]]()
    names: dict[str, Any] = {"app": app, "began": began, "retry": retry, "current": current}
    with world(app) as here:
        names["now"] = here.clock.now
        source = f"began.append((n, now()))\n    try: raise OSError\n    except OSError:\n        {section}\n"
        exec(f"@app.task(retry=False)\ndef body(n):\n    {source}", names)  # noqa: S102 - it is what the remedy says
        names["body"].delay(1)
        here.drain()
    assert [n for n, _ in began] == [1, 2, 3]
    pauses = [later - earlier for (_, earlier), (_, later) in pairwise(began)]
    assert pauses == pytest.approx([600, 600], abs=5)


def test_a_retry_with_other_arguments_and_no_pause_has_that_of_celery(tmp_path: Path) -> None:
    assert asks(tmp_path, "self.retry(kwargs={'n': 2})")["(…)"] == (
        "write `with retry(max_retries=…, interval_start=180, backoff=1, jitter=False): current().retry(kwargs={'n': 2})` in the `except`; "
        "max_retries is that of the declaration, 3 by default"
    )
    assert "current().retry" not in asks(tmp_path, "self.retry(args=None, countdown=9)")["(…)"]


def test_no_remedy_asks_for_another_attempt_where_the_task_allows_none(tmp_path: Path) -> None:
    for call in ("self.retry(args=[2])", "self.retry(exc=e, kwargs={}, countdown=5)", "self.retry(countdown=5)", "self.retry(exc=e)"):
        for remedy in asks(tmp_path, call).values():
            for asked in re.findall(r"`[^`]*current\(\)\.retry\([^`]*`(?: in `with retry\(max_retries=…\):`)?", remedy):
                assert "with retry(max_retries=" in asked


def find_row(option: str) -> str:
    """Return the advice about an *option* of `self.retry`."""
    found = find(option, RETRY)
    assert found is not None
    return found.plain


def test_the_pause_of_the_row_about_countdown_is_constant() -> None:
    policy = re.search(r"with (retry\([^)]*\)): raise", find_row("countdown"))
    assert policy is not None
    made = eval(policy[1].replace("…", "600"), {"retry": retry})  # noqa: S307 - it is what the row says
    assert [made.pause(number, 0.5) for number in range(5)] == [600] * 5


def test_options_of_sedano_are_not_advised_away(tmp_path: Path) -> None:
    text = """
        from celery import shared_task
        from sedano import Retry
        @shared_task(retry=Retry(max_retries=5), rate="10/s", singleton=True, keep_arguments=False, tenant="t", priority="low")
        def f(a): ...
        f.apply_async((1,), stamps={"a": "1"}, tenant="acme", dedup_key="x", serial_key="k", budget=3)
    """
    assert {one.verdict for one in report(tmp_path, {"a.py": text}).found[1:]} == {SAME}
    assert remedies(tmp_path, "retry=False, stamps={'a': 'b'}")["stamps"] == "give stamps to each call"
