"""Pages of canvases as they are read: what each field may be, and the path that a refusal names."""

import json
from typing import Any

import pytest

from sedano.errors import MessageRefused
from sedano.model.canvas import page_reader as reader
from sedano.model.canvas import pages
from sedano.model.canvas.page_reader import parse, parse_draft, referred
from sedano.model.messages.message import BlobRef

DIGEST = "0f" * 32
NAME, PAGE = "a name of 1 to 256 characters without spaces and control characters", f"blob:{DIGEST}:7"
QUEUE = "the name of a queue; empty: the queue of the launch"
PAGE_NAME = 'a page: "blob:", a sha256, ":" and its size, or the JSON text of a short page'
MOMENT, SECONDS = "a number from 0 to 2.53402e+11", "a number from -1e+09 to 1e+09"
CHAIN_WHOLE = "the chain is empty, or not a valid part of a longer chain"
GROUP_WHOLE = "the members of the group's pages do not sum up to its size"
ONE_KIND = "is not an item of one kind: task, chain, group, page"


def page(item: Any, **more: Any) -> str:
    """Return a page of *item*."""
    return json.dumps({"item": item, **more})


def chain(step: Any, **more: Any) -> str:
    """Return a page whose chain has one step."""
    return page({"chain": [step], **more})


def refusal(text: str) -> str:
    """Return the words with which a page is refused."""
    with pytest.raises(MessageRefused) as caught:
        parse(text)
    assert (caught.value.code, caught.value.field) == ("schema", "canvasplan")
    return caught.value.detail


def test_the_figures_of_a_page_are_those_that_are_described() -> None:
    assert (reader.MOST_MEMBERS, reader.PAGE_MEMBERS, reader.MOST_BYTES, reader.LONGEST_S) == (1_000_000, 500, 2_097_152, 1e9)
    written = (pages.INLINE_BYTES, pages.PAGE_BYTES, pages.SENT_TOGETHER, pages.PAGE_DEPTH, pages.CONTEXT)
    assert written == (2_000, 30_000, 10, 8, -1)


STEP = {
    "task": "shop.add", "queue": "", "id": "t", "args": [1], "kwargs": {"a": 1}, "ref": [DIGEST, 0], "delay": -1.5, "eta": 0,
    "expires": 253_402_300_798, "lifetime": 1e9, "tenant": "acme", "stamps": "a=b", "headers": '{"a":1}',
    "traceparent": f"00-{'1' * 32}-{'2' * 16}-01",
    "ignore_result": True, "immutable": False, "time_limits": [None, 1.5], "links": [{"task": "l"}], "forks": [{"chain": [{"task": "f"}]}],
    "errors": [{"task": "e"}], "watch": [{"task": "w"}],
}  # fmt: skip


def test_every_field_of_a_step_is_read_and_any_other_is_ignored() -> None:
    assert parse(chain({**STEP, "other": [[[]]]}, other=1)) == {"item": {"chain": [STEP]}}
    assert parse(page({"chain": [{"task": "a"}]}, watch=[{"task": "w"}], other=1))["watch"] == [{"task": "w"}]


