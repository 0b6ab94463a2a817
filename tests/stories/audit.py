"""A ledger under audit: it does what the ledger below it does, and remembers which ends it accepted.

It stands closest to the real ledger, below whatever a story breaks, so it sees every write that was really made.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.canvas.join import Arrival, Arrived, Join, Node
from sedano.model.ledger.failures import FailedTask
from sedano.model.ledger.records import Claim, ClaimAnswer, Extension, Outcome, RecordAnswer, Recorded, TaskRecord
from sedano.ports import Ledger


class AuditedLedger:
    """Passes everything on to *inner*; *ends* holds each terminal outcome that was accepted, *writes* and *reads* what was asked."""

    def __init__(self, inner: Ledger) -> None:
        """Audit *inner*."""
        self.inner = inner
        self.ends: list[Outcome] = []
        self.writes: Counter[str] = Counter()
        self.reads = 0

    def effects(self) -> Counter[tuple[str, str]]:
        """Return how many tasks of each name ended in each state."""
        return Counter((end.name, end.state) for end in self.ends)

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Claim."""
        self.writes["claim"] += len(claims)
        return self.inner.claim(claims)

    def extend(self, extensions: Sequence[Extension]) -> list[ClaimAnswer]:
        """Extend."""
        self.writes["extend"] += len(extensions)
        return self.inner.extend(extensions)

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Steal."""
        self.writes["steal"] += 1
        return self.inner.steal(claim, seen)

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record, and remember what was accepted."""
        self.writes["record"] += len(outcomes)
        return self._remembered(outcomes, self.inner.record(outcomes))

    def keep(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Keep, and remember what was accepted."""
        self.writes["keep"] += len(outcomes)
        return self._remembered(outcomes, self.inner.keep(outcomes))

    def reserve(self, task_id: str, message_id: str, now: float, until: float) -> TaskRecord | None:
        """Reserve."""
        self.writes["reserve"] += 1
        return self.inner.reserve(task_id, message_id, now, until)

    def revoke(self, task_id: str, clock: int, at: float) -> TaskRecord | None:
        """Revoke."""
        self.writes["revoke"] += 1
        return self.inner.revoke(task_id, clock, at)

    def ask(self, task_id: str, what: int) -> bool:
        """Ask."""
        self.writes["ask"] += 1
        return self.inner.ask(task_id, what)

    def mark(self, pack_id: str, marks: Collection[int], at: float) -> TaskRecord:
        """Mark."""
        self.writes["mark"] += 1
        return self.inner.mark(pack_id, marks, at)

    def show(self, task_id: str, fence: int, custom: str) -> bool:
        """Show."""
        self.writes["show"] += 1
        return self.inner.show(task_id, fence, custom)

    def follow(self, task_id: str, message_id: str) -> None:
        """Follow."""
        self.writes["follow"] += 1
        self.inner.follow(task_id, message_id)

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Read."""
        self.reads += 1
        return self.inner.read(task_ids)

    def failures(self, day: str, most: int) -> list[FailedTask] | None:
        """List failures."""
        self.reads += 1
        return self.inner.failures(day, most)

    def forget(self, task_ids: Sequence[str]) -> None:
        """Forget."""
        self.inner.forget(task_ids)

    def open_join(self, join: Join) -> None:
        """Open a join."""
        self.writes["open_join"] += 1
        self.inner.open_join(join)

    def arrive(self, arrivals: Sequence[Arrival]) -> list[Arrived | SedanoError]:
        """Arrive."""
        self.writes["arrive"] += len(arrivals)
        return self.inner.arrive(arrivals)

    def read_join(self, join_id: str) -> Join | None:
        """Read a join."""
        self.reads += 1
        return self.inner.read_join(join_id)

    def read_nodes(self, join_id: str, nodes: Sequence[Node]) -> list[Arrived]:
        """Read the nodes of a join."""
        self.reads += 1
        return self.inner.read_nodes(join_id, nodes)

    def _remembered(self, outcomes: Sequence[Outcome], answers: list[RecordAnswer]) -> list[RecordAnswer]:
        for outcome, answer in zip(outcomes, answers, strict=True):
            if isinstance(answer, Recorded) and answer.accepted and outcome.state in states.TERMINAL:
                self.ends.append(outcome)
        return answers
