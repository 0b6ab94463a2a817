"""An application that takes a message down every road there is: large values, a chord, an event, a follow-up."""

from sedano import Sedano, chord

app = Sedano("walks")


@app.task
def echo(text: str) -> str:
    """What it was given."""
    return text


@app.task
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@app.task
def total(values: list[int]) -> int:
    """The sum of a chord's results."""
    return sum(values)


@app.event
class Measured:
    """Something was measured."""

    text: str


@Measured.subscribe
@app.task
def length(text: str) -> int:
    """How long what was measured is."""
    return len(text)


def sums(numbers: range) -> int:
    """A chord's result, from the client's side."""
    return chord([add.s(number, number) for number in numbers])(total.s()).get(timeout=60)
