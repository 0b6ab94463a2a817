"""The keys of a stage in the Parameter Store of Systems Manager, as one SecureString.

CloudFormation cannot make a SecureString, and a key does not belong in a template. So the first function that needs the keys makes the
parameter: a role that may read it may also create it (`ssm:Overwrite` is false in its grant), and none may overwrite or delete it.
"""

from __future__ import annotations

from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault


def parameter(stage: str) -> str:
    """Return the name of the parameter that holds the keys of *stage*."""
    return f"/sedano/{stage}/keys"


class SsmKeyStore:
    """The keys of one stage."""

    def __init__(self, ssm: Any, stage: str) -> None:
        """Read and write over the client *ssm*."""
        self._ssm, self.name = ssm, parameter(stage)

    def read(self) -> str | None:
        """Return the text; None if it was never written."""
        try:
            return str(self._ssm.get_parameter(Name=self.name, WithDecryption=True)["Parameter"]["Value"])
        except AWS_ERRORS as error:
            if code_of(error) == "ParameterNotFound":
                return None
            raise fault(error, f"ssm.GetParameter on {self.name}") from error

    def create(self, text: str) -> bool:
        """Write *text* unless one exists; return whether it was written."""
        return self._put(text, overwrite=False)

    def replace(self, text: str) -> None:
        """Replace the existing text by *text*."""
        self._put(text, overwrite=True)

    def _put(self, text: str, *, overwrite: bool) -> bool:
        try:
            self._ssm.put_parameter(Name=self.name, Value=text, Type="SecureString", Overwrite=overwrite)
        except AWS_ERRORS as error:
            if code_of(error) == "ParameterAlreadyExists":
                return False
            raise fault(error, f"ssm.PutParameter on {self.name}") from error
        return True
