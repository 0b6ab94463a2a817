"""The CDK app: `python -m infra.app`, which the CDK's command line and `sedano.local` both run.

    cdk deploy --all -c stage=prod -c app=shop.tasks:app -c code=src

Settings come from the context (`-c name=value`); `infra/README.md` lists them.
"""

import sys

import aws_cdk as cdk

from . import nag
from .application import DiscoveryError
from .assets import AssetError
from .config import ConfigError
from .context import from_context
from .sedano_stacks import SedanoStacks


def main() -> int:
    """Writes the cloud assembly; a setting that cannot be used ends it with one sentence."""
    app = cdk.App()
    nag.check(app)
    try:
        asked = from_context(app.node.get_all_context())
        SedanoStacks(app, app=asked.app, code=asked.code, config=asked.config, requirements=asked.requirements)
    except (ConfigError, AssetError, DiscoveryError) as error:
        sys.stderr.write(f"sedano: {error}\n")
        return 2
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
