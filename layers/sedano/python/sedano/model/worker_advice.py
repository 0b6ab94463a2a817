"""Advice about how a process of workers was started: with which rights, and with how many threads for bodies that compute. Pure."""

from __future__ import annotations

ROOT = 0
MOST_THREADS = 10
"""More threads than this for `def` bodies slow one another down, as they share one interpreter (the design of Celery 5)."""
AS_ROOT = (
    "the worker runs as root, and so does each body: start it as a user without rights, by DynamicUser= in systemd, USER in a container "
    "file, runAsNonRoot in Kubernetes"
)
MANY_THREADS = (
    "{lanes} bodies at once, and {tasks} of the tasks are `def` functions, which share one core of this process: for bodies that compute, "
    "take at most {most} and more --processes; bodies that wait are better async"
)


def advice(uid: int, lanes: int, blocking: int) -> tuple[str, ...]:
    """Return what to change of a process: its user id, how many bodies run at once, and how many of its tasks are `def` functions."""
    found = [AS_ROOT] if uid == ROOT else []
    if lanes > MOST_THREADS and blocking:
        found.append(MANY_THREADS.format(lanes=lanes, tasks=blocking, most=MOST_THREADS))
    return tuple(found)
