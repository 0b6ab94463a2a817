"""What no function may do: a list of calls, each of which the endpoint refuses to each role that is not made for it."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sedano.local.endpoint import REGION

Clients = Callable[[str], Any]
CHANGING = ("worker", "scheduler", "controller", "pipeline")
"""Who writes to the control table."""
PARKING = ("worker", "router", "recorder", "webhook", "stream")
"""Who sets messages aside and marks them."""


class Call(NamedTuple):
    """One call that is refused: what it would be good for, who may make it all the same, and how it is made."""

    purpose: str
    service: str
    operation: str
    arguments: Mapping[str, Any]
    allowed: tuple[str, ...] = ()


class Deployed(NamedTuple):
    """What calls are made on: a stage's settings, its queues by kind, its roles and functions by name, the account."""

    settings: Mapping[str, str]
    queues: Mapping[str, str]
    roles: Mapping[str, str]
    functions: Mapping[str, str]
    account: str


def calls(deployed: Deployed) -> list[Call]:
    """Every forbidden call on a stage."""
    settings = deployed.settings
    ledger, control = settings["SEDANO_LEDGER_TABLE"], settings["SEDANO_CONTROL_TABLE"]
    blobs, history = settings["SEDANO_BLOBS_BUCKET"], settings["SEDANO_HISTORY_BUCKET"]
    return [
        *_of_tables(ledger, control),
        *_of_streams(json.loads(settings["SEDANO_STREAM_TABLES"])["orders"], deployed.account),
        *_of_buckets(blobs, history, f"cdk-hnb659fds-assets-{deployed.account}-{REGION}"),
        *_of_queues(deployed.queues, settings["SEDANO_PARKED_QUEUE"]),
        *_of_power(deployed.account, deployed.roles),
        *_of_functions(deployed.functions),
    ]


def _of_tables(ledger: str, control: str) -> list[Call]:
    key, item = {"pk": {"S": "task#1"}}, {"pk": {"S": "task#1"}}
    return [
        *(Call(f"delete the {table}", "dynamodb", "delete_table", {"TableName": table}) for table in (ledger, control)),
        Call("read the whole ledger", "dynamodb", "scan", {"TableName": ledger}),
        Call("read all that is controlled", "dynamodb", "scan", {"TableName": control}),
        *(
            Call(f"forget an item of the {table}", "dynamodb", "delete_item", {"TableName": table, "Key": key})
            for table in (ledger, control)
        ),
        Call("read a task's record", "dynamodb", "get_item", {"TableName": ledger, "Key": key}, ("worker", "scheduler", "controller")),
        Call("write a task's record", "dynamodb", "put_item", {"TableName": ledger, "Item": item}, ("worker",)),
        Call("change a task's record", "dynamodb", "update_item", {"TableName": ledger, "Key": key}, ("worker",)),
        Call("read a lease", "dynamodb", "get_item", {"TableName": control, "Key": key}, ("worker", "controller", "pipeline")),
        Call("change a lease", "dynamodb", "update_item", {"TableName": control, "Key": key}, CHANGING),
        # The recorder may put roll-ups alone, by a condition on the keys that AWS knows and the endpoint does not.
        Call("take a lease", "dynamodb", "put_item", {"TableName": control, "Item": item}, ("worker", "recorder")),
        Call("read another application's table", "dynamodb", "get_item", {"TableName": "others", "Key": key}),
    ]


def _of_streams(table: str, account: str) -> list[Call]:
    """No reading of a table's stream: the endpoint authorises that on no resource, so it refuses it even to the function that may."""
    clicks = {"StreamARN": f"arn:aws:kinesis:{REGION}:{account}:stream/clicks"}
    another = {"StreamARN": f"arn:aws:kinesis:{REGION}:{account}:stream/others"}
    item = {"TableName": table, "Item": {"id": {"S": "o1"}}}
    off = {"TableName": table, "StreamSpecification": {"StreamEnabled": False}}
    return [
        Call("write to a table that is followed", "dynamodb", "put_item", item),
        Call("read a table that is followed", "dynamodb", "scan", {"TableName": table}),
        Call("turn a table's stream off", "dynamodb", "update_table", off),
        Call("read what a stream is", "kinesis", "describe_stream", clicks, ("stream",)),
        Call("read another stream", "kinesis", "describe_stream", another),
        Call("write to a stream that is followed", "kinesis", "put_record", {**clicks, "PartitionKey": "k", "Data": b"x"}),
        Call("delete a stream", "kinesis", "delete_stream", clicks),
    ]


def _of_buckets(blobs: str, history: str, code: str) -> list[Call]:
    return [
        Call("delete a large value", "s3", "delete_object", {"Bucket": blobs, "Key": "k"}),
        Call("read a large value", "s3", "get_object", {"Bucket": blobs, "Key": "k"}, ("worker", "router")),
        Call("read the history", "s3", "get_object", {"Bucket": history, "Key": "events/k"}, ("pipeline",)),
        Call("rewrite the history", "s3", "put_object", {"Bucket": history, "Key": "events/k"}, ("recorder",)),
        Call("write the history's tables", "s3", "put_object", {"Bucket": history, "Key": "history/k"}, ("pipeline",)),
        Call("delete the history's tables", "s3", "delete_object", {"Bucket": history, "Key": "history/k"}, ("pipeline",)),
        Call("write where nothing belongs", "s3", "put_object", {"Bucket": history, "Key": "k"}),
        Call("read what others deployed", "s3", "get_object", {"Bucket": code, "Key": "others.zip"}),
        Call("list what was deployed", "s3", "list_objects_v2", {"Bucket": code}),
        Call("put code in place of what was deployed", "s3", "put_object", {"Bucket": code, "Key": "others.zip"}),
        Call("delete history", "s3", "delete_object", {"Bucket": history, "Key": "events/k"}),
        Call("delete the bucket", "s3", "delete_bucket", {"Bucket": history}),
        Call("open the bucket", "s3", "delete_public_access_block", {"Bucket": blobs}),
    ]


