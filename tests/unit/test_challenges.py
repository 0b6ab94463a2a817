"""Challenges: what a sender that checks the address gets, for every form of it, and what strangers get."""

import base64
import hashlib
import hmac
import json
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sedano.errors import ConfigurationError, OptionError
from sedano.model.sources import challenges
from sedano.model.sources.challenges import Challenge, Hub, echo, hub, parameters, response_check, secrets, tokens
from sedano.model.sources.signature_schemes import ABSENT, MALFORMED, REFUSALS, WRONG
from sedano.model.sources.webhooks import Answer

LINES = ("app secret", "verify:first", "verify:second")
PLAIN = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
ASKED = {"hub.mode": "subscribe", "hub.verify_token": "second", "hub.challenge": "1158201444"}
CHALLENGES = [echo(), echo("crc_token"), hub(), response_check()]


def test_an_echo_returns_the_challenge_as_plain_text() -> None:
    assert echo().answer({"challenge": "aZ09._~+/=:-"}, ()) == Answer(200, "aZ09._~+/=:-", PLAIN)
    assert echo("verification").answer({"verification": "a", "challenge": "b"}, ()) == Answer(200, "a", PLAIN)
    assert echo().answer({"verification": "a"}, ()) is None


@pytest.mark.parametrize("given", ["", "a" * 1_025, "<script>", "a b", '{"a":1}', "é", "a\nb", "ٓ"])
def test_what_could_be_a_page_or_a_body_is_not_returned(given: str) -> None:
    assert echo().answer({"challenge": given}, ()) == MALFORMED
    assert hub().answer({**ASKED, "hub.challenge": given}, LINES) == MALFORMED
    assert response_check().answer({"crc_token": given}, LINES) == MALFORMED


def test_the_longest_challenge_is_returned() -> None:
    assert echo().answer({"challenge": "a" * 1_024}, ()) == Answer(200, "a" * 1_024, PLAIN)


@pytest.mark.parametrize("token", ["first", "second"])
def test_a_hub_gets_its_challenge_for_each_valid_verify_token(token: str) -> None:
    assert hub().answer({**ASKED, "hub.verify_token": token}, LINES) == Answer(200, "1158201444", PLAIN)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"hub.verify_token": ""}, ABSENT), ({"hub.verify_token": "third"}, WRONG), ({"hub.verify_token": "app secret"}, WRONG),
        ({"hub.verify_token": "verify:first"}, WRONG), ({"hub.verify_token": "firs"}, WRONG), ({"hub.verify_token": "\ud800"}, WRONG),
        ({"hub.mode": "unsubscribe"}, None), ({"hub.mode": ""}, None),
    ],
)  # fmt: skip
def test_a_hub_without_the_token_or_with_another_mode_gets_nothing(changed: dict[str, str], why: str | None) -> None:
    assert hub().answer({**ASKED, **changed}, LINES) == why


def test_a_hub_without_a_parameter_gets_nothing() -> None:
    for name, why in (("hub.verify_token", ABSENT), ("hub.mode", None), ("hub.challenge", None)):
        assert hub().answer({key: text for key, text in ASKED.items() if key != name}, LINES) == why


def test_what_a_request_may_have() -> None:
    assert (challenges.MOST_PARAMETERS, challenges.MOST_CHARACTERS) == (16, 1_024)


def test_without_a_verify_token_no_hub_is_answered() -> None:
    for lines in ((), ("app secret",), ("verify:",)):
        assert hub().answer(ASKED, lines) == WRONG
        assert hub().answer({**ASKED, "hub.verify_token": ""}, lines) == ABSENT


def test_a_response_check_is_signed_with_the_first_secret() -> None:
    answer = response_check().answer({"crc_token": "abc="}, ("verify:x", "app secret", "older"))
    assert isinstance(answer, Answer)
    wanted = base64.b64encode(hmac.new(b"app secret", b"abc=", hashlib.sha256).digest()).decode()
    assert json.loads(answer.text) == {"response_token": f"sha256={wanted}"}
    assert (answer.status, answer.headers) == (200, {"content-type": "application/json", **PLAIN})
    assert response_check().answer({"challenge": "abc"}, LINES) is None
    assert response_check().answer({"crc_token": "abc"}, ("verify:x",)) == WRONG


