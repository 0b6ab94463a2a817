"""The retries of a task: Celery's options of a declaration and of `self.retry`, as one policy of sedano with the same meaning.

Celery runs a failing body once, unless `autoretry_for` names its error or the body calls `self.retry`. Sedano retries every error by
default, so a remedy never proposes a policy of the task that retries more errors than Celery's declaration.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import NamedTuple

from sedano.migration.answers import CHANGE, LOST, REMOVE, Judgement
from sedano.migration.syntax import code, constant_of, entries_of
from sedano.model.retry import MAX_PAUSE_S, MOST_EXECUTIONS, Retry

MOST_RETRIES = MOST_EXECUTIONS - 1
RETRY_OPTIONS = frozenset({
    "autoretry_for", "dont_autoretry_for", "max_retries", "default_retry_delay", "retry_backoff", "retry_backoff_max", "retry_jitter",
    "retry_kwargs",
})  # fmt: skip
"""Celery's options of a declaration that say when a failed body runs again."""
ONCE = (
    "Celery runs a failing body once, sedano retries it 3 times: write retry=False here, or Sedano(…, retry=Retry(max_retries=0)) for all "
    "tasks; `with retry(…):` retries a part of the body"
)
"""The remedy of a declaration without `autoretry_for`."""
_ONCE_BY_CLASS = f"unless the class has autoretry_for: {ONCE}"
_NO_EFFECT = "without autoretry_for, it has no effect in Celery"
_DELAY_S = 180
_BACKOFF_MAX_S = 600
_EVERY = frozenset({"Exception", "BaseException"})
_NARROW = "Retry(…) has no list of errors: write retry=False, and in the body `except {errors}:` with `with {policy}: raise` in it"
_OWN = "with retry={wide} every error is retried, and in Celery this is for self.retry(…) alone: write retry=False, and"
_SECTION = "`with {policy}: raise` where the body calls self.retry(…)"


class Policy(NamedTuple):
    """The retries that a declaration asks for: the *fields* of a `Retry` as source, and the reason why Celery's could not be kept."""

    fields: str
    lost: str = ""


def declared_once(given: Mapping[str, ast.expr], *, unknown: bool) -> str | None:
    """Return the remedy of a declaration with the options *given* whose failing body Celery runs once; None if it says when to retry.

    *unknown*: it has other options, which the source does not say.
    """
    if "retry" in given or _retried(given) is not None:
        return None
    return f"unless **options has autoretry_for: {ONCE}" if unknown else _ONCE_BY_CLASS if "base" in given else ONCE


def of_declaration(name: str, given: Mapping[str, ast.expr]) -> Judgement:
    """Return the answer to the option *name*, one of `RETRY_OPTIONS`, of a declaration that has all options *given*."""
    errors, policy = _retried(given), _policy(given)
    if name == "dont_autoretry_for":
        return _final(given[name], errors)
    if errors is None and name not in ("max_retries", "default_retry_delay"):
        return Judgement(REMOVE, _NO_EFFECT)
    if policy.lost and name in ("max_retries", "retry_kwargs"):
        return Judgement(LOST, policy.lost)
    if errors is None and name == "max_retries" and constant_of(given[name]) == 0:
        return Judgement(CHANGE, "write retry=False")
    if errors is None:
        wide = f"Retry(max_retries={code(given[name])})" if name == "max_retries" else "Retry(…)"
        return Judgement(CHANGE, f"{_OWN.format(wide=wide)} {_SECTION.format(policy=f'retry({policy.fields})')}")
    if errors == "":
        return Judgement(CHANGE, f"write retry=Retry({policy.fields})")
    return Judgement(CHANGE, _NARROW.format(errors=errors, policy=f"retry({policy.fields})"))


def of_call(given: Mapping[str, ast.expr]) -> str:
    """Return what replaces the call of `self.retry` with the arguments *given*."""
    if has_arguments(given):
        return _with_arguments(given)
    fields = _policy({"max_retries": given.get("max_retries", ast.Constant(None)), "retry_kwargs": _as_mapping(given)}, of_call=True).fields
    raised = given.get("exc")
    again = f"raise {code(raised)}" if raised is not None and constant_of(raised) is not None else "raise"
    return f"write `with retry({fields}): {again}` in the `except`, and retry=False at the task: else every error is retried"


def has_arguments(given: Mapping[str, ast.expr]) -> bool:
    """Return whether the call of `self.retry` with *given* replaces the arguments of the task."""
    return any(name in given and constant_of(given[name]) is not None for name in ("args", "kwargs"))


def of_argument(given: Mapping[str, ast.expr], name: str) -> Judgement | None:
    """Return the answer to *name* in a call of `self.retry` that replaces arguments too; None where that makes no difference."""
    if not has_arguments(given) or name not in ("exc", "throw", "max_retries", "countdown"):
        return None
    if name in ("exc", "throw"):
        return Judgement(CHANGE, "remove it: the error of the attempt is the one that the `except` handles")
    return Judgement(CHANGE, f"write `{_with_arguments(given).split('`')[1]}`")


