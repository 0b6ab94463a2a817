"""The alarms and the dashboard of one stage, for the person on call.

It is a separate stack, so that a changed threshold touches nothing that runs. No other stack depends on it.
"""

from constructs import Construct

from ..config import StageConfig
from ..constructs.alarms import Alarms
from ..constructs.budget import Budget
from ..constructs.dashboard import Dashboard
from .core import CoreStack
from .stage_stack import StageStack


class ObservabilityStack(StageStack):
    """The alarms and the dashboard of one stage."""

    def __init__(self, scope: Construct, *, config: StageConfig, core: CoreStack) -> None:
        super().__init__(scope, "observability", config=config, about="alarms and dashboard")
        watched = core.watched()
        alarms = Alarms(self, "Alarms", watched=watched, most_failures=config.most_failures)
        Dashboard(self, "Dashboard", watched=watched, alarms=alarms.alarms)
        if config.budget is not None and config.alarm_topic is not None:
            Budget(self, "Budget", stage=config.stage, dollars=config.budget, topic=config.alarm_topic)
