"""A file that cannot be read to its end keeps no other from being taken in, is named with its reason, and is taken in when it is whole."""

import gzip
import json

import pytest

from glue_jobs import history as job
from sedano.errors import ConfigurationError
from sedano.history import open_history
from tests.pipeline.streams import lives, written
from tests.pipeline.test_history import options

SEED = 20261122


@pytest.fixture
def landed(tmp_path):
    """Four files of a generated stream."""
    print(f"seed {SEED}")
    folder = tmp_path / "landed"
    written(folder, lives(SEED, 40), files=4)
    return folder


def damaged(whole: bytes, how: str) -> bytes:
    """Return a damaged copy."""
    ways = {"cut off": whole[: len(whole) // 2], "no gzip": b'{"type":"task-sent"}\n', "flipped": whole[:40] + bytes(60) + whole[100:]}
    return ways[how]


@pytest.mark.parametrize("how", ["cut off", "no gzip", "flipped"])
def test_a_broken_file_is_named_and_taken_in_when_a_whole_copy_is_there(spark, landed, tmp_path, how):
    victim = sorted(landed.rglob("*.jsonl.gz"))[1]
    whole = victim.read_bytes()
    assert len(whole) > 200, "too small to be damaged in its middle"
    victim.write_bytes(damaged(whole, how))
    history = open_history(str(tmp_path / "history"))
    told = job.build(spark, history, options(source=str(landed)))
    assert told["new_files"] == 3
    ((name, why),) = told["broken_files"].items()
    assert name.endswith(victim.name)
    assert "gzip" in why or "compressed data" in why
    before = job.tables(spark, history, ["tasks"])["tasks"].count()
    assert job.build(spark, history, options(source=str(landed)))["broken_files"] == told["broken_files"]
    victim.write_bytes(whole)
    assert job.build(spark, history, options(source=str(landed)))["new_files"] == 1
    assert job.tables(spark, history, ["tasks"])["tasks"].count() >= before
    other = open_history(str(tmp_path / "other"))
    job.build(spark, other, options(source=str(landed)))
    rows = [sorted(job.tables(spark, one, ["tasks"])["tasks"].toJSON().collect()) for one in (history, other)]
    assert rows[0] == rows[1]


def test_where_every_new_file_is_broken_nothing_is_committed(spark, landed, tmp_path):
    for path in landed.rglob("*.jsonl.gz"):
        path.write_bytes(path.read_bytes()[:30])
    told = job.build(spark, open_history(str(tmp_path / "history")), options(source=str(landed)))
    assert (told["new_files"], len(told["broken_files"])) == (0, 4)


def test_a_rebuild_is_refused_while_a_file_is_broken_for_it_would_drop_what_was_taken_in(spark, landed, tmp_path):
    history = open_history(str(tmp_path / "history"))
    version = job.build(spark, history, options(source=str(landed)))["version"]
    next(landed.rglob("*.jsonl.gz")).write_bytes(gzip.compress(json.dumps({"type": "task-sent"}).encode())[:-9])
    with pytest.raises(ConfigurationError, match="1 files are broken"):
        job.build(spark, history, options(source=str(landed), rebuild=True))
    assert history.current().version == version


def test_a_file_that_has_grown_is_read_again_and_changes_no_task(spark, tmp_path):
    print(f"seed {SEED}")
    stream, growing = lives(SEED, 20), tmp_path / "landed" / "events.jsonl"
    growing.parent.mkdir()
    histories = [open_history(str(tmp_path / name)) for name in ("history", "other")]
    for history, shares in zip(histories, ((len(stream) // 2, len(stream)), (len(stream),)), strict=True):
        for share in shares:
            growing.write_text("".join(json.dumps(event) + "\n" for event in stream[:share]))
            told = job.build(spark, history, options(source=str(growing.parent)))
        assert told.get("read_again", 0) == len(shares) - 1
    names = ["tasks", "attempts", "cost"]
    whole, grown = ([sorted(table.toJSON().collect()) for table in job.tables(spark, history, names).values()] for history in histories)
    assert whole == grown
