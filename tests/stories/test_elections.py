"""Elections: one dispatch, whoever wins, dies or hears of it twice; and topics that run on the winner."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from sedano.engine.worker.pipeline import Worker
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.elections import CLOSED, OPEN, Election
from sedano.ports import Delivery
from tests.stories.processes import COMMANDS, INVOCATION_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, tapped


class Cluster:
    """Several workers on one queue, each called in turn; the ones in *dead* get nothing any more."""

    def __init__(self, stage: Stage, shop: Shop, size: int) -> None:
        """Start *size* workers and let each of them work once, so that all are members."""
        self.stage, self.shop = stage, shop
        self.processes = Processes(stage, shop.app)
        self.workers = [self.processes.another_worker(name=f"w{n}") for n in range(size)]
        self.served: list[str] = []
        for worker in self.workers:
            shop.add.delay(1, 1)
            self.serve(worker)

    def serve(self, worker: Worker, most: int = 1) -> Sequence[Delivery]:
        """Deliver up to *most* messages to *worker*."""
        deliveries = self.stage.ports.queues.receive(COMMANDS, most)
        if deliveries:
            back = {d.message_id for d in worker.work(deliveries, self.stage.clock.now() + INVOCATION_S)}
            self.stage.ports.queues.delete([d for d in deliveries if d.message_id not in back])
            self.served.append(worker.host.hostname)
        return deliveries

    def turns(self, *workers: int) -> None:
        """Deliver to these workers in turns until nothing is left, letting time pass."""
        for _ in range(500):
            if sum(len(self.serve(self.workers[n])) for n in workers):
                continue
            wait = self.stage.hidden_for([COMMANDS])
            if wait is None:
                return
            self.stage.pass_time(wait + 0.001)
        raise AssertionError("the election never ends")

    def open(self, worker: int = 0) -> None:
        """Let a worker receive what was asked for, so that the election is open and everybody is called."""
        self.serve(self.workers[worker])
        self.served.clear()

    def election(self, election_id: str) -> Election:
        """The election as it is now."""
        found = self.stage.ports.elections.read(election_id)
        assert found is not None
        return found


def test_one_worker_alone_elects_itself_and_dispatches_once(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 1)
    result = shop.pack.s("a").election()
    cluster.turns(0)
    assert result.get() == "a"
    assert shop.ran["pack"] == 1
    assert cluster.election(result.id).winner == "w0.1"


def test_every_live_worker_acknowledges_and_the_lowest_clock_wins(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 3)
    cluster.workers[0].lamport.adjust(int(stage.clock.now() * 1_000_000) + 100_000_000)
    result = shop.app.control.election("e1", "task", shop.pack.s("a"))
    cluster.turns(0, 1, 2)
    found = cluster.election("e1")
    assert (found.state, found.winner) == (CLOSED, "w1.1")
    assert found.candidates.keys() == found.need == {"w0.1", "w1.1", "w2.1"}
    assert (result.id, result.get(), shop.ran["pack"]) == ("e1", "a", 1)


def test_an_election_whose_candidates_are_gone_ends_when_its_time_is_over(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 3)
    result = shop.app.control.election("e1", "task", shop.pack.s("a"), timeout=7)
    began = stage.clock.now()
    cluster.turns(2)
    assert cluster.election("e1").candidates.keys() == {"w2.1"}
    assert result.get() == "a"
    assert shop.ran["pack"] == 1
    assert stage.clock.now() - began > 5, "on moto the machine's own time passes too"


def test_what_is_dispatched_runs_once_when_the_winner_is_dead(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 2)
    cluster.workers[1].lamport.adjust(int(stage.clock.now() * 1_000_000) + 100_000_000)
    shop.app.control.election("e1", "task", shop.pack.s("a"))
    cluster.open()
    cluster.serve(cluster.workers[0])
    cluster.turns(1)
    assert cluster.election("e1").winner == "w0.1"
    assert shop.ran["pack"] == 1


def test_an_election_that_is_asked_for_again_is_the_same_election(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 2)
    for _ in range(2):
        shop.app.control.election("e1", "task", shop.pack.s("a"))
    cluster.turns(0, 1)
    shop.app.control.election("e1", "task", shop.pack.s("b"))
    cluster.turns(0, 1)
    assert shop.ran["pack"] == 1


def test_a_fast_election_costs_one_write_and_dispatches_once(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 2)
    watch = Watch(ports=frozenset({"elections"}))
    worker = cluster.processes.another_worker(tapped(stage.ports, watch), "w9")
    result = shop.app.control.election("e1", "task", shop.pack.s("a"), mode="fast")
    cluster.serve(worker)
    assert watch.calls == ["elections.open"]
    cluster.turns(0, 1)
    assert result.get() == "a"
    assert (shop.ran["pack"], cluster.election("e1").winner) == (1, "w9.1")


def test_a_registration_is_one_write_and_a_close_one_transaction(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 2)
    watch = Watch(ports=frozenset({"elections"}))
    workers = [cluster.processes.another_worker(tapped(stage.ports, watch), name) for name in ("w0", "w1")]
    shop.app.control.election("e1", "task", shop.pack.s("a"))
    cluster.open()
    for worker in workers:
        cluster.serve(worker)
    assert watch.calls == ["elections.register", "elections.register", "elections.close"]


def test_a_topic_of_ones_own_is_handled_once_with_its_action(stage: Stage, shop: Shop) -> None:
    handled: list[Any] = []
    shop.app.election_topic("rotate")(handled.append)

    @shop.app.election_topic("later")
    async def later(action: Any) -> None:
        handled.append(action)

    cluster = Cluster(stage, shop, 2)
    shop.app.control.election("e1", "rotate", {"age": 30})
    shop.app.control.election("e2", "later", 7)
    cluster.turns(0, 1)
    assert sorted(handled, key=str) == [7, {"age": 30}]


def test_a_topic_that_must_run_on_the_winner_waits_for_it(stage: Stage, shop: Shop) -> None:
    shop.app.election_topic("lead", on_winner=True)(lambda action: action)
    cluster = Cluster(stage, shop, 3)
    result = shop.app.control.election("e1", "lead", "go")
    cluster.turns(0, 1, 2)
    assert result.get() == "go"
    found = cluster.election("e1")
    assert found.term == 0
    claimed_by = stage.ports.ledger.read([result.id])[result.id].owner
    assert claimed_by == found.winner


def test_when_the_winner_is_dead_its_successors_take_their_turns(stage: Stage, shop: Shop) -> None:
    shop.app.election_topic("lead", on_winner=True)(lambda action: action)
    cluster = Cluster(stage, shop, 3)
    result = shop.app.control.election("e1", "lead", "go")
    cluster.open()
    for worker in cluster.workers:
        cluster.serve(worker)
    order = sorted(cluster.election("e1").candidates, key=lambda name: cluster.election("e1").candidates[name])
    last = next(n for n, worker in enumerate(cluster.workers) if worker.host.hostname == order[-1])
    cluster.turns(last)
    assert result.get() == "go"
    assert (cluster.election("e1").winner, cluster.election("e1").term) == (order[-1], 2)


def test_when_every_candidate_is_dead_whoever_holds_the_message_leads(stage: Stage, shop: Shop) -> None:
    shop.app.election_topic("lead", on_winner=True)(lambda action: action)
    cluster = Cluster(stage, shop, 2)
    result = shop.app.control.election("e1", "lead", "go")
    cluster.open()
    for worker in cluster.workers:
        cluster.serve(worker)
    cluster.workers.append(cluster.processes.another_worker(name="new"))
    cluster.turns(2)
    assert result.get() == "go"
    assert (cluster.election("e1").winner, cluster.election("e1").term) == ("new.1", 2)


def test_a_task_may_ask_for_an_election_which_then_lasts_its_time(stage: Stage, shop: Shop) -> None:
    shop.task("ask", lambda: shop.pack.s("a").election(timeout=7).id)
    cluster = Cluster(stage, shop, 3)
    watch = Watch(ports=frozenset({"members"}))
    asked = shop.app.send_task("ask")
    cluster.serve(cluster.processes.another_worker(tapped(stage.ports, watch), "w9"))
    assert watch.calls == ["members.beat"]
    cluster.turns(0, 1, 2)
    assert cluster.election(asked.get()).candidates.keys() == {"w0.1", "w1.1", "w2.1"}
    assert shop.ran["pack"] == 1


@pytest.mark.parametrize("side", SIDES)
def test_an_asker_that_dies_at_any_call_has_asked_or_has_not_and_nothing_hangs(side: Side) -> None:
    counted = Watch(ports=OUTSIDE)
    asked(counted)
    assert counted.calls == ["members.read", "queues.send"]
    ended = [asked(Watch(at, side, ports=OUTSIDE)) for at in range(len(counted.calls))]
    assert ended == [False, side == "after"]


def asked(watch: Watch) -> bool:
    """Ask for an election with ports that break; tell whether it was held. It is never left open."""
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 1)
    processes.drain()
    shop.app.attach(tapped(stage.ports, watch))
    with suppress(Crash):
        shop.app.control.election("e1", "task", shop.pack.s("a"))
    shop.app.attach(stage.ports)
    processes.drain()
    found = stage.ports.elections.read("e1")
    assert found is None or found.state == CLOSED
    assert shop.ran["pack"] == (found is not None)
    return found is not None


def test_an_election_that_hangs_is_called_again_by_asking_again(stage: Stage, shop: Shop) -> None:
    cluster = Cluster(stage, shop, 2)
    result = shop.app.control.election("e1", "task", shop.pack.s("a"))
    cluster.open()
    stage.ports.queues.delete(stage.ports.queues.receive(COMMANDS, 10))
    stage.pass_time(11)
    stage.ports.queues.delete(stage.ports.queues.receive(COMMANDS, 10))
    assert cluster.election("e1").state == OPEN
    shop.app.control.election("e1", "task", shop.pack.s("b"))
    cluster.turns(0, 1)
    assert (result.get(), shop.ran["pack"]) == ("a", 1)


def test_a_crash_at_any_call_dispatches_neither_twice_nor_never() -> None:
    calls = crash_at(-1, "before")
    assert "elections.close" in calls
    for at in range(len(calls)):
        crash_at(at, "after")


def crash_at(at: int, side: Any) -> list[str]:
    """Hold an election among two workers that break at call *at*; new ones finish. Return the calls."""
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 1)
    processes.drain()
    result = shop.pack.s("a").election()
    watch = Watch(at, side, ports=OUTSIDE)
    processes.restart(tapped(stage.ports, watch))
    try:
        processes.drain()
    except Crash:
        processes.recover()
    assert result.state == states.SUCCESS
    assert shop.ran["pack"] <= 2
    assert stage.audit.effects()["pack", states.SUCCESS] == 1
    assert stage.ports.elections.read(result.id) is not None
    return watch.calls


def test_what_no_cluster_can_elect_is_refused_with_what_would_work(shop: Shop, stage: Stage) -> None:
    Processes(stage, shop.app)
    control = shop.app.control
    with pytest.raises(OptionError, match="election_topic"):
        control.election("e", "unknown", 1)
    with pytest.raises(OptionError, match="signature"):
        control.election("e", "task", "add")
    with pytest.raises(OptionError, match="900"):
        control.election("e", "task", shop.add.s(1, 1), timeout=901)
    with pytest.raises(OptionError, match="built in"):
        shop.app.election_topic("task")
