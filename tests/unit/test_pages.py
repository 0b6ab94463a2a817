"""Canvases as they are written: the exact text of each item, and the sizes at which an item or a part gets a page of its own."""

import re
from hashlib import sha256
from typing import Any

import pytest

from sedano.errors import CanvasError, OptionError, TooLarge
from sedano.model.canvas.pages import Entry, PageWriter, Written, refer, refuse_options, resuming
from sedano.model.canvas.tree import Chain, Fork, Group, TaskNode, Tree
from sedano.model.messages.message import COLLECT, LAUNCH, BlobRef, Place
from sedano.model.tasks.signature import Signature


class Desk(PageWriter):
    """Writes pages and keeps them by their names."""

    def __init__(self) -> None:
        """Keep no page yet."""
        super().__init__(entry, self.store)
        self.kept: dict[str, str] = {}

    def store(self, data: bytes) -> BlobRef:
        """Keep a page."""
        ref = BlobRef(sha256(data).hexdigest(), len(data))
        self.kept[refer(ref)] = data.decode()
        return ref

    def stored(self, text: str) -> str:
        """Return the name under which the page *text* was kept."""
        (name,) = (name for name, kept in self.kept.items() if kept == text)
        return name


def entry(signature: Signature, handed: int, queue: str) -> Entry:
    """Write a signature with all that it was given; a keyword argument `long` makes its text that long."""
    options = signature.options
    shared = f'"tenant":"{options.tenant}"' if options.tenant else ""
    own = f',"id":"{options.task_id}"' if options.task_id else ""
    text = f'"task":"{signature.task}","n":{handed},"q":"{queue}"{own}'
    text += f',"x":"{"x" * (signature.kwargs["long"] - len(text) - 7)}"' if "long" in signature.kwargs else ""
    return Entry(text, queue or options.queue or "q", shared)


def task(name: str = "a", long: int = 0, **options: Any) -> TaskNode:
    """Return a task; *long*: the length of its item."""
    return TaskNode(Signature(name, (), {"long": long} if long else {}).set(**options))


def of(name: str = "a", handed: int = 0, queue: str = "") -> str:
    """Return the item of a task without more."""
    return f'{{"task":"{name}","n":{handed},"q":"{queue}"}}'


def wide(step: TaskNode, **more: Any) -> TaskNode:
    """Return *step* with these links and callbacks."""
    return TaskNode(step.signature, **more)


A, B, C = task("a"), task("b"), task("c")
DEEP = wide(B, links=(wide(B, links=(B,)), C))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (A, Written(of("a", 2), 1, 1, "q")),
        (task(queue="own", tenant="t"), Written(of("a", 2), 1, 1, "own", shared='"tenant":"t"')),
        (task(task_id="i"), Written('{"task":"a","n":2,"q":"","id":"i"}', 1, 1, "q", own="i", told=True)),
        (wide(A, watch=(B,)), Written(f'{of("a", 2)[:-1]},"watch":[{of("b", -1)}]}}', 2, 2, "q")),
        (wide(A, errors=(B,)), Written(f'{of("a", 2)[:-1]},"errors":[{of("b", -1)}]}}', 2, 2, "q", told=True)),
        (
            wide(task(task_id="i", queue="own", tenant="t"), links=(B,)),
            Written(f'{{"task":"a","n":2,"q":"","id":"i","links":[{of("b", 1)}]}}', 2, 2, "own", "step", '"tenant":"t"', "i", told=True),
        ),
        (
            wide(A, errors=(B, C), watch=(C,), links=(B,), forks=(C, Group((A,), watch=(B,)))),
            Written(
                f'{of("a", 2)[:-1]},"errors":[{of("b", -1)},{of("c", -1)}],"watch":[{of("c", -1)}],"links":[{of("b", 1)}],'
                f'"forks":[{of("c", 1)},{{"group":[{of("a", 1)}],"queue":"q","watch":[{of("b", -1)}]}}]}}',
                9, 3, "q", told=True, groups=1,
            ),
        ),
    ],
)  # fmt: skip
def test_a_step_is_written_with_its_callbacks(step: TaskNode, expected: Written) -> None:
    assert Desk().item(step, ("W",), 2) == expected


def test_a_step_is_one_level_deeper_than_its_deepest_callback() -> None:
    found = Desk().item(DEEP)
    assert (found.tasks, found.depth, found.told) == (4, 3, False)


