"""The colours of the states of steps, for light and dark backgrounds; the same in every picture."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Colour(NamedTuple):
    """The background and the border of a box, and its background on a dark page."""

    fill: str
    line: str
    dark: str


COLOURS: Mapping[str, Colour] = MappingProxyType({
    "WAITING": Colour("#f4f5f7", "#9aa3b2", "#262b36"), "READY": Colour("#eef4ff", "#6b8fd6", "#1f2c47"),
    "RUNNING": Colour("#dbe9ff", "#2f6fed", "#173a75"), "RETRYING": Colour("#fff3d6", "#d18a00", "#4d3a10"),
    "SUCCEEDED": Colour("#dff5e5", "#2a9d57", "#12412a"), "FAILED": Colour("#fde2e1", "#d33a32", "#571c1a"),
    "SKIPPED": Colour("#fafafa", "#b7bdc9", "#20242d"), "CANCELLED": Colour("#e9ebef", "#7c8596", "#30363f"),
    "NOT_RUN": Colour("#f4f5f7", "#9aa3b2", "#262b36"),
    "COMPENSATING": Colour("#efe5ff", "#8a4fe0", "#38235c"), "COMPENSATED": Colour("#f3edff", "#a07fdc", "#30254a"),
    "COMPENSATION_FAILED": Colour("#fbdcec", "#c2266f", "#541434"),
})  # fmt: skip
