"""The cost page against bills that were added up by hand, from the list prices of `infra/prices.py`."""

from pathlib import Path
from typing import Any

import pytest

from infra import cost
from infra.cost import Stage
from tests.infra.template import Templates


def _stage(*resources: dict[str, Any], batch: int = 10, records: int = 100, memory_gb: float = 0.5) -> Stage:
    return Stage(resources, batch, records, memory_gb)


def _of(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": f"AWS::{kind}", "Properties": properties}


MAPPING = _of("Lambda::EventSourceMapping")
STREAM = _of("Lambda::EventSourceMapping", StartingPosition="TRIM_HORIZON", BatchSize=100)


def test_an_idle_queue_is_asked_all_month() -> None:
    # 5 pollers x 3 a minute x 43 200 minutes = 648 000 requests at 0.40 a million = 0.2592
    assert cost.total(cost.idle(_stage(MAPPING))) == pytest.approx(0.2592)
    assert cost.total(cost.idle(_stage(*[MAPPING] * 4))) == pytest.approx(1.0368)


def test_what_is_paid_by_the_month_is_counted_one_by_one() -> None:
    # 3 alarms at 0.10, a dashboard at 3, a key at 1
    stage = _stage(*[_of("CloudWatch::Alarm")] * 3, _of("CloudWatch::Dashboard"), _of("KMS::Key"), _of("SQS::Queue"))
    assert cost.total(cost.idle(stage)) == pytest.approx(4.30)


def test_a_round_by_the_minute_is_paid_for_though_nothing_is_due() -> None:
    # 43 200 rounds x (1.00 + 0.20) a million = 0.05184; 43 200 x 0.025 s x 0.5 GB = 540 GB-s at 13.3334 a million = 0.0072
    rounds = _of("Scheduler::Schedule", ScheduleExpression="rate(1 minute)")
    assert cost.total(cost.idle(_stage(rounds))) == pytest.approx(0.05904, abs=1e-5)
    hourly = _of("Scheduler::Schedule", ScheduleExpression="rate(2 hours)")
    assert [item.amount for item in cost.idle(_stage(hourly))][:1] == [360]


def test_a_stream_is_read_for_nothing_and_its_records_pay_the_invocations_that_send_them_on() -> None:
    assert cost.idle(_stage(STREAM)) == []
    # 10 000 invocations at 0.20 a million = 0.002; 10 000 x 0.025 s x 0.5 GB = 125 GB-s at 13.3334 a million = 0.001667
    assert cost.total(cost.streams(_stage(MAPPING, STREAM), 100)) == pytest.approx(0.003667, abs=1e-6)
    assert cost.total(cost.streams(_stage(MAPPING, STREAM), 1)) == pytest.approx(0.366668, abs=1e-6)
    assert "records of streams" in cost.page(_stage(STREAM))
    assert "records of streams" not in cost.page(_stage(MAPPING))


def test_a_stream_that_tells_when_it_is_read_pays_for_its_metrics() -> None:
    # one metric at 0.30 while it is read, and five more at most with work
    told = _of("Lambda::EventSourceMapping", StartingPosition="TRIM_HORIZON", BatchSize=100, MetricsConfig={"Metrics": ["EventCount"]})
    assert cost.total(cost.idle(_stage(told, told))) == pytest.approx(0.60)
    assert cost.total(cost.working(_stage(told, told))) == pytest.approx(3.00)


def test_nothing_deployed_costs_nothing() -> None:
    assert cost.idle(_stage()) == []
    assert cost.working(_stage()) == []


@pytest.mark.parametrize(
    ("delivery", "together", "dollars"),
    [
        # sent 0.40, received and deleted 0.08, invoked 0.02, waits 1250 GB-s 0.016667, written 2 x 0.625 = 1.25,
        # history 100 000 sent + 2 x 1000 taken in = 0.0408, 1000 objects 0.005, recorder 0.0002
        ("claimed", 1, 1.812667),
        ("claimed", 10, 1.452667),
        ("record_once", 10, 0.827667),
        ("at_least_once", 10, 0.202667),
    ],
)
def test_a_million_tasks_cost_what_their_calls_cost(delivery: str, together: int, dollars: float) -> None:
    assert cost.total(cost.tasks(_stage(), delivery, together)) == pytest.approx(dollars, abs=2e-6)


def test_without_batches_each_task_pays_its_own_calls() -> None:
    # 0.40 + 0.80 + 0.20 + 12 500 GB-s 0.166668 + 1.25 + history (1 000 000 + 2 x 100 000) 0.48 + 100 000 objects 0.50 + 0.02
    stage = _stage(batch=1, records=10)
    assert cost.total(cost.tasks(stage, "claimed", 1)) == pytest.approx(3.816668, abs=2e-6)


def test_a_million_requests_to_webhooks_cost_what_their_calls_cost() -> None:
    # 0.20 + 12 500 GB-s 0.166668 + (1 000 000 + 2 x 100 000) 0.48 + router 100 000 0.02 + 1 250 GB-s 0.016667
    assert cost.total(cost.webhooks(_stage(_of("Lambda::Url")))) == pytest.approx(0.883334, abs=2e-6)
    assert cost.webhooks(_stage()) == []


def test_metrics_of_its_own_are_paid_once_each() -> None:
    asked = [{"Id": "q", "Expression": 'SELECT SUM(TasksPoisoned) FROM "sedano/dev"'}]
    stage = _stage(*[_of("CloudWatch::Alarm", Metrics=asked)] * 2, _of("CloudWatch::Alarm", Namespace="AWS/SQS", MetricName="Age"))
    assert cost.total(cost.working(stage)) == pytest.approx(0.30)


def test_the_page_says_when_the_history_job_runs_and_what_each_minute_of_it_adds() -> None:
    # 2 workers at 0.29 an hour: 0.0097 a minute
    job, minute = _of("Glue::Job", NumberOfWorkers=2), "and each minute of a run, at least one, adds 0.010."
    assert f"The history job is in none of this. It runs when somebody starts it, {minute}" in cost.page(_stage(job))
    hourly = cost.page(_stage(job, _of("Glue::Trigger", Schedule="cron(15 * * * ? *)")))
    assert f"It runs by `cron(15 * * * ? *)`, whether there is something to take in or not, {minute}" in hourly
    assert "history job" not in cost.page(_stage())


def test_the_page_is_about_what_is_deployed(production: Templates) -> None:
    stage = cost.read(production.directory)
    assert (stage.batch, stage.records, stage.memory_gb) == (10, 100, 0.5)
    counted = {item.name: item.amount for item in cost.idle(stage)}
    assert counted["Lambda asks the queues"] == 648_000 * len(production.of_type("Lambda::EventSourceMapping"))
    assert counted["alarms"] == len(production.of_type("CloudWatch::Alarm"))
    assert len(cost.working(stage)) == 1
    page = (production.directory / "cost.md").read_text()
    assert page == cost.page(stage)
    assert f"{cost.total(cost.idle(stage)):.2f}" in page


def test_this_machine_asks_no_money(assembly: Path) -> None:
    assert not (assembly / "cost.md").exists()
