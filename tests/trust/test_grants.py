"""Each role suffices for every road, needs every single grant that it has, and is refused what it has no business with."""

from typing import Any

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError

from tests.trust.driven import Driven
from tests.trust.forbidden import calls
from tests.trust.grants import Grant, Role, kind_of
from tests.trust.roads import BY_AWS, NEEDED, ROADS, Road, walk

FUNCTIONS = ("worker", "router", "recorder")


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_every_road_ends_as_it_should_and_nothing_is_denied_on_it(road: Road, enforced: Driven, walks: Any) -> None:
    assert walk(road, enforced, walks) == []


@pytest.fixture(scope="module")
def roles(enforced: Driven) -> dict[str, Role]:
    """The role of each deployed function."""
    iam = enforced.client("iam")
    return {function: Role(iam, function, name) for function, name in enforced.roles.items()}


def test_every_grant_that_was_deployed_has_a_road_that_needs_it(roles: dict[str, Role], figures: dict[str, int]) -> None:
    granted = {grant for role in roles.values() for grant in role.grants if grant.action not in BY_AWS}
    assert granted == set(NEEDED)
    figures["grants"], figures["unused grants"] = len(granted), len(granted - set(NEEDED))


@pytest.mark.parametrize("grant", sorted(NEEDED), ids=lambda grant: "-".join(grant).replace(" ", "-"))
def test_without_one_grant_its_road_does_not_end_as_it_should(grant: Grant, enforced: Driven, walks: Any, roles: dict[str, Role]) -> None:
    with roles[grant.function].without(grant):
        assert walk(NEEDED[grant], enforced, walks), f"{grant} is not needed: take it away"
    assert walk(NEEDED[grant], enforced, walks) == [], "with all its grants again the road is open"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_role_has_no_business_with_is_refused(function: str, enforced: Driven, figures: dict[str, int]) -> None:
    session = _as_role(enforced, function)
    queues = {kind_of(arn): enforced.url(arn) for arn in enforced.feeds}
    account = enforced.client("sts").get_caller_identity()["Account"]
    asked = [call for call in calls(enforced.stage.environment, queues, enforced.roles, account) if function not in call.allowed]
    through = [call.purpose for call in asked if not _is_refused(session, enforced, call)]
    print(f"{function}: {len(asked)} forbidden calls, {len(asked) - len(through)} refused")
    figures["forbidden calls"] = figures.get("forbidden calls", 0) + len(asked)
    figures["forbidden calls that went through"] = figures.get("forbidden calls that went through", 0) + len(through)
    assert len(asked) >= 30
    assert through == []


def _as_role(enforced: Driven, function: str) -> boto3.Session:
    """A session that may do what the function may."""
    account = enforced.client("sts").get_caller_identity()["Account"]
    arn = f"arn:aws:iam::{account}:role/{enforced.roles[function]}"
    given = enforced.client("sts").assume_role(RoleArn=arn, RoleSessionName=function)["Credentials"]
    core = botocore.session.Session()
    core.set_config_variable("ca_bundle", str(enforced.stage.endpoint.certificate))
    return boto3.Session(
        botocore_session=core,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
        region_name="us-east-1",
    )


def _is_refused(session: boto3.Session, enforced: Driven, call: Any) -> bool:
    client: Any = session.client(call.service, endpoint_url=enforced.stage.endpoint.url)
    try:
        getattr(client, call.operation)(**call.arguments)
    except ClientError as error:
        return error.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
    return False
