"""Whose account would be deployed to: asked before anything is, and each refusal says what to do."""

import os
from typing import NamedTuple

import boto3
from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from .config import StageConfig

#: Where `cdk bootstrap` notes that an account is prepared.
BOOTSTRAPPED = "/cdk-bootstrap/hnb659fds/version"
#: So many executions at once Lambda keeps for the functions that have none of their own; an account that has no more gives none away.
LEFT_TO_OTHERS = 100
#: The stacks of a stage, by what their names end with.
STACKS = ("state", "core", "observability", "pipeline")
_LOG_IN = "log in (`aws sso login`, `aws configure`), or name a profile in AWS_PROFILE"


class AccountError(RuntimeError):
    """The credentials at hand cannot deploy this stage; the message says what to do."""


class Target(NamedTuple):
    """An account and a Region."""

    account: str
    region: str


def opened() -> boto3.Session:
    """Return a session with what the shell and the files of the AWS CLI say.

    Raises:
        AccountError: they name a profile that there is not, or cannot be read.
    """
    try:
        # The CDK reads AWS_REGION, botocore AWS_DEFAULT_REGION.
        return boto3.Session(region_name=os.environ.get("AWS_REGION") or None)
    except exceptions.ProfileNotFound as error:
        profile = error.kwargs["profile"]
        raise AccountError(f"AWS_PROFILE: there is no profile {profile!r}; `aws configure list-profiles` tells which there are") from error
    except exceptions.ConfigParseError as error:
        raise AccountError(f"the settings of the AWS CLI cannot be read: {error}; correct that file") from error


def target(session: boto3.Session, config: StageConfig) -> Target:
    """Return where the credentials of *session* lead.

    Raises:
        AccountError: there are none, AWS refuses them, no Region is set, or they are not those of the stage.
    """
    region = config.region or session.region_name
    if region is None:
        raise AccountError("no Region: set AWS_REGION, or give the stage one with region= and account=")
    try:
        account = str(session.client("sts", region_name=region).get_caller_identity()["Account"])
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AccountError(f"no AWS credentials are set: {_LOG_IN}") from error
    except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
        remedy = f"look at the network, and whether {region} is a Region"
        raise AccountError(f"AWS cannot be reached to ask whose credentials these are: {error}; {remedy}") from error
    except exceptions.InvalidRegionError as error:
        raise AccountError(f"{region!r} is no Region: set AWS_REGION to one, such as eu-central-1") from error
    except ClientError as error:
        raise AccountError(f"AWS refuses the credentials ({error.response['Error']['Code']}): {_LOG_IN}") from error
    except BotoCoreError as error:
        raise AccountError(f"the AWS credentials cannot be used: {error}; {_LOG_IN}") from error
    if config.account not in (None, account):
        raise AccountError(
            f"account: the stage {config.stage} belongs to {config.account}, and the credentials are those of {account}: "
            "name the profile of the right account in AWS_PROFILE"
        )
    return Target(account, region)


def require_prepared(session: boto3.Session, where: Target) -> None:
    """Refuse an account and Region that the CDK was never prepared for.

    Raises:
        AccountError: `cdk bootstrap` was not run there.
    """
    try:
        session.client("ssm", region_name=where.region).get_parameter(Name=BOOTSTRAPPED)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            place = f"account {where.account} in {where.region}"
            raise AccountError(f"{place} is not prepared for the CDK: run `make bootstrap` once") from error
        # Whoever may not look may still deploy: the CDK looks again, with its own role.


def require_deployed(session: boto3.Session, where: Target, stage: str) -> None:
    """Refuse to take away a *stage* of which nothing is there: one whose name is mistyped would seem to be gone.

    Raises:
        AccountError: none of its stacks exists.
    """
    cloudformation = session.client("cloudformation", region_name=where.region)
    for part in STACKS:
        try:
            cloudformation.describe_stacks(StackName=f"sedano-{stage}-{part}")
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":
                continue
            # Whoever may not look may still destroy: the CDK looks again, with its own role.
        return
    place = f"account {where.account} in {where.region}"
    raise AccountError(f"nothing of the stage {stage} is deployed in {place}: give STAGE= the name of one that is")


def require_room(session: boto3.Session, where: Target, at_once: int) -> None:
    """Refuse to keep *at_once* executions for the webhook's function in an account that cannot give them: a new one has ten in all.

    Raises:
        AccountError: CloudFormation would find out in the middle of the deployment, and roll it back.
    """
    try:
        settings = session.client("lambda", region_name=where.region).get_account_settings()
    except (ClientError, BotoCoreError):
        return  # Whoever may not look may still deploy: CloudFormation looks again.
    if refusal := no_room(where, int(settings["AccountLimit"]["ConcurrentExecutions"]), at_once):
        raise AccountError(refusal)


def no_room(where: Target, most: int, at_once: int) -> str:
    """Return why an account of *most* executions at once cannot keep *at_once* of them for one function; empty when it can."""
    room = max(0, most - LEFT_TO_OTHERS)
    if at_once <= room:
        return ""
    return (
        f"webhook_concurrency: {at_once} executions at once cannot be kept for the webhook: account {where.account} has {most} in "
        f'{where.region}, of which Lambda leaves {LEFT_TO_OTHERS} to all others; deploy with SET="webhook_concurrency={room}"'
        f"{'' if room else ', which keeps none,'} or ask for more at Service Quotas (Lambda, concurrent executions)"
    )
