"""Clients of AWS for one account and Region, under the roles that the account's bootstrap made for deployments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
from botocore.exceptions import ClientError

from sedano.deploy.account import Target

Say = Callable[[str], None]
#: The role of the bootstrap for deployments.
DEPLOY_ROLE = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/cdk-hnb659fds-deploy-role-${AWS::AccountId}-${AWS::Region}"
_SESSION = "sedano-deploy"


class Clients:
    """Makes each client once. If a role may not be assumed, the caller's own credentials are used, and *say* gets a line about it."""

    def __init__(self, session: boto3.Session, where: Target, say: Say) -> None:
        """Make clients of *session* for *where*."""
        self.session, self.where, self._say = session, where, say
        self._sessions: dict[str, boto3.Session] = {}
        self._made: dict[tuple[str, str], Any] = {}

    def client(self, service: str, role: str = "") -> Any:
        """Return a client of *service* under *role*, an ARN that may hold `${AWS::...}`; under the caller's own credentials without a
        role."""
        role = self.where.filled(role)
        if (service, role) not in self._made:
            session = self._assumed(role) if role else self.session
            self._made[service, role] = session.client(service, region_name=self.where.region)  # type: ignore[call-overload]
        return self._made[service, role]

    def _assumed(self, role: str) -> boto3.Session:
        if role not in self._sessions:
            self._sessions[role] = self._session_of(role)
        return self._sessions[role]

    def _session_of(self, role: str) -> boto3.Session:
        try:
            given = self.client("sts").assume_role(RoleArn=role, RoleSessionName=_SESSION)["Credentials"]
        except ClientError as error:
            self._say(f"{role.rpartition('/')[2]} cannot be assumed ({error.response['Error']['Code']}): your own credentials are used")
            return self.session
        return boto3.Session(
            aws_access_key_id=given["AccessKeyId"],
            aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"],
            region_name=self.where.region,
        )
