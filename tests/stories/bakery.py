"""An app with a workflow in a module, as the command line is told of it: `tests.stories.bakery:app`."""

from sedano import Sedano
from sedano.workflow import Input, Step, Workflow, each, own

app = Sedano("bakery")
BROKEN: set[str] = set()


@app.task(retry=False)
def mix(loaves: int) -> list[int]:
    """Mix the dough of each loaf."""
    return list(range(loaves))


@app.task(retry=False)
def throw_away(dough: list[int]) -> None:
    """Throw the dough away."""
    if "bin" in BROKEN:
        raise RuntimeError("the bin is full")


@app.task(retry=False)
def bake(loaf: int) -> str:
    """Bake one loaf."""
    if "oven" in BROKEN:
        raise RuntimeError("the oven is cold")
    return f"bread {loaf}"


@app.task(retry=False)
def label(text: str) -> str:
    """Write a label."""
    return text


class Bread(Workflow, app=app, version="2"):
    """Bread from nothing."""

    loaves = Input(int, default=2)
    dough = Step(mix.s(loaves), compensate=throw_away.s(own))
    baked = Step(bake.s(each(dough)))


class Label(Workflow, app=app):
    """A label that says what it is told."""

    text = Input(str)
    written = Step(label.s(text))


BREAD = """
workflow = "bread"
version = "3"

[[step]]
name = "dough"
task = "tests.stories.bakery.mix"
args = [1]
"""
