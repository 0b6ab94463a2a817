"""Calls at the limits of AWS, and calls that AWS refuses at any size: what the strict AWS is tried with."""

from collections.abc import Callable, Mapping
from typing import Any

from sedano.testing.strict_aws.dynamodb_values import item_size
from sedano.testing.strict_aws.services import ARN_BEFORE

URL = "https://sqs.eu-central-1.amazonaws.com/1/commands"
FIFO = f"{URL}.fifo"
QUEUE_ARN = "arn:aws:sqs:eu-central-1:111122223333:q"
TABLE = "table"
KEY = {"pk": {"S": "k"}}
Case = tuple[str, str, Callable[[int], dict[str, Any]]]


def put(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"TableName": TABLE, "Item": {**KEY, **item}}


def update(text: str, **more: Any) -> dict[str, Any]:
    return {"TableName": TABLE, "Key": KEY, "UpdateExpression": text, **more}


def condition(text: str, **more: Any) -> dict[str, Any]:
    return {**put({}), "ConditionExpression": text, **more}


def filled(size: int) -> dict[str, Any]:
    """A put whose item has exactly *size* bytes."""
    return put({"a": {"S": "x" * (size - item_size(KEY) - 1)}})


def nested(depth: int) -> dict[str, Any]:
    """A put with a value that is nested so deep."""
    value: dict[str, Any] = {"S": "x"}
    for _ in range(depth):
        value = {"L": [value]}
    return put({"a": value})


def valued(size: int) -> dict[str, Any]:
    """A condition whose substitution variables have so many bytes."""
    return condition("a = :a", ExpressionAttributeValues={":a": {"S": "x" * (size - 2)}})


def transacted(count: int) -> dict[str, Any]:
    return {"TransactItems": [{"Delete": {"TableName": TABLE, "Key": {"pk": {"S": str(number)}}}} for number in range(count)]}


def transacted_bytes(size: int) -> dict[str, Any]:
    """A transaction whose items have so many bytes together: eleven full ones and the rest."""
    sizes = [380_000] * 11
    sizes.append(size - sum(sizes))
    items = [{"pk": {"S": f"{number:02d}"}, "a": {"S": "x" * (one - 5)}} for number, one in enumerate(sizes)]
    assert sum(map(item_size, items)) == size
    return {"TransactItems": [{"Put": {"TableName": TABLE, "Item": item}} for item in items]}


def got(count: int) -> dict[str, Any]:
    return {"RequestItems": {TABLE: {"Keys": [{"pk": {"S": str(number)}} for number in range(count)]}}}


def written(count: int) -> dict[str, Any]:
    return {"RequestItems": {TABLE: [{"DeleteRequest": {"Key": {"pk": {"S": str(number)}}}} for number in range(count)]}}


def stated(count: int) -> dict[str, Any]:
    return {"Statements": [{"Statement": "UPDATE t SET a=1 WHERE pk='1'"}] * count}


def sent(body: str = "x", url: str = URL, **more: Any) -> dict[str, Any]:
    return {"QueueUrl": url, "MessageBody": body, **more}


def batch(sizes: list[int], **more: Any) -> dict[str, Any]:
    return {"QueueUrl": URL, "Entries": [{"Id": str(number), "MessageBody": "x" * size, **more} for number, size in enumerate(sizes)]}


def attributed(count: int) -> dict[str, Any]:
    return sent(MessageAttributes={f"a{number}": {"DataType": "String", "StringValue": "x"} for number in range(count)})


def named(length: int) -> dict[str, Any]:
    return sent(MessageAttributes={"a" * length: {"DataType": "String", "StringValue": "x"}})


def scheduled(text: str) -> dict[str, Any]:
    return {"Name": "n", "ScheduleExpression": "at(2026-12-01T00:00:00)", "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": QUEUE_ARN, "RoleArn": "arn:aws:iam::111122223333:role/r", "Input": text}}  # fmt: skip


