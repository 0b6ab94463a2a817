"""The options of a declaration, of a publication and of a retry: the answer to each, with the value of the source in it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from sedano.api.declaration import OPTIONS as DECLARED
from sedano.errors import OptionError, celery_names
from sedano.migration import moments
from sedano.migration.answers import CHANGE, LOST, REMOVE, SAME, Judgement, find
from sedano.migration.findings import Needs, Remark
from sedano.migration.imports import RETRY
from sedano.migration.options import OPTIONS
from sedano.migration.retries import RETRY_OPTIONS, of_argument, of_declaration
from sedano.migration.syntax import code, constant_of, is_true
from sedano.model.limits.rate import paces
from sedano.model.tasks.signature import Options

OF_OPTIONS = "options-of-a-task-and-of-a-call"
"""The anchor of the table of options."""
LONGEST_RUN_S = 15 * 60
_ARGUMENTS = frozenset({"args", "kwargs"})
_ALWAYS_ON = frozenset({
    "acks_late", "acks_on_failure_or_timeout", "reject_on_worker_lost", "track_started", "send_events", "trail", "typing",
})  # fmt: skip
_UNSAFE = ("pickle", "yaml", "msgpack")
_LONG = (
    "a function runs for 15 minutes at most, and a longer limit fails the task (docs/time_limits.md): split the work into a chain or a "
    "group, or let `sedano worker` serve its queue (docs/worker.md)"
)
_FIRST = {"apply_async": 2, "send_task": 3}
_PLACES = {
    "apply_async": ("task_id", "producer", "link", "link_error", "shadow"),
    "send_task": (
        "countdown", "eta", "task_id", "producer", "connection", "router", "result_cls", "expires", "publisher", "link", "link_error",
    ),
}  # fmt: skip
"""The options that Celery's methods take by place, after the arguments of the task."""
_RATE = 'write rate={rate}{given}; it limits all workers together, per="worker" each one'
PUBLISHED_OPTIONS = frozenset({*Options.__dataclass_fields__, "link", "link_error"})
"""The options of a publication that sedano has."""


OF_CELERY = frozenset({
    "countdown", "eta", "expires", "priority", "queue", "routing_key", "exchange", "link", "link_error", "serializer", "compression",
    "headers", "task_id", "ignore_result", "soft_time_limit", "retry_policy", "shadow",
})  # fmt: skip
"""Options of Celery's `apply_async` that that of `multiprocessing` does not have."""


class Option(NamedTuple):
    """One option in the source: its *name*, its *value*, and the *node* that gives its place."""

    name: str
    value: ast.expr
    node: ast.expr | ast.keyword


def options_of(keywords: list[ast.keyword], mappings: Mapping[str, ast.Dict]) -> Iterator[Option | ast.keyword]:
    """Yield the options that *keywords* give; a mapping (``**OPTIONS``) that the module writes out is followed, another one is yielded."""
    for one in keywords:
        if one.arg is not None:
            yield Option(one.arg, one.value, one)
        elif (found := list(_entries(one.value, mappings, 3))) and all(isinstance(entry, Option) for entry in found):
            yield from (entry for entry in found if entry is not None)
        else:
            yield one


def _entries(value: ast.expr, mappings: Mapping[str, ast.Dict], depth: int) -> Iterator[Option | None]:
    """Yield the entries of a mapping; None for a part that the module does not write out."""
    found = mappings.get(value.id) if isinstance(value, ast.Name) else value
    if not isinstance(found, ast.Dict) or not depth:
        yield None
        return
    for key, entry in zip(found.keys, found.values, strict=True):
        if key is None:
            yield from _entries(entry, mappings, depth - 1)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield Option(key.value, entry, key)
        else:
            yield None


def judged(
    found: str, options: Iterable[Option | ast.keyword], rule: Callable[[Option], Judgement], needs: Needs | None
) -> Iterator[Remark]:  # fmt: skip
    """Yield the answer of *rule* to each of *options*, which *found* takes."""
    for one in options:
        if isinstance(one, ast.keyword):
            text = "the keys of this mapping are not constants in this file; compare them with the table of options"
            yield Remark(one.value, CHANGE, f"{found} **{code(one.value)}", text, OF_OPTIONS, needs=needs)
        else:
            verdict, remedy = rule(one)
            yield Remark(one.node, verdict, f"{found} {one.name}={code(one.value)}", remedy, OF_OPTIONS, needs=needs)


def retry_arguments(node: ast.Call) -> Iterator[Option | ast.keyword]:
    """Yield the arguments of the call of `self.retry`, *node*, by name."""
    names = ("args", "kwargs", "exc", "throw", "eta", "countdown", "max_retries")
    yield from (Option(name, one, one) for name, one in zip(names, node.args, strict=False))
    yield from options_of(node.keywords, {})


def given_by(options: Iterable[Option | ast.keyword]) -> dict[str, ast.expr]:
    """Return the values of *options* by name."""
    return {one.name: one.value for one in options if isinstance(one, Option)}


