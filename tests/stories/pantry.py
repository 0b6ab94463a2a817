"""An app with a task whose error, name and worker say what a terminal must not act on."""

from sedano import Sedano

NASTY = "\x1b]52;c;QQ==\x07\x1b[31;1m\u202e"
app = Sedano("pantry")


@app.task(name="pantry.spoil", retry=False)
def spoil(n: int) -> None:
    """Spoil everything."""
    raise ValueError(f"{n} {NASTY}")
