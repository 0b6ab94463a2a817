"""Signatures of webhooks: the senders' own published examples are let in, and nothing that differs from them by a byte."""

import base64
import hashlib
import hmac
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import ConfigurationError, OptionError
from sedano.model.sources import signature_schemes as signed
from sedano.model.sources.signature_schemes import ABSENT, LATE, MALFORMED, REFUSALS, WRONG, Scheme
from sedano.model.sources.webhooks import Answer, WebhookRequest

GITHUB = signed.hmac_sha256(header="X-Hub-Signature-256", prefix="sha256=")
SHOPIFY = signed.hmac_sha256(header="X-Shopify-Hmac-Sha256", encoding="base64")
GITHUB_SECRET = "It's a Secret to Everybody"
GITHUB_SIGNED = {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}
SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SLACK_SIGNED = {
    "x-slack-request-timestamp": "1531420618",
    "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
}
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_SIGNED = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
STRIPE_SECRET, STRIPE_AT, STRIPE_BODY = "whsec_test_secret", 1492774577, b'{"id": "evt_1", "object": "event"}'


def stripes(body: bytes, at: int, secret: str) -> str:
    """What Stripe's page says that `v1` is: the HMAC, in hex, of the time, a dot, and the body."""
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


STRIPE_SIGNED = {
    "stripe-signature": f"t={STRIPE_AT},v1={stripes(STRIPE_BODY, STRIPE_AT, STRIPE_SECRET)},v0=6ffbb59b2300aae63f272406069a9788"
}
SHOPIFY_BODY = b'{"id": 820982911946154508}'
SHOPIFY_SIGNED = {"x-shopify-hmac-sha256": base64.b64encode(hmac.new(b"hush", SHOPIFY_BODY, hashlib.sha256).digest()).decode()}

Example = tuple[Scheme, dict[str, str], bytes, str, float]
EXAMPLES: dict[str, Example] = {
    "GitHub": (GITHUB, GITHUB_SIGNED, b"Hello, World!", GITHUB_SECRET, 0.0),
    "Shopify": (SHOPIFY, SHOPIFY_SIGNED, SHOPIFY_BODY, "hush", 0.0),
    "GitLab": (signed.secret_token(header="X-Gitlab-Token"), {"x-gitlab-token": "It's a Sécret"}, b"", "It's a Sécret", 0.0),
    "Stripe": (signed.stripe(), STRIPE_SIGNED, STRIPE_BODY, STRIPE_SECRET, STRIPE_AT),
    "Slack": (signed.slack(), SLACK_SIGNED, SLACK_BODY, SLACK_SECRET, 1531420618.0),
    "Standard Webhooks": (signed.standard_webhooks(), STANDARD_SIGNED, STANDARD_BODY, STANDARD_SECRET, 1614265330.0),
}
TIMED = ("Stripe", "Slack", "Standard Webhooks")
every = pytest.mark.parametrize("name", EXAMPLES)
signing = pytest.mark.parametrize("name", sorted({*EXAMPLES} - {"GitLab"}))


@every
def test_what_the_sender_signed_is_let_in(name: str) -> None:
    scheme, headers, body, secret, now = EXAMPLES[name]
    assert scheme.refusal(headers, body, [secret], now) is None


@every
def test_the_old_secret_and_the_new_one_hold_at_once(name: str) -> None:
    scheme, headers, body, secret, now = EXAMPLES[name]
    other = STANDARD_SECRET.replace("M", "N") if name == "Standard Webhooks" else "another"
    assert scheme.refusal(headers, body, [other, secret], now) is None
    assert scheme.refusal(headers, body, [other], now) == WRONG
    assert scheme.refusal(headers, body, [], now) == WRONG


@signing
@given(data=st.data())
def test_a_body_of_which_any_byte_is_changed_is_refused(name: str, data: st.DataObject) -> None:
    scheme, headers, body, secret, now = EXAMPLES[name]
    place, other = data.draw(st.integers(0, len(body) - 1)), data.draw(st.integers(1, 255))
    changed = body[:place] + bytes([body[place] ^ other]) + body[place + 1 :]
    assert scheme.refusal(headers, changed, [secret], now) == WRONG


@every
@given(data=st.data())
def test_a_header_of_which_any_letter_is_changed_is_refused(name: str, data: st.DataObject) -> None:
    scheme, headers, body, secret, now = EXAMPLES[name]
    header = data.draw(st.sampled_from(sorted(headers)))
    text = headers[header].partition(",v0=")[0]  # what Stripe says by an older scheme is not looked at
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.characters(codec="ascii").filter(lambda one: one != text[place]))
    changed = {**headers, header: text[:place] + letter + text[place + 1 :]}
    assert scheme.refusal(changed, body, [secret], now) is not None


@every
def test_without_a_signature_nobody_is_let_in(name: str) -> None:
    scheme, headers, body, secret, now = EXAMPLES[name]
    assert scheme.refusal({}, body, [secret], now) == ABSENT
    for header in headers:
        assert scheme.refusal({**headers, header: ""}, body, [secret], now) == ABSENT


