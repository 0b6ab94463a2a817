"""AppConfig Data as strict as its documentation: a token is good for one call, and unchanged content is answered with nothing.

moto has no such service. What this takes is checked by botocore's own model of the service.
"""

import io
from typing import Any

import botocore.session
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator


class AppConfigData:
    """A client of AppConfig Data over what is *deployed*, by `application/environment/profile`; *refuses*: the code of an error."""

    def __init__(self, refuses: str = "") -> None:
        """Deploy nothing."""
        self.deployed: dict[str, bytes] = {}
        self._refuses, self._tokens, self._issued = refuses, dict[str, tuple[str, bytes | None]](), 0
        self._model = botocore.session.get_session().get_service_model("appconfigdata")

    def deploy(self, name: str, text: str) -> None:
        """Deploy *text* as the profile *name*."""
        self.deployed[name] = text.encode()

    def start_configuration_session(self, **given: str) -> dict[str, Any]:
        """Begin a session."""
        self._check("StartConfigurationSession", given)
        name = "/".join(given[f"{part}Identifier"] for part in ("Application", "Environment", "ConfigurationProfile"))
        if name not in self.deployed:
            raise self._error("ResourceNotFoundException", "StartConfigurationSession")
        return {"InitialConfigurationToken": self._token(name, None)}

    def get_latest_configuration(self, **given: str) -> dict[str, Any]:
        """Return the text, or nothing while it is the one that this session returned last."""
        self._check("GetLatestConfiguration", given)
        if given["ConfigurationToken"] not in self._tokens:
            raise self._error("BadRequestException", "GetLatestConfiguration")
        name, last = self._tokens.pop(given["ConfigurationToken"])
        found = self.deployed[name]
        return {
            "NextPollConfigurationToken": self._token(name, found), "NextPollIntervalInSeconds": 60, "ContentType": "application/json",
            "Configuration": io.BytesIO(b"" if found == last else found),
        }  # fmt: skip

    def _token(self, name: str, last: bytes | None) -> str:
        self._issued += 1
        token = f"token-{self._issued}"
        self._tokens[token] = (name, last)
        return token

    def _check(self, operation: str, given: dict[str, str]) -> None:
        report = ParamValidator().validate(given, self._model.operation_model(operation).input_shape)
        assert not report.has_errors(), report.generate_report()
        if self._refuses:
            raise self._error(self._refuses, operation)

    def _error(self, code: str, operation: str) -> ClientError:
        return ClientError({"Error": {"Code": code, "Message": "refused"}}, operation)
