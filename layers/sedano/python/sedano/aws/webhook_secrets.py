"""The secrets of webhooks in the Parameter Store of Systems Manager: one SecureString for each webhook, with one secret a line.

A deployment cannot make them, since CloudFormation makes no SecureString and a template is not a place for a secret: the owner of the
secret stores it, once.
"""

from __future__ import annotations

from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault
from sedano.errors import ConfigurationError
from sedano.ports.webhook_secrets import lines_of


def parameter(stage: str, webhook: str) -> str:
    """Return the name of the parameter that holds the secrets of *webhook*."""
    return f"/sedano/{stage}/webhooks/{webhook}"


class SsmSecretTexts:
    """The secrets of one stage."""

    def __init__(self, ssm: Any, stage: str) -> None:
        """Read over the client *ssm*."""
        self._ssm, self._stage = ssm, stage

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secrets that are valid for *webhook* now."""
        name = parameter(self._stage, webhook)
        put = f"put it there: aws ssm put-parameter --type SecureString --name {name} --value …, more of them one a line"
        try:
            found = lines_of(self._ssm.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
        except AWS_ERRORS as error:
            if code_of(error) == "ParameterNotFound":
                raise ConfigurationError(f"webhook {webhook}: the parameter {name} with its secret is not there; {put}") from error
            raise fault(error, "ssm.GetParameter") from error
        if not found:
            raise ConfigurationError(f"webhook {webhook}: the parameter {name} holds no secret; {put}, with --overwrite")
        return found
