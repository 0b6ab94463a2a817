"""`canvas`: one row per root that caused other tasks: its fan-out, its stragglers, its cost, and its critical path.

The critical path is read backwards: from the task that ended last to the task that published it, and so on to the root. Only the next step
can shorten the time between two steps.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from glue_jobs.pipeline.contract import REAL, TEXT, WHOLE, contract, kept_to
from sedano.model.states import FAILURE, SUCCESS, TERMINAL

#: The longest path that is followed, from its end; dynamic spawns end at 128 hops, chains may be longer.
LONGEST: Final = 2000
#: A task that runs so many times as long as the median of its siblings is a straggler.
STRAGGLING: Final = 3.0

STEP: Final = contract(
    uuid=(TEXT, "the task"),
    name=(TEXT, "its name"),
    worker=(TEXT, "who ran it"),
    state=(TEXT, "its state"),
    sent=(REAL, "epoch seconds: its first event"),
    started=(REAL, "epoch seconds"),
    finished=(REAL, "epoch seconds"),
)

SCHEMA: Final = contract(
    root_id=(TEXT, "the first task"),
    name=(TEXT, "its name"),
    state=(TEXT, "SUCCESS when all tasks ended so, FAILURE when one failed, else PENDING"),
    tasks=(WHOLE, "how many tasks"),
    fan_out=(WHOLE, "the most that one task published"),
    began=(REAL, "epoch seconds of the first event"),
    ended=(REAL, "epoch seconds of the last end; null while none has ended"),
    seconds=(REAL, "from the first event to the last end"),
    run_micros=(WHOLE, "microseconds that its tasks ran, together"),
    stragglers=(WHOLE, f"tasks that ran more than {STRAGGLING:g} times as long as the middle one of their siblings"),
    nanodollars=(WHOLE, "what its attempts cost, in 1e-9 dollars"),
    critical_path=(ArrayType(STEP), f"from the root to the task that ended last; its last {LONGEST} steps, where it has more"),
)


def canvas(task_rows: DataFrame, shared: DataFrame) -> DataFrame:
    """Return the rows of `SCHEMA` from *task_rows* (`tables.tasks`) and the cost of their attempts (`tables.cost.shares`)."""
    paid = shared.groupBy("uuid").agg(F.sum("nanodollars").alias("nanodollars"), F.sum("run_micros").alias("run_micros"))
    members = task_rows.where(F.col("root_id").isNotNull()).join(paid, on="uuid", how="left")
    middle = members.groupBy("root_id", "name").agg(F.percentile("run_seconds", 0.5).alias("middle"))
    sized = members.join(middle, on=["root_id", "name"], how="left")
    children = members.where(F.col("parent_id").isNotNull()).groupBy("root_id", "parent_id").agg(F.count("*").alias("children"))
    widest = children.groupBy("root_id").agg(F.max("children").alias("fan_out"))
    grouped = sized.groupBy("root_id").agg(*_sums()).where(F.col("tasks") > 1).join(widest, on="root_id", how="left")
    with_root = grouped.join(task_rows.select(F.col("uuid").alias("root_id"), "name"), on="root_id", how="left")
    ended = {"seconds": F.col("ended") - F.col("began"), "state": _state(), "critical_path": _path()}
    return kept_to(with_root.withColumns(ended).fillna(0, ["fan_out"]), SCHEMA)


def _sums() -> list[Column]:
    step = F.struct("uuid", "parent_id", "name", "worker", "state", F.col("first").alias("sent"), "started", "finished")
    straggles = F.col("run_seconds") > F.col("middle") * STRAGGLING
    failed = F.col("state").isin(*sorted(TERMINAL - {SUCCESS}))
    return [
        F.count("*").alias("tasks"), F.min("first").alias("began"), F.max("finished").alias("ended"),
        F.count(F.when(straggles, True)).alias("stragglers"), F.count(F.when(failed, True)).alias("failed"),
        F.count(F.when(F.col("state") == "SUCCESS", True)).alias("succeeded"),
        F.coalesce(F.sum("nanodollars"), F.lit(0)).alias("nanodollars"), F.coalesce(F.sum("run_micros"), F.lit(0)).alias("run_micros"),
        F.map_from_entries(F.collect_list(F.struct("uuid", step.alias("step")))).alias("steps"),
        F.max(F.when(F.col("finished").isNotNull(), F.struct("finished", "uuid"))).alias("last"),
    ]  # fmt: skip


def _state() -> Column:
    done = F.when(F.col("succeeded") == F.col("tasks"), "SUCCESS").otherwise("PENDING")
    return F.when(F.col("failed") > 0, FAILURE).otherwise(done)


def _path() -> Column:
    """Follow `parent_id` from the task that ended last; a task that is unknown, or already on the path, ends the path."""
    fields = ", ".join(f"s.{field.name}" for field in STEP)
    walk = f"""
        aggregate(sequence(1, cast(least({LONGEST}, tasks) as int)),
            named_struct('next', last.uuid, 'path', cast(array() as array<string>)),
            (walked, n) -> if(walked.next is null or not array_contains(map_keys(steps), walked.next)
                              or array_contains(walked.path, walked.next), named_struct('next', cast(null as string), 'path', walked.path),
                named_struct('next', element_at(steps, walked.next).parent_id, 'path', array_append(walked.path, walked.next))),
            walked -> walked.path)"""
    return F.expr(f"transform(reverse({walk}), u -> transform(array(element_at(steps, u)), s -> struct({fields}))[0])")
