"""Alarms: the description of each says what it means and what to check first.

Missing data is good, because a stage without work emits nothing. A metric that is also emitted without work is watched the other way round:
its absence raises the alarm.
"""

from collections.abc import Iterator
from typing import NamedTuple

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .metrics import Watched, of_function, of_queue, of_stream, of_table, of_timers

#: The age of a message, in seconds, at which an alarm fires.
OLDEST_MESSAGE_S = 900
#: How many tasks in five minutes may be taken over from workers that died: a few happen when Lambda replaces environments.
STEALS = 10
#: The functions that are invoked every minute, with or without work.
ROUNDS = frozenset({"scheduler", "controller"})
#: How many requests in five minutes may be refused before an alarm fires: a public address gets stray requests now and then.
REFUSED = 20
#: The reason of the refusal of a request without any signature: as a rule it is a stranger's, while any other is a sender's.
UNSIGNED = "no-signature"
#: The age of a record of a stream, in seconds, at which an alarm fires: DynamoDB deletes it after 24 hours.
OLDEST_RECORD_S = 3_600


class Rule(NamedTuple):
    """The condition and the text of an alarm: `metric` at or above `threshold` in each of `periods` periods.

    With `absent`, the metric is emitted for as long as all is well: the alarm fires below `threshold`, or when data is missing.
    """

    name: str
    metric: cloudwatch.IMetric
    threshold: float
    periods: int
    words: str
    absent: bool = False


class Alarms(Construct):
    """Every alarm of a stage."""

    def __init__(self, scope: Construct, name: str, *, watched: Watched, most_failures: int) -> None:
        super().__init__(scope, name)
        rules = [*_of_queues(watched), *_of_functions(watched), *_of_tables(watched), *_of_timers(watched)]
        rules += [_of_failures(watched, most_failures), *_of_tasks(watched)]
        rules += [*_of_rounds(watched), *(_of_spending(watched) if watched.spends else ())]
        rules += _of_polls(watched) if watched.polls else []
        rules += _of_webhooks(watched) if "webhook" in watched.functions else []
        rules += [*_of_streams(watched), *_of_foreign_queues(watched)]
        #: In the order in which a dashboard shows them.
        self.alarms = [self._alarm(rule) for rule in rules]

    def _alarm(self, rule: Rule) -> cloudwatch.Alarm:
        compare, missing = cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
        return cloudwatch.Alarm(
            self,
            rule.name,
            metric=rule.metric,
            threshold=rule.threshold,
            evaluation_periods=rule.periods,
            comparison_operator=compare.LESS_THAN_THRESHOLD if rule.absent else compare.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=missing.BREACHING if rule.absent else missing.NOT_BREACHING,
            alarm_description=rule.words,
        )


def _of_queues(watched: Watched) -> Iterator[Rule]:
    visible = "ApproximateNumberOfMessagesVisible"
    for name, queue in watched.dead.items():
        words = f"{name}: a message was received too often and never finished. Read it in the dead-letter queue, fix the cause, redrive it."
        yield Rule(f"Dead-{name}", of_queue(queue, visible), 1, 1, words)
    words = (
        "A function parked a message that it cannot read or does not know. Its attributes give the reason; redrive it when that is fixed."
    )
    yield Rule("Parked", of_queue(watched.parked, visible), 1, 1, words)
    for name, queue in watched.queues.items():
        words = (
            f"{name}: the oldest message has waited for more than {OLDEST_MESSAGE_S // 60} minutes: low concurrency, a paused queue, "
            "or a mapping that is off. Messages received three times are no longer counted: see dead letters and poisoned tasks."
        )
        yield Rule(f"Old-{name}", of_queue(queue, "ApproximateAgeOfOldestMessage"), OLDEST_MESSAGE_S, 2, words)


def _of_functions(watched: Watched) -> Iterator[Rule]:
    for name, function in watched.functions.items():
        words = f"{name}: invocations fail as a whole: the code does not import, or runs out of memory or time. Its log says which."
        yield Rule(f"Failing-{name}", of_function(function, "Errors"), 1, 1, words)
        if name == "webhook":  # its requests do not wait in a queue
            words = (
                "webhook: senders got 429, because more requests arrived at once than webhook_concurrency allows, or the account's "
                "concurrency is used up. Some senders retry, others such as GitHub do not: raise that setting, or find out who posts."
            )
            yield Rule(f"Throttled-{name}", of_function(function, "Throttles"), 1, 1, words)
            continue
        words = f"{name}: invocations have been refused for a quarter of an hour: the account's concurrency is used up."
        yield Rule(f"Throttled-{name}", of_function(function, "Throttles"), 1, 3, words)