def _with_arguments(given: Mapping[str, ast.expr]) -> str:
    most, _ = _most(given.get("max_retries"), is_given=False)
    asked = [f"{name}={code(given[name])}" for name in ("args", "kwargs") if name in given]
    pauses = [] if "countdown" in given else _constant(None)
    if "countdown" in given:
        asked.append(f"countdown={_seconds(given['countdown'])}")
    section = f"retry({', '.join([*(most or ['max_retries=…']), *pauses])})"
    told = "" if most else "; max_retries is that of the declaration, 3 by default"
    return f"write `with {section}: current().retry({', '.join(asked)})` in the `except`{told}"


def _as_mapping(given: Mapping[str, ast.expr]) -> ast.Dict:
    kept = {name: value for name, value in given.items() if name == "countdown"}
    return ast.Dict([ast.Constant(name) for name in kept], list(kept.values()))


def _retried(given: Mapping[str, ast.expr]) -> str | None:
    """Return the errors that Celery retries, as source: empty for every error, None for none of them."""
    value = given.get("autoretry_for")
    if value is None or (isinstance(value, ast.Tuple | ast.List) and not value.elts):
        return None
    elements = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
    if any(code(one).rpartition(".")[2] in _EVERY for one in elements):
        return ""
    return code(elements[0] if len(elements) == 1 else ast.Tuple(elements))


def _final(value: ast.expr, errors: str | None) -> Judgement:
    """Return the answer to `dont_autoretry_for`."""
    if errors is None:
        return Judgement(REMOVE, _NO_EFFECT)
    elements = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
    shown = code(elements[0] if len(elements) == 1 else ast.Tuple(elements))
    return Judgement(CHANGE, f"write `except {shown}:` with `with poisonous(): raise` in it: a failure in it is never retried")


def _policy(given: Mapping[str, ast.expr], *, of_call: bool = False) -> Policy:
    """Return the policy with the number of retries and the pauses of Celery's options *given*."""
    extra = entries_of(given["retry_kwargs"]) if "retry_kwargs" in given else {}
    most, lost = _most(extra.get("max_retries", given.get("max_retries")), is_given=not of_call)
    grows = given.get("retry_backoff")
    if grows is not None and constant_of(grows) not in (False, None, 0):
        pauses = _growing(grows, given.get("retry_backoff_max"), given.get("retry_jitter"))
    else:
        pauses = _constant(extra.get("countdown", given.get("default_retry_delay")))
    return Policy(", ".join([*most, *pauses]), lost)


def _most(value: ast.expr | None, *, is_given: bool) -> tuple[list[str], str]:
    """Return the field `max_retries`, and a reason if sedano does not have so many."""
    constant = ... if value is None else constant_of(value)
    if value is None or (constant is None and not is_given):
        return [], ""
    if constant is None or (isinstance(constant, bool | int) and 0 <= constant <= MOST_RETRIES) or constant is ...:
        return [f"max_retries={code(value)}"], ""
    most = f"max_retries={MOST_RETRIES}"
    return [most], f"a task is retried {MOST_RETRIES} times at most: write {most} in its policy"


def _growing(start: ast.expr, longest: ast.expr | None, jitter: ast.expr | None) -> list[str]:
    """Return the fields of a pause that doubles: Celery's begins with 1 s for True, and is random unless `retry_jitter` is false."""
    first = "1" if constant_of(start) is True else _seconds(start)
    most = str(_BACKOFF_MAX_S) if longest is None else _seconds(longest)
    random = [] if jitter is None or constant_of(jitter) is True else [f"jitter={_truth(jitter)}"]
    return [f"interval_start={first}", "backoff=2", f"interval_max={most}", *random]


def _constant(value: ast.expr | None) -> list[str]:
    """Return the fields of a constant pause; by default Celery's 180 s."""
    if value is not None and ".retries" in ast.unparse(value):
        return ["interval_start=…", "backoff=…", "interval_max=…"]
    seconds = str(_DELAY_S) if value is None or constant_of(value) is None else _seconds(value)
    number = None if value is None else constant_of(value)
    is_short = value is None or (isinstance(number, int | float) and number <= Retry().interval_max) or number is None
    longest = [] if is_short else [f"interval_max={seconds}"]
    return [f"interval_start={seconds}", "backoff=1", *longest, "jitter=False"]


def _seconds(value: ast.expr) -> str:
    """Return *value* as source, between 0 and the longest pause; an ellipsis for a constant of another type."""
    constant = constant_of(value)
    if constant is ...:
        return code(value)
    if isinstance(constant, bool) or not isinstance(constant, int | float) or math.isnan(constant):
        return "…"
    return code(value) if 0 <= constant <= MAX_PAUSE_S else "0" if constant < 0 else str(MAX_PAUSE_S)


def _truth(value: ast.expr) -> str:
    constant = constant_of(value)
    return code(value) if constant is ... else str(bool(constant))
