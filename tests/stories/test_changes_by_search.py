"""Changes of all tasks that a search finds: `sedano retry --query`, `sedano revoke --query`, and the same on the pages."""

from collections.abc import Iterator
from urllib.parse import quote_plus

import pytest

from sedano import Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.messages.lineage import rerun_id
from sedano.views.selection import to_retry, to_revoke
from sedano.web.changes import MOST_PREVIEWS, Change
from tests.stories.shopfront import Elements, Shop

app = Sedano("search", queues=("default", "mail"))
APP = ("--app", "tests.stories.test_changes_by_search:app")
FAILED = [f"odd-{n}" for n in range(4)]
BROKEN: set[str] = set()
SEARCH = "name:search.charge error:ValueError"


@app.task(name="search.charge", retry=False)
def charge(n: int) -> int:
    """Refuse odd numbers while the shop is broken."""
    if n % 2 and BROKEN:
        raise ValueError(n)
    return n


@app.task(name="search.pack", retry=False)
def pack() -> None:
    """Fail while the shop is broken."""
    if BROKEN:
        raise KeyError("box")


@pytest.fixture
def world() -> Iterator[testing.World]:
    """Four charges and one other task failed, one charge was fine, one was revoked; the shop is mended."""
    BROKEN.add("shop")
    with testing.world(app) as world:
        for task_id in FAILED:
            charge.apply_async((1,), task_id=task_id)
        charge.apply_async((2,), task_id="even")
        charge.apply_async((1,), task_id="unwanted")
        pack.apply_async(task_id="unpacked")
        app.control.revoke("unwanted")
        world.drain()
        BROKEN.clear()
        yield world


def ended(world: testing.World) -> dict[str, str]:
    """The states of the other runs."""
    world.drain()
    return {one: str(app.result(rerun_id(one)).state) for one in (*FAILED, "even", "unwanted", "unpacked")}


def test_a_search_finds_the_tasks_that_failed_and_with_a_state_also_those_that_were_revoked(world: testing.World) -> None:
    found = to_retry(app, SEARCH, 1)
    assert (set(found.ids), found.found, found.by_state) == (set(FAILED), 4, {"FAILURE": 4})
    assert set(to_retry(app, "name:search.*", 1).ids) == {*FAILED, "unpacked"}
    assert to_retry(app, "state:REVOKED", 1).ids == ("unwanted",)
    assert to_retry(app, "even", 1).ids == ()
    few = to_retry(app, SEARCH, 1, most=3)
    assert (len(few.ids), few.found, "the latest 3 are part of this change" in few.sentence) == (3, 4, True)


def test_a_key_finds_what_is_older_than_the_days_and_the_sentence_says_so(world: testing.World) -> None:
    BROKEN.add("shop")
    keyed = charge.apply_async((1,), dedup_key="order-7")
    world.drain()
    BROKEN.clear()
    world.clock.advance(20 * 86_400.0)
    found = to_retry(app, "key:order-7", 1)
    assert (found.ids, found.found, found.kept) == ((keyed.id,), 1, 1)
    assert found.sentence == "found 0 tasks since 2026-01-21, and 1 kept in the ledger alone, which may be older: 1 FAILURE"
    assert to_retry(app, "name:search.charge", 1).sentence == "found 0 tasks since 2026-01-21: none"


@pytest.mark.parametrize("text", ["", "   ", "key:acme*", "x:1"])
def test_a_search_without_a_condition_or_with_an_unknown_one_means_nothing(text: str, world: testing.World) -> None:
    for find in (to_retry, to_revoke):
        with pytest.raises(OptionError, match="query: "):
            find(app, text, 1)


