"""The durable state of a stage: the ledger, the control table, large values, the history, parked messages, timers; and their key.

This stack changes rarely and is deployed first. In production none of its resources is deleted with it. Other stacks use only its
outputs.
"""

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import CfnOutput, Fn
from constructs import Construct

from ..config import StageConfig
from ..constructs.bucket import Bucket
from ..constructs.key import Key
from ..constructs.queue import ParkedQueue
from ..constructs.table import Ceiling, Table
from ..constructs.timers import TimersGroup
from ..places import HISTORY_PREFIX
from .stage_stack import StageStack

LEDGER = "SedanoLedgerTable"
CONTROL = "SedanoControlTable"
BLOBS = "SedanoBlobsBucket"
HISTORY = "SedanoHistoryBucket"
PARKED = "SedanoParkedQueue"
TIMERS = "SedanoTimersGroup"
#: How other stacks name the parked queue in policies and metrics.
PARKED_ARN, PARKED_NAME = "ParkedQueueArn", "ParkedQueueName"
#: Not a setting of the library: readers and writers do not need the key's ARN.
KEY = "KeyArn"

#: The output with the value of each setting of the library.
SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "SEDANO_LEDGER_TABLE": LEDGER,
        "SEDANO_CONTROL_TABLE": CONTROL,
        "SEDANO_BLOBS_BUCKET": BLOBS,
        "SEDANO_HISTORY_BUCKET": HISTORY,
        "SEDANO_PARKED_QUEUE": PARKED,
        "SEDANO_TIMERS_GROUP": TIMERS,
    }
)


class StateStack(StageStack):
    """The tables and buckets of one stage, its parked queue, and its group of timers."""

    def __init__(self, scope: Construct, *, config: StageConfig) -> None:
        permanent = config.permanent
        super().__init__(scope, "state", config=config, about="data", protected=permanent)
        ceiling = Ceiling(config.most_reads, config.most_writes)
        key = Key(self, "Key", stage=config.stage).key if config.own_key else None
        ledger = Table(self, "Ledger", permanent=permanent, ceiling=ceiling, key=key)
        ledger.index_failures()
        CfnOutput(self, LEDGER, value=ledger.table.table_name)
        control = Table(self, "Control", permanent=permanent, ceiling=ceiling, key=key)
        control.index_members()
        control.index_rollups()
        CfnOutput(self, CONTROL, value=control.table.table_name)
        blobs = Bucket(self, "Blobs", permanent=permanent, emptied=config.empty_buckets, key=key, days=config.blob_days)
        history = Bucket(
            self, "History", permanent=permanent, emptied=config.empty_buckets, key=key, days=config.history_days, aged=HISTORY_PREFIX
        )
        CfnOutput(self, BLOBS, value=blobs.bucket.bucket_name)
        CfnOutput(self, HISTORY, value=history.bucket.bucket_name)
        parked = ParkedQueue(self, "Parked", permanent=permanent, key=key).queue
        CfnOutput(self, PARKED, value=parked.queue_url)
        CfnOutput(self, PARKED_ARN, value=parked.queue_arn)
        CfnOutput(self, PARKED_NAME, value=parked.queue_name)
        CfnOutput(self, TIMERS, value=TimersGroup(self, "Timers", permanent=permanent).name)
        if key is not None:
            CfnOutput(self, KEY, value=key.key_arn)

    def output(self, name: str) -> str:
        """The value of one of this stack's outputs, as another stack refers to it."""
        return Fn.get_stack_output(self.stack_name, name)
