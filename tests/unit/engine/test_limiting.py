"""The gate of limits alone: which jobs it lets through, which end unrun, and what changes at run time do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Arguments, Job, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.limits.limit_gate import Limiting
from sedano.errors import ArgumentError, Unavailable
from sedano.model import refusals, states
from sedano.model.collection import Basket
from sedano.model.ledger.records import ErrorRecord
from sedano.model.limits.concurrency import Permit
from sedano.model.limits.rate import paces
from sedano.model.limits.task_limits import LimitChange, Range, TaskLimits, write
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command, TimeLimits
from sedano.ports import Ports
from tests.unit.engine.gated import batch, job, names, told, waits, world

ONE_AT_A_TIME = TaskLimits(concurrency=1)
SLOWLY = TaskLimits(paces=paces("1/m"))
SUSPENDED = write(LimitChange(concurrency=0))


def first(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The key: the first argument."""
    return str(args[0])


def of(command: Command) -> Arguments:
    """The arguments of a command."""
    return command.args, command.kwargs


def failing(error: Exception) -> Any:
    """Arguments that cannot be had."""

    def arguments(command: Command) -> Arguments:
        raise error

    return arguments


def gate(ports: Ports, arguments: Any = of, lanes: int = 1) -> Limiting:
    """The gate, over *ports*."""
    return Limiting(ports, LamportClock(lambda: 1), "me", lanes, arguments)


def admitted(*jobs: Job, ports: Ports | None = None, arguments: Any = of, lanes: int = 1, **changes: str) -> tuple[list[Job], Any]:
    """The jobs that may go on, under these *changes*, and the batch."""
    ports = ports or world()
    now = batch(ports)
    now.limits = changes
    return list(gate(ports, arguments, lanes).admit(jobs, now)), now


def test_a_batch_without_limits_is_passed_on_as_it_is() -> None:
    ports, jobs = world(), [job("a"), job("b")]
    assert gate(ports).admit(jobs, batch(ports)) is jobs


def test_of_a_mixed_batch_only_what_has_limits_is_limited() -> None:
    found, now = admitted(job("a", "plain"), job("b", limits=ONE_AT_A_TIME), job("c", "later", limits=TaskLimits(concurrency=0)))
    assert (sorted(names(found)), [name for name, *_ in now.permits], list(waits(now))) == (["a", "b"], ["only/"], ["c"])


def test_a_job_that_shall_end_unrun_needs_no_limit() -> None:
    dead = job("a", limits=TaskLimits(concurrency=0))._replace(stillborn=Stillborn(states.FAILURE, refusals.EXPIRED, "expires", ""))
    assert admitted(dead, job("b", "other", limits=SLOWLY))[0][0] == dead


def test_a_call_that_shall_end_unrun_is_not_the_latest_of_its_task() -> None:
    ports = world()
    dead = job("a", limits=TaskLimits(debounce=9.0))._replace(stillborn=Stillborn(states.FAILURE, refusals.EXPIRED, "expires", ""))
    assert admitted(dead, ports=ports)[0] == [dead]
    assert ports.limits.latest("only/") is None


def test_a_message_that_keeps_its_order_has_no_rate_but_the_other_limits() -> None:
    ordered = [one._replace(delivery=one.delivery._replace(serial_key="k")) for one in (job("a", limits=SLOWLY), job("b", limits=SLOWLY))]
    plain = job("c", "plain")
    found, _ = admitted(*ordered, plain._replace(delivery=plain.delivery._replace(serial_key="k")))
    assert sorted(names(found)) == ["a", "b", "c"]
    assert names(admitted(job("a", limits=SLOWLY), job("b", limits=SLOWLY))[0]) == ["a"], "others have"
    one = ordered[0]._replace(task=ordered[0].task._replace(limits=SLOWLY._replace(concurrency=1)))
    assert [name for name, *_ in admitted(one)[1].permits] == ["only/"]


def test_a_change_holds_until_it_is_taken_back() -> None:
    ports = world()
    limiting, now = gate(ports), batch(ports)
    now.limits = {"only": SUSPENDED}
    assert limiting.admit([job("a", limits=ONE_AT_A_TIME)], now) == []
    now.limits = {}
    assert names(limiting.admit([job("b", limits=ONE_AT_A_TIME)], now)) == ["b"]


def test_of_a_change_that_cannot_be_read_the_last_one_of_that_task_holds() -> None:
    ports = world()
    limiting, now = gate(ports), batch(ports)
    now.limits = {"only": SUSPENDED}
    limiting.admit([job("a")], now)
    for _ in range(2):
        now.limits = {"only": "{", "other": "{"}
        assert names(limiting.admit([job("a"), job("b", "other")], now)) == ["b"]
    telemetry: Any = ports.telemetry
    assert telemetry.counted("LimitsRefused") == 2, "a text is read once"


