"""The tables, the bucket and the secrets of the orders on a local stage, and what is in them after a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from examples.local_run.clients import Clients
from examples.orders import crm, shop

REGION, ACCOUNT = "us-east-1", "000000000000"
BUCKET, PREFIX = "orders-lake", "orders/"
TABLES = {"orders": ("orders-orders", "order"), "stock": ("orders-stock", "sku"), "sales": ("orders-sales", "id")}
"""The name and the key of each table."""
PARAMETERS = {"/sedano/dev/webhooks/shop": shop.SECRET, "/sedano/dev/sinks/crm": crm.SECRET}


def arn_of(table: str) -> str:
    """Return the ARN of *table*, one of `TABLES`."""
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{TABLES[table][0]}"


def settings(crm_address: str) -> dict[str, str]:
    """Return the settings of the stage: the places of its tables and sinks."""
    sinks = {"lake": f"arn:aws:s3:::{BUCKET}/{PREFIX}", "sales": arn_of("sales"), "crm": crm_address}
    tables = {"orders": arn_of("orders"), "stock": arn_of("stock")}
    return {name: ",".join(f"{key}={place}" for key, place in some.items()) for name, some in (("sinks", sinks), ("tables", tables))}


def make(clients: Clients) -> dict[str, str]:
    """Make the tables, the bucket and the secrets; return the ARN of each table's own log, by table."""
    clients.s3.create_bucket(Bucket=BUCKET)
    for name, value in PARAMETERS.items():
        clients.ssm.put_parameter(Name=name, Value=value, Type="SecureString")
    logs = {}
    for table, (name, key) in TABLES.items():
        made = clients.dynamodb.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        )  # fmt: skip
        logs[table] = str(made["TableDescription"]["LatestStreamArn"])
    return logs


def rows(dynamodb: Any) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return the rows of each table, by key; those of sales are the values of their documents."""
    found = {table: {row[key]: row for row in _scan(dynamodb, name)} for table, (name, key) in TABLES.items()}
    return {**found, "sales": {key: row["value"] for key, row in found["sales"].items()}}


def _scan(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    read = TypeDeserializer()
    for page in dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        for item in page["Items"]:
            yield {name: read.deserialize(value) for name, value in item.items()}


def writes(streams: Any, log: str, key: str) -> Counter[str]:
    """Return how often each *key* of a table was written, by the table's own *log*."""
    found = Counter[str]()
    for shard in streams.describe_stream(StreamArn=log)["StreamDescription"]["Shards"]:
        at = streams.get_shard_iterator(StreamArn=log, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        while at:
            answer = streams.get_records(ShardIterator=at, Limit=1_000)
            found.update(record["dynamodb"]["Keys"][key]["S"] for record in answer["Records"])
            at = answer.get("NextShardIterator") if answer["Records"] else None
    return found


def documents(s3: Any) -> dict[str, Mapping[str, Any]]:
    """Return the values of the documents in the bucket, by the document's id."""
    found = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=PREFIX):
        for entry in page.get("Contents", ()):
            document = json.loads(s3.get_object(Bucket=BUCKET, Key=entry["Key"])["Body"].read())
            found[str(document["id"])] = document["value"]
    return found