def test_a_chain_hands_one_value_from_step_to_step() -> None:
    found = Desk().item(Chain((task(tenant="t", queue="own"), DEEP, C), (B,)), ("W",), 3)
    inner = of("b", 1)[:-1]
    deep = f'{inner},"links":[{inner},"links":[{of("b", 1)}]}},{of("c", 1)}]}}'
    text = f'{{"chain":[{of("a", 3)},{deep},{of("c", 1)}],"watch":[{of("b", -1)}]}}'
    assert found == Written(text, 7, 4, "own", "chain", '"tenant":"t"')


def test_a_chain_has_the_id_of_its_last_step_and_only_a_collecting_step_follows_the_queue_before_it() -> None:
    steps = (task("a", queue="own"), task("c", queue="other"), TaskNode(Signature(COLLECT)), task("b", queue="third", task_id="i"))
    found = Desk().item(Chain(steps), ())
    text = f'{{"chain":[{of()},{of("c", 1)},{of(COLLECT, 1, "other")},{{"task":"b","n":1,"q":"","id":"i"}}],"id":"i"}}'
    assert found == Written(text, 4, 2, "own", "chain", own="i", told=True)
    assert Desk().item(Chain((task(task_id="i"), B))).told
    assert not Desk().item(Chain((A, wide(B, errors=(C,))))).told


def test_two_tasks_of_a_canvas_cannot_have_one_id() -> None:
    words = "^task_id: two tasks of this canvas have the id i; give each its own, or freeze only one of them$"
    with pytest.raises(CanvasError, match=words):
        Desk().page(Chain((task(task_id="i"), task(task_id="j"), task("b", task_id="i"))))


def test_a_normal_chain_holds_no_forks() -> None:
    with pytest.raises(TypeError, match=r"^a normal chain holds no forks$"):
        Desk().page(Chain((A, Fork((B,)))))


def test_a_group_is_written_with_what_its_launch_needs() -> None:
    same, named = task(tenant="t", queue="own"), task("b", task_id="i", tenant="t")
    members = f'{{"group":[{of("a", 2)},{{"task":"b","n":2,"q":"","id":"i"}},{of("a", 2)}],"queue":"own","tenant":"t"'
    found = Desk().item(Group((same, named, same), (), (C,), outcomes=True), ("W",), 2)
    text = f'{members},"watch":[{of("c", -1)}],"outcomes":true,"told":true}}'
    assert found == Written(text, 5, 2, "own", "group", '"tenant":"t"', told=True, groups=1)
    mixed = Desk().item(Group((same, B)))
    assert mixed == Written(f'{{"group":[{of("a")},{of("b")}],"queue":"own"}}', 3, 2, "own", "group", groups=1)
    assert Desk().item(Group(())) == Written('{"group":[]}', 1, 1, "", "group", groups=1)
    assert Desk().item(Group((A, DEEP))).depth == 4


@pytest.mark.parametrize("watch", [(), ("V", "W")])
def test_a_canvas_begins_in_a_page_that_travels_in_the_message_when_it_is_short(watch: tuple[str, ...]) -> None:
    tops = ',"watch":[V,W]' if watch else ""
    written, page = Desk().page(A, watch, '"resume":[]')
    text = f'{{"chain":[{of()}],"resume":[]}}'
    assert (written, page) == (Written(text, 1, 2, "q", "chain"), f'{{"item":{text}{tops}}}')
    assert Desk().page(Chain((A,)))[1] == f'{{"item":{{"chain":[{of()}]}}}}'
    assert Desk().page(Group((A,)))[0].text == f'{{"chain":[{{"group":[{of()}],"queue":"q"}}]}}'


def test_a_page_of_2000_characters_travels_in_the_message_and_a_longer_one_is_kept() -> None:
    around = len('{"item":{"chain":[{}]}}')
    short, long = Desk(), Desk()
    assert len(short.page(task(long=2_000 - around))[1]) == 2_000
    assert short.kept == {}
    name = long.page(task(long=2_001 - around))[1]
    assert list(long.kept) == [name]
    assert name == f"blob:{sha256(long.kept[name].encode()).hexdigest()}:2001"


def test_a_short_page_of_more_than_six_groups_is_kept() -> None:
    groups = [Group((A, B))] * 6
    assert Desk().page(Group(tuple(groups[:5])))[1].startswith('{"item"')
    desk = Desk()
    assert [desk.page(Group(tuple(groups)))[1]] == list(desk.kept)


def test_arguments_that_are_named_group_are_not_counted_as_groups() -> None:
    desk = PageWriter(lambda signature, handed, queue: Entry('"k":{"group":1}', "q"), Desk().store)
    assert desk.page(Chain((A,) * 20))[1].startswith('{"item"')


