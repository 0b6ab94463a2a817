"""Group commit call by call: which claims and records go together, and what each reply of DynamoDB makes of its task."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.stub import Stubber

from sedano.aws.expressions import tasks
from sedano.aws.expressions.statements import END, INSERT, MOST, Statement
from sedano.aws.group_commit import ALONE_BYTES, GroupCommitLedger
from sedano.errors import ConfigurationError, NotAllowed, TooLarge, Unavailable
from sedano.model.ledger.records import Claim, Claimed, ErrorRecord, Outcome, Recorded, TaskRecord
from sedano.model.messages.message import PACK
from sedano.model.packs import LEFT_FENCE
from sedano.model.retry import MAX_EXECUTIONS
from sedano.model.states import FAILURE, RETRY, RUNNING, SUCCESS
from tests.unit.test_faults import client

CLAIM = Claim("task-0", 0, "message-0", "nonce-0", 2e9 + 0.1236, 7, "shop.add", owner="worker")
OUTCOME = Outcome("task-0", SUCCESS, "nonce-0", 1, "message-0", 0, 8, "shop.add", 1.9e9, result="5")
DONE: Mapping[str, Any] = {"TableName": "ledger"}
DUPLICATE: Mapping[str, Any] = {"Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}}


def claims(number: int) -> list[Claim]:
    """First claims of so many tasks."""
    return [CLAIM._replace(task_id=f"task-{n}", message_id=f"message-{n}", nonce=f"nonce-{n}") for n in range(number)]


def outcomes(number: int) -> list[Outcome]:
    """Ends of so many tasks."""
    return [OUTCOME._replace(task_id=f"task-{n}", message_id=f"message-{n}", nonce=f"nonce-{n}") for n in range(number)]


def item(number: int, state: str = RUNNING, nonce: str = "", fence: int = 1) -> dict[str, Any]:
    """The item of a task."""
    return {
        "pk": {"S": f"TASK#task-{number}"}, "st": {"S": state}, "try": {"N": "0"}, "att": {"N": str(fence)}, "cnt": {"N": "1"},
        "mid": {"S": f"message-{number}"}, "nc": {"S": nonce or f"nonce-{number}"},
    }  # fmt: skip


class Calls:
    """A DynamoDB that notes its calls and answers them from a list, by operation; an exception is raised."""

    def __init__(self, *replies: Any, singly: Sequence[Any] = ()) -> None:
        self.replies, self.singly = list(replies), list(singly)
        self.together: list[list[Mapping[str, Any]]] = []
        self.alone: list[str] = []

    def batch_execute_statement(self, *, Statements: list[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: N803 - as botocore has it
        self.together.append(Statements)
        found = self.replies.pop(0) if self.replies else [DONE] * len(Statements)
        if isinstance(found, Exception):
            raise found
        return {"Responses": found}

    def update_item(self, **asked: Any) -> Mapping[str, Any]:
        number = int(asked["Key"]["pk"]["S"].rpartition("-")[2])
        self.alone.append(f"{number} {asked['ExpressionAttributeValues'][':nc']['S']}")
        found = self.singly.pop(0) if self.singly else {"Attributes": item(number)}
        if isinstance(found, Exception):
            raise found
        return dict(found)


def ledger(calls: Any) -> GroupCommitLedger:
    """The ledger over *calls*, on one thread."""
    return GroupCommitLedger(calls, "ledger", lanes=1)


@pytest.fixture
def table() -> Iterator[Stubber]:
    """The answers of DynamoDB as botocore checks them, one after the other."""
    with Stubber(client("dynamodb")) as stubber:
        yield stubber


def test_the_claims_of_a_batch_are_one_call_and_grant_what_they_wrote() -> None:
    calls = Calls()
    answers = ledger(calls).claim(claims(3))
    assert [len(call) for call in calls.together] == [3]
    assert calls.alone == []
    record = TaskRecord(
        "task-1", RUNNING, fence=1, claims=1, nonce="nonce-1", message_id="message-1", expires=2e9 + 0.124, clock=7, name="shop.add",
        owner="worker",
    )  # fmt: skip
    assert answers[1] == Claimed(True, record)
    statement = calls.together[0][1]
    assert statement["Statement"] == INSERT.of("ledger").text
    assert "ReturnValuesOnConditionCheckFailure" not in statement
    written = dict(zip(names_in(INSERT), statement["Parameters"], strict=True))
    assert written == {
        "pk": {"S": "TASK#task-1"}, "st": {"S": "RUNNING"}, "nc": {"S": "nonce-1"}, "mid": {"S": "message-1"},
        "exp": {"N": "2000000000124"}, "clk": {"N": "7"}, "nm": {"S": "shop.add"}, "own": {"S": "worker"},
        "ttl": {"N": str(2_000_000_000 + 44 * 86_400)}, "try": {"N": "0"}, "cnt": {"N": "1"}, "att": {"N": "1"},
    }  # fmt: skip


def names_in(statement: Statement) -> list[str]:
    """The names before the marks of *statement*."""
    words = statement.text.replace(":", " ").replace("=", " ").replace("'", "").replace('"', "").replace("{", "").split()
    return [words[n - 1] for n, word in enumerate(words) if word.startswith("?")]


def test_the_statements_write_and_compare_what_the_claim_and_the_record_do() -> None:
    parts = [part.split(" = ") for part in tasks.CLAIM.update.removeprefix("SET ").split(", ") if " = " in part]
    assert {left.replace("#ttl", "ttl") for left, *_ in parts} | {"pk"} == set(names_in(INSERT)), "INSERT writes what CLAIM writes"
    written = [part.split(" = ") for part in tasks.RECORD.update.removeprefix("SET ").split(", ")]
    compared = [part.split(" = ") for part in tasks.RECORD.condition.split(" AND ")]
    pairs = list(zip(names_in(END), END.parameters, strict=True))
    assert [(left.replace("#ttl", "ttl"), right) for left, right in written] == pairs[: len(written)]
    assert [("pk", ":pk"), *((left, right) for left, right in compared)] == pairs[len(written) :]


def test_a_single_claim_and_a_single_record_are_update_item() -> None:
    calls = Calls()
    ledger(calls).claim(claims(1))
    ledger(calls).record(outcomes(1))
    assert (calls.together, calls.alone) == ([], ["0 nonce-0"] * 2)
    assert ledger(calls).claim([]) == ledger(calls).record([]) == []


def test_a_refused_claim_goes_on_alone_under_the_same_nonce() -> None:
    calls = Calls([DONE, DUPLICATE, DONE], singly=[{"Attributes": item(1, fence=4)}])
    answers = ledger(calls).claim(claims(3))
    assert calls.alone == ["1 nonce-1"]
    assert [isinstance(answer, Claimed) and answer.record and answer.record.fence for answer in answers] == [1, 4, 1]


@pytest.mark.parametrize("code", [
    "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded", "InternalServerError", "TransactionConflict",
    "ValidationError", "ConditionalCheckFailed", "SomethingNew",
])  # fmt: skip
def test_what_is_not_known_is_asked_alone(code: str) -> None:
    calls = Calls([DONE, {"Error": {"Code": code, "Message": "oh"}}], [{"Error": {"Code": code, "Message": "oh"}}, DONE])
    one = ledger(calls)
    assert [isinstance(answer, Claimed) and answer.granted for answer in one.claim(claims(2))] == [True, True]
    assert one.record(outcomes(2)) == [Recorded(True), Recorded(True)]
    assert calls.alone == ["1 nonce-1", "0 nonce-0"]


@pytest.mark.parametrize("replies", [ReadTimeoutError(endpoint_url="x"), [], [DONE], [DONE] * 3])
def test_without_replies_to_all_statements_none_is_believed(replies: Any) -> None:
    calls = Calls(replies, replies)
    ledger(calls).claim(claims(2))
    ledger(calls).record(outcomes(2))
    assert calls.alone == ["0 nonce-0", "1 nonce-1"] * 2


def test_a_call_that_dynamodb_cannot_read_costs_no_task_its_answer(table: Stubber) -> None:
    table.add_client_error("batch_execute_statement", "ValidationException", "no")
    for number in range(2):
        table.add_response("update_item", {"Attributes": item(number)})
    assert [isinstance(answer, Claimed) and answer.granted for answer in ledger(table.client).claim(claims(2))] == [True, True]


def test_a_role_without_the_right_is_told_which_one_it_lacks(table: Stubber) -> None:
    table.add_client_error("batch_execute_statement", "AccessDeniedException", "not authorized to perform: dynamodb:PartiQLInsert on x")
    with pytest.raises(NotAllowed) as denied:
        ledger(table.client).claim(claims(2))
    assert denied.value.action == "dynamodb:PartiQLInsert"
    refused = {"Error": {"Code": "AccessDenied", "Message": "User: x is not authorized to perform: dynamodb:PartiQLUpdate on y"}}
    table.add_response("batch_execute_statement", {"Responses": [refused, refused]})
    with pytest.raises(NotAllowed) as denied:
        ledger(table.client).record(outcomes(2))
    assert denied.value.action == "dynamodb:PartiQLUpdate"


def test_a_table_that_does_not_exist_stops_the_call(table: Stubber) -> None:
    table.add_client_error("batch_execute_statement", "ResourceNotFoundException", "Requested resource not found")
    with pytest.raises(ConfigurationError, match="SEDANO_LEDGER_TABLE"):
        ledger(table.client).claim(claims(2))
    gone = {"Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}}
    table.add_response("batch_execute_statement", {"Responses": [gone, gone]})
    with pytest.raises(ConfigurationError, match="ResourceNotFound"):
        ledger(table.client).record(outcomes(2))
    with pytest.raises(ConfigurationError, match="is not the name of a table"):
        GroupCommitLedger(table.client, 'ledger" SET')


def test_a_refused_record_is_mine_or_anothers_by_the_item_that_came_with_it() -> None:
    def refused(found: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"Error": {"Code": "ConditionalCheckFailed", "Message": "no", "Item": found}}

    calls = Calls([refused(item(0, SUCCESS)), refused(item(1, nonce="another", fence=2)), refused(item(2, SUCCESS, fence=2)), DONE])
    answers = ledger(calls).record(outcomes(4))
    assert [isinstance(answer, Recorded) and answer.accepted for answer in answers] == [True, False, False, True]
    assert isinstance(answers[1], Recorded)
    assert answers[1].record is not None
    assert answers[1].record.nonce == "another"
    assert calls.alone == []
    assert calls.together[0][0]["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_what_must_find_a_record_and_what_comes_twice_goes_alone_and_after() -> None:
    calls = Calls()
    first, second, third = claims(3)
    retry, old = second._replace(attempt=1, must_exist=True), third._replace(must_exist=True)
    more = CLAIM._replace(task_id="task-4", nonce="nonce-4")
    answers = ledger(calls).claim([first, retry, old, more, first._replace(nonce="twice")])
    assert [[statement["Parameters"][0]["S"] for statement in call] for call in calls.together] == [["TASK#task-0", "TASK#task-4"]]
    assert calls.alone == ["1 nonce-1", "2 nonce-2", "0 twice"]
    assert [isinstance(answer, Claimed) and answer.granted for answer in answers] == [True, True, True, True, True]


def test_a_member_that_left_its_pack_is_claimed_alone_and_so_is_a_pack() -> None:
    calls = Calls(singly=[{"Attributes": item(1, fence=LEFT_FENCE)}])
    first, left, pack, last = claims(4)
    answers = ledger(calls).claim([first, left._replace(left=True), pack._replace(name=PACK), last])
    assert [[statement["Parameters"][0]["S"] for statement in call] for call in calls.together] == [["TASK#task-0", "TASK#task-3"]]
    assert calls.alone == ["1 nonce-1", "2 nonce-2"]
    assert [isinstance(one, Claimed) and one.record and one.record.fence for one in answers] == [1, LEFT_FENCE, 1, 1]


def test_a_pack_is_recorded_alone() -> None:
    calls = Calls()
    first, pack, last = outcomes(3)
    assert ledger(calls).record([first, pack._replace(name=PACK), last]) == [Recorded(True)] * 3
    assert [[statement["Parameters"][7]["S"] for statement in call] for call in calls.together] == [["TASK#task-0", "TASK#task-2"]]
    assert calls.alone == ["1 nonce-1"]


def test_a_retry_that_the_index_of_failures_lists_goes_alone() -> None:
    calls, ends = Calls(), outcomes(3)
    ends[1] = ends[1]._replace(state=RETRY, error=ErrorRecord("ValueError", "no"), result=None, next_attempt=MAX_EXECUTIONS - 1)
    ends[2] = ends[1]._replace(task_id="task-2", nonce="nonce-2", next_attempt=MAX_EXECUTIONS)
    assert ledger(calls).record(ends) == [Recorded(True)] * 3
    assert [statement["Parameters"][7]["S"] for statement in calls.together[0]] == ["TASK#task-0", "TASK#task-1"]
    assert calls.alone == ["2 nonce-2"]


def test_failures_and_large_outcomes_go_alone() -> None:
    calls = Calls()
    ends = outcomes(6)
    ends[1] = ends[1]._replace(state=FAILURE, error=ErrorRecord("ValueError", "no"), result=None)
    ends[2] = ends[2]._replace(result="x" * (ALONE_BYTES + 1))
    ends[3] = ends[3]._replace(state=RETRY, next_attempt=1, not_before=1.9e9, result=None)
    ends[4] = ends[4]._replace(error=ErrorRecord("ValueError", "é" * 500_000), state=RETRY, result=None)
    answers = ledger(calls).record([*ends, ends[0]])
    assert [statement["Parameters"][7]["S"] for statement in calls.together[0]] == ["TASK#task-0", "TASK#task-3", "TASK#task-5"]
    assert calls.together[0][1]["Parameters"][1] == {"N": "1"}, "a retry waits under the number of its next attempt"
    assert calls.alone == ["1 nonce-1", "2 nonce-2", "0 nonce-0"]
    assert isinstance(answers[4], TooLarge)
    assert [answers[n] for n in (0, 1, 2, 3, 5, 6)] == [Recorded(True)] * 6


def test_a_call_has_so_many_statements_and_bytes_at_the_most() -> None:
    calls = Calls()
    ledger(calls).claim(claims(2 * MOST + 1))
    assert [len(call) for call in calls.together] == [MOST, MOST, 1]
    calls.together.clear()
    ledger(calls).record([end._replace(result="x" * ALONE_BYTES) for end in outcomes(9)])
    assert [len(call) for call in calls.together] == [4, 4, 1]
    assert calls.alone == []


def test_a_task_that_is_away_answers_for_itself() -> None:
    away = ReadTimeoutError(endpoint_url="x")
    calls = Calls([DONE, {"Error": {"Code": "ThrottlingError", "Message": "slow"}}], singly=[away])
    granted, failed = ledger(calls).claim(claims(2))
    assert isinstance(granted, Claimed)
    assert isinstance(failed, Unavailable)
