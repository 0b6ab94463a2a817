"""An app whose programs send to two Regions; its functions send to their own."""

from sedano import Sedano, sqs

app = Sedano("afar", brokers=[sqs(), sqs(region="eu-west-1")])


@app.task(name="afar.note")
def note(text: str) -> str:
    """Return the text."""
    return text
