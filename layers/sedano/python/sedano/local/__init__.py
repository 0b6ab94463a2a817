"""The local stage: the real stacks on an AWS endpoint of this machine, in one `with` statement.

    with local_stage(app="shop.tasks:app", code=Path("src"), directory=Path("build/local")) as stage:
        os.environ.update(stage.environment)

What runs is what is deployed: the CDK app is synthesised, CloudFormation creates its stacks, and functions start from
their layers in processes of their own. Only the endpoint is not AWS, and it listens on 127.0.0.1 alone.
"""

from sedano.local.endpoint import Endpoint
from sedano.local.failure import LocalStageError
from sedano.local.stage import LocalStage, local_stage

__all__ = ["Endpoint", "LocalStage", "LocalStageError", "local_stage"]
