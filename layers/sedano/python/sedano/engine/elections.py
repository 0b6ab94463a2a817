"""Elections among workers that join and leave: acknowledging, closing, dispatching, and waiting for a winner.

The caller of an election sends one command, whatever the number of workers. The worker that runs it opens the election, and calls the
workers as its follow-ups: one command for each live member, for any receiver, and one for the end of the election's time. So a caller that
dies has requested the election or not, and the calls of an open election are always sent. Each worker that runs a call registers itself,
once; the one that completes the election, or runs the last call, closes it and publishes the elected task as its own follow-up. The task
that closed is named in the election, so when its worker dies before the publication, the same message is delivered again and publishes
again, under the same id.

Only the holder of a call's claim closes the election with it. Otherwise a worker whose call was taken over, and ended there without a
close, would close an election whose task no worker publishes (found by simulation, 5 of 1 000 000).

All these commands are claimed: two copies of one call must not both take part, for the one that closes answers for the dispatch, and the
other, finished earlier, would let its copy be discarded (found by simulation).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sedano.engine.batch import Batch, Job
from sedano.engine.body_sections import poisonous
from sedano.engine.canvas.launches import draft_of, entry_of
from sedano.engine.drafts import CommandDraft
from sedano.engine.gate import Gate
from sedano.engine.redelivery import hold_back
from sedano.engine.registry import Registry
from sedano.engine.task_context import TaskContext
from sedano.errors import ArgumentError, SedanoError, Unavailable
from sedano.model.canvas.page_reader import parse_draft
from sedano.model.elections import CLOSED, OPEN, Ballot, Election, ElectionRequest, Turn, closed, complete, led, question, successor, turn
from sedano.model.messages.attributes import is_id
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import ELECT, Command
from sedano.ports import Ports

TRIES = 8
LOOK_S = 5.0
"""How long a message that waits for a winner is held back at most before another worker looks at it."""
MOST_CALLS = 50
"""The most workers that are called to one election; the others may win a later one."""


def opening(election: Election, queue: str, timeout: int, task_id: str) -> CommandDraft:
    """Return the command that requests *election*: it opens the election and calls the workers; the election ends after *timeout*
    seconds."""
    args = (election.election_id, False, election.topic, election.task_id, election.draft, sorted(election.need), timeout)
    return CommandDraft(queue, _elect(task_id, args))


def calls(election: Election, queue: str, timeout: int, parent: str) -> list[CommandDraft]:
    """Return the commands that call the workers to *election*: one for each that is needed, and one when *timeout* seconds are over.

    They follow from the task *parent*, so requesting an election again while it is open calls the workers again.
    """
    number = min(max(1, len(election.need)), MOST_CALLS)
    delays = [0] * number + [timeout]
    return [
        CommandDraft(queue, _elect(derived_id(parent, f"elect/{n}"), (election.election_id, n == number)), delay)
        for n, delay in enumerate(delays)
    ]


def sudden(election: Election, queue: str, task_id: str) -> CommandDraft:
    """Return the command of a `fast` election, which carries the election: the first worker that writes it wins."""
    args = (election.election_id, True, election.topic, election.task_id, election.draft)
    return CommandDraft(queue, _elect(task_id, args))


def _elect(task_id: str, args: Sequence[Any]) -> Command:
    return Command(id="", task_id=task_id, task=ELECT, args=args, ignore_result=True)


def written(draft: CommandDraft) -> str:
    """Return *draft* as the text that an election keeps."""
    return json.dumps(entry_of(draft), separators=(",", ":"))


def _draft(text: str) -> CommandDraft:
    """Return the draft that `written` wrote; another text fails its task for good."""
    with poisonous():
        return draft_of(parse_draft(text))


class Gossip(Gate):
    """One worker's part in elections; *name* is its own."""

    def __init__(self, registry: Registry, ports: Ports, lamport: LamportClock, name: str) -> None:
        """Take part as *name* for the tasks of *registry*."""
        self.registry, self.ports, self.lamport, self.name = registry, ports, lamport, name

    def vote(self, context: TaskContext, election_id: str, last: bool, about: Sequence[Any] = ()) -> None:
        """Perform the running command: open an election, end it early (*last*; *about* is its question), or take part in it.

        *last*: its time is over, close it with the registered workers.
        """
        with poisonous():  # anyone may write a command: what asks nothing is not asked again
            asked = question(about) if about else None
            if not is_id(election_id):
                raise ArgumentError("election_id", "expected an id")
        if asked is not None and not last:
            self._open(context, election_id, asked)
            return
        if asked is not None:
            ballot = self._snap(context, election_id, asked)
        else:
            ballot = self.ports.elections.register(election_id, self.name, context.clock)
        for _ in range(TRIES):
            election = ballot.election
            if election is None or (election.state == OPEN and not (last or complete(election))):
                return
            if election.state == CLOSED:
                if election.by == context.id:
                    self._dispatch(context, election)
                return
            ballot = self._close(election, context)
        raise Unavailable(f"election {election_id}: others registered during each of {TRIES} attempts to close it")

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return the jobs that may continue: all except those that must run on the winner of an election, if this worker is not the
        winner."""
        if not self.registry.led:
            return jobs
        return [job for job in jobs if job.task.name not in self.registry.led or job.stillborn is not None or self._leads(job, batch)]

    def _open(self, context: TaskContext, election_id: str, asked: ElectionRequest) -> None:
        """Open the election unless it exists, and call the workers while it is not closed."""
        queue = _draft(asked.draft).queue
        new = Election(election_id, asked.topic, asked.task_id, asked.draft, self.ports.entropy.nonce(), need=asked.need)
        standing = self.ports.elections.open(new, self.ports.clock.now()).election or new
        if standing.state != CLOSED:
            context.outbox += calls(standing, queue, asked.timeout, context.id)

    def _snap(self, context: TaskContext, election_id: str, asked: ElectionRequest) -> Ballot:
        _draft(asked.draft)
        alone = Election(election_id, asked.topic, asked.task_id, asked.draft, candidates={self.name: context.clock})
        return self.ports.elections.open(closed(alone, context.id, self._now_ms()), self.ports.clock.now())

    def _close(self, election: Election, context: TaskContext) -> Ballot:
        return self.ports.elections.close(closed(election, context.id, self._now_ms()), self.ports.clock.now(), context.fence)

    def _dispatch(self, context: TaskContext, election: Election) -> None:
        context.outbox.append(_draft(election.draft).asking(task_id=election.task_id))
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