def _of_tables(watched: Watched) -> Iterator[Rule]:
    for name, table in watched.tables.items():
        for kind in ("Read", "Write"):
            words = f"{name}: DynamoDB refuses requests above the table's ceiling, and messages wait. Check for a runaway or for growth."
            yield Rule(f"{kind}s-{name}", of_table(table, f"{kind}ThrottleEvents"), 1, 3, words)


def _of_timers(watched: Watched) -> Iterator[Rule]:
    words = "Scheduler gave up sending the message of a timer. The undelivered messages are in the parked queue."
    yield Rule("TimersDropped", of_timers(watched.timers, "InvocationDroppedCount"), 1, 1, words)
    words = "Scheduler cannot send the message of a timer and tries again: check the timers' role and the queue that the timer names."
    yield Rule("TimersFailing", of_timers(watched.timers, "TargetErrorCount"), 1, 3, words)


def _of_failures(watched: Watched, most: int) -> Rule:
    words = (
        "Tasks ended as FAILURE, their retries included. `sedano failures` groups them by cause, `sedano show ID` has the traceback and "
        "the arguments, and `sedano retry ID` runs a task again when the cause is fixed."
    )
    return Rule("TasksFailed", watched.own("TasksFailed"), most + 1, 1, words)


def _of_tasks(watched: Watched) -> Iterator[Rule]:
    words = "A task killed several workers and was ended as poison, as its result says. Check its memory and its time limit."
    yield Rule("Poisoned", watched.own("TasksPoisoned"), 1, 1, words)
    words = "Workers returned after others had taken their tasks over, and their outcomes were refused: time limits are too short."
    yield Rule("FencedOff", watched.own("WritesFencedOff"), STEALS, 1, words)
    words = "Tasks are taken over from workers that died before they finished: check memory and time limits in the worker's log."
    yield Rule("Stolen", watched.own("ClaimsStolen"), STEALS, 1, words)
    words = "Worker events could not be sent for so long that some were dropped: the history has a gap, but no task is lost."
    yield Rule("RecordsLost", watched.own("RecordsLost"), 1, 1, words)
    words = (
        "Tasks ended and their follow-ups could not be sent: their messages are delivered again until they can. Check the worker's log for "
        "a queue or a table that does not answer, or a grant that its role lacks."
    )
    yield Rule("FollowUpsDelayed", watched.own("FollowUpsDelayed"), 1, 1, words)
    words = (
        "A step raised an exception that no rule covers: a defect of sedano, a function of the app that a step calls, or an invalid "
        "response of a service. The message that caused it is in the parked queue with the reason `unexpected`, the type and the "
        "place. Report or fix the cause, then send the message again with `sedano parked redrive`."
    )
    yield Rule("Unexpected", watched.own("UnexpectedErrors"), 1, 1, words)
    words = (
        "The control record holds a rate, concurrency or time limit that workers cannot read; the last one that they could read applies. "
        "The log names the task: set its limits again with `app.control`."
    )
    yield Rule("LimitsRefused", watched.own("LimitsRefused"), 1, 1, words)
    words = (
        "A worker's clock is wrong. DynamoDB's clock decides what has expired, and a worker that is five minutes behind the queue's clock "
        "passes messages on. On Lambda: report it to AWS. On a host of your own: start time synchronisation, then restart the worker."
    )
    yield Rule("ClocksWrong", watched.own("ClocksWrong"), 1, 1, words)


def _of_rounds(watched: Watched) -> Iterator[Rule]:
    """Yield the rules of the functions that are invoked every minute; one that is not invoked has no error to count."""
    for name in sorted(ROUNDS & watched.functions.keys()):
        words = (
            f"{name}: it was not invoked for a quarter of an hour: its schedule in EventBridge Scheduler is disabled or deleted, the "
            "schedule's role may no longer invoke it, or the account's concurrency is used up. Nothing is lost: the next round does "
            "the work of the missed ones, late."
        )
        yield Rule(f"Missed-{name}", of_function(watched.functions[name], "Invocations"), 1, 3, words, absent=True)


