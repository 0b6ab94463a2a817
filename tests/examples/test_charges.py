"""The cost page against a count: what the work of the demo is charged for, at one message a batch and at ten."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from benchmarks import tasks as plain
from examples.census import tasks
from examples.census.sources import SourceFile, choose, site_packages
from infra import task_cost
from infra.prices import MILLION
from infra.task_cost import Item, Shape, Stage
from sedano import chain, chord, group
from sedano.engine.canvas.page_entries import INLINE_ARGUMENTS
from sedano.model.canvas.page_reader import PAGE_MEMBERS
from sedano.model.canvas.pages import PAGE_BYTES
from sedano.model.messages.codec import encode_data
from tests.examples.charges import WRITE_UNIT, deployed, dollars

BATCHES = (1, 10)
RECORDS = 100
FILES = 60
KINDS = {
    "sqs": ("published", "received", "history events"), "invocation": ("worker invoked", "recorder invoked", "router invoked"),
    "write": ("ledger", "joins"), "put": ("history kept", "arguments"),
}  # fmt: skip


def stage_of(batch: int) -> Stage:
    """A stage whose Lambda hands over so many messages at once."""
    return Stage((), batch, RECORDS, 0.5)


def requests(items: list[Item], number: float) -> float:
    """The dollars of *number* of the million that *items* are of, without what is not metered: compute and logs."""
    return sum(item.dollars for item in items if "GB" not in item.name) * number / MILLION


def of_kind(items: list[Item], kind: str) -> float:
    """How much of a kind the page counts for a million."""
    return sum(item.amount for item in items if item.name.startswith(KINDS[kind]))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("together", [1, 10])
def test_the_page_counts_of_small_tasks_what_they_are_charged_for(batch: int, together: int) -> None:
    number = 100
    with deployed(plain.app) as stage:
        for _ in range(number // together):
            if together == 1:
                plain.add.delay(1, 2)
                continue
            with plain.app.batch():
                for n in range(together):
                    plain.add.delay(n, 1)
        stage.drain(batch, RECORDS)
    said = task_cost.tasks(stage_of(batch), "claimed", together)
    assert requests(said, number) == pytest.approx(dollars(stage.meter.charged), rel=0.10)
    for kind in ("sqs", "invocation", "write"):
        assert of_kind(said, kind) * number / MILLION == pytest.approx(stage.meter.charged[kind], rel=0.10), kind


class Census(NamedTuple):
    """A census that was counted: how many messages an invocation had, what was charged, and what its members were like."""

    batch: int
    charged: Counter[str]
    shape: Shape


def test_the_page_counts_of_chains_that_stay_what_they_are_charged_for() -> None:
    chains, length = 10, 10
    with deployed(plain.app) as stage:
        for _ in range(chains):
            chain(plain.add.s(0, 1), *(plain.add.s(1) for _ in range(length - 1))).delay()
        stage.drain(1, RECORDS)
    said = task_cost.links(stage_of(1), length)
    assert requests(said, chains * length) == pytest.approx(dollars(stage.meter.charged), rel=0.10)
    for kind in ("sqs", "invocation", "write"):
        assert of_kind(said, kind) * chains * length / MILLION == pytest.approx(stage.meter.charged[kind], rel=0.10), kind


@pytest.mark.parametrize("pack", [8, 32])
def test_the_page_counts_of_members_in_packs_what_they_are_charged_for(pack: int) -> None:
    number = 2_000
    with deployed(plain.app) as stage:
        for _ in range(4):
            group((plain.add.s(n, 1) for n in range(number // 4)), pack=pack).delay()
        stage.drain(10, RECORDS)
    said = task_cost.members(stage_of(10), pack)
    assert of_kind(said, "write") * number / MILLION == pytest.approx(stage.meter.charged["write"], rel=0.10)
    assert requests(said, number) == pytest.approx(dollars(stage.meter.charged), rel=0.10)


@pytest.fixture(scope="module", params=BATCHES)
def census(request: pytest.FixtureRequest) -> Iterator[Census]:
    """The census of the demo, without its chaos, on metered functions."""
    files = choose(site_packages(), FILES)
    with deployed(tasks.app) as stage:
        result = chord([tasks.measure.s(file.path, file.text, file.trouble) for file in files])(tasks.summarise.s())
        stage.drain(request.param, RECORDS)
        assert result.get(timeout=0)["files"] == FILES
        sizes = stage.records(tasks.measure.name)
        assert len(sizes) == FILES
        yield Census(request.param, stage.meter.charged, shape_of(files, sizes))


def test_the_page_counts_of_the_demo_what_it_is_charged_for(census: Census) -> None:
    stage = stage_of(census.batch)
    members = task_cost.tasks(stage, "claimed", 10, shape=census.shape)
    called = task_cost.tasks(stage, "claimed", min(10, 2 * census.batch))
    told = task_cost.events(stage, census.batch)
    said = requests(members, FILES) + requests(told, FILES) + requests(called, 2 * FILES + 1)
    assert said == pytest.approx(dollars(census.charged), rel=0.10)
    for kind in ("sqs", "invocation", "write", "put"):
        amount = (of_kind(members, kind) * FILES + of_kind(told, kind) * FILES + of_kind(called, kind) * (2 * FILES + 1)) / MILLION
        assert amount == pytest.approx(census.charged[kind], rel=0.13), f"{kind}; the last batches are not full"


def test_without_its_chord_and_its_sizes_the_demo_costs_more_than_the_page_would_say(census: Census) -> None:
    plain_tasks = task_cost.tasks(stage_of(census.batch), "claimed", 10)
    assert 3 * requests(plain_tasks, FILES) < 0.85 * dollars(census.charged)


def test_a_page_of_a_canvas_is_as_large_as_the_cost_page_says() -> None:
    assert (task_cost.PAGE_BYTES, task_cost.PAGE_MEMBERS) == (PAGE_BYTES, PAGE_MEMBERS)


def shape_of(files: list[SourceFile], records: list[int]) -> Shape:
    """What a member of the census is like, by its files and the bytes of its records."""
    data = [len(encode_data((file.path, file.text, file.trouble), {})) for file in files]
    inline = [size for size in data if size <= INLINE_ARGUMENTS]
    units = [-(-size // WRITE_UNIT) for size in records]
    return Shape(700 + sum(inline) / FILES, sum(units) / FILES, in_chords=1, in_s3=1 - len(inline) / FILES)
