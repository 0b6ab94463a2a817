"""Values beside the codec: time limits that meet, drafts that are stamped, spans of a trace, checked blobs, and times in microseconds."""

from hashlib import sha256
from uuid import UUID, uuid5

import pytest

from sedano.errors import MessageRefused
from sedano.model.messages import timestamps
from sedano.model.messages.blob import require_digest, verified
from sedano.model.messages.lineage import NAMESPACE, Lineage
from sedano.model.messages.message import BlobRef, Command, Gather, JoinMember, Place, Section, TimeLimits
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.messages.trace import Span, span, trace_of


@pytest.mark.parametrize(
    ("limits", "longest"),
    [((None, None), 0.0), ((1.5, None), 1.5), ((1.5, 2.5), 2.5), ((None, 2.5), 2.5), ((1.5, 0.0), 0.0), ((0.0, None), 0.0)],
)
def test_the_longest_run_is_that_of_the_hard_limit_or_else_the_soft_one(limits: tuple[float | None, float | None], longest: float) -> None:
    assert TimeLimits(*limits).longest == longest


@pytest.mark.parametrize(
    ("own", "usual", "expected"),
    [
        ((None, None), None, (None, None)),
        ((1, None), None, (1, None)),
        ((None, 2), None, (None, 2)),
        ((1, 2), (3, 4), (1, 2)),
        ((None, None), (3, 4), (3, 4)),
        ((None, 2), (3, 4), (None, 2)),
        ((None, 3), (3, 4), (None, 3)),
        ((1, None), (3, 4), (1, 4)),
        ((5, None), (3, 4), (None, 4)),
        ((5, None), (3, None), (5, None)),
        ((0, None), (3, 4), (0, 4)),
    ],
)
def test_the_limits_of_a_call_go_before_those_of_its_task(own: tuple[float], usual: tuple[float] | None, expected: tuple[float]) -> None:
    assert TimeLimits(*own).over(None if usual is None else TimeLimits(*usual)) == TimeLimits(*expected)


def test_a_draft_that_is_stamped_keeps_everything_else() -> None:
    draft = Command(
        "d", "t", "shop.add", "x", 1.0, 2, [1], {"a": 1}, 3, Lineage("a"), 4.0, "acme", "tp", True, JoinMember("j", 0, 1), Gather("g", 1),
        Section(1, 2), BlobRef("d", 1), "s", Place("c", "0", "p"), TimeLimits(1, 2), "ts",
    )  # fmt: skip
    assert draft.stamped("m", "me", 5.0, 6, Lineage("b")) == draft._replace(id="m", source="me", time=5.0, clock=6, lineage=Lineage("b"))


def test_an_execution_is_a_span_of_the_trace_that_its_message_names() -> None:
    own = uuid5(NAMESPACE, "span/e").hex[:16]
    assert span(f"00-{'1' * 32}-{'2' * 16}-00", "root", "e") == Span("1" * 32, own, "2" * 16, "00")
    assert span(f"01-{'1' * 32}-{'2' * 16}-01-more", "root", "e") == Span("1" * 32, own, "2" * 16, "01")
    assert span(None, "root", "e") == Span(uuid5(NAMESPACE, "trace/root").hex, own, "", "01")
    assert Span("1" * 32, "3" * 16, "2" * 16, "01").traceparent == f"00-{'1' * 32}-{'3' * 16}-01"


@pytest.mark.parametrize("root", ["root", "", str(UUID(int=0))])
def test_the_trace_of_a_root_that_is_no_uuid_is_derived(root: str) -> None:
    assert trace_of(root) == uuid5(NAMESPACE, f"trace/{root}").hex


def test_the_trace_of_a_root_that_is_a_uuid_is_its_id() -> None:
    assert trace_of("6ba7b810-9dad-41d1-80b4-00c04fd430c8") == "6ba7b8109dad41d180b400c04fd430c8"


