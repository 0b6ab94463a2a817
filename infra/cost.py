"""What a stage costs: an idle month, and a million tasks, from its templates and the calls that a task was measured to make.

    python -m infra.cost build/cdk.out

The synthesis writes it to `cost.md` beside the templates. Prices: `infra/prices.py`; calls: `benchmarks/calls.py`, which a
test holds against the numbers here.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .prices import DAY, LIST, MILLION, REGION
from .templates import templates

#: Ledger writes a task, by how it is delivered; a batch tells its history in one message.
WRITES: Mapping[str, int] = {"claimed": 2, "record_once": 1, "at_least_once": 0}
SENDS_A_BATCH = 1
#: How often Lambda asks an idle queue in a month of 30 days: five pollers that wait 20 s each, AWS's own figure.
POLLS = 5 * 30 * 24 * 3600 // 20
MINUTES = 30 * 24 * 60
#: Assumed, not measured: for how many seconds an invocation waits for AWS beside the user's own code.
WAIT = 0.025
#: The metrics that Lambda emits of a stream's mapping beside the one of its reading, at most; it says that they cost, and not how much:
#: what a metric of one's own does is assumed.
MORE_METRICS = 5
_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_ASKED = re.compile(r"SELECT \w+\((\w+)\) FROM")
_REFERENCE = re.compile(r'"Ref": "(\w+?)(?:Function|Release)')
_SPANS = {"minute": 1, "hour": 60, "day": 24 * 60}


class Item(NamedTuple):
    """One line of a bill."""

    name: str
    amount: float
    dollars: float


class Stage(NamedTuple):
    """What of the templates decides the cost: resources by type, and the worker's and the recorder's batches and memory."""

    resources: Sequence[Mapping[str, Any]]
    batch: int
    records: int
    memory_gb: float


def read(assembly: Path) -> Stage:
    """Read the templates in *assembly*."""
    found = [json.loads(text) for text in templates(assembly).values()]
    named = {name: resource for template in found for name, resource in template.get("Resources", {}).items()}
    mappings = [one["Properties"] for one in named.values() if one["Type"] == "AWS::Lambda::EventSourceMapping"]
    sizes = {_consumer(one): one["BatchSize"] for one in mappings}
    memory = [one["Properties"]["MemorySize"] for name, one in named.items() if _is_function(one) and name.startswith("Worker")]
    return Stage(list(named.values()), sizes.get("Worker", 10), sizes.get("Recorder", 10), max(memory, default=512) / 1024)


def idle(stage: Stage) -> list[Item]:
    """Return what a month costs in which nothing is published, without what is stored."""
    mappings = len(_mappings(stage, of_streams=False))
    rounds = sum(_invocations(one["Properties"]) for one in stage.resources if one["Type"] == "AWS::Scheduler::Schedule")
    return _priced(
        ("Lambda asks the queues", mappings * POLLS, LIST.sqs_request / MILLION),
        ("schedules invoke", rounds, (LIST.scheduler_invocation + LIST.lambda_request) / MILLION),
        ("their functions run, GB·s", rounds * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("alarms", _count(stage, "AWS::CloudWatch::Alarm"), LIST.alarm),
        ("metrics by which a stream is seen to be read", len(_told(stage)), LIST.metric),
        ("dashboards", _count(stage, "AWS::CloudWatch::Dashboard"), LIST.dashboard),
        ("keys of its own", _count(stage, "AWS::KMS::Key"), LIST.key),
    )


def working(stage: Stage) -> list[Item]:
    """Return what a month costs more in which there is work, however little: metrics of its own are paid by the month."""
    return _priced(
        ("metrics of its own", len(set(_own_metrics(stage))), LIST.metric),
        ("metrics of what streams told, at most", MORE_METRICS * len(_told(stage)), LIST.metric),
    )


def tasks(stage: Stage, delivery: str, together: int) -> list[Item]:
    """Return what a million tasks cost of which *together* are published in one call; their own code takes no time."""
    batches = MILLION / stage.batch
    told = batches * SENDS_A_BATCH
    objects = told / stage.records
    return _priced(
        ("published", MILLION / together, LIST.sqs_request / MILLION),
        ("received and deleted", 2 * batches, LIST.sqs_request / MILLION),
        ("worker invoked", batches, LIST.lambda_request / MILLION),
        ("worker waits for AWS, GB·s", batches * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("ledger written", MILLION * WRITES[delivery], LIST.dynamodb_write / MILLION),
        ("history told and taken in", told + 2 * objects, LIST.sqs_request / MILLION),
        ("history kept, objects", objects, LIST.s3_put / MILLION),
        ("recorder invoked", objects, LIST.lambda_request / MILLION),
    )


def webhooks(stage: Stage) -> list[Item]:
    """Return what a million requests to the webhook URL cost, of which each makes one event; nothing where there is no URL."""
    requests = MILLION if _count(stage, "AWS::Lambda::Url") else 0
    batches = requests / stage.batch
    return _priced(
        ("webhook function invoked", requests, LIST.lambda_request / MILLION),
        ("webhook function waits for AWS, GB·s", requests * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("events sent, received and deleted", requests + 2 * batches, LIST.sqs_request / MILLION),
        ("router invoked", batches, LIST.lambda_request / MILLION),
        ("router waits for AWS, GB·s", batches * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
    )


def streams(stage: Stage, together: int) -> list[Item]:
    """Return what a million records of streams cost beside the tasks that they call, if so many come *together*.

    Lambda's reading of a DynamoDB stream costs nothing; Kinesis asks for its shards, whether they are read or not.
    """
    batches = MILLION / together
    return _priced(
        ("stream function invoked", batches, LIST.lambda_request / MILLION),
        ("stream function waits for AWS, GB·s", batches * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
    )


def total(items: Iterable[Item]) -> float:
    """Return the sum in dollars."""
    return sum(item.dollars for item in items)


def page(stage: Stage) -> str:
    """Return everything for people, as Markdown."""
    second = MILLION * stage.memory_gb * LIST.lambda_gb_s / MILLION
    return "\n".join([
        "# What this stage costs", "",
        f"List prices of {REGION} on {DAY} in US dollars, free tiers not counted. Stored data, transfer and logs come on top:",
        "DynamoDB 0.25, its backup 0.20, S3 0.023 a GB and month; logs 0.50 a GB. An account's first ten alarms, three dashboards and ten",
        "metrics, and a million requests to SQS and Lambda a month, are free.", "",
        *_table("An idle month", idle(stage)), *_table("A month with work, beside the tasks", working(stage)),
        *_table("A million tasks, claimed, published one by one", tasks(stage, "claimed", 1)),
        "## A million tasks, by delivery and by how they are published", "", "| delivery | one by one | in tens |", "|---|---:|---:|",
        *(f"| {way} | {total(tasks(stage, way, 1)):.2f} | {total(tasks(stage, way, 10)):.2f} |" for way in WRITES), "",
        *(_table("A million requests to webhooks, beside the tasks that they cause", webhooks(stage)) if webhooks(stage) else ()),
        *_of_streams(stage),
        *_of_the_job(stage),
        f"Each second that a task's own code takes adds {second:.2f} to a million at {stage.memory_gb:g} GB, if nothing shares its wait.",
        f"Batches of {stage.batch}; an invocation waits {WAIT * 1000:g} ms for AWS (assumed).", "",
    ])  # fmt: skip


def summary(stage: Stage) -> str:
    """Return the two figures in one line."""
    million = total(tasks(stage, "claimed", 1))
    return f"an idle month costs about {total(idle(stage)):.2f} USD, a million claimed tasks {million:.2f} USD beside their own time"


def _priced(*lines: tuple[str, float, float]) -> list[Item]:
    return [Item(name, amount, amount * price) for name, amount, price in lines if amount]


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
        words = f"when each comes alone, {total(streams(stage, most)):.2f} in batches of {most}."
        yield f"A million records of streams add {alone:.2f} to the tasks that they call {words}"
        yield "Reading a DynamoDB stream is free, and Kinesis asks for its shards, read or not."


def _of_the_job(stage: Stage) -> Iterator[str]:
    """Yield a sentence about the history job, where Glue runs it: how long a run takes is known to nobody before."""
    named = {one["Type"]: one["Properties"] for one in stage.resources}
    if job := named.get("AWS::Glue::Job"):
        minute, trigger = job["NumberOfWorkers"] * LIST.glue_worker / 60, named.get("AWS::Glue::Trigger")
        when = f"by `{trigger['Schedule']}`, whether there is something to take in or not" if trigger else "when somebody starts it"
        yield f"The history job is in none of this. It runs {when}, and each minute of a run, at least one, adds {minute:.3f}."


def _mappings(stage: Stage, *, of_streams: bool) -> list[Mapping[str, Any]]:
    """Return what feeds functions: mappings of streams, which begin at a position, or those of queues, which Lambda asks all month."""
    found = [one["Properties"] for one in stage.resources if one["Type"] == "AWS::Lambda::EventSourceMapping"]
    return [one for one in found if ("StartingPosition" in one) == of_streams]


def _told(stage: Stage) -> list[Mapping[str, Any]]:
    """Return the mappings of streams of which Lambda emits metrics."""
    return [one for one in _mappings(stage, of_streams=True) if one.get("MetricsConfig", {}).get("Metrics")]


def _is_function(resource: Mapping[str, Any]) -> bool:
    return bool(resource["Type"] == "AWS::Lambda::Function")


def _consumer(mapping: Mapping[str, Any]) -> str:
    """Return which function a mapping feeds: what it refers to, the function or its alias, is called after the construct."""
    found = _REFERENCE.search(json.dumps(mapping["FunctionName"]))
    return found[1] if found else ""


def _invocations(schedule: Mapping[str, Any]) -> float:
    found = _RATE.fullmatch(str(schedule["ScheduleExpression"]))
    return MINUTES / (int(found[1]) * _SPANS[found[2]]) if found else 0.0


def _own_metrics(stage: Stage) -> Iterator[str]:
    """Yield the name of each metric that an alarm asks for by a query: those are the stage's own."""
    for one in stage.resources:
        if one["Type"] == "AWS::CloudWatch::Alarm":
            yield from _ASKED.findall(json.dumps(one["Properties"].get("Metrics", [])))


if __name__ == "__main__":
    sys.stdout.write(page(read(Path(sys.argv[1]))))
