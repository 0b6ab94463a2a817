"""The language of the tree: plain technical English, in every text of the code that is shipped and of the pages."""

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


@pytest.mark.parametrize("source", judged(), ids=lambda source: source.path)
def test_a_text_has_no_construction_that_readers_must_translate(source: Source) -> None:
    found = prose.complaints(source)
    assert not found, "\n".join(["write the text in plain English (CONTRIBUTING.md):", *found])


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


def test_code_that_is_shipped_and_pages_are_judged_and_tests_are_not() -> None:
    shipped = (f"{LIBRARY}new/walk.py", "infra/stages.py", "docs/flow.md", "README.md")
    assert [prose.is_judged(Source(path, "")) for path in (*shipped, "tests/house/prose.py")] == [True, True, True, True, False]
