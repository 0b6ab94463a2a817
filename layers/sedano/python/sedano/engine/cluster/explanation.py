"""Why has this task not run? One sentence and its evidence, read off what is there: nothing is asked of any worker.

Looked at in this order, each only while nothing before it answers: the ledger (it ran, it runs, it waits for its next try), the timers (it
waits for its moment), the history of today and yesterday (a worker held it back, and why, or collected it), the control record
(it is paused, or revoked), the parked queue, the dead letters, and at last how much waits before it. Publishing writes nothing, so a task
without any trace waits in a queue unseen, or was never published: which of the two is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sedano.engine.deferrals import HELD as MESSAGE_HELD
from sedano.engine.parked.redrive import give_back, parked
from sedano.errors import MessageRefused, SedanoError
from sedano.model import circuits as breaker
from sedano.model import states
from sedano.model.budgets import Load
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.ledger.custom_states import custom_state_of
from sedano.model.ledger.records import RECORD_LIFETIME_S, TaskRecord
from sedano.model.memos import CIRCUIT, memo_name
from sedano.model.messages import codec, headers
from sedano.model.messages.message import Command
from sedano.model.messages.strict_json import MAX_BYTES, MAX_DEPTH, load
from sedano.model.messages.timestamps import LAST_SECOND, shown
from sedano.model.pauses import ID, QUEUE, cause_name, cause_of, in_force
from sedano.model.retry import MAX_EXECUTIONS, MOST_EXECUTIONS
from sedano.model.timers import Timer
from sedano.model.workflow.flow_run import FlowRun
from sedano.ports import Ports, command_queue
from sedano.ports.absent import has

DAYS_S = 86_400.0
HELD = ("task-held", MESSAGE_HELD)
MOST_LETTERS = 100
NOWHERE = (
    "nothing was published under it in this stage, or its record has aged out (after "
    f"{RECORD_LIFETIME_S / DAYS_S:.0f} days), or its countdown of at most 15 minutes is not over"
)
NO_EVIDENCE: Mapping[str, Any] = {}


class Explanation(NamedTuple):
    """Why a task has not run, or that it did: its *state*, one *sentence*, and the *evidence* that the sentence rests on."""

    task_id: str
    state: str
    sentence: str
    evidence: Mapping[str, Any] = NO_EVIDENCE


def explain(ports: Ports, queues: Sequence[str], task_id: str, *, quick: bool = False) -> Explanation:
    """Return why the task *task_id* has not run; *queues* are the names of the app's command queues.

    *quick*: look neither at timers (a call for each), nor at parked messages and dead letters, which are received and given back. A screen
    that is read again and again explains so.

    Raises:
        Unavailable: a store did not answer.
    """
    return next(_answers(ports, queues, task_id, quick=quick))


def _answers(
    ports: Ports, queues: Sequence[str], task_id: str, before: Mapping[str, Any] | None = None, *, quick: bool = False
) -> Iterator[Explanation]:
    """Yield answers, the best first; *before*: an answer about a call that it runs, which proves that it was published."""
    now = ports.clock.now()
    record = ports.ledger.read([task_id]).get(task_id)
    if record is not None and record.state != states.PENDING and not (record.state == states.RETRY and record.not_before <= now):
        yield _recorded(record, now)
    run = ports.flow_runs.read(task_id) if record is None and has(ports.flow_runs) else None
    if run is not None:
        yield _directed(run)
    timers = ports.timers.list() if has(ports.timers) and not quick else ()
    timer = next((timer for timer in timers if _task_id(timer) == task_id), None)
    if timer is not None:
        yield _waits(task_id, timer, now)
    told = _held(ports, task_id, now)
    if told is not None and "batch" in told and before is None:
        yield _collected(ports, queues, task_id, told, now, quick=quick)
    if told is not None and told["until"] > now:
        yield _held_back(ports, task_id, told, now)
    if not quick:
        yield from _set_aside(ports, queues, task_id)
    yield from _stopped(ports, queues, task_id, now)
    if record is not None and record.state == states.RETRY:
        yield _recorded(record, now)
    yield _unseen(ports, queues, task_id, told or before)


def _directed(run: FlowRun) -> Explanation:
    """Explain a run of a workflow, asked for by its id."""
    left = ", ".join(f"{name} ({why})" for name, why in run.uncompensated.items())
    more = f"; not undone: {left}: retry() undoes that first" if left else ""
    sentence = f"it is a run of the workflow {run.workflow} and is {run.state}{f': {run.cause}' if run.cause else ''}{more}"
    evidence = {"workflow": run.workflow, "cause": run.cause, "uncompensated": dict(run.uncompensated)}
    return Explanation(run.run_id, run.state, sentence, evidence)


def _recorded(record: TaskRecord, now: float) -> Explanation:
    """Explain by the ledger."""
    evidence: dict[str, Any] = {
        "name": record.name, "attempt": record.attempt, "claims": record.claims, "owner": record.owner, "fence": record.fence,
        "message_id": record.message_id, "expires": record.expires, "not_before": record.not_before,
    }  # fmt: skip
    if record.call is not None:
        evidence |= _headers(record.call.body)
    ended, custom = shown(record.clock / 1_000_000), custom_state_of(record)
    if custom is not None:
        evidence |= {"custom_state": custom.state, "meta": dict(custom.meta)}
    if record.state == states.RUNNING and record.expires > now:
        doing = f"; its body shows the state {custom.state}" if custom is not None else ""
        sentence = f"it runs: claimed by {record.owner} until {shown(record.expires)}{doing}"
    elif record.state == states.RUNNING:
        sentence = (
            f"claimed by {record.owner} until {shown(record.expires)}, which is over: that worker was lost, or its function's time limit "
            "ended the body; another takes over when the message is delivered again"
        )
    elif record.state == states.RETRY:
        why = f" after {record.error.type_name}: {record.error.message}" if record.error is not None else ""
        other = ", with other arguments" if why and (record.outbox or record.outbox_ref is not None) else ""
        sentence = f"it is tried again, attempt {record.attempt}{_many(record.attempt)}, from {shown(record.not_before)}{other}{why}"
    elif record.error is not None:
        sentence = f"it ended as {record.state} at {ended}: {record.error.type_name}: {record.error.message}"
    elif record.state == states.REVOKED:
        sentence = f"it ended as REVOKED at {ended}: its id was revoked"
    else:
        sentence = f"it ended as {record.state} at {ended}"
    return Explanation(record.task_id, record.state, sentence, evidence)


def _many(attempt: int) -> str:
    """Return the limit of attempts, for an *attempt* that only a policy for more of them allows."""
    return f" of at most {MOST_EXECUTIONS - 1:,}" if attempt >= MAX_EXECUTIONS else ""


def _headers(body: str) -> dict[str, Any]:
    """Return the headers of the message *body* as evidence, if it has some."""
    try:
        command = codec.decode(body)
    except MessageRefused:
        return {}
    return {"headers": dict(headers.read(command.headers))} if isinstance(command, Command) and command.headers else {}


def _waits(task_id: str, timer: Timer, now: float) -> Explanation:
    evidence = {"at": timer.at, "seconds": round(timer.at - now, 3), "queue": timer.queue, "timer": timer.name, **_headers(timer.body)}
    return Explanation(task_id, states.PENDING, f"it waits for its moment, {shown(timer.at)}", evidence)


def _held(ports: Ports, task_id: str, now: float) -> dict[str, Any] | None:
    """Return a worker's last report of holding it back; None if the history has no report since yesterday, or there is no history."""
    if not has(ports.events):
        return None
    since = datetime.fromtimestamp(now - DAYS_S, UTC).strftime("%Y-%m-%d")
    lines = (line for blob in ports.events.read(since) for line in blob.splitlines() if task_id.encode() in line)
    found = [event for line in lines if (event := _held_line(line, task_id)) is not None]
    last = max(found, key=lambda event: float(event["timestamp"]), default=None)
    if last is None:
        return None
    return {**last, "since": min(float(event["timestamp"]) for event in found if event["until"] == last["until"])}


