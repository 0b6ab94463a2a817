"""A toy world for the rule: records in a dict, and schedules that lose nothing but order, freshness and uniqueness.

Tasks begin, end, fail and are tried again in any order; a question that was asked may be answered late, twice, and from a view of the
records that is already old when its answer is carried out.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, TERMINATE, TaskRecord
from sedano.model.messages.message import BlobRef
from sedano.model.workflow.definition import Definition, StepSpec
from sedano.model.workflow.flow_run import CANCELLING, FAILING, RUNNING, FlowRun
from sedano.model.workflow.next_actions import Action, Compensate, End, Publish, Stop, WindUp, advance
from sedano.model.workflow.progress import FlowProgress

Rule = Callable[[FlowProgress, str | None], Sequence[Action]]
REF = BlobRef("0" * 64, 1)


@dataclass
class Toy:
    """One run. *odds*: how likely a begun task fails. *well*: steps as they ended well. *undone*: as their compensations ended;
    *left*: those whose compensation failed.
    """

    definition: Definition
    dice: random.Random
    odds: float = 0.2
    run: FlowRun = field(default_factory=lambda: FlowRun("r", "w", "1", REF, 0.0))
    records: dict[str, TaskRecord] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    queue: list[tuple[str, str]] = field(default_factory=list)
    questions: list[str | None] = field(default_factory=lambda: [None])
    answers: list[tuple[FlowRun, str | None, Action]] = field(default_factory=list)
    began: list[str] = field(default_factory=list)
    well: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    left: set[str] = field(default_factory=set)
    owner: dict[str, str] = field(default_factory=dict)
    joins: dict[str, list[str]] = field(default_factory=dict)
    clock: int = 0
    rule: Rule = advance
    menu: tuple[Any, ...] = (0, 1, 7, [1, 2], [])
    violations: list[str] = field(default_factory=list)

    def progress(self) -> FlowProgress:
        """What the records say now."""
        return FlowProgress(self.definition, self.run, {"n": 5, "items": [3, 4]}, dict(self.records), lambda r: self.values[r.task_id])

    def move(self) -> bool:
        """Let one thing happen that can; tell whether there was any."""
        moves = [m for m, possible in ((self.ask, self.questions), (self.answer, self.answers), (self.work, self.queue)) if possible]
        if moves:
            self.dice.choice(moves)()
        return bool(moves)

    def play(self, most: int = 4_000) -> None:
        """Let things happen, in any order, until nothing can."""
        for _ in range(most):
            if not self.move():
                return
        raise AssertionError(f"still not done: {len(self.questions)} questions, {len(self.queue)} messages")

    def ask(self) -> None:
        """Read the records and keep the answer for later; once in a while the same question is asked again."""
        question = self.questions.pop(self.dice.randrange(len(self.questions)))
        self.answers += [(self.run, question, action) for action in self.rule(self.progress(), question)]
        if self.dice.random() < 0.1:
            self.questions.append(question)

    def answer(self) -> None:
        """Carry out one answer, however old."""
        seen, question, action = self.answers.pop(self.dice.randrange(len(self.answers)))
        if isinstance(action, Publish):
            self.publish(action.step, action.task_id)
        elif isinstance(action, Compensate):
            self.queue.append(("undo", action.task_id))
            self.owner[action.task_id] = action.step.name
        elif isinstance(action, Stop):
            for task_id in action.task_ids:
                self.stop(task_id, TERMINATE if action.terminate else NO_RETRY)
            self.questions.append(None)
        elif self.run.revision == seen.revision:  # compare and swap
            self.write(action)
            self.questions += [question, None]

    def write(self, action: WindUp | End) -> None:
        """Write the run's item."""
        if isinstance(action, WindUp):
            self.run = self.run._replace(state=FAILING, revision=self.run.revision + 1)
        else:
            self.run = self.run._replace(state=action.state, uncompensated=action.uncompensated, revision=self.run.revision + 1)

    def publish(self, step: StepSpec, task_id: str) -> None:
        """Send the messages of a step, once or twice."""
        copies = 2 if self.dice.random() < 0.1 else 1
        self.owner[task_id] = step.name
        if step.each is None:
            self.queue += [("step", task_id)] * copies
            return
        calls = self.progress().calls(step)
        self.joins[task_id] = list(calls.values())
        self.owner |= {call: f"{step.name}[{n}]" for n, call in calls.items()}
        self.queue += [("step", call) for call in calls.values()] * copies + [("join", task_id)]

    def stop(self, task_id: str, asked: int) -> None:
        """Revoke what nobody holds; ask who does."""
        record = self.records.get(task_id, TaskRecord(task_id, states.PENDING))
        if record.state in (states.PENDING, states.RETRY):
            self.records[task_id] = record._replace(state=states.REVOKED)
        elif record.state == states.RUNNING:
            self.records[task_id] = record._replace(asked=max(asked, record.asked))

    def work(self) -> None:
        """Deliver one message: claim, or end what runs."""
        kind, task_id = self.queue.pop(self.dice.randrange(len(self.queue)))
        record = self.records.get(task_id, TaskRecord(task_id, states.PENDING))
        if kind == "join":
            self.join(task_id)
        elif record.state in states.TERMINAL:
            self.tell(task_id)
        elif record.state == states.RUNNING:
            self.end(kind, record)
        elif record.asked:
            self.records[task_id] = record._replace(state=states.REVOKED)
            self.tell(task_id)
        else:
            self.begin(kind, task_id, record)

    def begin(self, kind: str, task_id: str, record: TaskRecord) -> None:
        """A body begins; its message stays in the queue until it ends."""
        self.clock += 1
        self.records[task_id] = record._replace(state=states.RUNNING, message_id="m", clock=self.clock)
        self.queue.append((kind, task_id))
        if kind == "step":
            self.began.append(self.owner[task_id])
            self.check(self.owner[task_id])
        elif self.states_of_steps() & {states.RUNNING}:
            self.violations.append(f"{self.owner[task_id]} is compensated while a step runs")

    def states_of_steps(self) -> set[str]:
        """The states of all steps' tasks."""
        undoing = {self.run.compensation_id(s.name) for s in self.definition.steps}
        return {record.state for task_id, record in self.records.items() if task_id not in undoing}

    def check(self, name: str) -> None:
        """A step may run only when all that it needs has ended."""
        for needed in self.definition.needs()[name.partition("[")[0]]:
            state = self.progress().status(needed).state
            if state not in ("SUCCEEDED", "SKIPPED"):
                self.violations.append(f"{name} began while {needed} was {state}")

    def end(self, kind: str, record: TaskRecord) -> None:
        """A body ends: well, badly, or to be tried again."""
        self.clock += 1
        roll = self.dice.random()
        if roll > 0.9 and kind == "step":
            self.records[record.task_id] = record._replace(state=states.RETRY, clock=self.clock, attempt=record.attempt + 1)
            self.queue.append((kind, record.task_id))
            return
        failed = roll < self.odds
        state = states.FAILURE if failed else states.SUCCESS
        self.records[record.task_id] = record._replace(state=state, clock=self.clock)
        self.values[record.task_id] = self.dice.choice(self.menu)
        if kind == "undo" and failed:
            self.left.add(self.owner[record.task_id])
        if kind == "undo" or not failed:
            (self.undone if kind == "undo" else self.well).append(self.owner[record.task_id])
        self.tell(record.task_id)

    def tell(self, task_id: str) -> None:
        """Whoever records an end publishes the question, once or twice."""
        name = self.owner.get(task_id, "")
        if "[" not in name:
            self.questions += [name] * (2 if self.dice.random() < 0.1 else 1)

    def join(self, task_id: str) -> None:
        """The whole of a `map` ends when every item has."""
        found = [self.records.get(i, TaskRecord(i, states.PENDING)) for i in self.joins[task_id]]
        if any(r.state not in states.TERMINAL for r in found):
            self.queue.append(("join", task_id))
            return
        self.clock += 1
        if self.records.get(task_id) is None:
            well = all(r.state == states.SUCCESS for r in found)
            self.records[task_id] = TaskRecord(task_id, states.SUCCESS if well else states.FAILURE, clock=self.clock, message_id="m")
            self.values[task_id] = self.dice.choice(self.menu)
        self.tell(task_id)

    def cancel(self) -> None:
        """The operator cancels."""
        if self.run.state == RUNNING:
            self.run = self.run._replace(state=CANCELLING, revision=self.run.revision + 1)
            self.questions.append(None)