def test_time_limits_change_and_go() -> None:
    times = TimeLimits(1.0, 2.0)
    given = write(LimitChange(time=(3.0, 4.0)))
    (found,), _ = admitted(job("a", time_limits=times), only=given)
    assert found.task.time_limits == TimeLimits(3.0, 4.0)
    (found,), _ = admitted(job("a", time_limits=times), only=write(LimitChange(time=(None, None))))
    assert found.task.time_limits is None
    found, _ = admitted(job("a", time_limits=times), job("b", "other", time_limits=times), only=given)
    assert {one.task.name: one.task.time_limits for one in found} == {"only": TimeLimits(3.0, 4.0), "other": times}


def test_bodies_on_one_loop_have_a_permit_each_and_those_of_a_lane_share_one() -> None:
    limits = TaskLimits(concurrency=2)
    together, now = admitted(*(job(one, limits=limits, is_async=True) for one in "abc"))
    assert (names(together), len(now.permits)) == (["a", "b"], 2)
    after, now = admitted(*(job(one, limits=limits) for one in "abc"))
    assert (names(after), len(now.permits)) == (["a", "b", "c"], 1)


def test_a_message_waits_where_the_highest_limit_of_its_range_says() -> None:
    ports = world()
    now = int(ports.clock.now() * 1000)
    assert ports.limits.take("only/", Permit(0, 1, "nonce", "another", now + 60_000), "other", now).done
    for high in (10, 11):
        admitted(job(f"m{high}", limits=TaskLimits(concurrency=Range(1, high, lambda: 1))), ports=ports)
    found = [ports.limits.board("only/").waiting, ports.limits.boards("only/", 0).waiting]
    assert [["m10" in text for text in found[0]], ["m11" in text for text in found[1]]] == [[True], [True]]


def test_a_retry_of_a_debounced_task_runs() -> None:
    debounced = TaskLimits(debounce=9.0)
    assert admitted(job("a", limits=debounced))[0] == []
    assert names(admitted(job("a", limits=debounced, attempt=1))[0]) == ["a"]


class Away(memory.MemoryLimits):
    """Baskets that cannot be opened."""

    def shut(self, name: str, now: float) -> Basket:
        """Be away."""
        raise Unavailable("limits: away")


def test_a_basket_that_cannot_be_opened_waits() -> None:
    found, now = admitted(job("a", limits=TaskLimits(runs=True), args=("basket",)), ports=replace(world(), limits=Away()))
    assert (found, list(waits(now))) == ([], ["a"])


HEADER = HeaderFailed(ErrorRecord("E", "m"))


def test_a_run_of_a_basket_whose_header_failed_goes_on_to_say_so() -> None:
    one = job("a", limits=TaskLimits(runs=True))
    assert admitted(one, arguments=failing(HEADER))[0] == [one]


KEYED = [TaskLimits(paces=paces("1/m"), key=first), TaskLimits(concurrency=1, concurrency_key=first)]


@pytest.mark.parametrize("limits", KEYED)
@pytest.mark.parametrize("error", [ArgumentError("n", "is missing"), HEADER])
def test_a_job_without_a_key_goes_on_unlimited_to_say_why(limits: TaskLimits, error: Exception) -> None:
    one = job("a", limits=limits)
    found, now = admitted(one, arguments=failing(error))
    assert (found, now.permits, now.deferred) == ([one], [], {})


@pytest.mark.parametrize("limits", KEYED)
def test_a_job_whose_arguments_are_out_of_reach_waits(limits: TaskLimits) -> None:
    found, now = admitted(job("a", limits=limits), arguments=failing(Unavailable("blobs: away")))
    assert (found, waits(now), now.permits) == ([], {"a": None}, [])


@pytest.mark.parametrize("limits", [*KEYED, KEYED[0]._replace(concurrency=1)])
def test_a_key_that_raises_ends_the_task_and_says_what_it_raised(limits: TaskLimits) -> None:
    (found,), now = admitted(job("a", limits=limits))
    why = "the key of its limit: IndexError: tuple index out of range"
    assert found.stillborn == Stillborn(states.FAILURE, refusals.KEY, "key", why, park=False)
    assert (now.permits, told(now)) == ([], [])


def test_each_key_has_its_own_permits() -> None:
    limits = TaskLimits(concurrency=1, concurrency_key=first)
    found, now = admitted(*(job(str(n), limits=limits, args=(key,)) for n, key in enumerate("xyx")), lanes=2)
    assert (sorted(names(found)), sorted(name for name, *_ in now.permits)) == (["0", "1"], ["only/x", "only/y"])
