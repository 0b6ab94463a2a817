"""The ledger in memory and those over SQLite and DynamoDB give the same answers to any sequence of calls.

Generated sequences over few tasks, nonces and attempts, so that claims, steals, records, reservations and joins meet in every order. A
steal takes what memory's ledger showed last (what a worker would have seen) or something that never was. Both ledgers get the same ids,
unique to one sequence, so one table serves all of them.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, settings

from sedano import memory
from sedano.model import states
from sedano.model.canvas.join import Arrival, Join, Node
from sedano.model.ledger.records import Claim, ErrorRecord, Extension, Outcome, Posted, TaskRecord
from sedano.model.messages.message import BlobRef, Section
from sedano.ports import Ledger
from tests.conformance.tasks import NOW
from tests.conformance.worlds import World

Step = Callable[[Ledger, TaskRecord | None], Any]
"""One call to a ledger; the record is what memory holds of the task before the call."""

_SEQUENCES = itertools.count()
_TASKS = ("task-a", "task-b#")
_seconds = st.integers(-5_000, 5_000).map(lambda number: NOW + number / 1000) | st.floats(0, 4e9, allow_subnormal=False)
_short = st.text(max_size=8)
_refs = st.none() | st.builds(BlobRef, st.just("ab" * 32), st.integers(0, 10**7))
_nonces = st.sampled_from(["n1", "n2", "n3"])
_messages = st.sampled_from(["m1", "m2"])
_attempts = st.integers(0, 2)
_claims = st.builds(
    Claim,
    task_id=st.sampled_from(_TASKS),
    attempt=_attempts,
    message_id=_messages,
    nonce=_nonces,
    expires=_seconds,
    clock=st.integers(0, 2**63),
    name=st.sampled_from(["shop.add", "é"]),
    must_exist=st.booleans(),
    left=st.booleans(),
)
_outcomes = st.builds(
    Outcome,
    task_id=st.sampled_from(_TASKS),
    state=st.sampled_from([states.RETRY, *sorted(states.TERMINAL)]),
    nonce=_nonces,
    fence=st.integers(0, 4),
    message_id=_messages,
    attempt=_attempts,
    clock=st.integers(0, 2**63),
    name=st.just("shop.add"),
    at=_seconds,
    result=st.none() | st.sampled_from(["null", '"\\u00e9"', "[1, 2]"]),
    result_ref=_refs,
    error=st.none() | st.builds(ErrorRecord, _short, _short, _short, raised=st.just(""), arguments=st.just("")),
    outbox=st.lists(st.builds(Posted, _short, _short, st.integers(0, 900), st.none() | _short), max_size=2).map(tuple),
    outbox_ref=_refs,
    next_attempt=_attempts,
    not_before=st.just(0.0) | _seconds,
    section=st.none() | st.builds(Section, st.integers(0, 9), st.integers(1, 9)),
)
_extensions = st.builds(Extension, st.sampled_from(_TASKS), _nonces, st.integers(0, 4), _seconds)
_nodes = st.builds(Node, st.integers(0, 1), st.just(0), st.just(3))
_arrivals = st.builds(Arrival, st.just("join"), _nodes, st.integers(0, 3), st.booleans())
_terminal = st.builds(Outcome._replace, _outcomes, state=st.sampled_from(sorted(states.TERMINAL)))


def _steal(claim: Claim, change: dict[str, Any]) -> tuple[str, Step]:
    def step(ledger: Ledger, seen: TaskRecord | None) -> Any:
        return ledger.steal(claim, (seen or TaskRecord(claim.task_id, states.RUNNING))._replace(**change))

    return claim.task_id, step


def _extended(task_id: str, expires: float, change: dict[str, Any]) -> tuple[str, Step]:
    """Extend with the nonce and the fence of the record, so as its holder does, or with a *change* of them."""

    def step(ledger: Ledger, seen: TaskRecord | None) -> Any:
        own = (seen or TaskRecord(task_id, states.PENDING))._replace(**change)
        return ledger.extend([Extension(task_id, own.nonce or "n1", own.fence, expires)])

    return task_id, step


def _shown(task_id: str, custom: str, change: dict[str, Any]) -> tuple[str, Step]:
    """Show a custom state with the fence of the record, so as its holder does, or with a *change* of it."""

    def step(ledger: Ledger, seen: TaskRecord | None) -> Any:
        return ledger.show(task_id, (seen or TaskRecord(task_id, states.PENDING))._replace(**change).fence, custom)

    return task_id, step


def _held(outcome: Outcome) -> tuple[str, Step]:
    """Record with the nonce, the fence and the attempt of the record: the ledger accepts these, and refuses most generated outcomes."""

    def step(ledger: Ledger, seen: TaskRecord | None) -> Any:
        own = seen or TaskRecord(outcome.task_id, states.PENDING)
        return ledger.record([outcome._replace(nonce=own.nonce, fence=own.fence, attempt=own.attempt)])

    return outcome.task_id, step


_steps = st.one_of(
    st.builds(
        lambda task, marks, at: (task, lambda ledger, _: ledger.mark(task, marks, at)),
        st.sampled_from(_TASKS), st.frozensets(st.integers(0, 127), min_size=1, max_size=3), _seconds,
    ),
    st.builds(lambda claim: (claim.task_id, lambda ledger, _: ledger.claim([claim])), _claims),
    st.builds(lambda claims: (_TASKS[0], lambda ledger, _: ledger.claim(claims)), st.lists(_claims, max_size=4)),
    st.builds(_steal, _claims, st.sampled_from([{}, {}, {"fence": 9}, {"nonce": "n9"}, {"expires": 1.0}])),
    st.builds(_held, _outcomes),
    st.builds(_shown, st.sampled_from(_TASKS), _short, st.sampled_from([{}, {}, {"fence": 9}])),
    st.builds(lambda task, message: (task, lambda ledger, _: ledger.follow(task, message)), st.sampled_from(_TASKS), _messages),
    st.builds(_extended, st.sampled_from(_TASKS), _seconds, st.sampled_from([{}, {}, {}, {"fence": 9}, {"nonce": "n9"}])),
    st.builds(lambda some: (_TASKS[0], lambda ledger, _: ledger.extend(some)), st.lists(_extensions, max_size=3)),
    st.builds(lambda outcomes: (_TASKS[0], lambda ledger, _: ledger.record(outcomes)), st.lists(_outcomes, max_size=3)),
    st.builds(lambda outcomes: (_TASKS[0], lambda ledger, _: ledger.keep(outcomes)), st.lists(_terminal, max_size=3)),
    st.builds(
        lambda task, message, now, until: (task, lambda ledger, _: ledger.reserve(task, message, now, until)),
        st.sampled_from(_TASKS), _messages, _seconds, _seconds,
    ),
    st.builds(lambda tasks: (_TASKS[0], lambda ledger, _: ledger.forget(tasks)), st.lists(st.sampled_from(_TASKS), max_size=2)),
    st.builds(lambda arrivals: (_TASKS[0], lambda ledger, _: ledger.arrive(arrivals)), st.lists(_arrivals, max_size=6)),
    st.builds(
        lambda nodes: (_TASKS[0], lambda ledger, _: ledger.read_nodes("join", nodes)),
        st.lists(_nodes, max_size=3, unique=True),
    ),
    st.builds(
        lambda join: (_TASKS[0], lambda ledger, _: (ledger.open_join(join), ledger.read_join(join.join_id))),
        st.builds(Join, st.just("join"), st.integers(1, 9), _short, st.just("commands:default"), _refs),
    ),
)  # fmt: skip


class _Apart:
    """A ledger whose ids are those of one sequence, so that sequences do not meet in one table."""

    def __init__(self, ledger: Ledger, sequence: int) -> None:
        self._ledger = ledger
        self._suffix = f"/{sequence}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._ledger, name)
        return lambda *given: self._plain(method(*map(self._marked, given)))

    def _marked(self, value: Any) -> Any:
        if isinstance(value, Claim | Extension | Outcome | TaskRecord):
            return value._replace(task_id=value.task_id + self._suffix)
        if isinstance(value, Arrival | Join):
            return value._replace(join_id=value.join_id + self._suffix)
        if isinstance(value, list):
            return [self._marked(item) for item in value]
        return value + self._suffix if value in _TASKS or value == "join" else value

    def _plain(self, value: Any) -> Any:
        return {key.removesuffix(self._suffix): self._plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def agree(world: World, steps: Sequence[tuple[str, Step]]) -> None:
    """Run *steps* on both ledgers and compare each answer, and at the end everything that is stored."""
    sequence = next(_SEQUENCES)
    oracle: Any = _Apart(memory.MemoryLedger(memory.VirtualClock(NOW)), sequence)
    other: Any = _Apart(world.ledger, sequence)
    for task_id, step in steps:
        seen = oracle.read([task_id]).get(task_id)
        seen = seen and seen._replace(task_id=task_id)
        assert step(other, seen) == step(oracle, seen)
    assert other.read(list(_TASKS)) == oracle.read(list(_TASKS))


@settings(
    max_examples=150,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(_steps, min_size=1, max_size=14))
def test_any_sequence_of_calls_is_answered_as_memory_answers_it(lasting_world: World, steps: Sequence[tuple[str, Step]]) -> None:
    agree(lasting_world, steps)
