"""Workflows in files: TOML and YAML give the same definition, and every mistake is told with its file, line and step."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano
from sedano.errors import ConfigurationError, WorkflowInvalid
from sedano.model.workflow.definition import digest
from sedano.model.workflow.definition_reader import read
from sedano.task import Task
from sedano.workflow import Input, Step, Workflow, each, load, own
from sedano.workflow.files import toml_lines
from sedano.workflow.yaml_reader import parse

TOML = '''
workflow = "fulfil"
version = "3"
on_failure = "wait"

[inputs]
order = "int"
express = { type = "bool", default = false }

[[step]]                                  # a comment with [[step]]
name = "price"
task = "shop.price"
args = { order = "$order" }

[[step]]
name = "charge"
task = "shop.charge"
args = ["$price.total"]
kwargs = { note = """
[[step]]
name = "none"
""" }
after = ["price"]
when = ["$price.total > 0", "not $express"]
retry = { max_retries = 3, interval_start = 10 }
time_limit = 60
compensate = { task = "shop.refund", args = { paid = "$charge" } }

[[step]]
name = "pack"
task = "shop.pack"
map = "$price.lines"
[step.args]
line = "$item"
'''
YAML = """
workflow: fulfil
version: "3"
on_failure: wait
inputs:
  order: int
  express: {type: bool, default: false}
step:
  - name: price
    task: shop.price
    args: {order: $order}
  - name: charge
    task: shop.charge
    args: [$price.total]
    kwargs: {note: "[[step]]\\nname = \\"none\\"\\n"}
    after: [price]
    when: [$price.total > 0, not $express]
    retry: {max_retries: 3, interval_start: 10}
    time_limit: 60
    compensate: {task: shop.refund, args: {paid: $charge}}
  - name: pack
    task: shop.pack
    map: $price.lines
    args: {line: $item}
"""
WRONG = """
workflow = "fulfil"

[inputs]
order = "integer"

[[step]]
name = "price"
task = "shop.prise"

[[step]]
name = "charge"
task = "shop.charge"
args = { sum = "$order" }
time_limit = "soon"

[[step]]
name = "charge"
task = "shop.charge"
args = ["$pack"]
when = "$nothing"

[[step]]
name = "pack"
task = "shop.pack"
args = ["$charge"]
retries = 5
"""


@pytest.fixture
def app() -> Sedano:
    """A shop whose tasks do nothing."""
    app = Sedano("shop")

    @app.task(name="shop.price")
    def price(order: int) -> dict:  # type: ignore[type-arg] # as people write it
        raise NotImplementedError

    @app.task(name="shop.charge")
    def charge(total: int, note: str = "") -> str:
        raise NotImplementedError

    @app.task(name="shop.refund")
    def refund(paid: str) -> None:
        raise NotImplementedError

    @app.task(name="shop.pack")
    def pack(line: str) -> str:
        raise NotImplementedError

    return app


def written(folder: Path, name: str, text: str) -> Path:
    """A file of this text."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def task_of(app: Sedano, name: str) -> Task[..., Any]:
    """The task of this name."""
    return Task(app.registry.tasks[f"shop.{name}"], app)


def test_toml_yaml_and_a_class_say_the_same(app: Sedano, tmp_path: Path) -> None:
    to_price, to_charge, to_refund, to_pack = (task_of(app, n) for n in ("price", "charge", "refund", "pack"))

    class Fulfil(Workflow, app=app, version="3", on_failure="wait"):
        order = Input(int)
        express = Input(bool, default=False)
        price = Step(to_price.s(order=order))
        charge = Step(
            to_charge.s(price["total"], note='[[step]]\nname = "none"\n'), after=price, when=(price["total"] > 0, ~express),
            retry=Retry(3, interval_start=10), time_limit=60, compensate=to_refund.s(paid=own),
        )  # fmt: skip
        pack = Step(to_pack.s(line=each(price["lines"])))

    flows = [load(app, written(tmp_path, "w.toml", TOML)), load(app, written(tmp_path, "w.yaml", YAML)), Fulfil.flow]
    assert len({digest(flow.definition) for flow in flows}) == 1


