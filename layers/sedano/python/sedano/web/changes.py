"""The changes that the pages offer: the request for a preview, its plan, and the change itself.

A page names a change by its verb, by one target and, for some verbs, by a value. The plan is made by `sedano.changes`, as on the command
line.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote_plus, urlsplit

from sedano.app import Sedano
from sedano.changes import plan as changes
from sedano.changes.limits import limit
from sedano.changes.locks import release
from sedano.changes.pauses import pause, resume
from sedano.changes.plan import AppliedChange, ChangePlan, FoundTasks, hindered
from sedano.changes.redrives import redrive
from sedano.changes.retries import kept_call, retry, retry_edited
from sedano.changes.revocations import revoke
from sedano.changes.rights import missing
from sedano.changes.searches import retry_found, revoke_found
from sedano.changes.targets import SCHEDULE
from sedano.changes.triggers import trigger
from sedano.errors import NotAllowed, UsageError
from sedano.model.pauses import CIRCUIT, QUEUE, TASK
from sedano.result.waits import must_be_id
from sedano.views.panels import ScreenQuery
from sedano.views.screens import MOST_DAYS
from sedano.views.selection import to_retry, to_revoke
from sedano.views.terminal_text import line

ID, LOCK, REASON, ALL, SEARCH, EDITED = "id", "lock", "reason", "all", "search", "edited"
RATE, CONCURRENCY, DECLARED = "rate", "concurrency", "declared"
KINDS: Mapping[str, tuple[str, ...]] = {
    "pause": (QUEUE, TASK, SCHEDULE), "resume": (QUEUE, TASK, SCHEDULE, CIRCUIT), "revoke": (ID, SEARCH), "retry": (ID, SEARCH, EDITED),
    "limit": (RATE, CONCURRENCY, DECLARED), "redrive": (ALL, QUEUE, REASON), "release": (LOCK,), "trigger": (SCHEDULE,),
}  # fmt: skip
"""The verbs of the pages, and the kinds of their targets; a limit's kind is the limit that changes."""
VALUED = frozenset({RATE, CONCURRENCY, LOCK, SEARCH, EDITED})
"""The kinds whose change has a value: a limit, the token of a lock, the days of history that a search reads, or arguments as JSON."""
TARGET, SENT = frozenset({"kind", "name", "value"}), frozenset({"reason", "typed", "token"})
"""The fields of an address, and the fields of a form that is sent to it."""
LONGEST_VALUE, LONGEST_CALL = 100, 4_096
LONGEST_REASON = 500
MOST_FIELDS = 10
MOST_PREVIEWS = 100
"""The number of previews for which the server keeps the tasks that they showed."""
OLD = "This preview is too old or is from another session: its tasks are no longer known. Nothing was changed; search again."
WIDE = 0x10000
"""JSON escapes a character from this code point on as two."""
EXAMPLE = '{"args": [1, "x"], "kwargs": {"n": 2}}'
"""An example of the arguments of a task as JSON."""


class Change(NamedTuple):
    """A change that a person asks for: its *verb*, the *kind* and *name* of its target, and the *value* that it sets, if it sets one."""

    verb: str
    kind: str
    name: str
    value: str = ""

    @property
    def address(self) -> str:
        """The address of its preview."""
        value = f"&value={quote_plus(self.value)}" if self.value else ""
        return f"/{self.verb}?kind={self.kind}&name={quote_plus(self.name, errors='backslashreplace')}{value}"

    @property
    def key(self) -> str:
        """A text that identifies the change."""
        return f"{self.verb} {self.kind} {self.value!r} {self.name}"

    @property
    def is_open(self) -> bool:
        """Whether its value is not chosen yet."""
        return self.kind in VALUED and not self.value and self.kind != SEARCH

    @property
    def days(self) -> int:
        """The number of days of history that a search reads.

        Raises:
            UsageError: the value is not a number of days.
        """
        found = _number(self.value, "a number of days") if self.value else ScreenQuery().days
        if not 1 <= found <= MOST_DAYS:
            raise UsageError(f"{found} is not a number of days from 1 to {MOST_DAYS}; open the page of the tasks again")
        return found


class ChangeForm(NamedTuple):
    """A submitted form: the change, the *reason*, the text that the person *typed* to confirm it, and the *token* of the preview."""

    change: Change
    reason: str
    typed: str
    token: str


def parse(target: str, body: str = "") -> ChangeForm | None:
    """Return the change that the address *target* names, with the fields of *body*; None if the path is not that of a change.

    Raises:
        UsageError: a field is unknown, missing, or given twice.
    """
    parts = urlsplit(f"http://here/{target.lstrip('/')}")
    verb = parts.path.removeprefix("/")
    if verb not in KINDS:
        return None
    named, sent = _fields(parts.query, TARGET), _fields(body, SENT)
    kind, name, value = named.get("kind", ""), named.get("name", ""), named.get("value", "").strip()
    if kind not in KINDS[verb] or not name:
        raise UsageError(f"{verb}: name its target; add ?kind= ({', '.join(KINDS[verb])}) and &name= to the address")
    if len(value) > (LONGEST_CALL if kind == EDITED else LONGEST_VALUE) or (value and kind not in VALUED):
        raise UsageError(f"{verb}: {value[:40]!r} is not a value for the {kind}; open the page of the change again")
    value = _one_line(value) if kind == EDITED else value
    return ChangeForm(Change(verb, kind, name, value), sent.get("reason", "").strip(), sent.get("typed", "").strip(), sent.get("token", ""))


