"""The grants of people: each call that a page, a change or a purge makes is allowed to the role that may make it."""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import botocore.session
import pytest

from infra.constructs.operators import ADMIN, OPERATOR, SETTINGS_KEYS, VIEWER, Actions
from sedano import Breaker, Sedano, every
from sedano.aws.client.session import Session
from sedano.aws.deployment import ports_of
from sedano.aws.settings import from_environment
from sedano.cli.consent import Consent
from sedano.cli.operations import purge
from sedano.engine.history.recorder import Recorder
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import RECORDS, Outgoing, Ports, command_queue, deadlines
from sedano.views.screens import SCREENS, ScreenQuery, screen
from sedano.web.changes import Change, Changes
from tests.infra.template import Templates, listed, target
from tests.infra.test_sedano_stacks import composed, foreign, wheel
from tests.plugins.resources import Resources

__all__ = ["composed", "foreign", "wheel"]
COMMANDS = command_queue("default")
UNSEEN: Mapping[str, str] = {
    "cloudformation:DescribeStacks stacks": "the command line asks before it connects",
    "s3:GetObject values": "a task with a long result", "s3:ListBucket blobs": "a value that is not there",
    "s3:PutObject values": "a message that is too long for its queue", "sqs:SendMessage topics": "a parked event",
    "scheduler:GetSchedule timers": "a task that waits for longer than a queue holds it",
}  # fmt: skip
"""Grants that the walk below does not use, and the calls that do."""