def _of_spending(watched: Watched) -> Iterator[Rule]:
    words = "The tasks of a tenant or of the app have cost 80 % of the spending limit of this UTC day. `sedano cost --days 1` shows which."
    yield Rule("SpendingNear", watched.own("SpendingNear"), 1, 1, words)
    words = (
        "A spending limit of this UTC day is reached, and its tasks are paused until the end of the day. `sedano cost --days 1` shows the "
        "limit and the most expensive tasks. Raise the limit in `app.spending(…)` and deploy, or end the pause with `sedano resume`."
    )
    yield Rule("SpendingReached", watched.own("SpendingReached"), 1, 1, words)


def _of_webhooks(watched: Watched) -> Iterator[Rule]:
    words = (
        "Webhooks could not be answered and their senders were asked to retry, which they do only for a limited time: a missing secret, "
        "or a queue that does not answer. The webhook function's log says which."
    )
    yield Rule("WebhooksUnanswered", watched.own("WebhooksUnanswered"), 1, 1, words)
    words = (
        "A request to the webhook URL had a wrong signature: a secret that was changed on one side only, a sender whose clock "
        "is wrong or that signs in another way, or an attack. That sender's requests are lost until this is fixed. The metric "
        "WebhooksRefused says which webhook and why."
    )
    yield Rule("WebhooksMissigned", watched.own("WebhooksRefused", but=UNSIGNED), 1, 1, words)
    words = (
        f"At least {REFUSED} requests to the webhook URL in five minutes were refused. Requests without a signature are from a stranger, "
        "or from a sender whose signature is in another header than `verify` says. They were not kept."
    )
    yield Rule("WebhooksRefused", watched.own("WebhooksRefused"), REFUSED, 1, words)


def _of_polls(watched: Watched) -> Iterator[Rule]:
    words = (
        "A poll failed, its retries included: the source does not answer, refuses the request, or returns something else than a page. "
        "`sedano failures` has the reason. Nothing is lost while the source keeps its items: the cursor is unchanged, and the next poll "
        "reads the same page."
    )
    yield Rule("PollsFailed", watched.own("PollsFailed"), 1, 1, words)


def _of_foreign_queues(watched: Watched) -> Iterator[Rule]:
    for name, queue in watched.foreign.items():
        words = (
            f"{name}: the oldest message of this queue has waited for an hour: a command queue that does not answer, code that does not "
            "import, a mapping that is disabled, or a stream function's role that may no longer read the queue. The stream function's log "
            "says which. After its retention period the queue deletes the oldest messages."
        )
        yield Rule(f"QueueBehind-{name}", of_queue(queue, "ApproximateAgeOfOldestMessage"), OLDEST_RECORD_S, 1, words)


def _of_streams(watched: Watched) -> Iterator[Rule]:
    if not watched.streams:
        return
    # AWS Lambda, "Event source mapping metrics", PolledEventCount: "If Lambda polls for events but receives an empty poll (no new records),
    # Lambda emits a 0 value for this metric." So a stream that is idle and read has data, and one that is not read has none.
    words = (
        "Records of a stream have waited for an hour: a queue that does not answer, code that does not import, or more records "
        "than one invocation per shard can send. The stream function's log says which. Nothing is lost for 23 hours more; after that "
        "DynamoDB deletes the oldest records."
    )
    age = of_function(watched.functions["stream"], "IteratorAge", statistic="Maximum")
    yield Rule("StreamsBehind", age, OLDEST_RECORD_S * 1000, 1, words)
    for name, mapping in watched.streams.items():
        words = (
            f"{name}: this stream is not read: its mapping is disabled, the stream function's role may no longer read it, the stream was "
            "deleted, or the function makes no progress with its records. `aws lambda get-event-source-mapping --uuid` and this alarm's "
            "UUID show its State and LastProcessingResult. Records wait for 24 hours from their arrival, in Kinesis for its retention time."
        )
        yield Rule(f"Unread-{name}", of_stream(mapping, "PolledEventCount", statistic="SampleCount"), 1, 3, words, absent=True)
