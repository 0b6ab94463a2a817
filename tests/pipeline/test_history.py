"""A history from its landed files: whatever the increments, the order and the copies, the same rows; and what a person runs."""

import gzip
import json
import random
from argparse import Namespace
from collections import Counter

import pytest

from glue_jobs import history as job
from glue_jobs.pipeline import history as rows
from glue_jobs.pipeline.landing import events, land_files
from glue_jobs.pipeline.session import must_open
from glue_jobs.pipeline.timeline import finalise, merged, registers
from sedano.errors import ConfigurationError, OptionError
from sedano.history import landed_at, open_history
from sedano.model.history import registers as pure
from sedano.model.history.event_order import stamp
from sedano.model.history.task_costs import task_costs
from sedano.views.event_lines import event_lines
from tests.pipeline.browser import look
from tests.pipeline.cluster import lines
from tests.pipeline.oracle import as_celery_says, recorded, recording, replayed
from tests.pipeline.streams import delivered, lives, written
from tests.pipeline.traces import azure, nasa

SEED = 20261121
FIELDS = (
    "state", "sent", "received", "started", "succeeded", "failed", "retried", "revoked", "rejected",
    "name", "args", "kwargs", "retries", "runtime", "result", "exception",
)  # fmt: skip


#: In the recording one worker was killed, every task ended, and all clocks are those of one machine.
TRUE_OF_THE_RECORDING = {"lost-worker", "out-of-order"}


def options(**given):
    usual = {"source": None, "day": None, "rebuild": False, "keep_days": 0.0, "root": None, "limit": 10, "out": "report.html"}
    usual |= {"fail_on": [], "diff": None}
    return Namespace(**{**usual, **given})


def contents(tables):
    """Every row of every table as the text of its JSON, in order: equal texts are equal bytes."""
    return {name: sorted(table.toJSON().collect()) for name, table in tables.items()}


def workers_say(stream):
    """Heartbeats, a lost worker and invocations beside the tasks' lives."""
    said = [{"type": "worker-online", "hostname": "worker-0", "pid": 1, "clock": 1, "timestamp": 999.0, "freq": 2.0, "uuid": "-"}]
    said += [{**said[0], "type": "worker-heartbeat", "clock": n, "timestamp": 1000.0 + 2 * n} for n in (2, 3, 9)]
    called = {"type": "worker-invocation", "hostname": "worker-1", "pid": 1, "uuid": "-", "messages": 3, "calls": {"sqs.SendMessage": 2}}
    said += [{**called, "clock": n, "timestamp": 1000.5 + n, "duration_ms": 12.345 * n, "cold": n == 1} for n in range(1, 5)]
    aside = {**called, "timestamp": 1009.0, "duration_ms": 100.0, "memory_mb": 1024}
    said += [{**aside, "type": "router-invocation", "hostname": "router-0", "clock": n} for n in (5, 6)]
    said.append({**aside, "type": "recorder-invocation", "hostname": "recorder-0", "clock": 7, "calls": {"s3.PutObject": 1}})
    return [*stream, *said]


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """Six files of a generated stream, shuffled and partly doubled, one with a line that is none."""
    print(f"seed {SEED}")
    folder = tmp_path_factory.mktemp("landed")
    written(folder, delivered(SEED, workers_say(lives(SEED, 240)), copies=0.2), files=6)
    (folder / "dt=2026-11-07").mkdir()
    (folder / "dt=2026-11-07" / "bad.jsonl").write_bytes(b"not JSON\n\xff\xfe\n")
    return folder


@pytest.fixture(scope="module")
def whole(spark, landed, tmp_path_factory):
    """The tables of one build over everything, merged on read."""
    history = open_history(str(tmp_path_factory.mktemp("whole")))
    assert job.build(spark, history, options(source=str(landed)))["new_files"] == 7
    return contents(job.tables(spark, history))


@pytest.fixture(scope="module")
def grown(spark, landed, tmp_path_factory):
    """The history of the same files, a few days late and out of order, compacted in the middle."""
    history = open_history(str(tmp_path_factory.mktemp("grown")))
    for day in ("2026-11-05", "2026-11-02", "2026-11-07"):
        job.build(spark, history, options(source=str(landed), day=day))
    job.compact(spark, history, options())
    job.build(spark, history, options(source=str(landed)))
    return history


def must_be_drawn(picture, width):
    """Areas, bars and failures have their colours, and nothing reaches over the right edge."""
    drawn = picture.colours()
    shown = {name: drawn[colour] for name, colour in {"leaf": (47, 125, 79), "leaf2": (140, 195, 160), "red": (200, 70, 60)}.items()}
    assert all(pixels > 100 for pixels in shown.values()), (width, shown)
    assert all(min(colour) > 235 for colour in picture.column(width - 4)), "something reaches over the right edge"


def test_increments_late_days_and_a_compaction_in_between_give_the_same_bytes(spark, grown, whole):
    assert contents(job.tables(spark, grown)) == whole


