"""The referee of tasks: watches every write, message and acknowledgement of a world and says when a promise is broken.

I7, the refinement check, is the primary oracle: whatever the expressions say, a write that was carried out must be one of the few moves
below, made by whom it belongs to. A nonce names the invocation that drew it, so the referee knows the writer without asking him.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sedano.aws.client import keys
from sedano.engine.built_in_tasks import ELECT_TASK
from sedano.engine.worker.claims import GUARD_S
from sedano.model import states
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.messages import codec
from sedano.model.messages.message import ELECT, LAUNCH, Command
from sedano.ports import RECORDS
from tests.simulation.dynamodb import Change, Database
from tests.simulation.process import Process
from tests.simulation.sqs import Message, Queues
from tests.simulation.values import Item
from tests.simulation.world import World

LEDGER = "ledger"
FREE = ("", states.PENDING, states.RETRY)
ENDS = frozenset({*states.TERMINAL, states.RETRY})


@lru_cache(4096)
def command_of(body: str) -> Command | None:
    """Return the command that *body* holds, or None."""
    found = codec.decode(body)
    return found if isinstance(found, Command) else None


def text(item: Item | None, name: str) -> str:
    """Return a text of *item*, empty where there is none."""
    found: str = item[name]["S"] if item is not None and name in item else ""
    return found


def number(item: Item | None, name: str) -> int:
    """Return a number of *item*, 0 where there is none."""
    return int(item[name]["N"]) if item is not None and name in item else 0


class ClaimReferee:
    """Watches one world. *commands*: the URL of the command queue; *parked*: of the queue for messages set aside."""

    def __init__(self, world: World, database: Database, queues: Queues, commands: str, parked: str) -> None:
        """Watch from now on."""
        self.world, self.database, self.queues, self.commands, self.parked = world, database, queues, commands, parked
        self.published: defaultdict[str, set[int]] = defaultdict(set)
        self.names: dict[str, str] = {}
        self.set_aside: set[str] = set()
        self.given: defaultdict[str, dict[str, list[Command]]] = defaultdict(dict)
        self.ends: Counter[str] = Counter()
        self.nonces: set[str] = set()
        database.watchers.append(self.changed)
        queues.sent_watchers.append(self.sent)
        queues.deleted_watchers.append(self.acknowledged)

    def delivered(self, process: Process, messages: Sequence[Message]) -> None:
        """Remember what this invocation was given."""
        given = self.given[process.mark]
        for message in messages:
            command = command_of(message.body)
            if command is not None:
                given.setdefault(command.task_id, []).append(command)

    def changed(self, change: Change) -> None:
        """Judge a write to a task's record (I7, I1, E1, E3, E9)."""
        if change.table != LEDGER or not change.key.startswith(keys.TASK) or change.author is None:
            return
        old, new = change.old, change.new
        before, after = text(old, "st"), text(new, "st")
        task = change.key.removeprefix(keys.TASK)
        process, mark = change.author
        if after == states.RUNNING and before in FREE:
            self._claimed(task, old, new, process, mark)
        elif after == states.RUNNING and before == states.RUNNING:
            self._stolen(task, old, new, process, mark)
        elif before == states.RUNNING and after in ENDS:
            self._recorded(task, old, new, mark)
        elif before in FREE and after in states.TERMINAL and (self.names.get(task) == "once" or self._is_exit(task, new)):
            self._ended(task, new)
        elif not before and after == states.PENDING:
            self.world.branches["dispatch noted"] += 1
        else:
            self.world.fail("I7", f"{task}: {before or 'nothing'} became {after or 'nothing'} by {mark}")
        if number(new, "ttl") < self.world.now + RECORD_LIFETIME_S - 600:
            self.world.fail("I7", f"{task}: may be forgotten after {number(new, 'ttl') - self.world.now:.0f} s")

    def _is_exit(self, task: str, new: Item | None) -> bool:
        """Tell whether *task* ended without having run, because the task that it names as the cause ended without success."""
        cause = (json.loads(text(new, "tail") or "{}").get("err") or ["", "", "", ""])[3:4]
        return task not in self.published and bool(cause) and self._state(cause[0]) in states.TERMINAL - {states.SUCCESS}

    def _require(self, holds: bool, promise: str, what: str, *about: Any) -> None:
        """Say that *promise* is broken unless it *holds*; *what* is put into words only then."""
        if not holds:
            self.world.fail(promise, what.format(*about) if about else what)

    def _claimed(self, task: str, old: Item | None, new: Item | None, process: Process, mark: str) -> None:
        attempt, known, count = number(new, "try"), number(old, "try"), number(new, "cnt")
        self._require(old is None or attempt == known, "I7", "{}: claimed attempt {} of {}", task, attempt, known)
        self._require(old is not None or attempt == 0, "I7", "{}: attempt {} began without a record", task, attempt)
        self._require(count == 1, "I7", "{}: a first claim counts {}", task, count)
        self._granted(task, old, new, process, mark)

    def _stolen(self, task: str, old: Item | None, new: Item | None, process: Process, mark: str) -> None:
        self.world.branches["steal"] += 1
        self._require(number(new, "try") == number(old, "try"), "I7", "{}: stolen across retries", task)
        self._require(number(new, "cnt") == number(old, "cnt") + 1, "I7", "{}: a steal was not counted", task)
        left = number(old, "exp") - process.clock.now() * 1000
        self._require(left < 0, "E9", "{}: stolen {:.0f} ms before its claim ended", task, left)
        self._granted(task, old, new, process, mark)

    def _granted(self, task: str, old: Item | None, new: Item | None, process: Process, mark: str) -> None:
        nonce, given, token, last = text(new, "nc"), self.given[mark].get(task, ()), number(new, "att"), number(old, "att")
        self._require(token == last + 1, "I1", "{}: token {} → {}", task, last, token)
        self._require(nonce.startswith(f"{mark}~"), "I7", "{}: {} claims under the nonce {}", task, mark, nonce)
        message, attempt = text(new, "mid"), number(new, "try")
        ours = [command for command in given if command.id == message and command.attempt == attempt]
        self._require(bool(ours), "I7", "{}: {} claims for a message it was not given", task, mark)
        longest = (process.clock.now() + 15 * 60 + GUARD_S) * 1000
        self._require(number(new, "exp") <= longest, "I7", "{}: claimed for longer than any invocation", task)
        self._require(number(new, "clk") > ours[0].clock, "C1", "{}: claimed before its message was sent, by the clock", task)

    def _recorded(self, task: str, old: Item | None, new: Item | None, mark: str) -> None:
        after, nonce = text(new, "st"), text(old, "nc")
        self._require(nonce.startswith(f"{mark}~"), "I7", "{}: {} recorded {} over the claim of {}", task, mark, after, nonce)
        kept = old is not None and new is not None and old["nc"] == new["nc"] and old["att"] == new["att"] and old["mid"] == new["mid"]
        self._require(kept, "I7", "{}: a record changed whose it is", task)
        step = number(new, "try") - number(old, "try")
        self._require(step == 0 or (step == 1 and after == states.RETRY), "I7", "{}: {} moved the attempt by {}", task, after, step)
        self._require(number(new, "clk") > number(old, "clk"), "C1", "{}: recorded before it was claimed, by the clock", task)
        if after in states.TERMINAL:
            self._ended(task, new)

    def _ended(self, task: str, new: Item | None) -> None:
        self.ends[task] += 1
        self._require(self.ends[task] == 1, "E1", "{}: {} effects", task, self.ends[task])
        self._require(number(new, "clk") <= (self.world.now + 310) * 1_000_000, "C2", "{}: a clock ahead of all clocks", task)

    def sent(self, url: str, message: Message) -> None:
        """Judge a message that was accepted (J1, C1)."""
        if url == self.parked:
            self.set_aside.add(message.body)
        if url != self.commands or (command := command_of(message.body)) is None:
            return
        self.published[command.task_id].add(command.attempt)
        self.names[command.task_id] = command.task
        given = [one for some in self.given.get(str(message.author[1]), {}).values() for one in some]
        before = (command.task_id, command.attempt - 1)
        claimed = text(self._record(command.lineage.parent_id or ""), "mid")
        parents = [one.clock for one in given if one.id == claimed or (one.task_id, one.attempt) == before]
        self._require(max(parents, default=-1) < command.clock, "C1", "{}: sent before its cause, by the clock", command.task_id)
        self._caused(command)
        if command.gather is not None:
            members = [task for task, name in self.names.items() if name == "plain" and self._state(task) in states.TERMINAL]
            self._require(len(members) >= command.gather.size, "J1", f"{command.task_id}: {len(members)} members had ended")

    def _caused(self, command: Command) -> None:
        """Judge that what caused a message was recorded before it was sent (PROTOCOLS §3.7, §3.8)."""
        parent = command.lineage.parent_id
        if parent in self.names:
            state = self._state(parent or "")
            self._require(state in states.TERMINAL, "E4", "{}: sent while its parent was {}", command.task_id, state or "not recorded")
        if command.attempt:
            recorded = number(self._record(command.task_id), "try")
            early = recorded < command.attempt
            self._require(not early, "E4", "{}: attempt {} sent before it was recorded", command.task_id, command.attempt)

    def _state(self, task: str) -> str:
        return text(self._record(task), "st")

    def _record(self, task: str) -> Item | None:
        return self.database.table(LEDGER).get(keys.task(task))

    def acknowledged(self, url: str, message: Message) -> None:
        """Judge an acknowledgement (E4): somebody must have answered for the task, or another copy of the message be left that will."""
        if url != self.commands or message.body in self.set_aside or (command := command_of(message.body)) is None:
            return
        if any(left.body == message.body for left in self.queues.queue(url).values()):
            return
        task, record = command.task_id, self._record(command.task_id)
        state, mine = text(record, "st"), text(record, "mid") == command.id
        later = number(record, "try") > command.attempt
        ended = state in states.TERMINAL or later
        self._require(ended, "E4", "{}: acknowledged while {}", task, state or "nothing was recorded")
        if mine and state in states.TERMINAL:
            for _, body, *_ in json.loads(text(record, "tail") or "{}").get("out", ()):
                follow = command_of(body)
                sent = follow is None or follow.task_id in self.published
                self._require(sent, "E4", "{}: acknowledged before its follow-up was sent", task)
        elif mine and state == states.RETRY:
            self._require(number(record, "try") in self.published[task], "E4", "{}: acknowledged before its retry was sent", task)

    def at_rest(self, expected: Counter[str], most_claims: int) -> None:
        """Judge a world in which nothing happens any more (E2, E5, and no task more than *expected* by name)."""
        for task in self.published:
            state, most = self._state(task), ELECT_TASK.retry.max_retries if self.names[task] == ELECT else 2
            self._require(state in states.TERMINAL, "E2", f"{task}: ended as {state or 'nothing'}")
            self._require(number(self._record(task), "try") <= most, "E5", f"{task}: tried too often")
        ran = [task for task, name in self.names.items() if name == LAUNCH and not self.set_aside]
        launched = [task for task in ran if self._state(task) == states.SUCCESS]
        bodies = [name for name in self.names.values() if name == "total"]
        self._require(len(bodies) >= len(launched), "J1", f"{len(bodies)} bodies of {len(launched)} chords were published")
        found = Counter(name for name in self.names.values() if name != ELECT)
        self._require(found <= expected, "E1", f"published {dict(found)} where {dict(expected)} were asked for")
        left = [message for url, kept in self.queues.kept.items() if url not in (self.parked, RECORDS) for message in kept.values()]
        self._require(not left, "E2", f"{len(left)} messages never end")