REF = BlobRef(sha256(b"text").hexdigest(), 4)


@pytest.mark.parametrize(
    ("ref", "data", "field", "why"),
    [
        (REF, None, "dataref", "no such blob in this deployment"),
        (REF, b"texts", "datasize", "declared 4 bytes, but the blob has another size"),
        (REF, b"tEXt", "dataref", "the blob's bytes are not those of its digest"),
    ],
)
def test_a_blob_that_is_not_what_its_claim_check_says_is_refused(ref: BlobRef, data: bytes | None, field: str, why: str) -> None:
    with pytest.raises(MessageRefused) as caught:
        verified(ref, data)
    assert (caught.value.code, caught.value.field, caught.value.detail) == ("blob", field, why)


def test_a_blob_that_is_what_its_claim_check_says_is_given_back() -> None:
    assert verified(REF, b"text") == b"text"
    require_digest(REF)


@pytest.mark.parametrize("digest", ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64, "../" + "0" * 61])
def test_what_is_no_digest_is_refused(digest: str) -> None:
    with pytest.raises(MessageRefused) as caught:
        require_digest(BlobRef(digest, 4))
    assert (caught.value.code, caught.value.field, caught.value.detail) == ("blob", "dataref", "is not a digest")


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (0.5, "1970-01-01T00:00:00.500000Z"),
        (0.99999999, "1970-01-01T00:00:01.000000Z"),
        (59.9999994, "1970-01-01T00:00:59.999999Z"),
        (1_795_172_400.123456, "2026-11-20T11:00:00.123456Z"),
        (LAST_SECOND - 1, "9999-12-31T23:59:58.000000Z"),
    ],
)
def test_a_time_is_written_to_the_microsecond(moment: float, text: str) -> None:
    assert timestamps.write(moment) == text


@pytest.mark.parametrize("moment", [-0.5, LAST_SECOND, LAST_SECOND + 0.5])
def test_a_time_beyond_the_years_1970_to_9999_is_not_written(moment: float) -> None:
    with pytest.raises(ValueError, match=f"^{moment} is not between 1970 and 9999$"):
        timestamps.write(moment)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:00.000001Z", 0.000001),
        ("1970-01-01T00:00:00.12345Z", 0.12345),
        ("1970-01-01T00:00:00.1234569Z", 0.123456),
        ("1970-01-01T00:00:00.123456789Z", 0.123456),
        ("1970-01-01T01:00:00.5+01:00", 0.5),
        ("9999-12-31T23:59:58.999999Z", 253_402_300_798.999999),
    ],
)
def test_a_time_is_read_to_the_microsecond(text: str, moment: float) -> None:
    assert timestamps.read(text) == moment


@pytest.mark.parametrize(
    "text",
    ["1970-01-01T00:00:00,123456Z", "1970-01-01T00:00:00.123456X", "1970-01-01T00:00:00.12_456Z", "1970-01-01T00:00:00. 12345Z",
     "1970-01-01T00:00:00.12345 Z", "1970-01-01T00:00:00.+12345Z", "2026-W01-1T11:00:00.123456Z", "2026-W01-1T11:00:00Z", "", "1970-01-01",
     "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00.1234567890Z", "1970-01-01T00:00:00z", "1970-01-01 00:00:00Z"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a time such as 2026-11-20T11:00:00\.123456Z \(RFC 3339\)$"):
        timestamps.read(text)


@pytest.mark.parametrize("text", ["1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.0Z", "1970-01-01T00:00:00+01:00"])
def test_a_time_beyond_the_years_1970_to_9999_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"^is not between 1970 and 9999$"):
        timestamps.read(text)


def test_a_time_is_shown_to_the_second() -> None:
    assert timestamps.shown(1_795_172_400.9) == "2026-11-20 11:00:00Z"
    assert timestamps.moment("1970-01-01T00:00:01", "000005") == 1.000005
