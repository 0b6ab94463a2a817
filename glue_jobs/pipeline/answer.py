"""Queries on the tables: the rows of the answer, or one sentence about the error in the query."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from sedano.errors import OptionError

#: The first words of queries about tables or plans: for Spark they are commands, which change nothing.
TELLING: Final = frozenset({"describe", "desc", "explain"})
#: The first words of queries; every other statement of Spark's SQL changes something.
QUESTIONS: Final = TELLING | {"select", "with", "from", "values", "table"}
_COMMAND: Final = "org.apache.spark.sql.catalyst.plans.logical.Command"
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*([A-Za-z]*)", re.DOTALL)
_CLASS, _CODE = re.compile(r"^\[[A-Z0-9_.]+\]\s*"), re.compile(r"\s*SQLSTATE: .*$")


class Answer(NamedTuple):
    """The columns and rows of the answer, and whether there are *more* rows than the limit."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool


def must_be_question(sql: str) -> None:
    """Check, before Spark starts, that *sql* begins like a query; Spark checks later whether it is one (`must_change_nothing`).

    Raises:
        OptionError: it begins with another word.
    """
    word = _first_word(sql)
    if word.lower() not in QUESTIONS:
        raise OptionError(f"it begins with {word or sql[:1]!r}; a query begins with SELECT, WITH or DESCRIBE")


def must_change_nothing(spark: SparkSession, sql: str) -> None:
    """Require that *sql*, as Spark's own parser reads it, inserts, updates and deletes nothing: `FROM t INSERT …` begins like a query.

    The effects of a function or a script in the question (`reflect`, `TRANSFORM`) are the caller's responsibility.

    Raises:
        OptionError: the statement changes something.
        PySparkException: Spark cannot parse it.
    """
    if _first_word(sql).lower() in TELLING:
        return
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - PySpark has no API for it
    types = spark._jvm.py4j.reflection.TypeUtil  # type: ignore[union-attr] # noqa: SLF001
    nodes = [parser.parsePlan(sql)]
    while nodes:
        node = nodes.pop()
        name = node.getClass().getSimpleName()
        if name.startswith("Insert") or types.isInstanceOf(_COMMAND, node):
            raise OptionError(f"it changes something ({name}); a query may only read")
        children = node.children()
        nodes += [children.apply(n) for n in range(children.size())]


def answered(spark: SparkSession, sql: str, limit: int) -> Answer:
    """Answer *sql* over the views of *spark* with at most *limit* rows; times are UTC, whatever this machine's zone is.

    Raises:
        OptionError: it is not a query, Spark cannot parse it, or it fails on a row; the message says where.
    """
    try:
        with _unlogged():
            must_change_nothing(spark, sql)
            asked = spark.sql(sql)
            apart = asked.limit(limit + 1).toDF(*[str(n) for n in range(len(asked.columns))])
            kinds = [(F.col(field.name), field.dataType) for field in apart.schema]
            cells = apart.select(*[column.cast("string") if isinstance(kind, TimestampType) else column for column, kind in kinds])
            rows = [list(row.asDict(recursive=True).values()) for row in cells.collect()]
    except PySparkException as wrong:
        raise OptionError(sentence(wrong)) from None
    return Answer(asked.columns, rows[:limit], len(rows) > limit)


def _first_word(sql: str) -> str:
    found = _FIRST_WORD.match(sql)
    return found[1] if found else ""


def sentence(wrong: Exception) -> str:
    """Return the first line of Spark's message, without its codes."""
    first = next((line for line in str(wrong).splitlines() if line.strip()), type(wrong).__name__)
    return _CODE.sub("", _CLASS.sub("", first)).rstrip("; .")


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from also logging, with both stacks, the exceptions that it raises."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
