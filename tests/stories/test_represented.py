"""Members that end in one batch and fill a join together: one of them answers for all, and none is done before that one is."""

from sedano import chord
from tests.stories.processes import COMMANDS, INVOCATION_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage
from tests.stories.taps import Watch, away, tapped

MEMBERS = 3


def test_when_the_body_cannot_be_read_every_member_that_filled_the_join_comes_again(stage: Stage, shop: Shop) -> None:
    """One that answered for the others may be unable to: its message was acknowledged by somebody who had a copy of it (by simulation)."""
    for failing in ("ledger.read_join", "queues.send"):
        processes = Processes(stage, shop.app)
        result = chord([shop.add.s(n, n) for n in range(MEMBERS)])(shop.total.s())
        processes.deliver()
        members = stage.ports.queues.receive(COMMANDS, MEMBERS)
        assert len(members) == MEMBERS
        looked = Watch(at=0, times=10**6, error=away, ports=frozenset({"queues"})) if failing == "queues.send" else _blind()
        worker, before = processes.another_worker(tapped(stage.ports, looked), "late"), len(stage.peek(COMMANDS))
        back = worker.work(members, stage.clock.now() + INVOCATION_S)
        assert looked.fired, looked.calls
        assert len(back) + len(stage.peek(COMMANDS)) - before == MEMBERS, f"{failing}: each comes again, in flight or sent anew"
        stage.ports.queues.delete([one for one in members if one not in back] or members[:1])
        stage.pass_time(1_000)
        processes.drain()
        assert result.get() == sum(2 * n for n in range(MEMBERS)), failing


def _blind() -> Watch:
    """Fail when the join is read: before that comes a call that claims, a record for each member, and the arrival."""
    return Watch(at=2 + MEMBERS, error=away, ports=frozenset({"ledger"}))
