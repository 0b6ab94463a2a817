"""Leases in memory and those over SQLite and DynamoDB give the same answers to any sequence of calls.

What a call names is what memory holds at that moment (what a process would have seen), or what it held some calls ago, or what never was;
so takes, renewals, releases and wishes of several holders meet in every order.
"""

import itertools
from collections.abc import Sequence

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, settings

from sedano import memory
from sedano.model.leases import Leased, LeaseRecord, term
from sedano.model.store_clock import Moment
from sedano.ports import Leases
from tests.conformance.worlds import World

NOW = 1_767_225_600_000
_SEQUENCES = itertools.count()
_NOBODY = LeaseRecord("", 1, "n9", "nobody", 1, True, 2_000, NOW)

Step = tuple[str, int, str, int]
"""An operation, how many states ago its caller looked, who calls, and a time."""
_steps = st.tuples(
    st.sampled_from(["take", "take", "renew", "release", "want", "wait", "call", "read"]),
    st.sampled_from([0, 0, 0, 1, 2, 9]),
    st.sampled_from(["n1", "n2", "n3"]),
    st.integers(0, 9).map(lambda number: NOW + 1_000 * number),
)


def do(leases: Leases, step: Step, seen: LeaseRecord | None, name: str) -> object:
    """Make one call."""
    operation, _, who, time = step
    known = seen or _NOBODY._replace(name=name)
    held = term(known._replace(nonce=who) if time % 2_000 else known, Moment(0, 0))
    match operation:
        case "take":
            token, version = (seen.token, seen.version) if seen else (0, 0)
            return leases.take(LeaseRecord(name, token + 1 + time % 3, who, f"host {who}", version + 1, True, 2_000, time), seen)
        case "renew":
            return leases.renew(held, time)
        case "release":
            return leases.release(held, time)
        case "want":
            return leases.want(known, who)
        case "wait":
            return leases.wait(known, f"{who}\n{time}")
        case "call":
            return leases.call(known, who) if known.waiting else None
        case _:
            return leases.read([name])


def agree(world: World, steps: Sequence[Step]) -> None:
    """Make each call to both and compare the answers."""
    name = f"lease {next(_SEQUENCES)}"
    oracle: Leases = memory.MemoryLeases(memory.VirtualClock(NOW / 1000))
    states: list[LeaseRecord | None] = [None]
    for step in steps:
        seen = states[max(0, len(states) - 1 - step[1])]
        expected, answer = do(oracle, step, seen, name), do(world.leases, step, seen, name)
        assert answer == expected, step
        if isinstance(answer, Leased):
            assert answer.record == oracle.read([name]).get(name)
        states.append(oracle.read([name]).get(name))
    assert world.leases.read([name]) == oracle.read([name])


@settings(
    max_examples=150,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(_steps, min_size=1, max_size=16))
def test_any_sequence_of_calls_is_answered_as_memory_answers_it(lasting_world: World, steps: Sequence[Step]) -> None:
    agree(lasting_world, steps)