def test_all_that_failed_for_a_cause_runs_again_once_and_the_rest_does_not(
    world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    assert main(["retry", *APP, "--query", SEARCH, "--yes", "--reason", "mended"]) == Exit.DONE
    out, err = capsys.readouterr()
    assert out.count("runs again as") == len(FAILED)
    assert f"{SEARCH}: found 4 tasks since" in err
    (line,) = [one.fields for one in world.telemetry.lines if one.message == "changed by an operator"]
    assert (line["verb"], line["what"], line["reason"]) == ("retry", f"query={SEARCH}", "mended")
    others = {"even": states.PENDING, "unwanted": states.PENDING, "unpacked": states.PENDING}
    assert ended(world) == {**dict.fromkeys(FAILED, "SUCCESS"), **others}
    assert main(["retry", *APP, "--query", SEARCH, "--yes"]) == Exit.REFUSED
    refused = capsys.readouterr().err
    assert ("4 cannot run again: odd-" in refused, "; and 1 more" in refused) == (True, True)


def test_a_task_that_cannot_run_again_is_counted_and_the_others_run(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    app.control.retry(FAILED[0])
    world.drain()
    assert main(["retry", *APP, "--query", SEARCH, "--yes"]) == Exit.DONE
    out, err = capsys.readouterr()
    assert out.count("runs again as") == len(FAILED) - 1
    assert f"1 cannot run again: {FAILED[0]}: it was run again" in err


def test_what_a_search_finds_that_has_not_ended_is_revoked(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    app.control.pause(task="search.charge")
    world.clock.advance(120.0)
    for task_id in ("held-1", "held-2"):
        charge.apply_async((2,), task_id=task_id)
    world.step()
    assert main(["revoke", *APP, "--query", "name:search.charge", "--dry-run"]) == Exit.DONE
    assert "found 2 tasks since 2025-12-31: 2 HELD" in capsys.readouterr().err
    assert main(["revoke", *APP, "--query", "name:search.charge", "--yes"]) == Exit.DONE
    assert sorted(capsys.readouterr().out.splitlines()) == ["held-1 REVOKED", "held-2 REVOKED"]
    app.control.resume(task="search.charge")
    world.drain()
    assert {app.result(one).state for one in ("held-1", "held-2")} == {states.REVOKED}
    assert app.result("even").state == states.SUCCESS
    assert main(["revoke", *APP, "--query", "name:search.charge", "--yes"]) == Exit.REFUSED


USAGE = {
    "nothing": ["retry"], "ids and a search": ["retry", "odd-0", "--query", "x"], "revoke both": ["revoke", "a", "--query", "x"],
    "revoke nothing": ["revoke"], "a header and a search": ["revoke", "--header", "tenant=a", "--query", "x"],
    "no number": ["retry", "--query", "x", "--limit", "0"],
}  # fmt: skip


@pytest.mark.parametrize("what", USAGE)
def test_a_change_means_ids_or_a_search(what: str, world: testing.World) -> None:
    verb, *rest = USAGE[what]
    assert main([verb, *APP, *rest, "--yes"]) == Exit.USAGE


def offers(shop: Shop, target: str) -> list[str]:
    """The addresses of the changes that a page offers."""
    return [one["href"] for _, one in Elements(shop.html(target)).found if one.get("class") == "act"]


def test_a_page_of_a_search_and_a_canvas_offer_the_changes_of_all_its_tasks(world: testing.World) -> None:
    shop = Shop(world, app, actions=True)
    search = quote_plus(SEARCH)
    assert offers(shop, "/tasks") == []
    assert offers(shop, f"/tasks?q={search}") == [Change("retry", "search", SEARCH, "2").address]
    assert offers(shop, "/tasks?q=even") == []
    assert "Retry the tasks of this canvas that failed" in shop.html("/canvas?id=odd-1&days=7")
    assert offers(shop, "/canvas?id=odd-1&days=7") == [Change("retry", "search", "root:odd-1", "7").address]
    app.control.pause(task="search.charge")
    world.clock.advance(120.0)
    charge.apply_async((2,), task_id="held")
    world.step()
    assert offers(shop, "/tasks?q=held&days=1") == [Change("revoke", "search", "held", "1").address]


def test_a_page_runs_all_tasks_of_a_search_again(world: testing.World) -> None:
    shop = Shop(world, app, actions=True)
    there = Change("retry", "search", SEARCH, "1").address
    preview = Elements(shop.html(there))
    assert f"{SEARCH}: found 4 tasks since 2026-01-01: 4 FAILURE" in preview.text
    assert "run 4 ended tasks again" in preview.text
    made = shop.change(there)
    assert (made.status, made.body.decode().count("runs again as")) == (200, len(FAILED))
    assert len([one for _, one in Elements(made.body.decode()).found if one.get("href", "").startswith("/task?id=")]) == len(FAILED)
    world.drain()
    assert shop.post(there, {"token": "x", "reason": "again"}).status == 409


def test_a_confirmation_changes_the_tasks_that_the_preview_showed_and_no_others(world: testing.World) -> None:
    shop = Shop(world, app, actions=True)
    there = Change("retry", "search", SEARCH, "1").address
    token = shop.token(there)
    BROKEN.add("shop")
    charge.apply_async((1,), task_id="failed-since")
    world.drain()
    BROKEN.clear()
    again = shop.post(there, {"token": token, "reason": ""})
    assert (again.status, "found 4 tasks" in Elements(again.body.decode()).text) == (400, True), "a reason is missing: the same tasks"
    (token,) = [one["value"] for _, one in Elements(again.body.decode()).found if one.get("name") == "token"]
    made = shop.post(there, {"token": token, "reason": "mended"})
    assert (made.status, made.body.decode().count("runs again as")) == (200, len(FAILED))
    assert "failed-since" not in made.body.decode()
    assert "found 5 tasks" in Elements(shop.html(there)).text, "a new preview searches anew"


def test_a_preview_whose_tasks_are_not_known_any_more_changes_nothing(world: testing.World) -> None:
    shop = Shop(world, app, actions=True)
    there = Change("retry", "search", SEARCH, "1").address
    token = shop.token(there)
    for _ in range(MOST_PREVIEWS):
        assert shop.get(there).status == 200
    old = shop.post(there, {"token": token, "reason": "mended"})
    assert (old.status, "This preview is too old" in Elements(old.body.decode()).text) == (409, True)
    assert not [one for one in world.telemetry.lines if one.message == "changed by an operator"]
    assert shop.change(there).status == 200


@pytest.mark.parametrize(("name", "value"), [("", "1"), (" ", "1"), ("x:y", "1"), ("a", "x"), ("a", "0"), ("a", "99")])
def test_a_change_of_a_wrong_search_is_a_page_that_says_why(name: str, value: str, world: testing.World) -> None:
    shop = Shop(world, app, actions=True)
    assert shop.get(Change("retry", "search", name, value).address).status == 400


def test_a_hundred_and_one_tasks_are_typed_by_their_number(world: testing.World) -> None:
    BROKEN.add("shop")
    for _ in range(101 - len(FAILED)):
        charge.apply_async((1,))
    world.drain()
    shop = Shop(world, app, actions=True)
    there = Change("retry", "search", SEARCH, "1").address
    assert "Type 101 to confirm" in Elements(shop.html(there)).text
    assert (shop.change(there).status, shop.change(there, typed="100").status) == (400, 400)
    assert shop.change(there, typed="101").status == 200
