"""Random groups and chords mean the same in packs as one by one: the same ends, values, body and failures, whatever their members do."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from sedano import Retry, Sedano, chord, current, group, poisonous, testing
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Ignore, Reject, SedanoError
from sedano.model import packs

KINDS = (
    *("ok",) * 8, "retried", "retried", "tired", "poisonous", "ignored", "rejected", "publishes", "replaced", "revoked",
)  # fmt: skip
PLAYED = 240


def _app(runs: dict[int, int]) -> tuple[Sedano, Any, Any]:
    """Return an app, the task of its members, which counts its *runs*, and the body."""
    app = Sedano("packed")

    @app.task(name="noted")
    def noted(number: int) -> int:
        return number

    @app.task(name="member", retry=Retry(max_retries=2, interval_start=1, jitter=False), bind=True)
    def member(self: Any, number: int, kind: str) -> Any:
        runs[number] += 1
        _raise_as(kind, number)
        if kind == "publishes":
            noted.delay(number)
        if kind == "replaced":
            self.replace(noted.s(number))
        return [number, kind]

    @app.task(name="gathered")
    def gathered(values: list[Any]) -> Any:
        return [{"state": v["state"], "value": v.get("value")} if isinstance(v, dict) else v for v in values]

    return app, member, gathered


def _raise_as(kind: str, number: int) -> None:
    if kind == "tired" or (kind == "retried" and current().attempt < 2):
        raise RuntimeError(f"{number} is not ready")
    if kind == "poisonous":
        with poisonous():
            raise ValueError(f"{number} cannot")
    if kind in ("ignored", "rejected"):
        raise Ignore if kind == "ignored" else Reject("refused")


def played(kinds: Sequence[str], seed: int, pack: Any, *, body: bool, outcomes: bool) -> dict[str, Any]:
    """Play a group whose members are of these *kinds* and return what it came to."""
    runs = dict.fromkeys(range(len(kinds)), 0)
    app, member, gathered = _app(runs)
    with testing.world(app, seed=seed, settings=WorkerSettings(lanes=0)) as world:
        members = [member.s(number, kind) for number, kind in enumerate(kinds)]
        told = "outcomes" if outcomes else "fail"
        form: Any = chord(members, gathered.s(), on_failure=told, pack=pack) if body else group(members, pack=pack)
        result = form.delay()
        header = result.parent if body else result
        assert bool(packs.size_of(header.id)) == bool(pack)
        for number in (number for number, kind in enumerate(kinds) if kind == "revoked"):
            header[number].revoke()
        world.drain()
        ends = [(one.state, _value(one)) for one in header]
        parked = sorted(message.attributes["reason"] for message in world.parked())
        ended = (result.state, _value(result)) if body else None
        if ended is not None and ended[0] != "SUCCESS":
            # Which member failed first may differ: one that was revoked ends when its pack begins, one that left ends later.
            assert ended[1] in [value for _, value in ends]
            ended = ("failed", None)
        return {"ends": ends, "body": ended, "parked": parked, "runs": runs}


def _value(result: Any) -> Any:
    try:
        return result.get(timeout=1)
    except SedanoError as error:
        return type(error).__name__, str(error).partition("(task")[0].partition("task ")[0]


@pytest.mark.parametrize("block", range(0, PLAYED, 40))
def test_a_group_in_packs_means_the_same_as_one_without(block: int) -> None:
    seen: set[str] = set()
    for seed in range(block, block + 40):
        dice = Random(f"packed {seed}")
        kinds = [dice.choice(KINDS) for _ in range(dice.randint(1, 14))]
        form = {"body": dice.random() < 0.7, "outcomes": dice.random() < 0.5}
        plain, packed = played(kinds, seed, False, **form), played(kinds, seed, dice.choice((2, 4, 8)), **form)
        runs, more = plain.pop("runs"), packed.pop("runs")
        assert packed == plain, f"seed {seed}: {kinds}"
        assert more == runs, f"seed {seed}: {kinds}"
        seen |= set(kinds)
    assert len(seen) > 8