def test_a_step_that_no_worker_would_read_is_refused() -> None:
    around, most = len('{"item":{"chain":[{}]}}'), 2 * 1024 * 1024
    Desk().page(task(long=most - around))
    words = f"^canvas: a step with its links and callbacks has {most + 1} bytes of {most}; give it fewer of them$"
    with pytest.raises(TooLarge, match=words):
        Desk().page(task(long=most + 1 - around))


def filled(name: str, long: int, handed: int) -> str:
    """Return the item of a task that is *long*."""
    return f"{{{entry(Signature(name, (), {'long': long - 2}), handed, '').text}}}"


def test_a_chain_of_30000_characters_has_one_page_and_a_longer_one_is_cut() -> None:
    one = Desk().item(Chain((task("a", 14_998), task("b", 14_998))))
    assert one.text == f'{{"chain":[{filled("a", 15_000, 0)},{filled("b", 15_000, 1)}]}}'
    desk = Desk()
    steps = (task("a", 14_998), task("b", 14_999), task("c", 14_997), task("d", 2_998, task_id="i"))
    found, page = desk.page(Chain(steps, (C,)), ("W",), '"resume":[]')
    last = desk.stored(
        f'{{"item":{{"chain":[{filled_with_id("d", 3_000, 1)}],"at":3,"of":4,"end":"d","resume":[]}},"watch":[W,{of("c", -1)}]}}'
    )
    middle = f"{filled('b', 15_001, 1)},{filled('c', 14_999, 1)}"
    second = f'{{"chain":[{middle}],"at":1,"of":4,"end":"d","resume":[],"more":"{last}"}}'
    more = desk.stored(f'{{"item":{second},"watch":[W,{of("c", -1)}]}}')
    first = f'"at":0,"of":4,"end":"d","resume":[],"watch":[{of("c", -1)}],"id":"i","more":"{more}"'
    assert found == Written(f'{{"chain":[{filled("a", 15_000, 0)}],{first}}}', 5, 2, "q", "chain", own="i", told=True)
    assert page == desk.stored(f'{{"item":{found.text},"watch":[W]}}')


def filled_with_id(name: str, long: int, handed: int) -> str:
    """Return the item of a task that is *long* and has the id `i`."""
    return f"{{{entry(Signature(name, (), {'long': long - 2}).set(task_id='i'), handed, '').text}}}"


def test_a_long_chain_that_ends_with_a_group_ends_with_its_launch() -> None:
    assert f'"end":"{LAUNCH}"' in Desk().item(Chain((task("a", 20_000), task("b", 20_000), Group((A,))))).text


def test_an_item_of_7500_characters_stays_in_its_page_and_a_longer_one_gets_its_own() -> None:
    around = len('{"chain":[{}]}')
    group = Group((task("b", 7_500 - around - len(',"queue":"q"')),))
    for tree in (Chain((task("b", 7_500 - around),)), group):
        text = Desk().item(tree, (), 1).text
        assert len(text) == 7_500
        desk = Desk()
        assert desk.item(wide(A, links=(tree,))).text == f'{of()[:-1]},"links":[{text}]}}'
        assert desk.kept == {}
    longer = Chain((task("b", 7_501 - around, task_id="i"),))
    text = Desk().item(longer, (), 1).text
    desk = Desk()
    found = desk.item(Chain((wide(A, watch=(C,), forks=(longer,)), B)), ("W",))
    own = desk.stored(f'{{"item":{text},"watch":[W,{of("c", -1)}]}}')
    inner = f'{{"page":"{own}","kind":"chain","queue":"q","id":"i","told":true}}'
    step = f'{of()[:-1]},"watch":[{of("c", -1)}],"forks":[{inner}]}}'
    assert found == Written(f'{{"chain":[{step},{of("b", 1)}]}}', 4, 3, "q", "chain")


def test_a_long_step_stays_in_its_page() -> None:
    desk = Desk()
    assert desk.item(wide(A, links=(task("b", 8_000),))).text == f'{of()[:-1]},"links":[{filled("b", 8_002, 1)}]}}'
    assert desk.kept == {}


def test_a_deep_item_gets_a_page_that_is_kept_also_when_it_is_short() -> None:
    desk, tree = Desk(), Chain((A,))
    for _ in range(7):
        tree = Chain((tree,))
    found = desk.item(Group((tree,)))
    page = desk.stored('{"item":' + '{"chain":[' * 8 + of() + "]}" * 8 + "}")
    assert found.text == f'{{"group":[{{"page":"{page}","kind":"chain","queue":"q"}}],"queue":"q"}}'


