"""The figures of a page, and where each one comes from.

`tests/docs/figures/PAGE.toml` lists the figures of a page. An entry has the page's own words (`text`) and one source:

- `measured`: names in `benchmarks/results`, one for each `{}` of the text (`canvas/publish a group of 10 000`);
- `code`: `module:expression`, one for each `{}`; the code itself says the number;
- `test`: `file::name` of the test that holds it;
- `aws`: the document of AWS that says it; `given`: it is a size, a status, or an example that the page sets.

A number that stands in the text outside `{}` belongs to the words: it is the condition under which the figure holds.
"""

import importlib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SOURCES = Path(__file__).parent / "figures"
PAGES = {path.stem: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path != ROOT / "docs" / "README.md"}
KINDS = ("measured", "code", "test", "aws", "given")
NUMBER = r"(?:\d{1,3}(?: \d{3})+|\d+)(?:\.\d+)?"
UNIT = (
    r"(?:µs|ms|s|[Ss]econds?|minutes?|hours?|days?|times|calls?|USD|dollars?|bytes|B|KB|MB|GB|KiB|MiB|TB|sends?|writes?|reads?|pages?|tests?"
    r"|schedules?|states?|million|events|tasks|messages|units|levels|members|records|points)\b|%|×"
)
FIGURE = re.compile(rf"(?<![\w.,:/-])(?P<dollar>\$)?(?P<number>{NUMBER})(?![\w:]|\.\d|-\d)(?P<unit>\s?(?:{UNIT}))?")
#: What looks like a figure and is none: the version of a program.
PROGRAM = r"(?:Python|Django|Spark|Sparks|Glue|EMR|Celery|Java|PySpark|Lambda's|Design|CC BY)"
VERSION = re.compile(rf"\b{PROGRAM}(?:\s\d[\d.]*,?(?:\s(?:or|and|to))?)+")


class Entry(NamedTuple):
    """The *text* of some figures, the *kind* of their source, and the *sources*, one for each `{}` or one for all."""

    text: str
    kind: str
    sources: Sequence[str]


class Found(NamedTuple):
    """What is wrong with a page, and the names that its entries used."""

    faults: list[str]
    used: set[str]


def entries(table: Mapping[str, Any]) -> list[Entry]:
    """Return the entries of a page's table; raises ValueError for one that has no source, or more than one."""
    found = []
    for one in table["figure"]:
        kinds = [kind for kind in KINDS if kind in one]
        if len(kinds) != 1 or set(one) != {"text", *kinds}:
            raise ValueError(f"{one['text']!r}: give text and one of {', '.join(KINDS)}")
        named = one[kinds[0]]
        found.append(Entry(one["text"], kinds[0], [named] if isinstance(named, str) else named))
    return found


def of_page(name: str) -> list[Entry]:
    """Return the entries of the page *name*."""
    path = SOURCES / f"{name}.toml"
    return entries(tomllib.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def results(directory: Path = RESULTS) -> dict[str, float]:
    """Return every figure that a measurement left behind, as `file/name`."""
    files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.json"))}
    return {f"{stem}/{name}": figure["value"] for stem, kept in files.items() for name, figure in kept["figures"].items()}


def check(page: str, known: Sequence[Entry], measured: Mapping[str, float]) -> Found:
    """Compare the text of a *page* with its entries, and each entry with its source."""
    faults: list[str] = []
    used: set[str] = set()
    covered: list[range] = []
    for entry in known:
        matches = list(pattern(entry.text).finditer(page))
        if not matches:
            faults.append(f"not in the page: {entry.text!r}")
        covered += [range(*match.span()) for match in matches]
        if entry.kind in ("measured", "code"):
            used.update(entry.sources if entry.kind == "measured" else ())
            faults += [fault for match in matches for fault in _compared(entry, match, measured)]
        if entry.kind == "test" and not _is_there(entry.sources[0]):
            faults.append(f"no test {entry.sources[0]}: {entry.text!r}")
    faults += [f"has no source: {words}" for place, words in figures(page) if not any(place in span for span in covered)]
    return Found(faults, used)


def figures(page: str) -> Iterator[tuple[int, str]]:
    """Yield each figure of *page* with its place.

    A figure is a number with a unit, a decimal, a grouped number, or a number in a table beyond its first column.
    """
    text = _prose(page)
    for match in FIGURE.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        number, in_cell = match["number"], line.startswith("|") and line.count("|") > 1
        if match["unit"] or match["dollar"] or " " in number or "." in number or in_cell:
            yield match.start("number"), " ".join(page[max(0, match.start() - 40) : match.end() + 20].split())


def same(shown: str, value: float) -> bool:
    """Tell whether *shown* is *value*, rounded to the digits that it shows; of a large round number to three digits."""
    digits = shown.removesuffix("million").replace(" ", "").replace("\n", "")
    unit = 10.0 ** -len(digits.partition(".")[2]) if "." in digits else _last_place(digits)
    scale = 1e6 if shown.endswith("million") else 1.0
    return abs(float(digits) * scale - value) <= unit * scale / 2 + 1e-9 * abs(value)


def _last_place(digits: str) -> float:
    zeros = len(digits) - len(digits.rstrip("0"))
    return 10.0 ** max(0, min(zeros, len(digits) - 3)) if digits.strip("0") else 1.0


def _compared(entry: Entry, match: re.Match[str], measured: Mapping[str, float]) -> Iterator[str]:
    shown = match.groups()
    if len(shown) != len(entry.sources):
        yield f"{len(shown)} figures, {len(entry.sources)} sources: {entry.text!r}"
        return
    for words, source in zip(shown, entry.sources, strict=True):
        value = measured.get(source) if entry.kind == "measured" else _of_code(source)
        if value is None:
            yield f"no result has the name {source!r}: {entry.text!r}"
        elif not same(words, value):
            yield f"says {words}, {source} is {value:g}: {entry.text!r}"


def _is_there(test: str) -> bool:
    path, _, name = test.partition("::")
    return (ROOT / path).is_file() and f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def _of_code(source: str) -> float:
    module, _, expression = source.partition(":")
    value = float(eval(expression, dict(vars(importlib.import_module(module)))))  # noqa: S307 - the expressions are ours
    if not math.isfinite(value):
        raise ValueError(f"{source} is no number")
    return value


def pattern(text: str) -> re.Pattern[str]:
    """Return the expression for the words of an entry: any blanks between them, a number for each `{}`."""
    parts = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in text.split("{}")]
    number = "(" + NUMBER.replace(" ", r"\s") + r"(?:\smillion)?)"
    return re.compile(r"(?<![\d.])(?:" + number.join(parts) + r")(?!\d|\.\d| \d{3}\b)")


def _prose(page: str) -> str:
    """Return *page* with everything blanked that is code, a link's target, or a version; places stay what they are."""
    text = page
    for pattern in (r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)", r"(?m)^    .*$", VERSION.pattern):
        text = re.sub(pattern, lambda match: re.sub(r"[^\n]", "~", match[0]), text, flags=re.DOTALL if pattern.startswith("`") else 0)
    return text
