"""The referee of collected calls: watches the latest calls, the baskets, who runs and what it gets.

D1: the latest call of a key only ever gives way to a later one. D2: a call runs when it has been quiet for as long as declared since it was
received. D3: it runs only if no later one was known when its invocation began. D4: a call that is superseded is so by a later one; the last
of all runs. B1: a call is acknowledged when it is in a basket, and nothing is put into a basket before the command that runs it is sent.
B2: a basket only grows, to as many calls as declared, and what was shut never changes; whoever runs it, however often, gets the same calls.
B3: every call is in a batch that ran, or whose invocations all died before its body, so that it ended as poison; in two only if it was
received more than once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from sedano.aws.client import keys
from sedano.model import states
from sedano.model.messages.lineage import derived_id
from tests.simulation.claim_referee import ClaimReferee, command_of, number, text
from tests.simulation.collect_tasks import MOST, QUIET_S
from tests.simulation.dynamodb import Change
from tests.simulation.process import Process
from tests.simulation.sqs import Message
from tests.simulation.values import Item

CONTROL = "control"
SKEW_S = 0.45
"""By how much a clock may be off."""
RUNS = "store.batch"


class CollectReferee(ClaimReferee):
    """Watches one world. What becomes of tasks is judged as ever; a call that is in a basket needs no record of its own."""

    def __init__(self, *given: Any) -> None:
        """Watch from now on."""
        super().__init__(*given)
        self.latest: dict[str, tuple[int, str]] = {}
        self.known: dict[str, dict[str, tuple[int, str]]] = {}
        self.clocks: dict[str, int] = {}
        self.shops: defaultdict[str, list[str]] = defaultdict(list)
        self.first: dict[str, float] = {}
        self.received: Counter[str] = Counter()
        self.baskets: dict[str, str] = {}
        self.got: dict[str, list[str]] = {}
        self.kept: dict[str, list[str]] = {}

    def delivered(self, process: Process, messages: Sequence[Message]) -> None:
        """Remember what this invocation was given, and what was known of latest calls when it began."""
        super().delivered(process, messages)
        self.known[process.mark] = dict(self.latest)
        for message in messages:
            command = command_of(message.body)
            if command is not None:
                self.first.setdefault(command.task_id, self.world.now)
                self.received[command.task_id] += 1

    def sent(self, url: str, message: Message) -> None:
        """Judge a message that was accepted."""
        super().sent(url, message)
        command = command_of(message.body) if url == self.commands else None
        if command is not None and command.task == "reindex" and command.task_id not in self.clocks:
            self.clocks[command.task_id] = command.clock
            self.shops[str(command.args[0])].append(command.task_id)

    def changed(self, change: Change) -> None:
        """Judge a write (D1, D4, B1, B2)."""
        super().changed(change)
        if change.key.startswith(keys.LATEST):
            self._require(number(change.new, "clk") > number(change.old, "clk"), "D1", "{} goes back", change.key)
            self.latest[change.key] = number(change.new, "clk"), text(change.new, "tid")
            self.world.branches["a later call is known" if change.old is not None else "a first call is known"] += 1
        elif change.key.startswith(keys.BASKET):
            self._basket_changed(change)

    def runs(self, process: Process, shop: str, task_id: str) -> None:
        """Judge a debounced call that begins (D2, D3)."""
        early = self.first[task_id] + QUIET_S - 2 * SKEW_S - self.world.now
        self._require(early <= 0.0, "D2", "{} runs {:.1f} s before it was quiet for long enough", task_id, early)
        clock, latest = self.known[process.mark].get(keys.latest(f"reindex/{shop}"), (0, task_id))
        self._require(latest == task_id or clock < self.clocks[task_id], "D3", "{} runs though {} is later", task_id, latest)
        self.world.branches["ran after the quiet"] += 1

    def gets(self, batch: str, calls: list[str]) -> None:
        """Judge what a batch gets (B2)."""
        known = self.got.setdefault(batch, calls)
        self._require(known == calls, "B2", "{} gets {} after {}", batch, calls, known)
        self._require(len(calls) <= MOST, "B2", "{} gets {} calls", batch, len(calls))

    def acknowledged(self, url: str, message: Message) -> None:
        """Judge an acknowledgement: that of a call that is collected (B1)."""
        command = command_of(message.body) if url == self.commands else None
        if command is None or command.task != "store":
            super().acknowledged(url, message)
        elif not any(left.body == message.body for left in self.queues.queue(url).values()):
            self._require(command.task_id in self.baskets, "B1", "{}: acknowledged, and in no basket", command.task_id)

    def at_rest(self, expected: Counter[str], most_claims: int) -> None:
        """Judge a world in which nothing happens any more (D4, B3)."""
        calls = [task for task, name in self.names.items() if name == "store"]
        for task in calls:
            del self.published[task], self.names[task]
        ran = Counter(name for name in self.names.values())
        super().at_rest(expected + Counter({RUNS: ran[RUNS]}), most_claims)
        batches = Counter(call for batch, some in self.got.items() if self._state(batch) in states.TERMINAL for call in some)
        unbegun = [batch for batch in self.kept if batch not in self.got and self._state(batch) == states.POISON]
        batches.update(call for batch in unbegun for call in self.kept[batch])
        self.world.branches["poison before its body"] += len(unbegun)
        for call in calls:
            self._require(batches[call] > 0, "B3", "{} is in no batch that ran", call)
            self._require(batches[call] == 1 or self.received[call] > 1, "B3", "{} is in {} batches", call, batches[call])
        self.world.branches["in two batches"] += sum(count > 1 for count in batches.values())
        for shop, tasks in self.shops.items():
            last = max(tasks, key=lambda task: self.clocks[task])
            self._require(self._state(last) in (states.SUCCESS, states.POISON), "D4", "{}: {} ended as {}", shop, last, self._state(last))

    def _recorded(self, task: str, old: Any, new: Any, mark: str) -> None:
        super()._recorded(task, old, new, mark)
        if self.names.get(task) == "reindex" and text(new, "st") == states.REVOKED:
            later = any(clock > self.clocks[task] for clock, _ in self.latest.values())
            self._require(later, "D4", "{} is superseded by nobody", task)
            self.world.branches["superseded"] += 1

    def _basket_changed(self, change: Change) -> None:
        before, after = _entries(change.old), _entries(change.new)
        shut = change.old is not None and "shut" in change.old
        self._require(not shut or before == after, "B2", "{} was shut and has changed", change.key)
        self._require(after[: len(before)] == before, "B2", "{} has lost calls", change.key)
        self._require(len({json.loads(one)[0] for one in after}) <= MOST and len(after) <= MOST, "B2", "{} has {}", change.key, len(after))
        for entry in after[len(before) :]:
            call = json.loads(entry)[0]
            self.world.branches["put again" if call in self.baskets else "put"] += 1
            self.baskets[call] = change.key
        name = change.key.removeprefix(keys.BASKET).replace("%2F", "/")
        self.kept[derived_id(name, "batch")] = sorted({json.loads(one)[0] for one in after})
        if len(after) > len(before):
            self._require(derived_id(name, "batch") in self.published, "B1", "{}: nobody comes for it", name)
        self.world.branches["shut"] += change.new is not None and "shut" in change.new and not shut


def _entries(item: Item | None) -> list[str]:
    return [one["S"] for one in item["entries"]["L"]] if item is not None and "entries" in item else []
