"""An application with many queues is deployable or refused in words: no policy of it is too large, no finding of it without a reason."""

import json
from dataclasses import replace
from pathlib import Path

import aws_cdk as cdk
import pytest

from infra import limits, nag
from infra.application import Application, application
from infra.config import StageConfig
from infra.constructs.function import Content, Function
from infra.places import FUNCTIONS
from infra.sedano_stacks import FLAGS
from infra.stacks.core import CoreStack
from infra.stacks.state import StateStack
from infra.templates import templates
from tests.plugins.resources import CODE
from tests.strict_aws.templates import problems

COUNTS = range(18, 61)
PROD = StageConfig(stage="prod", account="123456789012", region="ap-southeast-1")


def _names(count: int) -> tuple[str, ...]:
    """As many queues, with names of the usual length."""
    return ("default", *(f"department-{number}-high" for number in range(1, count)))


def _app(directory: Path) -> cdk.App:
    app = cdk.App(outdir=str(directory), context={"@aws-cdk/core:stackResourceLimit": 0, **FLAGS})
    nag.check(app)
    return app


def _worker(app: cdk.App, count: int) -> None:
    """Add a stack with a function that may receive from *count* queues, send to them, and touch objects."""
    stack = cdk.Stack(app, f"with-{count}", env=cdk.Environment(account="123456789012", region="eu-central-1"))
    worker = Function(stack, "Worker", config=PROD, content=Content(FUNCTIONS / "worker", [], {}))
    arns = [f"arn:aws:sqs:eu-central-1:123456789012:{'q' * 70}{number}" for number in range(count)]
    for arn in arns:
        worker.allow(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"], arn)
    worker.allow(["sqs:SendMessage"], *arns)
    worker.allow_objects(["s3:GetObject"], f"arn:aws:s3:::{stack.stack_name}/*", reason="Keys are hashes, so they cannot be listed.")
    worker.allow_objects(["s3:PutObject"], "arn:aws:s3:::history/events/*", reason="Keys are hashes, so they cannot be listed.")


def test_the_role_of_a_worker_is_deployable_with_every_number_of_queues(tmp_path: Path) -> None:
    app = _app(tmp_path)
    for count in COUNTS:
        _worker(app, count)
    app.synth()  # raises for a finding that no reason accepts
    found = templates(tmp_path)
    assert len(found) == len(COUNTS)
    assert [trip for text in found.values() for trip in problems(text)] == []
    assert _split_into(found["with-60"]) >= 1, "the largest one is split, or this shows nothing"


def _split_into(text: str) -> int:
    return [one["Type"] for one in json.loads(text)["Resources"].values()].count("AWS::IAM::ManagedPolicy")


#: How many queues of a stage are deployable: what an app with a controller and schedules may have, and one without.
CASES = {(26, True): True, (45, True): True, (50, True): False, (60, False): True, (80, False): True, (90, False): False}


def _production(app: cdk.App, declared: Application, count: int, tended: bool) -> None:
    """Add the stacks of a production stage with *count* queues."""
    scope = cdk.Stage(app, f"{'tended' if tended else 'plain'}-{count}")
    schedules = ("each-hour",) if tended else ()
    asked = replace(declared.declared, queues=_names(count), tended=tended, schedules=schedules)
    state = StateStack(scope, config=PROD)
    CoreStack(scope, config=PROD, application=replace(declared, declared=asked), state=state)


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Production of one application with many queues, in several numbers. Judged: a finding without a reason fails the synthesis."""
    directory, declared = tmp_path_factory.mktemp("many"), application("tiny:app", CODE, PROD)
    app = _app(directory)
    for count, tended in CASES:
        _production(app, declared, count, tended)
    app.synth()
    return directory


@pytest.mark.parametrize(("count", "tended"), CASES)
def test_production_with_many_queues_is_deployable_or_refused_in_words(assembly: Path, count: int, tended: bool) -> None:
    stage = f"{'tended' if tended else 'plain'}-{count}/"
    found = {name: text for name, text in templates(assembly).items() if name.startswith(stage)}
    refused = [one for name, text in found.items() for one in limits.of_template(name, json.loads(text), len(text.encode()))]
    beyond = [trip for text in found.values() for trip in problems(text)]
    assert bool(refused) != CASES[count, tended], refused
    assert refused or not beyond, "what AWS would refuse is refused beforehand"
    assert all("declare fewer queues, or deploy two applications" in problem for problem in refused)


def test_the_rights_of_a_host_are_in_as_many_policies_as_iam_takes_of_that_length(tmp_path: Path) -> None:
    app, own = _app(tmp_path), replace(PROD, served_by={"default": "process"})
    asked = replace((found := application("tiny:app", CODE, PROD)), declared=replace(found.declared, queues=_names(60)))
    scope = cdk.Stage(app, "processes")
    CoreStack(scope, config=own, application=asked, state=StateStack(scope, config=own))
    app.synth()  # raises for a finding that no reason accepts
    text = next(text for text in templates(tmp_path).values() if "sedano worker on default" in text)
    template = json.loads(text)
    attached = {name: one["Properties"] for name, one in template["Resources"].items() if name.startswith("ProcessesPolicydefault")}
    sizes = [len(json.dumps(one["PolicyDocument"])) for one in attached.values()]
    assert len(attached) > 1, f"nothing had to be split, or this shows nothing: {sizes}"
    assert [trip for trip in problems(text) if trip.limit == "iam.managed"] == []
    outputs = {name for name in template["Outputs"] if name.startswith("WorkerPolicyArn")}
    assert outputs == {"WorkerPolicyArnDefault", *(f"WorkerPolicyArnDefaultPart{number}" for number in range(2, len(attached) + 1))}
    sent = [one for policy in attached.values() for one in policy["PolicyDocument"]["Statement"] if "sqs:SendMessage" in one["Action"]]
    assert sum(len(one["Resource"]) for one in sent) == 60 + 3, "to each queue, to events, records and parked"