def nested(levels: int, inner: Tree) -> Tree:
    """Return *inner* in so many groups of one."""
    return Group((nested(levels - 1, inner),)) if levels else inner


def test_an_item_of_eight_levels_stays_in_its_page_and_a_deeper_one_gets_its_own() -> None:
    desk = Desk()
    text = '{"group":[' * 8 + of() + '],"queue":"q","tenant":"t"}' * 8
    assert desk.item(nested(8, task(tenant="t"))) == Written(text, 9, 9, "q", "group", '"tenant":"t"', groups=8)
    assert desk.kept == {}
    found = desk.item(nested(9, task(task_id="i", queue="own")))
    (name,) = desk.kept
    told = '{"page":"' + name + '","kind":"group","queue":"own","told":true}'
    assert found == Written(f'{{"group":[{told}],"queue":"own","told":true}}', 10, 2, "own", "group", told=True, groups=1)


def test_a_group_is_cut_after_500_members_and_after_full_calls() -> None:
    desk = Desk()
    assert desk.item(Group((A,) * 500)).text == f'{{"group":[{",".join([of()] * 500)}],"queue":"q"}}'
    found = desk.item(Group((A,) * 501, (), (C,)), ("W",))
    watch = f'"watch":[W,{of("c", -1)}]'
    name = desk.stored(f'{{"item":{{"group":[{",".join([of()] * 500)}]}},{watch}}}')
    rest = f'{{"item":{{"group":[{of()}]}},{watch}}}'.replace('"', '\\"')
    text = f'{{"group":501,"pages":[["{name}",500],["{rest}",1]],"queue":"q","watch":[{of("c", -1)}]}}'
    assert found == Written(text, 503, 3, "q", "group", groups=1)
    assert sizes(Desk().item(Group((A,) * 1_010)).text) == [500, 500, 10]
    assert sizes(Desk().item(Group((task(long=1_498),) * 35)).text) == [20, 15]
    assert sizes(Desk().item(Group((task(long=1_499),) * 35)).text) == [10, 10, 15]


def sizes(text: str) -> list[int]:
    """Return the sizes of the pages of a group."""
    return [int(size) for size in re.findall(r'(?<!\\)",(\d+)\]', text)]


def test_a_group_of_more_than_250_pages_has_pages_of_pages() -> None:
    member = task(long=1_600)
    flat, desk = Desk().item(Group((member,) * 2_500)).text, Desk()
    assert sizes(flat) == [10] * 250
    found = desk.item(Group((member,) * 2_510))
    assert sizes(found.text) == [1_250, 1_250, 10]
    assert found.text.startswith('{"group":2510,"pages":[["blob:')
    assert (found.tasks, found.depth) == (2_511, 3)
    members = f'{{"item":{{"group":[{",".join([filled("a", 1_602, 0)] * 10)}]}}}}'
    ten = f'["{desk.stored(members)}",10]'
    page, last = f'{{"item":{{"group":1250,"pages":[{",".join([ten] * 125)}]}}}}', f'{{"item":{{"group":10,"pages":[{ten}]}}}}'
    assert f'["{desk.stored(page)}",1250],["{desk.stored(page)}",1250],["' in found.text
    assert last.replace('"', '\\"') in found.text


def test_a_chain_that_replaces_a_task_is_marked_with_where_it_goes_on() -> None:
    assert resuming(2, Place("c", "0.1", 'p"'), 3, 40) == '"resume":[2,["c","0.1","p\\""],3,40]'
    assert resuming(0, None, 0, 0) == '"resume":[0,null,0,0]'


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dedup_key": "k"}, "dedup_key, on_duplicate: the canvas determines the ids of its tasks; give the canvas a task_id instead"),
        ({"dedup_key": "k", "on_duplicate": "drop"}, "dedup_key, on_duplicate: the canvas determines the ids"),
        ({"on_duplicate": "drop"}, "dedup_key, on_duplicate: the canvas determines the ids"),
        ({"budget": 5}, "budget: all tasks of a canvas have the same budget; set it on a lone task"),
    ],
)
def test_an_option_that_a_canvas_decides_is_refused_with_the_reason(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError) as caught:
        refuse_options(task(**options).signature)
    assert str(caught.value).startswith(words)
    refuse_options(task(queue="q", task_id="i").signature)
