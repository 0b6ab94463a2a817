"""The rules of axe that need no browser, for every page and preview: names of fields and links, order of headings, references, contrast."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from sedano.web.changes import Change
from sedano.web.respond import asset
from tests.stories.shopfront import ID, PAGES, Elements, Shop, opened

PREVIEWS = tuple(
    one.address
    for one in (
        Change("retry", "id", ID), Change("revoke", "id", "later"), Change("pause", "queue", "default"),
        Change("limit", "rate", "shopfront.weigh"), Change("limit", "rate", "shopfront.weigh", "10/m"), Change("redrive", "all", "all"),
        Change("retry", "edited", "odd"), Change("release", "lock", "nightly", "1"),
    )
)  # fmt: skip
FIELDS = ("input", "select", "textarea")
LEAST_CONTRAST = 4.5
"""WCAG 2.2, criterion 1.4.3 (AA), for text of the normal size."""
ON = {
    "page": ("ink", "soft", "leaf", "good", "bad", "run"), "card": ("ink", "soft", "leaf", "good", "bad", "warn", "run"), "leaf": ("card",),
}  # fmt: skip
"""The colours of texts by that of what is behind them."""


class Outline(Elements):
    """Reads a page; *named* are its links, buttons and headings with the text within, *labelled* the fields within a label."""

    def __init__(self, text: str) -> None:
        """Read *text*."""
        self.named: list[tuple[str, Mapping[str, Any], list[str]]] = []
        self.labelled: list[Mapping[str, Any]] = []
        self._within: list[list[str]] = []
        super().__init__(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin to collect the text of an element that must have a name."""
        super().handle_starttag(tag, attrs)
        self._field(tag)
        if tag in ("a", "button", "summary") or re.fullmatch("h[1-6]", tag):
            self._within.append([])
            self.named.append((tag, self.found[-1][1], self._within[-1]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a field within a label."""
        super().handle_startendtag(tag, attrs)
        self._field(tag)

    def _field(self, tag: str) -> None:
        if tag in FIELDS and "label" in self.open:
            self.labelled.append(self.found[-1][1])

    def handle_endtag(self, tag: str) -> None:
        """End the text of an element."""
        super().handle_endtag(tag)
        if tag in ("a", "button", "summary") or re.fullmatch("h[1-6]", tag):
            self._within.pop()

    def handle_data(self, data: str) -> None:
        """Add text to all that it is within."""
        super().handle_data(data)
        for texts in self._within:
            texts.append(data)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """The pages of one world, with changes; no test of this module makes one."""
    with opened(actions=True) as found:
        yield found


def faults(page: Outline) -> list[str]:
    """Return what a person with a screen reader or a keyboard would miss on *page*."""
    ids = {one["id"] for _, one in page.found if "id" in one}
    references = {one[name] for _, one in page.found for name in ("for", "aria-describedby", "aria-labelledby") if name in one}
    hidden = {id(one) for _, one in page.found if one.get("type") == "hidden"}
    fields = [one for tag, one in page.found if tag in FIELDS and id(one) not in hidden]
    labelled = {id(one) for one in page.labelled}
    levels = [int(tag[1]) for tag, *_ in page.named if tag[0] == "h" and tag[1:].isdigit()]
    tags = [tag for tag, _ in page.found]
    return [
        *(f"nothing has the id {one}" for one in sorted(references - ids)),
        *(f"a field without a name: {one}" for one in fields if not one.get("aria-label") and id(one) not in labelled),
        *(f"<{tag}> without a text: {one}" for tag, one, texts in page.named if not one.get("aria-label") and not "".join(texts).strip()),
        *(f"a heading of level {low} is followed by one of level {high}" for low, high in pairwise(levels) if high > low + 1),
        *(["not exactly one h1"] if levels.count(1) != 1 or levels[0] != 1 else []),
        *(f"{tags.count(one)} of <{one}>" for one in ("main", "header", "footer", "title") if tags.count(one) != 1),
        *(["the document has no language"] if not dict(page.found[0][1]).get("lang") else []),
        *(f"a drawing without a name: {one}" for tag, one in page.found if tag == "svg" and not {"aria-label", "aria-hidden"} & one.keys()),
        *(f"a head of a table without a scope: {one}" for tag, one in page.found if tag == "th" and "scope" not in one),
        *(f"a tabindex above 0: {one}" for _, one in page.found if int(one.get("tabindex", 0)) > 0),
    ]  # fmt: skip


@pytest.mark.parametrize("target", [*PAGES, *PREVIEWS])
def test_every_field_link_heading_and_drawing_has_a_name(shop: Shop, target: str) -> None:
    assert faults(Outline(shop.html(target))) == []


@pytest.mark.parametrize(
    ("good", "bad", "fault"),
    [
        ('aria-label="Search tasks"', "", "a field without a name"), ("<h1>", "<h4>x</h4><h1>", "not exactly one h1"),
        (' lang="en"', "", "no language"), ("<h2>", "<h5>x</h5><h2>", "level 1 is followed by one of level 5"),
        ('href="/failures"', 'href="/failures" aria-describedby="nowhere"', "nothing has the id nowhere"),
        (">Failures</a>", "></a>", "<a> without a text"), ('scope="col"', "", "without a scope"),
        ('tabindex="0"', 'tabindex="3"', "above 0"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(shop: Shop, good: str, bad: str, fault: str) -> None:
    page = shop.html("/")
    assert good in page
    found = faults(Outline(page.replace(good, bad, 1)))
    assert any(fault in one for one in found), found


def colours() -> dict[str, tuple[str, str]]:
    """Return the light and the dark value of each colour of the style sheet."""
    text = asset("app.css").decode()
    return {name: (light, dark) for name, light, dark in re.findall(r"--(\w+):light-dark\((#\w+),(#\w+)\)", text)}


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rgb`` or ``#rrggbb`` (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * one for one in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read_on_what_is_behind_it(scheme: int) -> None:
    known = colours()
    assert set(known) >= {*ON, *(one for some in ON.values() for one in some)}
    found = {f"{text} on {back}": contrast(known[text][scheme], known[back][scheme]) for back, some in ON.items() for text in some}
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < LEAST_CONTRAST} == {}


def test_the_contrast_of_black_and_white_is_21() -> None:
    assert (round(contrast("#000", "#ffffff"), 2), round(contrast("#777777", "#fff"), 2)) == (21.0, 4.48)
