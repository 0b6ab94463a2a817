"""Snapshots of a history: their names, what each commit changes, which files no reader needs, and texts that other programs wrote."""

import json

import pytest

from sedano.errors import ConfigurationError
from sedano.model.history.manifests import (
    Part,
    Pointer,
    Snapshot,
    collectable,
    extended,
    read_pointer,
    read_snapshot,
    rebuilt,
    scoped,
    settled,
    shut,
    term_of,
    turned,
    write_pointer,
    write_snapshot,
)

ONE, TWO = Part(scoped(7), 3, 100), Part(scoped(8), 1, 200)
SEEN = Snapshot(4, 7, 100, "manifests/before.json", (ONE,), scoped(5), 1)


def test_names_have_the_digits_that_sort_them_and_tell_the_term() -> None:
    assert scoped(42) == "data/term=0000000000000042/"
    assert SEEN.name == "manifests/0000000004-0000000000000007.json"
    assert [term_of(name) for name in (scoped(42), f"{scoped(42)}rows/1.json", SEEN.name)] == [42, 42, 7]
    assert [term_of(name) for name in ("term=0000000000000042/x", "42/x", "data/term=x/", "manifests/x.json", "")] == [None] * 5


def test_a_reader_opens_the_prefixes_of_the_parts_and_of_the_base() -> None:
    assert SEEN.prefixes == {scoped(7), scoped(5)}
    assert SEEN._replace(base="").prefixes == {scoped(7)}
    assert (SEEN.pending, SEEN._replace(settled=0).pending) == ((), (ONE,))


def test_each_commit_is_the_next_version_of_its_term_with_the_one_before_as_its_parent() -> None:
    assert extended(SEEN, TWO, 9, 300) == Snapshot(5, 9, 300, SEEN.name, (ONE, TWO), scoped(5), 1)
    assert rebuilt(SEEN, TWO, 9, 300) == Snapshot(5, 9, 300, SEEN.name, (TWO,))
    assert settled(SEEN, scoped(9), 9, 300) == Snapshot(5, 9, 300, SEEN.name, (ONE,), scoped(9), 1)
    assert extended(Snapshot(), ONE, 7, 100) == Snapshot(1, 7, 100, "", (ONE,)), "the first one has no parent"


def test_a_pointer_is_shut_by_its_own_and_later_terms_and_turned_by_the_last_alone() -> None:
    pointer = Pointer(7, "m")
    assert [shut(pointer, token) for token in (6, 7, 8)] == [None, Pointer(7, "m"), Pointer(8, "m")]
    assert [turned(pointer, token, SEEN) for token in (6, 7, 8)] == [None, Pointer(7, SEEN.name), None]


def test_the_files_of_a_term_are_collected_when_no_snapshot_names_it_and_it_can_commit_nothing() -> None:
    kept = [Snapshot(1, 3, parts=(Part(scoped(1), 1, 1),), base=scoped(2))]
    assert collectable([9, 1, 2, 3, 4, 5, 6, 5], kept, fence=7, before=100) == [4, 5, 6]
    assert collectable([4, 5, 6], kept, fence=6, before=100) == [4, 5]
    assert collectable([4, 5, 6], kept, fence=7, before=5) == [4]


def test_what_was_written_is_read_back_and_has_a_format() -> None:
    assert read_snapshot(write_snapshot(SEEN)) == SEEN
    assert read_pointer(write_pointer(Pointer(7, "m"))) == Pointer(7, "m")
    assert read_pointer(None) == Pointer(0, "")
    assert write_pointer(Pointer(7, "m")) == b'{"format": 1, "manifest": "m", "token": 7}'
    text = write_snapshot(Snapshot(1)).decode()
    assert text.startswith('{\n "base": "",\n "format": 1,\n "made": 0,'), "in the order of the names, a line each"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "the pointer is not JSON"), (b"[" * 100_000, "the pointer is not JSON"), (b"[]", "the pointer has no valid 'token'"),
        (b'{"format": 2, "token": 1, "manifest": "m"}', "the pointer has format 2, newer than 1; use the version that wrote it"),
        (b'{"format": 2}', "the pointer has format 2, newer than 1"), (b'{"format": true}', "the pointer has no valid 'token'"),
        (b'{"format": 1, "token": true, "manifest": "m"}', "no valid 'token'"), (b'{"token": 1}', "no valid 'manifest'"),
    ],
)  # fmt: skip
def test_what_is_no_pointer_is_refused_with_the_reason(data: bytes, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        read_pointer(data)
    assert read_pointer(b'{"token": 1, "manifest": "m"}') == Pointer(1, "m"), "a pointer from before formats"


def test_a_snapshot_with_a_part_that_is_none_is_refused() -> None:
    wrong = json.loads(write_snapshot(SEEN)) | {"parts": [{"prefix": "p", "sources": "3", "made": 1}]}
    with pytest.raises(ConfigurationError, match="the part has no valid 'sources'"):
        read_snapshot(json.dumps(wrong).encode())
