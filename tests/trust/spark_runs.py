"""Runs of the history job, for which the endpoint has no Spark: what stands in for Glue becomes the job's role and does what a run does.

The run is the deployed job's: its script, its library, its arguments. What it takes in, commits and collects goes through the job's own
code (`sedano.history`); its rows are bytes of nobody, since `tests/pipeline` plays the rows through Spark itself.
"""

import os
import time
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from sedano.aws.glue import GlueRuns
from sedano.errors import SedanoError
from sedano.history import CONTROL_TABLE, History, editing, landed_at, open_history
from tests.trust.driven import Driven
from tests.trust.grants import Grant
from tests.trust.roads import Road, succeeds
from tests.trust.s3a import S3A

JOB = "pipeline"
"""The role in whose name the job runs."""
LONGEST_S = 60


def _job(driven: Driven) -> Any:
    (job,) = driven.client("glue").get_jobs()["Jobs"]
    return job


def _landed(driven: Driven, walks: Any) -> set[str]:
    """What the recorder filed of a task that ran just now: its addresses."""
    before = set(driven.keys("HISTORY", "events/"))
    succeeds(driven, walks.echo.delay("small"))
    now = set(driven.keys("HISTORY", "events/"))
    assert now > before
    return {f"s3://{driven.stage.environment['SEDANO_HISTORY_BUCKET']}/{key}" for key in now - before}


def _prepared(driven: Driven) -> Any:
    """Glue fetches the script and the library of the job, which it then has."""
    job, s3 = _job(driven), driven.become(JOB, "s3")
    assert job["Role"].endswith(driven.roles[JOB])
    for address in (job["Command"]["ScriptLocation"], job["DefaultArguments"]["--extra-py-files"]):
        place = urlsplit(address)
        assert s3.get_object(Bucket=place.netloc, Key=place.path.lstrip("/"))["Body"].read()
    return job["DefaultArguments"]


def _taken_in(driven: Driven, history: History, source: str) -> None:
    """What `build` does: one more part of what is new."""
    spark = S3A(driven.become(JOB, "s3"), driven.stage.environment["SEDANO_HISTORY_BUCKET"])
    with editing(history) as edition:
        taken = history.taken_in(edition.seen)
        new = {name: mark for name, mark in landed_at(source).items() if taken.get(name) != mark}
        spark.write(history.archive.place(f"{edition.prefix}registers/"), b"".join(spark.read(new)))
        history.extend(edition, new)


def _merged(driven: Driven, history: History) -> None:
    """What `compact` does first: a base of all parts."""
    spark = S3A(driven.become(JOB, "s3"), driven.stage.environment["SEDANO_HISTORY_BUCKET"])
    with editing(history) as edition:
        parts = [history.archive.place(f"{part.prefix}registers/") for part in edition.seen.parts]
        spark.write(history.archive.place(f"{edition.prefix}registers/"), b"".join(spark.read(parts)))
        history.settle(edition)


def _collected(history: History) -> None:
    """What `compact` does then: what nobody reads any more goes, here as soon as the clock is past the term that wrote it."""
    give_up = time.monotonic() + LONGEST_S
    while not history.collect(0.0):
        assert time.monotonic() < give_up, "the base of the run before is there for ever"


def ran(driven: Driven, walks: Any) -> None:
    """A run takes in what landed and commits it; the next one collects what it had merged."""
    for number in range(2):
        landed = _landed(driven, walks)
        given = _prepared(driven)
        try:
            with driven.acting(JOB):
                assert given["--control-table"] == os.environ[CONTROL_TABLE]
                history = open_history(given["--target"])
                _taken_in(driven, history, given["--source"])
                _merged(driven, history)
                now = history.current()
                assert landed <= set(history.taken_in(now))
                if number:
                    _collected(history)
        except SedanoError as error:
            raise AssertionError(f"the run failed: {error}") from error
        assert now.base
        assert not now.pending


def logged(driven: Driven, walks: Any) -> None:
    """Glue writes what a run says."""
    assert walks.app
    logs, place = driven.become(JOB, "logs"), {"logGroupName": "/sedano/dev/history/output", "logStreamName": uuid4().hex}
    logs.create_log_stream(**place)
    logs.put_log_events(**place, logEvents=[{"timestamp": round(time.time() * 1000), "message": "a line"}])
    found = driven.client("logs").get_log_events(**place)["events"]
    assert [event["message"] for event in found] == ["a line"]


def followed(driven: Driven, walks: Any) -> None:
    """A task starts a run, looks at it and stops it (`sedano.spark`)."""
    assert walks.app
    runs, job, task = GlueRuns(driven.become("worker", "glue")), _job(driven)["Name"], uuid4().hex
    try:
        runs.start(job, {}, task)
        (one,) = runs.of(job, task)
        runs.stop(job, one.id)
    except SedanoError as error:
        raise AssertionError(f"the task failed: {error}") from error


ROADS: tuple[Road, ...] = (ran, logged, followed)
NEEDED: dict[Grant, Road] = {
    **{Grant(JOB, "s3:GetObject", kind): ran for kind in ("script", "library", "history", "tables")},
    **{Grant(JOB, f"s3:{action}", "tables"): ran for action in ("PutObject", "DeleteObject", "AbortMultipartUpload")},
    Grant(JOB, "s3:ListBucket", "history"): ran,
    **{Grant(JOB, f"dynamodb:{action}", "control"): ran for action in ("GetItem", "UpdateItem")},
    **{Grant(JOB, f"logs:{action}", "logs"): logged for action in ("CreateLogStream", "PutLogEvents")},
    **{Grant("worker", f"glue:{action}", "job"): followed for action in ("StartJobRun", "GetJobRuns", "BatchStopJobRun")},
}
