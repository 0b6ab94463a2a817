"""What is measured on the timelines and on the workers' lines: latencies, throughput, invocations, calls, counts."""

import statistics

import pytest

from glue_jobs.pipeline import schema
from glue_jobs.pipeline.compare import mismatches
from glue_jobs.pipeline.invocations import calls, invocations, lines, workers
from glue_jobs.pipeline.landing import events, land
from glue_jobs.pipeline.latency import latency
from glue_jobs.pipeline.throughput import throughput, widened
from sedano.engine.history.invocation_costs import RECORDER, ROUTER, WORKER
from tests.pipeline.streams import written


def table(spark, contract, *rows):
    """Return a table of *rows*; columns that a row leaves out are null."""
    return spark.createDataFrame([tuple(row.get(name) for name in contract.names) for row in rows], contract)


def rows_of(frame, *keys):
    return {tuple(row[key] for key in keys): row.asDict() for row in frame.collect()}


def invoked(worker, clock, kind="worker", **fields):
    return {"type": f"{kind}-invocation", "timestamp": 1.0, "hostname": worker, "pid": 1, "clock": clock, **fields}


@pytest.fixture(scope="module")
def told(spark, tmp_path_factory):
    """Lines of two workers; one invocation and one duplicate were delivered twice."""
    first = invoked("a", 1, messages=10, calls={"dynamodb.UpdateItem": 20, "sqs.SendMessage": 1}, duration_ms=12.5, cold=True)
    second = invoked("a", 2, messages=3, calls={"dynamodb.UpdateItem": 6}, duration_ms=2.5, cold=False)
    other = invoked("b", 1, messages=1, duration_ms=1.0, cold=True)
    duplicate = {"type": "message-duplicate", "timestamp": 1.0, "hostname": "a", "pid": 1, "clock": 3, "uuid": "u"}
    stolen = {"type": "claim-stolen", "timestamp": 2.0, "uuid": "u"}
    routed = invoked("c", 1, kind="router", invocations=5, messages=2, calls={"sqs.SendMessage": 4}, duration_ms=3.0, cold=True)
    history = [first, second, other, first, duplicate, duplicate, stolen, routed]
    return events(land(spark, str(written(tmp_path_factory.mktemp("lines"), history, files=3)))).cache()


def test_an_invocation_that_was_delivered_twice_is_summed_once(told):
    found = rows_of(workers(invocations(told)), "function", "hostname")
    assert {key: [row[name] for name in ("invocations", "cold", "messages", "duration_ms")] for key, row in found.items()} == {
        ("worker", "a"): [2, 1, 13, 15.0], ("worker", "b"): [1, 1, 1, 1.0], ("router", "c"): [5, 1, 2, 3.0],
    }  # fmt: skip


def test_the_functions_of_the_engine_are_those_of_the_job():
    assert set(schema.INVOCATION_TYPES) == {WORKER, ROUTER, RECORDER}


def test_calls_are_summed_by_worker_and_operation(told):
    found = {key: row["calls"] for key, row in rows_of(calls(invocations(told)), "hostname", "call").items()}
    assert found == {("a", "dynamodb.UpdateItem"): 26, ("a", "sqs.SendMessage"): 1, ("c", "sqs.SendMessage"): 4}


def test_events_are_counted_apart_from_the_lines_that_carried_them(told):
    found = {key: (row["events"], row["lines"]) for (key,), row in rows_of(lines(told), "type").items()}
    assert found == {"worker-invocation": (3, 4), "router-invocation": (1, 1), "message-duplicate": (1, 2), "claim-stolen": (1, 1)}


def test_percentiles_are_those_of_the_known_latencies(spark):
    waits = [0.1 * n for n in range(1, 102)]
    tasks = table(spark, schema.TASKS, *[{"name": "add", "wait_seconds": wait} for wait in waits], {"name": "add"})
    found = rows_of(latency(tasks), "name")["add",]
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    assert found["tasks"] == 102
    assert found["wait_seconds_p50"] == pytest.approx(cuts[49])
    assert found["wait_seconds_p90"] == pytest.approx(cuts[89])
    assert found["wait_seconds_p99"] == pytest.approx(cuts[98])
    assert found["wait_seconds_max"] == pytest.approx(10.1)
    assert found["run_seconds_p50"] is None


def test_tasks_whose_name_was_never_told_are_a_group_of_their_own(spark):
    tasks = table(spark, schema.TASKS, {"name": "add", "run_seconds": 1.0}, {"run_seconds": 3.0})
    assert {key: row["run_seconds_max"] for (key,), row in rows_of(latency(tasks), "name").items()} == {
        "add": 1.0,
        None: 3.0,
    }


def test_throughput_counts_each_step_in_its_interval(spark):
    tasks = table(
        spark,
        schema.TASKS,
        {"sent": 10.2, "started": 10.9, "finished": 13.0},
        {"sent": 10.7, "started": 13.1},
        {"sent": 12.0},
    )
    by_second = {row["second"]: tuple(row)[1:] for row in throughput(tasks).collect()}
    assert by_second == {10: (2, 1, 0), 12: (1, 0, 0), 13: (0, 1, 1)}
    by_two = {row["second"]: tuple(row)[1:] for row in widened(throughput(tasks), 2).collect()}
    assert by_two == {10: (2, 1, 0), 12: (1, 1, 1)}


def test_the_ledger_and_the_events_are_compared_in_the_same_words(spark):
    states = {"done": "SUCCESS", "running": "STARTED", "lied": "FAILURE", "unrecorded": "SUCCESS"}
    tasks = table(spark, schema.TASKS, *[{"uuid": uuid, "state": state} for uuid, state in states.items()])
    recorded = {"done": "SUCCESS", "running": "RUNNING", "lied": "SUCCESS", "silent": "POISON"}
    ledger = table(spark, schema.LEDGER, *[{"uuid": uuid, "state": state} for uuid, state in recorded.items()])
    found = {row["uuid"]: (row["ledger"], row["events"]) for row in mismatches(tasks, ledger).collect()}
    assert found == {"lied": ("SUCCESS", "FAILURE"), "silent": ("FAILURE", None)}


def test_the_columns_of_the_measures_are_the_contract(spark, told):
    tasks, each = table(spark, schema.TASKS), invocations(told)
    made = [latency(tasks), throughput(tasks), workers(each), calls(each), lines(told)]
    contracts = [schema.LATENCY, schema.THROUGHPUT, schema.WORKERS, schema.CALLS, schema.LINES]
    for measure, contract in zip(made, contracts, strict=True):
        assert [(f.name, f.dataType) for f in measure.schema] == [(f.name, f.dataType) for f in contract]
