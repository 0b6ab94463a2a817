"""Pages of canvases in a worker: read once while they are kept, refused when they do not hold together, and the oldest makes room."""

import json

import pytest

from sedano.engine.canvas.page_cache import MOST_PAGES, Plans
from sedano.errors import MessageRefused
from sedano.memory import MemoryBlobs
from sedano.model.canvas.page_reader import MOST_BYTES
from sedano.model.canvas.pages import refer
from sedano.model.messages.message import BlobRef


class CountedBlobs(MemoryBlobs):
    """Blobs in memory that count how often they are read."""

    def __init__(self) -> None:
        """Count from zero."""
        super().__init__()
        self.reads = 0

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes of *ref*, counted."""
        self.reads += 1
        return super().get(ref)


def page(number: int) -> str:
    """Return a page that differs by *number*."""
    return json.dumps({"item": {"chain": [{"task": f"t{number}", "queue": "default"}]}})


def test_a_page_is_read_once_while_it_is_kept() -> None:
    blobs = CountedBlobs()
    plans, name = Plans(blobs), refer(blobs.put(page(1).encode()))
    assert [plans.load(name)["item"]["chain"][0]["task"] for _ in range(3)] == ["t1"] * 3
    assert blobs.reads == 1


def test_a_page_that_stands_in_the_message_is_not_read_at_all() -> None:
    blobs = CountedBlobs()
    assert Plans(blobs).load(page(2))["item"]["chain"][0]["task"] == "t2"
    assert blobs.reads == 0


def test_the_page_that_was_not_used_for_longest_makes_room() -> None:
    blobs = CountedBlobs()
    plans, names = Plans(blobs), [refer(blobs.put(page(n).encode())) for n in range(MOST_PAGES + 1)]
    for name in names[:-1]:
        plans.load(name)
    plans.load(names[0])
    plans.load(names[-1])
    read = blobs.reads
    plans.load(names[0])
    assert blobs.reads == read
    plans.load(names[1])
    assert blobs.reads == read + 1


NO_PAGES = ["blob:5", "file:" + "0" * 64 + ":5", "blob:" + "0" * 64 + ":x", "{", "{}", '{"item":{}}', '{"item":[]}', "5"]


@pytest.mark.parametrize("name", NO_PAGES)
def test_what_names_no_page_is_refused(name: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        Plans(MemoryBlobs()).load(name)
    assert refused.value.code == "schema"


def test_sixty_four_pages_are_kept() -> None:
    blobs = CountedBlobs()
    plans, names = Plans(blobs), [refer(blobs.put(page(n).encode())) for n in range(64)]
    for name in [*names, *names]:
        plans.load(name)
    assert (blobs.reads, MOST_PAGES) == (64, 64)


def test_the_page_that_was_written_last_is_not_read_and_no_other_is_taken_for_it() -> None:
    blobs = CountedBlobs()
    plans, first = Plans(blobs), refer(blobs.put(page(1).encode()))
    second = refer(plans.put(page(2).encode()))
    assert plans.load(second)["item"]["chain"][0]["task"] == "t2"
    assert blobs.reads == 0
    assert plans.load(first)["item"]["chain"][0]["task"] == "t1"
    assert blobs.reads == 1


@pytest.mark.parametrize(
    ("size", "code", "detail"),
    [
        ("\u0663", "schema", "names no page of a canvas"),
        (str(MOST_BYTES + 1), "schema", f"a page of more than {MOST_BYTES} bytes"),
        ("000000005", "schema", f"a page of more than {MOST_BYTES} bytes"),
        ("99999999", "schema", f"a page of more than {MOST_BYTES} bytes"),
        ("00000005", "blob", ""),
        (str(MOST_BYTES), "blob", ""),
    ],
)
def test_a_page_that_no_worker_reads_is_refused_by_its_name(size: str, code: str, detail: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        Plans(MemoryBlobs()).load(f"blob:{'0' * 64}:{size}")
    assert (refused.value.code, code == "blob" or refused.value.field) == (code, code == "blob" or "canvasplan")
    assert detail in refused.value.detail
