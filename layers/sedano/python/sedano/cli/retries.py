"""Runs failed tasks and parked messages again: the work of `sedano retry`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

from sedano.app import Sedano
from sedano.changes import retries
from sedano.changes.plan import FoundTasks
from sedano.changes.searches import retry_found
from sedano.cli.consent import Consent, made
from sedano.cli.exits import Exit
from sedano.cli.printer import say
from sedano.errors import RerunRefused, SedanoError, UsageError
from sedano.views.selection import to_retry

T = TypeVar("T")


def retry(app: Sedano, ids: Sequence[str], consent: Consent) -> Exit:
    """Send the parked messages of *ids* again, retry the runs of workflows, and run ended tasks again under new ids; refuse every other
    id with the reason.
    """
    plan = retries.retry(app, ids)
    others = _refused(plan.refused)
    if plan.hindrance:
        return others
    done = made(app, plan, consent)
    app.close()
    return done if done != Exit.DONE else others


def retry_edited(app: Sedano, task_id: str, args: str | None, kwargs: str | None, consent: Consent) -> Exit:
    """Run an ended task again with other arguments: *args* is a JSON array, *kwargs* a JSON object; None: unchanged.

    Raises:
        UsageError: *args* or *kwargs* is not such JSON, or the task does not take these arguments.
    """
    plan = retries.retry_edited(app, task_id, _json("--args", args, list), _json("--kwargs", kwargs, dict))
    if plan.hindrance:
        return _refused(plan.refused)
    done = made(app, plan, consent)
    app.close()
    return done


def _json(option: str, text: str | None, kind: type[T]) -> T | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, kind):
        shape, example = ("list", '[1, "x"]') if kind is list else ("object", '{"n": 1}')
        raise UsageError(f"{option}: {text[:60]} is not a JSON {shape}; write it as '{example}'")
    return found


def retry_search(app: Sedano, query: str, days: int, most: int, consent: Consent) -> Exit:
    """Run again at most *most* failed tasks that *query* finds in the history of the last *days*; a key finds older ones too."""
    found = to_retry(app, query, days, most)
    done = made(app, retry_found(app, query, FoundTasks(found.ids, found.sentence)), consent)
    app.close()
    return done


def _refused(errors: Sequence[SedanoError]) -> Exit:
    """Print why tasks cannot be run again; return the exit code."""
    for error in errors:
        say(f"sedano retry: {error}", err=True)
    missing = any(isinstance(error, RerunRefused) and error.missing for error in errors)
    return Exit.NOT_FOUND if missing else Exit.REFUSED if errors else Exit.DONE
