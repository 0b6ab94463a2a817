"""The condition of a document's one write to a table that is a sink: it holds only while no item has the document's id."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sedano.model.sinks.places import KEY

ONCE: Mapping[str, object] = MappingProxyType({
    "ConditionExpression": "attribute_not_exists(#id)",
    "ExpressionAttributeNames": {"#id": KEY},
})  # fmt: skip
