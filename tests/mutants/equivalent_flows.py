"""Mutants of canvases, workflows, telemetry, spending, scaling, records and arguments that no test can notice, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.mutant import Key


def _of(module: str, place: str, line: str, reason: str, *changes: str) -> dict[Key, str]:
    """Return the entries of these *changes* of one line."""
    return {(f"sedano.{module}", place, line, change): reason for change in changes}


FLOWS: Mapping[Key, str] = {
    **_of(
        "model.canvas.pages",
        "PageWriter._group",
        'shared = items[0].shared if len({i.shared for i in items}) == 1 else ""',
        "all members have the same text",
        "`0` → `-1`",
    ),
    **_of(
        "model.canvas.continuation",
        "_walked",
        'index, kind = 0, ""',
        "the number is read only within a chain, where a part of the path has set it",
        "`0` → `1`",
        "`0` → `-1`",
    ),
    **_of(
        "model.canvas.tree",
        "_step",
        "if not step.links and not step.forks:",
        "a short cut: a step without branches is replaced by an equal one",
        "`if not step.links and (not step.forks)` → `if False`",
    ),
    **_of("model.canvas.tree", "_chain", "return _watched(made[0], tree.watch)", "there is exactly one step", "`0` → `-1`"),
    **_of(
        "model.canvas.tree",
        "_watched",
        "return replace(stage, watch=(*stage.watch, *more)) if more else stage",
        "a short cut: without more watchers the replacement is equal",
        "`replace(stage, watch=(*stage.watch, *more)) if more else stage` → `replace(stage, watch=(*stage.watch, *more))`",
    ),
    **_of(
        "model.workflow.next_actions",
        "_begun_again",
        "if more == again:",
        "a short cut: a round that changes nothing is followed by equal ones",
        "`if more == again` → `if False`",
    ),
    **_of(
        "model.workflow.next_actions",
        "_begun_again",
        "break",
        "a short cut: a round that changes nothing is followed by equal ones",
        "`break` → `pass`",
    ),
    **_of(
        "model.workflow.next_actions",
        "_ids",
        "calls = list(progress.calls(step).values()) if step.each is not None else []",
        "a short cut: a step without a map has no calls",
        "`list(progress.calls(step).values()) if step.each is not None else []` → `list(progress.calls(step).values())`",
    ),
    **_of(
        "model.workflow.progress",
        "FlowProgress.status",
        "if name not in self._known:",
        "a short cut: the same records give the same state again",
        "`if name not in self._known` → `if True`",
    ),
    **_of(
        "model.workflow.progress",
        "FlowProgress._size",
        "if step.each is None or self.status(step.name).state == SKIPPED or not all(state in DONE for state in before):",
        "a short cut: None is no list, so there are no items",
        (
            "`step.each is None or self.status(step.name).s … not all((state in DONE for state in before)))` → `self.status"
            "(step.name).state == SKIPPED or not all((state in DONE for state in before))`"
        ),
    ),
    **_of(
        "model.workflow.progress",
        "FlowProgress._status",
        "for attempt in range(first, last + 1):",
        "the last start ends the loop",
        "`1` → `2`",
    ),
    **_of(
        "model.workflow.validation",
        "_Checking._parts",
        "continue",
        "an unknown value has no step with a known task, which is all that the rest looks at",
        "`continue` → `pass`",
    ),
    **_of(
        "model.workflow.progress",
        "FlowProgress.succeeded",
        "for attempt in range(self.run.whole.get(step.name, 0), until):",
        "no start has the number -1, so no record has its id",
        "`0` → `-1`",
    ),
    **_of(
        "model.workflow.progress",
        "FlowProgress.to_undo",
        "for number in range(self.run.undoing.get(step.name, 0) if begin is None else begin):",
        "a range up to -1 is empty, as one up to 0",
        "`0` → `-1`",
    ),
    **_of(
        "model.workflow.progress",
        "FlowProgress.undid",
        "begins = range(self.run.undoing.get(step.name, 0))",
        "a range up to -1 is empty, as one up to 0",
        "`0` → `-1`",
    ),
    **_of(
        "model.workflow.progress",
        "FlowProgress.may_have_undone",
        "wholes = [self.run.compensation_id(step.name, number) for number in range(self.run.undoing.get(step.name, 0))]",
        "a range up to -1 is empty, as one up to 0",
        "`0` → `-1`",
    ),
    **_of(
        "model.workflow.value_types",
        "part",
        "annotation = found[0] if len(found) == 1 else Any",
        "the list has exactly one element",
        "`0` → `-1`",
    ),
    **_of(
        "model.workflow.value_types",
        "item",
        "return found[0] if len(found) == 1 else Any",
        "the list has exactly one element",
        "`0` → `-1`",
    ),
    **_of(
        "model.workflow.value_types",
        "_item",
        "return arguments[0] if kind is list and len(arguments) == 1 else Any",
        "the list has exactly one element",
        "`0` → `-1`",
    ),
    **_of(
        "model.telemetry.log_entries",
        "_printable",
        "if text.isprintable():",
        "a short cut: a text without control characters is joined again from the same characters",
        "`if text.isprintable()` → `if False`",
    ),
    **_of(
        "model.spending",
        "judged",
        "if (last.level if is_same else 0) >= level and (is_same or last.day != day):",
        "a level is 0, 80 or 100",
        "`0` → `1`",
    ),
    **_of(
        "model.spending",
        "mark_of",
        "found = parts(text) if text else None",
        "a short cut: no text is no JSON, which is an empty mark too",
        "`parts(text) if text else None` → `parts(text)`",
    ),
    **_of(
        "engine.spending",
        "DaySpending.__init__",
        "self._day, self._whole_at, self._until = -1, 0.0, 0",
        "the first read is of a whole day and sets it",
        "`-1` → `1`",
        "`1` → `2`",
        "`1` → `0`",
        "`0.0` → `1.0`",
        "`0.0` → `-1.0`",
        "`0` → `1`",
        "`0` → `-1`",
    ),
    **_of(
        "engine.spending",
        "DaySpending.read",
        "self._seen.update(one.name for one in new)",
        "two notes that do not read one another",
        (
            "`self._seen.update((one.name for one in new))` after `add(self._spent, (sums for one in new if (sums := read(o"
            "ne.text)) is not None))`"
        ),
    ),
    **_of(
        "engine.spending",
        "SpendingControl.round",
        "return SpendingRound(warned=sum(one.mark.level > 0 for one in done) - paused, paused=paused, resumed=resumed)",
        "a level is 0, 80 or 100",
        "`0` → `1`",
    ),
    **_of(
        "model.workflow.layout",
        "_placed",
        "places |= _apart(layer, dict.fromkeys(layer, 0.0), widths)",
        "all places move alike, and the leftmost is at 0 in the end",
        "`0.0` → `1.0`",
        "`0.0` → `-1.0`",
    ),
    **_of(
        "model.workflow.layout",
        "_placed",
        "left = min((places[n] - _width(n, widths) / 2 for n in places), default=0.0)",
        "without a place nothing is moved",
        "`0.0` → `1.0`",
        "`0.0` → `-1.0`",
    ),
    **_of(
        "model.workflow.layout",
        "_apart",
        "offsets, offset = [], 0.0",
        "what is added to each offset is taken off before",
        "`0.0` → `1.0`",
        "`0.0` → `-1.0`",
    ),
    **_of(
        "model.workflow.layout",
        "_apart",
        "if number:",
        "what is added to each offset is taken off before",
        "`if number` → `if True`",
    ),
    **_of(
        "model.workflow.layout",
        "_apart",
        "while blocks and blocks[-1][0] > mean:",
        "blocks of equal means have that mean together",
        "`blocks[-1][0] > mean` → `blocks[-1][0] >= mean`",
    ),
    **_of(
        "model.workflow.layout",
        "_apart",
        "return {name: mean + shift for name, mean, shift in zip(layer, flat, offsets, strict=True)}",
        "the two are only added to one another",
        "`zip(layer, flat, offsets, strict=True)` → `zip(layer, offsets, flat, strict=True)`",
    ),
    **_of(
        "model.workflow.layout",
        "layout",
        "layers: list[list[Name]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]",
        "a range of less than nothing is empty, too",
        "`1` → `2`",
    ),
    **_of(
        "model.cluster.scale",
        "divided",
        "each, more = divmod(number, len(names)) if names else (0, 0)",
        "without names, no subscriber gets it",
        "`0` → `1`",
        "`0` → `-1`",
        "`0` → `1` (2)",
        "`0` → `-1` (2)",
    ),
    **_of(
        "model.cluster.worker_report",
        "report_of",
        'found: Any = load(text, MOST_REPORT * 4, 4, "report") if text else {}',
        "a short cut: no text is no JSON, which is an empty report too",
        "`load(text, MOST_REPORT * 4, 4, 'report') if text else {}` → `load(text, MOST_REPORT * 4, 4, 'report')`",
    ),
    **_of(
        "model.cluster.worker_report",
        "_count",
        "return value if type(value) is int and value >= 0 else None",
        "a count that is left out is 0",
        "`value >= 0` → `value > 0`",
        "`0` → `1`",
    ),
    **_of(
        "model.ledger.outcome_text",
        "write",
        "if outcome.section or outcome.call:",
        "a short cut: of neither nothing is added",
        "`if outcome.section or outcome.call` → `if True`",
    ),
    **_of(
        "model.ledger.outcome_text",
        "too_large",
        "size = len(tail) + (len(result) if result.isascii() else len(result.encode()))",
        "a short cut: a text in ASCII has as many bytes as characters",
        "`len(result) if result.isascii() else len(result.encode())` → `len(result.encode())`",
    ),
    **_of(
        "model.tasks.annotations",
        "_generic",
        "item = _kind(arguments[0], known)",
        "the list has exactly one element",
        "`0` → `-1`",
    ),
    **_of(
        "model.tasks.annotations",
        "_hints_of",
        "return typing.get_type_hints(found, include_extras=True)",
        "what they add is taken off again before an annotation is looked at",
        "`True` → `False`",
    ),
    **_of(
        "model.tasks.parameters",
        "Parameters.__init__",
        "self._exact = tuple(next(iter(kind.types)) for kind in kinds if len(kind.types) == 1) if only_positions else None",
        "a short cut before the types are compared one by one",
        (
            "`tuple((next(iter(kind.types)) for kind in kin … ind.types) == 1)) if only_positions else None` → `tuple((next"
            "(iter(kind.types)) for kind in kinds if len(kind.types) == 1))`"
        ),
        "`tuple((next(iter(kind.types)) for kind in kin … ind.types) == 1)) if only_positions else None` → `None`",
        "`1` → `2`",
    ),
    **_of(
        "model.tasks.parameters",
        "Parameters.fit",
        "if tuple(map(type, args)) == self._exact:  # each argument has the only type of its parameter",
        "a short cut before the types are compared one by one",
        "`if tuple(map(type, args)) == self._exact` → `if False`",
    ),
    **_of("model.tasks.annotations", "Kind.read", "continue", "the loop goes on anyway", "`continue` → `pass`"),
    **_of(
        "model.tasks.signature",
        "delay_of",
        "if options.countdown is None and options.eta is None:",
        "a short cut: without a time the seconds are 0",
        "`if options.countdown is None and options.eta is None` → `if False`",
    ),
    **_of(
        "model.tasks.signature",
        "delay_of",
        "seconds = options.countdown if options.countdown is not None else (options.eta.timestamp() - now if options.eta else 0.0)",
        "one of the two is given here",
        "`0.0` → `1.0`",
        "`0.0` → `-1.0`",
    ),
}
