"""A control table that the role of a person may not write."""

from typing import Any, Never

from sedano.errors import NotAllowed


class Forbidden:
    """A control table that the role may not write."""

    def __init__(self, inner: Any) -> None:
        """Read from *inner*."""
        self.read = inner.read

    def change(self, *arguments: object) -> Never:
        """Refuse as IAM does."""
        raise NotAllowed("dynamodb.UpdateItem: AccessDeniedException: no", "dynamodb:UpdateItem")
