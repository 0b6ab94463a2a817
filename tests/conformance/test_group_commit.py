"""Claims and records of a batch, which one call may write together: each has its own answer, also where the call's answer is lost."""

from concurrent.futures import ThreadPoolExecutor

from sedano.model import states
from sedano.model.ledger.failures import day_of
from sedano.model.ledger.records import Claim, Claimed, ErrorRecord, Outcome, Recorded
from sedano.model.packs import LEFT_FENCE
from sedano.model.retry import MAX_EXECUTIONS
from tests.conformance.tasks import CLAIM, NOW, claimed, success
from tests.conformance.worlds import World

TASKS = 12
CALL = "BatchExecuteStatement"


def claims(nonce: str = "n", **changes: object) -> list[Claim]:
    """First claims of some tasks, each under a nonce of its own."""
    return [CLAIM._replace(task_id=f"task-{n}", nonce=f"{nonce}{n:031x}")._replace(**changes) for n in range(TASKS)]  # type: ignore[arg-type]


def ends(given: list[Claim], fence: int = 1) -> list[Outcome]:
    """The successes of *given*."""
    return [success()._replace(task_id=one.task_id, nonce=one.nonce, fence=fence, message_id=one.message_id) for one in given]


def test_what_was_granted_together_is_what_is_stored(world: World) -> None:
    answers = world.ledger.claim(claims())
    stored = world.ledger.read([claim.task_id for claim in claims()])
    assert [isinstance(answer, Claimed) and answer.granted and answer.record for answer in answers] == [
        stored[claim.task_id] for claim in claims()
    ]


def test_claims_and_records_whose_answers_were_lost_are_recognised(world: World) -> None:
    with world.losing(CALL):
        world.ledger.claim(claims())
    answers = world.ledger.claim(claims())
    assert [isinstance(one, Claimed) and one.granted and one.record and (one.record.fence, one.record.claims) for one in answers] == [
        (1, 1)
    ] * TASKS
    with world.losing(CALL):
        world.ledger.record(ends(claims()))
    assert world.ledger.record(ends(claims())) == [Recorded(True)] * TASKS


def test_a_refused_record_of_a_batch_brings_the_record_in_the_way(world: World) -> None:
    given = claims()
    world.ledger.claim(given)
    outcomes = ends(given)
    outcomes[3] = outcomes[3]._replace(nonce="of another claim")
    outcomes[5] = outcomes[5]._replace(fence=2)
    outcomes[7] = outcomes[7]._replace(task_id="unknown")
    answers = world.ledger.record(outcomes)
    assert [isinstance(one, Recorded) and one.accepted for one in answers] == [n not in (3, 5, 7) for n in range(TASKS)]
    assert [isinstance(answers[n], Recorded) and answers[n].record is not None for n in (3, 5, 7)] == [True, True, False]  # type: ignore[union-attr]
    found = world.ledger.read([one.task_id for one in given])
    assert {n for n in range(TASKS) if found[f"task-{n}"].state != states.SUCCESS} == {3, 5, 7}


def test_of_workers_that_claim_the_same_batch_at_once_each_task_has_one(world: World) -> None:
    if not world.concurrent:
        return
    with ThreadPoolExecutor(4) as workers:
        found = [*workers.map(lambda worker: world.ledger.claim(claims(nonce=str(worker))), range(4))]
    for task in range(TASKS):
        granted = [answers[task] for answers in found if isinstance(answers[task], Claimed) and answers[task].granted]  # type: ignore[union-attr]
        assert len(granted) == 1


def test_a_task_that_waits_for_its_next_attempt_is_claimed_among_others(world: World) -> None:
    held = claimed(world.ledger, claims()[4])
    outcome = ends([claims()[4]])[0]._replace(state=states.RETRY, next_attempt=0, result=None)
    assert world.ledger.record([outcome]) == [Recorded(True)]
    answer = world.ledger.claim(claims(nonce="m"))[4]
    assert isinstance(answer, Claimed)
    assert answer.record is not None
    assert (answer.granted, answer.record.fence) == (True, held.fence + 1)


def test_a_member_that_left_its_pack_has_a_later_fence_than_its_neighbours_in_the_batch(world: World) -> None:
    given = claims()
    given[2] = given[2]._replace(left=True)
    answers = world.ledger.claim(given)
    assert [isinstance(one, Claimed) and one.granted and one.record and one.record.fence for one in answers] == [
        LEFT_FENCE if n == 2 else 1 for n in range(TASKS)
    ]
    assert world.ledger.read(["task-2"])["task-2"].fence == LEFT_FENCE


def test_a_retry_after_many_failures_is_listed_also_where_others_are_recorded_with_it(world: World) -> None:
    given, error = claims(), ErrorRecord("ValueError", "no")
    world.ledger.claim(given)
    outcomes = ends(given)
    for n in (4, 6):
        again = MAX_EXECUTIONS - (n == 4)
        outcomes[n] = outcomes[n]._replace(state=states.RETRY, result=None, error=error, next_attempt=again)
    assert world.ledger.record(outcomes) == [Recorded(True)] * TASKS
    found = world.ledger.failures(day_of(NOW + 1), 10)
    assert found is not None
    assert [one.task_id for one in found] == ["task-6"]