def _held_line(line: bytes, task_id: str) -> dict[str, Any] | None:
    """Return the event of a *line* that reports that *task_id* was held back; None for any other, and for one that no worker writes."""
    try:
        event = load(line, MAX_BYTES, MAX_DEPTH)
    except MessageRefused:
        return None
    if not isinstance(event, dict) or event.get("type") not in HELD or event.get("uuid") != task_id:
        return None
    texts = all(isinstance(event.get(name), str) for name in ("name", "reason", "hostname")) and isinstance(event.get("batch", ""), str)
    moments = (event.get("timestamp"), event.get("until"))
    dated = all(isinstance(moment, int | float) and 0 <= moment < LAST_SECOND for moment in moments)
    return event if texts and dated else None


def _collected(
    ports: Ports, queues: Sequence[str], task_id: str, told: Mapping[str, Any], now: float, *, quick: bool
) -> Explanation:  # fmt: skip
    """Explain a call that is run with others: it waits for them, or a task runs them."""
    batch, since, until = str(told["batch"]), float(told["since"]), float(told["until"])
    evidence = {"name": told["name"], "batch": batch, "since": since, "until": until, "hostname": told["hostname"]}
    if until > now and batch not in ports.ledger.read([batch]):
        sentence = f"it waits for other calls of {told['name']} since {shown(since)}; they run as one at {shown(until)} at the latest"
        return Explanation(task_id, states.PENDING, sentence, evidence)
    found = next(_answers(ports, queues, batch, told, quick=quick))
    sentence = f"it was collected at {shown(since)} and is run with other calls by the task {batch}: {found.sentence}"
    return Explanation(task_id, found.state, sentence, {**evidence, "of_batch": found.evidence})


