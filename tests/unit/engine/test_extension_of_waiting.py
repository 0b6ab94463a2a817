"""A message that is made to wait, and the beat of its batch that is under way."""

from dataclasses import replace
from typing import Any

from tests.unit.engine.gated import job
from tests.unit.engine.test_extending import Stage


def test_a_message_is_left_to_wait_only_between_two_extensions() -> None:
    """An extension that is under way when the message is left would arrive after its wake-up, and hide it again."""
    stage, busy = Stage(), list[bool]()

    class Queues:
        def hold(self, *_: Any) -> None:
            busy.append(stage.extending._deciding.locked())

    stage.extending._ports = replace(stage.ports, queues=Queues())  # type: ignore[arg-type]
    with stage.kept(job("a"), job("b")):
        stage.beat()
        stage.batch.leave(job("a").delivery)
        stage.beat()
    assert (busy, stage.extending._deciding.locked()) == ([True] * 3, False)
