"""SQS in several Regions as one set of queues (`sedano.ports.brokers`).

A call to a broker makes one attempt and waits for a bounded time, because the next broker is the second attempt. Only the client of the
last broker repeats its calls. Each Region has a client of its own, made while the program connects, so that no failover waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sedano.aws.client.call_deadlines import BoundedClient
from sedano.aws.client.session import READ_TIMEOUT_S, Session
from sedano.aws.machine import SystemClock
from sedano.aws.queues import LONG_POLL_S, SqsQueues
from sedano.aws.settings import DeploymentSettings
from sedano.model.brokers import SqsBroker, of_setting, sibling
from sedano.model.queues import COMMANDS, command_queue, is_fifo
from sedano.ports import Telemetry
from sedano.ports.brokers import SHARE_S, Broker, Brokers

CONNECT_TIMEOUT_S = 1.0
"""The seconds for the connection to a broker that is not the last one."""


def over_brokers(
    session: Session, own: SqsQueues, settings: DeploymentSettings, brokers: Sequence[SqsBroker], telemetry: Telemetry,
    seconds: float | None,
) -> Brokers:  # fmt: skip
    """Return the stage's *own* queues and those of its other brokers, as *settings* name them, else as the app does (*brokers*).

    Each publication has *seconds* (None: no limit).

    Raises:
        ConfigurationError: the setting is malformed, or the environment names no credentials.
    """
    named = of_setting(settings.brokers, brokers) if settings.brokers else brokers
    found = [_broker(session, own, one, _client_for(session, seconds, len(named), is_last=one is named[-1])) for one in named]
    return Brokers(found, SystemClock(), telemetry, own, seconds)


def _client_for(session: Session, seconds: float | None, brokers: int, *, is_last: bool) -> Callable[..., Any]:
    """Return a function that makes the client of one of several *brokers*, which share *seconds*."""
    each = SHARE_S if seconds is None else min(SHARE_S, seconds / brokers)

    def client(**region: Any) -> Any:
        made = session.another("sqs", **region) if is_last else session.single("sqs", each, connect_timeout=CONNECT_TIMEOUT_S, **region)
        return made if seconds is None else BoundedClient(made, "sqs", seconds if is_last else each)

    return client


def _broker(session: Session, own: SqsQueues, broker: SqsBroker, client: Callable[..., Any]) -> Broker:
    """Return *broker* through the client that *client* makes for its Region."""
    region = broker.region
    names = frozenset(map(command_queue, broker.queues))
    addresses = {key: url for key, url in own.addresses().items() if not names or key in names}
    commands = {key: url for key, url in addresses.items() if key.startswith(COMMANDS) and not is_fifo(key)}
    if region is not None:
        commands = {key: sibling(url, region) for key, url in commands.items()}
    options = {} if region is None else {"region_name": region}
    receiver = _receiver(session, options)
    return Broker(broker.name, own.through(client(**options), commands, receiver), frozenset(commands), chosen=bool(names))


def _receiver(session: Session, options: dict[str, Any]) -> Callable[[], Any]:
    return lambda: session.single("sqs", LONG_POLL_S + READ_TIMEOUT_S, **options)
