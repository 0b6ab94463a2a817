"""The figures that a release is judged by, under short names: build/bench/summary.json.

Those of time are ratios between processes that are measured in turns, or CPU; those of money are list prices (`infra/prices.py`). A figure
whose measurement did not run is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import cold, handler_loopback, publishing
from benchmarks.report import Section
from infra.task_cost import Shape, Stage, links, members, tasks, total

STAGE = Stage((), batch=10, records=100, memory_gb=0.5)
"""The smallest stage: messages of ten in a batch, 512 MB."""
CHAIN = 10
PACK = 32
"""The pack that `pack=True` makes of short tasks."""
HANDLERS = {
    "claimed": handler_loopback.SLIM, "claimed_grouped": handler_loopback.SLIM_GROUPED, "claimed_botocore": handler_loopback.OURS,
}  # fmt: skip
"""The handlers whose CPU has short names: as a stage has it, with group commit, and with botocore instead of the slim client."""
NAMES = {
    **{f"{short}_us": name for short, name in HANDLERS.items()},
    **{f"{short}_over_powertools": f"{name}, {handler_loopback.OF[handler_loopback.PEER]}" for short, name in HANDLERS.items()},
    **{f"{short}_over_plain_put": f"{name}, {handler_loopback.OF[handler_loopback.PUT]}" for short, name in HANDLERS.items()},
    "publisher_over_by_hand": publishing.RELATIVE,
    "cold_over_boto3": cold.RELATIVE,
}
"""The short name of an entry that is measured."""
TITLES = {handler_loopback.TITLE, publishing.TITLE, cold.TITLE}
"""The sections of these entries: other sections have entries of the same names."""


def summary(sections: Sequence[Section], as_they_are: Section) -> dict[str, object]:
    """Return the figures of *sections* by short names, those of *as_they_are* by their own names, and the dollars of a million."""
    titles = [section for section in sections if section.title in TITLES]
    by_name = {entry.name: entry.value for section in titles for entry in section.entries}
    found: dict[str, object] = {short: by_name[name] for short, name in NAMES.items() if name in by_name}
    return found | {entry.name: entry.value for entry in as_they_are.entries} | {"dollars": dict(dollars())}


def dollars() -> Mapping[str, float]:
    """Return the price of a million tasks by their kind: published in tens and received in tens, and links of chains that are alone."""
    by_delivery = {way: total(tasks(STAGE, way, 10)) for way in ("at_least_once", "record_once", "claimed")}
    member = total(tasks(STAGE, "claimed", 10, shape=Shape(in_chords=1)))
    return {**by_delivery, "group_member": total(members(STAGE, PACK)), "chord_member": member, "chain_link": total(links(STAGE, CHAIN))}
