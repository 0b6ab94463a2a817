"""An HTTP answer is read whole, or not at all, however its bytes arrive."""

import random
from collections.abc import Callable, Sequence

import pytest

from sedano.aws.client.slim.http_answers import MOST_HEAD, BrokenAnswer, RawAnswer, read_answer

OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"X-Amzn-RequestId: a\r\nContent-Length: 11\r\n\r\nhello world"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + SIZED
WHOLE = {"sized": SIZED, "chunked": CHUNKED, "interim": INTERIM}
BROKEN = {
    "nothing": b"",
    "not HTTP": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "HTTP/2": b"HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
    "interim answers without an end": b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
    "two lengths": OK + b"Content-Length: 5\r\nContent-Length: 11\r\n\r\nhello world",
    "the same length twice": OK + b"Content-Length: 11\r\nContent-Length: 11\r\n\r\nhello world",
    "a length and chunks": OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "an unknown coding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a negative length": OK + b"Content-Length: -1\r\n\r\n",
    "a length in words": OK + b"Content-Length: five\r\n\r\nhello",
    "a length in other digits": OK + "Content-Length: \xb2\r\n\r\nhe".encode("latin-1"),
    "a length without an end": OK + b"Content-Length: 99999999999999999999\r\n\r\n",
    "a folded header": OK + b"X-Note: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "a header without a colon": OK + b"Content-Length\r\n\r\n",
    "a space before a colon": OK + b"Content-Length : 0\r\n\r\n",
    "a bare line feed": OK + b"X-Note: a\nContent-Length: 0\r\n\r\n",
    "a bare carriage return": OK + b"X-Note: a\rContent-Length: 0\r\n\r\n",
    "a head without an end": OK + b"X-Note: " + b"a" * (MOST_HEAD + 10),
    "a chunk without a length": OK + b"Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n",
    "a chunk in words": OK + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk that is longer than it says": OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n",
    "chunks without an end": OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"ffffffff\r\n",
}


def receiving(pieces: Sequence[bytes]) -> Callable[[], bytes]:
    """A connection on which these *pieces* arrive, and then its end."""
    left = iter(pieces)
    return lambda: next(left, b"")


def cut(text: bytes, random_: random.Random) -> list[bytes]:
    """Cut *text* into pieces of any size."""
    places = sorted(random_.sample(range(1, len(text)), min(len(text) - 1, random_.randrange(8))))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_is_the_same_however_it_is_cut(name: str) -> None:
    text, random_ = WHOLE[name], random.Random(7)
    for _ in range(300):
        answer = read_answer(receiving(cut(text, random_)))
        assert (answer.status_code, answer.content, answer.reusable) == (200, b"hello world", True)
    assert read_answer(receiving([text[i : i + 1] for i in range(len(text))])).content == b"hello world"


@pytest.mark.parametrize("name", WHOLE)
def test_each_beginning_of_an_answer_is_no_answer(name: str) -> None:
    text = WHOLE[name]
    for end in range(len(text)):
        with pytest.raises(BrokenAnswer):
            read_answer(receiving([text[:end]]))


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_could_be_read_in_two_ways_is_refused(name: str) -> None:
    with pytest.raises(BrokenAnswer):
        read_answer(receiving([BROKEN[name]]))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
        (OK + b"Content-Length: 2\r\nConnection: Close\r\n\r\nhi", b"hi"),
        (OK + b"Content-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n", b"hi"),
        (OK + b"\r\nuntil the end", b"until the end"),
    ],
)
def test_a_connection_is_kept_only_if_nothing_but_the_next_answer_can_follow(text: bytes, content: bytes) -> None:
    answer = read_answer(receiving([text]))
    assert (answer.content, answer.reusable) == (content, False)


def test_headers_that_repeat_are_joined_and_their_names_are_in_lower_case() -> None:
    found = read_answer(receiving([OK + b"X-A: 1\r\nx-a:\t2 \r\nContent-Length: 0\r\n\r\n"]))
    assert found == RawAnswer(200, {"x-a": "1, 2", "content-length": "0"}, b"", True)
