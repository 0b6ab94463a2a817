"""Changes on the pages of `sedano web`: each shows its plan, takes a reason, is made once, and is logged with the person."""

import getpass
import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Never

import pytest

from sedano.engine import reruns
from sedano.errors import NotAllowed, Unavailable
from sedano.model import states
from sedano.model.leases import LeaseRecord
from sedano.model.ledger.records import Outcome, Posted
from sedano.model.messages import codec
from sedano.model.messages.lineage import ROOT, rerun_id
from sedano.ports import PARKED, command_queue
from sedano.web.changes import KINDS, Change
from tests.stories.shopfront import ID, LOST, NAME, PAGES, Elements, Shop, app, charge, opened


@pytest.fixture
def shop() -> Iterator[Shop]:
    """Pages that may change their world, with one parked message."""
    with opened(actions=True) as shop:
        yield shop


def lock() -> LeaseRecord:
    """Return the lock that the world holds."""
    return app.outlet.ports.leases.read(["lock/nightly"])["lock/nightly"]


def valued(change: Change) -> Change:
    """Return *change* with the token of the lock, where it releases that."""
    return change._replace(value=str(lock().token)) if change.verb == "release" else change


def state(shop: Shop) -> Any:
    """Everything that a change may change."""
    ports = shop.world.ports
    control, ids = ports.control.read(), ["odd", rerun_id("odd"), ID, "later"]
    queues = [len(shop.world.queues.peek(queue)) for queue in (command_queue("default"), command_queue("mail"), PARKED)]
    paused = [one.paused for one in app.schedules.list()]
    return control.paused, dict(control.limits), queues, paused, ports.ledger.read(ids), lock().held


CHANGES: dict[str, tuple[Change, str, str, str]] = {
    "pause": (Change("pause", "queue", "default"), "pause 1 queue: default until", "queue default paused", "queue=default"),
    "pause a schedule": (
        Change("pause", "schedule", "shopfront.dust"), "pause 1 schedule: shopfront.dust", "schedule shopfront.dust paused",
        "schedule=shopfront.dust",
    ),
    "pause a task": (
        Change("pause", "task", "shopfront.charge"), "pause 1 task: shopfront.charge until", "task shopfront.charge paused",
        "task=shopfront.charge",
    ),
    "resume": (Change("resume", "queue", "mail"), "resume 1 queue: mail (0 wait, 0 run)", "queue mail resumed", "queue=mail"),
    "revoke": (Change("revoke", "id", "later"), "revoke 1 task: 1 PENDING", "later REVOKED", "later"),
    "retry": (Change("retry", "id", "odd"), "run 1 ended tasks again", f"odd runs again as {rerun_id('odd')}, sent to", "odd"),
    "retry a hostile id": (Change("retry", "id", ID), "run 1 ended tasks again", f"runs again as {rerun_id(ID)}", ID),
    "retry with other arguments": (
        Change("retry", "edited", "odd", '{"args": [], "kwargs": {"n": 4}}'), "under a new idbefore: 3now: n=4",
        f"odd runs again as {rerun_id('odd')}", "odd with other arguments",
    ),
    "retry a search": (
        Change("retry", "search", "name:shopfront.charge id:odd", "1"), "found 1 tasks since", "odd runs again as",
        "query=name:shopfront.charge id:odd",
    ),
    "rate": (
        Change("limit", "rate", "shopfront.weigh", "10/m"), "limits of 1 task, shopfront.weigh: rate 10/m; workers",
        "shopfront.weigh rate 10/m", "limits of 1 task, shopfront.weigh: rate 10/m",
    ),
    "concurrency": (
        Change("limit", "concurrency", "shopfront.weigh", "0"), "limits of 1 task, shopfront.weigh: concurrency 0; workers",
        "shopfront.weigh concurrency 0", "limits of 1 task, shopfront.weigh: concurrency 0",
    ),
    "redrive": (Change("redrive", "all", "all"), "send 1 parked messages again, of 1", f"{LOST} sent to", "every queue every reason"),
    "redrive a reason": (
        Change("redrive", "reason", "unknown-task"), "1 of shopfront.gone to", f"{LOST} sent to", "every queue unknown-task",
    ),
    "redrive a queue": (Change("redrive", "queue", "default"), "1 of shopfront.gone to", f"{LOST} sent to", "default every reason"),
    "release": (
        Change("release", "lock", "nightly"), "release 1 lock: nightly, which", "nightly released; the token", "lock=nightly token=",
    ),
    "trigger": (
        Change("trigger", "schedule", "shopfront.dust"), "run 1 schedule now: shopfront.dust", "shopfront.dust runs now as",
        "schedule=shopfront.dust",
    ),
}  # fmt: skip
"""For each change: its lines of plan, of effect, and the target in the log, as they begin."""


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_shows_its_plan_is_made_once_and_is_logged_with_the_person(what: str, shop: Shop) -> None:
    change, plan, effect, target = CHANGES[what]
    change = valued(change)
    before = state(shop)
    preview = Elements(shop.html(change.address))
    assert plan in preview.text
    assert state(shop) == before, "a preview changes nothing"
    fields = {"token": shop.token(change.address), "reason": "a \x1b[2J test"}
    made = shop.post(change.address, fields)
    assert (made.status, effect in Elements(made.body.decode()).text) == (200, True)
    after = state(shop)
    assert after != before
    (line,) = [one.fields for one in shop.world.telemetry.lines if one.message == "changed by an operator"]
    assert {**line, "what": ""} == {"verb": change.verb, "what": "", "reason": fields["reason"], "by": getpass.getuser()}
    assert str(line["what"]).startswith(target)
    (noted,) = shop.noted
    assert (noted.startswith(f"changed by {getpass.getuser()}: {change.verb} "), "\x1b" in noted) == (True, False)
    again = shop.post(change.address, fields)
    assert (again.status, state(shop)) == (409, after), "the form is sent twice"


