"""Each table of a history that is known by heart, out of order and with copies, has the figures that a person would write down."""

import json

import pytest

from glue_jobs.pipeline import timeline
from glue_jobs.pipeline.history import SCHEMAS, Finalised
from glue_jobs.pipeline.landing import events, judged
from glue_jobs.pipeline.report.gather import gathered
from glue_jobs.pipeline.report.page import page
from glue_jobs.pipeline.schema import CALLS_LIMIT, LIMITS
from tests.pipeline.cluster import HOUR, LINKS, Cluster, lines

SEED = 20261122
BEAT = {"type": "worker-heartbeat", "timestamp": HOUR, "hostname": "w", "pid": 1, "clock": 2, "freq": 2.0}


def finalised(spark, texts):
    """Every table of a history of these lines."""
    landed = judged(spark.createDataFrame([(line, "file") for line in texts], "text string, source string")).localCheckpoint()
    made = Finalised(timeline.registers(events(landed)), landed, lambda _, table: table.localCheckpoint())
    return {name: made.table(name) for name in SCHEMAS}


def told_by(spark, texts):
    """Every table's rows, as dictionaries, of a history of these lines."""
    return {name: [row.asDict(recursive=True) for row in table.collect()] for name, table in finalised(spark, texts).items()}


@pytest.fixture(scope="module")
def tables(spark):
    """Every table's rows as dictionaries."""
    print(f"seed {SEED}")
    return told_by(spark, lines(SEED))


def by(rows, key, *columns):
    """The *columns* of each row by its *key*; one column alone is its value."""
    found = {row[key]: tuple(row[column] for column in columns) for row in rows}
    assert len(found) == len(rows), f"two rows of one {key}"
    return {name: values[0] if len(columns) == 1 else values for name, values in found.items()}


def test_no_line_was_set_aside(tables):
    assert tables["quarantine"] == []


def test_tasks_tell_what_they_were_and_how_it_went(tables):
    told = by(tables["tasks"], "uuid", "state", "attempts", "worker", "queue", "tenant", "root_id", "parent_id")
    assert told["z"] == ("SUCCESS", 1, "w1", "default", "acme", "r", "d")
    assert told["push-1"] == ("FAILURE", 3, "w1", "default", None, "push-1", None)
    assert told["waits"] == ("PENDING", 0, None, "default", None, "open", "open")
    times = by(tables["tasks"], "uuid", "sent", "received", "started", "retried", "succeeded", "finished", "runtime")
    assert times["push-2"] == (HOUR + 80, HOUR + 81, HOUR + 81, HOUR + 72, HOUR + 83, HOUR + 83, 2)
    digests = by(tables["tasks"], "uuid", "args_digest")
    assert len({digests[f"mail-{n}"] for n in range(3)}) == 1
    assert len({digests["r"], digests["a"], digests["mail-0"]}) == 3
    assert {row["day"] for row in tables["tasks"] if row["uuid"] != "moving"} == {"2025-11-20"}


def test_attempts_lie_between_retries(tables):
    tried = {row["number"]: row for row in tables["attempts"] if row["uuid"] == "push-1"}
    assert {n: (row["outcome"], row["started"] - HOUR, row["ended"] - HOUR, row["run_seconds"]) for n, row in tried.items()} == {
        1: ("RETRY", 71, 72, 1), 2: ("RETRY", 81, 83, 2), 3: ("FAILURE", 91, 94, 3),
    }  # fmt: skip
    assert [row["outcome"] for row in sorted(tables["attempts"], key=lambda row: row["number"]) if row["uuid"] == "push-2"] == [
        "RETRY", "SUCCESS",
    ]  # fmt: skip
    assert [row["outcome"] for row in tables["attempts"] if row["uuid"] in {"held", "waits"}] == [None], "one began, one did not"


def test_a_canvas_tells_its_critical_path_its_width_and_its_stragglers(tables):
    told = by(tables["canvas"], "root_id", "name", "state", "tasks", "fan_out", "stragglers", "seconds")
    assert told == {
        "r": ("import", "SUCCESS", 6, 4, 1, 15), "bad": ("import", "FAILURE", 2, 1, 0, 4), "open": ("import", "PENDING", 2, 1, 0, 2),
        "x": ("work", "SUCCESS", 2, 1, 0, 3), "link-0": ("work", "SUCCESS", LINKS, 1, 0, LINKS),
    }  # fmt: skip
    paths = {root: [step["uuid"] for step in path] for root, path in by(tables["canvas"], "root_id", "critical_path").items()}
    assert paths.pop("link-0") == [f"link-{n}" for n in range(LINKS)]
    assert paths == {"r": ["r", "d", "z"], "bad": ["bad", "fell"], "open": ["open"], "x": ["x", "y"]}
    (path,) = [row["critical_path"] for row in tables["canvas"] if row["root_id"] == "r"]
    assert [(step["name"], step["sent"] - HOUR, step["started"] - HOUR, step["finished"] - HOUR) for step in path] == [
        ("import", 0, 1, 2), ("resize", 2, 3, 13), ("tell", 13, 14, 15),
    ]  # fmt: skip


