"""One worker's part in an election, alone: which calls follow, who closes it, and how long a message waits; and how a program holds one."""

from dataclasses import replace
from typing import Any

import pytest

from sedano.canvas.election import elect, hold
from sedano.engine.drafts import CommandDraft
from sedano.engine.elections import LOOK_S, MOST_CALLS, Gossip, calls, opening, sudden, written
from sedano.engine.registry import Registry
from sedano.engine.task_context import TaskContext
from sedano.errors import ArgumentError, MessageRefused, OptionError, PortMissing, Unavailable
from sedano.model.cluster.members import ACTIVE, MemberRecord
from sedano.model.elections import ANYBODY, CLOSED, LONGEST_S, PATIENCE_S, Ballot, Election
from sedano.model.ledger.records import Claim
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import ELECT, Command
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Options, Signature
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports.absent import Absent
from tests.unit.engine.gated import advance, asked, batch, job, names, world
from tests.unit.engine.test_drafting import running
from tests.unit.engine.test_outlet import Program

DRAFT = written(CommandDraft("mail", Command("", "", "lead", args=(1,))))
ABOUT = ("topic", "task-1", DRAFT, ["me", "you"], 30)


def election(**changes: Any) -> Election:
    """One that is open."""
    return Election("e", "topic", "task-1", DRAFT, "n")._replace(**changes)


class Stage:
    """One worker over ports in memory."""

    def __init__(self) -> None:
        """It is called me."""
        self.ports, self.registry = world(0.5, "elections"), Registry()
        self.registry.tasks["lead"] = TaskSpec("lead", print, Parameters(lambda *_: None))
        self.registry.led.add("lead")
        self.step = Gossip(self.registry, self.ports, LamportClock(lambda: 1), "me")

    def vote(self, task: str, last: bool = False, about: Any = (), clock: int = 5) -> list[CommandDraft]:
        """Let a command take part, and return what follows from it."""
        self.ports.ledger.claim([Claim(task, 0, task, "n", self.ports.clock.now() + 1e6, 1, ELECT)])
        context = TaskContext(Command(task, task, ELECT), 1, 10.0, clock)
        self.step.vote(context, "e", last, about)
        return [one for one in context.outbox if isinstance(one, CommandDraft)]

    def counted(self) -> float:
        """How often an election was said to be closed."""
        telemetry: Any = self.ports.telemetry
        return float(telemetry.counted("ElectionsClosed"))

    def read(self) -> Election:
        """The election."""
        found = self.ports.elections.read("e")
        assert found is not None
        return found

    def admit(self, **changes: Any) -> tuple[list[str], list[float]]:
        """Whether a message for the winner goes on, and for how long it waits."""
        one = job("a", "lead", args=("e",), **changes)
        found = batch(self.ports)
        admitted = names(self.step.admit([one], found))
        return admitted, [seconds for _, seconds in asked(self.ports.queues, "hold")]


@pytest.mark.parametrize(("need", "number"), [(0, 1), (1, 1), (3, 3), (MOST_CALLS + 1, MOST_CALLS)])
def test_each_needed_worker_is_called_at_once_and_one_when_the_time_is_over(need: int, number: int) -> None:
    found = calls(election(need=frozenset(f"w{n}" for n in range(need))), "mail", 30, "parent")
    assert [one.delay for one in found] == [0] * number + [30]
    assert [one.command.args for one in found] == [("e", False)] * number + [("e", True)]
    assert [one.command.task_id for one in found] == [derived_id("parent", f"elect/{n}") for n in range(number + 1)]
    assert {one.command.task for one in found} == {ELECT}


def test_an_election_that_is_opened_calls_the_workers_until_it_is_closed() -> None:
    stage = Stage()
    assert len(stage.vote("open", about=ABOUT)) == 3
    assert stage.read().need == {"me", "you"}
    assert len(stage.vote("open again", about=ABOUT)) == 3
    stage.vote("late", last=True)
    assert stage.read().state == CLOSED
    assert stage.vote("open late", about=ABOUT) == []