def test_every_verb_and_kind_is_driven_here() -> None:
    driven = {(change.verb, change.kind) for change, *_ in CHANGES.values()}
    apart = {("revoke", "search"), ("limit", "declared"), ("resume", "task"), ("resume", "schedule"), ("resume", "circuit")}
    assert driven | apart == {(verb, kind) for verb, kinds in KINDS.items() for kind in kinds}


def test_a_pause_and_a_limit_are_taken_back(shop: Shop) -> None:
    before = state(shop)
    for kind, name in (("task", "shopfront.charge"), ("schedule", "shopfront.dust")):
        assert shop.change(Change("pause", kind, name).address).status == 200
        assert shop.change(Change("resume", kind, name).address).status == 200
    assert shop.change(Change("limit", "rate", "shopfront.weigh", "1/s").address).status == 200
    assert shop.change(Change("limit", "declared", "shopfront.weigh").address).status == 200
    assert state(shop) == before
    answer = shop.post(Change("resume", "task", "shopfront.charge").address, {"reason": "twice"})
    assert (answer.status, "is not paused" in answer.body.decode()) == (409, True)


OFFERED = {
    "/": [Change("redrive", "all", "all")],
    "/queues": [Change("pause", "queue", "default"), Change("resume", "queue", "mail")],
    "/schedules": [Change("pause", "schedule", "shopfront.dust"), Change("trigger", "schedule", "shopfront.dust")],
    "/task?id=odd": [
        Change("retry", "id", "odd"), Change("retry", "edited", "odd"), Change("pause", "task", "shopfront.charge"),
        Change("resume", "task", "shopfront.charge"),
        Change("limit", "rate", "shopfront.charge"),
    ],
    "/task?id=later": [Change("revoke", "id", "later")], "/task?id=unknown": [Change("revoke", "id", "unknown")],
    "/locks?q=nightly": [Change("release", "lock", "nightly")],
    "/tasks": [], "/circuits": [], "/workers": [],
}  # fmt: skip


@pytest.mark.parametrize("target", OFFERED)
def test_a_page_offers_the_changes_that_fit_it(target: str, shop: Shop) -> None:
    wanted = [valued(one) for one in OFFERED[target]]
    links = [one["href"] for tag, one in Elements(shop.html(target)).found if one.get("class") == "act"]
    assert links == [one.address for one in wanted]
    assert all(shop.get(one).status == 200 for one in links)


