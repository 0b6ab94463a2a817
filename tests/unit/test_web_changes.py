"""Changes of the pages as values: an address leads back to its change, a form is checked, and a token belongs to one preview."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.changes.plan import MOST_UNTYPED, AppliedChange, ChangePlan, Effect, hindered
from sedano.errors import UsageError
from sedano.web.changes import KINDS, LONGEST_REASON, LONGEST_VALUE, VALUED, Change, ChangeForm, complaint, parse
from sedano.web.forms import MOST_LISTED, WIDEST, effects, preview, words
from sedano.web.visitors import FORM, PageRequest, Visitors, forged
from tests.stories.shopfront import ID, NASTY, Elements

PAIRS = [(verb, kind) for verb, kinds in KINDS.items() for kind in kinds]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.sampled_from(PAIRS), TEXT)
def test_the_address_of_a_change_leads_back_to_it(pair: tuple[str, str], name: str) -> None:
    change = Change(*pair, name, "12" if pair[1] in VALUED else "")
    found = parse(change.address, "reason=+why+&typed=mail&token=t.m")
    assert found == ChangeForm(change, "why", "mail", "t.m")


def test_no_two_changes_have_one_key() -> None:
    named = [("a b", ""), ("b", "a"), ("'a' b", ""), ("b", "")]
    assert len({Change("limit", "rate", name, value).key for name, value in named}) == len(named)


WRONG = {
    "/pause": "pause: name its target", "/pause?kind=queue": "pause: name its target", "/pause?kind=lock&name=x": "pause: name its target",
    "/retry?kind=id&name=": "retry: name its target",
    "/pause?kind=queue&name=mail&name=other": "a field is given twice", "/pause?kind=queue&name=mail&x=1": "'x' is not a field",
    "/pause?kind=queue&name=mail&value=1": "'1' is not a value for the queue", "/pause?kind=queue&name=%ff": "is not UTF-8",
    f"/limit?kind=rate&name=a&value={'1' * (LONGEST_VALUE + 1)}": "is not a value for the rate", f"/pause?{'x=1&' * 20}": "more than",
}  # fmt: skip


@pytest.mark.parametrize("target", WRONG)
def test_an_address_that_names_no_change_says_why(target: str) -> None:
    with pytest.raises(UsageError, match=WRONG[target].replace("?", r"\?")):
        parse(target)


def test_a_form_has_no_field_of_the_address_and_an_address_none_of_the_form() -> None:
    for target, body in (("/pause?kind=queue&name=mail&token=t", ""), ("/pause?kind=queue&name=mail", "name=other")):
        with pytest.raises(UsageError, match="is not a field of a change"):
            parse(target, body)


def test_other_paths_are_not_changes() -> None:
    assert [parse(target) for target in ("/", "/tasks", "/pause/x", "/pause.json", "//pause/queue", "/PAUSE")] == [None] * 6


def _plan(number: int, word: str = "mail") -> ChangePlan:
    return ChangePlan(verb="pause", what="queue=mail", lines=("pause 1 queue",), number=number, word=word, make=lambda: AppliedChange(()))


def test_a_change_of_more_than_a_hundred_must_be_typed_and_each_has_a_reason() -> None:
    form = ChangeForm(Change("pause", "queue", "mail"), "bad deploy", "", "")
    assert complaint(form, _plan(MOST_UNTYPED)) == ""
    assert complaint(form, _plan(MOST_UNTYPED + 1)) == "Type mail to confirm."
    assert complaint(form._replace(typed="Mail"), _plan(MOST_UNTYPED + 1)) == "Type mail to confirm."
    assert complaint(form._replace(typed="mail"), _plan(MOST_UNTYPED + 1)) == ""
    assert "Write a reason" in complaint(form._replace(reason=""), _plan(1))
    assert "at most" in complaint(form._replace(reason="x" * (LONGEST_REASON + 1)), _plan(1))


def test_a_preview_shows_its_plan_and_the_form_or_why_there_is_none() -> None:
    change = Change("pause", "queue", "mail")
    form = Elements(preview(change, _plan(MOST_UNTYPED + 1), "t.m", "wrong", NASTY))
    inputs = {one["name"]: one for tag, one in form.found if tag == "input"}
    assert (set(inputs), inputs["token"]["value"]) == ({"token", "reason", "typed"}, "t.m")
    assert ("pause 1 queue" in form.text, "This affects 101 tasks or messages. Type mail to confirm" in form.text) == (True, True)
    assert [one.get("role") for _, one in form.found if "failed" in one.get("class", "")] == ["alert"]
    none = Elements(preview(change, hindered("pause", "queue=mail", "it is not there"), "t.m"))
    assert ("it is not there" in none.text, [tag for tag, _ in none.found if tag == "form"]) == (True, [])


@pytest.mark.parametrize("pair", PAIRS)
def test_the_words_and_the_preview_of_a_change_show_a_hostile_name_as_text(pair: tuple[str, str]) -> None:
    for name in (NASTY, ID, "x" * 200):
        change = Change(*pair, name, "1")
        assert len(words(change)) <= WIDEST + 60
        page = Elements(preview(change, _plan(MOST_UNTYPED + 1, name), "t.m", name, name))
        assert {tag for tag, _ in page.found} & {"script", "img", "svg"} == set()


def test_the_effects_of_a_large_change_are_listed_in_part_those_that_were_left_first() -> None:
    change, done = Change("redrive", "all", "all"), tuple(Effect(f"m-{n} sent to default", {"id": f"m-{n}"}) for n in range(1_000))
    lines = [text for text in Elements(effects(change, AppliedChange(done, (f"{NASTY} stays parked",)))).texts if text.strip()]
    assert lines[0] == "left"
    assert "stays parked" in lines[1]
    assert len([one for one in lines if "sent to" in one]) == MOST_LISTED - 1
    assert f"and {1_001 - MOST_LISTED} more" in lines


def test_a_token_is_spent_by_its_change_once() -> None:
    visitors, other = Visitors(1, "t", "session"), Visitors(1, "t", "another")
    token = visitors.form_token("pause queue mail")
    assert token != visitors.form_token("pause queue mail")
    for wrong in ("", ".", "x", token[:-1], f"x{token}", f"{token}x", token.replace(".", ".é")):
        assert not visitors.use_token(wrong, "pause queue mail")
    assert not visitors.use_token(token, "pause queue default"), "the token of another change"
    assert not visitors.use_token(other.form_token("pause queue mail"), "pause queue mail"), "the token of another session"
    assert [visitors.use_token(token, "pause queue mail") for _ in range(2)] == [True, False]


HOST = "127.0.0.1:8765"
OWN = {"host": HOST, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin", "content-type": f"{FORM}; charset=UTF-8"}
FORGED = {
    "no origin": {"origin": None}, "another origin": {"origin": "https://example.org"}, "an opaque origin": {"origin": "null"},
    "the other name": {"origin": "http://localhost:8765"}, "https": {"origin": f"https://{HOST}"}, "a link": {"sec-fetch-site": "none"},
    "text": {"content-type": "text/plain"}, "no type": {"content-type": None}, "parts": {"content-type": "multipart/form-data"},
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_form_that_no_page_of_ours_sent_is_forged(what: str) -> None:
    def request(headers: dict[str, str | None]) -> PageRequest:
        return PageRequest("POST", "/pause", {name: (value,) for name, value in headers.items() if value is not None})

    assert forged(request({**OWN})) == ""
    assert forged(request({**OWN, **FORGED[what]})) != ""