def test_every_mistake_in_a_file_is_told_with_its_line_and_step(app: Sedano, tmp_path: Path) -> None:
    file = written(tmp_path, "wrong.toml", WRONG)
    with pytest.raises(WorkflowInvalid) as refused:
        load(app, file)
    assert "unknown task 'shop.prise'; known are shop.charge, shop.pack, shop.price, shop.refund" in str(refused.value)
    assert [problem.removeprefix(f"{file}:").partition("; known")[0] for problem in refused.value.problems] == [
        "5: input 'order': 'integer' is not a type",
        "9: step 'price': unknown task 'shop.prise'",
        "14: step 'charge': missing argument total of shop.charge",
        "14: step 'charge': shop.charge has no parameter sum; it takes total, note",
        "15: step 'charge': time_limit: 'soon' is not between 1 and 2592000 seconds",
        "17: step 'charge': it waits for itself: charge → pack → charge",
        "18: step 'charge': 2 steps have this name; each needs its own",
        "20: step 'charge': parameter total takes int, but $pack is str",
        "21: step 'charge': $nothing is not an input or an earlier step",
        "27: step 'pack': unknown key 'retries'",
    ]
    assert "cannot run, for 10 reasons:" in str(refused.value)


def test_the_same_mistakes_in_yaml_have_the_lines_of_yaml(app: Sedano, tmp_path: Path) -> None:
    text = YAML.replace("task: shop.price", "task: shop.prise").replace("map: $price.lines", "map: $nothing")
    file = written(tmp_path, "wrong.yml", text)
    with pytest.raises(WorkflowInvalid) as refused:
        load(app, file)
    assert [problem.removeprefix(f"{file}:").partition(";")[0] for problem in refused.value.problems] == [
        "10: step 'price': unknown task 'shop.prise'",
        "23: step 'pack': $nothing is not an input or an earlier step",
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.toml", 'workflow = "w"\n[[step]\n', r"w.toml:2: not TOML: Expected ']]' at the end of an array declaration"),
        ("w.toml", 'workflow = "w\n', r"w.toml:1: not TOML: Illegal character"),
        ("w.yaml", "workflow: w\nstep: [\n", r"w.yaml:3: not YAML: "),
        ("w.yaml", "workflow: w\nworkflow: v\n", r"w.yaml:2: not YAML: the key 'workflow' is given twice"),
        ("w.yaml", "- 1\n", r"w.yaml:1: not YAML: expected keys and values"),
        ("w.yaml", "workflow: !!python/object/apply:os.getcwd []\n", r"w.yaml:1: not YAML: could not determine a constructor"),
        ("w.yaml", "", r"w.yaml:1: workflow: None is not a name"),
        ("w.toml", "", r"w.toml:1: a workflow has 1 to 500 steps, not 0"),
    ],
)
def test_what_is_no_workflow_at_all_is_told_with_its_line(app: Sedano, tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(WorkflowInvalid, match=message):
        load(app, written(tmp_path, name, text))


def test_what_cannot_be_read_is_told(app: Sedano, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none.toml: the workflow cannot be read"):
        load(app, tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match=r"w.json: a workflow is a .toml, .yaml or .yml file"):
        load(app, written(tmp_path, "w.json", "{}"))


def test_yaml_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    file = written(tmp_path, "w.yaml", YAML)
    program = (
        "import sys; sys.modules['yaml'] = None\n"
        "from sedano import Sedano; from sedano.workflow import load\n"
        f"try: load(Sedano('s'), {str(file)!r})\nexcept Exception as e: print(type(e).__name__, e)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=False
    )
    assert said.stdout.startswith("ConfigurationError"), said.stderr
    assert "pip install 'sedano[yaml]'" in said.stdout


def test_an_app_without_yaml_workflows_does_not_load_yaml() -> None:
    program = "import sys, sedano.workflow; print('yaml' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "False"


def test_mistakes_of_a_class_have_the_lines_of_its_body(app: Sedano) -> None:
    charge = task_of(app, "charge")
    here = test_mistakes_of_a_class_have_the_lines_of_its_body.__code__.co_firstlineno
    with pytest.raises(WorkflowInvalid) as refused:

        class Wrong(Workflow, app=app):
            a = Step(charge.s("x"))
            b = Step(charge.s())
            a = Step(charge.s(b))  # noqa: PIE794 - the mistake that is told

    lines = [(int(p.split(":")[1]) - here, p.split(": ", 1)[1]) for p in refused.value.problems]
    assert lines == [
        (6, "step 'a': another step or input has this name"),
        (7, "step 'b': missing argument total of shop.charge"),
        (8, "step 'a': parameter total takes int, but $b is str"),
    ]


def test_the_lines_of_toml_are_those_of_its_tables_and_keys() -> None:
    lines = toml_lines(TOML)
    assert lines["step", 1, "when"] == 24
    assert lines["step", 2] == 29
    assert lines["step", 2, "args", "line"] == 34
    assert lines["inputs", "express"] == 8
    assert ("step", 3) not in lines


def test_a_worker_whose_workflows_are_classes_loads_no_reader_of_files_and_nothing_that_draws() -> None:
    program = (
        "import sys\nfrom sedano import Sedano\nfrom sedano.workflow import Step, Workflow\napp = Sedano('s')\n"
        "@app.task\ndef work(): ...\nclass Flow(Workflow, app=app):\n    first = Step(work.s())\n"
        "print(sorted({'tomllib', 'sedano.workflow.files', 'sedano.model.workflow.svg', 'asyncio'} & set(sys.modules)))"
    )
    where = {"PYTHONPATH": ":".join(sys.path)}
    said = subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True, check=False)
    assert said.stdout.strip() == "[]", said.stdout + said.stderr


BOMB = "\n".join([
    "a0: &a0 [x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)), "workflow: fulfil",
])  # fmt: skip
MERGED = "\n".join(["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40))])
HOSTILE = {
    "a bomb of aliases": ("w.yaml", BOMB, "more than 20000 values"),
    "merges that double": ("w.yaml", MERGED, "more than 20000 values"),
    "an alias of itself": ("w.yaml", "a: &a [*a]", "w.yaml:1: not YAML"),
    "a character that YAML forbids": ("w.yaml", "workflow: \x15", "special characters"),
    "nested too deeply": ("w.yaml", "[" * 5_000, "not YAML"),
    "a number in base 60": ("w.yaml", "a: " + "1:" * 50_000 + "1", "a number or a moment of more than 100 characters"),
    "a number of too many digits": ("w.yaml", "a: " + "1" * 5_000, "a number or a moment of more than 100 characters"),
    "a list": ("w.yaml", "[1, 2]", "expected keys and values"),
    "a moment beyond all": ("w.yaml", "a: 0001-01-01 00:00:00 +23:59", "w.yaml:"),
    "a file that is too long": ("w.yaml", "#" * 300_000, "more than 262144 characters"),
    "TOML of spaces": ("w.toml", "x = [\n[" + " " * 100_000 + "\n]]", "a workflow has 1 to 500 steps, not 0"),
    "TOML of dots": ("w.toml", "x = 1\n" + "a." * 100_000 + "a = 1", "w.toml:2: a key has more than 32 dots"),
    "a TOML table of dots": ("w.toml", "[" + "a . " * 50_000 + "a]", "a key has more than 32 dots"),
    "TOML nested too deeply": ("w.toml", "x = " + "[" * 5_000 + "]" * 5_000, "nested too deeply"),
    "a TOML number of too many digits": ("w.toml", "x = " + "1" * 5_000, "w.toml"),
    "a TOML file that is too long": ("w.toml", "#" * 300_000, "more than 262144 characters"),
}


@pytest.mark.parametrize(("name", "text", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused_in_words_and_reads_no_more_than_its_size(name: str, text: str, said: str, tmp_path: Path) -> None:
    """Before there were limits, the bomb took 9 s and 1.6 GB, and the spaces a time cubic in their number: here it would not end."""
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(WorkflowInvalid, match=said):
        load(Sedano("hostile"), file)


def test_aliases_and_merges_of_a_workflow_that_is_no_bomb_are_read(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("workflow: fulfil\nstep:\n- &a {name: one, task: x}\n- {<<: *a, name: two}\n")
    definition, problems, lines = _read_yaml(file.read_text())
    assert problems == []
    assert [step.name for step in definition.steps] == ["one", "two"]
    assert lines["step", 1] == 4


def _read_yaml(text: str) -> Any:
    data, lines, faults = parse(text)
    assert faults == []
    return *read(data), lines


@pytest.mark.parametrize("data", [0, "1_000", None, [], 1.5, {"step": 5}, {"step": [5]}, {"inputs": 5}, {1: 2}])
def test_data_of_any_shape_is_read_with_its_problems(data: Any) -> None:
    assert read(data)[1]