class People:
    """An app over moto; the calls of the ports that its pages use are noted as an action and a kind of resource."""

    def __init__(self, resources: Resources) -> None:
        """Make the app: two tasks, one of which fails."""
        self.settings, self.noted = resources.settings, set[str]()
        self.app = Sedano("people", queues=("default", "bulk"))
        self.app.task(name="people.fail", retry=False, concurrency=2, circuit=Breaker(failures=9, shared=True))(_fail)
        self.app.periodic(every(3_600), name="people.dust")(_dust)
        self.worker_ports, self.ports = self._over(resources), self._over(resources, self._note)
        self.app.attach(self.ports)

    def _over(self, resources: Resources, note: Callable[..., None] | None = None) -> Ports:
        source = botocore.session.Session()
        source.set_credentials("test", "test")
        source.set_config_variable("region", resources.session.region_name)
        if note is not None:
            source.register("provide-client-params.*.*", note)
        settings = {**self.settings, "SEDANO_TIMERS_GROUP": "timers", "SEDANO_TIMERS_ROLE": "arn:aws:iam::123456789012:role/timers"}
        with deadlines.chosen(deadlines.MOST_S):  # the first call makes the client and loads moto's service: seconds on a busy machine
            return ports_of(from_environment(settings), "client", Session(lambda: source))

    def _note(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        if model.name == "TransactWriteItems":  # IAM asks for the action of each of its parts
            parts = [(f"{name}Item", one) for part in params["TransactItems"] for name, one in part.items()]
            self.noted |= {f"dynamodb:{action} {self._kind(one, action)}" for action, one in parts}
            return
        service, operation = model.service_model.service_name, model.name.removesuffix("Batch")
        action = {"ListObjectsV2": "ListBucket"}.get(operation, operation)
        kind = self._kind(params, action)
        self.noted.add(f"{service}:{'BatchGetItem' if model.name == 'BatchGetItem' else action} {kind}")

    def _kind(self, params: Mapping[str, Any], action: str) -> str:
        tables = {self.settings["SEDANO_LEDGER_TABLE"]: "ledger", self.settings["SEDANO_CONTROL_TABLE"]: "control"}
        if "RequestItems" in params:
            return "+".join(tables[one] for one in params["RequestItems"])
        if "TableName" in params:
            key = params.get("Key", {}).get("pk", {}).get("S", "")
            written = action == "UpdateItem" and any(fnmatchcase(key, one) for one in SETTINGS_KEYS)
            found = tables[params["TableName"]]
            return params.get("IndexName") or ("settings" if written and found == "control" else found)
        if "Bucket" in params:
            bucket = "history" if params["Bucket"] == self.settings["SEDANO_HISTORY_BUCKET"] else "blobs"
            return bucket if action == "ListBucket" else {"history": "events", "blobs": "values"}[bucket]
        if "QueueUrl" in params:
            own = {self.settings["SEDANO_PARKED_QUEUE"]: "parked", self.settings["SEDANO_RECORDS_QUEUE"]: "records"}
            return own.get(params["QueueUrl"], "commands")
        if "MetricDataQueries" in params:
            return "metrics"
        return "keys" if "Name" in params and "GroupName" not in params else "timers"

    def work(self) -> None:
        """Let a worker receive once from the command queue, and the recorder write the history."""
        worker = Worker(self.app.registry, self.worker_ports, Host("worker", 1), WorkerSettings(lanes=0), self.app.run_loop())
        deliveries = self.worker_ports.queues.receive(COMMANDS)
        deadline = self.worker_ports.clock.now() + 30
        worker.work(deliveries, deadline)
        self.worker_ports.queues.delete(deliveries)
        Recorder(self.worker_ports, Host("recorder", 2)).record(self.worker_ports.queues.receive(RECORDS), deadline)

    def calls(self, doing: Callable[[], Any]) -> set[str]:
        """Return the actions that *doing* needs, each with its kind of resource."""
        self.noted.clear()
        doing()
        return set(self.noted)

    def change(self, change: Change) -> Callable[[], Any]:
        """Return what plans and makes *change* as a page does."""
        changes = Changes(self.app, lambda _: None)

        def make() -> None:
            plan = changes.plan(change)
            assert not plan.hindrance
            assert not changes.make(plan, "a test").left

        return make


def _fail() -> None:
    raise ValueError("no")


def _dust() -> None:
    """Dust the shelves."""


@pytest.fixture
def people(resources: Resources) -> Iterator[People]:
    """A stage on which a task failed, a message is parked, and a lock is held."""
    found = People(resources)
    found.app.send_task("people.fail", task_id="failed")
    found.work()
    found.worker_ports.queues.send(COMMANDS, [Outgoing("{")])
    found.work()
    found.worker_ports.queues.send(command_queue("bulk"), [Outgoing("{")])
    yield found
    found.app.attach(None)


def granted(*roles: Actions) -> set[str]:
    """Return everything that *roles* allow."""
    return {f"{action} {kind}" for role in roles for kind, actions in role.items() for action in actions}


def test_each_role_may_make_the_calls_of_its_pages_and_changes_and_no_grant_is_idle(people: People) -> None:
    lock = people.app.lock("nightly", duration=60).acquire()
    looked = set[str]()
    for name in SCREENS:
        asked = ScreenQuery(name, id="failed", query="nightly" if name == "locks" else "")
        looked |= people.calls(lambda asked=asked: screen(people.app, asked))  # type: ignore[misc]
    operated = set[str]()
    for change in (
        Change("retry", "id", "failed"), Change("revoke", "id", "other"), Change("pause", "queue", "default"),
        Change("resume", "queue", "default"), Change("pause", "task", "people.fail"), Change("pause", "schedule", "people.dust"),
        Change("resume", "schedule", "people.dust"), Change("trigger", "schedule", "people.dust"),
        Change("limit", "concurrency", "people.fail", "1"), Change("redrive", "all", "all"),
    ):  # fmt: skip
        operated |= people.calls(people.change(change))
    administered = people.calls(people.change(Change("release", "lock", "nightly", str(lock.token))))
    administered |= people.calls(lambda: purge(people.app, "bulk", Consent(False, True, "a test", True, "dev")))
    assert looked - granted(VIEWER) == set()
    assert operated - granted(VIEWER, OPERATOR) == set()
    assert administered - granted(VIEWER, OPERATOR) == {
        "dynamodb:UpdateItem control", "sqs:ReceiveMessage commands", "sqs:DeleteMessage commands",
    }  # fmt: skip
    assert administered - granted(VIEWER, OPERATOR, ADMIN) == set()
    assert granted(VIEWER, OPERATOR, ADMIN) - looked - operated - administered == set(UNSEEN)


ROLES = {"WebViewer": (VIEWER,), "WebOperator": (VIEWER, OPERATOR), "WebAdmin": (VIEWER, OPERATOR, ADMIN)}


@pytest.mark.parametrize("name", ROLES)
def test_a_role_of_people_has_its_grants_on_the_stage_alone(name: str, foreign: Templates) -> None:
    (role,) = [one for one, made in foreign.resources.items() if made["Type"] == "AWS::IAM::Role" and one.startswith(name)]
    said = [one for one in foreign.of_type("IAM::Policy").values() if role in [target(each) for each in one["Roles"]]]
    statements = [each for policy in said for each in policy["PolicyDocument"]["Statement"]]
    assert {action for one in statements for action in listed(one["Action"])} == {one.split()[0] for one in granted(*ROLES[name])}
    everywhere = [one["Action"] for one in statements if "*" in listed(one["Resource"])]
    assert everywhere == ["cloudwatch:GetMetricData"], "the one action that IAM can grant for no resource alone"
    narrowed = [one["Condition"] for one in statements if "Condition" in one]
    keys = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [*SETTINGS_KEYS]}, "Null": {"dynamodb:LeadingKeys": "false"}}
    assert narrowed == ([] if name == "WebViewer" else [keys])
