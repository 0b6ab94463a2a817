"""The parked queue for people: the list of messages with their reasons, and sending one to its queue again.

A principal that may send to the parked queue can put any message there, with any attributes. So a message goes back to the queue in its
attributes only if it carries the mark of the function that parked it (`engine.parked.parking`). Any other message is **foreign**: it stays,
unless it is requested by its id, and then goes to the queue that this app's registry names for its task, or to the events. A foreign
request of a webhook, record of a stream or item of a poll is never sent again.

An unreadable message does not end the listing; it is skipped, with its reason.

If the task of a message has ended without success, the record would prevent another run and the message would be acknowledged. So the task
runs again as a new task (`sedano.engine.reruns`). A message that was parked before its follow-ups were sent is also sent again unchanged.
So is the message of an ended pack: each of its members that this message ended without a run runs again as a new task.

Listing receives messages without deleting them: each is given back at once, or when its visibility timeout ends. A message is sent again
before it is deleted: a crash in between leaves two copies of one message, which their claim absorbs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sedano.engine.deferrals import tenant_of
from sedano.engine.parked.parking import SEAL, proof
from sedano.engine.registry import Registry
from sedano.engine.reruns import Rerun, is_ended_by, publish, rerun_of
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, UnknownQueue
from sedano.model import refusals, states
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.message import PACK, TIMER_OPENING, BlobRef, Command, Document
from sedano.model.packs import asked_of, ends_of, known_calls, member_command, read_calls, spoken
from sedano.model.queues import COMMANDS
from sedano.model.sources.polls import QUEUE as POLL
from sedano.model.sources.streams import QUEUE as STREAM
from sedano.model.sources.webhooks import QUEUE as WEBHOOK
from sedano.model.tasks.task_spec import BUILT_IN
from sedano.model.timers import opened
from sedano.ports import EVENTS, PARKED, Delivery, Outgoing, Ports, command_queue

MOST = 1_000
"""The default number of messages to read."""
EMPTY_POLLS = 3
"""SQS may return no message although the queue has some; after this many empty polls in a row the queue counts as read."""

MOST_BLOB_BYTES = 16 * 1_048_576
"""No function parks more: a webhook's request of 4 MiB, as base64 in JSON, with its headers."""
_is_claim_check = re.compile(r"([0-9a-f]{64}) (0|[1-9][0-9]{0,8})").fullmatch

AS_IT_IS = (refusals.UNEXPECTED, refusals.TAKEN)
"""The reasons for which messages are sent again unchanged although their task has ended: follow-ups are missing, or another task has their
id."""

Reread = Callable[[str, str], object]
"""Takes the parked request of a webhook, record of a stream or item of a poll, by its name, once more; raises `SedanoError` when that fails
again."""


class Parked(NamedTuple):
    """A parked message: why (*reason*, *field*, *detail*), from which *queue* (its key), when (epoch s), and its task."""

    delivery: Delivery
    reason: str
    field: str
    detail: str
    queue: str
    message_id: str
    at: float
    name: str = ""
    task_id: str = ""

    def is_named(self, one: str) -> bool:
        """Return whether *one* is an id of the task, of the message, or of the message in the parked queue."""
        return one in (self.task_id, self.message_id, self.delivery.message_id)


class Going(NamedTuple):
    """A parked message and its target *queue*; *error*: why it stays instead. *rerun*: the new run of its ended task; *members*: those
    of the members of its pack that it ended."""

    one: Parked
    queue: str
    error: SedanoError | None = None
    rerun: Rerun | None = None
    members: Sequence[Rerun] = ()

    @property
    def reruns(self) -> Sequence[Rerun]:
        """All new runs of tasks that the message ended."""
        return self.members if self.rerun is None else (self.rerun,)

    @property
    def task_id(self) -> str:
        """The id under which its task runs, where it is one."""
        return self.rerun.command.task_id if self.rerun is not None else self.one.task_id


def parked(ports: Ports, wanted: Callable[[Parked], bool], most: int = MOST) -> list[Parked]:
    """Read up to *most* parked messages and return the *wanted* ones; the others are given back at once.

    The caller decides about each returned message: `give_back`, or `redrive`.

    Raises:
        Unavailable: the queue did not answer.
    """
    found: dict[str, Parked] = {}
    others: dict[str, Delivery] = {}
    empty = 0
    while empty < EMPTY_POLLS and len(found) + len(others) < most:
        received = ports.queues.receive(PARKED, min(10, most - len(found) - len(others)))
        empty = 0 if received else empty + 1
        for delivery in received:
            one = _parked(delivery)
            if wanted(one):
                found[delivery.message_id] = one
            else:
                others[delivery.message_id] = delivery
    _show(ports, [*others.values()])
    return sorted(found.values(), key=lambda one: (one.at, one.delivery.message_id))


