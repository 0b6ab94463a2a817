"""Blobs: immutable bytes under their own digest, and nothing in a claim check is trusted."""

import zlib
from hashlib import sha256

import pytest

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.message import BlobRef
from tests.conformance.worlds import World


def refused(world: World, ref: BlobRef) -> MessageRefused:
    """Why the store refuses to give what *ref* asks for."""
    with pytest.raises(MessageRefused) as caught:
        world.blobs.get(ref)
    assert caught.value.code == refusals.BLOB
    return caught.value


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"x" * 70_000], ids=["empty", "binary", "large"])
def test_what_is_put_is_got(world: World, data: bytes) -> None:
    ref = world.blobs.put(data)
    assert ref == BlobRef(sha256(data).hexdigest(), len(data))
    assert world.blobs.get(ref) == data


def test_the_same_bytes_are_one_blob(world: World) -> None:
    assert world.blobs.put(b"text") == world.blobs.put(b"text")


def test_a_blob_that_is_not_there_is_refused(world: World) -> None:
    ref = world.blobs.put(b"text")
    world.damage(ref, None)
    assert refused(world, ref).field == "dataref"


@pytest.mark.parametrize("size", [-1, 0, 3, 5])
def test_a_blob_of_another_size_than_declared_is_refused(world: World, size: int) -> None:
    ref = world.blobs.put(b"text")
    assert refused(world, BlobRef(ref.digest, size)).field in {"datasize", "dataref"}


def test_bytes_of_another_digest_are_refused(world: World) -> None:
    ref = world.blobs.put(b"text")
    world.damage(ref, b"tEXt")
    assert refused(world, ref).field == "dataref"


def test_a_blob_that_was_swapped_for_a_longer_one_is_refused(world: World) -> None:
    ref = world.blobs.put(zlib.compress(b"text"))
    world.damage(ref, b"x" * 2_000_000)
    assert refused(world, ref).field == "datasize"


@pytest.mark.parametrize("digest", ["", "../events/x", "0" * 63, "0" * 65, "F" * 64, "0" * 63 + "/", "0" * 64 + "\n"])
def test_what_is_no_digest_is_never_looked_for(world: World, digest: str) -> None:
    assert refused(world, BlobRef(digest, 4)).field == "dataref"
