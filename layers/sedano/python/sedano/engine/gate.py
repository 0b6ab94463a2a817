"""Gates: the checks between the receipt of a message and its body. Each capability that may stop a task has one, in its own module.

A gate has four possible answers about a delivery:

- **go on**: it returns the delivery, or the job;
- **end** it unrun: it returns a `Stillborn`, or the job with one. The claim still happens, so that callers that wait for the task, or for
  its chord, see the end; the message is parked where the `Stillborn` says so;
- **hold** it: it gives the message back or defers it in the batch, and leaves it out of what it returns; before a body, it returns `Later`;
- **park** it without a record: `Batch.park`, and it leaves it out.

A gate overrides the methods of the moments at which it decides. In the life of a batch they occur in this order:

    sift → open → turns → admit → (claim) → begin → (body) → note → (record) → learn → (follow) → release

`engine.worker.gates` lists all gates in the order in which they are called, each with the reason for its place and the occasion on which it
is loaded. `engine.worker.admission` asks them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sedano.engine.batch import Arguments, Batch, Held, Job, Judged, Later, Ran, Stillborn
from sedano.ports import Delivery


class Gate:
    """A gate that is open at every moment; subclasses override the moments at which they may stop a task."""

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        """Return those of *deliveries* that are to be decoded; the others are decided in *batch*."""
        return deliveries

    def open(self, job: Job) -> Stillborn | None:
        """Return why the decoded *job* must not run; None if it may. Must not call a store."""
        return None

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> Iterator[list[Job]] | None:
        """Return which of *jobs* go together, turn after turn; None if this gate keeps no order among *deliveries*."""
        return None

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return those of *jobs* that may continue to the claim; the others are decided in *batch*."""
        return jobs

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Stillborn | Later | None:
        """Return why the body of *job* must not begin at *now*; None if it may. Must not call a store.

        *anew*: the control record was read since the batch was received, and so were the ledger's revocations: of these task ids.
        """
        return None

    def note(self, ran: Ran) -> None:
        """Note the result of *ran* before the next body of the batch begins; several threads may call this."""

    def learn(self, ended: Sequence[Judged], ready: Sequence[tuple[Held, Arguments]], batch: Batch) -> None:
        """Note the jobs of a round that *ended* and were recorded; *ready*: those whose bodies were to run."""

    def release(self, batch: Batch) -> None:
        """Release everything that was taken for the admitted jobs."""
