"""What every conditional write must hold, whichever file of `sedano.aws.expressions` it stands in, and what the task's writes promise."""

import importlib
import pkgutil
import re

import pytest
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from sedano.aws import expressions
from sedano.aws.expressions import Write, schedules, tasks
from sedano.model import states

WRITES = {
    f"{module.name}.{name}": value
    for module in pkgutil.iter_modules(expressions.__path__)
    for name, value in vars(importlib.import_module(f"{expressions.__name__}.{module.name}")).items()
    if isinstance(value, Write)
}
CLAIMS = {"CLAIM": tasks.CLAIM, "CLAIM_LEFT": tasks.CLAIM_LEFT, "RECLAIM": tasks.RECLAIM, "STEAL": tasks.STEAL}
RECOVERED = {"RECORD_RECOVERED", "KEEP_RECOVERED", "REVOKE"}
TASK_WRITES = {name: value for name, value in vars(tasks).items() if isinstance(value, Write)}


def text_of(write: Write) -> str:
    """Condition and update."""
    return f"{write.condition} {write.update}"


@pytest.fixture(params=sorted(WRITES))
def write(request: pytest.FixtureRequest) -> Write:
    """Each write of the package."""
    return WRITES[request.param]


def test_every_condition_brings_back_the_item_in_the_way(write: Write) -> None:
    if write.condition:
        assert write.parameters["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
        assert write.parameters["ConditionExpression"] == write.condition


def test_no_attribute_is_a_reserved_word(write: Write) -> None:
    words = set(re.findall(r"(?<![:#\w])[a-z_]\w*", text_of(write))) - {
        "attribute_not_exists",
        "attribute_exists",
        "if_not_exists",
        "contains",
        "size",
    }
    assert [word for word in words if word.upper() in ReservedKeywords.get_reserved_keywords()] == []


def test_what_is_given_is_used(write: Write) -> None:
    placeholders = set(re.findall(r"[:#]\w+", text_of(write)))
    assert set(write.names) <= placeholders
    assert set(write.values) <= placeholders
    assert {name for name in placeholders if name.startswith("#")} <= set(write.names)


def test_a_write_that_takes_the_token_of_another_names_what_it_believes(write: Write) -> None:
    if not write.condition and write is not schedules.DEFINE:  # it is made only together with CHANGE, whose condition holds for both
        assert "SET #ttl = :ttl ADD" in write.update or not write.update


def test_writes_are_told_apart() -> None:
    texts = [(name.partition(".")[0], write.condition, write.update) for name, write in WRITES.items()]
    assert len(set(texts)) == len(texts)


def test_only_claims_change_the_fence_and_each_raises_it_by_one() -> None:
    for name, write in TASK_WRITES.items():
        changes = re.findall(r"\batt = (att|if_not_exists\(att, :(?:zero|one)\)) \+ :one", write.update)
        assert len(changes) == write.update.count("att =") == (name in CLAIMS), name
    assert tasks.CLAIM.values[":one"] == tasks.STEAL.values[":one"] == {"N": "1"}


def test_nothing_that_carries_a_token_is_deleted_or_loses_an_attribute() -> None:
    for name, write in TASK_WRITES.items():
        assert not re.search(r"\b(REMOVE|DELETE)\b", write.update.removesuffix(" REMOVE tri, tat")), name
        assert write.update.endswith(" REMOVE tri, tat") == (name in RECOVERED), name


def test_recording_leaves_fence_nonce_and_message_id_in_place() -> None:
    for write in (tasks.RECORD, tasks.RECORD_FAILURE, tasks.RECORD_RECOVERED):
        assert not re.search(r"\b(att|nc|mid|cnt|exp) =", write.update)
    assert not re.search(r"\b(att|nc|mid|cnt|exp|st|try|tri|tat) =", tasks.FORGET.update)


def test_a_failure_is_written_as_any_end_is_and_only_its_entry_is_more() -> None:
    for write, plain in ((tasks.RECORD_FAILURE, tasks.RECORD), (tasks.KEEP_FAILURE, tasks.KEEP)):
        assert (write.condition, write.values) == (plain.condition, plain.values)
        assert write.update == f"{plain.update}, tri = :tri, tat = :tat, tid = :tid, ek = :ek, wh = :wh"


def test_the_end_of_a_task_that_recovered_is_written_as_any_end_is_and_only_its_entry_is_less() -> None:
    for write, plain in ((tasks.RECORD_RECOVERED, tasks.RECORD), (tasks.KEEP_RECOVERED, tasks.KEEP)):
        assert (write.condition, write.values, write.names) == (plain.condition, plain.values, plain.names)
        assert write.update == f"{plain.update} REMOVE tri, tat"


def test_forgetting_is_for_every_terminal_state_and_no_other() -> None:
    states_of = {value["S"] for name, value in tasks.FORGET.values.items() if name not in (":none", ":one")}
    assert states_of == set(states.TERMINAL)


def test_a_claim_and_its_retry_differ_only_in_whether_the_record_must_exist() -> None:
    assert tasks.CLAIM.update == tasks.RECLAIM.update
    assert tasks.CLAIM.condition == f"attribute_not_exists(pk) OR ({tasks.RECLAIM.condition})"


def test_a_write_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        tasks.CLAIM.condition = ""  # type: ignore[misc]
