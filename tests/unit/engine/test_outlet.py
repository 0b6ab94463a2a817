"""The way out of a program: what is sent at once, in a batch, or left to the running task, and what is refused before it is sent."""

from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import pytest

from sedano.engine.drafts import Addressed, CommandDraft
from sedano.engine.publisher.publisher import Outlet, _begun
from sedano.engine.registry import Registry
from sedano.errors import BudgetExhausted, DuplicateTask, HopLimit, KeyReused, OptionError, SedanoError, Unavailable, UnknownQueue
from sedano.model.ledger import dedup_keys
from sedano.model.ledger.records import RESERVATION_S, Claim
from sedano.model.messages import codec
from sedano.model.messages.lineage import MAX_HOPS, Lineage, begun_id, dedup_id, derived_id
from sedano.model.messages.message import Command, Event, Place
from sedano.model.queues import CLAIM_CHECK_BYTES
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Options, Signature
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Outgoing
from sedano.ports.absent import NoSeals
from sedano.ports.deadlines import left
from tests.unit.engine.gated import asked, world
from tests.unit.engine.test_drafting import running
from tests.unit.engine.test_publisher import Kept

PLAN = f"blob:{'0' * 64}:9"


class Program:
    """An outlet over ports that note their calls."""

    def __init__(self, most_budget: int | None = None, **options: Any) -> None:
        """Know the task `send`, on a stage that grants so much to a program without its keys."""
        self.ports, registry = world(0.5, "ledger"), Registry()
        if most_budget is not None:
            self.ports = replace(self.ports, most_budget=most_budget, seals=NoSeals("seals"))
        registry.tasks["send"] = TaskSpec("send", print, Parameters(lambda *_, **__: None))
        self.outlet = Outlet("shop", registry, self.ports, ["default"], **options)

    def publish(self, *args: Any, **options: Any) -> CommandDraft:
        """Call `send`."""
        return self.outlet.publish(Signature("send", args, {}, Options(**options)))

    def calls(self) -> list[list[Any]]:
        """The messages of each call of a queue."""
        return [[codec.decode(one.body) for one in messages] for _, messages in asked(self.ports.queues, "send")]

    def sent(self) -> list[Any]:
        """All messages."""
        return [one for call in self.calls() for one in call]


def drafts(number: int, **changes: Any) -> list[CommandDraft]:
    """So many drafts."""
    return [CommandDraft("default", Command("", f"t{n}", "send"), **changes) for n in range(number)]


def test_a_call_is_sent_at_once_and_not_reserved_without_a_key() -> None:
    program = Program()
    draft = program.publish(1)
    assert [one.task_id for one in program.sent()] == [draft.command.task_id]
    assert (draft.keyed, asked(program.ports.ledger, "reserve")) == ("", [])


@pytest.mark.parametrize("on_duplicate", ["drop", "raise"])
def test_the_first_call_of_a_key_is_reserved_with_its_payload_for_as_long_as_it_may_wait(on_duplicate: Any) -> None:
    program = Program()
    draft = program.publish(1, dedup_key="k", on_duplicate=on_duplicate, countdown=60)
    now, task_id = program.ports.clock.now(), dedup_id("send", "k")
    ((reserved, mine, at, until),) = asked(program.ports.ledger, "reserve")
    assert (reserved, at, until) == (task_id, now, now + RESERVATION_S + 60)
    assert dedup_keys.payload_of(mine) == draft.keyed == dedup_keys.payload(task_id, (1,), {})
    assert len(program.sent()) == 1


@pytest.mark.parametrize("on_duplicate", [None, "return"])
def test_a_key_whose_copies_are_absorbed_later_is_not_reserved(on_duplicate: Any) -> None:
    program = Program()
    for _ in range(2):
        program.publish(1, dedup_key="k", on_duplicate=on_duplicate)
    assert (len(program.sent()), asked(program.ports.ledger, "reserve")) == (2, [])


def test_the_second_call_of_a_key_is_dropped_or_raises_and_one_of_other_arguments_always_raises() -> None:
    program = Program()
    program.publish(1, dedup_key="k", on_duplicate="drop")
    program.publish(1, dedup_key="k", on_duplicate="drop")
    assert len(program.sent()) == 1
    with pytest.raises(DuplicateTask):
        program.publish(1, dedup_key="k", on_duplicate="raise")
    for on_duplicate in ("drop", "raise"):
        with pytest.raises(KeyReused):
            program.publish(2, dedup_key="k", on_duplicate=on_duplicate)
    assert len(program.sent()) == 1


def test_a_reservation_inside_a_task_is_its_own_in_each_run() -> None:
    program = Program()
    for _ in range(2):
        with running() as context:
            program.publish(1, dedup_key="k", on_duplicate="drop")
            assert len(context.outbox) == 1, "the second run finds its own reservation"
    mine = {mine for _, mine, _, _ in asked(program.ports.ledger, "reserve")}
    task_id = dedup_id("send", "k")
    assert mine == {dedup_keys.message_id(dedup_keys.payload(task_id, (1,), {}), derived_id("parent", f"reserve/{task_id}"))}


