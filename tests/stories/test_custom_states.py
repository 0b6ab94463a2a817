"""Stories of custom states: what a body shows while it runs, who sees it, and when it is gone."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from sedano import Retry, Sedano, current, testing
from sedano.cli import calls, explanations
from sedano.errors import OptionError, RemoteError, TooLarge, Unavailable
from sedano.model import states
from sedano.views.screens import ScreenQuery, screen
from sedano.views.task import HIDDEN, plain
from tests.stories.mutants import Delegating
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

META = {"done": 3, "of": 10}


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop over the stage."""
    return Processes(stage, shop.app)


def seen(shop: Shop) -> tuple[str, Any]:
    """What a program sees of the running task."""
    result = shop.app.result(current().id)
    return result.state, result.info


def test_a_program_sees_what_a_running_body_shows_until_it_ends(stage: Stage, shop: Shop, processes: Processes) -> None:
    found: list[Any] = []

    def long() -> str:
        found.append(seen(shop))
        current().update_state("PROGRESS", META)
        found.append(seen(shop))
        current().update_state("CLEANING_UP")
        found.append(seen(shop))
        return "done"

    shop.task("long", long)
    result = shop.app.send_task("long")
    processes.drain()
    assert found == [(states.RUNNING, None), ("PROGRESS", META), ("CLEANING_UP", {})]
    assert (result.state, result.info, result.get()) == (states.SUCCESS, "done", "done")


def test_the_next_attempt_does_not_show_what_the_last_one_did(stage: Stage, shop: Shop, processes: Processes) -> None:
    found: list[Any] = []

    def long() -> None:
        found.append(seen(shop))
        current().update_state("PROGRESS", {"attempt": current().attempt})
        found.append(seen(shop))
        if current().attempt == 0:
            raise RuntimeError("once more")

    shop.task("long", long, retry=Retry(max_retries=1, jitter=False))
    result = shop.app.send_task("long")
    processes.step()
    assert (result.state, result.info) == (states.RETRY, None)
    processes.drain()
    assert found == [(states.RUNNING, None), ("PROGRESS", {"attempt": 0}), (states.RUNNING, None), ("PROGRESS", {"attempt": 1})]


def test_a_worker_whose_task_was_taken_over_shows_nothing(stage: Stage, shop: Shop, processes: Processes) -> None:
    found: list[Any] = []
    running: list[Any] = []

    def long() -> str:
        running.append(current())
        if len(running) > 1:
            running[0].update_state("PROGRESS", {"by": "the first"})
            found.append(seen(shop))
            current().update_state("PROGRESS", {"by": "the second"})
            running[0].update_state("PROGRESS", {"by": "the first"})
            found.append(seen(shop))
            return "second"
        stage.pass_time(61.0)
        other = processes.another_worker(name="other")
        (delivery,) = stage.ports.queues.receive("commands:default")
        other.work([delivery], stage.clock.now() + 30)
        return "first"

    shop.task("long", long)
    result = shop.app.send_task("long")
    processes.drain()
    assert found == [(states.RUNNING, None), ("PROGRESS", {"by": "the second"})]
    assert result.get() == "second"


def test_limits_and_async_bodies_change_nothing(stage: Stage, shop: Shop, processes: Processes) -> None:
    found: list[Any] = []

    async def gently() -> None:
        current().update_state("PROGRESS", META)
        await asyncio.sleep(0)
        found.append(seen(shop))

    def limited() -> None:
        current().update_state("PROGRESS", META)
        found.append(seen(shop))

    shop.task("gently", gently)
    shop.task("limited", limited, time_limit=20, soft_time_limit=10)
    for name in ("gently", "limited"):
        shop.app.send_task(name)
        processes.drain()
    assert found == [("PROGRESS", META)] * 2


@pytest.mark.parametrize("options", [{}, {"time_limit": 20}])
@pytest.mark.parametrize("delivery", ["record_once", "at_least_once"])
def test_a_task_without_a_record_cannot_show_a_state(shop: Shop, processes: Processes, delivery: str, options: dict[str, Any]) -> None:
    said: list[str] = []

    def long() -> None:
        try:
            current().update_state("PROGRESS")
        except Exception as error:
            said.append(str(error))
            raise

    shop.task("long", long, delivery=delivery, ignore_result=True, retry=False, **options)
    shop.app.send_task("long")
    processes.drain()
    assert said == ["update_state: this task has no record while it runs; declare it with delivery='claimed'"]


@pytest.mark.parametrize(
    ("state", "meta", "error", "words"),
    [
        ("progress", {}, OptionError, "'progress' is not the name of a state"),
        ("SUCCESS", {}, OptionError, "'SUCCESS' is a state of the task's life"),
        ("PROGRESS", {"rows": "x" * 1_000}, TooLarge, "1026 bytes as JSON"),
    ],
)
def test_what_cannot_be_shown_raises_in_the_body(
    shop: Shop, processes: Processes, state: str, meta: Any, error: type[Exception], words: str
) -> None:
    shop.task("long", lambda: current().update_state(state, meta), retry=False)
    result = shop.app.send_task("long")
    processes.drain()
    with pytest.raises(RemoteError, match=f"{error.__name__}: .*{words}"):
        result.get()


class ShowsNothing(Delegating):
    """A ledger that does not answer this one call."""

    def show(self, task_id: str, fence: int, custom: str) -> bool:
        """Do not answer."""
        raise Unavailable("the ledger is away")


def test_a_ledger_that_does_not_answer_ends_no_body(stage: Stage, shop: Shop, processes: Processes) -> None:
    shop.task("long", lambda: current().update_state("PROGRESS", META) or "done")
    result = shop.app.send_task("long")
    processes.restart(replace(stage.ports, ledger=ShowsNothing(stage.ports.ledger)))
    processes.drain()
    assert result.get() == "done"
    (line,) = [line for line in stage.telemetry.lines if line.message == "custom state not written"]
    assert (line.level, line.fields) == ("warning", {"task_id": result.id, "error": "the ledger is away"})


def test_explain_show_and_the_page_of_the_task_show_it(capsys: pytest.CaptureFixture[str]) -> None:
    app, pages = Sedano("shop"), []

    @app.task(name="long")
    def long() -> None:
        current().update_state("PROGRESS", META)
        task_id = current().id
        explanations.show(app, task_id, as_json=False)
        calls.show(app, task_id, is_json=False)
        pages.append(screen(app, ScreenQuery("task", id=task_id)))
        pages.append(app.control.explain(task_id))
        pages.append(plain(app.outlet.ports.ledger.read([task_id])[task_id], redact=True))

    with testing.world(app) as world:
        long.delay()
        world.drain()
    printed = capsys.readouterr().out
    assert printed.count("; its body shows the state PROGRESS") == 2
    assert printed.count('\n  custom_state: PROGRESS\n  meta: {"done": 3, "of": 10}') == 2
    page, explained, hidden = pages
    rows = {name.text: cell.text for name, cell in page.tables[0].rows}
    assert (rows["custom_state"], rows["meta"]) == ("PROGRESS", '{"done": 3, "of": 10}')
    assert (explained.evidence["custom_state"], explained.evidence["meta"]) == ("PROGRESS", META)
    assert (hidden["custom_state"], hidden["meta"]) == ("PROGRESS", HIDDEN)
