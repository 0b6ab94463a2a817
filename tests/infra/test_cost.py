"""The cost page against bills that were added up by hand, from the list prices of `infra/prices.py`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cost as smallest_stage
from infra import cost, task_cost
from infra.task_cost import Stage
from sedano.aws.telemetry import PowertoolsTelemetry
from tests.docs.figures import results
from tests.infra.template import Templates


def _stage(*resources: dict[str, Any], batch: int = 10, records: int = 100, memory_gb: float = 0.5) -> Stage:
    return Stage(resources, batch, records, memory_gb)


def _of(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": f"AWS::{kind}", "Properties": properties}


MAPPING = _of("Lambda::EventSourceMapping")
STREAM = _of("Lambda::EventSourceMapping", StartingPosition="TRIM_HORIZON", BatchSize=100)


def test_an_idle_queue_is_asked_all_month() -> None:
    # 5 pollers x 3 a minute x 43 200 minutes = 648 000 requests at 0.40 a million = 0.2592
    assert task_cost.total(cost.idle(_stage(MAPPING))) == pytest.approx(0.2592)
    assert task_cost.total(cost.idle(_stage(*[MAPPING] * 4))) == pytest.approx(1.0368)


def test_what_is_paid_by_the_month_is_counted_one_by_one() -> None:
    # 3 alarms at 0.10, a dashboard at 3, a key at 1
    stage = _stage(*[_of("CloudWatch::Alarm")] * 3, _of("CloudWatch::Dashboard"), _of("KMS::Key"), _of("SQS::Queue"))
    assert task_cost.total(cost.idle(stage)) == pytest.approx(4.30)


def test_a_round_by_the_minute_is_paid_for_though_nothing_is_due() -> None:
    # 43 200 rounds x (1.00 + 0.20) a million = 0.05184; 43 200 x 0.025 s x 0.5 GB = 540 GB-s at 13.3334 a million = 0.0072
    rounds = _of("Scheduler::Schedule", ScheduleExpression="rate(1 minute)")
    assert task_cost.total(cost.idle(_stage(rounds))) == pytest.approx(0.05904, abs=1e-5)
    hourly = _of("Scheduler::Schedule", ScheduleExpression="rate(2 hours)")
    assert [item.amount for item in cost.idle(_stage(hourly))][:1] == [360]


def test_a_stream_is_read_for_nothing_and_its_records_pay_the_invocations_that_send_them_on() -> None:
    assert cost.idle(_stage(STREAM)) == []
    # 10 000 invocations at 0.20 a million = 0.002; 10 000 x 0.025 s x 0.5 GB = 125 GB-s at 13.3334 a million = 0.001667
    assert task_cost.total(cost.streams(_stage(MAPPING, STREAM), 100)) == pytest.approx(0.003667, abs=1e-6)
    assert task_cost.total(cost.streams(_stage(MAPPING, STREAM), 1)) == pytest.approx(0.366668, abs=1e-6)
    assert "records of streams" in cost.page(_stage(STREAM))
    assert "records of streams" not in cost.page(_stage(MAPPING))


def test_a_stream_that_tells_when_it_is_read_pays_for_its_metrics() -> None:
    # one metric at 0.30 while it is read, and five more at most with work
    told = _of("Lambda::EventSourceMapping", StartingPosition="TRIM_HORIZON", BatchSize=100, MetricsConfig={"Metrics": ["EventCount"]})
    assert task_cost.total(cost.idle(_stage(told, told))) == pytest.approx(0.60)
    assert task_cost.total(cost.working(_stage(told, told))) == pytest.approx(3.00)


def test_nothing_deployed_costs_nothing() -> None:
    assert cost.idle(_stage()) == []
    assert cost.working(_stage()) == []


@pytest.mark.parametrize(
    ("delivery", "together", "dollars"),
    [
        # sent 0.40, received and deleted 0.08, invoked 0.02, 100 000 x (25 + 12 x 1769 / 512 ms) x 0.5 GB = 3323.05 GB-s 0.044307,
        # written 2 x 0.625 = 1.25, history 100 000 sent + 2 x 10 000 calls of ten = 0.048, 1000 objects 0.005, their
        # roll-ups 2000 x 0.625 = 0.00125, recorder 0.0002 + 12.5 GB-s 0.000167, 100 000 lines of 500 B 0.025
        ("claimed", 1, 1.873924),
        ("claimed", 10, 1.513924),
        ("record_once", 10, 0.888924),
        ("at_least_once", 10, 0.263924),
    ],
)
def test_a_million_tasks_cost_what_their_calls_cost(delivery: str, together: int, dollars: float) -> None:
    assert task_cost.total(task_cost.tasks(_stage(), delivery, together)) == pytest.approx(dollars, abs=2e-6)


def test_without_batches_each_task_pays_its_own_calls() -> None:
    # 0.40 + 0.80 + 0.20 + 1 000 000 x (25 + 3 x 1769 / 512 ms) x 0.5 GB = 17 682.6 GB-s 0.235769 + 1.25
    # + history (1 000 000 + 2 x 100 000) 0.48 + 100 000 objects 0.50, their roll-ups 0.125, recorder 0.02 + 1250 GB-s 0.016667, lines 0.25
    alone = pytest.approx(4.277436, abs=2e-6)
    assert task_cost.total(task_cost.tasks(_stage(batch=1, records=10), "claimed", 1)) == alone
    assert task_cost.total(task_cost.tasks(_stage(), "claimed", 1, 1, 10)) == alone
    page = cost.page(_stage())
    assert f"| claimed | {task_cost.total(task_cost.tasks(_stage(), 'claimed', 1, 1)):.2f} | 1.87 | 1.51 |" in page
    assert "one at a time, plus their own run time" in cost.summary(_stage())


def test_a_link_of_a_chain_that_stays_pays_its_writes_and_a_share_of_the_rest() -> None:
    # a tenth of 0.40 + 0.80 + 0.20; 100 000 x (21 x 25 / 3 + 12 x 1769 / 512 ms) x 0.5 GB = 10 823.05 GB-s 0.144308; written 1.25; history
    # of 100 000 invocations as of tasks in tens 0.048 + 0.005 + 0.00125 + 0.000367; lines 0.025
    assert task_cost.total(task_cost.links(_stage(), 10)) == pytest.approx(1.613924, abs=2e-6)
    assert "A million links of chains of 10, each chain alone, cost 1.61: the links stay in one invocation." in cost.page(_stage())


def test_a_member_of_a_chord_pays_its_join_its_launch_and_its_reading() -> None:
    # received alone: 1 000 000 writes of the join 0.625, read 0.125; 23 333 launches, one for each page of 30 000 B: two writes each 0.029,
    # put and read 0.126, and the message, invocation, compute, history, and log of each 0.056
    page = cost.page(_stage())
    assert "As members of chords a million tasks cost 0.96 more received alone, 0.36 in batches of 10." in page


def test_events_and_large_values_have_their_prices_on_the_page() -> None:
    page = cost.page(_stage())
    # alone 3 x 0.40 + 0.20 + 12 500 GB-s 0.1667; in tens 0.30 x 0.40 + 0.02 + 0.0167
    assert "A million events add 1.57 to the tasks that they call when each arrives alone, and 0.16 in tens." in page
    assert "are in S3: 5.40 a million." in page
    assert "each KB after the first adds 0.625 a million" in page


@pytest.mark.parametrize(("delivery", "dollars"), [("claimed", 0.625), ("record_once", 0.625), ("at_least_once", 0)])
def test_a_failure_is_one_write_unit_more_where_it_leaves_a_record(delivery: str, dollars: float) -> None:
    failing, fine = (task_cost.total(task_cost.tasks(_stage(), delivery, 10, shape=task_cost.Shape(failed=share))) for share in (1, 0))
    assert failing - fine == pytest.approx(dollars)
    assert "`sedano failures` finds it: 0.625 a million." in cost.page(_stage())


def test_a_million_requests_to_webhooks_cost_what_their_calls_cost() -> None:
    # 0.20 + 12 500 GB-s 0.166668 + (1 000 000 + 2 x 100 000) 0.48 + router 100 000 0.02 + 1 250 GB-s 0.016667
    assert task_cost.total(cost.webhooks(_stage(_of("Lambda::Url")))) == pytest.approx(0.883334, abs=2e-6)
    assert cost.webhooks(_stage()) == []


def test_metrics_of_its_own_are_paid_once_each() -> None:
    asked = [{"Id": "q", "Expression": 'SELECT SUM(TasksPoisoned) FROM "sedano/dev"'}]
    stage = _stage(*[_of("CloudWatch::Alarm", Metrics=asked)] * 2, _of("CloudWatch::Alarm", Namespace="AWS/SQS", MetricName="Age"))
    # one that alarms look at, and three of tasks that end well, fail and are tried again
    assert task_cost.total(cost.working(stage)) == pytest.approx(1.20)


def test_an_alarm_is_paid_for_each_metric_that_it_looks_at() -> None:
    of = {"MetricStat": {"Metric": {"MetricName": "Errors"}}}
    worse = _of("CloudWatch::Alarm", Metrics=[{"Expression": "a - b"}, of, of, of, of])
    assert task_cost.total(cost.idle(_stage(worse, _of("CloudWatch::Alarm", MetricName="Age")))) == pytest.approx(0.50)


def test_counting_by_task_is_told() -> None:
    assert "each task adds up to 0.90 a month" in cost.page(_stage()._replace(by_task=True))
    assert "by task" not in cost.page(_stage())


def test_what_a_worker_logs_of_its_metrics_is_what_is_counted() -> None:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("sedano-worker", "sedano/prod", {}, stream=stream)
    telemetry.count("TasksSucceeded", 10, task="shop.tasks.price")
    telemetry.flush()
    # Lambda's own envelope of a line comes on top: some 100 bytes of a timestamp and a request id.
    assert 0.5 * task_cost.LOGGED < len(stream.getvalue()) + 100 < 1.2 * task_cost.LOGGED


def test_the_page_says_when_the_history_job_runs_and_what_each_minute_of_it_adds() -> None:
    # 2 workers at 0.29 an hour: 0.0097 a minute
    job, minute = _of("Glue::Job", NumberOfWorkers=2), "and each minute of a run, at least one, adds 0.010."
    assert f"The history job is not included. It runs when a user starts it, {minute}" in cost.page(_stage(job))
    hourly = cost.page(_stage(job, _of("Glue::Trigger", Schedule="cron(15 * * * ? *)")))
    assert f"It runs by `cron(15 * * * ? *)`, with or without new events, {minute}" in hourly
    assert "history job" not in cost.page(_stage())


def test_the_page_is_about_what_is_deployed(production: Templates) -> None:
    stage = cost.read(production.directory)
    assert (stage.batch, stage.records, stage.memory_gb) == (10, 100, 0.5)
    counted = {item.name: item.amount for item in cost.idle(stage)}
    assert counted["Lambda asks the queues"] == 648_000 * len(production.of_type("Lambda::EventSourceMapping"))
    alarms = production.of_type("CloudWatch::Alarm").values()
    compared = [one for one in alarms if sum("MetricStat" in part for part in one.get("Metrics", [])) == 4]
    assert len(compared) == len(production.functions()), "each function's release compares four metrics"
    assert counted["alarms, by the metrics that they look at"] == len(alarms) + 3 * len(compared)
    assert len(cost.working(stage)) == 2
    page = (production.directory / "cost.md").read_text()
    assert page == cost.page(stage)
    assert f"{task_cost.total(cost.idle(stage)):.2f}" in page


def _assembly(directory: Path, stacks: dict[str, dict[str, Any]], **nested: str) -> Path:
    """A cloud assembly of these templates, and of others below it."""
    directory.mkdir(parents=True, exist_ok=True)
    artifacts: dict[str, Any] = {"tree": {"type": "cdk:tree"}}
    for name, resources in stacks.items():
        (directory / f"{name}.json").write_text(json.dumps({"Resources": resources}))
        artifacts[name] = {"type": "aws:cloudformation:stack", "properties": {"stackName": name, "templateFile": f"{name}.json"}}
    for name, place in nested.items():
        artifacts[name] = {"type": "cdk:cloud-assembly", "properties": {"directoryName": place, "displayName": name}}
    (directory / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    return directory


CORE = {"M": _of("Lambda::EventSourceMapping", FunctionName="x", BatchSize=10), "T": {"Type": "AWS::SNS::Topic"}}


def test_a_resource_without_properties_costs_nothing(tmp_path: Path) -> None:
    bare = {"Type": "AWS::CloudWatch::Alarm"}
    stage = cost.read(_assembly(tmp_path, {"sedano-dev-core": {"T": {"Type": "AWS::SNS::Topic"}, "A": bare}}))
    assert task_cost.total(cost.idle(stage)) == pytest.approx(0.10)
    assert cost.page(stage)


def test_a_stage_within_a_stage_of_the_cdk_is_counted(tmp_path: Path) -> None:
    _assembly(tmp_path / "nested", {"sedano-prod-core": CORE})
    found = cost.stages(_assembly(tmp_path, {"Theirs": CORE}, Live="nested"))
    assert list(found) == ["Live/prod"]
    assert task_cost.total(cost.idle(found["Live/prod"])) == pytest.approx(0.2592)


def test_two_stages_are_two_bills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assembly = _assembly(tmp_path, {"sedano-dev-core": CORE, "sedano-prod-core": CORE, "Theirs": CORE})
    bills = {name: round(task_cost.total(cost.idle(stage)), 4) for name, stage in cost.stages(assembly).items()}
    assert bills == {"dev": 0.2592, "prod": 0.2592}
    assert cost.read(assembly, "prod") == cost.stages(assembly)["prod"]
    with pytest.raises(ValueError, match="holds the stages dev, prod: give the name of one of them"):
        cost.read(assembly)
    assert cost.main([str(assembly)]) == 0
    assert "Cost of the stage dev" in (page := capsys.readouterr().out)
    assert "Cost of the stage prod" in page


def test_what_is_no_assembly_is_refused_with_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cost.main([]) == cost.main([str(tmp_path)]) == 2
    assert cost.main([str(_assembly(tmp_path, {"Theirs": CORE}))]) == 2
    assert "holds no stage of sedano" in capsys.readouterr().err


def test_the_kept_figures_of_an_idle_month_are_those_of_todays_templates(tmp_path: Path) -> None:
    found = {f"cost/{entry.name}": entry.value for entry in smallest_stage.section(tmp_path).entries}
    held = {name: value for name, value in results().items() if name.startswith("cost/")}
    assert len(held) == 2
    assert {name: found[name] for name in held} == pytest.approx(held, abs=0.005), "run python -m benchmarks.cost and benchmarks.kept"


def test_this_machine_asks_no_money(assembly: Path) -> None:
    assert not (assembly / "cost.md").exists()


def test_a_service_on_fargate_costs_its_least_tasks_all_month_and_the_alarms_by_which_it_is_scaled() -> None:
    # 720 h x (0.5 CPU x 0.03238 + 1 GB x 0.00356 + an address at 0.005) = 17.82 a task; 2 alarms over 3 figures at 0.10 = 0.60 a service
    task = _of("ECS::TaskDefinition", Cpu="512", Memory="1024")
    service = _of("ECS::Service", NetworkConfiguration={"AwsvpcConfiguration": {"AssignPublicIp": "ENABLED"}})
    none, two = (_of("ApplicationAutoScaling::ScalableTarget", MinCapacity=least, MaxCapacity=10) for least in (0, 2))
    assert task_cost.total(cost.idle(_stage(task, service, none))) == pytest.approx(0.60)
    assert task_cost.total(cost.idle(_stage(task, service, two))) == pytest.approx(2 * 17.82 + 0.60)
    private = _of("ECS::Service", NetworkConfiguration={"AwsvpcConfiguration": {"AssignPublicIp": "DISABLED"}})
    assert task_cost.total(cost.idle(_stage(task, private, two))) == pytest.approx(2 * 14.22 + 0.60, abs=0.001)
    assert "Each hour of a task on Fargate adds 0.0248" in cost.page(_stage(task, service, none))
    assert "Fargate" not in cost.page(_stage(MAPPING))
