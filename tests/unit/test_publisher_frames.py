"""The lines between a program and the publisher process: exact bytes, any pieces of them, and confirmations in any order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import BacklogFull, ConfigurationError, NotAccepted, SedanoError, SpoolError, TooLarge, Unavailable, UnknownQueue
from sedano.model.publisher_frames import (
    LONGEST_HEAD,
    LONGEST_TEXT,
    VERSION,
    WINDOW,
    Confirmations,
    FrameError,
    FrameReader,
    PublisherInfo,
    PublishFrame,
    Refusal,
    StatRequest,
    Unconfirmed,
    confirmation_line,
    error_line,
    error_of,
    info_line,
    publication_bytes,
    read_info,
    refusal_line,
    refusal_of,
    stat_line,
    travels,
)

MOST = 1_000
FORM = "write PUB <seq> <queue> <delay> <tenant or -> <bytes>, or STAT"
WORDING = "seq, delay and bytes are whole numbers; queue and tenant are printable ASCII"
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20).filter(travels)
CALLS = st.lists(st.tuples(WORDS, st.integers(0, 900), st.none() | WORDS, st.text(max_size=40)), max_size=6)


def test_a_publication_has_these_bytes() -> None:
    assert publication_bytes(1, "commands:default", 0, None, "hé") == b"PUB 1 commands:default 0 - 3\nh\xc3\xa9"
    assert publication_bytes(12, "events", 5, "acme", "") == b"PUB 12 events 5 acme 0\n"


def test_the_lines_of_a_publisher_have_these_bytes() -> None:
    assert info_line(PublisherInfo(7, "sent", "ab")) == b'INFO {"ack":"sent","deployment":"ab","version":1,"window":7}\n'
    assert confirmation_line(12) == b"+12\n"
    assert refusal_line(3, Refusal("away", "not\nnow ")) == b"-3 away not now\n"
    assert refusal_line(3, Refusal("away", " ")) == b"-3 away without a reason\n"
    assert refusal_line(3, Refusal("full", "x" * 999)) == b"-3 full " + b"x" * LONGEST_TEXT + b"\n"
    assert error_line(FrameError("order", "a\tb")) == b"ERR order a b\n"
    assert stat_line({"sent": 2, "calls": 1}) == b'STAT {"calls":1,"sent":2}\n'


def test_a_reader_counts_what_waits_for_its_rest_and_keeps_nothing_once_it_is_stopped() -> None:
    reader = FrameReader(MOST)
    assert reader.unread == 0
    assert reader.feed(b"PUB 1 events 0 - 5\nhel") == []
    assert reader.unread == 3
    assert reader.feed(b"loSTA") == [PublishFrame(1, "events", 0, None, "hello")]
    assert (reader.unread, reader.broken) == (3, False)
    reader.stop()
    assert (reader.unread, reader.broken) == (0, True)
    assert (reader.feed(b"T\n"), reader.unread) == ([], 0)


@given(CALLS, st.lists(st.integers(0, 400), max_size=20))
def test_a_reader_returns_what_was_written_in_whatever_pieces_it_arrives(calls, cuts) -> None:
    data = b"".join(publication_bytes(seq, *call) for seq, call in enumerate(calls, 1))
    reader, frames = FrameReader(MOST), []
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, end in pairwise(places):
        frames += reader.feed(data[start:end])
    assert frames == [PublishFrame(seq, *call) for seq, call in enumerate(calls, 1)]
    assert not reader.broken


@given(st.binary(max_size=80), st.lists(st.integers(1, 80), max_size=8))
def test_any_bytes_are_frames_or_end_in_one_error_whatever_their_pieces(data, cuts) -> None:
    whole = FrameReader(MOST)
    expected = whole.feed(data)
    assert [frame for frame in expected[:-1] if isinstance(frame, FrameError)] == []
    assert whole.broken is (bool(expected) and isinstance(expected[-1], FrameError))
    pieces, frames, start = FrameReader(MOST), [], 0
    for end in (*sorted(cuts), len(data)):
        frames += pieces.feed(data[start : max(start, end)])
        start = max(start, end)
    assert frames == expected


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"GET / HTTP/1.1\n", FrameError("malformed", FORM)),
        (b"PUB 1 q 0 -\n", FrameError("malformed", FORM)),
        (b"PUB 1 q 0 - 5 6\n", FrameError("malformed", FORM)),
        (b"PUB x q 0 - 5\n", FrameError("malformed", WORDING)),
        (b"PUB 1 q -1 - 5\n", FrameError("malformed", WORDING)),
        (b"PUB 1 q 0 - \n", FrameError("malformed", WORDING)),
        (b"PUB 1  0 - 5\n", FrameError("malformed", WORDING)),
        (b"PUB 1 q 0 \xe9 5\n", FrameError("malformed", WORDING)),
        (b"PUB 1 q\x00 0 - 5\n", FrameError("malformed", WORDING)),
        (b"PUB 1 q 0 - 1000000000000000\n", FrameError("malformed", WORDING)),
        (b"PUB 2 q 0 - 1\n", FrameError("order", "publication 2 follows 0; number them 1, 2, 3, …")),
        (b"PUB 1 q 0 - 1001\n", FrameError("too_large", "1001 bytes; a message may have 1000")),
        (b"PUB 1 q 0 - 1\n\xff", FrameError("malformed", "the body of publication 1 is not UTF-8: invalid start byte")),
        (b"x" * (LONGEST_HEAD + 1), FrameError("malformed", f"a line has more than {LONGEST_HEAD} bytes")),
    ],
)  # fmt: skip
def test_what_cannot_be_read_ends_the_connection_with_a_code(data: bytes, error: FrameError) -> None:
    reader = FrameReader(MOST)
    assert reader.feed(data) == [error]
    assert reader.broken
    assert reader.feed(b"STAT\n") == []


def test_a_line_and_a_body_of_the_longest_length_are_read() -> None:
    reader = FrameReader(MOST)
    assert reader.feed(b"x" * LONGEST_HEAD) == []
    assert FrameReader(MOST).feed(b"PUB 1 q 0 - 1000\n" + b"x" * 1000) == [PublishFrame(1, "q", 0, None, "x" * 1000)]
    found = FrameReader(MOST).feed(b"PUB 1 q 900000000000000 t 0\nSTAT\n")
    assert found == [PublishFrame(1, "q", 900_000_000_000_000, "t", ""), StatRequest()]


@given(st.permutations(range(1, 9)), st.sets(st.integers(1, 8)))
def test_a_confirmation_never_covers_what_is_not_settled_and_confirms_everything_in_the_end(order, refused) -> None:
    publisher, program = Confirmations(), Unconfirmed()
    for _ in range(8):
        program.add()
    settled, confirmed, said = set(), set(), set()
    for seq in order:
        settled.add(seq)
        if seq in refused:
            publisher.refuse(seq)
            assert program.read(f"-{seq} away no".encode()) == [(seq, Refusal("away", "no"))]
            said.add(seq)
        else:
            publisher.accept(seq)
        upto = publisher.due()
        if upto is not None:
            assert set(range(1, upto + 1)) <= settled
            confirmed |= {one for one, refusal in program.read(confirmation_line(upto)[:-1]) if refusal is None}
        assert confirmed <= settled - refused
    assert confirmed == set(range(1, 9)) - refused
    assert (publisher.settled, len(program), said) == (8, 0, refused)
    assert publisher.due() is None


def test_confirmations_are_cumulative() -> None:
    publisher = Confirmations()
    publisher.accept(2)
    assert publisher.due() is None
    publisher.accept(1)
    assert publisher.due() == 2
    publisher.refuse(3)
    assert (publisher.due(), publisher.settled) == (None, 3)
    publisher.refuse(5)
    publisher.accept(4)
    assert (publisher.due(), publisher.settled) == (4, 5)


@pytest.mark.parametrize("line", [b"+3", b"+x", b"+", b"hello", b"", b"-1", b"-1 away", b"-9 away no", b"-x away no", b"+-1"])
def test_an_answer_to_nothing_is_an_error(line: bytes) -> None:
    program = Unconfirmed()
    assert [program.add(), program.add(), program.last] == [1, 2, 2]
    with pytest.raises(ValueError, match=r"confirmation of|unreadable answer"):
        program.read(line)
    assert len(program) == 2


def test_a_second_refusal_of_a_publication_is_an_error() -> None:
    program = Unconfirmed()
    program.add()
    assert program.read(b"-1 full no room") == [(1, Refusal("full", "no room"))]
    with pytest.raises(ValueError, match="unreadable answer"):
        program.read(b"-1 full no room")
    assert program.read(b"+1") == []


@given(st.integers(1, 10**6), st.sampled_from(["sent", "stored"]), st.text(max_size=20))
def test_what_a_publisher_says_of_itself_is_read_again(window, ack, deployment) -> None:
    info = PublisherInfo(window, ack, deployment)
    assert read_info(info_line(info)[:-1]) == info


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"ERR busy 4096 programs are connected", "busy 4096 programs are connected"),
        (b"HTTP/1.1 400", "not a publisher of version 1"),
        (b'INFO {"version":2}', "not a publisher of version 1"),
        (b"INFO [", "not a publisher of version 1"),
        (b"INFO " + b"[" * 99_999, "not a publisher of version 1"),
        (b'INFO {"version":1,"window":0,"ack":"sent","deployment":""}', "an incomplete INFO"),
        (b'INFO {"version":1,"window":true,"ack":"sent","deployment":""}', "an incomplete INFO"),
        (b'INFO {"version":1,"window":1,"ack":"maybe","deployment":""}', "an incomplete INFO"),
        (b'INFO {"version":1,"window":1,"ack":"sent","deployment":1}', "an incomplete INFO"),
    ],
)
def test_the_first_line_of_something_else_is_refused(line: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_info(line)


def test_a_window_of_one_is_a_window() -> None:
    assert read_info(b'INFO {"version":1,"window":1,"ack":"stored","deployment":""}') == PublisherInfo(1, "stored", "")


@pytest.mark.parametrize(
    ("error", "code", "again"),
    [
        (Unavailable("no"), "away", Unavailable), (BacklogFull("no"), "full", None), (SpoolError("no"), "full", None),
        (UnknownQueue("no"), "queue", UnknownQueue), (ConfigurationError("no"), "setup", ConfigurationError),
        (TooLarge("no"), "refused", NotAccepted), (NotAccepted("no"), "refused", NotAccepted),
    ],
)  # fmt: skip
def test_an_error_of_the_publisher_is_an_error_of_the_program(error: SedanoError, code: str, again: type[SedanoError] | None) -> None:
    refusal = refusal_of(error)
    assert refusal == Refusal(code, "no")
    found = error_of(refusal)
    assert (type(found), str(found)) == ((again, "publisher: no") if again is not None else (type(None), "None"))


def test_a_code_of_a_later_version_means_that_the_message_is_not_sent() -> None:
    assert type(error_of(Refusal("later", "x"))) is Unavailable


@pytest.mark.parametrize(("word", "can"), [("commands:a", True), ("a" * 200, True), ("a" * 201, False), ("", False), ("-", False),
                                           ("--", True), ("a b", False), ("é", False), ("a\n", False)])  # fmt: skip
def test_a_queue_or_a_tenant_travels_only_if_a_line_can_carry_it(word: str, can: bool) -> None:
    assert travels(word) is can


def test_the_bounds_of_the_protocol_are_those_that_are_described() -> None:
    assert (VERSION, WINDOW, LONGEST_HEAD, LONGEST_TEXT) == (1, 2_000, 512, 300)


@pytest.mark.parametrize("longer", [0, 1])
def test_a_line_may_have_so_many_bytes_before_its_end_and_no_more(longer: int) -> None:
    head = b"PUB 1 %s 0 - 0"
    line = head % (b"q" * (LONGEST_HEAD - len(head % b"") + longer))
    (frame,) = FrameReader(MOST).feed(line + b"\n")
    assert isinstance(frame, FrameError) is bool(longer)
    assert not longer or frame == FrameError("malformed", f"a line has more than {LONGEST_HEAD} bytes")


@pytest.mark.parametrize("line", [b"\n", b"GET 1 q 0 - 5\n"])
def test_a_line_that_is_no_publication_is_malformed(line: bytes) -> None:
    assert FrameReader(MOST).feed(line) == [FrameError("malformed", FORM)]


def test_what_was_confirmed_is_forgotten() -> None:
    some = Confirmations()
    some.accept(1)
    some.refuse(2)
    assert (some.due(), some.due()) == (1, None)
    assert (some._accepted, some._refused) == (set(), set())


@pytest.mark.parametrize("line", [b"x1 full no room", b"-x full no room", b"-1 full", b"- full no room"])
def test_a_line_that_is_no_answer_is_refused(line: bytes) -> None:
    program = Unconfirmed()
    program.add()
    with pytest.raises(ValueError, match="unreadable answer"):
        program.read(line)
    assert len(program) == 1


def test_the_error_of_a_publisher_is_told_as_it_is_and_another_word_is_none() -> None:
    with pytest.raises(ValueError, match=r"^busy 4096 programs are connected$"):
        read_info(b"ERR busy 4096 programs are connected")
    with pytest.raises(ValueError, match="not a publisher of version 1"):
        read_info(b'HELLO {"version":1,"window":1,"ack":"sent","deployment":""}')


def test_a_word_of_one_character_travels() -> None:
    assert travels("q")
