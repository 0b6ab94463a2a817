"""The cost of a stage: an idle month, and a million tasks, from its templates and the calls that a task was measured to make.

    python -m infra.cost build/cdk.out

The synthesis writes it to `cost.md` beside the templates. Prices: `infra/prices.py`; calls: `benchmarks/calls.py`, as a test checks. A
million tasks have two prices: in full batches, and with each message alone, as if there is less than one message per poller at a time.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import fleet_cost
from .places import HISTORY_PREFIX
from .prices import DAY, LIST, MILLION, REGION
from .task_cost import (
    CORE_INVOCATION,
    CORE_TASK,
    SMALL,
    WAIT,
    WRITES,
    Item,
    Shape,
    Stage,
    events,
    links,
    members,
    priced,
    tasks,
    total,
)
from .templates import templates

#: How often Lambda polls an idle queue in a month of 30 days: five pollers that wait 20 s each, AWS's own figure.
POLLS = 5 * 30 * 24 * 3600 // 20
MINUTES = 30 * 24 * 60
#: The custom metrics of a stage in a month without trouble; CloudWatch charges for each that occurs.
ORDINARY = ("TasksSucceeded", "TasksFailed", "TasksRetried")
#: The most metrics that Lambda emits for a stream's mapping besides the one of its polls. AWS documents that they cost, not how much: the
#: price of a custom metric is assumed.
MORE_METRICS = 5
#: The links of a chain on the page.
LENGTH = 10
#: The packs of a group on the page: `pack=8`, and the largest that `pack=True` takes for short tasks.
PACKS = (8, 32)
_STACK = re.compile(r"((?:.*/)?)sedano-([a-z][a-z0-9-]{0,15})-(?:state|core|observability|pipeline)")
_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_ASKED = re.compile(r"SELECT \w+\((\w+)\) FROM")
_REFERENCE = re.compile(r'"Ref": "(\w+?)(?:Function|Release)')
_SPANS = {"minute": 1, "hour": 60, "day": 24 * 60}


def stages(assembly: Path) -> dict[str, Stage]:
    """Read the templates in *assembly*; return the stages of sedano in them, by name, also those within a `cdk.Stage`."""
    resources: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for stack, text in templates(assembly).items():
        if ours := _STACK.fullmatch(stack):
            resources.setdefault(f"{ours[1]}{ours[2]}", []).extend(json.loads(text).get("Resources", {}).items())
    return {name: _stage(found) for name, found in sorted(resources.items())}


def read(assembly: Path, name: str | None = None) -> Stage:
    """Return the stage of this *name* in *assembly*; without a name the only one.

    Raises:
        ValueError: it does not exist, or there are several and no name.
    """
    found = stages(assembly)
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is None or name not in found:
        raise ValueError(f"{assembly} holds the stages {', '.join(found) or '(none of sedano)'}: give the name of one of them")
    return found[name]


def _stage(named: Sequence[tuple[str, Mapping[str, Any]]]) -> Stage:
    mappings = [_properties(one) for _, one in named if one["Type"] == "AWS::Lambda::EventSourceMapping"]
    sizes = {_consumer(one): one["BatchSize"] for one in mappings}
    workers = [_properties(one) for name, one in named if one["Type"] == "AWS::Lambda::Function" and name.startswith("Worker")]
    memory = max((one["MemorySize"] for one in workers), default=512) / 1024
    by_task = any("SEDANO_TASK_METRICS" in one.get("Environment", {}).get("Variables", {}) for one in workers)
    return Stage([one for _, one in named], sizes.get("Worker", 10), sizes.get("Recorder", 10), memory, by_task)


def _properties(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = resource.get("Properties", {})
    return found


def idle(stage: Stage) -> list[Item]:
    """Return the cost of a month in which nothing is published, without the cost of storage."""
    mappings = len(_mappings(stage, of_streams=False))
    rounds = sum(_invocations(_properties(one)) for one in stage.resources if one["Type"] == "AWS::Scheduler::Schedule")
    return priced(
        ("Lambda asks the queues", mappings * POLLS, LIST.sqs_request / MILLION),
        ("schedules invoke", rounds, (LIST.scheduler_invocation + LIST.lambda_request) / MILLION),
        ("their functions run, GB·s", rounds * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("alarms, by the metrics that they look at", sum(map(_looks_at, _alarms(stage))), LIST.alarm),
        ("metrics by which a stream is seen to be read", len(_told(stage)), LIST.metric),
        ("dashboards", _count(stage, "AWS::CloudWatch::Dashboard"), LIST.dashboard),
        ("keys of its own", _count(stage, "AWS::KMS::Key"), LIST.key),
        *fleet_cost.month(stage.resources),
    )


def working(stage: Stage) -> list[Item]:
    """Return the additional cost of a month with any work: custom metrics are paid by the month, once they occur."""
    own = set(_own_metrics(stage))
    return priced(
        ("metrics of its own, of tasks that end well, fail and are tried again", len(ORDINARY) if own else 0, LIST.metric),
        ("metrics of its own that alarms look at, where there was trouble", len(own), LIST.metric),
        ("metrics of streams, at most", MORE_METRICS * len(_told(stage)), LIST.metric),
    )


def webhooks(stage: Stage) -> list[Item]:
    """Return the cost of a million requests to the webhook URL, if each makes one event; nothing without a URL."""
    requests = MILLION if _count(stage, "AWS::Lambda::Url") else 0
    batches = requests / stage.batch
    return priced(
        ("webhook function invoked", requests, LIST.lambda_request / MILLION),
        ("webhook function waits for AWS, GB·s", requests * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("events sent, received and deleted", requests + 2 * batches, LIST.sqs_request / MILLION),
        ("router invoked", batches, LIST.lambda_request / MILLION),
        ("router waits for AWS, GB·s", batches * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
    )


def streams(stage: Stage, together: int) -> list[Item]:
    """Return the cost of a million records of streams beside the tasks that they call, if so many arrive *together*.

    Lambda's reading of a DynamoDB stream costs nothing; Kinesis charges for its shards, whether they are read or not.
    """
    batches = MILLION / together
    return priced(
        ("stream function invoked", batches, LIST.lambda_request / MILLION),
        ("stream function waits for AWS, GB·s", batches * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
    )


def page(stage: Stage) -> str:
    """Return all bills as a page of Markdown."""
    second = MILLION * stage.memory_gb * LIST.lambda_gb_s / MILLION
    return "\n".join([
        "# Cost of this stage", "",
        f"List prices of {REGION} on {DAY} in US dollars, free tiers not counted. Stored data, transfer and logs are extra:",
        "DynamoDB 0.25, its backup 0.20, S3 0.023 a GB and month; logs of your own tasks 0.50 a GB. An account's first ten alarms, three",
        "dashboards and ten metrics, and a million requests to SQS and Lambda a month, are free.", "",
        *_table("An idle month", idle(stage)), *_table("A month with work, beside the tasks, at most", working(stage)),
        *_table(f"A million tasks, claimed, published one by one and received in batches of {stage.batch}", tasks(stage, "claimed", 1)),
        *_table("A million tasks, claimed, each published and received alone", tasks(stage, "claimed", 1, 1)),
        "## A million tasks, by delivery, by how they are published, and by how many are received at once", "",
        f"| delivery | one by one, received alone | one by one, received in batches of {stage.batch} | in tens, received in such batches |",
        "|---|---:|---:|---:|",
        *(f"| {way} | {' | '.join(f'{total(items):.2f}' for items in _ways(stage, way))} |" for way in WRITES), "",
        *_when_rare(stage),
        *_by_shape(stage),
        *(_table("A million requests to webhooks, beside the tasks that they cause", webhooks(stage)) if webhooks(stage) else ()),
        *_of_streams(stage),
        *_of_the_history(stage),
        *_of_the_job(stage), *fleet_cost.sentences(stage.resources),
        *_of_each_task(stage),
        f"Each second that a task's own code takes adds {second:.2f} to a million at {stage.memory_gb:g} GB, if nothing shares its wait.",
        f"An invocation waits {WAIT * 1000:g} ms for AWS, and the worker needs {CORE_INVOCATION * 1000:g} ms of a full core for it and",
        f"{CORE_TASK * 1000:g} ms for each task in it (assumed).", "",
    ])  # fmt: skip


def _ways(stage: Stage, delivery: str) -> Iterator[list[Item]]:
    """Yield the cost of a million tasks received alone, received in full batches, and published in tens as well."""
    yield tasks(stage, delivery, 1, 1)
    yield tasks(stage, delivery, 1)
    yield tasks(stage, delivery, 10)


def _of_each_task(stage: Stage) -> Iterator[str]:
    """Yield a sentence about metrics by task, if the stage has them: the number of tasks is not in the templates."""
    if stage.by_task:
        each = f"each task adds up to {len(ORDINARY) * LIST.metric:.2f} a month, and {LIST.metric:.2f} for each further metric in trouble."
        yield f"Metrics are counted by task (`task_metrics=true`): {each}"


def _by_shape(stage: Stage) -> Iterator[str]:
    """Yield sentences about tasks that are not small, not alone, or caused by events."""
    joined, small = Shape(in_chords=1), _in_tens(stage, SMALL)
    more = [_in_tens(stage, joined, batch) - _in_tens(stage, SMALL, batch) for batch in (1, None)]
    yield f"As members of chords a million tasks cost {more[0]:.2f} more received alone, {more[1]:.2f} in batches of {stage.batch}."
    kept, sent = total(links(stage, LENGTH)), total(tasks(stage, "claimed", 1, 1))
    yield f"A million links of chains of {LENGTH}, each chain alone, cost {kept:.2f}: the links stay in one invocation. Links that are"
    yield f"sent, such as those with a delay or for another queue, cost {sent:.2f}."
    packed = ", ".join(f"{total(members(stage, pack)):.2f} in packs of {pack}" for pack in PACKS)
    yield f"A million members of large groups (`pack=`) cost {packed}."
    alone, full = total(events(stage, 1, 1)), total(events(stage, 10))
    yield f"A million events add {alone:.2f} to the tasks that they call when each arrives alone, and {full:.2f} in tens."
    stored, kb, failed = (_in_tens(stage, one) - small for one in (Shape(in_s3=1), Shape(record_kb=2), Shape(failed=1)))
    yield f"Arguments above 60 KB (in a canvas 8 KB) and results above 100 KB are in S3: {stored:.2f} a million. A record holds the result"
    yield f"and what the body published: each KB after the first adds {kb:.3f} a million. SQS counts each started 64 KB of a call."
    yield f"Each failed task is an entry in an index, by which `sedano failures` finds it: {failed:.3f} a million."


def _in_tens(stage: Stage, shape: Shape, batch: int | None = None) -> float:
    return total(tasks(stage, "claimed", 10, batch, shape=shape))


def _when_rare(stage: Stage) -> Iterator[str]:
    """Yield a sentence about tasks so rare that the history of each becomes an object of its own."""
    rare = total(tasks(stage, "claimed", 1, 1, 1))
    yield f"With less than one task a minute, the history of each becomes an object of its own: {rare:.2f} a million claimed tasks."


def summary(stage: Stage) -> str:
    """Return the figures in one line."""
    alone, full, _ = (total(items) for items in _ways(stage, "claimed"))
    month = f"an idle month costs about {total(idle(stage)):.2f} USD, alarms and dashboard included"
    return f"{month}, a million claimed tasks {full:.2f} USD in full batches and {alone:.2f} one at a time, plus their own run time"


def _table(title: str, items: Sequence[Item]) -> Iterator[str]:
    yield from (f"## {title}: {total(items):.2f}", "", "| what | amount | USD |", "|---|---:|---:|")
    yield from (f"| {item.name} | {item.amount:,.0f} | {item.dollars:.3f} |" for item in items)
    yield ""


def _count(stage: Stage, kind: str) -> int:
    return sum(one["Type"] == kind for one in stage.resources)


def _of_streams(stage: Stage) -> Iterator[str]:
    """Yield a sentence about the records of streams, where one is read."""
    for mapping in _mappings(stage, of_streams=True)[:1]:
        alone, most = total(streams(stage, 1)), mapping["BatchSize"]
        words = f"when each arrives alone, {total(streams(stage, most)):.2f} in batches of {most}."
        yield f"A million records of streams add {alone:.2f} to the tasks that they call {words}"
        yield "Reading a DynamoDB stream is free, and Kinesis charges for its shards, read or not."


def _of_the_history(stage: Stage) -> Iterator[str]:
    """Yield a sentence about how long event lines are kept, and what they cost until then."""
    rules = [rule for one in stage.resources for rule in _properties(one).get("LifecycleConfiguration", {}).get("Rules", [])]
    days = [rule["ExpirationInDays"] for rule in rules if rule.get("Prefix") == HISTORY_PREFIX and "ExpirationInDays" in rule]
    kept = f"for {days[0]} days" if days else "for ever, unless the setting history_days= limits it"
    yield f"Event lines are kept {kept}, and the tables made of them for ever: {LIST.s3_gb:.3f} a month for each GB."


def _of_the_job(stage: Stage) -> Iterator[str]:
    """Yield a sentence about the history job, if Glue runs it: the duration of a run is not known beforehand."""
    named = {one["Type"]: _properties(one) for one in stage.resources}
    if job := named.get("AWS::Glue::Job"):
        minute, trigger = job["NumberOfWorkers"] * LIST.glue_worker / 60, named.get("AWS::Glue::Trigger")
        when = f"by `{trigger['Schedule']}`, with or without new events" if trigger else "when a user starts it"
        yield f"The history job is not included. It runs {when}, and each minute of a run, at least one, adds {minute:.3f}."


def _mappings(stage: Stage, *, of_streams: bool) -> list[Mapping[str, Any]]:
    """Return the event source mappings: those of streams, which begin at a position, or those of queues, which Lambda polls all month."""
    found = [_properties(one) for one in stage.resources if one["Type"] == "AWS::Lambda::EventSourceMapping"]
    return [one for one in found if ("StartingPosition" in one) == of_streams]


def _told(stage: Stage) -> list[Mapping[str, Any]]:
    """Return the mappings of streams for which Lambda emits metrics."""
    return [one for one in _mappings(stage, of_streams=True) if one.get("MetricsConfig", {}).get("Metrics")]


def _consumer(mapping: Mapping[str, Any]) -> str:
    """Return the function that a mapping feeds, from the name of the function or alias that it refers to, which is the construct's."""
    found = _REFERENCE.search(json.dumps(mapping["FunctionName"]))
    return found[1] if found else ""