def give_back(ports: Ports, some: Sequence[Parked]) -> None:
    """Make these messages visible again at once."""
    _show(ports, [one.delivery for one in some])


def planned(ports: Ports, some: Sequence[Parked], registry: Registry | None = None, foreign: bool = False) -> list[Going]:
    """Return where each would be sent; *foreign*: messages not parked by a function of this stage go to the queue of their task.

    *registry* names that queue; without it no foreign message goes.

    Raises:
        Unavailable: the ledger did not answer.
    """
    going = [_marked(one) if _is_own(ports, one) else _foreign(ports, one, registry, foreign) for one in some]
    commands = [_command(ports, one) for one in going]
    ids = [command.task_id for command in commands if command is not None]
    records = ports.ledger.read(ids) if ids else {}
    return [_again(ports, one, command, records) for one, command in zip(going, commands, strict=True)]


def _command(ports: Ports, going: Going) -> Command | None:
    """Return the command that the message *going* is; None for any other, for one that stays, and for one that cannot be read."""
    if not going.queue.startswith(COMMANDS):
        return None
    try:
        body = whole_body(ports, going.one)
        message = codec.decode(opened(body).body if body.startswith(TIMER_OPENING) else body)
    except SedanoError:
        return None
    return message if isinstance(message, Command) else None


def _again(ports: Ports, going: Going, command: Command | None, records: Mapping[str, TaskRecord]) -> Going:
    """Return *going* with the next run of its task, if this message has ended the task; of a pack, with those of its members."""
    if command is None or going.one.reason in AS_IT_IS:
        return going
    if command.task == PACK:
        return _unpacked(ports, going, command, records.get(command.task_id))
    if command.task in BUILT_IN:
        return going
    if not is_ended_by(records.get(command.task_id), command):
        return going
    key = going.one.delivery.attributes.get("serial_key")
    return going._replace(rerun=rerun_of(command, going.queue, key, ports.most_budget))


def _unpacked(ports: Ports, going: Going, command: Command, pack: TaskRecord | None) -> Going:
    """Return *going* with the next run of each member of the ended *pack* that its message *command* has ended without a run.

    It stays parked if their arguments cannot be read.
    """
    if pack is None or pack.state not in states.TERMINAL or pack.message_id != command.id:
        return going
    try:
        left = _ended_alone(ports, command, pack)
        if left == []:
            return going
        args = command.args if command.data_ref is None else codec.decode_data(ports.blobs.get(command.data_ref))[0]
        calls = read_calls(command._replace(args=args))
    except SedanoError as error:
        return going._replace(error=error)
    places = [place for place in range(len(calls.calls)) if not asked_of(pack.marks, place)] if left is None else left
    runs = [rerun_of(member_command(command, calls, place), going.queue, None, ports.most_budget) for place in places]
    return going._replace(members=tuple(runs))


def _ended_alone(ports: Ports, command: Command, pack: TaskRecord) -> list[int] | None:
    """Return the places of the members that left the ended *pack* and that its message *command* ended, because their arguments were lost;
    None: the pack ended as a whole, with all its members."""
    if is_ended_by(pack, command):
        return None
    known, ended = known_calls(command, pack), ends_of(pack)
    members = [known.member(place) for place in range(len(known.calls))]
    left = [one for one in members if spoken(one, pack, ended)[1]]
    records = ports.ledger.read([one.task_id for one in left]) if left else {}
    return [one.place for one in left if is_ended_by(records.get(one.task_id), command)]


def redrive(
    ports: Ports, going: Sequence[Going], reread: Reread | None = None, restream: Reread | None = None, repoll: Reread | None = None
) -> list[SedanoError | None]:  # fmt: skip
    """Send each to its queue and delete it; answer None for each sent message, else the error: it stays parked.

    *reread* processes a webhook's request again, *restream* a stream's record, *repoll* an item of a poll, because these came from no
    queue; without it they stay parked.
    """
    sources = [(WEBHOOK, reread), (STREAM, restream), (POLL, repoll)]
    some = [one.one for one in going]
    answers = [one.error or _sent(ports, one, sources) for one in going]
    gone = [one.delivery for one, error in zip(some, answers, strict=True) if error is None]
    if gone:
        ports.queues.delete(gone)
    _show(ports, [one.delivery for one, error in zip(some, answers, strict=True) if error is not None])
    return answers


def whole_body(ports: Ports, one: Parked) -> str:
    """Return the message as received; a long one is in the blob store.

    Raises:
        MessageRefused: its blob is missing or damaged.
    """
    ref = one.delivery.attributes.get("blob", "")
    if not ref:
        return one.delivery.body
    found = _is_claim_check(ref)
    if found is None or int(found[2]) > MOST_BLOB_BYTES:
        raise MessageRefused(refusals.BLOB, "blob", f"{ref[:80]!r} is not the claim check of a parked message")
    try:
        return ports.blobs.get(BlobRef(found[1], int(found[2]))).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise MessageRefused(refusals.BLOB, "blob", "its bytes are not UTF-8") from None


