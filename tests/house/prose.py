"""Rules about the language of docstrings, messages and pages: plain technical English, as CONTRIBUTING describes it.

A rule is a regular expression for a construction that readers must translate. A text is a docstring, a string of at least three words in
the code (an error, a log line, a text of the command), a comment on its own line, or a paragraph of a page. Code in pages is not searched.

No text may have a hit.

    .venv/bin/python -m tests.house.prose                         # list all hits
    .venv/bin/python -m tests.house.prose docs/flow.md infra/     # list the hits of these files and folders
"""

import ast
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests.house.tree import LIBRARY, Source, sources

_SUBJECT = r"(?:^|(?<=[.;:!(|-]\s)|(?<=[.;:!]\n)|(?<=[\[(]))"
_VERB = r"(?:is|are|was|were|has|have|had|may|can|cannot|must|does|do|did|will|should|needs?|waits?|runs?|fails?|begins?|ends?|takes?)"
_MORE = r"(?:longer|more|later|earlier|older|other|fewer|less|such)"
PATTERNS: dict[str, tuple[re.Pattern[str], str]] = {
    name: (re.compile(expression, re.MULTILINE), instead)
    for name, expression, instead in (
        ("headless subject", _SUBJECT + r"(?:Who|Whose|What|Whatever|Whichever|That which)\b(?![^.;]*\?)", "name the subject"),
        ("headless clause", rf"(?:(?:[;:,(] |\band |\bbut |\bor )what(?:ever)?|[;:(] who) (?:\w+ )?{_VERB}\b", "name the subject"),
        ("whoever", r"\b[Ww]ho(?:m)?ever\b", "name the caller, the user, the worker"),
        ("is no", rf"(?<!here )\b(?:is|are|was|were|be|been|being) no\b(?! {_MORE}\b)", "is not a"),
        ("there is not", r"\b[Tt]here (?:is|are|was|were) (?:not|none)\b|\b[Nn]one (?:is|are|was|were)\b", "is missing; does not exist"),
        ("nobody", r"\b(?:[Nn]obody|[Ss]omebody)(?:'s|’s)?\b", "no worker, no caller; another user"),
        ("tell", r"\b(?:[Tt]ells?|[Tt]old|[Tt]elling)\b", "log, report, return, show, distinguish"),
        ("by itself", r"\bby (?:itself|themselves|himself)\b", "alone; automatically"),
        ("stand", r"\b(?:[Ss]tands?|[Ss]tood)\b", "is"),
        ("come", r"\b(?:[Cc]omes?|[Cc]ame|[Cc]oming)\b(?! (?:from|with|out)\b)", "arrive, follow"),
        ("inverted condition", r"(?:^|[.;:,|-] )(?:[Hh]ad|Were) (?:it|they|he|she|the|a|an|one)\b", "If it had …"),
        ("bear", r"\b(?:[Bb]ears?|bore|borne|[Bb]earing)\b", "carry, have"),
        ("of which", r"\bof (?:which|whom)\b", "whose; name the owner"),
        ("it is X that", r"\b[Ii]t is (?:only |not )?(?:the|a|an|this|its)\b[^.;:,]{1,40}\b(?:that|who|which)\b", "subject, verb, object"),
        ("neither at the end", r"(?<=\w )neither(?=[.;:,)]|$)", "nor does …; also does not"),
        ("ring", r"\b(?:rings?|rang)\b", "the alarm fires; alarms when …"),
    )
}
"""Each construction that the house does not use, and the words that replace it."""
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
CODE = ("layers/", "functions/", "glue_jobs/", "infra/")


class Text(NamedTuple):
    """A text of the tree: the line it begins in, and its words."""

    line: int
    words: str


def strings(source: Source) -> Iterator[Text]:
    """The docstrings of a module, its strings of at least three words, and its comments that fill a line."""
    documented = {id(node.value) for node in source.nodes if isinstance(node, ast.Expr)}
    inner = {id(part) for node in source.nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node}
    for node in source.nodes:
        text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if text and id(node) not in inner and isinstance(node, ast.expr):
            words = _words(node)
            if id(node) in documented or len(words.split()) >= 3:
                yield Text(node.lineno, words)
    yield from (Text(number, row.strip(" #")) for number, row in enumerate(source.text.splitlines(), 1) if row.lstrip().startswith("# "))


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)


def paragraphs(source: Source) -> Iterator[Text]:
    """The paragraphs, list items and table rows of a page, without its code."""
    held: list[str] = []
    first = 0
    fenced = False
    for number, row in enumerate([*source.text.splitlines(keepends=True), "\n"], 1):
        fence = row.lstrip().startswith("```")
        fenced ^= fence
        silent = fence or fenced or not row.strip() or (row.startswith("    ") and not held)
        if held and (silent or re.match(r"\s*(?:[-*#|]|\d+\.)\s?", row)):
            yield Text(first, re.sub(r"\s+", " ", "".join(held)).strip())
            held = []
        if not silent:
            first = first if held else number
            held.append(row)


def found(words: str) -> list[tuple[str, str]]:
    """The constructions in a text, each with its name and the words around it. Names in backticks are not searched."""
    words = re.sub(r"``?[^`\n]*``?", "`x`", words)
    words = re.sub(r"[ \t]*\n[ \t]*(?=[^\s-])", " ", re.sub(r"\n\s*\n", ".\n", words))
    hits = [(name, match) for name, (pattern, _) in PATTERNS.items() for match in pattern.finditer(words)]
    return [(name, words[max(0, match.start() - 30) : match.end() + 20].strip()) for name, match in hits]


def complaints(source: Source) -> list[str]:
    """Every construction in a file that the house does not use, with the words that replace it."""
    listed = paragraphs(source) if source.path.endswith(".md") else strings(source)
    hits = [(text.line, name, around) for text in listed for name, around in found(text.words)]
    return [f"{source.path}:{line}: {name!r} in “…{around}…”; write: {PATTERNS[name][1]}" for line, name, around in hits]


def is_judged(source: Source) -> bool:
    """Whether the language of a file is judged: code that is shipped, and pages."""
    if source.path.endswith(".md"):
        return source.path in PAGES or source.path.startswith("docs/")
    return source.path.endswith(".py") and source.path.startswith(CODE)


def main(places: list[str]) -> None:
    """Print the hits of the files below *places*, or of all files."""
    begins = tuple(place.replace("sedano/", LIBRARY, 1) if place.startswith("sedano/") else place for place in places or [""])
    for source in sources():
        if is_judged(source) and source.path.startswith(begins) and (found_here := complaints(source)):
            print(*found_here, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
