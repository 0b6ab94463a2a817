"""Arriving at joins: who answers for whom when members of one batch fill nodes together, over several levels, and what is asked again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sedano.engine.batch import Job
from sedano.engine.canvas.continuation import Consequences, Cut
from sedano.engine.canvas.join_arrivals import Ending, Joining
from sedano.engine.drafts import Addressed
from sedano.errors import MessageRefused, SedanoError, Unavailable
from sedano.model.canvas.join import Arrival, Arrived, Join, path
from sedano.model.deferrals import WAITED, Waited, written
from sedano.model.messages.message import JoinMember
from sedano.ports import Outgoing
from tests.unit.engine.following import outcome
from tests.unit.engine.gated import asked, job, world

LOST = MessageRefused("blob", "canvasplan", "is gone")


@dataclass
class Canvases:
    """What follows each join, by its id: a message, a member of another join, or something that is raised."""

    by_id: dict[str, Any] = field(default_factory=dict)
    cuts: list[str] = field(default_factory=list)

    def continued(self, join: Join) -> Any:
        """What follows."""
        found = self.by_id.get(join.join_id, Addressed("q", Outgoing(join.join_id)))
        if isinstance(found, Exception):
            raise found
        return found

    def cut(self, join: Join, why: MessageRefused, one: Job) -> Cut:
        """End the canvas."""
        self.cuts.append(one.command.id)
        return Cut(outcome(join.join_id), Consequences())


class Stage:
    """Joins in memory."""

    def __init__(self, **by_id: Any) -> None:
        """Let these follow."""
        self.ports, self.canvases = world(0.5, "ledger"), Canvases(by_id)
        stand_in: Any = self.canvases
        self.step = Joining(self.ports, stand_in)

    def open(self, join_id: str, size: int) -> None:
        """Open a join."""
        self.ports.ledger.open_join(Join(join_id, size, "{}", "default"))

    def arrive(self, *endings: Ending) -> list[tuple[str, Any]]:
        """Arrive; return the answers by message."""
        return [(one.command.id, told(answer)) for one, answer in self.step.arrive(endings)]


def told(answer: Any) -> Any:
    """An answer in short."""
    if isinstance(answer, Addressed):
        return answer.outgoing.body
    return f"as {answer.command.id}" if isinstance(answer, Job) else answer


def ending(name: str, index: int, size: int, join: str = "j", failed: bool = False) -> Ending:
    """A member that ended by the message *name*."""
    return Ending(job(name), JoinMember(join, index, size), failed)


def test_the_last_member_goes_on_and_those_before_it_have_nothing_to_send() -> None:
    stage = Stage()
    stage.open("j", 3)
    assert stage.arrive(ending("a", 0, 3)) == [("a", None)]
    assert stage.arrive(ending("b", 1, 3, failed=True)) == [("b", None)]
    assert stage.arrive(ending("c", 2, 3)) == [("c", "j")]
    assert stage.arrive(ending("a", 0, 3)) == [("a", "j")], "a redelivery of any member does it once more"
    arrivals = [one for (some,) in asked(stage.ports.ledger, "arrive") for one in some]
    assert [(one.join_id, one.child, one.failed) for one in arrivals] == [("j", 0, False), ("j", 1, True), ("j", 2, False), ("j", 0, False)]


def test_of_members_that_fill_a_node_together_the_first_answers_for_all() -> None:
    stage = Stage()
    stage.open("j", 3)
    assert stage.arrive(*(ending(name, index, 3) for index, name in enumerate("abc"))) == [("b", "as a"), ("c", "as a"), ("a", "j")]


def test_joins_beside_one_another_are_told_apart() -> None:
    stage = Stage()
    stage.open("j", 1)
    stage.open("k", 2)
    assert stage.arrive(ending("a", 0, 1), ending("b", 0, 2, "k")) == [("b", None), ("a", "j")]


def test_a_large_join_is_full_when_every_shard_is_and_only_members_have_failed() -> None:
    size = next(size for size in range(2, 100_000) if len(path(0, size)) == 2)
    stage = Stage()
    stage.open("j", size)
    endings = [ending(f"m{index}", index, size, failed=index == 0) for index in range(size)]
    answers = dict(stage.arrive(*endings))
    assert [name for name, answer in answers.items() if answer == "j"] == ["m0"]
    assert len(answers) == size
    assert None not in answers.values()
    first, second = [some for (some,) in asked(stage.ports.ledger, "arrive")]
    assert (len(first), len(second)) == (size, len({path(index, size)[0][0] for index in range(size)}))
    assert not any(one.failed for one in second)
    assert first[0].failed


def test_a_shard_that_is_full_while_others_are_not_has_nothing_to_send() -> None:
    size = next(size for size in range(2, 100_000) if len(path(0, size)) == 2)
    stage = Stage()
    stage.open("j", size)
    shard = path(0, size)[0][0]
    mine = [index for index in range(size) if path(index, size)[0][0] == shard]
    answers = stage.arrive(*(ending(f"m{index}", index, size) for index in mine))
    assert {told for name, told in answers if name == "m0"} == {None}
    assert {told for name, told in answers if name != "m0"} == {"as m0"}


def test_a_full_join_that_a_member_added_lets_that_member_arrive() -> None:
    stage = Stage(inner=JoinMember("outer", 0, 1))
    stage.open("inner", 1)
    stage.open("outer", 1)
    assert stage.arrive(ending("a", 0, 1, "inner", failed=True)) == [("a", JoinMember("outer", 0, 1)), ("a", "outer")]
    (_, second) = [some for (some,) in asked(stage.ports.ledger, "arrive")]
    assert [one.failed for one in second] == [False]


def test_an_arrival_without_an_answer_is_its_own_and_an_outage_is_everybodys() -> None:
    stage = Stage()
    stage.open("j", 1)
    away = Unavailable("away")
    ledger: Any = stage.ports.ledger
    arrive = ledger.arrive

    def some(arrivals: Sequence[Arrival]) -> list[Arrived | SedanoError]:
        return [away, *arrive(arrivals[1:])]

    ledger.arrive = some
    assert stage.arrive(ending("a", 0, 2, "k"), ending("b", 0, 1)) == [("a", away), ("b", "j")]

    def none(_: Sequence[Arrival]) -> list[Arrived | SedanoError]:
        raise away

    ledger.arrive = none
    assert stage.arrive(ending("a", 0, 2, "k"), ending("b", 0, 1)) == [("a", away), ("b", away)]


def test_a_join_that_cannot_be_read_yet_or_breaks_costs_its_own_message_alone() -> None:
    stage = Stage(broken=RuntimeError("a defect"), late=Unavailable("late"))
    for name in ("broken", "late", "good"):
        stage.open(name, 1)
    answers = dict(stage.arrive(*(ending(name, 0, 1, name) for name in ("missing", "broken", "late", "good"))))
    assert str(answers["missing"]) == "the join missing is full, but cannot be read yet"
    assert isinstance(answers["missing"], Unavailable)
    assert isinstance(answers["broken"], MessageRefused)
    assert (str(answers["late"]), answers["good"]) == ("late", "good")


@pytest.mark.parametrize(("times", "receives", "is_cut"), [(0, 1, False), (4, 1, False), (5, 1, True), (3, 2, False), (0, 6, True)])
def test_a_plan_that_is_not_found_is_waited_for_five_times_before_it_counts_as_lost(times: int, receives: int, is_cut: bool) -> None:
    stage = Stage(j=LOST)
    stage.open("j", 1)
    one = ending("a", 0, 1)
    attributes = {WAITED: written(Waited(times, 0))}
    delivery = one.job.delivery._replace(receives=receives, attributes=attributes)
    ((_, answer),) = stage.arrive(replace(one, job=one.job._replace(delivery=delivery)))
    assert isinstance(answer, Cut if is_cut else Unavailable)
    assert stage.canvases.cuts == (["a"] if is_cut else [])
    assert is_cut or str(answer) == f"the plan of the join j is not found: {LOST}"