@pytest.mark.parametrize(
    "item",
    [
        {"chain": [{"task": "a"}], "at": 0, "of": 3, "end": "b", "more": PAGE, "id": "c", "watch": []},
        {"chain": [{"task": "a"}], "at": 2, "of": 3},
        {"chain": [{"task": "a"}], "resume": [0, None, 0, 0]},
        {"chain": [{"task": "a"}], "resume": [19, ["c", "0.1", PAGE], 128, 2**31 - 1]},
        {"group": [], "queue": "q", "tenant": "t", "stamps": "a=b", "outcomes": True, "id": "g", "told": False},
        {"group": [{"task": "a"}, {"page": PAGE, "kind": "chain", "queue": "q", "id": "i", "told": True}, {"page": PAGE, "kind": "group"}]},
        {"group": 1_000_000, "pages": [[PAGE, 999_999], [PAGE, 1]]},
    ],
)
def test_chains_and_groups_are_read_as_they_are(item: dict[str, Any]) -> None:
    found = parse(page(item))["item"]
    assert found == {**item, **({"pages": [tuple(one) for one in item["pages"]]} if "pages" in item else {})}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "page: a JSON array is not an object"),
        ("5", "page: 5 is not an object"),
        ("null", "page: None is not an object"),
        ("{", "not a page: "),
        ("{}", "item: neither a chain nor a group"),
        (page({"task": "a"}), "item: neither a chain nor a group"),
        (page({"page": PAGE}), "item: neither a chain nor a group"),
        (page([]), "item: a JSON array is not an item"),
        (page({}), f"item: a JSON object {ONE_KIND}"),
        (page({"chain": [], "group": []}), f"item: a JSON object {ONE_KIND}"),
        (page({"chain": {}}), "item.chain: a JSON object is not an array of items"),
        (page({"chain": [{"task": "a"}, 5]}), "item.chain[1]: 5 is not an item"),
        (page({"chain": [{"task": "a"}]}, watch=[{"chain": [{"task": "a"}]}]), "watch[0]: a JSON array is not a step"),
        (chain({"task": "a", "errors": [{"task": "b"}, {"group": []}]}), "item.chain[0].errors[1]: a JSON array is not a step"),
        (page({"chain": []}), f"item: {CHAIN_WHOLE}"),
        (page({"chain": [{"task": "a"}], "at": 1}), f"item: {CHAIN_WHOLE}"),
        (page({"chain": [{"task": "a"}, {"task": "b"}], "of": 1}), f"item: {CHAIN_WHOLE}"),
        (page({"group": [], "pages": [[PAGE, 1]]}), f"item: {GROUP_WHOLE}"),
        (page({"chain": [{"task": "a"}], "at": 3, "of": 3}), f"item: {CHAIN_WHOLE}"),
        (page({"chain": [{"task": "a"}], "more": PAGE}), f"item: {CHAIN_WHOLE}"),
        (chain({"chain": []}), f"item.chain[0]: {CHAIN_WHOLE}"),
        (page({"group": 2}), f"item: {GROUP_WHOLE}"),
        (page({"group": 0, "pages": []}), f"item: {GROUP_WHOLE}"),
        (page({"group": [], "pages": []}), f"item: {GROUP_WHOLE}"),
        (page({"group": 3, "pages": [[PAGE, 1], [PAGE, 1]]}), f"item: {GROUP_WHOLE}"),
        (page({"group": 1_000_001}), "item.group: 1000001 is not an integer from 0 to 1000000"),
        (page({"group": -1}), "item.group: -1 is not an integer from 0 to 1000000"),
        (page({"group": 1, "pages": {}}), "item.pages: a JSON object is not an array of pages with their sizes"),
        (page({"group": 1, "pages": [[PAGE]]}), "item.pages[0]: a JSON array is not a page and its size"),
        (page({"group": 1, "pages": [{"a": 1, "b": 2}]}), "item.pages[0]: a JSON object is not a page and its size"),
        (page({"group": 1, "pages": [[PAGE, 1], [5, 1]]}), f"item.pages[1]: 5 is not {PAGE_NAME}"),
        (page({"group": 1, "pages": [[PAGE, 0]]}), "item.pages[0]: 0 is not an integer from 1 to 1000000"),
        (page({"group": 1, "pages": [[PAGE, 1_000_001]]}), "item.pages[0]: 1000001 is not an integer from 1 to 1000000"),
    ],
)
def test_a_page_that_does_not_hold_together_is_refused_with_its_path(text: str, words: str) -> None:
    assert refusal(text).startswith(words) if words == "not a page: " else refusal(text) == words


