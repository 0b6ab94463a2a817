"""Alarms: each says in its description what it means and where to look first.

Where there is nothing to count, nothing is wrong, because a stage without work emits nothing. A metric that is also emitted without work is
watched the other way round: its absence raises the alarm.
"""

from collections.abc import Iterator
from typing import NamedTuple

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .metrics import Watched, of_function, of_queue, of_stream, of_table, of_timers

#: How old, in seconds, a message may get before somebody is told.
OLDEST_MESSAGE_S = 900
#: How many tasks in five minutes may be taken over from workers that died: a few are Lambda's own coming and going.
STEALS = 10
#: The functions that are invoked by the minute, whether there is work or not.
ROUNDS = frozenset({"scheduler", "controller"})
#: How many requests in five minutes may be refused before somebody is told: an address of the internet is knocked at now and then.
REFUSED = 20
#: The reason with which a request is refused that bears no signature at all: as a rule a stranger's, while any other is a sender's.
UNSIGNED = "no-signature"
#: How old, in seconds, a record of a stream may get before somebody is told: DynamoDB forgets it after 24 hours.
OLDEST_RECORD_S = 3_600


class Rule(NamedTuple):
    """The condition and the text of an alarm: `metric` at or above `threshold` in each of `periods` periods.

    With `absent` it is one that is emitted for as long as all is well: then it alarms below `threshold`, or when it is missing.
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
        rules += _of_rounds(watched)
        rules += _of_webhooks(watched) if "webhook" in watched.functions else []
        rules += _of_streams(watched) if "stream" in watched.functions else []
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
        words = f"{name}: a message was handed out too often and never finished. Read it in the dead-letter queue, mend the cause, redrive."
        yield Rule(f"Dead-{name}", of_queue(queue, visible), 1, 1, words)
    words = (
        "A function parked a message that it cannot read or does not know. Its attributes say why; send it again when that is fixed."
    )
    yield Rule("Parked", of_queue(watched.parked, visible), 1, 1, words)
    for name, queue in watched.queues.items():
        words = (
            f"{name}: the oldest message waits for more than {OLDEST_MESSAGE_S // 60} minutes: too little concurrency, a paused queue, "
            "or a mapping that is off. Messages received three times are no longer counted: see dead letters and poisoned tasks."
        )
        yield Rule(f"Old-{name}", of_queue(queue, "ApproximateAgeOfOldestMessage"), OLDEST_MESSAGE_S, 2, words)


def _of_functions(watched: Watched) -> Iterator[Rule]:
    for name, function in watched.functions.items():
        words = f"{name}: invocations fail as a whole: the code does not import, or runs out of memory or time. Its log says which."
        yield Rule(f"Failing-{name}", of_function(function, "Errors"), 1, 1, words)
        if name == "webhook":  # nothing waits in a queue until there is room again
            words = (
                "webhook: senders got 429, because more requests arrived at once than webhook_concurrency allows, or the account's "
                "concurrency is used up. Some send again and some, as GitHub, never do: raise it, or find out who posts."
            )
            yield Rule(f"Throttled-{name}", of_function(function, "Throttles"), 1, 1, words)
            continue
        words = f"{name}: invocations are refused for a quarter of an hour: the account's concurrency is used up."
        yield Rule(f"Throttled-{name}", of_function(function, "Throttles"), 1, 3, words)


def _of_tables(watched: Watched) -> Iterator[Rule]:
    for name, table in watched.tables.items():
        for kind in ("Read", "Write"):
            words = f"{name}: DynamoDB refuses requests above the table's ceiling; messages wait. A runaway or growth: look at the calls."
            yield Rule(f"{kind}s-{name}", of_table(table, f"{kind}ThrottleEvents"), 1, 3, words)


def _of_timers(watched: Watched) -> Iterator[Rule]:
    words = "Scheduler gave up sending the message of a timer. The undelivered messages are in the parked queue."
    yield Rule("TimersDropped", of_timers(watched.timers, "InvocationDroppedCount"), 1, 1, words)
    words = "Scheduler cannot send for a timer and tries again: look at the timers' role and at the queue that it names."
    yield Rule("TimersFailing", of_timers(watched.timers, "TargetErrorCount"), 1, 3, words)


def _of_failures(watched: Watched, most: int) -> Rule:
    words = (
        "Tasks ended as FAILURE, their retries included. `sedano failures` groups them by cause, `sedano show ID` has the traceback and "
        "the arguments, and `sedano retry ID` runs a task again when the cause is mended."
    )
    return Rule("TasksFailed", watched.own("TasksFailed"), most + 1, 1, words)


def _of_tasks(watched: Watched) -> Iterator[Rule]:
    words = "A task killed worker after worker and was ended as poison: its result says so, its memory or time limit may say why."
    yield Rule("Poisoned", watched.own("TasksPoisoned"), 1, 1, words)
    words = "Workers returned after others had taken their tasks over, and their outcomes were refused: time limits are too short."
    yield Rule("FencedOff", watched.own("WritesFencedOff"), STEALS, 1, words)
    words = "Tasks are taken over from workers that died before they finished: look for memory and time limits in the worker's log."
    yield Rule("Stolen", watched.own("ClaimsStolen"), STEALS, 1, words)
    words = "Worker events could not be sent for so long that some were dropped: the history has a gap, the tasks have none."
    yield Rule("RecordsLost", watched.own("RecordsLost"), 1, 1, words)
    words = (
        "Tasks ended and their follow-ups could not be sent: their messages are delivered again until they can. Look at the worker's log: "
        "a queue or a table that does not answer, or a grant that its role lacks."
    )
    yield Rule("FollowUpsDelayed", watched.own("FollowUpsDelayed"), 1, 1, words)
    words = (
        "A step raised an exception that no rule foresaw: a defect of sedano, a function of the app that a step calls, or an answer of a "
        "service that is not an answer. The message that caused it is in the parked queue with the reason `unexpected`, the type and the "
        "place. Report or fix the cause, then send the message again with `sedano parked redrive`."
    )
    yield Rule("Unexpected", watched.own("UnexpectedErrors"), 1, 1, words)
    words = (
        "The control record holds a rate, concurrency or time limit that workers cannot read; the last one that they could read holds. "
        "The log names the task: give its limits again with `app.control`."
    )
    yield Rule("LimitsRefused", watched.own("LimitsRefused"), 1, 1, words)
    words = (
        "A worker's clock is wrong: DynamoDB's decides what has expired, and five minutes behind the queue's, it sends messages on to "
        "others. On Lambda: report it to AWS. On a host of your own: start its time synchronisation, then start the worker again."
    )
    yield Rule("ClocksWrong", watched.own("ClocksWrong"), 1, 1, words)


def _of_rounds(watched: Watched) -> Iterator[Rule]:
    """A function that is not invoked by the minute has no error to count."""
    for name in sorted(ROUNDS & watched.functions.keys()):
        words = (
            f"{name}: it was not invoked for a quarter of an hour: EventBridge Scheduler's schedule that does so by the minute is off "
            "or gone, its role may not invoke it any more, or the account's concurrency is used up. Nothing is lost: the next round does "
            "the work of the missed ones, late."
        )
        yield Rule(f"Missed-{name}", of_function(watched.functions[name], "Invocations"), 1, 3, words, absent=True)


def _of_webhooks(watched: Watched) -> Iterator[Rule]:
    words = (
        "Webhooks could not be answered and their senders were asked to send again, which they do not do forever: a missing secret, "
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


def _of_streams(watched: Watched) -> Iterator[Rule]:
    # AWS Lambda, "Event source mapping metrics", PolledEventCount: "If Lambda polls for events but receives an empty poll (no new records),
    # Lambda emits a 0 value for this metric." So a stream that is idle and read has data, and one that is not read has none.
    words = (
        "Records of a stream are not yet sent on after an hour: a queue that does not answer, code that does not import, or more records "
        "than one invocation a shard can send. The stream function's log says which. Nothing is lost for 23 hours more; after that "
        "DynamoDB forgets the oldest records."
    )
    age = of_function(watched.functions["stream"], "IteratorAge", statistic="Maximum")
    yield Rule("StreamsBehind", age, OLDEST_RECORD_S * 1000, 1, words)
    for name, mapping in watched.streams.items():
        words = (
            f"{name}: this stream is not read: its mapping is off, the stream function's role may not read it any more, the stream is "
            "gone, or the function makes no progress with its records. `aws lambda get-event-source-mapping --uuid` and this alarm's UUID "
            "show its State and LastProcessingResult. Records wait for 24 hours from their arrival, in Kinesis for its retention time."
        )
        yield Rule(f"Unread-{name}", of_stream(mapping, "PolledEventCount", statistic="SampleCount"), 1, 3, words, absent=True)