def _held_back(ports: Ports, task_id: str, told: Mapping[str, Any], now: float) -> Explanation:
    evidence = {key: told[key] for key in ("name", "reason", "until", "timestamp", "hostname")}
    reason = str(told["reason"])
    if reason.startswith("debounce: "):
        sentence = f"{reason} since {shown(told['since'])}; it runs at {shown(float(told['until']))} unless a later call arrives"
        return Explanation(task_id, states.PENDING, sentence, {**evidence, "since": told["since"]})
    if reason.startswith("circuit "):
        name = reason.removeprefix("circuit ").partition(" is open")[0]
        memo = ports.memos.read([memo_name(CIRCUIT, name)]).get(memo_name(CIRCUIT, name))
        if memo is not None:
            circuit = breaker.from_text(memo.text)
            evidence |= {"since": circuit.since, "cause": circuit.cause, "open": circuit.is_open(now)}
    elif reason.startswith("paused: "):
        kind, _, name = reason.removeprefix("paused: ").partition(" ")
        reason += _cause(ports, kind, name)
    return Explanation(task_id, states.PENDING, f"{reason}; its message is delivered again at {shown(float(told['until']))}", evidence)


def _stopped(ports: Ports, queues: Sequence[str], task_id: str, now: float) -> Iterator[Explanation]:
    """Explain by a pause that would stop this task too, as far as its id alone shows."""
    control = ports.control.read() if has(ports.control) else ControlRecord()
    pauses = in_force(control.paused, now)
    by_id = next((pause for pause in pauses if (pause.kind, pause.name) == (ID, task_id)), None)
    if by_id is not None:
        yield Explanation(task_id, states.PENDING, "it is paused by its id", by_id._asdict())
    paused = {pause.name: f" until {shown(pause.until)}" if pause.until else "" for pause in pauses if pause.kind == QUEUE}
    stopped = [queue for queue in queues if queue in paused]
    if stopped:
        loads = {queue: load._asdict() for queue, load in _loads(ports, stopped).items()}
        told = ", ".join(f"{queue}{paused[queue]}{_cause(ports, QUEUE, queue)}" for queue in stopped)
        which = "its queue is" if len(stopped) == len(queues) == 1 else "it may lie in a queue that is"
        yield Explanation(task_id, states.PENDING, f"{which} paused: {told}", {"paused": sorted(paused), "load": loads})


def _cause(ports: Ports, kind: str, name: str) -> str:
    """Return the cause of the pause of *kind* and *name* in brackets, such as `` (by ana: bad deploy)``; empty if it is unknown."""
    memo = cause_name(kind, name)
    found = ports.memos.read([memo]).get(memo) if has(ports.memos) else None
    sentence = cause_of(found.text).sentence if found is not None else ""
    return f" ({sentence})" if sentence else ""


def _set_aside(ports: Ports, queues: Sequence[str], task_id: str) -> Iterator[Explanation]:
    """Explain by the parked queue and the dead letters."""
    some = parked(ports, lambda one: one.is_named(task_id))
    give_back(ports, some)
    for one in some[-1:]:
        evidence = {"reason": one.reason, "field": one.field, "detail": one.detail, "queue": one.queue, "at": one.at}
        what = "`sedano parked redrive` sends it again"
        yield Explanation(task_id, states.PENDING, f"parked: {one.reason}, {one.detail}; {what}", evidence)
    for queue in queues if has(ports.consumers) else ():
        for letter in ports.consumers.dead(command_queue(queue), MOST_LETTERS):
            if task_id in (letter.message_id, _id_of(letter.body)):
                why = "it was received too often without an end, which kills its workers or outlasts their time"
                evidence = {"queue": queue, "receives": letter.receives, "sent": letter.sent}
                yield Explanation(task_id, states.PENDING, f"it lies in the dead letters of {queue}: {why}", evidence)


def _unseen(ports: Ports, queues: Sequence[str], task_id: str, told: Mapping[str, Any] | None) -> Explanation:
    loads = _loads(ports, queues)
    waiting = ", ".join(f"{load.waiting} wait in {queue}" for queue, load in loads.items())
    evidence: dict[str, Any] = {"load": {queue: load._asdict() for queue, load in loads.items()}}
    if told is None and not loads:
        sentence = "no worker has seen it: it waits in its queue, or it was never published; this deployment does not say what waits"
    elif told is None and not any(load.waiting or load.running for load in loads.values()):
        sentence = f"nothing here knows this id, and {waiting}: {NOWHERE}"
    elif told is None:
        sentence = f"no worker has seen it: it waits in its queue ({waiting}), or it was never published"
    else:
        evidence |= {"reason": told["reason"], "until": told["until"]}
        now = f" ({waiting})" if waiting else ""
        sentence = f"it was held back until {shown(float(told['until']))} ({told['reason']}) and waits in its queue now{now}"
    return Explanation(task_id, states.PENDING, sentence, evidence)


def _loads(ports: Ports, queues: Sequence[str]) -> dict[str, Load]:
    """Return how much waits in each of *queues*; nothing where the deployment does not say."""
    return {queue: ports.consumers.load(command_queue(queue)) for queue in queues} if has(ports.consumers) else {}


def _task_id(timer: Timer) -> str:
    return _id_of(timer.body)


def _id_of(body: str) -> str:
    try:
        command = codec.decode(body)
    except (MessageRefused, SedanoError):
        return ""
    return command.task_id if isinstance(command, Command) else command.id
