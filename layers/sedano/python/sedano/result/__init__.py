"""The results of published tasks: of one (`AsyncResult`), of several (`ResultSet`), of a group in order (`GroupResult`)."""

from __future__ import annotations

from sedano.result.async_result import AsyncResult
from sedano.result.group_result import GroupResult
from sedano.result.large_groups import Derived
from sedano.result.result_set import ResultSet
from sedano.result.result_tree import Progress

__all__ = ["AsyncResult", "Derived", "GroupResult", "Progress", "ResultSet"]
