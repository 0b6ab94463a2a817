"""Random canvases do what they mean, in memory and on the simulator in bad weather; whoever wants thousands calls `scale`."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.canvas.mutants import ALWAYS, HASTY, STORMY
from tests.canvas.playing import in_memory, revoked_in_memory, sketched
from tests.canvas.shrinking import smallest, told
from tests.canvas.sketch import MOST, Drawing, Group, Sketch, Step
from tests.canvas.storm import CanvasWorld, scale
from tests.simulation.campaign import Tally, campaign, story

PLAYED, LARGE, REVOKED, STORMS = 400, 15, 100, 300
"""Canvases in memory; of full size; that are revoked while they run; in the storm."""
TROUBLED = ("ok",) * 6 + ("replace",) * 3 + ("retried", "fail", "fail", "rejected", "quiet", "once")
"""What tasks do where planted faults are searched for."""
MUST_FIRE = (
    "ClaimsStolen", "Duplicates", "TasksRetried", "duplicate message discarded", "follow-ups not sent; message is redelivered",
    "the publisher died", "nothing was published", "revoked while it ran",
    "a task with an id of its own",
)  # fmt: skip


def fault(sketch: Sketch) -> str:
    """Return what is wrong with the smallest sketch that fails as *sketch* does."""
    small = smallest(sketch, lambda one: bool(in_memory(one)))
    return "\n".join([told(small), *in_memory(small)])


@pytest.mark.parametrize("seed", range(0, PLAYED, 20))
def test_a_canvas_does_what_it_means(seed: int) -> None:
    for each in range(seed, seed + 20):
        sketch = sketched(each)
        assert in_memory(sketch, each) == [], f"seed {each}: {fault(sketch)}"


@pytest.mark.parametrize("seed", range(LARGE))
def test_a_large_canvas_does_what_it_means(seed: int) -> None:
    sketch = sketched(10_000 + seed, MOST)
    assert in_memory(sketch, seed) == [], f"seed {10_000 + seed}: {fault(sketch)}"


@pytest.mark.parametrize("seed", range(0, REVOKED, 20))
def test_a_canvas_that_is_revoked_while_it_runs_comes_to_rest_and_answers(seed: int) -> None:
    for each in range(seed, seed + 20):
        sketch = sketched(each, 30)
        assert revoked_in_memory(sketch, each) == [], f"seed {each}: {told(sketch)}"


@pytest.mark.parametrize("name", ["CallsTwice", "LosesAMember"])
def test_a_planted_fault_is_caught_when_a_canvas_is_revoked(name: str) -> None:
    """Not one that loses an arrival: whoever waits for it is revoked as well, and needs no arrival to end."""
    assert any(revoked_in_memory(sketched(seed, 30), seed, lambda world: ALWAYS[name](world.worker)) for seed in range(300))


@given(st.data())
@settings(max_examples=100)
def test_any_canvas_does_what_it_means(data: st.DataObject) -> None:
    sketch = Drawing(lambda n: data.draw(st.integers(0, n - 1)), most=20).sketch()
    assert in_memory(sketch) == [], told(sketch)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The storms of this run."""
    return scale(0, STORMS)


def test_a_canvas_does_what_it_means_in_any_weather(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(CanvasWorld, seed) for seed in list(tally.violations)[:3])


def test_every_kind_of_fault_struck_and_was_answered(tally: Tally) -> None:
    assert [name for name, count in tally.faults.items() if count == 0] == []
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []


def test_a_seed_decides_everything() -> None:
    assert [CanvasWorld(seed).run().digest() for seed in range(10)] == [CanvasWorld(seed).run().digest() for seed in range(10)]


@pytest.mark.parametrize("name", ALWAYS)
def test_a_planted_fault_is_caught(name: str) -> None:
    assert any(in_memory(sketched(seed, 20, TROUBLED), seed, lambda world: ALWAYS[name](world.worker)) for seed in range(300))


@pytest.mark.parametrize("name", HASTY)
def test_a_publisher_that_publishes_in_parts_is_caught_when_it_dies(name: str) -> None:
    plain = Group(tuple(map(Step, range(1, 6))))
    hasty = lambda seed, allowed: CanvasWorld(seed, allowed, sketch=plain, publishing=HASTY[name])  # noqa: E731 - a world of its own
    assert campaign(hasty, range(300), most=1).violations


@pytest.mark.parametrize("name", STORMY)
def test_a_planted_fault_is_caught_in_the_storm(name: str) -> None:
    assert campaign(lambda seed, allowed: CanvasWorld(seed, allowed, STORMY[name]), range(1_000), most=1).violations
