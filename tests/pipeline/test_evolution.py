"""Parts that another sedano wrote: fields that it did not know are null, fields that this one does not know are kept beside."""

import json

import pytest
from pyspark.sql import functions as F

from glue_jobs import history as job
from glue_jobs.pipeline.history import LINES, REGISTERS
from sedano.errors import ConfigurationError
from sedano.history import open_history
from sedano.model.history import manifests as rule
from tests.pipeline.streams import lives, written
from tests.pipeline.test_history import options

SEED = 20261123


@pytest.fixture
def history(spark, tmp_path):
    """A history of one part."""
    print(f"seed {SEED}")
    written(tmp_path / "first", lives(SEED, 30))
    made = open_history(str(tmp_path / "history"))
    job.build(spark, made, options(source=str(tmp_path / "first")))
    return made


def rewritten(spark, history, kind, change):
    """Write the rows of one kind of the only part anew, as *change* makes them."""
    (part,) = history.current().parts
    place = f"{history.archive.place(part.prefix)}{kind}"
    rows = spark.read.parquet(place).transform(change).localCheckpoint()
    rows.write.mode("overwrite").parquet(place)


def test_parts_of_an_older_contract_merge_with_new_ones(spark, history, tmp_path):
    before = job.tables(spark, history, ["tasks"])["tasks"].count()
    rewritten(spark, history, REGISTERS, lambda rows: rows.drop("stamped").withColumn("described", F.col("described").dropFields("eta")))
    rewritten(spark, history, LINES, lambda rows: rows.drop("told_by", "extra", "memory_mb"))
    written(tmp_path / "second", [{**event, "uuid": f"new-{event['uuid']}", "stamps": "{}"} for event in lives(SEED + 1, 30)])
    job.build(spark, history, options(source=str(tmp_path / "second")))
    told = {row["uuid"]: row for row in job.tables(spark, history, ["tasks"])["tasks"].collect()}
    assert len(told) > before
    assert {row["eta"] for uuid, row in told.items() if not uuid.startswith("new-")} == {None}
    assert {row["stamps"] for uuid, row in told.items() if uuid.startswith("new-")} >= {"{}"}
    job.compact(spark, history, options())
    assert {row["uuid"]: row for row in job.tables(spark, history, ["tasks"])["tasks"].collect()} == told


def test_a_base_whose_tables_lack_a_column_shows_it_as_null(spark, history):
    job.compact(spark, history, options())
    place = f"{history.archive.place(history.current().base)}tables/workers"
    rows = spark.read.parquet(place).drop("last_heartbeat").localCheckpoint()
    rows.write.mode("overwrite").parquet(place)
    assert {row["last_heartbeat"] for row in job.tables(spark, history, ["workers"])["workers"].collect()} == {None}


def test_fields_that_no_contract_lists_are_kept_through_a_compaction(spark, tmp_path):
    events = [{**event, "colour": "red", "depth": {"of": 3}} for event in lives(SEED, 3)]
    written(tmp_path / "events", events)
    history = open_history(str(tmp_path / "history"))
    job.update(spark, history, options(source=str(tmp_path / "events")))
    (part,) = history.current().parts
    kept = spark.read.parquet(f"{history.archive.place(part.prefix)}{LINES}").select("extra").collect()
    assert {(row["extra"]["colour"], row["extra"]["depth"]) for row in kept} == {("red", '{"of":3}')}


def test_a_manifest_of_a_newer_format_is_refused_with_what_to_do(spark, history, tmp_path):
    name = json.loads((tmp_path / "history" / rule.POINTER).read_text())["manifest"]
    path = tmp_path / "history" / name
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": rule.FORMAT + 1, "zones": []}))
    with pytest.raises(ConfigurationError, match="newer than 1; use the version that wrote it"):
        job.tables(spark, history)
