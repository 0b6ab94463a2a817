"""The common part of the stacks of a stage: their names and their account."""

from aws_cdk import Environment, Stack
from constructs import Construct

from ..config import StageConfig


class StageStack(Stack):
    """One stack of a stage: `sedano-STAGE-PART`."""

    def __init__(self, scope: Construct, part: str, *, config: StageConfig, about: str, protected: bool = False) -> None:
        """`about`: what the stack is, in a few words; `protected`: CloudFormation refuses to delete it."""
        name = f"sedano-{config.stage}-{part}"
        place = Environment(account=config.account, region=config.region)
        description = f"sedano, stage {config.stage}: {about}"
        super().__init__(scope, part, stack_name=name, env=place, description=description, termination_protection=protected)