def test_a_call_that_waits_for_another_one_sends_the_open_batch_first() -> None:
    program = Program()
    with program.outlet.batch():
        program.publish(1)
        assert program.calls() == []
        program.publish(2, dedup_key="k", on_duplicate="wait")
        assert len(program.calls()) == 1
    assert [len(call) for call in program.calls()] == [1, 1]


def test_one_message_is_published_and_several_are_sent_together() -> None:
    program = Program()
    program.outlet.post(drafts(3))
    assert program.outlet._publisher._lines == {}
    program.outlet.post(drafts(1))
    assert [*program.outlet._publisher._lines] == ["commands:default"], "it stands in line, where a batch may take it along"
    assert [len(call) for call in program.calls()] == [3, 1]


def test_a_batch_is_sent_in_tens_and_the_rest_at_its_end_however_it_ends() -> None:
    program = Program()
    with suppress(KeyError), program.outlet.batch():
        for n in range(12):
            program.publish(n)
        assert [len(call) for call in program.calls()] == [10]
        raise KeyError
    assert [len(call) for call in program.calls()] == [10, 2]
    assert program.outlet._open == []
    program.publish(99)
    assert [len(call) for call in program.calls()] == [10, 2, 1]


def test_batches_beside_one_another_are_closed_each_by_its_own_end() -> None:
    program = Program()
    first, second = program.outlet.batch(), program.outlet.batch()
    with first:
        program.publish(1)
        with second:
            program.publish(2)
            assert [len(pending) for pending in program.outlet._open] == [1, 1]
        assert [len(pending) for pending in program.outlet._open] == [1]


def test_a_program_that_ends_in_the_middle_of_a_batch_sends_it_and_flushes_its_telemetry() -> None:
    program = Program()
    flushed: list[int] = []
    program.ports.telemetry.flush = lambda: flushed.append(len(program.sent()))  # type: ignore[method-assign]
    with program.outlet.batch():
        program.publish(1)
        program.publish(2)
        program.outlet.close()
        assert (len(program.calls()), flushed) == (1, [2])
    assert len(program.sent()) == 2
    telemetry: Any = program.ports.telemetry
    assert telemetry.lines == []


class Interrupted(Program):
    """A program whose first call of a queue is ended by a signal, and whose queue is away afterwards."""

    def __init__(self, **options: Any) -> None:
        """Be ended."""
        super().__init__(**options)
        self.ended = False

        def send(queue: str, messages: Any) -> list[SedanoError | None]:
            if not self.ended:
                self.ended = True
                raise SystemExit(143)
            return [Unavailable("away")] * len(messages)

        self.ports.queues.send = send  # type: ignore[method-assign]


def errors(program: Program) -> list[tuple[str, Any]]:
    """What was logged as an error, and how many messages that concerns."""
    telemetry: Any = program.ports.telemetry
    return [(line.message, line.fields.get("count")) for line in telemetry.lines if line.level == "error"]


def test_what_was_confirmed_to_nobody_and_cannot_be_stored_is_reported_as_lost() -> None:
    program = Interrupted()
    with pytest.raises(SystemExit):
        program.outlet.post(drafts(2))
    program.outlet.close()
    assert ("messages that were neither sent nor stored beyond this process are lost", 2) in errors(program)
    stored = Interrupted(backlog=Kept())
    with pytest.raises(SystemExit):
        stored.outlet.post(drafts(2))
    stored.outlet.close()
    assert errors(stored) == []


def test_a_batch_that_cannot_be_sent_at_the_end_of_the_program_is_reported_with_its_size() -> None:
    program = Interrupted()
    program.ended = True
    with program.outlet.batch():
        program.publish(1)
        program.publish(2)
        program.outlet.close()
        assert ("messages of an open batch were not published", 2) in errors(program)


@pytest.mark.parametrize(("patience", "inside", "bound"), [(2.0, False, 2.0), (None, False, None), (2.0, True, None)])
def test_each_way_out_ends_within_the_deadline_of_a_program_and_within_that_of_a_running_task(
    patience: float | None, inside: bool, bound: float | None
) -> None:
    found, kept = list[Any](), Kept()
    program = Program(patience=patience, backlog=kept)
    send = program.ports.queues.send

    def noted(queue: str, messages: Any) -> Any:
        found.append(left(program.ports.clock.monotonic()))
        return send(queue, messages)

    program.ports.queues.send = noted  # type: ignore[method-assign]
    with running() if inside else nullcontext():
        with program.outlet.batch():
            program.outlet.post(drafts(2)) if not inside else kept.keep([], 0.0)
        kept.keep([Addressed("commands:default", Outgoing("{}"))], 0.0)
        assert program.outlet.send_stored() == 1
        kept.keep([Addressed("commands:default", Outgoing("{}"))], 0.0)
        program.outlet.close()
    assert found == [bound] * (2 if inside else 3)
    assert left(program.ports.clock.monotonic()) is None