def _is_own(ports: Ports, one: Parked) -> bool:
    """Return whether a function of this stage has parked exactly this message."""
    said = one.delivery.attributes
    return ports.seals.is_marked(said.get(SEAL, ""), PARKED, *proof(one.delivery.body, said))


def _marked(one: Parked) -> Going:
    if one.queue in ("", "-", PARKED):
        why = "it does not name its queue; send its body there by hand (`sedano parked show`)"
        return Going(one, "", UnknownQueue(why))
    return Going(one, one.queue)


def _foreign(ports: Ports, one: Parked, registry: Registry | None, wanted: bool) -> Going:
    named = one.delivery.message_id
    if not wanted:
        keys = "it has no valid mark of a function of this stage" if ports.seals.ready() else _KEYLESS
        looked = f"look at it with `sedano parked show {named}`"
        why = f"{keys}; {looked}, then `sedano parked redrive --foreign {named}` sends it to its task's queue"
        return Going(one, "", ConfigurationError(why))
    if one.queue.startswith((WEBHOOK, STREAM, POLL)):
        why = "it has no proof that it was accepted, so it is not processed again; ask its sender to deliver it again"
        return Going(one, "", ConfigurationError(why))
    try:
        home = _home(whole_body(ports, one), registry)
    except SedanoError as refused:
        return Going(one, "", refused)
    return Going(one, home, None if home else UnknownQueue("this app has no task or event of its name, and so no queue to send it to"))


_KEYLESS = "the stage's keys cannot be read (ssm:GetParameter on /sedano/STAGE/keys), so its mark cannot be verified"


def _home(body: str, registry: Registry | None) -> str:
    """Return the queue to which *registry* sends the task or event of *body*; "" if it is not declared."""
    message = codec.decode(opened(body).body if body.startswith(TIMER_OPENING) else body)
    if registry is None:
        return ""
    if isinstance(message, Command):
        task = registry.tasks.get(message.task)
        return command_queue(task.queue) if task is not None else ""
    if isinstance(message, Document):
        return EVENTS if message.task in registry.documents else ""
    return EVENTS if message.name in registry.subscriptions else ""


def _sent(ports: Ports, going: Going, sources: Sequence[tuple[str, Reread | None]]) -> SedanoError | None:
    try:
        return _gone(ports, going, sources)
    except SedanoError as refused:
        return refused
    except Exception as error:  # noqa: BLE001 - one message ends nobody's look at the others; its type says where to look
        return MessageRefused(refusals.SCHEMA, "body", f"it cannot be sent again: {type(error).__name__}")


def _gone(ports: Ports, going: Going, sources: Sequence[tuple[str, Reread | None]]) -> SedanoError | None:
    one = going.one
    for source, reread in sources:
        if reread is not None and going.queue.startswith(source):
            reread(going.queue.removeprefix(source), whole_body(ports, one))
            return None
    body = whole_body(ports, one)
    key = one.delivery.attributes.get("serial_key")
    # A FIFO queue discards copies for five minutes: a new deduplication id sends this one once more.
    again = Outgoing(body, tenant=tenant_of(body), serial_key=key, once=one.delivery.message_id)
    error = next(filter(None, publish(ports, going.reruns)), None) if going.reruns else None
    if error is None and (not going.rerun or one.reason == refusals.EXECUTIONS):  # neighbours in its pack may lack their follow-ups
        (error,) = ports.queues.send(going.queue, [again])
    return error


def _parked(delivery: Delivery) -> Parked:
    said = delivery.attributes
    name, task_id = _what(delivery.body)
    return Parked(
        delivery=delivery, reason=said.get("reason", "unknown"), field=said.get("field", "-"), detail=said.get("detail", "-"),
        queue=said.get("queue", "-"), message_id=said.get("message_id", delivery.message_id), at=delivery.sent, name=name,
        task_id=task_id,
    )  # fmt: skip


def _what(body: str) -> tuple[str, str]:
    """Return the task's name and id, as far as they can be read."""
    try:
        message = codec.decode(body)
    except MessageRefused:
        return "", ""
    return str(getattr(message, "task", getattr(message, "name", ""))), str(getattr(message, "task_id", message.id))


def _show(ports: Ports, some: Sequence[Delivery]) -> None:
    for delivery in some:
        try:
            ports.queues.hold(delivery, 0.0)
        except SedanoError as error:
            ports.telemetry.log("warning", "parked message not visible again at once", message_id=delivery.message_id, error=str(error))
