"""Every option of `@app.task(…)` is typed, described, on a page of docs, and changes the task; a new one is missing nowhere."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from sedano import Breaker, Retry, Sedano
from sedano.api.declaration import OPTIONS
from sedano.api.task_options import TaskOptions
from sedano.errors import ArgumentError
from sedano.model.tasks.task_spec import TaskSpec, hindrance

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES: dict[str, dict[str, Any]] = {
    "name": {"name": "other"},
    "queue": {"queue": "default-high"},
    "delivery": {"delivery": "record_once"},
    "retry": {"retry": Retry(5)},
    "ignore_result": {"ignore_result": True},
    "keep_arguments": {"keep_arguments": False},
    "expires": {"expires": 60},
    "singleton": {"singleton": True},
    "on_busy": {"singleton": True, "on_busy": "drop"},
    "circuit": {"circuit": Breaker()},
    "rate": {"rate": "1/s"},
    "burst": {"rate": "1/s", "burst": 2},
    "key": {"rate": "1/s", "key": "{number}"},
    "per": {"rate": "1/s", "per": "worker"},
    "concurrency": {"concurrency": 1},
    "concurrency_key": {"concurrency": 1, "concurrency_key": "{number}"},
    "priority": {"priority": "high"},
    "tenant": {"tenant": "{number}"},
    "debounce": {"debounce": 5},
    "batch": {"batch": (10, 5)},
    "serial_key": {"queue": "orders.fifo", "serial_key": "{number}"},
    "bind": {"bind": True},
    "time_limit": {"time_limit": 5.0},
    "soft_time_limit": {"soft_time_limit": 5.0},
    "loop": {"loop": "trio"},
    "sinks": {"sinks": "bi"},
    "on": {"on": "price"},
}
"""For each option a declaration with it, and with what it needs."""
APART = {"batch", "bind"}
"""Options that `Sedano.task` types by itself, because the task has another type with them."""


def declared(**options: Any) -> tuple[TaskSpec, str]:
    """Return the task that a declaration makes, and the tasks that receive each document after it."""
    app = Sedano("shop", queues=("default", "default-high", "orders.fifo"))
    app.sink("bi")
    kinds = {"price": app.document("price")}
    given = {name: kinds[value] if name == "on" else value for name, value in options.items()}
    return app.task(**{"name": "note", **given})(_noted if "loop" in options else _note).spec, str(app.registry.documents)


async def _noted(number: Any, more: int = 0) -> Any:
    return number, more


def _note(number: Any, more: int = 0) -> Any:
    return number, more


def test_every_option_has_an_example_here() -> None:
    assert set(EXAMPLES) == set(OPTIONS)


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_changes_the_task(option: str) -> None:
    given = EXAMPLES[option]
    without = {name: value for name, value in given.items() if name != option and (name, option) != ("queue", "serial_key")}
    changed, plain = declared(**given), declared(**without)
    both = (plain, changed)
    shown = [({name: str(value) for name, value in spec._asdict().items() if name != "parameters"}, more) for spec, more in both]
    assert shown[0] != shown[1], f"{option}= is taken and changes nothing: write it into TaskSpec, or into its limits"


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_is_typed_and_described(option: str) -> None:
    assert option in APART or option in TaskOptions.__annotations__, f"{option}: give it a type in api/task_options.py"
    described = re.search(rf"^{option}: ", inspect.cleandoc(str(TaskOptions.__doc__)), re.MULTILINE)
    assert option in APART or described, f"{option}: describe it in the docstring of TaskOptions"


def test_every_typed_option_exists() -> None:
    assert set(TaskOptions.__annotations__) | APART == set(OPTIONS)


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_is_on_a_page(option: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))]
    assert any(re.search(rf"\b{option}=", page) for page in pages), f"{option}=: show it on a page of docs/"


@pytest.mark.parametrize("tenant", ["a b", "é", "x" * 129, "a\n"])
def test_a_tenant_that_no_message_can_carry_is_refused(tenant: str) -> None:
    spec, _ = declared(tenant="{number}")
    with pytest.raises(ArgumentError) as refused:
        spec.tenant_of((tenant,), {})
    assert str(refused.value) == f"tenant: {tenant[:40]!r} is not a string of 1 to 128 visible ASCII characters"
    assert (spec.tenant_of(("x" * 128,), {}), spec.tenant_of(("",), {})) == ("x" * 128, None)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, ""), ({"concurrency": 1}, ""), ({"delivery": "record_once"}, "note is delivered record_once; only the earlier attempts of"),
        *((EXAMPLES[name], "note has a rate, a debounce or a batch, which would change") for name in ("rate", "debounce", "batch")),
    ],
)  # fmt: skip
def test_why_a_task_cannot_run_in_order(options: dict[str, Any], why: str) -> None:
    said = hindrance(declared(**options)[0])
    assert said.startswith(why) if why else said == ""
