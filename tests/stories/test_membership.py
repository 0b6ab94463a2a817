"""Membership: workers join, beat, leave and are lost; one that is scaled to zero is idle, never lost."""

from collections import Counter

import pytest

from sedano.model.cluster.members import ACTIVE, IDLE, LEFT, LOST
from sedano.ports import MemberRecord, Ports
from sedano.views.cluster import cluster
from tests.stories.kept import lines
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage


class Killed(BaseException):
    """The worker's process is gone."""


def states_of(shop: Shop) -> dict[str, str]:
    """Each member's state now."""
    return {member.name: member.state for member in shop.app.control.members()}


def kill_once(shop: Shop) -> None:
    """Declare a task that kills its worker the first time."""

    def die() -> str:
        if shop.ran["die"] == 1:
            raise Killed
        return "done"

    shop.task("die", die)


def test_a_worker_joins_with_its_first_batch_and_is_idle_when_there_is_no_more_work(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    assert states_of(shop) == {}
    shop.add.delay(1, 1)
    processes.drain()
    assert states_of(shop) == {"worker.1": ACTIVE}
    stage.pass_time(100_000)
    assert states_of(shop) == {"worker.1": IDLE}
    (member,) = shop.app.control.members()
    assert member.alive
    assert member.holds == ()
    assert [line["hostname"] for line in lines(stage, "worker-online")] == ["worker.1"]


def test_a_worker_writes_one_heartbeat_and_reads_one_hello_in_an_interval_however_much_it_works(stage: Stage, shop: Shop) -> None:
    asked: Counter[str] = Counter()
    processes = Processes(stage, shop.app)
    processes.restart(counted(stage.ports, asked))
    for _ in range(6):
        shop.add.delay(1, 1)
        processes.drain()
        stage.pass_time(19.0)
    assert asked == {"beat": 2, "read": 2}
    assert len(lines(stage, "worker-heartbeat")) == 1


def test_a_worker_that_died_with_a_claim_is_lost_and_told_when_its_claim_is_taken_over(stage: Stage, shop: Shop) -> None:
    kill_once(shop)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("die")
    with pytest.raises(Killed):
        processes.drain()
    stage.pass_time(100.0)
    (member,) = shop.app.control.members(stale=60.0)
    assert (member.state, member.holds) == (LOST, (result.id,))
    processes.recover()
    assert result.get() == "done"
    assert states_of(shop) == {"worker.1": LOST, "worker.2": ACTIVE}
    (lost,) = lines(stage, "worker-lost")
    assert (lost["hostname"], lost["told_by"]) == ("worker.1", "worker.2")
    stage.pass_time(100_000)
    assert states_of(shop) == {"worker.1": LOST, "worker.2": IDLE}


def test_a_worker_that_died_with_nothing_in_flight_is_idle(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 1)
    processes.drain()
    processes.restart()
    stage.pass_time(100_000)
    assert states_of(shop) == {"worker.1": IDLE}


def test_a_worker_that_leaves_says_so(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 1)
    processes.drain()
    processes.worker.leave()
    processes.drain()
    assert states_of(shop) == {"worker.1": LEFT}
    assert [line["hostname"] for line in lines(stage, "worker-offline")] == ["worker.1"]


def test_a_new_worker_starts_with_the_clock_of_the_cluster(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.app.outlet.lamport.adjust(int(stage.clock.now() * 1_000_000) + 200_000_000)
    shop.app.control.revoke_by_header("tenant", "x")
    clock = shop.app.control.hello().clock
    shop.app.attach(stage.ports)
    shop.add.delay(1, 1)
    processes.drain()
    assert processes.worker.lamport.value > clock


def test_the_view_of_the_cluster_shows_who_works_and_what_became_of_the_tasks(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    added = shop.add.delay(1, 1)
    processes.drain()
    stage.pass_time(1.0)
    failed = shop.fails.delay()
    processes.drain()
    view = cluster(stage.ports)
    assert [(member.name, member.state) for member in view.members] == [("worker.1", ACTIVE)]
    assert [(task.uuid, task.state) for task in view.latest] == [(failed.id, "FAILURE"), (added.id, "SUCCESS")]
    assert (view.by_state, view.by_type) == ({"FAILURE": 1, "SUCCESS": 1}, {"add": 1, "fails": 1})
    assert (view.by_worker, view.unreadable) == ({"worker.1": 2}, 0)
    assert cluster(stage.ports, latest=1).latest == view.latest[:1]
    assert cluster(stage.ports) == view


def counted(ports: Ports, asked: Counter[str]) -> Ports:
    """Return *ports* with the members and the control record counting what is asked of them."""

    class Members:
        def beat(self, member: MemberRecord) -> None:
            asked["beat"] += 1
            ports.members.beat(member)

        read = ports.members.read
        lose = ports.members.lose

    class Control:
        def read(self) -> object:
            asked["read"] += 1
            return ports.control.read()

        change = ports.control.change

    every = {name: getattr(ports, name) for name in ports.__slots__}
    return Ports(**{**every, "members": Members(), "control": Control()})
