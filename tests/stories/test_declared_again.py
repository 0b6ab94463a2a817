"""What a notebook's cell or a reloaded module declares again replaces what it declared before; two declarations of one name still clash."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sedano import Breaker, Sedano, every, testing
from sedano.errors import OptionError

TASK = """
@app.task
def price(item: str) -> int:
    return {}
"""
ALL = """
from sedano import DomainEvent, every
from sedano.webhooks import unsigned

sky = app.health_check("sky", shared=True)

@app.event
class Ordered(DomainEvent):
    number: int

@app.stream("orders")
@app.task(circuit=Breaker(failures=FAILURES))
def followed(record: dict) -> None: ...

@Ordered.subscribe
@app.periodic(every(60), kwargs={"number": 1})
@app.task
def ordered(number: int) -> None: ...

@app.webhook("shop", verify=unsigned())
def asked(request): ...
"""
RELOADS = """
import importlib
from pathlib import Path

import tasks

Path("tasks.py").write_text(Path("tasks.py").read_text().replace("return 1", "return 23"))
importlib.reload(tasks)
print(tasks.app.registry.tasks["shop.price"].function())
try:
    import others
except ValueError as refused:
    print(refused)
"""


class Notebook:
    """Cells that are run in one module, as IPython runs them: each run compiles its text anew, under a file name of its own."""

    def __init__(self, **names: Any) -> None:
        """Begin with *names* in the module."""
        self.names: dict[str, Any] = {"__name__": "__main__", **names}
        self.runs = 0

    def run(self, cell: str) -> None:
        """Run *cell*."""
        self.runs += 1
        exec(compile(cell, f"<ipython-input-{self.runs}>", "exec"), self.names)  # noqa: S102 - that is what a notebook does


def test_a_cell_that_runs_again_declares_its_task_again_and_the_later_body_runs() -> None:
    app = Sedano("shop")
    notebook = Notebook(app=app)
    notebook.run(TASK.format(1))
    notebook.run(TASK.format(2))
    with testing.world(app) as world:
        result = notebook.names["price"].delay("tea")
        world.drain()
        assert result.get() == 2


def test_everything_that_a_cell_declares_can_be_declared_again() -> None:
    app = Sedano("shop")
    notebook = Notebook(app=app, Breaker=Breaker, FAILURES=3)
    notebook.run(ALL)
    notebook.names["FAILURES"] = 5
    notebook.run(ALL)
    (circuit,) = [spec.circuit for spec in app.registry.tasks.values() if spec.circuit is not None]
    assert circuit.failures == 5
    (subscribers,) = [tasks for event, tasks in app.registry.subscriptions.items() if event.endswith("Ordered")]
    assert subscribers == [notebook.names["ordered"].name]
    assert [*app.webhooks] == ["shop"]


@pytest.mark.parametrize(
    "cell",
    [
        TASK.format(1) + TASK.format(2),
        TASK.format(1) + "\n@app.task(name=price.name)\ndef cost(item): ...\n",
        "one = app.task(name='price')(lambda: 1)\ntwo = app.task(name='price')(lambda: 2)\n",
        "def declare():\n    @app.task(name='price')\n    def price(): ...\n\ndeclare()\ndeclare()\n",
    ],
)
def test_two_tasks_of_one_name_in_one_run_of_a_cell_clash(cell: str) -> None:
    notebook = Notebook(app=Sedano("shop"))
    with pytest.raises(OptionError, match="declared twice; give one of them another name"):
        notebook.run(cell)


def test_another_function_under_the_name_of_a_task_of_an_earlier_cell_clashes() -> None:
    notebook = Notebook(app=Sedano("shop"))
    notebook.run(TASK.format(1))
    with pytest.raises(OptionError, match="declared twice"):
        notebook.run("@app.task(name=price.name)\ndef cost(item): ...\n")


def test_a_module_that_is_reloaded_declares_its_tasks_again_and_another_one_may_not(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("from sedano import Sedano\n\napp = Sedano('shop')\n")
    for name in ("tasks", "others"):
        (tmp_path / f"{name}.py").write_text("from shop import app\n\n@app.task(name='shop.price')\ndef price():\n    return 1\n")
    (tmp_path / "main.py").write_text(RELOADS)
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([sys.executable, "main.py"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("23\ntask shop.price: declared twice; give one of them another name\n", "")


def test_a_schedule_that_is_declared_twice_in_one_run_is_refused() -> None:
    app = Sedano("shop")
    note = app.task(name="note")(lambda: None)
    app.periodic(every(60))(note)
    with pytest.raises(OptionError, match="'note' is declared twice"):
        app.periodic(every(9))(note)


def test_a_lambda_without_a_name_is_refused_and_with_one_is_a_task() -> None:
    app = Sedano("shop")
    with pytest.raises(OptionError, match=r"a lambda has no name by which workers could find it; write def, or app.task\(name="):
        app.task(lambda a: a + 1)
    added = app.task(name="shop.added")(lambda a: a + 1)
    with testing.world(app) as world:
        result = added.delay(2)
        world.drain()
        assert result.get() == 3