@every
@given(data=st.data())
def test_whatever_stands_in_its_headers_a_request_is_refused_and_never_fails(name: str, data: st.DataObject) -> None:
    scheme, headers, body, secret, now = EXAMPLES[name]
    parts = st.sampled_from(["t=", "v1=", "v1,", "v0=", "sha256=", ",", " ", "=", ".", str(int(now)), "A" * 44, "0" * 64, "\ud800"])
    text = st.one_of(st.text(st.characters(), max_size=20), st.lists(parts, max_size=8).map("".join))
    given_headers = {header: data.draw(text) for header in data.draw(st.sets(st.sampled_from(sorted(headers))))}
    assert scheme.refusal(given_headers, body, [secret], now) in REFUSALS


@pytest.mark.parametrize("name", TIMED)
def test_a_request_that_somebody_caught_is_refused_five_minutes_later(name: str) -> None:
    scheme, headers, body, secret, now = EXAMPLES[name]
    assert [scheme.refusal(headers, body, [secret], now + s) for s in (-301, -300, 300, 301)] == [LATE, None, None, LATE]


@pytest.mark.parametrize("wrong", ["", "-1", "1e9", "١٥٣١٤٢٠٦١٨", "9" * 5_000, "nan"])
def test_a_time_that_is_none_is_refused(wrong: str) -> None:
    for name, header in (("Slack", "x-slack-request-timestamp"), ("Standard Webhooks", "webhook-timestamp")):
        scheme, headers, body, secret, now = EXAMPLES[name]
        assert scheme.refusal({**headers, header: wrong}, body, [secret], now) in (MALFORMED, ABSENT)
    assert signed.stripe().refusal({"stripe-signature": f"t={wrong},v1=0"}, b"", ["s"], 0.0) == MALFORMED


@pytest.mark.parametrize("wrong", ["t=1492774577", "v1=0", "t=1,t=2,v1=0", "nothing", ",,,", "\udcff"])
def test_a_signature_of_another_form_is_refused(wrong: str) -> None:
    assert signed.stripe().refusal({"stripe-signature": wrong}, b"", ["s"], STRIPE_AT) == MALFORMED
    assert GITHUB.refusal({"x-hub-signature-256": wrong}, b"", ["s"], 0.0) == MALFORMED
    assert signed.standard_webhooks().refusal({**STANDARD_SIGNED, "webhook-signature": f"v2,{wrong}"}, b"", ["s"], 0.0) == MALFORMED


def test_signatures_by_other_keys_may_stand_beside_the_right_one() -> None:
    scheme, headers, body, secret, now = EXAMPLES["Standard Webhooks"]
    both = {**headers, "webhook-signature": f"v1a,other v1,AAAA {headers['webhook-signature']}"}
    assert scheme.refusal(both, body, [secret], now) is None


def test_a_secret_that_cannot_be_one_is_said_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="whsec_ and base64") as said:
        signed.standard_webhooks().refusal(STANDARD_SIGNED, STANDARD_BODY, ["pass word"], 1614265330.0)
    assert "pass word" not in str(said.value)


def test_nobody_is_let_in_by_a_secret_that_is_empty() -> None:
    """An HMAC takes an empty key, and anybody can sign with that."""
    said = b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330." + STANDARD_BODY
    anybodys = base64.b64encode(hmac.digest(b"", said, "sha256")).decode()
    headers = {**STANDARD_SIGNED, "webhook-signature": f"v1,{anybodys}"}
    with pytest.raises(ConfigurationError, match="a secret is empty"):
        signed.standard_webhooks().refusal(headers, STANDARD_BODY, ["whsec_"], 1614265330.0)
    with pytest.raises(ConfigurationError, match="a secret is empty"):
        GITHUB.refusal({"x-hub-signature-256": f"sha256={hmac.digest(b'', b'x', 'sha256').hex()}"}, b"x", [""], 0.0)


def test_a_token_that_is_empty_lets_nobody_in() -> None:
    scheme = signed.secret_token(header="X-Gitlab-Token")
    with pytest.raises(ConfigurationError, match="a secret is empty"):
        scheme.refusal({"x-gitlab-token": "x"}, b"", [""], 0.0)
    assert scheme.refusal({"x-gitlab-token": ""}, b"", [""], 0.0) == ABSENT


def test_the_header_that_holds_the_secret_itself_is_told() -> None:
    assert {name: scheme.token_header for name, (scheme, *_) in EXAMPLES.items() if scheme.token_header} == {"GitLab": "x-gitlab-token"}