def test_failures_are_told_by_exception_and_place_and_poison_is_what_goes_on_failing(tables):
    told = {
        (row["name"], row["exception_type"], row["failures"], row["retries"]): (row["tasks"], row["poisoned"], row["poison"])
        for row in tables["failures"]
    }
    assert told == {
        ("mail", "ValueError", 3, 0): (3, 3, True), ("sms", "gone", 2, 0): (2, 0, False), ("work", "KeyError", 1, 0): (1, 0, False),
        ("push", "net.Down", 1, 3): (2, 1, True),
    }  # fmt: skip
    (mail,) = [row for row in tables["failures"] if row["name"] == "mail"]
    assert (mail["first"] - HOUR, mail["last"] - HOUR, mail["example"], mail["example_task"]) == (52, 54, "ValueError('full 2')", "mail-2")


def test_latency_is_told_by_task_queue_and_hour(tables):
    columns = ("tasks", "wait_seconds_p50", "wait_seconds_p90", "wait_seconds_max", "run_seconds_max")
    slow = [row for row in tables["latency"] if (row["name"], row["queue"]) == ("slow", "long")]
    told = {row["hour"] - HOUR: tuple(row[column] for column in columns) for row in slow}
    assert told == {0: (5, 3, pytest.approx(4.6), 5, 5), 3600: (1, 3, 3, 3, 1)}
    (bill,) = [row for row in tables["latency"] if row["name"] == "bill"]
    assert (bill["tasks"], bill["total_seconds_p50"], bill["total_seconds_max"]) == (2, 3, 4)


def test_throughput_counts_what_happened_in_each_second(tables):
    told = {row["second"] - HOUR: row for row in tables["throughput"] if row["queue"] == "default"}
    columns = ("sent", "started", "succeeded", "failed", "retried", "ended")
    assert {at: tuple(told[at][column] for column in columns) for at in (2, 3, 4, 62, 72, 94)} == {
        2: (4, 0, 1, 0, 0, 1), 3: (0, 6, 0, 0, 0, 0), 4: (0, 0, 3, 0, 0, 3), 62: (0, 0, 0, 2, 0, 2), 72: (0, 0, 0, 0, 2, 2),
        94: (0, 0, 0, 1, 0, 1),
    }  # fmt: skip


def test_workers_tell_when_they_came_how_they_left_and_where_they_were_silent(tables):
    columns = ("fate", "online", "last_heartbeat", "offline", "heartbeats", "gaps", "longest_gap_seconds", "software")
    told = by(tables["workers"], "hostname", *columns)
    assert told["w1"] == ("offline", HOUR, HOUR + 14, HOUR + 4000, 3, 1, 10, "py-celery 5.7")
    assert {worker: told[worker][0] for worker in ("w2", "w3", "w4", "l1")} == {"w2": "lost", "w3": "lost", "w4": "open", "l1": "open"}
    lambdas = by(tables["workers"], "hostname", "invocations", "cold_starts", "billed_micros", "runs")
    assert lambdas["l1"] == (1, 1, 100_000, 2)


def test_what_an_invocation_cost_is_shared_by_run_time_and_other_attempts_are_estimated(tables):
    (bill,) = [row for row in tables["cost"] if row["name"] == "bill"]
    whole = round(0.1 * 13.3334 * 1000) + 200 + 2 * 400
    assert (bill["basis"], bill["queue"], bill["tenant"], bill["tasks"], bill["nanodollars"]) == ("measured", "default", "acme", 2, whole)
    assert bill["dollars_per_million"] == pytest.approx(whole / 2 / 1000)
    (tell,) = [row for row in tables["cost"] if row["name"] == "tell"]
    second = round(0.5 * 13.3334 * 1000 + 200)
    assert (tell["basis"], tell["nanodollars"]) == ("estimated", second)
    canvas = by(tables["canvas"], "root_id", "nanodollars", "run_micros")
    assert canvas["r"] == (5 * second + round(10 * 0.5 * 13.3334 * 1000 + 200), 15_000_000)