def test_a_compaction_writes_what_a_reader_merges(spark, grown, whole):
    told = job.compact(spark, grown, options())
    assert told["parts"] == 4
    assert told["deleted"] > 0
    tables = job.tables(spark, grown)
    assert contents(tables) == whole
    for name in tables:
        written_ = spark.read.parquet(f"{grown.archive.place(grown.current().base)}tables/{name}")
        assert {(f.name, f.dataType) for f in written_.schema} >= {(f.name, f.dataType) for f in rows.SCHEMAS[name] if f.name != "day"}


def test_the_page_of_a_history_is_drawn_by_a_real_browser(spark, grown, tmp_path):
    page = tmp_path / "report.html"
    job.report(spark, grown, options(out=str(page)))
    for width, height in ((1280, 1900), (500, 2400)):
        must_be_drawn(look(page, tmp_path, width, height), width)


def test_a_canvas_that_is_chosen_is_drawn_and_one_that_is_none_is_refused(spark, tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "known.jsonl").write_text("\n".join(lines(SEED)))
    history = open_history(str(tmp_path / "history"))
    job.build(spark, history, options(source=str(tmp_path / "events")))
    page = tmp_path / "report.html"
    job.report(spark, history, options(out=str(page), root="r"))
    text = page.read_text(encoding="utf-8")
    assert "import: 6 tasks in 15\u2009s, SUCCESS" in text
    assert [uuid for uuid in ("r", "d", "z", "a", "fell") if f'title="{uuid} on w1, ' in text] == ["r", "d", "z"]
    with pytest.raises(OptionError, match="no canvas begins with the task 'nobody'"):
        job.report(spark, history, options(out=str(page), root="nobody"))


def test_celerys_recording_becomes_a_page_that_a_browser_draws_at_a_desk_and_on_a_phone(spark, tmp_path):
    states = Counter(task.state for task in replayed(recording()).values())
    history = open_history(str(tmp_path / "history"))
    job.update(spark, history, options(source=str(recorded())))
    told = job.tables(spark, history, ["tasks", "anomalies"])
    assert Counter(row["state"] for row in told["tasks"].collect()) == states
    assert Counter(row["kind"] for row in told["anomalies"].collect()).keys() <= TRUE_OF_THE_RECORDING
    page = tmp_path / "celery.html"
    job.report(spark, history, options(out=str(page)))
    assert f"History of {states.total():,} tasks".replace(",", "\u2009") in page.read_text(encoding="utf-8")
    for width, height in ((1280, 1900), (390, 2600)):
        must_be_drawn(look(page, tmp_path, width, height), width)


def test_a_rebuild_gives_the_same_bytes_and_needs_every_landed_file(spark, grown, landed, whole, tmp_path):
    job.build(spark, grown, options(source=str(landed), rebuild=True))
    assert len(grown.current().parts) == 1
    assert contents(job.tables(spark, grown)) == whole
    written(tmp_path, lives(1, 3))
    with pytest.raises(ConfigurationError, match="a rebuild would lose it"):
        job.build(spark, grown, options(source=str(tmp_path), rebuild=True))


def test_a_file_that_aged_after_it_was_taken_in_is_missed_by_a_rebuild_alone(spark, tmp_path):
    source = written(tmp_path / "events", lives(SEED, 6), files=2)
    history = open_history(str(tmp_path / "history"))
    job.update(spark, history, options(source=str(source)))
    before = contents(job.tables(spark, history))
    next(source.rglob("*.jsonl.gz")).unlink()
    job.update(spark, history, options(source=str(source)))
    assert contents(job.tables(spark, history)) == before
    with pytest.raises(ConfigurationError, match="a rebuild would lose it"):
        job.build(spark, history, options(source=str(source), rebuild=True))
    assert contents(job.tables(spark, history)) == before


def test_what_was_taken_in_is_not_taken_in_again(spark, grown, landed):
    before = grown.current()
    assert job.build(spark, grown, options(source=str(landed)))["new_files"] == 0
    assert grown.current() == before


def test_the_tasks_are_those_of_the_pure_registers(whole, landed):
    stream = lives(SEED, 240)
    known = {uuid: pure.finalise(registers) for uuid, registers in pure.fold(stream)[0].items()}
    told = {row["uuid"]: row for row in map(json.loads, whole["tasks"])}
    assert told.keys() == known.keys()
    assert {uuid: row["state"] for uuid, row in told.items()} == {uuid: timeline.state for uuid, timeline in known.items()}
    assert {uuid: row.get("finished") for uuid, row in told.items()} == {uuid: timeline.finished for uuid, timeline in known.items()}


def test_each_column_of_a_contract_says_what_it_is():
    unsaid = [f"{t}.{f.name}" for t, schema in rows.SCHEMAS.items() for f in schema if "comment" not in f.metadata and t != "quarantine"]
    assert unsaid == []


