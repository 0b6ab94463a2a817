"""The pages of a change: its preview with the form that makes it, its effects, and the links to previews on other pages. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sedano.changes.plan import AppliedChange, ChangePlan, Effect
from sedano.changes.targets import SCHEDULE
from sedano.model.pauses import CIRCUIT, QUEUE, TASK
from sedano.model.states import TERMINAL, UNSUCCESSFUL
from sedano.views.canvas import CanvasView
from sedano.views.circuits import CircuitsView
from sedano.views.locks import LocksView
from sedano.views.now import NowView
from sedano.views.panels import ScreenQuery
from sedano.views.queues import QueuesView
from sedano.views.schedules import SchedulesView
from sedano.views.task import TaskView
from sedano.views.task_query import is_literal
from sedano.views.tasks import TasksView
from sedano.web.addresses import address
from sedano.web.changes import (
    ALL,
    CONCURRENCY,
    DECLARED,
    EDITED,
    EXAMPLE,
    ID,
    KINDS,
    LOCK,
    LONGEST_CALL,
    LONGEST_REASON,
    LONGEST_VALUE,
    RATE,
    REASON,
    SEARCH,
    Change,
)  # fmt: skip
from sedano.web.markup import NOTHING, Markup, el, join

WIDEST = 60
MOST_SHOWN = 8
"""The most links that a page shows; more are in a section that opens."""
MOST_LISTED = 200
"""The most effects that are listed; items that were left unchanged are first."""
_KINDS: Mapping[str, str] = {
    RATE: "rate, such as 10/s; none removes it", CONCURRENCY: "how many run at a time; none removes it", DECLARED: "all as declared",
    ALL: "all of them", QUEUE: "those from the queue", REASON: "those with the reason",
}  # fmt: skip
"""The words for the kinds that a person chooses from."""
_PAGES: Mapping[str, str] = {QUEUE: "queues", SCHEDULE: "schedules", LOCK: "locks", CIRCUIT: "circuits"}
"""The page about a target of each kind."""


def preview(change: Change, plan: ChangePlan, token: str, complaint: str = "", reason: str = "") -> Markup:
    """Return *plan* in words, and the form that makes its change; *complaint*: why the submitted form was refused."""
    back = el("a", "Back", href=_back(change))
    if plan.hindrance:
        return join((el("p", plan.hindrance, class_="why"), choice(change) if change.verb == "redrive" else NOTHING, el("p", back)))
    form = el(
        "form", el("input", type="hidden", name="token", value=token),
        el("label", "Reason ", el("input", name="reason", required=True, maxlength=LONGEST_REASON, value=reason, autocomplete="off")),
        _typed(plan), el("p", el("button", words(change)), " ", back), method="post", action=change.address, class_="change",
    )  # fmt: skip
    wrong = el("p", complaint, class_="why failed", role="alert") if complaint else NOTHING
    other = choice(change) if change.verb in ("limit", "redrive") or change.kind == EDITED else NOTHING
    return join((wrong, el("ul", *(el("li", one) for one in plan.lines), class_="need plan"), form, other))


def choice(change: Change, given: str = "") -> Markup:
    """Return the form for the preview of another limit, of other parked messages, or of other arguments (*given*: the present ones)."""
    if change.kind == EDITED:
        return _arguments(change, given)
    options = join(el("option", _KINDS[one], value=one, selected=one == change.kind) for one in KINDS[change.verb])
    kind = el("select", options, name="kind", aria_label="Limit" if change.verb == "limit" else "Messages")
    if change.verb == "limit":
        named = el("input", type="hidden", name="name", value=change.name)
        text = el("input", name="value", value=change.value, maxlength=LONGEST_VALUE, aria_label="New limit", autocomplete="off")
    else:
        named = NOTHING
        text = el("input", name="name", value=change.name, required=True, aria_label="Queue or reason", autocomplete="off")
    button = el("button", "Preview")
    return el("form", kind, named, text, button, action=f"/{change.verb}", class_="filter", aria_label=f"Another {change.verb}")


def _arguments(change: Change, given: str) -> Markup:
    hidden = join(el("input", type="hidden", name=name, value=value) for name, value in (("kind", change.kind), ("name", change.name)))
    text = el("textarea", change.value or given, name="value", required=True, maxlength=LONGEST_CALL, rows=6, spellcheck="false")
    label = el("label", f"Arguments as JSON, such as {EXAMPLE} ", text)
    return el("form", hidden, label, el("p", el("button", "Preview")), action=f"/{change.verb}", class_="change", aria_label="Arguments")


def effects(change: Change, made: AppliedChange) -> Markup:
    """Return the effects of a change, and the items that it left unchanged."""
    left = [el("li", el("b", "left"), " ", one) for one in made.left[:MOST_LISTED]]
    done = [el("li", *_effect(one)) for one in made.effects[: MOST_LISTED - len(left)]]
    more = len(made.left) + len(made.effects) - len(left) - len(done)
    rest = el("li", f"and {more} more") if more else NOTHING
    said = el("div", el("ul", *left, *done, rest, class_="need plan"), role="status")
    wrong = el("p", made.unrecorded, class_="why failed", role="alert") if made.unrecorded else NOTHING
    return join((said, wrong, el("p", el("a", "Back", href=_back(change)))))


def _effect(one: Effect) -> Iterable[object]:
    """Return an effect, with a link to the task that it published."""
    new = one.facts.get("rerun") or one.facts.get("bulk") or (one.facts.get("id") if "schedule" in one.facts else None)
    link = el("a", "look", href=address(ScreenQuery("task", id=str(new))), aria_label=f"look at {new}") if new else NOTHING
    return one.text, " ", link


def words(change: Change) -> str:
    """Return a change as the words of its button."""
    name = change.name if len(change.name) <= WIDEST else f"{change.name[:WIDEST]}…"
    match change.verb:
        case "limit" if change.kind == DECLARED:
            return f"Restore the limits of {name}"
        case "limit":
            return f"Set the {change.kind} of {name} to {change.value}" if change.value else f"Limit {name}"
        case "redrive":
            return "Send all parked messages again" if change.kind == ALL else f"Send the parked messages of the {change.kind} {name} again"
        case "trigger":
            return f"Run the schedule {name} now"
    if change.kind == EDITED:
        return "Retry this task with other arguments"
    if change.kind == SEARCH:
        field, _, value = change.name.partition(":")
        where = "canvas" if field == "root" and is_literal(value) else "search"
        return f"{change.verb.capitalize()} the tasks of this {where} that {'failed' if change.verb == 'retry' else 'have not ended'}"
    return f"{change.verb.capitalize()} {'this task' if change.kind == ID else f'the {change.kind} {name}'}"


def offered(asked: ScreenQuery, view: object, missing: Mapping[str, str]) -> Markup:
    """Return links to the previews of the changes that fit a page; *missing*: the IAM actions that the credentials lack, by verb."""
    found = list(_offered(asked, view))
    if not found:
        return NOTHING
    links = el("ul", *(el("li", _offer(one, missing)) for one in found), class_="acts", aria_label="Changes")
    return links if len(found) <= MOST_SHOWN else el("details", el("summary", f"{len(found)} changes"), links)


def _offered(asked: ScreenQuery, view: object) -> Iterable[Change]:
    if isinstance(view, TaskView):
        yield from _of_task(view)
    elif isinstance(view, TasksView):
        yield from _of_search(asked.query, asked.days, {one.state for one in view.rows})
    elif isinstance(view, CanvasView) and is_literal(view.id):
        yield from _of_search(f"root:{view.id}", asked.days, set(view.progress))
    else:
        yield from _of_stage(view)


def _of_stage(view: object) -> Iterable[Change]:
    if isinstance(view, NowView):
        yield from (Change("redrive", ALL, ALL) for one in view.needs if one.kind == "parked")
    elif isinstance(view, QueuesView):
        yield from (Change("resume" if one.paused else "pause", QUEUE, one.queue) for one in view.rows)
    elif isinstance(view, SchedulesView):
        for row in view.rows:
            yield from (Change("resume" if row.paused else "pause", SCHEDULE, row.schedule), Change("trigger", SCHEDULE, row.schedule))
    elif isinstance(view, LocksView):
        yield from (Change("release", LOCK, one.lock, str(one.token)) for one in view.rows if one.held)
    elif isinstance(view, CircuitsView):
        yield from (Change("resume", CIRCUIT, one.name) for one in view.rows if one.open and one.shared)


def _of_search(query: str, days: int, found: Collection[str]) -> Iterable[Change]:
    """Yield the changes of all tasks of a search; a search without a condition has none."""
    if query and any(state in UNSUCCESSFUL for state in found):
        yield Change("retry", SEARCH, query, str(days))
    if query and any(state not in TERMINAL for state in found):
        yield Change("revoke", SEARCH, query, str(days))


def _of_task(view: TaskView) -> Iterable[Change]:
    if view.state in UNSUCCESSFUL:
        yield Change("retry", ID, view.id)
        if (view.record or {}).get("retry"):
            yield Change("retry", EDITED, view.id)
    if view.state not in TERMINAL:
        yield Change("revoke", ID, view.id)
    if view.name:
        yield from (Change(verb, TASK, view.name) for verb in ("pause", "resume"))
        yield Change("limit", RATE, view.name)


def _offer(change: Change, missing: Mapping[str, str]) -> Markup:
    if change.verb not in missing:
        return el("a", words(change), href=change.address, class_="act")
    why = el("small", f" the credentials lack {missing[change.verb]}; ", el("a", "try again", href=change.address))
    return join((el("button", words(change), type="button", disabled=True), why))


def _typed(plan: ChangePlan) -> Markup:
    if not plan.typed:
        return NOTHING
    asked = join((f"This affects {plan.number} tasks or messages. Type ", el("b", plan.typed), " to confirm "))
    return el("label", asked, el("input", name="typed", required=True, autocomplete="off"))


def _back(change: Change) -> str:
    """Return the address of the page about the target."""
    if change.kind in (ID, EDITED):
        return address(ScreenQuery("task", id=change.name))
    if change.kind == SEARCH:
        return address(ScreenQuery("tasks", query=change.name, days=change.days))
    if change.verb == "redrive":
        return address(ScreenQuery())
    if change.verb == "limit" or change.kind == TASK:
        return address(ScreenQuery("tasks", query=f"name:{change.name}"))
    return address(ScreenQuery(_PAGES[change.kind], query=change.name if change.kind == LOCK else ""))
