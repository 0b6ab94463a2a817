"""Each role suffices for every road, needs every single grant that it has, and is refused what it has no business with."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.trust import posted, releasing, roads, rounds, spark_runs, stand_ins, streamed
from tests.trust.by_aws import BY_AWS, asked_about
from tests.trust.driven import Driven
from tests.trust.forbidden import Deployed, calls
from tests.trust.grants import Grant, Role, kind_of
from tests.trust.roads import Road, walk

ROOMS = (roads, rounds, posted, streamed, stand_ins, spark_runs, releasing)
ROLES = (
    *stand_ins.CONSUMERS, posted.FUNCTION, streamed.FUNCTION, *stand_ins.MINUTES.values(), *stand_ins.MINUTES, "timers", spark_runs.JOB,
    releasing.RELEASER,
)  # fmt: skip
ROADS = [road for room in ROOMS for road in room.ROADS]
NEEDED = {grant: road for room in ROOMS for grant, road in room.NEEDED.items()}


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_every_road_ends_as_it_should_and_nothing_is_denied_on_it(road: Road, enforced: Driven, walks: Any) -> None:
    assert walk(road, enforced, walks) == []


@pytest.fixture(scope="module")
def roles(enforced: Driven) -> dict[str, Role]:
    """Each deployed role."""
    iam = enforced.client("iam")
    return {role: Role(iam, role, name) for role, name in enforced.roles.items()}


@pytest.mark.always
def test_every_role_of_the_stage_is_looked_at(roles: dict[str, Role]) -> None:
    assert set(roles) == set(ROLES)


@pytest.mark.always
def test_every_grant_that_was_deployed_has_a_road_that_needs_it(roles: dict[str, Role], figures: dict[str, int]) -> None:
    granted = {grant for role in roles.values() for grant in role.grants if grant in NEEDED or grant.action not in BY_AWS}
    assert granted == set(NEEDED)
    figures["grants"], figures["unused grants"] = len(granted), len(granted - set(NEEDED))


@pytest.mark.always
def test_what_only_aws_asks_for_is_granted_on_the_one_thing_that_it_asks_about(enforced: Driven, roles: dict[str, Role]) -> None:
    found = {grant: role.resources(grant) for role in roles.values() for grant in role.grants - NEEDED.keys()}
    assert {grant.action for grant in found} == set(BY_AWS)
    for grant, resources in found.items():
        assert [one.endswith(asked_about(enforced, grant.role, grant.action)) for one in resources] == [True], (grant, resources)


@pytest.mark.parametrize("grant", sorted(NEEDED), ids=lambda grant: "-".join(grant).replace(" ", "-"))
def test_without_one_grant_its_road_does_not_end_as_it_should(grant: Grant, enforced: Driven, walks: Any, roles: dict[str, Role]) -> None:
    with roles[grant.role].without(grant):
        assert walk(NEEDED[grant], enforced, walks), f"{grant} is not needed: take it away"
    assert walk(NEEDED[grant], enforced, walks) == [], "with all its grants again the road is open"


@pytest.mark.always
@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_has_no_business_with_is_refused(role: str, enforced: Driven, figures: dict[str, int]) -> None:
    queues = {kind_of(arn): enforced.url(arn) for arn in enforced.feeds}
    deployed = Deployed(enforced.stage.environment, queues, enforced.roles, enforced.functions, enforced.account)
    asked = [call for call in calls(deployed) if role not in call.allowed]
    clients = {service: enforced.become(role, service) for service in {call.service for call in asked}}
    through = [call.purpose for call in asked if not _is_refused(clients[call.service], call)]
    print(f"{role}: {len(asked)} forbidden calls, {len(asked) - len(through)} refused")
    figures["forbidden calls"] = figures.get("forbidden calls", 0) + len(asked)
    figures["forbidden calls that went through"] = figures.get("forbidden calls that went through", 0) + len(through)
    assert len(asked) >= 30
    assert through == []


def _is_refused(client: Any, call: Any) -> bool:
    try:
        getattr(client, call.operation)(**call.arguments)
    except ClientError as error:
        return error.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
    return False
