"""Elections among workers that come and go: acknowledging, closing, dispatching, and waiting for a winner.

An election reaches the workers as commands: one for each member that was alive, whoever receives it, and one that comes when the election's
time is over. Each worker that runs one registers itself, once; the one that completes the election, or runs the last command, closes it and
publishes what it is about as its own follow-up. The task that closed is named in the election, so when its worker dies before the
publication, the same message comes again and publishes again, under the same id.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.batch import Batch, Job
from sedano.engine.context import TaskContext
from sedano.engine.drafts import CommandDraft
from sedano.engine.holding import hold_back
from sedano.engine.launching import draft_of, entry_of
from sedano.engine.registry import Registry
from sedano.errors import SedanoError, Unavailable
from sedano.model.clock import LamportClock
from sedano.model.election import CLOSED, OPEN, Ballot, Election, Turn, closed, complete, led, successor, turn
from sedano.model.lineage import derived_id
from sedano.model.messages import ELECT
from sedano.ports import Ports

TRIES = 8
LOOK_S = 5.0
"""How long a message that waits for a winner is held back at most before another worker looks at it."""
MOST_CALLS = 50
"""The most workers that are called to one election; the others may still win the next."""


def calls(election: Election, queue: str, timeout: int) -> list[CommandDraft]:
    """Return the commands that call the workers to *election*: one for each that is needed, and one when *timeout* seconds are over."""
    number = min(max(1, len(election.need)), MOST_CALLS)
    delays = [0] * number + [timeout]
    return [
        CommandDraft(queue, derived_id(election.election_id, f"elect/{n}"), ELECT, (election.election_id, n == number), {}, delay,
                     ignore_result=True)
        for n, delay in enumerate(delays)
    ]  # fmt: skip


def sudden(election: Election, queue: str) -> CommandDraft:
    """Return the one command of a `fast` election, which carries it: whoever writes it down first has won."""
    args = (election.election_id, True, election.topic, election.task_id, election.draft)
    return CommandDraft(queue, derived_id(election.election_id, "elect/fast"), ELECT, args, ignore_result=True)


def written(draft: CommandDraft) -> str:
    """Return *draft* as the text that an election keeps."""
    return json.dumps(entry_of(draft), separators=(",", ":"))


class Gossip(NamedTuple):
    """One worker's part in elections; *name* is its own."""

    registry: Registry
    ports: Ports
    lamport: LamportClock
    name: str

    def vote(self, context: TaskContext, election_id: str, last: bool, fast: Sequence[str] = ()) -> None:
        """Take part in an election on behalf of the running command; *last*: its time is over, close it with whoever has registered."""
        ballot = self._snap(context, election_id, fast) if fast else self.ports.elections.register(election_id, self.name, context.clock)
        for _ in range(TRIES):
            election = ballot.election
            if election is None or (election.state == OPEN and not (last or complete(election))):
                return
            if election.state == CLOSED:
                if election.by == context.id:
                    self._dispatch(context, election)
                return
            ballot = self._close(election, context)
        raise Unavailable(f"election {election_id}: others registered under each of {TRIES} attempts to close it")

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return the jobs that may go on: all but those that must run on the winner of an election which this worker is not."""
        if not self.registry.led:
            return jobs
        return [job for job in jobs if job.task.name not in self.registry.led or job.stillborn is not None or self._leads(job, batch)]

    def _snap(self, context: TaskContext, election_id: str, fast: Sequence[str]) -> Ballot:
        topic, task_id, draft = fast
        alone = Election(election_id, topic, task_id, draft, candidates={self.name: context.clock})
        return self.ports.elections.open(closed(alone, context.id, self._now_ms()), self.ports.clock.now())

    def _close(self, election: Election, context: TaskContext) -> Ballot:
        return self.ports.elections.close(closed(election, context.id, self._now_ms()), self.ports.clock.now())

    def _dispatch(self, context: TaskContext, election: Election) -> None:
        context.outbox.append(draft_of(json.loads(election.draft))._replace(task_id=election.task_id))
        self.ports.telemetry.count("ElectionsClosed")
        self.ports.telemetry.log("info", "election closed", election=election.election_id, winner=election.winner)

    def _leads(self, job: Job, batch: Batch) -> bool:
        try:
            seconds = self._wait(str(job.command.args[0]) if job.command.args else "", batch.deadline)
        except SedanoError as error:
            self.ports.telemetry.log("warning", "election not answered", task_id=job.command.task_id, error=str(error))
            seconds = LOOK_S
        if seconds > 0:
            hold_back(self.ports, job.delivery, min(seconds, LOOK_S), batch)
        return seconds <= 0

    def _wait(self, election_id: str, deadline: float) -> float:
        """Return the seconds to wait for the winner of the election; 0 when this worker leads it now."""
        found = self.ports.elections.read(election_id)
        for _ in range(TRIES):
            if found is None:
                return 0.0
            now = self._now_ms()
            what = turn(found, self.name, now)
            if what is Turn.WAIT:
                return max(0.5, (found.until - now) / 1000)
            following = led(found, int(deadline * 1000)) if what is Turn.LEAD else successor(found, self.name, now)
            ballot = self.ports.elections.advance(following, found)
            if ballot.done and what is Turn.LEAD:
                return 0.0
            found = ballot.election
        return LOOK_S

    def _now_ms(self) -> int:
        return int(self.ports.clock.now() * 1000)
