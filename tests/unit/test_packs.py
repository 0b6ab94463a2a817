"""Packs: ids, sizes, messages, and the end of each member by the record of its pack."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.engine.worker import packs as worker_packs
from sedano.errors import MessageRefused
from sedano.model import pack_ends, packs, states
from sedano.model.canvas.join import WIDTH, path
from sedano.model.ledger import outcome_text
from sedano.model.ledger.records import NO_RETRY, TERMINATE, ErrorRecord, Outcome, Posted, TaskRecord
from sedano.model.messages.attributes import is_id
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import PACK, BlobRef, Command, JoinMember, Section, TimeLimits
from sedano.model.packs import LEFT, MemberEnd, PackMember

G = "0b9f6b2e-58f6-5a3a-9a50-3f2d1a0c7b11"
sizes, indices = st.sampled_from(packs.SIZES), st.integers(0, 999_999)
groups = st.builds(packs.group_id, st.uuids().map(str), sizes)
refs = st.none() | st.builds(BlobRef, st.just("ab" * 32), st.integers(0, 10**7))
errors = st.none() | st.builds(ErrorRecord, st.text(max_size=9), st.text(max_size=9), st.text(max_size=9))
posted = st.builds(Posted, st.text(max_size=5), st.text(max_size=9), st.integers(0, 900), st.none() | st.just("acme"))
outcomes = st.builds(
    Outcome,
    task_id=st.just(f"{G}.k4.0"), state=st.sampled_from(sorted({states.RETRY, *states.TERMINAL})), nonce=st.just("n"), fence=st.just(1),
    message_id=st.just("m"), attempt=st.just(0), clock=st.integers(0, 2**60), name=st.just("shop.add"), at=st.just(5.0),
    result=st.none() | st.sampled_from(["null", "5", '"\\u00e9"', "[1, 2]"]), result_ref=refs, error=errors,
    outbox=st.lists(posted, max_size=2).map(tuple), next_attempt=st.just(1), not_before=st.just(0.0) | st.just(9.25),
    section=st.none() | st.builds(Section, st.integers(0, 9), st.integers(1, 9)),
)  # fmt: skip
ends = st.just(LEFT) | outcomes.map(packs.end_of_member)


def test_the_figures_of_packs_are_those_that_are_described() -> None:
    assert (packs.SIZES, packs.LEAST_MEMBERS, packs.MOST_BYTES, packs.MOST_ARGUMENTS_BYTES) == ((2, 4, 8, 16, 32, 64), 4, 48_000, 8_000)
    assert (packs.MOST_RESULTS, packs.RESULT_BYTES, packs.MOST_S, packs.BODY_S) == (800, 16, 15.0, 0.1)
    assert (packs.FENCE, packs.LEFT_FENCE, packs.TERMINATING, packs.LONGEST_LIMIT_S) == (1, 2, 64, 9_999_999.0)
    assert (pack_ends.NAME_BYTES, pack_ends.SHORT_BYTES) == (200, 250)
    assert (worker_packs.MOST_BYTES, worker_packs.INLINE_BYTES) == (300_000, 64_000)
    of_one = (worker_packs.RESULT_BYTES, worker_packs.SPILLED_BYTES, worker_packs.OUTBOX_BYTES, worker_packs.TEXT_BYTES)
    assert (*of_one, worker_packs.CALL_BYTES) == (3_000, 1_000, 500, 800, 1_000)


def message(task_id: str = f"{G}.k4.p1", args: Any = ("shop.add", [[[1], {}], [[2], {"b": 3}]], {}), **changes: Any) -> Command:
    return Command("m", task_id, PACK, "me", 5.0, 7, args=args, **changes)


def record(ends: list[MemberEnd], marks: frozenset[int] = frozenset(), **changes: Any) -> TaskRecord:
    made = TaskRecord(
        f"{G}.k4.p0", states.SUCCESS, fence=1, claims=1, nonce="n", message_id="m", expires=60.0, clock=99, name=PACK, owner="w",
        result=packs.ends_text("shop.add", ends), marks=marks,
    )  # fmt: skip
    return made._replace(**changes)


@given(group=groups, index=indices)
def test_an_id_of_a_member_names_its_pack_and_its_place(group: str, index: int) -> None:
    found = packs.member_of(packs.member_id(group, index))
    assert found == PackMember(group, packs.size_of(group), index)
    assert found.pack_id == packs.pack_id(group, index // found.size)
    assert found.task_id == packs.member_id(group, index)
    assert 0 <= found.place < found.size
    assert packs.member_of(found.pack_id) is None


@given(group=groups, number=indices)
def test_each_id_of_packs_is_refused_for_users(group: str, number: int) -> None:
    assert all(map(packs.is_reserved, (group, packs.member_id(group, number), packs.pack_id(group, number))))


@pytest.mark.parametrize("free", [
    G, f"{G}.", f"{G}.3", *(f"{G}.{size}" for size in packs.SIZES), f"{G}.8.3", f"{G}.8.p0", f"{G}.k", f"{G}.k3", f"{G}.k128", f"{G}.K8",
    f"{G}.k8.", f"{G}.k8.01", f"{G}.k8.q1", "report.k8", "report.k8.3", "a.b",
])  # fmt: skip
def test_other_ids_remain_those_of_users(free: str) -> None:
    assert not packs.is_reserved(free)
    assert packs.member_of(free) is None
    assert packs.size_of(free) == 0


@given(group=groups, number=indices)
def test_each_id_of_packs_is_one_that_a_message_may_have(group: str, number: int) -> None:
    assert all(map(is_id, (group, packs.member_id(group, number), packs.pack_id(group, number))))


@given(base=st.uuids(), index=indices)
def test_a_member_of_a_plain_group_keeps_its_id(base: UUID, index: int) -> None:
    assert packs.group_id(str(base), 0) == str(base)
    assert packs.member_id(str(base), index) == derived_id(str(base), index)


@given(size=sizes, number=indices, more=st.integers(0, 500))
def test_the_members_of_a_pack_arrive_at_one_shard(size: int, number: int, more: int) -> None:
    first = size * number
    assert WIDTH % size == 0
    assert len({path(first + place, first + size + more)[0][0] for place in range(size)}) == 1


def test_the_size_follows_from_arguments_and_limits() -> None:
    assert packs.chosen_size([10] * 3, None) == 0
    assert packs.chosen_size([10] * 4, None) == 32
    assert packs.chosen_size([10] * 1000, 1.0) == 8
    assert packs.chosen_size([10] * 1000, 7.5) == 2
    assert packs.chosen_size([10] * 1000, 7.6) == 0
    assert packs.chosen_size([6_000] * 9, None) == 8
    assert packs.chosen_size([6_001] * 9, None) == 4
    assert packs.chosen_size([48_000, 1, 1, 1], None) == 0


@given(ends=st.lists(ends, min_size=1, max_size=8))
def test_ends_are_read_as_they_were_written(ends: list[MemberEnd]) -> None:
    assert packs.read_ends(packs.ends_text("shop.add", ends)) == ("shop.add", ends)


def test_ten_short_results_cost_one_write_unit() -> None:
    some = [MemberEnd(states.SUCCESS, 0, "12345", "", 1_790_000_000_000_000 + n) for n in range(10)]
    assert len(packs.ends_text("shop.orders.add", some)) < 400


def test_a_message_is_read() -> None:
    calls = packs.read_calls(message(member=JoinMember(f"{G}.k4", 4, 9)))
    assert (calls.task, calls.group, calls.size, calls.first) == ("shop.add", f"{G}.k4", 4, 4)
    made = packs.member_command(message(member=JoinMember(f"{G}.k4", 4, 9), tenant="acme"), calls, 1)
    assert (made.task_id, made.task, made.args, made.kwargs) == (f"{G}.k4.5", "shop.add", [2], {"b": 3})
    assert (made.member, made.tenant, made.id) == (JoinMember(f"{G}.k4", 5, 9), "acme", "m")


@pytest.mark.parametrize(
    "wrong",
    [
        {"task_id": f"{G}.k4.1"}, {"task_id": "mine"}, {"task_id": G}, {"args": ()}, {"args": (1, [[[], {}]], {})},
        {"args": ("f", [], {})}, {"args": ("f", [[[], {}]] * 5, {})}, {"args": ("f", [[[]]], {})}, {"args": ("f", [[{}, []]], {})},
        {"args": ("f", [[[], {}]], 1)},
        {"args": ("f", [[[], {}]], {"other": 1})}, {"args": ("f", [[[], {}]], {"ignore_result": 1})},
        {"args": ("f", [[[], {}]], {"time_limits": 1})}, {"args": ("f", [[[], {}]], {"time_limits": [0, None]})},
        {"args": ("f", [[[], {}]], {"time_limits": [1.0]})}, {"args": ("f", [[[], {}]], {"time_limits": [None, 1e9]})},
        {"args": ("f", "x", {})}, {"member": JoinMember(f"{G}.k4", 3, 9)},
        {"member": JoinMember(G, 4, 9)}, {"member": JoinMember(f"{G}.k4", 4, 5)},
    ],
)  # fmt: skip
def test_a_message_that_is_no_pack_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(MessageRefused) as refused:
        packs.read_calls(message(**wrong))
    assert refused.value.code == "schema"


DRAFT = Command("", "", "shop.add", args=(1,), time_limits=TimeLimits(1.0, 2.0), ignore_result=False, tenant="acme")


def drafts(first: int, number: int, **changes: Any) -> list[Command]:
    """Return drafts of consecutive members; *changes* are those of the last."""
    made = [DRAFT._replace(task_id=f"{G}.k4.{n}", args=(n,), member=JoinMember(f"{G}.k4", n, 99)) for n in range(first, first + number)]
    return [*made[:-1], made[-1]._replace(**changes)]


def test_a_pack_holds_the_commands_that_it_was_made_of() -> None:
    made = drafts(8, 3)
    pack = packs.pack_command(made[0], made, f"{G}.k4")
    assert (pack.task_id, pack.task, pack.time_limits, pack.ignore_result) == (f"{G}.k4.p2", PACK, None, None)
    calls = packs.read_calls(pack)
    wanted = [one._replace(args=list(one.args)) for one in made]
    assert [packs.member_command(pack, calls, place) for place in range(3)] == wanted


@pytest.mark.parametrize("change", [{"task": "other"}, {"tenant": None}, {"ignore_result": None}, {"expires": 5.0}, {"time_limits": None}])
def test_members_that_differ_are_no_pack(change: dict[str, Any]) -> None:
    made = drafts(4, 2, **change)
    with pytest.raises(MessageRefused, match="differ"):
        packs.pack_command(made[0], made, f"{G}.k4")


def test_a_pack_begins_at_a_multiple_of_its_size() -> None:
    for first, group in ((5, f"{G}.k4"), (4, f"{G}.k8")):
        made = drafts(first, 2)
        with pytest.raises(MessageRefused, match="begin at a multiple"):
            packs.pack_command(made[0], made, group)


def test_the_call_of_a_failed_member_can_be_left_out() -> None:
    outcome = Outcome(
        task_id=f"{G}.k4.0", state=states.FAILURE, nonce="n", fence=1, message_id="m", attempt=0, clock=3, name="f", at=5.0,
        error=ErrorRecord("ValueError", "no"), call=Posted("commands:default", "{}"),
    )  # fmt: skip
    end = packs.end_of_member(outcome)
    assert packs.without_call(end) == packs.end_of_member(outcome._replace(call=None))
    assert packs.without_call(LEFT) == LEFT


def spoken(pack: TaskRecord | None, index: int = 1) -> tuple[TaskRecord | None, bool]:
    return packs.spoken(PackMember(f"{G}.k4", 4, index), pack)


def test_before_its_pack_begins_a_member_is_unknown_or_revoked() -> None:
    assert spoken(None) == (None, False)
    for state in (states.PENDING, states.RETRY):
        assert spoken(record([], state=state)) == (None, False)
        assert spoken(record([], frozenset({1}), state=state)) == (
            TaskRecord(f"{G}.k4.1", states.REVOKED, clock=99), False,
        )  # fmt: skip
        assert spoken(record([], frozenset({2}), state=state)) == (None, False)


def test_while_its_pack_runs_a_member_runs_and_is_asked() -> None:
    for marks, asked in ((frozenset[int](), 0), (frozenset({1}), NO_RETRY), (frozenset({1, 1 + packs.TERMINATING}), TERMINATE)):
        found, left = spoken(record([], marks, state=states.RUNNING, fence=2))
        assert found is not None
        assert (found.state, found.fence, found.expires, found.asked, left) == (states.RUNNING, 1, 60.0, asked, False)


@given(end=ends, marked=st.booleans(), place=st.integers(0, 3))
def test_after_its_end_the_pack_says_how_each_member_ended_or_that_it_left(end: MemberEnd, marked: bool, place: int) -> None:
    whole = [LEFT] * place + [end]
    found, left = spoken(record(whole, frozenset({place}) if marked else frozenset()), place)
    assert found is not None
    if end.state in states.TERMINAL:
        assert (found.state, found.result, left) == (end.state, end.result, False)
    elif marked:
        assert (found.state, left) == (states.REVOKED, False)
    else:
        assert (found.state, found.attempt, left) == (states.RETRY, end.attempt, True)


@pytest.mark.parametrize("state", sorted(states.TERMINAL - {states.SUCCESS}))
def test_a_pack_that_ended_otherwise_ends_its_members(state: states.TaskState) -> None:
    error = ErrorRecord("TaskExpired", "late")
    found, left = spoken(record([], state=state, result=None, error=error))
    assert found is not None
    assert (found.task_id, found.state, found.error, left) == (f"{G}.k4.1", state, error, False)


@given(some=st.lists(ends, min_size=4, max_size=4), forgotten=st.sets(st.integers(0, 3)))
def test_forgotten_ends_have_no_result_and_the_others_stay(some: list[MemberEnd], forgotten: set[int]) -> None:
    text = packs.forgotten_in(record(some), sorted(forgotten))
    after = record(some)._replace(result=text or record(some).result)
    for place, end in enumerate(some):
        before, now = spoken(record(some), place)[0], spoken(after, place)[0]
        assert before is not None
        assert now is not None
        if place in forgotten and end.state != states.RETRY:
            assert (now.state, now.result, now.error, now.outbox, now.forgotten) == (end.state, None, None, (), True)
        else:
            assert now == before
            assert not now.forgotten
    assert packs.forgotten_in(after, sorted(forgotten)) is None


def test_a_member_that_left_is_read_from_its_own_record() -> None:
    own = TaskRecord(f"{G}.k4.1", states.SUCCESS, result="7")
    stored = {
        f"{G}.k4.p0": record([MemberEnd(states.SUCCESS, 0, "5"), LEFT, LEFT]), f"{G}.k4.1": own, f"{G}.k4.0": own, "plain": own,
    }  # fmt: skip
    asked: list[list[str]] = []

    def read(ids: Any) -> dict[str, TaskRecord]:
        asked.append(list(ids))
        return {one: stored[one] for one in ids if one in stored}

    found = packs.read_with_members(read, [f"{G}.k4.0", f"{G}.k4.1", f"{G}.k4.2", "plain", "unknown"])
    assert [found[f"{G}.k4.{n}"].result for n in range(3)] == ["5", "7", None]
    assert found[f"{G}.k4.2"].state == states.RETRY
    assert set(found) == {f"{G}.k4.0", f"{G}.k4.1", f"{G}.k4.2", "plain"}
    assert asked == [["plain", "unknown", f"{G}.k4.p0"], [f"{G}.k4.1", f"{G}.k4.2"]]


def test_marks_name_places_and_what_is_asked() -> None:
    assert packs.marks_of([0, 3], NO_RETRY) == {0, 3}
    assert packs.marks_of([3], TERMINATE) == {3, 67}
    assert packs.asked_of(frozenset({3}), 3) == NO_RETRY
    assert packs.asked_of(frozenset({3, 67}), 3) == TERMINATE
    assert packs.asked_of(frozenset({3, 67}), 0) == 0


def test_ends_are_plain_json() -> None:
    assert json.loads(packs.ends_text("f", [LEFT]))["ends"] == [["R", -1]]


def test_the_record_of_a_member_that_left_outlives_that_of_its_pack() -> None:
    own = TaskRecord(f"{G}.k4.1", states.RETRY, attempt=3)
    found = packs.read_with_members(lambda ids: {one: own for one in ids if one == own.task_id}, [f"{G}.k4.0", f"{G}.k4.1"])
    assert found == {own.task_id: own}


def test_a_claim_is_released_unless_it_is_of_a_pack_that_was_taken_over() -> None:
    for name, claims, released in ((PACK, 1, True), (PACK, 2, False), ("shop.add", 2, True)):
        assert packs.may_be_released(TaskRecord("t", states.RUNNING, claims=claims, name=name)) == released


@given(text=st.text(max_size=3_000), most=st.integers(2, 900), end=st.booleans())
def test_a_shortened_text_has_at_most_its_written_bytes(text: str, most: int, end: bool) -> None:
    found = pack_ends.shortened(text, most, end=end)
    assert not found or pack_ends.written_bytes(found) <= most
    assert text.endswith(found) if end else text.startswith(found)
    if pack_ends.written_bytes(text) <= most:
        assert found == text
    elif most > 20:
        assert pack_ends.written_bytes(found) > most / 4, "no more than needed"


def _failed(letter: str, size: int) -> MemberEnd:
    text = letter * size
    error = ErrorRecord(text, text, text, "", text, "ValueError", text)
    outcome = Outcome(
        task_id="t", state=states.FAILURE, nonce="n", fence=1, message_id="m", attempt=0, clock=3, name="f", at=5.0,
        error=pack_ends.cut(error, 800), call=Posted("commands:default", "c" * 1_000),
    )  # fmt: skip
    return packs.end_of_member(outcome)


@pytest.mark.parametrize("letter", ["x", "\u0436", "\U0001f600", '"', "\\"])
@pytest.mark.parametrize("size", [10, 2_000])
def test_the_ends_of_a_pack_fit_their_record(letter: str, size: int) -> None:
    ends = [_failed(letter, size)] * 64
    text = pack_ends.fitted("f", ends, 150_000)
    assert len(text) <= 150_000
    _, found = packs.read_ends(text)
    assert all(one.state == states.FAILURE for one in found)
    assert ([one == ends[0] for one in found] == [True] * 64) == (len(packs.ends_text("f", ends)) <= 150_000)


def test_errors_are_cut_before_calls_are_left_out() -> None:
    end = _failed("x", 2_000)
    whole = len(packs.ends_text("f", [end] * 8))
    first, last = (outcome_text.read(packs.read_ends(pack_ends.fitted("f", [end] * 8, most))[1][0].tail) for most in (whole - 1, 100))
    assert first.call is not None
    assert last.call is None
    assert first.error == last.error
    assert first.error is not None
    assert len(first.error.message) < 300


def test_a_result_that_moved_to_the_blob_store_is_read_from_there() -> None:
    end = pack_ends.with_result_in(MemberEnd(states.SUCCESS, 0, "7", "", 3), BlobRef("d" * 64, 1))
    found, left = spoken(record([LEFT, end]), 1)
    assert found is not None
    assert (found.state, found.result, found.result_ref, left) == (states.SUCCESS, None, BlobRef("d" * 64, 1), False)


def _whole(task_id: str = f"{G}.k4.p1", member: JoinMember | None = None, args: Any = ("f", [[[1], {}]], {})) -> Command:
    return packs.pack_command(*_first_and_all())._replace(task_id=task_id, member=member, args=args)


def _first_and_all() -> tuple[Command, list[Command], str]:
    made = drafts(4, 2)
    return made[0], made, f"{G}.k4"


def test_the_calls_of_a_pack_are_known_by_its_record_or_its_join() -> None:
    join = JoinMember(f"{G}.k4", 4, 6)
    for member, pack, count, name in (
        (join, None, 2, "f"), (None, None, 0, "f"), (None, record([LEFT] * 3), 3, "shop.add"),
        (join, record([], state=states.FAILURE), 2, "f"),
        (join._replace(size=99), None, 4, "f"), (join._replace(size=4), None, 0, "f"),
    ):  # fmt: skip
        found = packs.known_calls(_whole(member=member), pack)
        assert (len(found.calls), found.task, found.group, found.size, found.first) == (count, name, f"{G}.k4", 4, 4)
    for task_id in (f"{G}.k4.1", f"{G}.k4", "other"):
        with pytest.raises(MessageRefused, match="names its group"):
            packs.known_calls(_whole(task_id), None)


@pytest.mark.parametrize("call", [[[1], []], [[1]], [1, {}], "ab", [[1], {}, 3], [{}, {}]])
def test_a_call_that_is_no_list_and_object_is_refused(call: Any) -> None:
    with pytest.raises(MessageRefused, match="a list and an object"):
        packs.read_calls(_whole(args=("f", [[[1], {}], call], {})))


def test_a_pack_whose_id_names_none_or_whose_task_is_another_is_refused() -> None:
    for command in (_whole(f"{G}.k4.1"), _whole("other"), _whole()._replace(task="shop.add")):
        with pytest.raises(MessageRefused, match="names its group"):
            packs.read_calls(command)


def test_a_pack_means_the_task_of_its_members() -> None:
    assert packs.meant(_whole(), ("f", [], {})).task == "f"
    unfit: list[tuple[Any, ...]] = [(), (7,), ([],)]
    for args in unfit:
        assert packs.meant(_whole(), args).task == PACK


def test_an_end_has_the_next_attempt_of_a_retry_alone() -> None:
    outcome = Outcome(
        task_id="t", state=states.RETRY, nonce="n", fence=1, message_id="m", attempt=0, clock=3, name="f", at=5.0, next_attempt=2
    )  # fmt: skip
    assert packs.end_of_member(outcome).attempt == 2
    assert packs.end_of_member(outcome._replace(state=states.SUCCESS)).attempt == 0


def test_arguments_of_an_error_are_kept_or_left_out_whole() -> None:
    error = ErrorRecord("E", "m", "t", "", "n", "pkg:E", "a" * 100)
    assert pack_ends.cut(error, 110) == error
    left = pack_ends.cut(error, 90)
    assert (left.raised, left.arguments, left.message) == ("", "", "m")
