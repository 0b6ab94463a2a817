"""The stream's function: there only where an app declares a stream, fed by each under its ARN, and with the right to what that takes."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.constructs.streams import READS
from sedano.local import LocalStageError
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.invariants import broken
from tests.infra.template import Templates, read, target
from tests.infra.test_accepted import linted
from tests.infra.test_config import CLICKS, KEY
from tests.infra.test_invariants import EVERYWHERE, IN_PRODUCTION
from tests.infra.test_stream_settings import ORDERS

CODE = Path(__file__).parent / "streamed"
UPLOADS = "arn:aws:sqs:eu-central-1:123456789012:uploads"
STREAMS = {"streams": f"orders={ORDERS},clicks={CLICKS},uploads={UPLOADS}", "stream_keys": f"clicks={KEY},uploads={KEY}x"}
Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]
IN_PROD = {**stage_context("streamed:app", CODE), "local": "false", "stage": "prod"}


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production of an application with streams; `test_accepted` has cdk-nag judge it."""
    return read(synthesise({**IN_PROD, **STREAMS}, tmp_path_factory.mktemp("streamed") / "cdk.out"))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The same application on this machine, where nobody gives an ARN."""
    return read(synthesise(stage_context("streamed:app", CODE), tmp_path_factory.mktemp("local") / "cdk.out"))


def test_an_app_without_streams_has_nothing_that_follows_one(templates: Templates) -> None:
    assert "stream" not in templates.functions()
    assert list(templates.followers()) == []


def test_each_stream_feeds_the_function_which_knows_them_by_name(streamed: Templates) -> None:
    assert sorted(streamed.followers()) == [(ORDERS, "stream"), (CLICKS, "stream")]
    given = streamed.functions()["stream"]["Environment"]["Variables"]["SEDANO_STREAMS"]
    assert json.loads(given) == {"orders": ORDERS, "clicks": CLICKS, "uploads": UPLOADS}


def test_it_may_read_its_streams_send_to_the_queues_of_their_tasks_park_and_keep_large_content(streamed: Templates) -> None:
    actions = {action for statement in streamed.allowed("stream") for action in statement.actions if not action.startswith("logs:")}
    keys = {"ssm:GetParameter", "ssm:PutParameter"}
    assert actions == {*READS["dynamodb"], *READS["kinesis"], *READS["sqs"], *keys, "kms:Decrypt", "sqs:SendMessage", "s3:PutObject"}
    assert all(streamed.may("stream", action) == {ORDERS} for action in READS["dynamodb"])
    assert all(streamed.may("stream", action) == {CLICKS} for action in READS["kinesis"])
    assert all(streamed.may("stream", action) == {UPLOADS} for action in READS["sqs"])
    assert streamed.may("stream", "kms:Decrypt") == {KEY, f"{KEY}x"}, "the keys of the Kinesis stream and of the queue"
    sends = {name.split("Queue")[0] for name in streamed.may("stream", "sqs:SendMessage")}
    assert sends == {"Commandsdefault", "Commandsordersfifo", "Parked"}, "no task of the queue bulk stands on a stream"
    assert streamed.may("stream", "s3:PutObject") == {"SedanoBlobsBucket/*"}


def test_every_rule_that_holds_for_other_stages_holds_for_this_one(streamed: Templates) -> None:
    rules = EVERYWHERE | IN_PRODUCTION
    assert [complaint for rule, kinds in rules.items() for complaint in broken(streamed, rule, kinds)] == []
    assert linted(list(streamed.directory.glob("*.template.json"))) == ""


def test_without_its_streams_it_would_have_nothing_that_feeds_it(streamed: Templates) -> None:
    (loses,) = (rule for rule in EVERYWHERE if rule.__name__ == "loses_no_failure")
    feeds = {"StartingPosition", "ScalingConfig"}
    without = {
        name: one for name, one in streamed.resources.items() if not (name.startswith("Stream") and feeds & set(one.get("Properties", {})))
    }
    (complaint,) = broken(Templates(streamed.directory, without, streamed.outputs), loses, EVERYWHERE[loses])
    assert complaint.startswith("StreamFunction")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"MaximumRetryAttempts": 3}, "gives records up"),
        ({"MaximumRecordAgeInSeconds": 3600}, "gives records up"),
        ({"FilterCriteria": {"Filters": []}}, "passes records over"),
        ({"StartingPosition": "LATEST"}, "passes records over"),
        ({"FunctionResponseTypes": []}, "sends whole batches again"),
        ({"ParallelizationFactor": 2}, "hands over what is in order side by side"),
    ],
)
def test_a_mapping_that_would_lose_or_disorder_records_is_seen(streamed: Templates, changed: dict[str, object], complaint: str) -> None:
    (rule,) = (rule for rule in EVERYWHERE if rule.__name__ == "gives_no_record_up")
    name = next(name for name, one in streamed.resources.items() if "StartingPosition" in one.get("Properties", {}))
    whole = streamed.resources[name]
    planted = {**streamed.resources, name: {**whole, "Properties": {**whole["Properties"], **changed}}}
    assert list(broken(Templates(streamed.directory, planted, streamed.outputs), rule, EVERYWHERE[rule])) == [f"{name} {complaint}"]


def test_a_mapping_keeps_its_name_for_another_one_would_begin_again_with_the_oldest_record(streamed: Templates) -> None:
    names = {name for name, one in streamed.resources.items() if "StartingPosition" in one.get("Properties", {})}
    assert names == {"StreamFromordersMapping9B31BAA6", "StreamFromclicksMapping5995302B"}


def test_somebody_is_told_when_a_stream_is_an_hour_behind_and_the_dashboard_shows_how_far(streamed: Templates) -> None:
    (alarm,) = (one for one in streamed.of_type("CloudWatch::Alarm").values() if one.get("MetricName") == "IteratorAge")
    assert (alarm["Threshold"], alarm["Statistic"], alarm["Namespace"]) == (3_600_000, "Maximum", "AWS/Lambda")
    assert streamed.exported(alarm["Dimensions"][0]["Value"]).startswith("StreamFunction")
    page = json.dumps(streamed.of_type("CloudWatch::Dashboard"))
    assert page.count("IteratorAge") == 1
    assert "StreamsStopped" in page


def _unread(streamed: Templates) -> dict[str, Mapping[str, Any]]:
    return {name: alarm for name, alarm in streamed.of_type("CloudWatch::Alarm").items() if alarm.get("MetricName") == "PolledEventCount"}


def test_somebody_is_told_when_nobody_reads_a_stream_and_of_an_idle_one_nobody(streamed: Templates) -> None:
    """AWS of `PolledEventCount`: "If Lambda polls for events but receives an empty poll (no new records), Lambda emits a 0 value for this
    metric", and "If your event source mapping is disabled, you won't receive event source mapping metrics" (Types of metrics for Lambda
    functions). So a figure, whatever it is, is well, and none is not: what is compared is how many figures there are. Of a mapping whose
    role is refused AWS says no more than that what is "read successfully" is counted."""
    assert {one["Dimensions"][0]["Name"] for one in _unread(streamed).values()} == {"EventSourceMappingUUID"}
    watched = {streamed.exported(one["Dimensions"][0]["Value"]) for one in _unread(streamed).values()}
    assert watched == {"StreamFromordersMapping9B31BAA6", "StreamFromclicksMapping5995302B"}
    for alarm in _unread(streamed).values():
        assert (alarm["Namespace"], alarm["Statistic"], alarm["TreatMissingData"]) == ("AWS/Lambda", "SampleCount", "breaching")
        assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
        assert alarm["Period"] * alarm["EvaluationPeriods"] == 900
    assert json.dumps(streamed.of_type("CloudWatch::Dashboard")).count("PolledEventCount") == 2


@pytest.mark.parametrize("change", [lambda alarm: {**alarm, "TreatMissingData": "notBreaching"}, lambda alarm: {**alarm, "Dimensions": []}])
def test_a_stream_whose_silence_would_not_be_heard_is_seen(streamed: Templates, change: Change) -> None:
    (rule,) = (rule for rule in IN_PRODUCTION if rule.__name__ == "tells_when_nobody_reads")
    (name,) = (name for name in _unread(streamed) if "clicks" in name)
    planted = {**streamed.resources, name: {**streamed.resources[name], "Properties": change(_unread(streamed)[name])}}
    found = list(broken(Templates(streamed.directory, planted, streamed.outputs), rule, IN_PRODUCTION[rule]))
    assert found == ["StreamFromclicksMapping5995302B stops unheard"]


def test_the_cost_page_tells_what_records_cost_and_asks_for_nothing_of_an_idle_stream_but_its_metrics(streamed: Templates) -> None:
    page = (streamed.directory / "cost.md").read_text()
    assert "A million records of streams add 0.37 to the tasks that they call when each arrives alone, 0.00 in batches of 100" in page
    assert "| metrics by which a stream is seen to be read | 2 | 0.600 |" in page
    assert "| metrics of streams, at most | 10 | 3.000 |" in page
    queues = len([*streamed.sources(), *streamed.foreign()])
    assert f"| Lambda asks the queues | {queues * 648_000:,} |" in page


def test_on_this_machine_a_table_stands_for_a_stream_that_nobody_gives(local: Templates) -> None:
    tables = {target(stream) for stream, function in local.followers() if function == "stream"}
    assert {local.resources[name]["Type"] for name in tables} == {"AWS::DynamoDB::Table"}
    assert len(tables) == 2
    for name in tables:
        assert local.resources[name]["Properties"]["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
        assert name in json.dumps(local.outputs["SedanoStreamTables"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {},
            "streams: '' cannot be used; expected clicks= and the ARN of the stream beside it, for streamed.seen of streamed:app",
        ),
        (
            {"streams": f"clicks={CLICKS}"},
            "orders= and the ARN of the stream beside it, for streamed.ordered and streamed.seen of",
        ),
        (
            {"streams": f"order={ORDERS}"},
            "streams: 'order' cannot be used; expected one of the streams of streamed:app: clicks, orders, uploads",
        ),
        (
            {"streams": f"clicks={ORDERS},orders={CLICKS},uploads={UPLOADS}"},
            "the stream of a table, because streamed.ordered asks for operations= of one",
        ),
    ],
)
def test_a_stream_without_an_address_or_an_address_without_a_stream_is_refused(given: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(LocalStageError) as refused:
        synthesise({**IN_PROD, **given}, tmp_path / "cdk.out")
    assert said in str(refused.value)
    assert "Traceback" not in str(refused.value)


def _reading(templates: Templates, arn: object) -> Mapping[str, Any]:
    """The mapping that reads the source *arn*."""
    mappings = templates.of_type("Lambda::EventSourceMapping").values()
    return next(one for one in mappings if one["EventSourceArn"] == arn)


def test_a_foreign_queue_is_read_in_batches_of_ten_and_only_what_was_not_sent_stays_in_it(streamed: Templates) -> None:
    mapping = _reading(streamed, UPLOADS)
    assert (mapping["BatchSize"], mapping["FunctionResponseTypes"]) == (10, ["ReportBatchItemFailures"])
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 10}
    assert "StartingPosition" not in mapping


def test_somebody_is_told_when_a_foreign_queue_is_an_hour_behind_and_the_dashboard_shows_how_far(streamed: Templates) -> None:
    named = [{"Name": "QueueName", "Value": "uploads"}]
    found = [one for one in streamed.of_type("CloudWatch::Alarm").values() if one.get("Dimensions") == named]
    ((age, threshold, words),) = ((one["MetricName"], one["Threshold"], one["AlarmDescription"]) for one in found)
    assert (age, threshold) == ("ApproximateAgeOfOldestMessage", 3_600)
    assert "the stream function's log says which" in words.lower()
    assert "Foreign queues: age of the oldest message, seconds" in json.dumps(streamed.of_type("CloudWatch::Dashboard"))


def test_on_this_machine_a_queue_replaces_one_that_nobody_names(local: Templates) -> None:
    (output,) = (value for name, value in local.outputs.items() if name == "SedanoStreamQueues")
    assert "uploads" in json.dumps(output)
    queues = [one for name, one in local.of_type("SQS::Queue").items() if name.startswith("Streamuploads")]
    assert [one["VisibilityTimeout"] for one in queues] == [36], "six times the function's time limit"


@pytest.mark.parametrize(
    ("streams", "complaint"),
    [
        (f"orders={ORDERS},clicks={CLICKS},uploads={CLICKS}x", "the ARN of a queue, because @app.stream('uploads') has reads=\"s3\""),
        (f"orders={UPLOADS}x,clicks={CLICKS},uploads={UPLOADS}", "the stream of a table, because streamed.ordered asks for operations="),
        (f"orders={ORDERS},clicks={CLICKS}", "uploads= and the ARN of the stream beside it"),
    ],
)
def test_a_place_of_another_kind_is_refused_before_anything_is_deployed(streams: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(LocalStageError) as refused:
        synthesise({**IN_PROD, "streams": streams}, tmp_path / "cdk.out")
    assert complaint in str(refused.value)
