"""A CDK app of somebody else: a stack of its own, and a stage of sedano beside it. Run with the code's directory as its argument."""

import sys

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns

from sedano.cdk import SedanoStacks, StageConfig

PLACE = {"account": "123456789012", "region": "eu-central-1"}

app = cdk.App()
theirs = cdk.Stack(app, "Theirs", env=cdk.Environment(**PLACE))
on_call = sns.Topic(theirs, "OnCall")
key = kms.Key(theirs, "Key")
by_id = dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING)
orders = dynamodb.TableV2(
    theirs,
    "Orders",
    partition_key=by_id,
    dynamo_stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    encryption=dynamodb.TableEncryptionV2.customer_managed_key(key),
)
clicks = kinesis.Stream(theirs, "Clicks")
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
        most_budget=50_000,
        aws_client="botocore",
        group_commit=True,
        tags={"team": "shop"},
        permissions_boundary="arn:aws:iam::123456789012:policy/developers",
        code_signing="arn:aws:lambda:eu-central-1:123456789012:code-signing-config:csc-0123456789abcdefg",
        alarm_topic=on_call.topic_arn,
        budget=25.0,
        streams={"orders": str(orders.table_stream_arn), "clicks": clicks.stream_arn},
        stream_keys={"orders": key.key_arn},
    ),
)
site = cdk.Stack(app, "Site", env=cdk.Environment(**PLACE))
web = lambda_.Function(
    site,
    "Web",
    runtime=lambda_.Runtime.PYTHON_3_13,
    handler="web.handler",
    code=lambda_.Code.from_inline("def handler(*_): ..."),
    environment=stacks.variables(),
)
stacks.grant_publish(web)
stacks.grant_results(web)
stacks.grant_invoke(web)
for name, grant in (("WebViewer", stacks.grant_view), ("WebOperator", stacks.grant_operate), ("WebAdmin", stacks.grant_administer)):
    grant(iam.Role(site, name, assumed_by=iam.AccountPrincipal("123456789012")))
app.synth()
sys.stdout.write(" ".join([*stacks.application.declared.tasks, *(name for name in sys.modules if name.split(".")[0] == "infra")]))
