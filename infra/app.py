"""The CDK app: `python -m infra.app`, which the CDK's command line and `sedano.local` both run.

    cdk deploy --all -c stage=prod -c app=shop.tasks:app -c code=src

Settings come from the context (`-c name=value`); `infra/README.md` lists them.
"""

import sys

import aws_cdk as cdk

from infra import nag
from infra.assets import AssetError
from infra.config import ConfigError, StageConfig
from infra.pipeline_config import PipelineConfig
from infra.stacks.core import CoreStack
from infra.stacks.observability import ObservabilityStack
from infra.stacks.pipeline import PipelineStack
from infra.stacks.state import StateStack


def build(app: cdk.App) -> None:
    """Adds the stacks that the context of `app` describes."""
    config = StageConfig.from_context(app.node.try_get_context)
    state = StateStack(app, f"sedano-{config.stage}-state", config=config)
    core = CoreStack(app, f"sedano-{config.stage}-core", config=config, state=state)
    core.add_stack_dependency(state)
    if not config.local:  # nobody is on call for this machine
        watching = ObservabilityStack(app, f"sedano-{config.stage}-observability", config=config, core=core)
        watching.add_stack_dependency(core)
    pipeline = PipelineConfig.from_context(app.node.try_get_context)
    if pipeline.engine != "none" and not config.local:  # the local endpoint has no Spark; the job runs on this machine as it is
        history = PipelineStack(app, f"sedano-{config.stage}-pipeline", config=config, pipeline=pipeline, state=state)
        history.add_stack_dependency(state)
    cdk.Tags.of(app).add("sedano:stage", config.stage)


def main() -> int:
    """Writes the cloud assembly; a setting that cannot be used ends it with one sentence."""
    app = cdk.App()
    nag.check(app)
    try:
        build(app)
    except (ConfigError, AssetError) as error:
        sys.stderr.write(f"sedano: {error}\n")
        return 2
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
