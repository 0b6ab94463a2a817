"""Landing: every line becomes a row; what cannot be used is kept with its text, its file and a reason."""

import gzip
import json
from collections import Counter

import pytest

from glue_jobs.pipeline import schema
from glue_jobs.pipeline.landing import events, judged, land, land_files, quarantine

GOOD = {"type": "task-sent", "uuid": "u", "clock": 1, "timestamp": 1.5, "hostname": "h", "pid": 1}
CALLED = {"type": "worker-invocation", "timestamp": 2, "hostname": "h", "calls": {"sqs.SendMessage": 2}, "cold": True}


def but(**fields):
    """Return a good line with other *fields*; None leaves the field out."""
    return json.dumps({name: value for name, value in {**GOOD, **fields}.items() if value is not None})


MALFORMED = {
    "this is not JSON": "not a JSON object",
    but()[:-9]: "not a JSON object",
    "null": "not a JSON object",
    '"task-sent"': "not a JSON object",
    "17": "not a JSON object",
    but(timestamp=float("nan")): "not a JSON object",
    "{}": "missing: type, timestamp",
    "[]": "not a JSON object",
    f"[{but()}]": "not a JSON object",
    but() + but(uuid="second"): "not a JSON object",
    but() + " trailing": "not a JSON object",
    but(type=None): "missing: type",
    but(timestamp=None): "missing: timestamp",
    but(uuid=None): "missing: uuid",
    but(clock=None, pid=None): "missing: clock, pid",
    but(hostname=None): "missing: hostname",
    but(clock=1.5): "wrong type: clock",
    but(clock="1"): "wrong type: clock",
    but(clock=10**20): "wrong type: clock",
    but(pid=True): "wrong type: pid",
    but(clock="x", pid="y"): "wrong type: clock, pid",
    but(retries=[]): "wrong type: retries",
    json.dumps(CALLED | {"calls": {"sqs.SendMessage": "two"}}): "wrong type: calls",
    json.dumps(CALLED | {"cold": "yes"}): "wrong type: cold",
    but(timestamp=1).replace('"timestamp": 1', '"timestamp": 1e400'): "not finite: timestamp",
    but(timestamp=1e300): "out of range: timestamp",
    but(timestamp=-1): "out of range: timestamp",
    but(timestamp=253_402_300_800, retries=-1): "out of range: timestamp, retries",
    but(runtime=1e10): "out of range: runtime",
    but(retries=2**31): "out of range: retries",
    json.dumps(CALLED | {"duration_ms": 1e300, "messages": 2**63 - 1}): "out of range: duration_ms, messages",
    json.dumps(CALLED | {"memory_mb": -1}): "out of range: memory_mb",
    json.dumps(CALLED | {"calls": {"s3.PutObject": 1, "sqs.SendMessage": 2**31}}): "out of range: calls",
}


@pytest.fixture(scope="module")
def verdicts(spark):
    """What becomes of each malformed line, judged together: the reason by the line's text."""
    lines = spark.createDataFrame([(text, "file") for text in MALFORMED], "text string, source string")
    return {row["text"]: row["reason"] for row in quarantine(judged(lines)).collect()}


@pytest.mark.parametrize(("line", "reason"), MALFORMED.items(), ids=MALFORMED.values())
def test_a_malformed_line_is_refused_with_a_reason_that_names_the_field(verdicts, line, reason):
    assert verdicts[line] == reason


@pytest.fixture(scope="module")
def landed(spark, tmp_path_factory):
    """Good and malformed lines, packed and plain, in folders of days, among files that are not events."""
    folder = tmp_path_factory.mktemp("history")
    (folder / "dt=2026-11-20").mkdir()
    mixed = "\n".join([but(), *MALFORMED, "", "   ", but(uuid="v", colour="unknown field"), json.dumps(CALLED)])
    (folder / "dt=2026-11-20" / "packed.jsonl.gz").write_bytes(gzip.compress(mixed.encode()))
    (folder / "plain.jsonl").write_text(but(uuid="w", name="Grüße \U0001f600") + "\n")
    (folder / "README.txt").write_text("not events\n")
    return land(spark, str(folder)).cache()


def test_nothing_is_lost(landed):
    assert landed.count() == len(MALFORMED) + 4
    assert events(landed).count() + quarantine(landed).count() == landed.count()


def test_good_lines_pass_whatever_stands_beside_them(landed):
    assert {row["uuid"] for row in events(landed).collect()} == {"u", "v", "w", None}


def test_a_quarantined_line_keeps_its_text_its_file_and_its_reason(landed):
    rows = quarantine(landed).collect()
    assert {row["text"]: row["reason"] for row in rows} == MALFORMED
    assert all(row["source"].endswith("dt=2026-11-20/packed.jsonl.gz") for row in rows)


def test_good_rows_carry_neither_fault_nor_text(landed):
    kept = landed.where("fault is null and (text is not null or source is not null)")
    assert kept.count() == 0


def test_fields_arrive_with_their_types(landed):
    (called,) = landed.where("type = 'worker-invocation' and fault is null").collect()
    assert (called["timestamp"], called["calls"], called["cold"]) == (2.0, {"sqs.SendMessage": 2}, True)
    (named,) = landed.where("uuid = 'w'").collect()
    assert named["name"] == "Grüße \U0001f600"


def test_the_columns_are_the_contract(landed):
    for table, contract in [
        (landed, schema.LANDED),
        (events(landed), schema.LINE),
        (quarantine(landed), schema.QUARANTINE),
    ]:
        assert Counter(table.columns) == Counter(contract.names)
        assert [field.dataType for field in table.schema] == [field.dataType for field in contract]


def test_bytes_that_are_no_text_are_set_aside_and_a_real_replacement_character_is_not(spark, tmp_path):
    good = but(uuid="w", name="\ufffd")
    (tmp_path / "bytes.jsonl").write_bytes(good.encode() + b"\n" + but(name="?").encode().replace(b"?", b"\xff\xc0\x80") + b"\n")
    landed = land(spark, str(tmp_path))
    assert [row["name"] for row in events(landed).collect()] == ["\ufffd"]
    (row,) = quarantine(landed).collect()
    assert row["reason"] == "not UTF-8"
    assert "\ufffd\ufffd" in row["text"]


def test_fields_that_the_contract_does_not_list_are_kept_as_text(landed):
    (row,) = landed.where("uuid = 'v'").collect()
    assert row["extra"] == {"colour": "unknown field"}
    assert landed.where("fault is null and uuid <> 'v' and extra is not null").count() == 0


def test_just_the_files_that_are_named_are_read_whatever_their_names(spark, tmp_path):
    names = ["a[1]{2}*.jsonl", "a1.jsonl", "b ü?.jsonl"]
    for name in names:
        (tmp_path / name).write_text(but(uuid=name) + "\n")
    told = {row["uuid"] for row in land_files(spark, [str(tmp_path / name) for name in names[::2]]).collect()}
    assert told == {names[0], names[2]}


def test_an_empty_folder_is_an_empty_history(spark, tmp_path):
    assert land(spark, str(tmp_path)).count() == 0
