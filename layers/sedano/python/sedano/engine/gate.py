"""Gates: what a delivery passes on its way to its body. Each capability that may stop a task has one, in its own module.

A gate answers about a delivery in one of four ways:

- **go on**: it returns the delivery, or the job;
- **end** it unrun: it returns a `Stillborn`, or the job with one. The claim still happens, so that callers that wait for the task, or for
  its chord, see the end; the message is parked where the `Stillborn` says so;
- **hold** it: it gives the message back or defers it in the batch, and leaves it out of what it returns; before a body, it returns `Later`;
- **park** it without a record: `Batch.park`, and it leaves it out.

A gate overrides the moments at which it has an answer. In the life of a batch they occur in this order:

    sift → open → turns → admit → (claim) → begin → (body) → note → (record) → learn → (follow) → release

`engine.worker.gates` lists all gates in the order in which they are asked, each with the reason for its place, and says when each is
loaded. `engine.worker.admission` asks them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sedano.engine.batch import Arguments, Batch, Held, Job, Judged, Later, Ran, Stillborn
from sedano.ports import Delivery


class Gate:
    """One gate, open at every moment; a capability's gate overrides those at which it may stop something."""

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        """Return those of *deliveries* that are to be decoded; the others are decided in *batch*."""
        return deliveries

    def open(self, job: Job) -> Stillborn | None:
        """Return why *job*, which was just decoded, must not run; None when it may. It makes no call to a store."""
        return None

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> Iterator[list[Job]] | None:
        """Return which of *jobs* walk together, turn after turn; None when this gate keeps no order among *deliveries*."""
        return None

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return those of *jobs*, which are about to be claimed together, that go on; the others are decided in *batch*."""
        return jobs

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Stillborn | Later | None:
        """Return why the body of *job* must not begin at *now*; None when it may. It makes no call to a store.

        *anew*: the control record was read since the batch was received, and so were the ledger's revocations: of these task ids.
        """
        return None

    def note(self, ran: Ran) -> None:
        """Learn how *ran* went before the next body of the batch begins; several threads may call it."""

    def learn(self, ended: Sequence[Judged], ready: Sequence[tuple[Held, Arguments]], batch: Batch) -> None:
        """Learn from those of a round that *ended* and were recorded; *ready*: those whose bodies were to run."""

    def release(self, batch: Batch) -> None:
        """Give back what was taken for the jobs that were let in."""