def test_anomalies_tell_what_a_person_should_look_at(tables):
    def of(kind):
        return {row["subject"]: row for row in tables["anomalies"] if row["kind"] == kind}

    assert set(of("lost-worker")) == {"w2", "w3"}
    stuck = {task: row["value"] for task, row in of("stuck-task").items()}
    assert stuck == {"held": 3998, "silent": 3998}, "the one with an eta is to wait"
    assert {pair: (row["value"], row["count"]) for pair, row in of("clock-skew").items()} == {"w4 before c": (0.5, 1)}
    assert {sender: (row["value"], row["count"]) for sender, row in of("out-of-order").items()} == {"w5": (pytest.approx(1 / 3), 1)}
    assert of("absorbed").keys() == {"claim-stolen"}
    copies = of("duplicates")
    assert sum(row["count"] for row in copies.values()) == len(list(lines(SEED))) // 6
    assert all(0 < row["value"] <= 0.5 for row in copies.values())


def test_numbers_at_their_limits_end_no_run(spark):
    cluster, most = Cluster(), {name: high for name, (_, high) in LIMITS.items()}
    invoked = {name: most[name] for name in ("duration_ms", "memory_mb", "invocations", "messages")}
    for n, at in enumerate((-HOUR, most["timestamp"] - HOUR)):
        uuid = f"t{n}"
        cluster.task(uuid, ("sent", at), ("started", -HOUR), ("succeeded", at), runtime=most["runtime"], retries=most["retries"])
        cluster.task(f"failed-{n}", ("started", -HOUR), ("failed", at), exception="X", traceback="")
        cluster.say("worker-invocation", at, f"w{n}", calls={"s3.PutObject": CALLS_LIMIT[1]}, **invoked)
    told = told_by(spark, map(json.dumps, cluster.events))
    assert told["quarantine"] == []
    assert by(told["tasks"], "uuid", "attempts") == {"t0": 2**31, "t1": 2**31, "failed-0": 1, "failed-1": 1}
    assert by(told["workers"], "hostname", "billed_micros")["w0"] == 10**15
    assert all(row["nanodollars"] > 0 for row in told["cost"])


@pytest.mark.parametrize(("said", "begin"), [([BEAT], BEAT["timestamp"]), ([], 0.0)], ids=["heartbeats", "nothing"])
def test_a_history_without_any_task_is_a_page_as_well(spark, said, begin):
    told = gathered(finalised(spark, map(json.dumps, said or ["no event"])))
    assert (told["begin"], told["quarantined"], told["canvas"]) == (begin, 0 if said else 1, None)
    assert "History of 0 tasks" in page(told)


def shop(tasks, at=0.0):
    """What *tasks* tasks tell that are published a second apart, from *at* on, and the worker that runs them."""
    cluster = Cluster()
    for n in range(tasks):
        cluster.task(f"t{n}", ("sent", at + n), ("received", at + n + 0.25), ("started", at + n + 0.5), ("succeeded", at + n + 1.5))
    cluster.task("lost", ("started", at + 1), ("failed", at + 3), exception="X", traceback="")
    return cluster


@pytest.mark.parametrize(("wrong", "outside"), [((-HOUR,), 1), ((LIMITS["timestamp"][1] - HOUR,), 1), ((-HOUR, 1e9), 3)])
def test_an_event_with_a_wrong_clock_stretches_no_chart_and_is_told(spark, wrong, outside):
    right = gathered(finalised(spark, map(json.dumps, shop(60).events)))
    cluster = shop(60)
    cluster.task("t0", ("started", wrong[0]), ("succeeded", 1.5))
    for n, at in enumerate(wrong[1:]):
        cluster.task(f"odd-{n}", ("started", at), ("failed", at + 5), exception="X", traceback="")
    told = gathered(finalised(spark, map(json.dumps, cluster.events)))
    assert (told["begin"], told["end"], told["outside"]) == (right["begin"], right["end"], outside)
    assert (right["outside"], right["earliest"], right["latest"]) == (0, right["begin"], right["end"])
    assert told["earliest"] <= told["begin"] < told["end"] <= told["latest"]
    assert told["earliest"] + told["latest"] != right["earliest"] + right["latest"]
    assert told["throughput"]["sent"] == right["throughput"]["sent"]
    assert all(0 <= column < told["heat"]["columns"] for column, _, _ in told["heat"]["cells"])
    busy = {one["hostname"]: one["busy"] for one in told["lanes"]}
    assert max(cell for cells in busy.values() for cell, _ in cells) > 200, "the worker's line reaches over the picture"


def test_a_few_tasks_of_another_day_are_left_out_and_half_of_them_are_not(spark):
    def of(first, second):
        cluster, later = shop(first), shop(second, at=7 * 86_400.0)
        events = [{**event, "uuid": f"later-{event['uuid']}"} for event in later.events]
        return gathered(finalised(spark, map(json.dumps, [*cluster.events, *events])))

    few, half = of(90, 1), of(20, 20)
    assert (few["end"] - few["begin"] < 100, few["outside"]) == (True, 6)
    assert (half["end"] - half["begin"] > 7 * 86_400, half["outside"]) == (True, 0)
