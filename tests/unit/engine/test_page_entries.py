"""A task of a canvas as its page holds it: which facts are written, which are inherited, where its arguments lie, and what is refused."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sedano.engine.canvas.error_requests import request_of
from sedano.engine.canvas.page_entries import entry
from sedano.errors import ArgumentError, OptionError, TooLarge, UnknownTask, Unserialisable
from sedano.model.canvas.pages import CONTEXT
from sedano.model.limits.task_limits import TaskLimits
from sedano.model.messages import codec
from sedano.model.messages.attributes import MAX_DATA_DEPTH
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import COLLECT, MAP, BlobRef, Command, TimeLimits
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Options, Signature
from sedano.model.tasks.task_spec import TaskSpec
from tests.unit.engine.test_drafting import FIFO, Program, running, spec

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
DAY = 86_400.0


def item(
    program: Program, task: str = "send", args: Any = (), kwargs: Any = None, *, handed: int = 0, before: str = "", **options: Any
) -> Any:  # fmt: skip
    """The entry of a call behind a step in the queue *before*, read."""
    immutable = options.pop("immutable", False)
    signature = Signature(task, tuple(args), kwargs or {}, Options(**options), immutable)
    return json.loads("{" + entry(program.drafting, signature, handed, before).text + "}")


def nested(depth: int) -> Any:
    """A value of so many lists inside one another."""
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


def test_a_call_that_says_nothing_is_its_task_and_its_queue() -> None:
    assert item(Program(spec(queue="mail"))) == {"task": "send", "queue": "mail"}
    assert item(Program(spec(queue="mail")), before="theirs") == {"task": "send", "queue": "mail"}


def test_what_gathers_results_goes_where_the_step_before_it_goes() -> None:
    program = Program(spec(COLLECT, queue="declared"), spec("mine", queue="mine"))
    assert item(program, COLLECT, before="theirs")["queue"] == "theirs"
    assert item(program, COLLECT)["queue"] == program.drafting.first_queue
    assert item(Program(spec()), MAP, ("send", [1]))["task"] == MAP


def test_the_options_of_a_call_are_written_as_the_worker_will_need_them() -> None:
    signature = Signature("send", (), {}, Options(queue="own", tenant="acme", task_id="t-1", traceparent=TRACE, stamps={"a": "1"}), True)
    found = entry(Program(spec(queue="mail")).drafting, signature, 0, "")
    assert json.loads("{" + found.text + "}") == {
        "task": "send", "queue": "own", "tenant": "acme", "traceparent": TRACE, "stamps": "a=1", "immutable": True, "id": "t-1",
    }  # fmt: skip
    assert (found.queue, json.loads("{" + found.shared + "}")) == ("own", {"tenant": "acme", "stamps": "a=1"})
    assert entry(Program(spec()).drafting, Signature("send"), 0, "").shared == ""


@pytest.mark.parametrize(
    ("declared", "asked", "said"), [(True, None, True), (False, None, None), (True, False, False), (False, True, True)]
)
def test_whether_a_result_is_kept_is_written_where_it_is_not_the_usual(declared: bool, asked: bool | None, said: Any) -> None:
    assert item(Program(spec(ignore_result=declared)), ignore_result=asked).get("ignore_result") is said


def test_a_tenant_is_the_calls_then_that_of_its_own_arguments_then_the_running_tasks() -> None:
    program = Program(spec(tenant=lambda args, kwargs: args[0] if args else kwargs["who"]))
    with running(tenant="parents", stamps="a=1"):
        assert item(program, args=("theirs",), tenant="own")["tenant"] == "own"
        assert item(program, args=("theirs",))["tenant"] == "theirs"
        assert item(program, kwargs={"who": "named"})["tenant"] == "named"
        assert item(program, args=("theirs",), handed=1)["tenant"] == "parents", "its first argument is not known yet"
        assert item(program, args=("theirs",), handed=1, immutable=True)["tenant"] == "theirs"
        assert item(Program(spec()))["tenant"] == "parents"
        assert item(Program(spec()), stamps={"b": "2"})["stamps"] == "a=1,b=2"
    assert "tenant" not in item(Program(spec()))


def test_moments_are_written_as_they_are_and_times_from_the_publication_stay_relative() -> None:
    program = Program(spec(), spec("short", expires=7.0))
    now = program.ports.clock.now()
    moment = datetime.fromtimestamp(now + 60.0, UTC)
    assert item(program, eta=moment)["eta"] == now + 60.0
    assert item(program, countdown=5.0)["delay"] == 5.0
    assert "delay" not in item(program, countdown=0.0)
    assert item(program, expires=moment)["expires"] == now + 60.0
    assert item(program, expires=9.0)["lifetime"] == 9.0
    assert item(program, "short")["lifetime"] == 7.0
    assert item(program, "short", expires=9.0)["lifetime"] == 9.0
    assert "lifetime" not in item(program, "short", expires=moment)
    assert item(program, countdown=30 * DAY)["delay"] == 30 * DAY
    with pytest.raises(OptionError, match=r"countdown: .* is longer than a task can wait here, 2592000 s \(30 days\)"):
        item(program, countdown=30 * DAY + 1)
    assert item(program, eta=datetime.fromtimestamp(now + 30 * DAY, UTC))["eta"] == now + 30 * DAY


def test_limits_of_time_are_written_where_the_call_has_some() -> None:
    assert item(Program(spec(time_limits=TimeLimits(1.0, 2.0))), time_limit=9.0)["time_limits"] == [None, 9.0]
    assert "time_limits" not in item(Program(spec(time_limits=TimeLimits(1.0, 2.0))))


def test_a_task_that_no_canvas_can_hold_is_refused_with_words() -> None:
    batch = (10, 1.0)
    program = Program(
        spec("collects", limits=TaskLimits(batch=batch)), spec("runs", limits=TaskLimits(batch=batch, runs=True)),
        spec("paced", limits=TaskLimits()), spec("ordered", queue=FIFO), spec("bare"),
    )  # fmt: skip
    with pytest.raises(UnknownTask, match="no task 'nothing' in this app"):
        item(program, "nothing")
    with pytest.raises(OptionError, match="batch: 'collects' runs many calls as one"):
        item(program, "collects")
    assert [item(program, name)["task"] for name in ("runs", "paced")] == ["runs", "paced"]
    for name, options in (("ordered", {}), ("bare", {"serial_key": "k"}), ("bare", {"queue": FIFO})):
        with pytest.raises(OptionError, match="keeps order within a key, but a canvas publishes its tasks without an order"):
            item(program, name, **options)
    with pytest.raises(OptionError, match="dedup_key, on_duplicate"):
        item(program, "bare", dedup_key="k")


def test_arguments_must_fit_behind_what_is_handed_over() -> None:
    def two(a: int, b: int) -> None:
        """Take two."""

    program = Program(TaskSpec("two", two, Parameters(two)))
    assert item(program, "two", (1,), handed=1)["args"] == [1]
    assert item(program, "two", (1, 2), handed=1, immutable=True)["args"] == [1, 2]
    assert item(program, "two", (1,), handed=CONTEXT)["args"] == [1]
    for args, handed in (((1, 2), 1), ((1,), 0), ((), CONTEXT)):
        with pytest.raises(ArgumentError):
            item(program, "two", args, handed=handed)


def test_arguments_are_part_of_the_entry_up_to_a_length_and_lie_in_the_blob_store_beyond_it() -> None:
    program = Program(spec())
    assert item(program, args=(1,), kwargs={"b": 2}) == {"task": "send", "queue": "default", "args": [1], "kwargs": {"b": 2}}
    assert item(program, kwargs={"b": 2}) == {"task": "send", "queue": "default", "kwargs": {"b": 2}}
    for over in (0, 1):
        half, frame = "y" * 3_000, len('[""]') + len('{"b":""}')
        found = item(program, args=("x" * (8_000 - frame - len(half) + over),), kwargs={"b": half})
        assert ("ref" in found) == bool(over)
        assert ("args" in found, "kwargs" in found) == (not over, not over)
    found = item(program, args=("x" * 9_000,), kwargs={"b": 2})
    args, kwargs = codec.decode_data(program.ports.blobs.get(BlobRef(*found["ref"])))
    assert ([*args], dict(kwargs)) == (["x" * 9_000], {"b": 2})


@pytest.mark.parametrize("kind", ["args", "kwargs"])
def test_arguments_may_nest_as_deeply_as_those_of_a_call(kind: str) -> None:
    most, program = MAX_DATA_DEPTH - 2, Program(spec())
    for depth in (most, most + 1):
        given: Any = {"args": (nested(depth),)} if kind == "args" else {"kwargs": {"a": nested(depth)}}
        if depth == most:
            assert item(program, **given)[kind]
        else:
            with pytest.raises(Unserialisable, match=rf"data\.{kind}"):
                item(program, **given)


def test_arguments_that_no_worker_reads_are_refused() -> None:
    frame = len(codec.encode_data(("",), {}))
    program = Program(spec())
    assert "ref" in item(program, args=("x" * (codec.MAX_DATA_BYTES - frame),))
    with pytest.raises(TooLarge, match="arguments may have 67108864 together"):
        item(program, args=("x" * (codec.MAX_DATA_BYTES - frame + 1),))
    drafting = program.drafting
    assert drafting._composer.check(("x" * (codec.MAX_DATA_BYTES - frame),), {}) is not None
    with pytest.raises(TooLarge, match="arguments may have 67108864 together"):
        drafting._composer.check(("x" * (codec.MAX_DATA_BYTES - frame + 1),), {})


def failed(**changes: Any) -> dict[str, Any]:
    """What an error callback learns of a task."""
    return request_of(Command("m", "t", "send", "me", 1.0, 1, args=(1,), kwargs={"b": 2}, attempt=3)._replace(**changes))


def test_an_error_callback_learns_of_the_failed_task_what_its_message_says() -> None:
    assert failed(tenant="acme", stamps="a=1", lineage=Lineage("root", "parent", 1, 9)) == {
        "id": "t", "task": "send", "args": [1], "kwargs": {"b": 2}, "retries": 3, "root_id": "root", "parent_id": "parent",
        "tenant": "acme", "stamps": {"a": "1"},
    }  # fmt: skip
    assert (failed()["root_id"], failed()["parent_id"], failed()["stamps"]) == ("t", None, {})


@pytest.mark.parametrize("changes", [{"data_ref": BlobRef("0" * 64, 9)}, {"args": (nested(MAX_DATA_DEPTH + 5),)}])
def test_arguments_that_lie_elsewhere_or_nest_too_deeply_stay_out_of_the_callback(changes: Any) -> None:
    found = failed(**changes)
    assert (found["args"], found["kwargs"]) == (None, None)
