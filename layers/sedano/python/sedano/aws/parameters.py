"""Parameters in the Parameter Store of Systems Manager, and profiles of AppConfig.

Each read of a profile uses a new session: an existing session returns an empty text while the profile has not changed, and rejects a poll
that follows too soon.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault
from sedano.errors import ConfigurationError


class AwsParameters:
    """The parameters and profiles of one account and Region."""

    def __init__(self, ssm: Any, appconfig: Any) -> None:
        """Read over the clients *ssm*, and *appconfig* (AppConfig Data)."""
        self._ssm, self._appconfig = ssm, appconfig

    def tree(self, path: str) -> Mapping[str, str]:
        """Return all parameters below *path*, by their names without it; SecureStrings are decrypted."""
        prefix, found = f"{path.rstrip('/')}/", dict[str, str]()
        more = {"Path": path.rstrip("/"), "Recursive": True, "WithDecryption": True}
        try:
            while True:
                page = self._ssm.get_parameters_by_path(**more)
                found |= {one["Name"].removeprefix(prefix): one["Value"] for one in page["Parameters"]}
                if not page.get("NextToken"):
                    return found
                more["NextToken"] = page["NextToken"]
        except AWS_ERRORS as error:
            raise fault(error, f"ssm.GetParametersByPath on {path}") from error

    def text(self, name: str) -> str:
        """Return the text of the parameter *name*, decrypted if it is a SecureString; "" if it does not exist."""
        try:
            return str(self._ssm.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
        except AWS_ERRORS as error:
            if code_of(error) == "ParameterNotFound":
                return ""
            raise fault(error, f"ssm.GetParameter of {name}") from error

    def profile(self, application: str, environment: str, profile: str) -> str:
        """Return the text of a profile as it is deployed now."""
        name = f"{application}/{environment}/{profile}"
        try:
            begun = self._appconfig.start_configuration_session(
                ApplicationIdentifier=application, EnvironmentIdentifier=environment, ConfigurationProfileIdentifier=profile
            )  # fmt: skip
            answer = self._appconfig.get_latest_configuration(ConfigurationToken=begun["InitialConfigurationToken"])
            return str(answer["Configuration"].read().decode("utf-8"))
        except AWS_ERRORS as error:
            if code_of(error) == "ResourceNotFoundException":
                instead = "create it in AppConfig, or correct the layer"
                raise ConfigurationError(f"appconfig:{name}: this account and Region do not have that profile; {instead}") from error
            raise fault(error, f"appconfigdata.GetLatestConfiguration of {name}") from error
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"appconfig:{name}: its text is not UTF-8; deploy a JSON object") from error
