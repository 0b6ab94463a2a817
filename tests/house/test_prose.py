"""The language of the tree: plain technical English, in every new text and in each room that was rewritten."""

import pytest

from tests.house import prose, tree
from tests.house.tree import LIBRARY, Source

REFUSED = {
    "headless subject": "What an app knows of it.",
    "headless clause": "It ends, and what runs is stopped.",
    "whoever": "It is given to whoever waits.",
    "is no": "The text is no number.",
    "there is not": "A profile that there is not.",
    "nobody": "Somebody else holds it.",
    "tell": "Tell whether it is valid.",
    "by itself": "A lease ends by itself.",
    "stand": "It stands in the code.",
    "come": "The message comes again.",
    "inverted condition": "Had it begun, it would end.",
    "bear": "The message bears a header.",
    "of which": "A task of which the name is known.",
    "it is X that": "It is the worker that decides.",
    "neither at the end": "It does not run, and is not counted neither.",
    "ring": "An alarm rings.",
}
MORE = {
    "none is asked twice: who is refused is sent back": ["there is not", "headless clause"],
    "'-1/s' is no rate": ["is no"],
    "What the world tells": ["headless subject", "tell"],
    "A stage of which nothing is there is not said to be destroyed": ["there is not", "of which"],
    "an app that nobody\n    runs": ["nobody"],
}
ACCEPTED = [
    "What is a lease?",
    "There is no schedule of this name; it is no longer there.",
    "The value comes from the caller, who is what it says.",
    "Return whether the lease is valid.",
    "'-1/s' is not a valid rate; write '10/s' or '200/m'",
    "The names `stands` and ``tell`` of code, a string and a bearer's outcome.",
]


def judged() -> list[Source]:
    """Every file whose language is judged."""
    return [source for source in tree.sources() if prose.is_judged(source)]


def names(text: str) -> list[str]:
    """The names of the constructions in a text."""
    return [name for name, _ in prose.found(text)]


def advice(room: str, number: int, allowed: int) -> str:
    """What to do about a room whose number is not the number listed."""
    if number < allowed:
        return f"{room}: {number} hits, {allowed} listed: run `python -m tests.house.prose --lower`, commit tests/house/prose_left.txt"
    hits = [complaint for source in judged() if prose.room(source.path) == room for complaint in prose.complaints(source)]
    return "\n  ".join([f"{room}: {number} hits, {allowed} allowed. Write the new text in plain English (CONTRIBUTING.md):", *hits])


def test_no_room_has_more_or_fewer_hits_than_are_listed_for_it() -> None:
    hits, allowed = prose.counts(judged()), prose.listed()
    differing = sorted(room for room in {*hits, *allowed} if hits.get(room, 0) != allowed.get(room, 0))
    assert not differing, "\n" + "\n".join(advice(room, hits.get(room, 0), allowed.get(room, 0)) for room in differing)


def test_every_listed_room_exists() -> None:
    assert set(prose.listed()) <= {prose.room(source.path) for source in judged()}


@pytest.mark.parametrize(("name", "text"), REFUSED.items(), ids=list(REFUSED))
def test_a_construction_is_found_in_pages_docstrings_errors_and_comments(name: str, text: str) -> None:
    assert names(text) == [name]
    page = Source("docs/walk.md", f"# Walk\n\n{text}\n\n- {text}\n\n| {text} | {text} |\n")
    module = Source(f"{LIBRARY}app.py", f'"""A module.\n\n{text}\n"""\n# {text}\nraise ValueError(f"{text} {{x}}")\n')
    assert [len(prose.complaints(source)) for source in (page, module)] == [4, 3]


def test_every_construction_has_an_example() -> None:
    assert set(REFUSED) == set(prose.PATTERNS)


@pytest.mark.parametrize(("text", "expected"), MORE.items())
def test_every_construction_of_a_sentence_is_counted(text: str, expected: list[str]) -> None:
    assert sorted(names(text)) == sorted(expected)


@pytest.mark.parametrize("text", ACCEPTED)
def test_plain_english_is_left_alone(text: str) -> None:
    assert names(text) == []


def test_code_in_pages_and_words_of_code_are_not_texts() -> None:
    assert prose.complaints(Source("docs/walk.md", "Text.\n\n```python\nassert nobody  # it stands\n```\n\n    sedano tell\n")) == []
    assert prose.complaints(Source(f"{LIBRARY}app.py", '"""A module."""\nx = {"is no": "tell"}\ncomes = nobody\n')) == []


def test_a_room_is_a_page_or_a_folder() -> None:
    paths = (f"{LIBRARY}app.py", f"{LIBRARY}engine/worker/gates.py", "infra/stages.py", "docs/flow.md", "README.md")
    assert [prose.room(path) for path in paths] == ["sedano", "sedano/engine/worker", "infra", "docs/flow.md", "README.md"]


def test_a_new_room_may_have_no_hit() -> None:
    planted = [Source(f"{LIBRARY}new/walk.py", '"""Tell it."""\n'), Source(f"{LIBRARY}new/talk.py", '"""Return it."""\n')]
    assert prose.counts(planted) == {"sedano/new": 1}
    assert "sedano/new" not in prose.listed()
