"""Events made of what really happened: arrivals of requests to a language model (Azure), and jobs of a parallel machine (NASA).

The traces say when something was asked for, how long it waited and ran, and how it ended. Each becomes the life of a task as a worker would
tell it; a hybrid logical clock is the time in microseconds, as sedano's is. The folder `shared/data` beside the project holds them.
"""

import csv
import gzip
import io
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"
AZURE, NASA = DATA / "azure_llm_conversation_2023.csv.gz", DATA / "nasa_ipsc_1993.swf.zip"
#: The columns of the Standard Workload Format.
_JOB, _SUBMIT, _WAIT, _RUN, _STATUS, _USER, _QUEUE = 0, 1, 2, 3, 10, 11, 14
_BEGAN = 749_433_603.0

Event = dict[str, Any]


def azure(most: int) -> list[Event]:
    """Return the lives of the first *most* requests: a token takes 20 ms to make; one with a long answer is tried again."""
    with gzip.open(_there(AZURE), "rt") as rows:
        return [event for n, row in enumerate(_first(csv.DictReader(rows), most)) for event in _asked(n, row)]


def nasa(most: int) -> list[Event]:
    """Return the lives of the first *most* jobs."""
    with zipfile.ZipFile(_there(NASA)) as archive:
        text = io.TextIOWrapper(archive.open(archive.namelist()[0]))
        jobs = (line.split() for line in text if line.strip() and not line.startswith(";"))
        return [event for job in _first(jobs, most) for event in _submitted(job)]


def _first(rows: Any, most: int) -> Iterator[Any]:
    return (row for row, _ in zip(rows, range(most), strict=False))


def _there(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not part of the project: put it into ../shared/data to run this")
    return path


def _asked(number: int, row: dict[str, str]) -> Iterator[Event]:
    at = datetime.fromisoformat(row["TIMESTAMP"][:26]).replace(tzinfo=UTC).timestamp()
    context, made = int(row["ContextTokens"]), int(row["GeneratedTokens"])
    uuid, worker, seconds = f"azure-{number}", f"gpu-{context % 7}", made * 0.02
    told = {"name": "llm.answer", "args": f"({context},)", "kwargs": "{}", "root_id": uuid, "retries": 0}
    yield _event("sent", uuid, "gateway", at, **told, queue="chat")
    yield _event("received", uuid, worker, at + 0.001, **told)
    yield _event("started", uuid, worker, at + 0.002)
    if made > 400:
        yield _event("retried", uuid, worker, at + 1.0, exception="TooLong()")
        yield _event("received", uuid, worker, at + 2.0, **{**told, "retries": 1})
        yield _event("started", uuid, worker, at + 2.1)
    yield _event("succeeded", uuid, worker, at + 3.0 + seconds, runtime=seconds, result=str(made))


def _submitted(job: list[str]) -> Iterator[Event]:
    at = _BEGAN + float(job[_SUBMIT])
    begin = at + max(0.0, float(job[_WAIT]))
    uuid, seconds, worker = f"nasa-{job[_JOB]}", max(0.0, float(job[_RUN])), f"node-{int(job[4]) % 9}"
    told = {"name": f"job.user{job[_USER]}", "args": f"({job[4]},)", "kwargs": "{}", "root_id": uuid, "retries": 0}
    yield _event("sent", uuid, "front-end", at, **told, queue=f"queue{job[_QUEUE]}")
    yield _event("received", uuid, worker, begin, **told)
    yield _event("started", uuid, worker, begin + 0.5)
    if job[_STATUS] == "0":
        yield _event("failed", uuid, worker, begin + 1 + seconds, exception="JobFailed()", traceback="Traceback\n  job")
    elif job[_STATUS] == "5":
        yield _event("revoked", uuid, worker, begin + 1 + seconds)
    else:
        yield _event("succeeded", uuid, worker, begin + 1 + seconds, runtime=seconds, result="None")


def _event(event_class: str, uuid: str, hostname: str, at: float, **fields: Any) -> Event:
    at = round(at, 6)
    place = {"clock": int(at * 1_000_000), "timestamp": at, "hostname": hostname, "pid": 1, "uuid": uuid}
    return {"type": f"task-{event_class}", **place, **fields}