def test_an_empty_secret_signs_no_response_check() -> None:
    with pytest.raises(ConfigurationError, match="a secret is empty, so anyone could sign"):
        response_check().answer({"crc_token": "abc"}, ("",))


@given(st.binary(max_size=30) | st.from_regex(rb"[0-9A-Za-z._~+/=:-]{0,1030}", fullmatch=True) | st.from_regex(r"\w+").map(str.encode))
@example(b"12345")
@example(b"a" * 1_024)
@example(b"a" * 1_025)
@example("é".encode("latin-1"))
@example(b"5\n")
def test_the_bodies_that_a_response_check_signs_are_known(body: bytes) -> None:
    """Whatever text anybody has signed so, the check says so of it; the other checks sign nothing."""
    try:
        answer = response_check().answer({"crc_token": body.decode()}, LINES)
    except UnicodeDecodeError:
        answer = MALFORMED
    assert response_check().signs(body) == isinstance(answer, Answer)
    assert not any(challenge.signs(body) for challenge in CHALLENGES[:3])


def test_what_the_secrets_of_a_webhook_do_not_have_is_named() -> None:
    assert [one.missing(LINES) for one in CHALLENGES] == ["", "", "", ""]
    assert [one.missing(()) for one in CHALLENGES[:2]] == ["", ""]
    assert hub().missing(("app secret", "verify:")) == "a line verify:TOKEN, the verify token that the sender was given"
    assert response_check().missing(("verify:x",)) == "the secret with which the answer is signed"


def test_a_verify_token_signs_nothing() -> None:
    assert secrets(LINES) == ("app secret",)
    assert tokens(LINES) == ("first", "second")
    assert tokens(("verify:", "verify:  ", "app secret")) == ()
    assert tokens(("verify: one ", "verify:two")) == ("one", "two"), "spaces around a token are no part of it"


def test_only_a_hub_and_a_response_check_need_the_secrets() -> None:
    assert [one.has_secret for one in CHALLENGES] == [False, False, True, True]


@pytest.mark.parametrize("name", ["", "a b", "a=b", "ä", "a" * 65, 5, None])
def test_a_parameter_that_no_address_can_have_is_refused(name: object) -> None:
    with pytest.raises(OptionError, match="give the parameter with the challenge, such as 'challenge'"):
        echo(name)  # type: ignore[arg-type]
    assert echo("a" * 64).answer({"a" * 64: "x"}, ()) == Answer(200, "x", PLAIN)


def test_parameters_are_read_once_each_and_no_more_than_there_may_be() -> None:
    assert parameters("a=1&b=&c=%C3%A9+x") == {"a": "1", "b": "", "c": "é x"}
    assert parameters("") == {}
    assert parameters("a=1&a=2") is None
    assert parameters("a=%ff") is None
    most = {f"p{number}": "" for number in range(challenges.MOST_PARAMETERS)}
    assert parameters(urlencode(most)) == most
    assert parameters(urlencode({**most, "more": ""})) is None


@given(st.text(max_size=200))
def test_any_query_is_read_or_refused(query: str) -> None:
    found = parameters(query)
    for challenge in CHALLENGES:
        told(challenge, found or {})


@given(
    st.dictionaries(
        st.sampled_from([*ASKED, "challenge", "crc_token"]), st.text(max_size=50) | st.sampled_from(["subscribe", "first", "x"]),
    )
)  # fmt: skip
def test_a_stranger_learns_no_secret_from_any_parameters(found: dict[str, str]) -> None:
    for challenge in CHALLENGES:
        answer = told(challenge, found)
        if isinstance(answer, Answer) and isinstance(challenge, Hub):
            assert found["hub.verify_token"] in ("first", "second")
        assert not isinstance(answer, Answer) or "app secret" not in answer.text


def told(challenge: Challenge, found: dict[str, str]) -> Answer | str | None:
    """What a request with the parameters *found* gets, which is one of three."""
    answer = challenge.answer(found, LINES)
    assert answer is None or (answer.status == 200 if isinstance(answer, Answer) else answer in REFUSALS)
    return answer