ID = "an id of 1 to 256 visible ASCII characters"
REF = "a claim check: a sha256 in hexadecimal and a size"
LIMITS = "a soft and a hard limit"
ARRAY, OBJECT = "a JSON array", "a JSON object"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("task", "", f"'' is not {NAME}"), ("task", 5, f"5 is not {NAME}"), ("queue", "a b", f"'a b' is not {QUEUE}"),
        ("queue", None, f"None is not {QUEUE}"), ("id", "", f"'' is not {ID}"), ("args", {}, f"{OBJECT} is not an array with fewer than"),
        ("kwargs", [], f"{ARRAY} is not an object with fewer than"), ("ref", [DIGEST], f"{ARRAY} is not {REF}"),
        ("ref", [DIGEST, 1, 2], f"{ARRAY} is not {REF}"), ("ref", ["x", 1], f"{ARRAY} is not {REF}"),
        ("ref", [5, 1], f"{ARRAY} is not {REF}"),
        ("ref", {"a": 1, "b": 2}, f"{OBJECT} is not {REF}"), ("ref", [DIGEST, -1], "-1 is not an integer from 0 to "),
        ("ref", [DIGEST, 1.0], "1.0 is not an integer from 0 to "), ("delay", 1e9 + 1, f"1000000001.0 is not {SECONDS}"),
        ("delay", -1e9 - 1, f"-1000000001.0 is not {SECONDS}"), ("delay", True, f"True is not {SECONDS}"),
        ("eta", -1, f"-1 is not {MOMENT}"),
        ("eta", 253_402_300_799, f"253402300799 is not {MOMENT}"), ("expires", "1", f"'1' is not {MOMENT}"),
        ("lifetime", None, f"None is not {SECONDS}"), ("tenant", "a b", "'a b' is not a tenant of 1 to 128 visible ASCII characters"),
        ("stamps", "a", "'a' is not stamps, name=value,name=value"), ("traceparent", "x", "'x' is not a W3C traceparent"),
        ("headers", "{}", "'{}' is not headers, a JSON object as a string"), ("headers", {"a": 1}, f"{OBJECT} is not headers, "),
        ("ignore_result", 1, "1 is not true or false"), ("immutable", None, "None is not true or false"),
        ("time_limits", [1], f"{ARRAY} is not {LIMITS}"), ("time_limits", {"a": 1, "b": 2}, f"{OBJECT} is not {LIMITS}"),
        ("time_limits", [1, -1], "-1 is not a number from 0 to 1e+09"),
        ("time_limits", [2e9, 1], "2000000000.0 is not a number from 0 to 1e+09"),
        ("links", {}, f"{OBJECT} is not an array of items"), ("forks", 5, "5 is not an array of items"),
        ("errors", "x", "'x' is not an array of items"), ("watch", None, "None is not an array of items"),
    ],
)  # fmt: skip
def test_a_field_of_a_step_that_is_wrong_is_refused_with_its_path(field: str, value: Any, words: str) -> None:
    assert refusal(chain({"task": "a", field: value})).startswith(f"item.chain[0].{field}: {words}")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("at", -1, "-1 is not an integer from 0 to 2147483647"), ("at", 2**31, "2147483648 is not an integer from 0 to 2147483647"),
        ("of", 0, "0 is not an integer from 1 to 2147483647"), ("end", "", f"'' is not {NAME}"), ("more", "x", f"'x' is not {PAGE_NAME}"),
        *(("resume", one, "a JSON array is not an attempt, a place, hops and a budget") for one in ([], [0, None, 0], [0, None, 0, 0, 0])),
        ("resume", {"a": 1, "b": 2, "c": 3, "d": 4}, "a JSON object is not an attempt, a place, hops and a budget"),
        ("resume", [0, ["c", "0"], 0, 0], "a JSON array is not a place: the id of a canvas, a path and a page"),
        ("resume", [0, "abc", 0, 0], "'abc' is not a place: the id of a canvas, a path and a page"),
        ("resume", [0, ["", "0", PAGE], 0, 0], f"'' is not {ID}"), ("resume", [0, ["c", "x", PAGE], 0, 0], "'x' is not a path such as"),
        ("resume", [0, ["c", "0", "x"], 0, 0], f"'x' is not {PAGE_NAME}"), ("resume", [-1, None, 0, 0], "-1 is not an integer from 0 to "),
        ("resume", [0, None, 129, 0], "129 is not an integer from 0 to 128"),
        ("resume", [0, None, -1, 0], "-1 is not an integer from 0 to 128"),
        ("resume", [0, None, 0, 2**31], "2147483648 is not an integer from 0 to 2147483647"),
        ("resume", [0, None, 0, -1], "-1 is not an integer from 0 to 2147483647"),
    ],
)  # fmt: skip
def test_a_field_of_a_chain_that_is_wrong_is_refused_with_its_path(field: str, value: Any, words: str) -> None:
    assert refusal(chain({"task": "a"}, **{field: value})).startswith(f"item.{field}: {words}")