def test_lines_that_cannot_be_used_are_told_with_their_reason_and_file(whole):
    told = [json.loads(row) for row in whole["quarantine"]]
    assert {row["reason"] for row in told} == {"not a JSON object", "not UTF-8"}
    assert all(row["source"].endswith("dt=2026-11-07/bad.jsonl") for row in told)


def test_a_worker_that_fell_silent_is_lost_and_its_gap_is_told(whole):
    (lost,) = [row for row in map(json.loads, whole["workers"]) if row["hostname"] == "worker-0" and row["pid"] == 1]
    assert (lost["heartbeats"], lost["gaps"], lost["longest_gap_seconds"]) == (3, 1, 12.0)


def test_what_invocations_cost_is_shared_among_the_attempts_of_their_worker(whole):
    cost = [json.loads(row) for row in whole["cost"]]
    assert {row["basis"] for row in cost} == {"measured", "estimated"}
    assert all(row["nanodollars"] >= 0 for row in cost)


def test_the_cost_without_spark_is_the_cost_with_it(whole, landed):
    events, unreadable = event_lines(gzip.decompress(file.read_bytes()) for file in landed.glob("**/*.jsonl.gz"))
    live = task_costs(events)
    with_spark = [json.loads(row) for row in whole["cost"]]
    told = {(*(row.get(name) or "" for name in ("name", "queue", "tenant")), row["basis"]): row for row in with_spark}
    assert {(row.name, row.queue, row.tenant, row.basis) for row in live.tasks} == told.keys()
    for row in live.tasks:
        other = told[row.name, row.queue, row.tenant, row.basis]
        assert (row.tasks, row.attempts, row.run_micros) == (other["tasks"], other["attempts"], other["run_micros"]), row
        assert abs(row.nanodollars - other["nanodollars"]) <= row.attempts, "a rounding of one nanodollar an attempt at most"
    assert (unreadable, len(live.tasks) > 10) == (0, True)


def test_router_and_recorder_cost_as_rows_of_their_own_and_are_no_workers(whole):
    cost = {row["name"]: row for row in map(json.loads, whole["cost"]) if row.get("name", "").startswith("sedano.")}
    assert {name: (row["queue"], row["basis"], row["tasks"], row["run_micros"]) for name, row in cost.items()} == {
        "sedano.router": ("events", "measured", 0, 200_000), "sedano.recorder": ("records", "measured", 0, 100_000),
    }  # fmt: skip
    compute, invoked, sends, put = round(0.1 * 13.3334 * 1000), 200, 2 * 400, 5_000
    assert cost["sedano.router"]["nanodollars"] == 2 * (compute + invoked + sends)
    assert cost["sedano.recorder"]["nanodollars"] == compute + invoked + put
    assert not {"router-0", "recorder-0"} & {json.loads(row)["hostname"] for row in whole["workers"]}


@pytest.mark.parametrize("order", range(5))
def test_celerys_recording_is_told_as_celery_tells_it_in_any_order_with_copies_and_increments(spark, tmp_path, order):
    recorded()
    luck = random.Random(SEED + order)
    copies, increments = luck.uniform(0.05, 0.30), (2, 3, 5, 8, 4)[order]
    print(f"seed {SEED + order}: {copies:.0%} copies, {increments} increments")
    written(tmp_path, delivered(SEED + order, recording(), copies), files=increments)
    parts = [registers(events(land_files(spark, [file]))) for file in sorted(landed_at(str(tmp_path)))]
    told = {row["uuid"]: {name: row[name] for name in FIELDS} for row in finalise(merged(*parts)).collect()}
    celery = {uuid: {name: as_celery_says(task)[name] for name in FIELDS} for uuid, task in replayed(recording()).items()}
    assert [uuid for uuid in celery.keys() | told.keys() if celery.get(uuid) != told.get(uuid)] == []


def test_what_really_happened_elsewhere_is_told_as_celery_tells_it(spark, tmp_path):
    stream = [*azure(3_000), *nasa(3_000)]
    written(tmp_path, delivered(SEED, stream, copies=0.1), files=3)
    parts = [registers(events(land_files(spark, [file]))) for file in sorted(landed_at(str(tmp_path)))]
    told = {row["uuid"]: {name: row[name] for name in FIELDS} for row in finalise(merged(*parts)).collect()}
    celery = {uuid: {name: as_celery_says(task)[name] for name in FIELDS} for uuid, task in replayed(sorted(stream, key=stamp)).items()}
    assert len(celery) == 6_000
    assert [uuid for uuid in celery.keys() | told.keys() if celery.get(uuid) != told.get(uuid)] == []


def test_a_spark_without_a_file_system_for_s3_says_so_before_anything_is_done(spark, tmp_path):
    must_open(spark, str(tmp_path), f"file://{tmp_path}", "")
    with pytest.raises(ConfigurationError, match="no file system for s3:// addresses; run the job on Glue or EMR"):
        must_open(spark, str(tmp_path), "s3://bucket/events")
