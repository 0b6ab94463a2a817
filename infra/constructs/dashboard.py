"""The dashboard: for the person on call, from current problems to the cost."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .metrics import Watched, namespace, of_function, of_logs, of_queue, of_stream, of_table, of_timers

_WIDE, _HALF, _THIRD = 24, 12, 8
_DAY = Duration.days(1)
#: USD in us-east-1, November 2026, on demand, without free allowances: one request, one GB of memory for one second, and so on.
_INVOCATION, _GB_SECOND, _SQS_REQUEST, _WRITE_UNIT, _READ_UNIT, _LOG_BYTE = 0.2e-6, 13.3334e-6, 0.4e-6, 0.625e-6, 0.125e-6, 0.5e-9
_OUTCOMES = ("TasksSucceeded", "TasksFailed", "TasksRetried", "TasksRevoked", "TasksIgnored", "TasksExpired")
_TROUBLE = ("TasksPoisoned", "WritesFencedOff", "ClaimsStolen", "Duplicates", "WorkersLost")
_WAITING = ("MessagesParked", "MessagesHeld", "StreamsStopped", "MessagesPaused", "FollowUpsDelayed", "RecordsDelayed", "RecordsLost")

_AGE = """**The age of the oldest message can be too low.** SQS moves a message that was received three times to the back of the queue and
no longer counts it, so this line falls while a message that keeps failing is still there. Read it with the poisoned tasks, the parked
messages and the dead letters, which show every such message."""
_COST = """**Cost** is computed from AWS's counts, at list prices of us-east-1: invocations and memory, messages sent, received and
deleted (one request each: batches make it less), DynamoDB's units, log bytes. Storage, S3 and the cost of other stacks are not included."""


