"""Tables: one item a key, paid by the request, restorable to any second of the last weeks."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

PARTITION_KEY = "pk"
TTL_ATTRIBUTE = "ttl"
#: How many units a second a table gives at most, reading and writing alike: a tenth of what an account has by default.
#: A runaway then costs at most 9 USD an hour in writes, and is told: DynamoDB throttles, messages wait, an alarm fires.
CEILING = 4000


class Table(Construct):
    """One trust zone's items. Two zones are two tables, because a policy names a table and not a key prefix."""

    def __init__(self, scope: Construct, name: str, *, permanent: bool) -> None:
        super().__init__(scope, name)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name=PARTITION_KEY, type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            max_read_request_units=CEILING,
            max_write_request_units=CEILING,
            time_to_live_attribute=TTL_ATTRIBUTE,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True),
            deletion_protection=permanent,
            removal_policy=RemovalPolicy.RETAIN if permanent else RemovalPolicy.DESTROY,
        )
