"""The tasks of the reusable app."""

from sedano import SharedTasks

shared = SharedTasks()


@shared.task(name="mailing.send")
def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"