def test_the_last_registration_closes_it_and_only_who_closed_it_dispatches() -> None:
    stage = Stage()
    stage.vote("open", about=ABOUT)
    assert stage.vote("first") == []
    stage.ports.elections.register("e", "you", 4)
    (dispatched,) = stage.vote("second")
    assert (dispatched.command.task, dispatched.command.task_id, dispatched.queue) == ("lead", "task-1", "mail")
    assert stage.read().winner == "you", "it has the earlier clock"
    assert len(stage.vote("second")) == 1, "a second run of the same task answers for it again"
    assert stage.vote("third") == []
    assert stage.counted() == 2


def test_an_election_whose_time_is_over_is_closed_by_who_has_registered() -> None:
    stage = Stage()
    stage.vote("open", about=ABOUT)
    assert len(stage.vote("late", last=True)) == 1
    assert stage.read().winner == "me"
    assert len(stage.vote("late")) == 1, "the task that closed it answers for it, however it is called"


def test_a_fast_election_is_won_by_who_writes_it_down_first() -> None:
    stage = Stage()
    assert len(stage.vote("fast", last=True, about=ABOUT[:3])) == 1
    assert (stage.read().winner, stage.read().state) == ("me", CLOSED)
    one = sudden(election(), "mail", "t")
    assert (one.command.args, one.command.ignore_result) == (("e", True, "topic", "task-1", DRAFT), True)
    assert opening(election(need=frozenset({"b", "a"})), "mail", 30, "t").command.args[5:] == (["a", "b"], 30)


def test_a_command_that_names_no_election_is_refused() -> None:
    stage = Stage()
    with pytest.raises(ArgumentError, match="election_id: expected an id"):
        stage.step.vote(TaskContext(Command("c", "c", ELECT), 1, 10.0, 1), "no id", False)
    assert asked(stage.ports.elections, "register") == []


def test_an_election_that_dispatches_no_command_is_refused_before_anybody_wins_it() -> None:
    stage = Stage()
    with pytest.raises(MessageRefused, match="malformed: canvasplan: not JSON"):
        stage.vote("fast", last=True, about=("topic", "task-1", "no draft"))
    assert asked(stage.ports.elections, "open") == []


def test_the_call_to_an_election_that_was_removed_takes_part_in_none() -> None:
    stage = Stage()
    assert stage.vote("late", last=True) == []
    elections: Any = stage.ports.elections
    elections.open = lambda *_: Ballot(False, None)
    assert len(stage.vote("open", about=ABOUT)) == 3, "it was removed between the write and the look"


def test_who_cannot_close_it_because_others_register_tries_so_often_and_then_again_later() -> None:
    stage = Stage()
    stage.vote("open", about=ABOUT)
    elections: Any = stage.ports.elections
    tries: list[Any] = []
    elections.close = lambda *given: tries.append(given) or Ballot(False, stage.read())
    with pytest.raises(Unavailable, match="others registered during each of 8 attempts"):
        stage.vote("late", last=True)
    assert len(tries) == 8


def test_a_message_waits_for_the_winner_and_its_successor_begins_when_that_is_late() -> None:
    stage = Stage()
    assert stage.admit() == (["a"], []), "of no election"
    found = batch(stage.ports)
    assert names(stage.step.admit([job("a", "lead")], found)) == ["a"], "it names no election"
    stage.vote("open", about=ABOUT)
    assert stage.admit() == ([], [LOOK_S if stage.read().until / 1000 - stage.ports.clock.now() > LOOK_S else 0.5])
    stage.ports.elections.register("e", "you", 1)
    stage.vote("late", last=True)
    assert stage.read().winner == "you"
    advance(stage.ports, PATIENCE_S - 2.25)
    assert stage.admit()[1][-1] == 2.25
    advance(stage.ports, 2.0)
    assert stage.admit()[1][-1] == 0.5, "never shorter"
    advance(stage.ports, 0.251)
    assert stage.admit()[0] == ["a"], "the next candidate is this worker"
    assert (stage.read().winner, stage.read().term) == ("me", 1)


def test_a_winner_at_work_has_no_successor_before_its_invocation_ends() -> None:
    stage = Stage()
    stage.vote("fast", last=True, about=ABOUT[:3])
    found = batch(stage.ports, 1_000.0)
    assert names(stage.step.admit([job("a", "lead", args=("e",))], found)) == ["a"]
    assert stage.read().until == int(found.deadline * 1000)


