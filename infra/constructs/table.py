"""Tables: one item per key, billed per request, restorable to any second of the last weeks."""

from typing import NamedTuple

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

PARTITION_KEY = "pk"
TTL_ATTRIBUTE = "ttl"
MEMBERS, MEMBERS_KEY = "members", "knd"
"""The index of the members of the cluster and its partition key, as the library names them."""
ROLLUPS, ROLLUPS_KEY, ROLLUPS_ORDER = "rollups", "rod", "rom"
"""The index of the roll-ups of the history, its partition key and sort key, as the library names them."""
FAILURES, FAILURES_KEY, FAILURES_ORDER = "failures", "tri", "tat"
FAILURES_ENTRY = ("tid", "st", "nm", "try", "ek", "wh")
"""The index of failed tasks, its partition key and sort key, and the attributes that it holds, as the library names them."""


class Ceiling(NamedTuple):
    """The most request units per second of a table, *reads* and *writes*: the ceiling of cost of a runaway. Requests above it are
    throttled and reported: messages wait, and an alarm fires.
    """

    reads: int
    writes: int


class Table(Construct):
    """One trust zone's items. Two zones are two tables, because a policy names a table and not a key prefix."""

    def __init__(self, scope: Construct, name: str, *, permanent: bool, ceiling: Ceiling, key: kms.IKey | None = None) -> None:
        """`key`: the key of its encryption, AWS's own by default."""
        super().__init__(scope, name)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name=PARTITION_KEY, type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            max_read_request_units=ceiling.reads,
            max_write_request_units=ceiling.writes,
            time_to_live_attribute=TTL_ATTRIBUTE,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True),
            encryption=None if key is None else dynamodb.TableEncryption.CUSTOMER_MANAGED,
            encryption_key=key,
            deletion_protection=permanent,
            removal_policy=RemovalPolicy.RETAIN if permanent else RemovalPolicy.DESTROY,
        )
        self._ceiling = ceiling

    def index_members(self) -> None:
        """Add the index by which the controller and views find the members of the cluster (`sedano.aws.members`).

        DynamoDB adds an index to an existing table without an interruption. Items without its key are not in it.
        """
        self.table.add_global_secondary_index(
            index_name=MEMBERS,
            partition_key=dynamodb.Attribute(name=MEMBERS_KEY, type=dynamodb.AttributeType.STRING),
            projection_type=dynamodb.ProjectionType.ALL,
            max_read_request_units=self._ceiling.reads,
            max_write_request_units=self._ceiling.writes,
        )

    def index_rollups(self) -> None:
        """Add the index by which views find the roll-ups of the history by their minute (`sedano.aws.rollups`).

        DynamoDB adds one index to an existing table in each deployment, without an interruption. Items without its key are not in it.
        """
        self.table.add_global_secondary_index(
            index_name=ROLLUPS,
            partition_key=dynamodb.Attribute(name=ROLLUPS_KEY, type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name=ROLLUPS_ORDER, type=dynamodb.AttributeType.NUMBER),
            projection_type=dynamodb.ProjectionType.ALL,
            max_read_request_units=self._ceiling.reads,
            max_write_request_units=self._ceiling.writes,
        )

    def index_failures(self) -> None:
        """Add the index by which views find the failed tasks of a day (`sedano.aws.failures`).

        Only the record of a failed task has its keys, so no other write costs more; DynamoDB adds it to an existing table without an
        interruption.
        """
        self.table.add_global_secondary_index(
            index_name=FAILURES,
            partition_key=dynamodb.Attribute(name=FAILURES_KEY, type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name=FAILURES_ORDER, type=dynamodb.AttributeType.NUMBER),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=list(FAILURES_ENTRY),
            max_read_request_units=self._ceiling.reads,
            max_write_request_units=self._ceiling.writes,
        )
