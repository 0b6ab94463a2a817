"""The words of effects for DynamoDB: every name and value is a placeholder, and values come back as they were."""

from typing import Any

import pytest

from sedano.aws.expressions.effects import attributes, part, row_of
from sedano.model.effects import ABSENT, TableWrite

KEY = {"id": "a", "sort": 1}
KEY_WORDS = {"id": {"S": "a"}, "sort": {"N": "1"}}


def test_a_put_or_a_delete_without_a_condition_needs_no_words() -> None:
    assert part(TableWrite("t", "put", KEY, item={**KEY, "x": True}), "arn") == {
        "Put": {"TableName": "arn", "Item": {**KEY_WORDS, "x": {"BOOL": True}}}
    }
    assert part(TableWrite("t", "delete", KEY), "arn") == {"Delete": {"TableName": "arn", "Key": KEY_WORDS}}


def test_an_update_names_each_attribute_once_and_guards_what_it_adds_to() -> None:
    effect = TableWrite(
        "t", "update", KEY, sets={"x": "new", "y": None}, adds={"n": 2, "m": -1}, removes=("r", "q"), condition={"x": "old", "n": ABSENT},
    )  # fmt: skip
    assert part(effect, "arn") == {
        "Update": {
            "TableName": "arn",
            "Key": KEY_WORDS,
            "UpdateExpression": "SET #n0 = :v0, #n1 = :v1 ADD #n2 :v2, #n3 :v3 REMOVE #n4, #n5",
            "ConditionExpression": (
                "#n0 = :v4 AND attribute_not_exists(#n2) AND (attribute_not_exists(#n2) OR attribute_type(#n2, :v5)) "
                "AND (attribute_not_exists(#n3) OR attribute_type(#n3, :v6))"
            ),
            "ExpressionAttributeNames": {"#n0": "x", "#n1": "y", "#n2": "n", "#n3": "m", "#n4": "r", "#n5": "q"},
            "ExpressionAttributeValues": {
                ":v0": {"S": "new"}, ":v1": {"NULL": True}, ":v2": {"N": "2"}, ":v3": {"N": "-1"}, ":v4": {"S": "old"}, ":v5": {"S": "N"},
                ":v6": {"S": "N"},
            },
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "update", "condition"),
    [
        ({"sets": {"x": 1}}, "SET #n0 = :v0", None), ({"removes": ("x",)}, "REMOVE #n0", None),
        ({"adds": {"x": 1}}, "ADD #n0 :v0", "attribute_not_exists(#n0) OR attribute_type(#n0, :v1)"),
        ({"sets": {"x": 1}, "condition": ABSENT}, "SET #n0 = :v0", "attribute_not_exists(#n1)"),
        ({"sets": {"x": 1}, "condition": {"y": ABSENT}}, "SET #n0 = :v0", "attribute_not_exists(#n1)"),
        ({"sets": {"x": 1}, "condition": {}}, "SET #n0 = :v0", None),
    ],
)  # fmt: skip
def test_an_update_has_the_words_of_its_parts_alone(parts: Any, update: str, condition: str | None) -> None:
    call = part(TableWrite("t", "update", KEY, **parts), "arn")["Update"]
    assert (call["UpdateExpression"], call.get("ConditionExpression")) == (update, condition)
    assert ("ExpressionAttributeValues" in call) == (":v" in update + (condition or ""))
    if parts.get("condition") is ABSENT:
        assert call["ExpressionAttributeNames"]["#n1"] == "id"


def test_values_come_back_as_they_were() -> None:
    row = {"t": "a", "n": 1, "m": -12, "yes": True, "none": None, "list": [1, [None]], "map": {"a": {"b": "1"}}}
    assert attributes(row) == {
        "t": {"S": "a"}, "n": {"N": "1"}, "m": {"N": "-12"}, "yes": {"BOOL": True}, "none": {"NULL": True},
        "list": {"L": [{"N": "1"}, {"L": [{"NULL": True}]}]}, "map": {"M": {"a": {"M": {"b": {"S": "1"}}}}},
    }  # fmt: skip
    assert row_of(attributes(row)) == row
    assert row_of({"f": {"N": "1.5"}, "b": {"B": b"x"}, "s": {"SS": ["a"]}}) == {"f": "1.5", "b": b"x", "s": ["a"]}
    assert isinstance(row_of({"f": {"N": "-7"}})["f"], int)