def test_a_page_of_its_own_is_a_chain_or_a_group() -> None:
    assert refusal(chain({"page": PAGE, "kind": "task"})) == "item.chain[0].kind: 'task' is not chain or group"


def nested(depth: int) -> list[Any]:
    """Return a list with so many containers inside one another."""
    found: list[Any] = []
    for _ in range(depth - 1):
        found = [found]
    return found


def test_arguments_nest_less_deep_than_the_data_of_a_message() -> None:
    most = reader.wire.MAX_DATA_DEPTH
    assert parse(chain({"task": "a", "args": nested(most - 1)}))["item"]["chain"][0]["args"] == nested(most - 1)
    assert parse(chain({"task": "a", "kwargs": {"k": nested(most - 2), "l": 1}}))
    for field, value in (("args", nested(most)), ("args", [1, nested(most - 1)]), ("kwargs", {"k": nested(most - 1)})):
        assert refusal(chain({"task": "a", field: value})).endswith(f"with fewer than {most} nested containers")


def test_a_page_nests_127_containers() -> None:
    assert parse(page({"chain": [{"task": "a"}]}, other=nested(126)))
    assert refusal(page({"chain": [{"task": "a"}]}, other=nested(127))) == "not a page: more than 127 containers inside one another"


def test_a_long_path_is_cut_in_a_refusal() -> None:
    item: dict[str, Any] = {"task": ""}
    for _ in range(9):
        item = {"task": "a", "links": [item]}
    path = ("item.chain[0]" + ".links[0]" * 9 + ".task")[:100]
    assert refusal(chain(item)) == f"{path}: '' is not {NAME}"
    for broken, why in (({"chain": []}, CHAIN_WHOLE), ({"group": 1}, GROUP_WHOLE)):
        item = broken
        for _ in range(12):
            item = {"task": "a", "links": [item]}
        assert refusal(chain(item)) == f"{('item.chain[0]' + '.links[0]' * 12)[:100]}: {why}"


def test_a_draft_is_a_step_with_a_queue_and_whole_seconds_of_delay() -> None:
    draft = {"task": "a", "queue": "q", "delay": 1_000_000_000, "tracestate": "a=b"}
    assert parse_draft(json.dumps({**draft, "other": "x" * 200})) == draft
    for wrong in (["task"], [], {}, {"task": "a"}, {"queue": "q"}, {"task": "a", "queue": ""}):
        with pytest.raises(MessageRefused, match=r"draft: a JSON (object|array) is not a task and its queue$"):
            parse_draft(json.dumps(wrong))
    for delay in (-1, 1.5, 1_000_000_001):
        with pytest.raises(MessageRefused, match=f"delay: {delay} is not an integer from 0 to 1000000000$"):
            parse_draft(json.dumps({**draft, "delay": delay}))
    with pytest.raises(MessageRefused, match=r"tracestate: 5 is not a W3C tracestate$"):
        parse_draft(json.dumps({**draft, "tracestate": 5}))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (PAGE, BlobRef(DIGEST, 7)),
        (f"blob:{DIGEST}:2097152", BlobRef(DIGEST, 2_097_152)),
        (f"blob:{DIGEST}:00000007", BlobRef(DIGEST, 7)),
        (f"blob:{DIGEST}:2097153", "a page of more than 2097152 bytes"),
        (f"blob:{DIGEST}:000000007", "a page of more than 2097152 bytes"),
        (f"file:{DIGEST}:7", "names no page of a canvas"),
        (f"blob:{DIGEST}", "names no page of a canvas"),
        (f"blob:{DIGEST}:x", "names no page of a canvas"),
        (f"blob:{DIGEST}:²", "names no page of a canvas"),
    ],
)
def test_the_name_of_a_page_is_its_claim_check(name: str, expected: BlobRef | str) -> None:
    if isinstance(expected, BlobRef):
        assert referred(name) == expected
        return
    with pytest.raises(MessageRefused) as caught:
        referred(name)
    assert str(caught.value) == f"schema: canvasplan: {expected}"