def test_half_a_character_in_a_header_is_refused_as_any_other() -> None:
    half = "\udcff"
    standard = "Standard Webhooks"
    for name, header in ((standard, "webhook-id"), (standard, "webhook-timestamp"), ("Slack", "x-slack-request-timestamp")):
        scheme, headers, body, secret, now = EXAMPLES[name]
        assert scheme.refusal({**headers, header: half}, body, [secret], now) in (MALFORMED, WRONG)
    assert signed.stripe().refusal({"stripe-signature": f"t={half},v1=0"}, b"", ["s"], 0.0) == MALFORMED


def test_senders_tell_the_id_of_a_delivery() -> None:
    def asked(scheme: Scheme, body: bytes, **headers: str) -> str:
        return scheme.delivery(WebhookRequest("w", {name.replace("_", "-"): text for name, text in headers.items()}, body, 0.0))

    assert asked(signed.stripe(), b'{"id": "evt_1"}') == "evt_1"
    assert asked(signed.slack(), b'{"event_id": "Ev1"}') == "Ev1"
    assert asked(signed.slack(), b"text=hello") == ""
    assert asked(signed.standard_webhooks(), b"", webhook_id="msg_1") == "msg_1"
    assert asked(GITHUB, b'{"id": 1}') == ""


def test_slack_is_greeted_back() -> None:
    def asked(body: bytes) -> str | None:
        return signed.slack().greeting(WebhookRequest("w", {}, body, 0.0))

    assert asked(b'{"type": "url_verification", "challenge": "3eZbrw1a"}') == "3eZbrw1a"
    assert asked(b'{"type": "event_callback", "challenge": "3eZbrw1a"}') is None
    assert asked(b'{"type": "url_verification"}') is None
    assert asked(b"[" * 100_000) is None


def test_options_that_cannot_be_honoured_are_refused() -> None:
    with pytest.raises(OptionError, match="encoding: 'rot13'"):
        signed.hmac_sha256(header="X", encoding="rot13")  # type: ignore[arg-type] # what is refused
    for header in ("", "X-Signature:", "X Signature", None):
        with pytest.raises(OptionError, match="give the header with the signature"):
            signed.hmac_sha256(header=cast(str, header))
        with pytest.raises(OptionError, match="give the header with the secret"):
            signed.secret_token(header=cast(str, header))
    with pytest.raises(OptionError, match="prefix: 5 is not a string"):
        signed.hmac_sha256(header="X", prefix=cast(str, 5))
    for scheme in (signed.stripe, signed.slack, signed.standard_webhooks):
        for tolerance in (0, -1, float("nan"), 86_401, "300", None):
            with pytest.raises(OptionError, match="tolerance"):
                scheme(tolerance=cast(float, tolerance))


def test_whoever_lets_anybody_in_says_so() -> None:
    assert signed.unsigned().refusal({}, b"", [], 0.0) is None
    assert not signed.unsigned().signs
    assert all(scheme.signs for scheme, *_ in EXAMPLES.values())


def test_options_are_kept_with_the_header_in_lower_case() -> None:
    assert signed.hmac_sha256(header="X-A", prefix="p=", encoding="base64") == signed.HmacSha256("x-a", "p=", "base64")
    assert signed.hmac_sha256(header="X-A") == signed.HmacSha256("x-a", "", "hex")
    assert signed.secret_token(header="X-B") == signed.SecretToken("x-b")
    assert (signed.stripe(tolerance=86_400), signed.slack(tolerance=0.5)) == (signed.Stripe(86_400.0), signed.Slack(0.5))
    assert [scheme().tolerance for scheme in (signed.stripe, signed.slack, signed.standard_webhooks)] == [300.0] * 3  # type: ignore[attr-defined]
    assert signed.TOLERANCE_S == 300.0
    with pytest.raises(OptionError, match=r"^tolerance: 86400\.5 is not valid; give seconds above 0, at most 86400$"):
        signed.stripe(tolerance=86_400.5)


@pytest.mark.parametrize(("status", "answer"), [(200, Answer(200, "")), (299, Answer(200, "")), (300, None), (404, None)])
def test_slack_is_told_nothing_but_an_error(status: int, answer: Answer | None) -> None:
    given = Answer(status, "text", {"a": "b"})
    assert signed.slack().told(given) == (answer or given)
    assert GITHUB.told(given) is given
    assert GITHUB.greeting(WebhookRequest("w", {}, b'{"type": "url_verification", "challenge": "x"}', 0.0)) is None


@pytest.mark.parametrize(
    ("time", "now", "code"),
    [
        ("9" * 12, 0.0, LATE),
        ("9" * 13, 0.0, MALFORMED),
        ("0", 300.0, WRONG),
        ("0", 300.5, LATE),
        ("600", 300.0, WRONG),
        ("601", 300.0, LATE),
    ],
)
def test_a_time_has_at_most_twelve_digits_and_is_five_minutes_away_at_most(time: str, now: float, code: str) -> None:
    assert signed.stripe().refusal({"stripe-signature": f"t={time},v1=0"}, b"", ["s"], now) == code
    assert signed.slack().refusal({"x-slack-signature": "v0=0", "x-slack-request-timestamp": time}, b"", ["s"], now) == code