def test_pages_that_only_read_offer_nothing_and_take_no_form() -> None:
    with opened() as shop:
        before = state(shop)
        for target in PAGES:
            assert not [one for tag, one in Elements(shop.html(target)).found if one.get("class") == "act"]
        for change, *_ in CHANGES.values():
            answer = shop.get(change.address)
            assert (answer.status, "sedano web --actions" in answer.body.decode()) == (403, True)
            sent = shop.post(change.address, {"reason": "x", "token": shop.visitors.form_token(change.key)})
            assert (sent.status, sent.headers["allow"]) == (405, "GET, HEAD")
        assert state(shop) == before


PAUSE = Change("pause", "queue", "default").address
WRONG: dict[str, tuple[int, dict[str, str], dict[str, str]]] = {
    "no reason": (400, {"reason": "  "}, {}), "a long reason": (400, {"reason": "x" * 501}, {}),
    "no token": (409, {"token": ""}, {}), "another field": (400, {"kind": "task"}, {}),
    "no cookie": (403, {}, {"cookie": "other=1"}), "another site": (403, {}, {"origin": "https://example.org"}),
    "a link": (403, {}, {"sec_fetch_site": "none"}), "another type": (403, {}, {"content_type": "text/plain"}),
    "another host": (403, {}, {"host": "example.org"}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_form_that_is_wrong_changes_nothing(what: str, shop: Shop) -> None:
    status, fields, headers = WRONG[what]
    before = state(shop)
    good = {"reason": "a test", "token": shop.token(PAUSE)}
    assert shop.post(PAUSE, {**good, **fields}, **headers).status == status
    assert (state(shop), shop.noted) == (before, [])
    other = shop.post(Change("pause", "task", "shopfront.charge").address, good)
    assert (other.status, state(shop)) == (409, before), "a token belongs to one change"
    assert shop.post(PAUSE, good).status == 200, "the token was not spent"


def test_a_form_that_is_too_long_or_not_a_form_changes_nothing(shop: Shop) -> None:
    own = {"origin": "http://127.0.0.1:8765", "content_type": "application/x-www-form-urlencoded"}
    before = state(shop)
    assert shop.get(PAUSE, "POST", None, **own).status == 413
    assert shop.get(PAUSE, "POST", "reason=ü".encode(), **own).status == 400
    assert shop.get("/tasks", "POST", b"reason=x", **own).status == 404
    assert shop.get(PAUSE, "PUT", b"reason=x", **own).headers["allow"] == "GET, HEAD, POST"
    assert state(shop) == before


def test_a_change_of_more_than_a_hundred_messages_is_typed(shop: Shop) -> None:
    for n in range(101):
        charge.apply_async((2 * n,))
    preview = Elements(shop.html(PAUSE))
    assert "This affects 101 tasks or messages. Type default to confirm" in preview.text
    refused = shop.change(PAUSE)
    assert (refused.status, "Type default to confirm." in Elements(refused.body.decode()).text) == (400, True)
    assert shop.noted == []
    assert shop.change(PAUSE, typed="default").status == 200


def test_a_task_that_ran_again_is_linked_and_is_not_run_a_third_time(shop: Shop) -> None:
    there = Change("retry", "id", "odd").address
    made = Elements(shop.change(there).body.decode())
    (link,) = [one["href"] for tag, one in made.found if one.get("aria-label", "").startswith("look at")]
    shop.world.drain()
    assert "FAILURE" in Elements(shop.html(link)).text
    assert f"it was run again as {rerun_id('odd')}" in Elements(shop.html(there)).text
    assert "is SUCCESS" not in Elements(shop.html(Change("retry", "id", "nasty").address)).text


def test_a_preview_of_parked_messages_lets_them_be_seen_at_once(shop: Shop) -> None:
    there = Change("redrive", "all", "all").address
    for _ in range(3):
        assert "send 1 parked messages again" in Elements(shop.html(there)).text
    assert shop.change(there, reason="").status == 400
    assert shop.change(there, token="x").status == 409
    assert "send 1 parked messages again" in Elements(shop.html(there)).text
    assert "no parked message matches" in Elements(shop.html(Change("redrive", "reason", "other").address)).text


HOSTILE = '{"args": ["</textarea><script>alert(6)</script>\\u202e\\u007f\\ud83d\\ude00\\n"], "kwargs": {}}'


def test_the_arguments_of_a_task_are_edited_before_it_runs_again(shop: Shop) -> None:
    page = shop.html(Change("retry", "edited", "odd").address)
    assert '<textarea name="value"' in page
    assert json.loads(_textarea(page)) == {"args": [3], "kwargs": {}}
    there = Change("retry", "edited", "odd", '{"args": [4], "kwargs": {}}').address
    assert json.loads(_textarea(shop.html(there))) == {"args": [4], "kwargs": {}}
    assert "runs again as" in shop.change(there).body.decode()
    shop.world.drain()
    assert app.result(rerun_id("odd")).get() == 4
    assert "it was run again as" in Elements(shop.html(there)).text
    (line,) = [one.fields for one in shop.world.telemetry.lines if one.message == "changed by an operator"]
    assert line["what"] == "odd with other arguments", "the log holds no arguments"


def test_edited_arguments_that_are_hostile_are_shown_inert_and_sent_as_they_are(shop: Shop) -> None:
    there = Change("retry", "edited", "odd", HOSTILE).address
    assert shop.get(there).status == 400, "charge takes a number"
    shop.world.ports.ledger.keep([nasty_end("nasty-2")])
    there = Change("retry", "edited", "nasty-2", HOSTILE).address
    page = shop.html(there)
    assert [one for tag, one in Elements(page).found if tag == "script"] == [{"type": "module", "src": "/-/app.js"}]
    assert json.loads(_textarea(page)) == json.loads(HOSTILE)
    assert "runs again as" in shop.change(there).body.decode()
    shop.world.drain()
    assert app.result(rerun_id("nasty-2")).get() == json.loads(HOSTILE)["args"][0]


def nasty_end(task_id: str) -> Outcome:
    """The failed end of a task that takes any text."""
    (found,) = reruns.planned(app.outlet.ports, ["odd"])
    assert isinstance(found, reruns.Rerun)
    command = found.command._replace(id="m", task_id=task_id, task=NAME, source="s", time=1.0, clock=1, args=("x",), lineage=ROOT)
    call = Posted(found.queue, codec.encode(command))
    return Outcome(
        task_id=task_id, state=states.FAILURE, nonce="n", fence=0, message_id="m", attempt=0, clock=1, name=NAME, at=1.0, call=call
    )  # fmt: skip


def _textarea(page: str) -> str:
    (found,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    return html.unescape(found)


WRONG_ARGUMENTS = [
    "x", "[1]", "{}", '{"args": 1, "kwargs": {}}', '{"args": [], "kwargs": []}', '{"args": [], "kwargs": {}, "x": 1}', "[" * 4_000,
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG_ARGUMENTS, ids=lambda text: text[:30])
def test_arguments_that_are_not_such_json_are_a_page_that_says_what_to_write(text: str, shop: Shop) -> None:
    answer = shop.get(Change("retry", "edited", "odd", text).address)
    assert (answer.status, "write it as {" in Elements(answer.body.decode()).text) == (400, True)


def test_a_limit_is_chosen_on_a_page_first(shop: Shop) -> None:
    page = Elements(shop.html(Change("limit", "rate", "shopfront.weigh").address))
    assert [one["value"] for tag, one in page.found if tag == "option"] == ["rate", "concurrency", "declared"]
    assert "post" not in [one.get("method") for _, one in page.found]
    for wrong in ("1/y", "-1/s"):
        assert shop.get(Change("limit", "rate", "shopfront.weigh", wrong).address).status == 400
    assert shop.get(Change("limit", "rate", "unknown", "1/s").address).status == 404


def test_an_old_picture_of_a_lock_releases_nobody_elses(shop: Shop) -> None:
    there = Change("release", "lock", "nightly", str(lock().token - 1)).address
    assert "look at it again" in Elements(shop.html(there)).text
    assert shop.post(there, {"reason": "a test"}).status == 409
    assert shop.get(Change("release", "lock", "nightly", "x").address).status == 400


class Silent:
    """Leases whose store does not answer to a release."""

    def __init__(self, inner: Any) -> None:
        """Read from *inner*."""
        self.read = inner.read

    def release(self, *arguments: object) -> Never:
        """Be away."""
        raise Unavailable("dynamodb.UpdateItem", "timeout")


class Forbidden:
    """A control table that the role may not write."""

    def __init__(self, inner: Any) -> None:
        """Read from *inner*."""
        self.read = inner.read

    def change(self, *arguments: object) -> Never:
        """Refuse as IAM does."""
        raise NotAllowed("dynamodb.UpdateItem: AccessDeniedException: no", "dynamodb:UpdateItem")


def test_a_right_that_is_missing_disables_the_buttons_before_a_change_is_tried(shop: Shop) -> None:
    ports, allowed = shop.world.ports, shop.site.changes
    assert allowed is not None
    allowed.look()
    assert allowed.missing == {}
    app.attach(replace(ports, control=Forbidden(ports.control), leases=Silent(ports.leases)))
    allowed.look()
    assert allowed.missing == dict.fromkeys(("pause", "resume", "limit"), "dynamodb:UpdateItem"), "a store that is away says nothing"
    assert "the credentials lack dynamodb:UpdateItem" in Elements(shop.html("/queues")).text
    assert [one for one in shop.world.telemetry.lines if one.message.startswith("change")] == []
    app.attach(ports)
    assert shop.change(PAUSE).status == 200
    assert "pause" not in allowed.missing, "a change that was made shows that the right is there"


def test_a_right_that_is_missing_is_named_and_its_button_is_disabled_until_it_is_there(shop: Shop) -> None:
    ports = shop.world.ports
    app.attach(replace(ports, control=Forbidden(ports.control)))
    refused = shop.change(PAUSE)
    assert (refused.status, "the missing IAM action is dynamodb:UpdateItem" in refused.body.decode()) == (403, True)
    page = Elements(shop.html("/queues"))
    buttons = [one for tag, one in page.found if tag == "button" and one.get("type") == "button" and "id" not in one]
    assert ["disabled" in one for one in buttons] == [True]
    assert "the credentials lack dynamodb:UpdateItem" in page.text
    (line,) = [one.fields for one in shop.world.telemetry.lines if one.message == "change by an operator failed"]
    assert (line["what"], line["by"], line["reason"]) == ("queue=default", getpass.getuser(), "a test")
    assert "AccessDeniedException" in str(line["error"])
    app.attach(ports)
    assert shop.change(PAUSE).status == 200
    assert "the credentials lack" not in Elements(shop.html("/queues")).text


class Away:
    """A control table that does not answer."""

    def read(self) -> Never:
        """Fail as a store that is away."""
        raise Unavailable("the table does not answer")


def test_a_store_that_does_not_answer_is_a_page(shop: Shop) -> None:
    app.attach(replace(shop.world.ports, control=Away()))
    assert shop.get(PAUSE).status in (200, 503)
    assert shop.post(PAUSE, {"reason": "x", "token": shop.visitors.form_token("pause queue '' default")}).status == 503


@pytest.mark.parametrize("name", [NAME, ID, LOST])
def test_a_hostile_name_is_shown_as_text_wherever_it_is_asked_for(name: str, shop: Shop) -> None:
    for verb, kinds in KINDS.items():
        for kind in kinds:
            answer = shop.get(Change(verb, kind, name, "1" if kind in ("rate", "concurrency", "lock", "search") else "").address)
            page = Elements(answer.body.decode())
            assert answer.status in (200, 400, 404)
            assert [one for tag, one in page.found if tag == "script"] == [{"type": "module", "src": "/-/app.js"}]
            assert not [one for _, attributes in page.found for one in attributes if one.startswith("on")]
