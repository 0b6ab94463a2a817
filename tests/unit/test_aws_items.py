"""Items and keys: what goes into a table comes out as it was, and different things never share a key."""

import hypothesis.strategies as st
from hypothesis import given

from sedano.aws import ledger_items as items
from sedano.aws.client import keys
from sedano.model.canvas.join import Join
from sedano.model.ledger import outcome_text as tail
from sedano.model.ledger.records import RECORD_LIFETIME_S, Claim, ErrorRecord, Outcome, Posted, TaskRecord
from sedano.model.messages.message import BlobRef, Section
from sedano.model.states import RETRY, SUCCESS

MAX_KEY_BYTES = 2048
_ids = st.text(min_size=1, max_size=60) | st.text(alphabet="#%=/ a~\u20ac", min_size=1, max_size=300)


@given(_ids, _ids)
def test_different_ids_have_different_keys(first: str, second: str) -> None:
    assert (keys.task(first) == keys.task(second)) == (first == second)


@given(_ids, _ids, _ids, _ids)
def test_the_parts_of_a_nodes_key_cannot_run_into_each_other(join_1: str, node_1: str, join_2: str, node_2: str) -> None:
    assert (keys.node(join_1, node_1) == keys.node(join_2, node_2)) == ((join_1, node_1) == (join_2, node_2))
    assert keys.node(join_1, node_1) != keys.join(join_2)


@given(st.text(max_size=5000))
def test_a_key_of_any_id_fits_and_is_ascii(text: str) -> None:
    key = keys.node(text, text)
    assert len(key) <= MAX_KEY_BYTES
    assert key.isascii()


def test_kinds_of_items_are_apart() -> None:
    assert len({keys.task("x"), keys.join("x"), keys.member("x"), keys.node("x", "x")}) == 4


_texts = st.text(st.characters(), max_size=20)
_refs = st.none() | st.builds(BlobRef, st.just("ab" * 32), st.integers(0, 2**40))
_errors = st.builds(ErrorRecord, _texts, _texts, _texts).map(lambda error: error if error.raised else error._replace(arguments=""))
_outcomes = st.builds(
    Outcome,
    task_id=st.just("t"), state=st.sampled_from([RETRY, SUCCESS]), nonce=st.just("n"), fence=st.just(1), message_id=st.just("m"),
    attempt=st.just(2), clock=st.integers(0, 2**63), name=st.just("shop.add"), at=st.floats(0, 4e9),
    result=st.none() | st.sampled_from(["null", '"é"']), result_ref=_refs,
    error=st.none() | _errors,
    outbox=st.lists(st.builds(Posted, _texts, _texts, st.integers(0, 900), st.none() | _texts), max_size=3).map(tuple),
    outbox_ref=_refs, next_attempt=st.just(3), not_before=st.integers(0, 4 * 10**12).map(lambda number: number / 1000),
    section=st.none() | st.builds(Section, st.integers(0, 99), st.integers(1, 99)),
    call=st.none() | st.builds(Posted, _texts, _texts, st.just(0), st.none() | _texts, st.none() | _texts),
)  # fmt: skip


@given(_outcomes)
def test_a_record_comes_back_as_it_was_written(outcome: Outcome) -> None:
    values = items.outcome_values(outcome, tail.write(outcome))
    names = {"st": ":st", "try": ":try", "nc": ":nc", "clk": ":clk", "nm": ":nm", "res": ":res", "tail": ":tail", "ttl": ":ttl"}
    item = {name: values[value] for name, value in names.items()} | {"mid": {"S": "m"}, "att": {"N": "1"}}
    assert items.record("t", item) == TaskRecord(
        "t", outcome.state, attempt=3 if outcome.state == RETRY else 2, fence=1, nonce="n", message_id="m", clock=outcome.clock,
        name="shop.add", result=outcome.result, result_ref=outcome.result_ref, error=outcome.error, outbox=outcome.outbox,
        outbox_ref=outcome.outbox_ref, not_before=outcome.not_before, section=outcome.section, added=outcome.added,
        call=outcome.call,
    )  # fmt: skip
    assert int(values[":ttl"]["N"]) == int(outcome.at) + RECORD_LIFETIME_S


@given(st.floats(0, 4e9))
def test_an_expiry_is_the_same_after_any_number_of_round_trips(expires: float) -> None:
    once = items.whole_ms(expires)
    assert items.whole_ms(int(once) / 1000) == once
    assert abs(int(once) / 1000 - expires) <= 0.0005 + 1e-6


def test_a_claims_numbers_are_whole() -> None:
    values = items.claim_values(Claim("t", 0, "m", "n", 1_767_225_600.1239, 1_767_225_600_000_001, "x"))
    assert (values[":exp"], values[":clk"]) == ({"N": "1767225600124"}, {"N": "1767225600000001"})
    assert values[":ttl"] == {"N": str(1_767_225_600 + RECORD_LIFETIME_S)}


@given(st.builds(Join, _texts, st.integers(1, 10_000), _texts, _texts, _refs))
def test_a_join_comes_back_as_it_was_opened(join: Join) -> None:
    assert items.join(items.join_item("JOIN#x", join, 0.0)) == join
