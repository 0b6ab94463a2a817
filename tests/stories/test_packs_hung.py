"""Stories of packs one of whose bodies does not end: its neighbours keep their ends, and the others run once, alone."""

from typing import Any

from sedano.engine.task_context import CURRENT
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import packs, states
from sedano.model.packs import LEFT_FENCE
from sedano.model.retry import Retry
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS, LONG_S
from tests.stories.taps import Crash

HUNG = 2


def _hung(crate: Crate, beside: Any) -> None:
    """Let the body of one member call *beside*, as another thread would while it does not end, the first time that it runs."""

    def during(number: int) -> None:
        if number == HUNG and crate.bodies[HUNG] == 1:
            beside()

    crate.during = during


def test_a_pack_whose_worker_is_cut_keeps_the_ends_of_its_members() -> None:
    crate = Crate(settings=WorkerSettings(lanes=0, visibility=30.0))
    _hung(crate, crate.processes.worker.cut)
    result = crate.chord(4)
    crate.processes.drain()
    assert (result.get(timeout=1), crate.sums) == (14, [[0, 1, 4, 9]])
    assert crate.bodies == {0: 1, 1: 1, 2: 2, 3: 1}, "a body that does not end runs again, as one without a pack"
    record = crate.stage.ports.ledger.read([result.parent[3].id])[result.parent[3].id]
    assert record.fence == LEFT_FENCE, "it began alone"


def test_a_member_that_is_terminated_in_a_body_that_does_not_end_is_revoked_alone() -> None:
    crate = Crate(settings=WorkerSettings(lanes=0, visibility=30.0))

    def terminated() -> None:
        result[HUNG].revoke(terminate=True)
        crate.processes.worker.cut()
        raise Crash

    _hung(crate, terminated)
    result = crate.group(4)
    crate.processes.deliver()
    try:
        crate.processes.deliver()
    except Crash:
        crate.stage.pass_time(LONG_S)
    crate.processes.recover()
    assert [one.state for one in result] == ["SUCCESS", "SUCCESS", "REVOKED", "SUCCESS"]
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1}


def test_a_body_that_does_not_end_at_its_hard_limit_fails_alone() -> None:
    crate = Crate(time_limit=20, retry=Retry(max_retries=0))

    def overdue() -> None:
        context = CURRENT.get()
        assert context is not None
        assert context.limits is not None
        context.limits._overdue()
        raise Crash

    _hung(crate, overdue)
    result = crate.group(4)
    crate.processes.deliver()
    pack = packs.pack_id(str(result.id), 0)
    try:
        crate.processes.deliver()
    except Crash:
        assert crate.stage.ports.ledger.read([pack])[pack].state == states.SUCCESS, "it is recorded before the process ends"
    crate.stage.pass_time(LONG_S)
    crate.processes.recover()
    assert [one.state for one in result] == ["SUCCESS", "SUCCESS", "FAILURE", "SUCCESS"]
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1}
    assert crate.stage.peek(COMMANDS) == []


def test_a_body_that_ends_after_it_was_recorded_as_late_changes_nothing() -> None:
    crate = Crate(time_limit=20, retry=Retry(max_retries=0))

    def overdue() -> None:
        context = CURRENT.get()
        assert context is not None
        assert context.limits is not None
        context.limits._overdue()

    _hung(crate, overdue)
    result = crate.group(4)
    crate.processes.drain()
    assert [one.state for one in result] == ["SUCCESS", "SUCCESS", "FAILURE", "SUCCESS"]
    assert crate.bodies == {0: 1, 1: 1, 2: 1, 3: 1}
