"""Random canvases in which users gave ids to half of the tasks: each of these ids tells how its task ended, and nothing else changes."""

import pytest

from tests.canvas.playing import owned_in_memory, sketched
from tests.canvas.shrinking import smallest, told

CANVASES = 150


@pytest.mark.parametrize("block", range(3))
def test_every_id_that_a_user_gave_tells_how_its_task_ended(block: int) -> None:
    for seed in range(block * CANVASES, (block + 1) * CANVASES):
        sketch = sketched(seed)
        if owned_in_memory(sketch, seed):
            least = smallest(sketch, lambda smaller, seed=seed: bool(owned_in_memory(smaller, seed)))  # type: ignore[misc]
            pytest.fail(f"seed {seed}: {told(least)}: {owned_in_memory(least, seed)}")