def test_what_an_earlier_process_stored_is_sent_after_the_next_publication_and_not_before() -> None:
    kept = Kept()
    program = Program(backlog=kept)
    kept.keep([Addressed("commands:default", Outgoing('"stored"'))], 0.0)
    program.outlet.resume()
    assert asked(program.ports.queues, "send") == []
    program.publish(1)
    assert [messages[0].body for _, messages in asked(program.ports.queues, "send")][1:] == ['"stored"']


def test_a_hook_of_publication_gets_each_task_before_it_is_sent() -> None:
    program, seen = Program(), list[Any]()
    program.outlet.registry.hooks["on_publish"] = [lambda draft: seen.append((draft.task, len(program.calls())))]
    program.outlet.post(drafts(1))
    assert seen == [("send", 0)]


def test_a_budget_beyond_what_the_stage_grants_is_refused_outside_a_task_and_not_within() -> None:
    most = 100
    for budget in (None, 0, most):
        program = Program(most_budget=most)
        program.publish(1, budget=budget)
        assert len(program.sent()) == 1
        assert budget is None or program.sent()[0].lineage.budget == budget
    program = Program(most_budget=most)
    with pytest.raises(OptionError, match="budget"):
        program.publish(1, budget=most + 1)
    with pytest.raises(OptionError, match="budget"):
        program.outlet.post(drafts(1, lineage=Lineage(budget=most + 1)))
    program.outlet.post(drafts(1, lineage=Lineage(budget=most)))
    assert len(program.sent()) == 1
    program.outlet.post([Event("e", "shop/sold", lineage=Lineage(budget=most + 1))])
    assert program.sent()[-1].lineage.budget != most + 1, "an event has no ancestry of its own"
    program = Program(most_budget=most)
    with running():
        program.publish(1, budget=most + 1)
    assert program.sent() == []


def test_an_event_has_the_id_that_is_returned_and_the_facts_of_the_running_task() -> None:
    program = Program()
    event_id = program.outlet.announce("shop/sold", {"n": 1})
    (event,) = program.sent()
    assert isinstance(event, Event)
    assert (event.id, event.name, dict(event.data), event.tenant, event.stamps) == (event_id, "shop/sold", {"n": 1}, None, None)
    with running(tenant="acme", stamps={"order": "7"}) as context:
        event_id = program.outlet.announce("shop/sold", {})
        (draft,) = context.outbox
        assert isinstance(draft, Event)
        assert (draft.id, draft.tenant, draft.stamps, draft.traceparent) == (event_id, "acme", {"order": "7"}, context.traceparent)


def test_a_task_publishes_into_its_outbox_as_much_as_its_lineage_allows() -> None:
    program = Program()
    with running(lineage=Lineage("root", "p", MAX_HOPS - 1, 3)) as context:
        program.outlet.post(drafts(2))
        program.outlet.post(drafts(1))
        said = "this task may cause 3 more messages and publishes 4 with its error callbacks; .* most_budget"
        with pytest.raises(BudgetExhausted, match=said):
            program.outlet.post(drafts(1))
        assert len(context.outbox) == 3
    with running(lineage=Lineage("root", "p", MAX_HOPS, 3)) as context:
        with pytest.raises(HopLimit, match=f"hops: {MAX_HOPS} dynamic spawns since the root root"):
            program.outlet.post(drafts(1))
        assert context.outbox == []
    assert program.sent() == []


def test_a_task_hears_of_an_unknown_queue_while_it_runs_and_its_long_data_is_put_aside() -> None:
    program = Program()
    with running() as context:
        with pytest.raises(UnknownQueue, match="queue: 'mail' is not one of this app's queues"):
            program.outlet.post([CommandDraft("mail", Command("", "t", "send"))])
        program.publish("x" * (CLAIM_CHECK_BYTES + 1))
        (draft,) = context.outbox
        assert isinstance(draft, CommandDraft)
        assert draft.command.data_ref is not None


def test_the_message_that_begins_a_canvas_has_the_id_of_that_canvas() -> None:
    place = Place("t", "3", PLAN)
    assert _begun(CommandDraft("default", Command("", "t", "send", place=place))) == begun_id("t", "3", PLAN)
    assert _begun(CommandDraft("default", Command("", "t", "send"))) == ""
    assert _begun(Event("e", "shop/sold", "me", 1.0, 1, {})) == ""


def test_leases_are_taken_over_the_ports_of_the_program() -> None:
    program = Program()
    assert program.outlet.leasing is program.outlet.leasing
    assert type(program.outlet.leasing).__name__ == "Leasing"


def test_a_record_in_the_way_of_a_key_is_found_whoever_made_it() -> None:
    program = Program()
    task_id = dedup_id("send", "k")
    program.ports.ledger.claim([Claim(task_id, 0, "unkeyed", "n", program.ports.clock.now() + 9.0, 1, "send")])
    with pytest.raises(KeyReused):
        program.publish(1, dedup_key="k", on_duplicate="drop")
