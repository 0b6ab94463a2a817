"""The secrets of webhooks in the Parameter Store of Systems Manager: one SecureString for each, with one secret a line.

A webhook that receives has the parameter `/sedano/STAGE/webhooks/NAME`, a webhook that is a sink `/sedano/STAGE/sinks/NAME`.

A deployment cannot create them: CloudFormation cannot make a SecureString, and a secret does not belong in a template. The owner of the
secret stores it, once.
"""

from __future__ import annotations

from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault
from sedano.errors import ConfigurationError
from sedano.ports.webhook_secrets import lines_of

WEBHOOKS, SINKS = "webhooks", "sinks"


def parameter(stage: str, webhook: str, folder: str = WEBHOOKS) -> str:
    """Return the name of the parameter that holds the secrets of *webhook*, in *folder*, `WEBHOOKS` or `SINKS`."""
    return f"/sedano/{stage}/{folder}/{webhook}"


class SsmSecretTexts:
    """The secrets of one stage, in *folder*, `WEBHOOKS` or `SINKS`."""

    def __init__(self, ssm: Any, stage: str, folder: str = WEBHOOKS) -> None:
        """Read over the client *ssm*."""
        self._ssm, self._stage, self._folder = ssm, stage, folder

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secrets that are valid for *webhook* now."""
        name = parameter(self._stage, webhook, self._folder)
        what = f"{self._folder[:-1]} {webhook}"
        put = f"store it with: aws ssm put-parameter --type SecureString --name {name} --value … (several secrets: one a line)"
        try:
            found = lines_of(self._ssm.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
        except AWS_ERRORS as error:
            if code_of(error) == "ParameterNotFound":
                raise ConfigurationError(f"{what}: the parameter {name} with its secret does not exist; {put}") from error
            raise fault(error, "ssm.GetParameter") from error
        if not found:
            raise ConfigurationError(f"{what}: the parameter {name} holds no secret; {put}, with --overwrite")
        return found
