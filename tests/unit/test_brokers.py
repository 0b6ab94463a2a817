"""The declaration of brokers: what is accepted, what is refused and how, and the addresses in another Region."""

from typing import Any

import pytest

from sedano import Sedano, sqs
from sedano.errors import ConfigurationError, OptionError
from sedano.model.brokers import HOME, SqsBroker, checked, of_setting, sibling, unused_brokers

AWAY = sqs(region="eu-west-1")


def test_a_broker_is_named_after_its_region() -> None:
    assert sqs("default", "mail") == SqsBroker(("default", "mail"), None)
    assert sqs().name == HOME == "home"
    assert SqsBroker((), "eu-west-1") == AWAY
    assert AWAY.name == "eu-west-1"


@pytest.mark.parametrize("region", ["us-gov-west-1", "us-iso-east-1", "ap-southeast-10", "eusc-de-east-1"])
def test_regions_of_all_partitions_are_accepted(region: str) -> None:
    assert sqs(region=region).region == region


@pytest.mark.parametrize("region", ["", "home", "eu-west", "EU-WEST-1", "eu-west-1a", "eu-west-1.evil.example", 7])
def test_another_text_is_refused_as_a_region(region: Any) -> None:
    with pytest.raises(OptionError, match=r"region: .* is not a Region of AWS; write one such as 'eu-west-1'"):
        sqs(region=region)


@pytest.mark.parametrize("name", ["", None, 7])
def test_a_queue_is_named_by_a_text(name: Any) -> None:
    with pytest.raises(OptionError, match=r"sqs: .* is not the name of a queue; write sqs\('default', region='eu-west-1'\)"):
        sqs(name)


def test_an_app_keeps_its_brokers_in_order() -> None:
    app = Sedano("shop", queues=("default", "mail"), brokers=[AWAY, sqs("mail")])
    assert app.brokers == (AWAY, SqsBroker(("mail",)))
    assert Sedano("shop").brokers == ()
    assert checked([], ()) == ()


@pytest.mark.parametrize(
    ("brokers", "words"),
    [
        ("home", r"brokers: 'home' is not a list; write brokers=\[sqs\(\), sqs\(region='eu-west-1'\)\]"),
        ({"home"}, r"brokers: {'home'} is not a list"),
        (["eu-west-1"], r"brokers: 'eu-west-1' is not a broker; write sqs\(\), or sqs\(region='eu-west-1'\)"),
        ([sqs("mail")], r"brokers: 'mail' is not one of this app's queues \('default', 'orders.fifo'\); add it to Sedano\(queues=…\)"),
        ([AWAY], r"brokers: the stage's own Region is missing; add sqs\(\) at its place in the order"),
        ([sqs(), AWAY, sqs("default", region="eu-west-1")], "brokers: home, eu-west-1, eu-west-1 has one twice; name all queues"),
        ([sqs(), sqs("default")], "brokers: home, home has one twice"),
        (
            [sqs(), sqs("default", "orders.fifo", region="eu-west-1")],
            r"brokers: 'orders.fifo' keeps order, .*; take it out of sqs\(…, region='eu-west-1'\): its messages go to the stage's own",
        ),
    ],
)  # fmt: skip
def test_brokers_that_cannot_be_used_are_refused_with_what_to_write(brokers: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Sedano("shop", queues=("default", "orders.fifo"), brokers=brokers)


def test_a_queue_that_keeps_order_may_be_named_at_home() -> None:
    named = [sqs("default", "orders.fifo"), AWAY]
    assert list(Sedano("shop", queues=("default", "orders.fifo"), brokers=named).brokers) == named


def test_a_function_does_not_use_the_other_regions_unless_the_environment_decides() -> None:
    assert unused_brokers([AWAY, sqs(), sqs(region="us-east-1")], "") == "eu-west-1, us-east-1"
    assert unused_brokers([AWAY, sqs()], "home") == unused_brokers([sqs()], "") == unused_brokers([], "") == ""


def test_the_environment_names_brokers_and_the_app_their_queues() -> None:
    assert of_setting("home") == (sqs(),)
    assert of_setting(" eu-west-1 , home") == (AWAY, sqs())
    assert of_setting("home,eu-west-1", [sqs("default"), sqs("mail", region="us-east-1")]) == (sqs("default"), AWAY)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("home,", "SEDANO_BROKERS: region: '' is not a Region of AWS; .*; the variable has the form home,eu-west-1"),
        ("eu-west-1", "SEDANO_BROKERS: brokers: the stage's own Region is missing"),
        ("home,home", "SEDANO_BROKERS: brokers: home, home has one twice"),
    ],
)  # fmt: skip
def test_a_malformed_variable_is_named_with_its_form(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        of_setting(text)


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://sqs.eu-central-1.amazonaws.com/1/q", "https://sqs.eu-west-1.amazonaws.com/1/q"),
        ("https://eu-central-1.queue.amazonaws.com/1/eu-central-1", "https://eu-west-1.queue.amazonaws.com/1/eu-central-1"),
        ("https://sqs.cn-north-1.amazonaws.com.cn/1/q", "https://sqs.eu-west-1.amazonaws.com.cn/1/q"),
        ("http://127.0.0.1:4566/1/q", "http://127.0.0.1:4566/1/q"),
    ],
)  # fmt: skip
def test_a_queue_has_the_same_account_and_name_in_another_region(url: str, other: str) -> None:
    assert sibling(url, "eu-west-1") == other
