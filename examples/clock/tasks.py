"""Periodic tasks: every ten seconds, and on weekdays at nine in Berlin. No process waits for their moments.

    make local APP=examples.clock.tasks:app CODE=.
"""

from datetime import datetime

from sedano import Sedano, cron, every

app = Sedano("clock")


@app.periodic(every(10), moment="when")
@app.task(expires=60)
def tick(when: datetime) -> str:
    """Return its scheduled moment; a tick that is more than a minute late is skipped."""
    return f"{when:%H:%M:%S}"


@app.periodic(cron("0 9 * * MON-FRI", tz="Europe/Berlin"), moment="when", max_instances=1)
@app.task
def report(when: datetime) -> str:
    """Return the title of the day's report."""
    return f"Report of {when:%Y-%m-%d}"
