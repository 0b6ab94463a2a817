"""An application whose results go to a sink of each kind of AWS, and to one that its stage does not have."""

from sedano import Retry, Sedano

app = Sedano("sends")
SINKS = [app.sink(name) for name in ("bi", "lake", "feed", "bus", "queue", "topic")]
NOWHERE = app.sink("nowhere", retry=Retry(max_retries=0))


@app.task(name="sends.measure", sinks=[*SINKS, NOWHERE])
def measure(number: int) -> dict[str, int | float]:
    """Return a measurement."""
    return {"number": number, "half": number / 2}