def of_task(given: Mapping[str, ast.expr], option: Option) -> Judgement:
    """Return the answer to an *option* of a declaration that has all options *given*."""
    if option.name in RETRY_OPTIONS:
        return of_declaration(option.name, given)
    special = _by_value(option)
    if special is not None:
        return special
    if option.name == "once":
        return Judgement(CHANGE, _once(option.value))
    if option.name == "base" and code(option.value).rpartition(".")[2] in ("QueueOnce", "Singleton"):
        return Judgement(CHANGE, "write singleton=… instead of the class (docs/leases.md)")
    if option.name in PUBLISHED_OPTIONS - set(DECLARED):
        return Judgement(CHANGE, f"give {option.name} to each call")
    return Judgement(SAME, "") if option.name in DECLARED and _is_ours(option) else _listed(option)


def of_call(option: Option) -> Judgement:
    """Return the answer to an *option* of a publication or a signature."""
    if option.name in _ARGUMENTS or option.name == "immutable":
        return Judgement(SAME, "")
    if option.name == "retry":
        return Judgement(REMOVE, celery_names.OPTIONS["retry"])
    special = _by_value(option)
    if special is not None:
        return special
    return Judgement(SAME, "") if option.name in PUBLISHED_OPTIONS and _is_ours(option) else _listed(option)


def _is_ours(option: Option) -> bool:
    """Return whether *option* has no value of Celery's: a priority is the name of a band here, and a number there."""
    return option.name != "priority" or isinstance(constant_of(option.value), str)


def of_retry(given: Mapping[str, ast.expr], option: Option) -> Judgement:
    """Return the answer to an *option* of a call of `self.retry` that has all arguments *given*."""
    special = of_argument(given, option.name)
    if special is not None:
        return special
    found = find(option.name, RETRY) or RETRY[-1]
    return Judgement(found.verdict, found.plain)


def _listed(option: Option) -> Judgement:
    found = find(option.name, OPTIONS)
    if found is not None:
        return Judgement(found.verdict, "" if found.verdict == SAME else found.plain)
    known = celery_names.OPTIONS.get(option.name)
    return Judgement(CHANGE, known or "sedano has no option of this name and raises OptionError for it; remove it")


def _by_value(option: Option) -> Judgement | None:
    """Return the answer that depends on the value of *option*; None where the table's holds for all values."""
    constant = constant_of(option.value)
    if option.name in _ALWAYS_ON and constant is False:
        return Judgement(LOST, "it is always on.")
    if option.name == "serializer" and isinstance(constant, str) and constant in _UNSAFE:
        return Judgement(LOST, f"a message is JSON, not {constant}; annotations restore other types (docs/arguments.md)")
    if option.name == "rate_limit" and constant is not ...:
        return _rate(constant)
    if option.name in ("eta", "expires"):
        return moments.of_moment(option.name, option.value)
    if option.name == "countdown" and isinstance(constant, int | float) and constant < 0:
        return Judgement(CHANGE, "sedano refuses a time in the past: remove it")
    if option.name in ("time_limit", "soft_time_limit") and isinstance(constant, int | float) and constant > LONGEST_RUN_S:
        return Judgement(CHANGE, _LONG)
    return None


def positional(node: ast.Call, method: str) -> Iterator[Option]:
    """Yield the options of the publication *node* that it gives by place; sedano takes them by name alone."""
    places = _PLACES.get(method, ())
    yield from (Option(name, one, one) for name, one in zip(places, node.args[_FIRST.get(method, 0) :], strict=False))


def of_place(option: Option) -> Judgement:
    """Return the answer to an *option* that is given by place."""
    verdict, remedy = of_call(option)
    is_none = constant_of(option.value) is None
    if is_none or verdict in (LOST, REMOVE):
        return Judgement(verdict if verdict == LOST else REMOVE, remedy or "it says nothing, and sedano takes options by name alone")
    return Judgement(CHANGE, remedy or f"give it by name: {option.name}={code(option.value)}")


def _rate(constant: object) -> Judgement:
    """Return the answer to a `rate_limit`: in Celery, a number without a unit is per second, and 0 removes the limit."""
    text = constant.strip() if isinstance(constant, str) else constant
    number = text if isinstance(text, int | float) else text if isinstance(text, str) and "/" in text else _number(text)
    if number in (None, 0):
        return Judgement(REMOVE, "a task has no limit by default")
    try:
        if not isinstance(number, str | int | float):
            raise OptionError("rate: not a text or a number")
        paces(number)
    except (OptionError, OverflowError):
        return Judgement(CHANGE, _RATE.format(rate='"10/s"', given=f", not {str(constant)[:20]!r}"))
    return Judgement(CHANGE, _RATE.format(rate=f'"{number}"' if isinstance(number, str) else number, given=""))


def _number(text: object) -> object:
    try:
        return int(str(text)) if str(text).isdecimal() else float(str(text))
    except ValueError:
        return text


def _once(value: ast.expr) -> str:
    """Return the `singleton=` that has the meaning of an option `once={…}` of celery_once."""
    given = {} if not isinstance(value, ast.Dict) else {
        key.value: entry for key, entry in zip(value.keys, value.values, strict=True) if isinstance(key, ast.Constant)
    }  # fmt: skip
    keys = given.get("keys")
    names = [code(one) for one in keys.elts] if isinstance(keys, ast.List | ast.Tuple) else None
    written = "a function of the arguments" if names is None or len(names) > 1 else names[0] if names else "True"
    busy = ', on_busy="drop"' if "graceful" in given and is_true(given["graceful"]) else ""
    return f"write singleton={written}{busy}: one run at a time; a duplicate that is published while the first waits is not refused"