def _of_queues(queues: Mapping[str, str], parked: str) -> list[Call]:
    consumers = {"commands": ("worker",), "events": ("router",), "records": ("recorder",), "notes": ("stream",)}
    senders: dict[str, tuple[str, ...]] = {
        "notes": (),
        "commands": ("worker", "router", "scheduler", "timers", "stream"),
        "events": ("worker", "controller", "webhook"),
        "records": ("worker", "router"),
        "parked": ("worker", "router", "recorder", "timers", "webhook", "stream"),
    }
    everyone = {**queues, "parked": parked}
    return [
        *(
            Call(f"take from {kind}", "sqs", "receive_message", {"QueueUrl": url}, consumers.get(kind, ()))
            for kind, url in everyone.items()
        ),
        *(Call(f"empty {kind}", "sqs", "purge_queue", {"QueueUrl": url}) for kind, url in everyone.items()),
        *(Call(f"delete {kind}", "sqs", "delete_queue", {"QueueUrl": url}) for kind, url in everyone.items()),
        *(
            Call(f"send to {kind}", "sqs", "send_message", {"QueueUrl": url, "MessageBody": "x"}, senders[kind])
            for kind, url in everyone.items()
        ),
        *(Call(f"open {kind}", "sqs", "set_queue_attributes", {"QueueUrl": url, "Attributes": {}}) for kind, url in everyone.items()),
    ]


def _of_power(account: str, roles: Mapping[str, str]) -> list[Call]:
    role = f"arn:aws:iam::{account}:role/{roles['worker']}"
    policy = {"RoleName": roles["worker"], "PolicyName": "more", "PolicyDocument": '{"Version":"2012-10-17","Statement":[]}'}
    at = {"ScheduleExpression": "at(2030-01-01T00:00:00)", "FlexibleTimeWindow": {"Mode": "OFF"}}
    send = {"Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage", "RoleArn": role, "Input": "{}"}
    return [
        Call("give itself more", "iam", "put_role_policy", policy),
        Call("become another role", "sts", "assume_role", {"RoleArn": role, "RoleSessionName": "other"}),
        Call("read a secret", "secretsmanager", "get_secret_value", {"SecretId": "any"}),
        Call("read a parameter", "ssm", "get_parameter", {"Name": "/any"}),
        Call("read the secret of another webhook", "ssm", "get_parameter", {"Name": "/sedano/dev/webhooks/other"}),
        Call("read a webhook's secret", "ssm", "get_parameter", {"Name": "/sedano/dev/webhooks/walks"}, ("webhook",)),
        Call("read the stage's keys", "ssm", "get_parameter", {"Name": "/sedano/dev/keys"}, PARKING),
        Call("forget the stage's keys", "ssm", "delete_parameter", {"Name": "/sedano/dev/keys"}),
        Call("read another stage's keys", "ssm", "get_parameter", {"Name": "/sedano/other/keys"}),
        Call("make another stage's keys", "ssm", "put_parameter", {"Name": "/sedano/other/keys", "Value": "mine", "Type": "String"}),
        Call("change a webhook's secret", "ssm", "put_parameter", {"Name": "/sedano/dev/webhooks/walks", "Value": "mine"}),
        # On AWS the worker's own group alone; the endpoint authorises every schedule as one of the group `default`.
        Call("set a timer", "scheduler", "create_schedule", {"Name": "any", "Target": send, **at}, ("worker", "scheduler")),
        Call("delete a timer", "scheduler", "delete_schedule", {"Name": "any"}, ("worker",)),
        Call("start another job", "glue", "start_job_run", {"JobName": "any"}),
        Call("hide its traces", "logs", "delete_log_group", {"logGroupName": "/aws/cloudformation/any"}),
        Call("change the stack", "cloudformation", "delete_stack", {"StackName": "sedano-dev-core"}),
    ]


def _of_functions(functions: Mapping[str, str]) -> list[Call]:
    """No call that changes a mapping: the endpoint authorises none of those."""
    minutes = {"scheduler": ("eachminute",), "controller": ("controleachminute",)}
    worker, router = ({"FunctionName": functions[one]} for one in ("worker", "router"))
    return [
        *(Call(f"call the {one}", "lambda", "invoke", {"FunctionName": name}, minutes.get(one, ())) for one, name in functions.items()),
        Call("change code", "lambda", "update_function_code", {**worker, "ZipFile": b"x"}),
        Call("let code in at once", "lambda", "update_alias", {**router, "Name": "live", "FunctionVersion": "1"}),
        Call("turn a function off", "lambda", "put_function_concurrency", {**worker, "ReservedConcurrentExecutions": 0}),
        Call("read what the mappings are", "lambda", "list_event_source_mappings", {}),
    ]