def test_a_winner_that_was_replaced_while_it_answered_waits_for_the_new_one() -> None:
    stage = Stage()
    stage.vote("fast", last=True, about=ABOUT[:3])
    elections: Any = stage.ports.elections
    mine = stage.read()
    other = mine._replace(winner="you", until=int(stage.ports.clock.now() * 1000) + 3_000)
    tries: list[Any] = []
    elections.advance = lambda *given: tries.append(given) or Ballot(False, other)
    assert stage.admit() == ([], [3.0])
    assert len(tries) == 1
    elections.advance = lambda *given: tries.append(given) or Ballot(False, mine)
    assert stage.admit() == ([], [3.0, 5.0]), "replaced at each attempt: another worker looks later"
    assert len(tries) == 1 + 8


def test_only_messages_for_a_winner_wait_and_what_must_end_unrun_does_not() -> None:
    stage = Stage()
    found = batch(stage.ports)
    elections: Any = stage.ports.elections

    def away(_: str) -> Any:
        raise Unavailable("away")

    elections.read = away
    some: Any = [job("a", "lead", args=("e",)), job("b"), job("c", "lead")._replace(stillborn="why")]
    assert names(stage.step.admit(some, found)) == ["b", "c"]
    assert asked(stage.ports.queues, "hold") == [(some[0].delivery, 5.0)]
    stage.registry.led.clear()
    assert stage.step.admit(some, found) is some


def held(program: Program, mode: Any = "faithful", timeout: int = 10, **options: Any) -> bool:
    """Hold an election that dispatches `send`."""
    return hold(program.outlet, "e", "topic", Signature("send", (1,), {}, Options(**options)), "task-1", mode=mode, timeout=timeout)


def without(program: Program, port: str) -> Program:
    """The *program* on a deployment that lacks a port."""
    absent: dict[str, Any] = {port: Absent(port)}
    program.outlet.ports = replace(program.outlet.ports, **absent)
    return program


def test_an_election_has_one_of_two_modes_and_a_time_within_its_limits() -> None:
    program = Program()
    with pytest.raises(OptionError, match="mode: 'odd' is neither 'faithful' nor 'fast'"):
        held(program, "odd")
    for timeout in (-1, LONGEST_S + 1):
        with pytest.raises(OptionError, match=f"timeout: {timeout} is not between 0 and 900 seconds"):
            held(program, timeout=timeout)
    assert program.sent() == []
    for timeout in (0, LONGEST_S):
        assert held(program, timeout=timeout)
    assert [one.args[6] for one in program.sent()] == [0, 900]


def test_a_deployment_without_elections_says_so_before_anything_is_sent() -> None:
    program = without(Program(), "elections")
    with pytest.raises(PortMissing, match="no elections: required by the election 'e'"):
        held(program)
    assert program.sent() == []


@pytest.mark.parametrize("mode", ["faithful", "fast"])
def test_who_holds_an_election_knows_whether_the_elected_task_keeps_a_result(mode: Any) -> None:
    program = Program()
    assert held(program, mode)
    assert not held(program, mode, ignore_result=True)
    found = elect(program.outlet, "e", "topic", Signature("send", (), {}, Options()), "task-1", mode=mode, timeout=10)
    assert found.id == "task-1"
    assert {one.task for one in program.sent()} == {ELECT}


def test_the_workers_that_are_active_are_awaited_and_nobody_is_known_to_a_task_or_without_a_list_of_members() -> None:
    program = Program()
    now = program.ports.clock.now()
    for name, seen in (("live", now), ("gone", now - 10_000)):
        program.ports.members.beat(MemberRecord(name, 1, ACTIVE, 0, seen))
    held(program)
    with running() as context:
        held(program)
    assert [draft.command.args[5] for draft in context.outbox] == [sorted(ANYBODY)]  # type: ignore[union-attr]  # all are commands
    held(without(program, "members"))
    assert [one.args[5] for one in program.sent()] == [["live"], sorted(ANYBODY)]