def parameter(length: int, **more: str) -> dict[str, Any]:
    return {"Name": "/sedano/dev/x", "Value": "x" * length, "Type": "String", **more}


def function(**given: Any) -> dict[str, Any]:
    return {"FunctionName": "f", **given}


LIMITED: list[Case] = [
    ("dynamodb.item", "dynamodb.PutItem", filled),
    ("dynamodb.item", "dynamodb.UpdateItem", lambda n: update("SET a = :a", ExpressionAttributeValues={":a": {"S": "x" * (n - 3)}})),
    ("dynamodb.pk", "dynamodb.GetItem", lambda n: {"TableName": TABLE, "Key": {"pk": {"S": "x" * n}}}),
    ("dynamodb.sk", "dynamodb.GetItem", lambda n: {"TableName": TABLE, "Key": {**KEY, "sk": {"S": "x" * n}}}),
    ("dynamodb.nesting", "dynamodb.PutItem", nested),
    ("dynamodb.digits", "dynamodb.PutItem", lambda n: put({"a": {"N": "1" * n}})),
    ("dynamodb.expression", "dynamodb.PutItem", lambda n: condition(f"attribute_exists({'a' * (n - 18)})")),
    ("dynamodb.operators", "dynamodb.PutItem", lambda n: condition("NOT " * (n % 2 == 0) + " AND ".join(["a=b"] * ((n + 1) // 2)))),
    ("dynamodb.in", "dynamodb.PutItem", lambda n: condition(f"a IN ({','.join(['b'] * n)})")),
    ("dynamodb.substitutions", "dynamodb.PutItem", valued),
    ("dynamodb.placeholder", "dynamodb.PutItem",
     lambda n: condition(f"attribute_exists(#{'a' * (n - 1)})", ExpressionAttributeNames={f"#{'a' * (n - 1)}": "x"})),
    ("dynamodb.batch_get", "dynamodb.BatchGetItem", got),
    ("dynamodb.batch_write", "dynamodb.BatchWriteItem", written),
    ("dynamodb.transact", "dynamodb.TransactWriteItems", transacted),
    ("dynamodb.transact_bytes", "dynamodb.TransactWriteItems", transacted_bytes),
    ("dynamodb.partiql", "dynamodb.BatchExecuteStatement", stated),
    ("dynamodb.statement", "dynamodb.BatchExecuteStatement", lambda n: {"Statements": [{"Statement": "UPDATE " + "t" * (n - 7)}]}),
    ("sqs.entries", "sqs.SendMessageBatch", lambda n: batch([1] * n)),
    ("sqs.message", "sqs.SendMessage", lambda n: sent("x" * n)),
    ("sqs.total", "sqs.SendMessageBatch", lambda n: batch([n // 2, n - n // 2])),
    ("sqs.attributes", "sqs.SendMessage", attributed),
    ("sqs.delay", "sqs.SendMessage", lambda n: sent(DelaySeconds=n)),
    ("sqs.visibility", "sqs.ChangeMessageVisibility", lambda n: {"QueueUrl": URL, "ReceiptHandle": "r", "VisibilityTimeout": n}),
    ("sqs.wait", "sqs.ReceiveMessage", lambda n: {"QueueUrl": URL, "WaitTimeSeconds": n}),
    ("sqs.most", "sqs.ReceiveMessage", lambda n: {"QueueUrl": URL, "MaxNumberOfMessages": n}),
    ("s3.key", "s3.GetObject", lambda n: {"Bucket": "bucket", "Key": "ü" * (n // 2) + "x" * (n % 2)}),
    ("s3.metadata", "s3.PutObject", lambda n: {"Bucket": "bucket", "Key": "k", "Metadata": {"a": "x" * (n - 1)}}),
    ("s3.delete", "s3.DeleteObjects", lambda n: {"Bucket": "bucket", "Delete": {"Objects": [{"Key": "k"}] * n}}),
    ("scheduler.input", "scheduler.CreateSchedule", lambda n: scheduled("x" * n)),
    ("ssm.name", "ssm.GetParameter", lambda n: {"Name": "/" + "x" * (n - ARN_BEFORE - 1)}),
    ("ssm.levels", "ssm.GetParameter", lambda n: {"Name": "/x" * n}),
    ("ssm.names", "ssm.GetParameters", lambda n: {"Names": ["x"] * n}),
    ("ssm.standard", "ssm.PutParameter", parameter),
    ("ssm.advanced", "ssm.PutParameter", lambda n: parameter(n, Tier="Advanced")),
    ("lambda.environment", "lambda.UpdateFunctionConfiguration", lambda n: function(Environment={"Variables": {"AA": "x" * (n - 2)}})),
    ("lambda.layers", "lambda.UpdateFunctionConfiguration",
     lambda n: function(Layers=[f"arn:aws:lambda:eu-central-1:111122223333:layer:x:{one + 1}" for one in range(n)])),
    ("lambda.sync", "lambda.Invoke", lambda n: function(Payload=b"x" * n)),
    ("lambda.async", "lambda.Invoke", lambda n: function(Payload=b"x" * n, InvocationType="Event")),
    ("lambda.filters", "lambda.CreateEventSourceMapping", lambda n: function(FilterCriteria={"Filters": [{"Pattern": "{}"}] * n})),
    ("events.entries", "events.PutEvents", lambda n: {"Entries": [{"Source": "s", "DetailType": "d", "Detail": "{}"}] * n}),
    ("events.total", "events.PutEvents", lambda n: {"Entries": [{"Detail": "x" * (n - 14)}]}),
]  # fmt: skip
"""Each limit, the call that meets it, and what makes a call of size n."""


FORBIDDEN: list[tuple[str, str, dict[str, Any]]] = [
    ("dynamodb.reserved", "dynamodb.PutItem", condition("attribute_exists(name)")),
    ("dynamodb.reserved", "dynamodb.UpdateItem", update("SET size = b")),
    ("dynamodb.parentheses", "dynamodb.PutItem", condition("((attribute_not_exists(a))) AND (b = c)")),
    ("dynamodb.parentheses", "dynamodb.PutItem", condition("a = b AND ((c = d OR e = f))")),
    ("dynamodb.syntax", "dynamodb.PutItem", condition("a = 'b'")),
    ("dynamodb.expression", "dynamodb.PutItem", condition("")),
    ("dynamodb.unused", "dynamodb.PutItem", condition("a = b", ExpressionAttributeNames={"#a": "a"})),
    ("dynamodb.unused", "dynamodb.PutItem", condition("a = :a", ExpressionAttributeValues={":a": {"S": "x"}, ":b": {"S": "x"}})),
    ("dynamodb.unused", "dynamodb.PutItem", condition("a = b", ExpressionAttributeValues={})),
    ("dynamodb.unused", "dynamodb.PutItem", {**put({}), "ExpressionAttributeNames": {"#a": "a"}}),
    ("dynamodb.undefined", "dynamodb.PutItem", condition("#a = :a")),
    ("dynamodb.overlap", "dynamodb.UpdateItem", update("SET a = b, a = c")),
    ("dynamodb.overlap", "dynamodb.UpdateItem", update("SET a.b = c REMOVE a")),
    ("dynamodb.overlap", "dynamodb.UpdateItem", update("SET #a[1] = c ADD a :n", ExpressionAttributeNames={"#a": "a"},
                                                      ExpressionAttributeValues={":n": {"N": "1"}})),
    ("dynamodb.key_update", "dynamodb.UpdateItem", update("SET pk = a")),
    ("dynamodb.key", "dynamodb.GetItem", {"TableName": TABLE, "Key": {"pk": {"S": ""}}}),
    ("dynamodb.empty_set", "dynamodb.PutItem", put({"a": {"SS": []}})),
    ("dynamodb.set_twice", "dynamodb.PutItem", put({"a": {"NS": ["1", "1"]}})),
    ("dynamodb.number", "dynamodb.PutItem", put({"a": {"N": "NaN"}})),
    ("dynamodb.number", "dynamodb.PutItem", put({"a": {"NS": ["x"]}})),
    ("dynamodb.magnitude", "dynamodb.PutItem", put({"a": {"N": "1e126"}})),
    ("dynamodb.magnitude", "dynamodb.PutItem", put({"a": {"L": [{"N": "1e-131"}]}})),
    ("dynamodb.unicode", "dynamodb.PutItem", put({"a": {"M": {"b": {"S": "\ud800"}}}})),
    ("dynamodb.type", "dynamodb.PutItem", put({"a": {"S": "x", "N": "1"}})),
    ("dynamodb.return_values", "dynamodb.PutItem", {**put({}), "ReturnValues": "ALL_NEW"}),
    ("dynamodb.keys_twice", "dynamodb.BatchGetItem", {"RequestItems": {TABLE: {"Keys": [KEY, KEY]}}}),
    ("dynamodb.keys_twice", "dynamodb.BatchWriteItem", {"RequestItems": {TABLE: [{"DeleteRequest": {"Key": KEY}}] * 2}}),
    ("dynamodb.transact_twice", "dynamodb.TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": TABLE, "Key": KEY}}] * 2}),
    ("dynamodb.transact_action", "dynamodb.TransactWriteItems",
     {"TransactItems": [{"Delete": {"TableName": TABLE, "Key": KEY}, "Put": {"TableName": TABLE, "Item": {"pk": {"S": "2"}}}}]}),
    ("dynamodb.partiql_mixed", "dynamodb.BatchExecuteStatement", {"Statements": [{"Statement": "SELECT x"}, {"Statement": "UPDATE x"}]}),
    ("sqs.entries", "sqs.SendMessageBatch", batch([])),
    ("sqs.entry_id", "sqs.DeleteMessageBatch", {"QueueUrl": URL, "Entries": [{"Id": "a", "ReceiptHandle": "r"}] * 2}),
    ("sqs.entry_id", "sqs.DeleteMessageBatch", {"QueueUrl": URL, "Entries": [{"Id": "a.b", "ReceiptHandle": "r"}]}),
    ("sqs.entry_id", "sqs.DeleteMessageBatch", {"QueueUrl": URL, "Entries": [{"Id": "a" * 81, "ReceiptHandle": "r"}]}),
    ("sqs.empty", "sqs.SendMessage", sent("")),
    ("sqs.characters", "sqs.SendMessage", sent("a\x00b")),
    ("sqs.characters", "sqs.SendMessage", sent("a\uffff")),
    ("sqs.attribute_name", "sqs.SendMessage", named(257)),
    *(("sqs.attribute_name", "sqs.SendMessage", sent(MessageAttributes={name: {"DataType": "String", "StringValue": "x"}}))
      for name in ("AWS.x", "amazon.x", ".x", "x.", "x..y", "x y", "ü")),
    ("sqs.attribute_type", "sqs.SendMessage", sent(MessageAttributes={"a": {"DataType": "Text", "StringValue": "x"}})),
    ("sqs.attribute_value", "sqs.SendMessage", sent(MessageAttributes={"a": {"DataType": "String", "StringValue": ""}})),
    ("sqs.group", "sqs.SendMessage", sent(url=FIFO)),
    ("sqs.group", "sqs.SendMessage", sent(MessageGroupId="g" * 129)),
    ("sqs.group", "sqs.SendMessage", sent(MessageGroupId="a b")),
    ("sqs.dedup", "sqs.SendMessage", sent(MessageDeduplicationId="d")),
    ("sqs.dedup", "sqs.SendMessage", sent(url=FIFO, MessageGroupId="g", MessageDeduplicationId="d" * 129)),
    ("sqs.fifo_delay", "sqs.SendMessage", sent(url=FIFO, MessageGroupId="g", DelaySeconds=1)),
    ("sqs.name", "sqs.CreateQueue", {"QueueName": "q" * 81}),
    ("sqs.name", "sqs.CreateQueue", {"QueueName": "a.b"}),
    ("s3.delete", "s3.DeleteObjects", {"Bucket": "bucket", "Delete": {"Objects": []}}),
    ("s3.condition", "s3.PutObject", {"Bucket": "bucket", "Key": "k", "IfNoneMatch": "etag"}),
    ("s3.condition", "s3.PutObject", {"Bucket": "bucket", "Key": "k", "IfNoneMatch": "*", "IfMatch": "e"}),
    ("s3.bucket", "s3.PutObject", {"Bucket": "Bucket", "Key": "k"}),
    ("scheduler.expression", "scheduler.CreateSchedule", {**scheduled("x"), "ScheduleExpression": "at(2026-12-01T00:00)"}),
    ("scheduler.window", "scheduler.CreateSchedule",
     {**scheduled("x"), "FlexibleTimeWindow": {"Mode": "OFF", "MaximumWindowInMinutes": 1}}),
    ("ssm.name", "ssm.GetParameter", {"Name": "/aws-own"}),
    ("ssm.name", "ssm.GetParameter", {"Name": "/a b"}),
    ("lambda.batch", "lambda.CreateEventSourceMapping", function(EventSourceArn=QUEUE_ARN, BatchSize=11)),
    ("lambda.window", "lambda.CreateEventSourceMapping", function(EventSourceArn=f"{QUEUE_ARN}.fifo", MaximumBatchingWindowInSeconds=1)),
    ("model.required", "dynamodb.PutItem", {"TableName": TABLE}),
    ("model.unknown", "dynamodb.PutItem", {**put({}), "Tablename": TABLE}),
    ("model.type", "sqs.SendMessage", {"QueueUrl": URL, "MessageBody": b"x"}),
    ("model.type", "sqs.SendMessage", sent(DelaySeconds="1")),
    ("model.type", "dynamodb.BatchGetItem", {"RequestItems": []}),
    ("model.enum", "dynamodb.PutItem", {**put({}), "ReturnValues": "SOME"}),
    ("model.length", "ssm.GetParameters", {"Names": []}),
    ("model.pattern", "scheduler.CreateSchedule", {**scheduled("x"), "Name": "a b"}),
    ("model.range", "lambda.UpdateFunctionConfiguration", function(Timeout=0)),
]  # fmt: skip
"""What no size makes right."""


ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("dynamodb.PutItem", condition("(a = b) AND (c = d)")),
    ("dynamodb.PutItem", condition("attribute_not_exists(#name) AND size(a) < :n", ExpressionAttributeNames={"#name": "name"},
                                   ExpressionAttributeValues={":n": {"N": "-1.5E+10"}})),
    ("dynamodb.PutItem", condition("(a IN (b, c) OR NOT (begins_with(a, b)))")),
    ("dynamodb.UpdateItem", update("SET a.b = if_not_exists(a.b, c), a.c = list_append(d, e) REMOVE f[1] ADD g :n DELETE h :s",
                                   ExpressionAttributeValues={":n": {"N": "1"}, ":s": {"SS": ["x"]}})),
    ("sqs.SendMessage", sent("\t\n\U0001f600", MessageGroupId="!~",
                             MessageAttributes={"a.b-c_1": {"DataType": "Number.int", "StringValue": "1"}})),
    ("sqs.SendMessage", sent(url=FIFO, MessageGroupId="g", MessageDeduplicationId="d", DelaySeconds=0)),
    ("scheduler.CreateSchedule", scheduled("x")),
    ("s3.PutObject", {"Bucket": "bucket", "Key": "k", "Body": b"x", "IfNoneMatch": "*"}),
    ("ssm.GetParameter", {"Name": "/sedano/dev/webhooks/till"}),
]  # fmt: skip
