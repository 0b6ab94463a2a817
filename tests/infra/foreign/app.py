"""A CDK app of somebody else: a stack of its own, and a stage of sedano beside it. Run with the code's directory as its argument."""

import sys

import aws_cdk as cdk
from aws_cdk import aws_sns as sns
from sedano_cdk import SedanoStacks, StageConfig

PLACE = {"account": "123456789012", "region": "eu-central-1"}

app = cdk.App()
theirs = cdk.Stack(app, "Theirs", env=cdk.Environment(**PLACE))
sns.Topic(theirs, "Other")
stacks = SedanoStacks(
    app,
    app="shop.tasks:app",
    code=sys.argv[1],
    config=StageConfig(
        stage="live",
        production=True,
        **PLACE,
        memory=1024,
        queue_concurrency={"mail": 2},
        most_writes=100,
        tags={"team": "shop"},
        permissions_boundary="arn:aws:iam::123456789012:policy/developers",
        code_signing="arn:aws:lambda:eu-central-1:123456789012:code-signing-config:csc-0123456789abcdefg",
        alarm_topic="arn:aws:sns:eu-central-1:123456789012:on-call",
        budget=25.0,
    ),
)
app.synth()
sys.stdout.write(" ".join([*stacks.application.declared.tasks, *(name for name in sys.modules if name.split(".")[0] == "infra")]))
