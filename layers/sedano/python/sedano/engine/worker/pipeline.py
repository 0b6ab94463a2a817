"""The worker: one task's whole life as a pipeline of small steps over one batch of messages.

    sift → open → admit → claim → prepare → run → judge → record → follow → acknowledge

- sift: give back messages of a paused queue, open envelopes                (`engine.gate`)
- open: decode and admit, or park with the reason                           (`engine.worker.intake`)
- admit: call the gates, such as one run at a time of a singleton           (`engine.gate`; their order in `engine.worker.gate_order`)
- claim: become the single holder, all claims of the batch together         (`engine.worker.claims`, rule in `model.ledger.claims`)
- prepare: get the arguments                                                (`engine.worker.body_preparation`)
  A message that cannot run is parked before its end is recorded, so no crash can lose it.
- run: the bodies; async ones share a loop                                  (`engine.worker.execution`; how they end: `.body_results`)
- judge: decide the outcome, pure                                           (`engine.worker.verdicts`, rule in `model.ledger.outcome`)
- record: each outcome as soon as its body ended, under its claim's fence   (`engine.worker.recording`)
- follow: publish the follow-ups of the outcome                             (`engine.worker.follow_ups`)
- acknowledge: answer which messages to deliver again; the queue deletes the rest

An unforeseen exception costs only its own message, which is parked (`engine.unexpected_errors`).
A message that is delivered again is processed alone (`rounds`), so that a message that kills its worker does not count against others.

The next link of a chain may follow inline, after all of these steps, and passes through them too (`engine.worker.inline_links`).

Promises: if a record is refused (the claim was taken over), nothing is recorded, published or acknowledged. One bad message never fails the
others, and `work` raises only exceptions that end the process.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

from sedano.engine.batch import Batch, Job, Judged, Ran
from sedano.engine.canvas.chord_results import Gathering
from sedano.engine.canvas.continuation import Conducting
from sedano.engine.canvas.join_arrivals import Joining
from sedano.engine.canvas.page_cache import Plans
from sedano.engine.cluster.membership import InboxDoor, Membership
from sedano.engine.drafts import Composer
from sedano.engine.history.invocation_costs import WORKER, Invocations
from sedano.engine.history.run_events import tell
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.publisher.sender import Publisher
from sedano.engine.redelivery import put_back, rounds
from sedano.engine.registry import Registry
from sedano.engine.task_context import TaskContext
from sedano.engine.task_log_records import install
from sedano.engine.unexpected_errors import apart, contain, passing, settle, stumbled, unexpected
from sedano.engine.worker.admission import Admission, GateEntry, Workplace
from sedano.engine.worker.body_concurrency import pool, turns
from sedano.engine.worker.body_preparation import Preparation
from sedano.engine.worker.body_results import Endings
from sedano.engine.worker.claim_extension import Extending, GivenUp, Ticker, released, threaded
from sedano.engine.worker.claims import Claiming
from sedano.engine.worker.end_reports import Listener
from sedano.engine.worker.execution import DRAINED, Execution, RunLoop, hooks_of, of_revocations
from sedano.engine.worker.follow_ups import Following
from sedano.engine.worker.gate_order import GATES, voting
from sedano.engine.worker.inline_links import InlineLinks
from sedano.engine.worker.intake import Intake
from sedano.engine.worker.pack_follow_ups import PackFollowUps
from sedano.engine.worker.packs import Packs
from sedano.engine.worker.record_threads import Lanes, Stream
from sedano.engine.worker.recording import RecordedRun, Recording, Refused, goes_together
from sedano.engine.worker.redelivery_credit import Spared
from sedano.engine.worker.settings import WorkerSettings as WorkerSettings
from sedano.engine.worker.start_check import SecondLook
from sedano.engine.worker.verdicts import Judging
from sedano.errors import MessageRefused, SedanoError
from sedano.model import states
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.ledger.recent_ids import Window
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import PACK
from sedano.ports import Delivery, Ports


class Worker:
    """Processes batches of commands. One per process."""

    def __init__(
        self, registry: Registry, ports: Ports, host: Host, settings: WorkerSettings, run_loop: RunLoop | None, ticker: Ticker = threaded,
        gates: Sequence[GateEntry] = GATES, listener: Listener | None = None,
    ) -> None:  # fmt: skip
        """Build it for the tasks of *registry* over *ports*.

        *run_loop* runs async bodies (None: none), *ticker* the beats of claims; *gates* check received messages.
        """
        install()
        self._draining, self._configuration = threading.Event(), registry.configuration
        registry.begin(ports)
        self.ports, self.host, self.settings, now = ports, host, settings, ports.clock.now
        self.lamport = LamportClock(lambda: int(now() * 1_000_000))
        window, composer, self._hooks = Window(settings.window), Composer(host.hostname, self.lamport, ports), hooks_of(registry)
        self.publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry)
        self.membership = Membership(ports, self.lamport, host.hostname, settings.heartbeat)
        self._spared, self._parking, self._lanes = Spared(), ParkingLot(ports, self.lamport), Lanes(settings.lanes)
        conducting = self._conducting(composer, registry)
        self._admission = Admission(gates, self._workplace(registry, conducting))
        self._intake = Intake(registry=registry, ports=ports, lamport=self.lamport, window=window, admission=self._admission)
        self._following = Following(
            ports=ports, composer=composer, publisher=self.publisher, conducting=conducting, joining=Joining(ports, conducting),
            window=window, packs=PackFollowUps(ports, registry, self.lamport, composer, conducting), hooks=of_revocations(self._hooks),
        )  # fmt: skip
        self._extending = Extending(ports, settings.visibility, ticker)
        self._claiming = Claiming(
            ports=ports, lamport=self.lamport, following=self._following, membership=self.membership,
            most_claims=settings.poison_after, length=self._extending.length,
        )  # fmt: skip
        self.recording = Recording(ports, Judging(ports, self.lamport, composer, conducting), self._hooks, listener)
        self._execution = self._executing(registry, conducting, run_loop)
        self.commands = InboxDoor(ports, self.membership, registry, settings, self.running)
        self.commands.overdue, self._invocations = self._extending.overdue, Invocations(WORKER, ports, host, self.lamport)
        self.inline = self._inlining(registry, window)

    def _inlining(self, registry: Registry, window: Window) -> InlineLinks:
        """Return the object that decides which links of a chain run inline."""
        return InlineLinks(
            registry=registry, ports=self.ports, settings=self.settings, window=window, publisher=self.publisher, draining=self._draining,
            invocations=self._invocations, commands=self.commands,
        )  # fmt: skip

    def _conducting(self, composer: Composer, registry: Registry) -> Conducting:
        """Return the object that continues the canvases of ended tasks."""
        ports = self.ports
        return Conducting(
            ports=ports, lamport=self.lamport, composer=composer, registry=registry, plans=Plans(ports.blobs), gathering=Gathering(ports),
        )  # fmt: skip

    def _workplace(self, registry: Registry, conducting: Conducting) -> Workplace:
        """Return the parts of this worker that its gates may use."""
        return Workplace(
            registry=registry, ports=self.ports, lamport=self.lamport, name=self.host.hostname, lanes=self.settings.concurrency,
            arguments=conducting.gathering.arguments, membership=self.membership, parking=self._parking, spared=self._spared,
            poison_after=self.settings.poison_after,
        )  # fmt: skip

    def _executing(self, registry: Registry, conducting: Conducting, run_loop: RunLoop | None) -> Execution:
        """Return the object that runs bodies, by the settings and the gates of this worker."""
        admission, settings, clock = self._admission, self.settings, self.ports.clock
        endings = Endings(self.ports, self.lamport, registry.raises)
        self._packs = Packs(registry, self.ports, endings, self.recording.judging)
        preparation = Preparation(self.ports, conducting, endings, settings.guard)
        return Execution(
            ports=self.ports, lamport=self.lamport, preparation=preparation, endings=endings, run_loop=run_loop,
            pool=pool(registry.threads, settings.concurrency, clock), guard=settings.guard, record=self.recording.judge_and_record,
            look=SecondLook(self.ports, self.membership, admission), admission=admission, began=[], holds=self._extending.holds,
            draining=self._draining, vote=voting(admission), turns=turns(registry.coroutines, clock), tables=registry.tables,
            configuration=registry.configuration, hooks=self._hooks, packs=self._packs,
        )  # fmt: skip

    def work(self, deliveries: Sequence[Delivery], deadline: float, batch: Batch | None = None) -> list[Delivery]:
        """Process *deliveries* before *deadline* (epoch s), in the *batch* of the caller if it has one, and return those to deliver again.

        Every other message is finished: recorded with its follow-ups, or parked.
        """
        batch = batch or Batch(deadline, Chronicle(self.host), carrier=self.inline.of(deliveries, deadline))
        with self._extending.batch(deliveries, batch):
            return self._work(deliveries, batch)

    def _work(self, deliveries: Sequence[Delivery], batch: Batch) -> list[Delivery]:
        self._invocations.begin()
        self._pass(deliveries, batch)
        if batch.carrier is not None:
            batch.carrier.run(batch, self._pass)
        passing(self.ports.telemetry, "tell", partial(self._tell, batch, len(deliveries)), None)
        self._spared.add(batch.given_back)
        self.commands.worked += len(deliveries) - len(batch.given_back)
        return batch.given_back

    def _pass(self, deliveries: Sequence[Delivery], batch: Batch) -> None:
        """Take *deliveries* through all steps: those that were received, or one inline link."""
        telemetry = self.ports.telemetry
        passing(telemetry, "hello", self.membership.hello, None)
        passing(telemetry, "obey", self.commands.obey, None)
        if self._configuration is not None:
            passing(telemetry, "configure", partial(self._configuration.look, self.membership.control.config), None)
        batch.limits = self.membership.control.limits
        jobs = self._intake.open(self._admission.sift(deliveries, batch), batch)
        passing(telemetry, "beat", partial(self.membership.beat, len(deliveries), jobs, batch.chronicle), None)
        try:
            self._walk_all(deliveries, jobs, batch)
        except Exception as error:  # noqa: BLE001 - the last resort
            self._return(jobs, unexpected(telemetry, error), batch)
        park = ("park", self._parking.settle)
        for step, call in (("release", self._release), ("echo", self._intake.echo), park, ("defer", self._defer), park):
            passing(telemetry, step, partial(call, batch), None)

    def running(self) -> list[TaskContext]:
        """Return the running bodies: the contexts of those that have begun and not ended; for the watcher of the worker's time."""
        return [context for context in [*self._execution.began] if not context.over]

    def drain(self) -> None:
        """Start no more bodies: running bodies end, and `work` returns the messages of the others. May be called by a signal handler."""
        self._draining.set()

    def cut(self) -> list[Delivery]:
        """Release the claims of bodies that still run: another worker may run them at once; of a pack, its members that have not ended.

        Later results are not recorded, and no attempt is counted. A body without a claim keeps its message. Any thread may call it.
        Raises:
            Unavailable: the ledger did not answer; the claims expire.
        """
        return released(self.ports.ledger, self.give_up())

    def give_up(self) -> list[GivenUp]:
        """Extend no claim any longer, and return the messages of bodies that still run with the outcomes that release their claims."""
        claimed = [(one.delivery, self._packs.given_up(one.record)) for one in self._extending.let_go() if one.record is not None]
        return [(delivery, outcome) for delivery, outcome in claimed if outcome is not None]

    def join(self) -> None:
        """Report to the cluster that this worker works, before it has received anything."""
        chronicle = Chronicle(self.host)
        self.membership.hello()
        self.membership.beat(0, (), chronicle)
        self._invocations.send(chronicle)

    def leave(self) -> None:
        """Report to the cluster that this worker takes no more work; its host calls this before the process ends.

        Not on Lambda, which does not announce the end of an environment (`sedano.model.cluster.members`).
        """
        chronicle = Chronicle(self.host)
        self.membership.leave(chronicle)
        self._invocations.send(chronicle)
        self.ports.telemetry.flush()

    def _defer(self, batch: Batch) -> None:
        """Send deferred messages again, so that they wait outside this worker and are not in flight."""
        if batch.deferred:
            from sedano.engine import deferrals

            deferrals.settle(self.ports, self.lamport, self._spared, batch)

    def _walk_all(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> None:
        for together in self._admission.turns(deliveries, jobs, batch) or rounds(jobs):
            if self._draining.is_set() or self.ports.clock.now() > batch.deadline - self.settings.guard:
                self._put_off(together, batch)
                continue
            try:
                self._walk(together, batch)
            except Exception as error:  # noqa: BLE001 - the last resort
                self._return(together, unexpected(self.ports.telemetry, error), batch)
                passing(self.ports.telemetry, "release", partial(self._admission.release, batch), None)

    def _return(self, jobs: Sequence[Job], answer: SedanoError, batch: Batch) -> None:
        """Settle those of *jobs* that have not ended, after the error *answer*: park a job that was processed alone, give others back."""
        for job in jobs:
            if batch.is_decided(job.delivery) or job.command.id in self._intake.window or batch.has_finished(job.command.id):
                continue
            if len(jobs) == 1:
                settle(self.ports.telemetry, answer, job.delivery, batch)
            else:
                batch.give_back(job.delivery)

    def _admitted(self, jobs: Sequence[Job], batch: Batch) -> list[Job]:
        def admit(some: Sequence[Job]) -> Sequence[Job]:
            return self._admission.admit(some, batch)

        return apart(self.ports.telemetry, admit, jobs, batch, partial(self._admission.release, batch))

    def _walk(self, jobs: Sequence[Job], batch: Batch) -> None:
        """Take *jobs* from claim to acknowledgement."""
        held = self._claiming.claim(self._admitted(jobs, batch), batch)
        self._extending.hold(held)
        ready, unfit = self._execution.preparation.prepare(held, batch)
        self._parking.settle(batch)
        stream = self._stream()
        for ran in unfit:
            self._unrun(stream, batch, ran)
        self._execution.run(ready, batch, partial(self._ended, stream, batch))
        accepted = self._accepted(stream, batch)
        self._extending.ended(held)
        self._admission.learn(accepted, ready, batch)
        self._following.follow(accepted, batch)
        self._admission.release(batch)

    def _stream(self) -> Stream[Ran, RecordedRun]:
        """Return the stream that records the runs of a batch: each alone, or with group commit those that wait together."""
        record = self.recording
        if not self.ports.group_commit:
            return self._lanes.stream(record.conclude)
        return self._lanes.grouped(record.conclude, record.conclude_together, goes_together)

    def _put_off(self, jobs: Sequence[Job], batch: Batch) -> None:
        """Give *jobs* back unclaimed: there is no time left for them in this invocation."""
        for job in jobs:
            level, words = ("info", DRAINED) if self._draining.is_set() else ("warning", "no time left in this invocation")
            self.ports.telemetry.log(level, words, task_id=job.command.task_id)
            put_back(job, batch)

    def _unrun(self, stream: Stream[Ran, RecordedRun], batch: Batch, ran: Ran) -> None:
        """Pass on a run whose body never began; first its message is parked, if that was decided, so that no crash can lose it."""
        self._parking.settle(batch)
        if ran.held.job.delivery not in batch.given_back:
            stream.put(ran)
        elif ran.held.stillborn is None or ran.held.stillborn.state != states.POISON:
            batch.unstarted.append(ran.held)

    def _ended(self, stream: Stream[Ran, RecordedRun], batch: Batch, ran: Ran) -> None:
        """Pass on a run that ended, to be recorded by a lane unless nothing is written for it."""
        held = ran.held
        if held.stillborn is not None:
            self._unrun(stream, batch, ran)
        elif held.job.mode == "at_least_once":
            stream.put_here(ran)
        else:
            stream.put(ran)

    def _accepted(self, stream: Stream[Ran, RecordedRun], batch: Batch) -> list[Judged]:
        accepted = []
        for ran, answer in stream.close():
            if isinstance(answer, Judged):
                accepted.append(answer)
                if answer.ran.held.job.command.task == PACK:
                    continue  # its members are reported by its record
                try:
                    tell(answer, batch, self.lamport)
                except Exception as error:  # noqa: BLE001 - the last resort
                    stumbled(self.ports.telemetry, "tell", error)
            elif isinstance(answer, Refused):
                self._contained_refusal(ran.held.job, answer.record, batch)
            else:
                self._unrecorded(ran, answer, batch)
        return accepted

    def _unrecorded(self, ran: Ran, answer: SedanoError, batch: Batch) -> None:
        """Defer a run whose outcome could not be recorded: until its claim ends, or without a claim as a new message."""
        job = ran.held.job
        self.ports.telemetry.log("warning", "outcome not recorded", task_id=job.command.task_id, error=str(answer))
        if ran.held.record is None and not isinstance(answer, MessageRefused):
            batch.defer_job(job, answer, ran=True)
        else:
            settle(self.ports.telemetry, answer, job.delivery, batch)

    def _release(self, batch: Batch) -> None:
        """Release claims of bodies that never began, so that they do not count as attempts that killed their worker."""
        outcomes = self.recording.judging.all_released(held.record for held in batch.unstarted)
        try:
            if outcomes:
                self.ports.ledger.record(outcomes)
        except SedanoError as error:
            self.ports.telemetry.log("warning", "claims not released; they expire", error=str(error))

    def _contained_refusal(self, job: Job, record: TaskRecord | None, batch: Batch) -> None:
        try:
            self._refused(job, record, batch)
        except Exception as error:  # noqa: BLE001 - the last resort
            contain(self.ports.telemetry, error, job.delivery, batch)

    def _refused(self, job: Job, record: TaskRecord | None, batch: Batch) -> None:
        """Settle a run whose outcome the ledger refused: another worker's outcome is recorded."""
        claimed = job.mode == "claimed"
        kind = "claim-refused" if claimed else "message-duplicate"
        if not claimed:
            batch.count("Duplicates", job.task.name)
        batch.chronicle.line(kind, self.lamport.forward(), self.ports.clock.now(), uuid=job.command.task_id, name=job.task.name)
        self.ports.telemetry.log("warning", "a late outcome was refused by the ledger", task_id=job.command.task_id, task=job.task.name)
        if claimed or record is None or record.state not in states.TERMINAL:
            batch.give_back(job.delivery)
        elif record.message_id in ("", job.command.id):
            self._following.follow_again(job, record, batch)

    def _tell(self, batch: Batch, messages: int) -> None:
        """Count, send the history, and flush."""
        telemetry = self.ports.telemetry
        for (metric, task), value in batch.counts.items():
            telemetry.count(metric, value, task=task)
        self._invocations.tell(batch.chronicle, messages, len(batch.given_back))
        telemetry.flush()
