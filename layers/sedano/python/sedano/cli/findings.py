"""Prints findings: one line each, or one document of JSON; `sedano check` and `sedano doctor` share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sedano.cli.exits import Exit
from sedano.cli.printer import line, put, say
from sedano.cli.tables import document, styled
from sedano.views.findings import Finding, failed

_WIDTH = len("warning")


def show(verb: str, findings: Sequence[Finding], *, strict: bool, as_json: bool) -> Exit:
    """Print *findings* and their counts; return `PROBLEMS` for a fault, with *strict* for a warning as well."""
    if as_json:
        document(verb, [one._asdict() for one in findings])
    for one in [] if as_json else findings:
        put([f"{styled(f'{one.grade:{_WIDTH}}', one.grade)}  {line(f'{one.checked}: {one.found}')}"])
        if one.do:
            say(f"{'':{_WIDTH}}  do: {one.do}")
    counted = Counter(one.grade for one in findings)
    say(f"sedano {verb}: {counted['ok']} ok, {_number(counted['warning'], 'warning')}, {_number(counted['fault'], 'fault')}", err=True)
    return Exit.PROBLEMS if failed(findings, strict=strict) else Exit.DONE


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
