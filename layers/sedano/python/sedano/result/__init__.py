"""The results of published tasks: of one (`AsyncResult`), of several (`ResultSet`), of a group in order (`GroupResult`)."""

from __future__ import annotations

from sedano.result.derived import Derived
from sedano.result.group import GroupResult
from sedano.result.many import ResultSet
from sedano.result.shape import Progress
from sedano.result.single import AsyncResult

__all__ = ["AsyncResult", "Derived", "GroupResult", "Progress", "ResultSet"]
