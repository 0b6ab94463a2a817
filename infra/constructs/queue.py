"""Queues: encrypted, reached over TLS only, and never losing a message that cannot be handled.

*key*: the key that encrypts them; None: SQS's own. *permanent*: in production a queue that leaves its template, because its
stack is deleted or because the application no longer names it, is kept with the messages that wait in it.

A command queue has a fixed name, `sedano-STAGE-ID-QUEUE`. Functions and clients get only its last part, because Lambda allows 4 KB of
environment variables, enough for only 18 whole addresses. The ID is that of the stack, and new with each new stack, so a stage that was
destroyed can be deployed again at once. All other queues have the names that CloudFormation gives them.
"""

from typing import Any

from aws_cdk import Duration, Fn, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..nag import acknowledge

#: How often SQS delivers a message before it becomes a dead letter. The worker counts crashes itself and stops far earlier;
#: this limits receipts that it cannot count, such as an invocation that never reached it. It is above the worker's own limit
#: of executions (`sedano.model.retry.MAX_EXECUTIONS`), so that the worker acts first and keeps the reason.
MAX_RECEIVES = 25
#: The same for a queue that keeps order, the maximum of SQS: a message that waits there for its turn, for its next try or for the end of a
#: pause is delivered again and again, because it cannot be sent again without losing its place.
MAX_RECEIVES_IN_ORDER = 1000
#: The suffix of the name of a queue that keeps order.
FIFO = ".fifo"
RETENTION = Duration.days(14)
_REDRIVE = "Serverless-SQSRedrivePolicy"
#: Per key: copies are recognised by their bodies, which have an id, and keys do not share a limit of calls.
_ORDER: dict[str, Any] = {
    "fifo": True,
    "content_based_deduplication": True,
    "deduplication_scope": sqs.DeduplicationScope.MESSAGE_GROUP,
    "fifo_throughput_limit": sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
}


def names_begin(stack: Stack, stage: str) -> str:
    """Return the prefix of the names of the command queues of *stage* in *stack*; the first eight digits of its id distinguish stacks.

    The id belongs to this stack also where another stack uses the text: `Aws.STACK_ID` would be the id of the stack that uses it.
    """
    return f"sedano-{stage}-{Fn.select(0, Fn.split('-', Fn.select(2, Fn.split('/', stack.stack_id))))}-"


class WorkQueue(Construct):
    """A queue that a function consumes, with its dead-letter queue; it keeps order if its name has the suffix."""

    def __init__(
        self, scope: Construct, name: str, *, visibility: int, permanent: bool, key: kms.IKey | None = None, called: str | None = None
    ) -> None:
        """`called`: the name on SQS; by default CloudFormation makes one."""
        super().__init__(scope, name)
        in_order = name.endswith(FIFO)
        #: The dead-letter queue, for messages that were received too often.
        self.dead = _queue(self, "Dead", key, permanent=permanent, in_order=in_order)
        acknowledge(self.dead, _REDRIVE, "It is itself the dead-letter queue.")
        most = MAX_RECEIVES_IN_ORDER if in_order else MAX_RECEIVES
        dead_letters = sqs.DeadLetterQueue(queue=self.dead, max_receive_count=most)
        hidden = Duration.seconds(visibility)
        self.queue = _queue(
            self, "Queue", key, permanent=permanent, visibility=hidden, dead_letters=dead_letters, in_order=in_order, called=called
        )


class ParkedQueue(Construct):
    """The queue of messages that a function refuses: the body as received, the reason in its attributes."""

    def __init__(self, scope: Construct, name: str, *, permanent: bool, key: kms.IKey | None = None) -> None:
        super().__init__(scope, name)
        self.queue = _queue(self, "Queue", key, permanent=permanent)
        for finding in ("AwsSolutions-SQS3", _REDRIVE):
            acknowledge(
                self.queue, finding, "No function consumes this queue, so nothing can fail here: it is itself the place of failed messages."
            )


def _removal(permanent: bool, called: str | None) -> RemovalPolicy:
    """Return the policy: a queue with a fixed name is deleted when its creation is rolled back, because it would block the next attempt."""
    kept = RemovalPolicy.RETAIN if called is None else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
    return kept if permanent else RemovalPolicy.DESTROY


def _queue(
    scope: Construct,
    name: str,
    key: kms.IKey | None,
    *,
    permanent: bool,
    visibility: Duration | None = None,
    dead_letters: sqs.DeadLetterQueue | None = None,
    in_order: bool = False,
    called: str | None = None,
) -> sqs.Queue:
    return sqs.Queue(
        scope,
        name,
        queue_name=called,
        enforce_ssl=True,
        encryption=sqs.QueueEncryption.SQS_MANAGED if key is None else sqs.QueueEncryption.KMS,
        encryption_master_key=key,
        retention_period=RETENTION,
        visibility_timeout=visibility,
        dead_letter_queue=dead_letters,
        removal_policy=_removal(permanent, called),
        **(_ORDER if in_order else {}),
    )