def _invocations(schedule: Mapping[str, Any]) -> float:
    found = _RATE.fullmatch(str(schedule["ScheduleExpression"]))
    return MINUTES / (int(found[1]) * _SPANS[found[2]]) if found else 0.0


def _own_metrics(stage: Stage) -> Iterator[str]:
    """Yield the name of each metric that an alarm queries: those are the stage's custom metrics."""
    for one in _alarms(stage):
        yield from _ASKED.findall(json.dumps(one.get("Metrics", [])))


def _alarms(stage: Stage) -> list[Mapping[str, Any]]:
    return [_properties(one) for one in stage.resources if one["Type"] == "AWS::CloudWatch::Alarm"]


def _looks_at(alarm: Mapping[str, Any]) -> int:
    """Return how many metrics an alarm is charged for: those of its expression, and one that it queries or names."""
    return max(1, sum("MetricStat" in part for part in alarm.get("Metrics", [])))


def main(given: Sequence[str]) -> int:
    """Write the page of each stage in a cloud assembly; return the exit code."""
    for name, stage in (found := asked("cost", given)).items():
        sys.stdout.write(page(stage) if len(found) == 1 else page(stage).replace("Cost of this stage", f"Cost of the stage {name}"))
    return 0 if found else 2


def asked(program: str, given: Sequence[str]) -> dict[str, Stage]:
    """Return the stages of the cloud assembly that the arguments *given* to a *program* name; empty after an error on stderr."""
    found = stages(Path(given[0])) if (is_assembly := len(given) == 1 and (Path(given[0]) / "manifest.json").is_file()) else {}
    if not is_assembly:
        sys.stderr.write(f"usage: {program} ASSEMBLY, the directory that `cdk synth` writes, such as cdk.out\n")
    elif not found:
        sys.stderr.write(f"sedano: {given[0]} holds no stage of sedano: its stacks are called sedano-STAGE-core and so on\n")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
