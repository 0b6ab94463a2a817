"""The HTML of the report: one self-contained page with its style, and the elements of its sections.

Every function returns HTML; all text from outside is escaped by `text`.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5d6778; --line: #e1e5ec; --paper: #f5f6f9; --card: #fff; --good: #14804a;
  --bad: #c62f3b; --a: #3d6fd6; --b: #d98a1f; --c: #2f9e8f; --d: #8d5fc9; --back: #dde5f5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #9aa5b6; --line: #313a49; --paper: #141921; --card: #1c232e;
  --good: #4cc38a; --bad: #ff7078; --a: #6f9cf5; --b: #eeb04d; --c: #54c7b6; --d: #b48cf0; --back: #2b3648; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 20px 64px; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 8px; letter-spacing: -.02em; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 0 0 4px; letter-spacing: -.01em; }
p { margin: 0 0 16px; max-width: 72ch; } .soft, .note { color: var(--soft); } .note { font-size: .9rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 22px 24px; margin-top: 20px; }
.verdict { font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px; margin-top: 24px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 14px 16px; }
.tile b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: .82rem; white-space: nowrap; }
th, td { padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; } tr:last-child td { border-bottom: 0; }
.scroll + .scroll { margin-top: 18px; } th.n:first-child { width: 64px; }
.n { text-align: right; white-space: nowrap; } .path { overflow-wrap: anywhere; } code { font-size: .9em; }
.bars { display: grid; grid-template-columns: fit-content(55%) 1fr auto; gap: 5px 12px; align-items: center; font-size: .92rem; }
.bars > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.bars .bar { height: 12px; border-radius: 3px; background: var(--a); min-width: 2px; } .bars .n { color: var(--soft); }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 20px; } .two section { min-width: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: .85rem; color: var(--soft); margin: 8px 0 12px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
svg { display: block; width: 100%; min-width: 760px; height: auto; } svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
footer { color: var(--soft); font-size: .85rem; margin-top: 28px; }
@media (max-width: 720px) { main { padding: 24px 14px 40px; } h1 { font-size: 1.55rem; } section { padding: 18px 16px; }
  .two { grid-template-columns: 1fr; gap: 0; } }
"""


def text(value: object) -> str:
    """Return *value* as text that is safe anywhere in the page; whole numbers get thousands separators."""
    return html.escape(f"{value:,}" if isinstance(value, int) else str(value))


def path(value: str) -> str:
    """Return a path that may wrap after its slashes."""
    return f'<span class="path">{text(value).replace("/", "/<wbr>")}</span>'


def document(title: str, body: Iterable[str]) -> str:
    """Return the whole page."""
    view = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f"<head>{view}<title>{text(title)}</title><style>{STYLE}</style></head>"
    return "\n".join(["<!doctype html>", f'<html lang="en">{head}<body><main>', *body, "</main></body></html>", ""])


def section(title: str, note: str, *content: str) -> str:
    """Return a section with a note about its contents."""
    return f'<section><h2>{text(title)}</h2><p class="note">{text(note)}</p>{"".join(content)}</section>'


def tiles(figures: Iterable[tuple[str, object, str]]) -> str:
    """Return key figures: a value, its label, and a class for its colour (may be empty)."""
    shown = [f'<div class="tile"><b class="{mood}">{text(value)}</b><span>{text(label)}</span></div>' for label, value, mood in figures]
    return f'<div class="tiles">{"".join(shown)}</div>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a column whose name ends in # holds numbers. Cells are HTML already (see `text`)."""
    classes = [' class="n"' if column.endswith("#") else "" for column in columns]
    named = zip(classes, columns, strict=True)
    head = "".join(f"<th{c}>{text(name.rstrip('#'))}</th>" if name else f"<td{c}></td>" for c, name in named)
    body = "".join(f"<tr>{''.join(f'<td{c}>{cell}</td>' for c, cell in zip(classes, row, strict=True))}</tr>" for row in rows)
    return scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", ", ".join(filter(None, columns)))


def scrolling(drawn: str, name: str) -> str:
    """Return *drawn* so that a narrow screen scrolls it, by keyboard as well."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{text(name.replace("#", ""))}">{drawn}</div>'


def bars(values: Sequence[tuple[str, float, str]]) -> str:
    """Return horizontal bars: a label, a length, and the text after the bar."""
    longest = max((length for _, length, _ in values), default=1) or 1
    shown = []
    for label, length, tail in values:
        bar = f'<div class="bar" style="width:{100 * length / longest:.1f}%"></div>'
        shown.append(f'<span title="{text(label)}">{text(label)}</span>{bar}<span class="n">{text(tail)}</span>')
    return f'<div class="bars">{"".join(shown)}</div>'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Return a legend: CSS colours with their labels."""
    return f'<div class="legend">{"".join(f"<span><i style=background:{c}></i>{text(words)}</span>" for c, words in entries)}</div>'


def duration(seconds: float | None) -> str:
    """Return *seconds* in a readable unit; a dash for None."""
    if seconds is None:
        return "–"
    if seconds >= 0.9995:
        return f"{seconds:.1f} s"
    if seconds >= 0.00995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.0001 else "< 0.1 ms"