class Dashboard(Construct):
    """One page for one stage."""

    def __init__(self, scope: Construct, name: str, *, watched: Watched, alarms: Sequence[cloudwatch.IAlarm]) -> None:
        super().__init__(scope, name)
        self._watched = watched
        # Dashboards belong to the account, not to a Region: two stages of one name in two Regions need two names.
        called = f"sedano-{watched.stage}-{Stack.of(self).region}"
        page = cloudwatch.Dashboard(self, "Page", dashboard_name=called, default_interval=Duration.hours(3))
        page.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=_WIDE, height=4))
        page.add_widgets(self._age(), self._depth(), cloudwatch.TextWidget(markdown=_AGE, width=_THIRD, height=6))
        page.add_widgets(self._own("How tasks end", _OUTCOMES), self._own("Trouble", _TROUBLE), self._own("Waiting or parked", _WAITING))
        page.add_widgets(self._functions("Errors"), self._functions("Throttles"), self._functions("Duration", "p99"))
        page.add_widgets(self._tables(), self._timers())
        from_outside = {"webhook": self._webhooks, "stream": self._streams}
        if drawn := [widget for name, draw in from_outside.items() if name in watched.functions for widget in draw()]:
            page.add_widgets(*drawn)
        page.add_widgets(self._cost(), cloudwatch.TextWidget(markdown=_COST, width=_HALF, height=6))

    def _age(self) -> cloudwatch.GraphWidget:
        lines = [of_queue(queue, "ApproximateAgeOfOldestMessage", label=name) for name, queue in self._watched.queues.items()]
        return _graph("Age of the oldest message, seconds", lines)

    def _depth(self) -> cloudwatch.GraphWidget:
        resting = {**{f"dead: {name}": queue for name, queue in self._watched.dead.items()}, "parked": self._watched.parked}
        shown = {**self._watched.queues, **resting}
        return _graph(
            "Waiting, dead and parked", [of_queue(q, "ApproximateNumberOfMessagesVisible", label=name) for name, q in shown.items()]
        )

    def _own(self, title: str, metrics: Sequence[str], width: int = _THIRD) -> cloudwatch.GraphWidget:
        """The library's metrics, each with a line for every function, reason, or (with `task_metrics=true`) task that occurred."""
        space = namespace(self._watched.stage)
        lines = [
            cloudwatch.MathExpression(
                expression=f"""SEARCH('Namespace="{space}" MetricName="{metric}"', 'Sum', 300)""", using_metrics={}, label=metric
            )
            for metric in metrics
        ]
        return _graph(title, lines, width=width)

    def _functions(self, metric: str, statistic: str = "Sum") -> cloudwatch.GraphWidget:
        functions = self._watched.functions.items()
        return _graph(f"Functions: {metric}", [of_function(f, metric, statistic=statistic, label=name) for name, f in functions])

    def _tables(self) -> cloudwatch.GraphWidget:
        names = ("ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits", "WriteThrottleEvents", "ReadThrottleEvents")
        lines = [of_table(table, metric, label=f"{name}: {metric}") for name, table in self._watched.tables.items() for metric in names]
        return _graph("Tables", lines, width=_HALF)

    def _timers(self) -> cloudwatch.GraphWidget:
        names = ("InvocationAttemptCount", "TargetErrorCount", "InvocationThrottleCount", "InvocationDroppedCount")
        return _graph("Timers: what Scheduler sent", [of_timers(self._watched.timers, name) for name in names], width=_HALF)

    def _webhooks(self) -> list[cloudwatch.GraphWidget]:
        counted = ("WebhooksRefused", "WebhooksUnanswered")
        return [self._own("Webhooks: requests that were not accepted, by webhook and reason", counted, _HALF)]

    def _streams(self) -> list[cloudwatch.GraphWidget]:
        age = of_function(self._watched.functions["stream"], "IteratorAge", statistic="Maximum", label="all streams")
        read = [of_stream(mapping, "PolledEventCount", label=name) for name, mapping in self._watched.streams.items()]
        waits = [of_queue(queue, "ApproximateAgeOfOldestMessage", label=name) for name, queue in self._watched.foreign.items()]
        drawn = [
            (_graph("Streams: age of the delivered record, milliseconds", [age], width=_HALF), read),
            (_graph("Streams: records read; where a line breaks off, reading stopped", read, width=_HALF), read),
            (_graph("Foreign queues: age of the oldest message, seconds", waits, width=_HALF), waits),
        ]
        return [graph for graph, shown in drawn if shown]

    def _cost(self) -> cloudwatch.GraphWidget:
        priced = {**self._priced_compute(), **self._priced_storage()}
        metrics: Mapping[str, cloudwatch.IMetric] = {f"m{number}": metric for number, metric in enumerate(priced)}
        terms = [f"FILL(m{number}, 0) * {price:.12f}" for number, price in enumerate(priced.values())]
        total = cloudwatch.MathExpression(expression=" + ".join(terms), using_metrics=dict(metrics), period=_DAY, label="USD a day")
        return _graph("Cost a day, USD", [total], width=_HALF, period=_DAY)

    def _priced_compute(self) -> dict[cloudwatch.Metric, float]:
        a_millisecond = _GB_SECOND * self._watched.memory / 1024 / 1000
        functions, groups = self._watched.functions.values(), self._watched.logs.values()
        return {
            **{of_function(function, "Invocations", period=_DAY): _INVOCATION for function in functions},
            **{of_function(function, "Duration", period=_DAY): a_millisecond for function in functions},
            **{of_logs(group, period=_DAY): _LOG_BYTE for group in groups},
        }

    def _priced_storage(self) -> dict[cloudwatch.Metric, float]:
        requests = ("NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted", "NumberOfEmptyReceives")
        queues, tables = self._watched.queues.values(), self._watched.tables.values()
        return {
            **{of_queue(queue, name, statistic="Sum", period=_DAY): _SQS_REQUEST for queue in queues for name in requests},
            **{of_table(table, "ConsumedWriteCapacityUnits", period=_DAY): _WRITE_UNIT for table in tables},
            **{of_table(table, "ConsumedReadCapacityUnits", period=_DAY): _READ_UNIT for table in tables},
        }


def _graph(
    title: str, lines: Sequence[cloudwatch.IMetric], *, width: int = _THIRD, period: Duration | None = None
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(lines), width=width, height=6, period=period)
