"""A question that cannot be answered is said in one sentence; the rows of one that can be are what a person may take them for."""

import json
from argparse import Namespace

import pytest

from glue_jobs import history as job
from glue_jobs.pipeline.answer import answered, must_be_question
from glue_jobs.pipeline.options import OF_GLUE
from sedano.errors import OptionError


@pytest.mark.parametrize(("sql", "said"), [
    ("SELECT * FROM nowhere", "The table or view `nowhere` cannot be found"),
    ("SELECT a, colour FROM VALUES (1) AS t(a)", "`colour` cannot be resolved"),
    ("SELECT a FROM (", "Syntax error at or near end of input"),
    ("SELECT element_at(array(1), a) FROM VALUES (0) AS t(a)", "The index 0 is invalid"),
])  # fmt: skip
def test_what_spark_cannot_answer_is_said_in_one_sentence(spark, capfd, sql, said):
    with pytest.raises(OptionError) as refused:
        answered(spark, sql, 10)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "SQLSTATE" not in str(refused.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("sql", [
    "DROP TABLE tasks", "INSERT OVERWRITE DIRECTORY 'x' SELECT 1", "/* SELECT */ CREATE TABLE t (a int)", "-- SELECT\nSET a = 1", "", "17",
])  # fmt: skip
def test_only_questions_are_asked(sql):
    with pytest.raises(OptionError, match="a query begins with SELECT"):
        must_be_question(sql)


@pytest.mark.parametrize("sql", [
    "select 1", " /* how many */ SELECT 1", "-- how many\n(SELECT 1)", "With a AS (SELECT 1) SELECT * FROM a", "DESCRIBE tasks",
])  # fmt: skip
def test_a_question_is_known_by_its_first_word(sql):
    must_be_question(sql)


@pytest.mark.parametrize("sql", [
    "FROM range(3) WRITES", "FROM range(3) WRITES WRITES", "WITH a AS (SELECT id FROM range(3)) FROM a WRITES",
    "WITH a AS (SELECT 1) WRITES FROM range(3)", "FROM range(3) INSERT INTO t SELECT id",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "WITH a AS (SELECT 1) DELETE FROM t",
    "WITH a AS (SELECT 1 AS id) UPDATE t SET id = 2",
])  # fmt: skip
def test_a_statement_that_begins_as_a_question_and_writes_is_refused_and_writes_nothing(spark, tmp_path, sql):
    must_be_question(sql)
    with pytest.raises(OptionError, match="it changes something"):
        answered(spark, sql.replace("WRITES", f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING json SELECT id"), 10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sql", [
    "FROM range(3) SELECT id", "WITH a AS (SELECT id FROM range(3)) SELECT * FROM a WHERE id IN (SELECT 1)", "VALUES 0, 1, 2",
    "EXPLAIN SELECT 1", "DESCRIBE QUERY SELECT 1", "SELECT 1 UNION (SELECT 2)",
])  # fmt: skip
def test_whatever_writes_nothing_is_answered(spark, sql):
    must_be_question(sql)
    assert answered(spark, sql, 10).rows


def test_no_more_rows_are_shown_than_were_asked_for_and_that_there_are_more_is_said(spark):
    assert answered(spark, "SELECT id FROM range(3)", 3) == (["id"], [[0], [1], [2]], False)
    assert answered(spark, "SELECT id FROM range(4)", 3) == (["id"], [[0], [1], [2]], True)


def test_times_are_utc_and_every_value_has_a_place_in_json(spark):
    columns, rows, _ = answered(spark, "SELECT timestamp_seconds(0.5) AS t, date'2026-01-02' AS d, 1.50 AS m, struct(1 AS a) AS s", 1)
    told = job.shown({"columns": columns, "rows": rows}, as_json=True)
    assert json.loads(told) == {"t": "1970-01-01 00:00:00.5", "d": "2026-01-02", "m": "1.50", "s": {"a": 1}}


def test_two_columns_of_one_name_are_shown_beside_one_another_and_refused_as_json(spark):
    columns, rows, _ = answered(spark, "SELECT 1 AS a, 2 AS a", 1)
    assert job.shown({"columns": columns, "rows": rows}, as_json=False).splitlines() == ["a  a", "1  2"]
    with pytest.raises(OptionError, match="rename one with AS"):
        job.shown({"columns": columns, "rows": rows}, as_json=True)


def test_an_option_that_is_not_known_is_passed_over_on_glue_alone():
    given = ["--verb", "compact", "--target", "s3://b/h", "--enable-something-new", "true"]
    assert job.arguments([OF_GLUE, "history", *given]) == job.arguments(given[:4]) == Namespace(**vars(job.arguments(given[:4])))
    with pytest.raises(SystemExit):
        job.arguments(given)
