"""Determines the account of a deployment, before anything is deployed; each refusal names the remedy."""

from __future__ import annotations

import os
from typing import NamedTuple

import boto3
from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from sedano.deploy.assembly import BOOTSTRAPPED
from sedano.deploy.command_names import VERBS, Spelling
from sedano.deploy.failure import DeployError

#: The concurrency that Lambda keeps for functions without reserved concurrency; an account without more than that cannot reserve any.
LEFT_TO_OTHERS = 100
#: The stacks of a stage, by the suffixes of their names.
STACKS = ("state", "core", "observability", "pipeline")
_LOG_IN = "log in (`aws sso login`, `aws configure`), or name a profile in AWS_PROFILE"


class AccountError(DeployError):
    """The current credentials cannot deploy this stage; the message says what to do."""


class Target(NamedTuple):
    """An account and a Region, in the partition of AWS (`aws`, `aws-cn`) that the Region belongs to."""

    account: str
    region: str
    partition: str = "aws"

    def filled(self, text: str) -> str:
        """Return *text* of a cloud assembly with its account, Region and partition."""
        values = {"AccountId": self.account, "Region": self.region, "Partition": self.partition}
        for name, value in values.items():
            text = text.replace(f"${{AWS::{name}}}", value)
        return text


def opened() -> boto3.Session:
    """Return a session with the settings of the shell and of the AWS CLI's files.

    Raises:
        AccountError: they name a missing profile, or cannot be read.
    """
    try:
        # The CDK reads AWS_REGION, botocore AWS_DEFAULT_REGION.
        return boto3.Session(region_name=os.environ.get("AWS_REGION") or None)
    except exceptions.ProfileNotFound as error:
        profile = error.kwargs["profile"]
        raise AccountError(f"AWS_PROFILE: there is no profile {profile!r}; `aws configure list-profiles` lists the profiles") from error
    except exceptions.ConfigParseError as error:
        raise AccountError(f"the settings of the AWS CLI cannot be read: {error}; correct that file") from error


def target(
    session: boto3.Session, stage: str, region: str | None = None, account: str | None = None, spelled: Spelling = VERBS
) -> Target:
    """Return the target of the credentials of *session*, in *region* if it is given. A stage with an *account* can be deployed only there.

    Raises:
        AccountError: no credentials are set, AWS refuses them, no Region is set, or they belong to another account than the stage.
    """
    region = region or session.region_name
    if region is None:
        raise AccountError(f"no Region: set AWS_REGION, such as eu-central-1; or {spelled.region}")
    try:
        found = str(session.client("sts", region_name=region).get_caller_identity()["Account"])
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AccountError(f"no AWS credentials are set: {_LOG_IN}") from error
    except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
        remedy = f"check the network, and that {region} is a Region"
        raise AccountError(f"AWS cannot be reached to ask whose credentials these are: {error}; {remedy}") from error
    except exceptions.InvalidRegionError as error:
        raise AccountError(f"{region!r} is not a Region: set AWS_REGION to one, such as eu-central-1") from error
    except ClientError as error:
        raise AccountError(f"AWS refuses the credentials ({error.response['Error']['Code']}): {_LOG_IN}") from error
    except BotoCoreError as error:
        raise AccountError(f"the AWS credentials cannot be used: {error}; {_LOG_IN}") from error
    if account not in (None, found):
        raise AccountError(
            f"account: the stage {stage} belongs to {account}, and the credentials are those of {found}: "
            "name the profile of the right account in AWS_PROFILE"
        )
    return Target(found, region, session.get_partition_for_region(region))


def require_prepared(session: boto3.Session, where: Target, spelled: Spelling = VERBS) -> None:
    """Refuse an account and Region that was never prepared for the CDK.

    Raises:
        AccountError: `cdk bootstrap` was not run there.
    """
    try:
        session.client("ssm", region_name=where.region).get_parameter(Name=BOOTSTRAPPED)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            place = f"account {where.account} in {where.region}"
            raise AccountError(f"{place} is not prepared for the CDK: run {spelled.bootstrap} once") from error
        # A caller without this right may still deploy: the deployment role has it.


def require_deployed(session: boto3.Session, where: Target, stage: str, spelled: Spelling = VERBS) -> None:
    """Refuse to delete an unknown *stage*: with a mistyped name it would seem to be deleted.

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
            # A caller without this right may still destroy: the deployment role has it.
        return
    place = f"account {where.account} in {where.region}"
    raise AccountError(f"the stage {stage} is not deployed in {place}: give {spelled.stage} the name of a deployed stage")


def require_room(session: boto3.Session, where: Target, at_once: int, spelled: Spelling = VERBS) -> None:
    """Refuse to reserve *at_once* executions for the webhook's function in an account with too few: a new account has ten in all.

    Raises:
        AccountError: the account has too few; CloudFormation would fail in the middle of the deployment, and roll it back.
    """
    try:
        settings = session.client("lambda", region_name=where.region).get_account_settings()
    except (ClientError, BotoCoreError):
        return  # A caller without this right may still deploy: CloudFormation checks again.
    if refusal := no_room(where, int(settings["AccountLimit"]["ConcurrentExecutions"]), at_once, spelled):
        raise AccountError(refusal)


def no_room(where: Target, most: int, at_once: int, spelled: Spelling = VERBS) -> str:
    """Return why an account with *most* concurrent executions cannot reserve *at_once* of them for one function; empty if it can."""
    room = max(0, most - LEFT_TO_OTHERS)
    if at_once <= room:
        return ""
    fitting = spelled.setting(f"webhook_concurrency={room}")
    return (
    f"webhook_concurrency: {at_once} executions at once cannot be reserved for the webhook: account {where.account} has {most} in "
    f"{where.region}, and Lambda keeps {LEFT_TO_OTHERS} of them for all other functions; deploy with {fitting}"
    f"{'' if room else ', which reserves none,'} or request more at Service Quotas (Lambda, concurrent executions)"
    )