def _fields(text: str, known: Collection[str]) -> dict[str, str]:
    try:
        found = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise UsageError(f"the form has more than {MOST_FIELDS} fields, or is not UTF-8; open the page of the change again") from None
    wrong = next((name for name, _ in found if name not in known), None)
    if wrong is not None:
        raise UsageError(f"{wrong[:40]!r} is not a field of a change; open the page of the change again")
    if len(dict(found)) < len(found):
        raise UsageError("a field is given twice; open the page of the change again")
    return dict(found)


def complaint(form: ChangeForm, plan: ChangePlan) -> str:
    """Return what a person must correct in *form* before the change of *plan* is made, or nothing."""
    if not form.reason:
        return "Write a reason; it is recorded with the change."
    if len(form.reason) > LONGEST_REASON:
        return f"Write a reason of at most {LONGEST_REASON} characters."
    if plan.typed and form.typed != plan.typed:
        return f"Type {plan.typed} to confirm."
    return ""


class Changes:
    """The changes that one server may make on the stage of *app*, one at a time. *noted* is called with a line about each."""

    def __init__(self, app: Sedano, noted: Callable[[str], None]) -> None:
        """Change nothing yet."""
        self._app, self._noted, self._lock = app, noted, threading.Lock()
        self._shown: dict[str, FoundTasks] = {}
        self.missing: dict[str, str] = {}
        """The IAM actions that AWS has refused, by the verb that needed them."""

    def look(self) -> None:
        """Find the rights that the credentials lack, by writes that change nothing; disable the buttons that need them."""
        self.missing |= missing(self._app)

    def plan(self, change: Change, token: str = "") -> ChangePlan:
        """Return the plan of *change*. With the *token* of a preview, the plan of a search has the tasks that the preview showed.

        Raises:
            NotAllowed: the credentials lack a permission; the verb's button is disabled from now on.
            SedanoError: the stage has no such target, or a store did not answer.
        """
        with self._watched(change.verb):
            if change.kind != SEARCH or not token:
                return _planned(self._app, change)
            shown = self._shown.get(token)
            return hindered(change.verb, change.name, OLD) if shown is None else _of_found(self._app, change, shown)

    def show(self, token: str, plan: ChangePlan) -> None:
        """Keep the tasks of *plan* for the form with this *token*; the tasks of the oldest of too many previews are dropped."""
        if plan.found is not None:
            with self._lock:
                self._shown[token] = plan.found
                for old in [*self._shown][:-MOST_PREVIEWS]:
                    del self._shown[old]

    def given(self, change: Change) -> str:
        """Return the text that a person edits before *change* has a value: the kept arguments of a task as JSON, or nothing.

        Raises:
            SedanoError: a store did not answer.
        """
        found = kept_call(self._app, must_be_id(change.name)) if change.kind == EDITED else None
        if found is None:
            return ""
        text = _text({"args": [*found.args], "kwargs": {**found.kwargs}})
        return text if len(text) <= LONGEST_CALL else ""

    def make(self, plan: ChangePlan, reason: str) -> AppliedChange:
        """Make the change of *plan*, and report the person and the *reason*.

        Raises:
            NotAllowed: the credentials lack a permission; the verb's button is disabled from now on.
            SedanoError: a store did not answer.
        """
        with self._lock, self._watched(plan.verb):
            done = changes.apply(self._app, plan, reason)
            self.missing.pop(plan.verb, None)
        self._noted(line(f"changed by {changes.person()}: {plan.verb} {plan.what}, reason: {reason}"))
        return done

    @contextmanager
    def _watched(self, verb: str) -> Iterator[None]:
        try:
            yield
        except NotAllowed as refused:
            self.missing[verb] = refused.action
            raise


def _planned(app: Sedano, change: Change) -> ChangePlan:
    _, kind, name, value = change
    if kind == SEARCH:
        return _of_search(app, change)
    if kind in (ID, EDITED):
        return _of_task(app, change, must_be_id(name))
    match change.verb:
        case "pause":
            return pause(app, name, kind)
        case "resume":
            return resume(app, name, kind)
        case "limit":
            return limit(app, name, value if kind == RATE else None, value if kind == CONCURRENCY else None, restore=kind == DECLARED)
        case "redrive":
            return redrive(app, name if kind == QUEUE else None, name if kind == REASON else None)
        case "release":
            return release(app, name, _number(value, "the token of a lock"))
    return trigger(app, name)


def _of_task(app: Sedano, change: Change, task_id: str) -> ChangePlan:
    if change.kind == EDITED:
        return retry_edited(app, task_id, *_arguments(change.value))
    return (retry if change.verb == "retry" else revoke)(app, [task_id])


def _of_search(app: Sedano, change: Change) -> ChangePlan:
    found = (to_retry if change.verb == "retry" else to_revoke)(app, change.name, change.days)
    return _of_found(app, change, FoundTasks(found.ids, found.sentence))


def _of_found(app: Sedano, change: Change, found: FoundTasks) -> ChangePlan:
    return (retry_found if change.verb == "retry" else revoke_found)(app, change.name, found)


def _arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that *text* holds as a JSON object with args and kwargs.

    Raises:
        UsageError: the text is not a JSON object with args and kwargs.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    given = (found.get("args"), found.get("kwargs")) if isinstance(found, dict) and set(found) == {"args", "kwargs"} else (None, None)
    if not isinstance(given[0], list) or not isinstance(given[1], dict):
        raise UsageError(f"{text[:60]!r} is not a JSON object with args and kwargs; write it as {EXAMPLE}")
    return given[0], given[1]


def _one_line(text: str) -> str:
    """Return *text* as one line of JSON, or unchanged if it is not JSON."""
    try:
        return _text(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _text(value: object) -> str:
    """Return *value* as JSON; characters that cannot be printed are escaped, so that a form sends exactly what it shows."""
    whole = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" if ord(one) < WIDE else json.dumps(one)[1:-1] for one in whole)


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{text!r} is not {what}; open the page again")
    return int(text)
