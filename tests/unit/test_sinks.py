"""The rules of sinks: their places, the headers of deliveries, and what an app may declare."""

import asyncio
import contextvars
from dataclasses import replace
from typing import Any

import pytest

from sedano import Retry, Sedano, memory
from sedano.engine.registry import Registry
from sedano.engine.sinks import delivering
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import ConfigurationError, NotAccepted, OptionError, Reject, TooLarge, Unavailable, UnknownOption
from sedano.model.canonical_json import canonical_json
from sedano.model.messages.message import Command, Document
from sedano.model.sinks.content import content_of
from sedano.model.sinks.deliveries import webhook_headers
from sedano.model.sinks.places import place_of, require_fits
from sedano.model.sources.signature_schemes import standard_webhooks
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec

PLACE = "eu-central-1:123456789012"
CRM = "https://crm.example.org"


@pytest.mark.parametrize(
    ("text", "kind", "name", "region"),
    [
        (f"arn:aws:dynamodb:{PLACE}:table/prices", "dynamodb", "prices", "eu-central-1"),
        ("arn:aws:s3:::lake/raw/documents/", "s3", "lake", ""),
        ("arn:aws-cn:s3:::lake", "s3", "lake", ""),
        (f"arn:aws:firehose:{PLACE}:deliverystream/feed", "firehose", "feed", "eu-central-1"),
        (f"arn:aws:events:{PLACE}:event-bus/a/b", "events", f"arn:aws:events:{PLACE}:event-bus/a/b", "eu-central-1"),
        (f"arn:aws:sqs:{PLACE}:partner.fifo", "sqs", "partner.fifo", "eu-central-1"),
        (f"arn:aws:sns:{PLACE}:news", "sns", f"arn:aws:sns:{PLACE}:news", "eu-central-1"),
        ("https://crm.example.org:8443/a?b=c", "https", "https://crm.example.org:8443/a?b=c", ""),
        ("http://127.0.0.1:8080/", "https", "http://127.0.0.1:8080/", ""),
    ],
)
def test_the_kind_of_a_sink_follows_from_its_place(text: str, kind: str, name: str, region: str) -> None:
    place = place_of(text)
    assert (place.kind, place.name, place.region) == (kind, name, region)
    assert place.account == ("123456789012" if region else "")


@pytest.mark.parametrize("text", ["https://[2001:db8::1]/in", "https://10.0.0.7/", "https://crm/", "http://[::1]:8080/"])
def test_a_webhook_is_reached_over_tls_by_a_name_or_an_address_and_on_this_machine_without(text: str) -> None:
    assert place_of(text).kind == "https"


@pytest.mark.parametrize(("over", "taken"), [(0, True), (1, False)])
def test_a_place_has_at_most_2048_characters(over: int, taken: bool) -> None:
    text = f"{CRM}/".ljust(2_048 + over, "a")
    if taken:
        assert place_of(text).text == text
    else:
        with pytest.raises(ConfigurationError, match="is not the place of a sink"):
            place_of(text)


@pytest.mark.parametrize(
    ("text", "prefix", "is_fifo"),
    [
        ("arn:aws:s3:::lake/raw/documents.fifo", "raw/documents.fifo", False),
        (f"arn:aws:dynamodb:{PLACE}:table/prices.fifo", "", False),
        (f"arn:aws:sqs:{PLACE}:partner", "", False),
        (f"arn:aws:sqs:{PLACE}:partner.fifo", "", True),
        (f"arn:aws:sns:{PLACE}:news.fifo", "", True),
        (f"{CRM}/in.fifo", "", False),
    ],
)
def test_only_a_bucket_has_a_prefix_and_only_a_queue_or_a_topic_keeps_order(text: str, prefix: str, is_fifo: bool) -> None:
    place = place_of(text)
    assert (place.prefix, place.is_fifo) == (prefix, is_fifo)


NO_PLACES = [
    None, 7, "", "prices", "arn:aws:s3:::Lake", "http://crm.example.org/", "http://10.0.0.7/", "ftp://crm.example.org/", "https://a b/",
    "https://a_b/", "https://", "https://[::1/", f"{CRM}:port/", f"{CRM}/a b", f"{CRM}/a\tb", f"{CRM}/<a>", f"{CRM}/a\x7f", f"{CRM}/é",
    f"{CRM}/#part", "https://user@crm.example.org/", "https://:password@crm.example.org/", "https://" + "a" * 300,
]  # fmt: skip


@pytest.mark.parametrize("text", NO_PLACES)
def test_a_text_that_is_no_place_is_refused_with_what_may_be_written(text: object) -> None:
    with pytest.raises(ConfigurationError, match="is not the place of a sink; expected the ARN of a table"):
        place_of(text)


def test_the_key_of_an_object_is_the_prefix_and_the_encoded_id() -> None:
    assert place_of("arn:aws:s3:::lake/raw/").key("price/../7#é?".encode("ascii", "ignore").decode()) == "raw/price%2F..%2F7%23%3F.json"
    assert place_of("arn:aws:s3:::lake").key("a") == "a.json"
    assert place_of("arn:aws:s3:::lake/").key("a") == "a.json"


@pytest.mark.parametrize(
    ("kind", "most"),
    [("dynamodb", 399_360), ("firehose", 1_023_999), ("events", 1_046_528), ("sqs", 1_047_552), ("sns", 261_120)],
)
def test_a_document_has_at_most_the_bytes_that_its_sink_takes(kind: str, most: int) -> None:
    require_fits(kind, "é" * (most // 2) + "a" * (most % 2))
    words = f"^the document has {most + 1} bytes; a sink of {kind} takes at most {most}: keep large values in a bucket$"
    with pytest.raises(TooLarge, match=words):
        require_fits(kind, "a" * (most + 1))


def test_a_bucket_and_a_webhook_take_documents_of_any_length() -> None:
    require_fits("s3", "a" * 2_000_000)
    require_fits("https", "a" * 2_000_000)


def test_the_headers_of_a_delivery_have_the_second_and_all_signatures() -> None:
    found = webhook_headers({"id": 7}, b"{}", SECRETS, 1.9e9 + 0.75)
    assert {name: found[name] for name in list(found)[:4]} == {
        "Content-Type": "application/json", "Idempotency-Key": "7", "webhook-id": "7", "webhook-timestamp": "1900000000",
    }  # fmt: skip
    assert [one.partition(",")[0] for one in found["webhook-signature"].split(" ")] == ["v1", "v1"]


def test_a_long_text_that_is_no_place_is_cut_in_the_refusal() -> None:
    with pytest.raises(ConfigurationError) as caught:
        place_of("x" * 300)
    assert str(caught.value).startswith(f"'{'x' * 199} is not the place of a sink; expected the ARN of a table")


SECRETS = ["whsec_b2xkLXNlY3JldA==", "whsec_c2VjcmV0"]


def test_a_webhook_delivery_is_accepted_by_the_receiver_of_standard_webhooks() -> None:
    content = content_of(Document("price/7", "t-1", "price", "shop@host", 1.9e9, value={"cents": 199}))
    body = canonical_json(content).encode()
    headers = {name.lower(): text for name, text in webhook_headers(content, body, SECRETS, 1.9e9).items()}
    assert headers["idempotency-key"] == headers["webhook-id"] == "price/7"
    scheme = standard_webhooks()
    for secret in SECRETS:
        assert scheme.refusal(headers, body, [secret], 1.9e9 + 60) is None
    assert scheme.refusal(headers, body, ["whsec_b3RoZXI="], 1.9e9) == "wrong-signature"
    assert scheme.refusal(headers, body + b" ", SECRETS, 1.9e9) == "wrong-signature"
    assert scheme.refusal({**headers, "webhook-id": "price/8"}, body, SECRETS, 1.9e9) == "wrong-signature"


def test_a_secret_that_is_not_of_standard_webhooks_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        webhook_headers(content_of(Document("a", "t", "n")), b"", ["whsec_###"], 1.9e9)


@pytest.fixture
def app() -> Sedano:
    """An app with one sink and one kind of documents."""
    made = Sedano("shop", queues=("default", "steps.fifo"))
    made.sink("bi")
    made.document("price", sinks="bi")
    return made


def work(number: int) -> int:
    """A body."""
    return number


def take(document: dict[str, Any]) -> None:
    """The body of a task that receives documents."""


DECLARATIONS = {
    "sink: 'a b' is not a name of letters, digits, - and _; the setting sinks=": lambda app: app.sink("a b"),
    "sink: 7 is not a name": lambda app: app.sink(7),
    "batch: a sink has no such option": lambda app: app.sink("x", batch=(10, 5)),
    "sinks: a sink has no such option": lambda app: app.sink("x", sinks="bi"),
    "queue: 'mail' is not one of this app's queues": lambda app: app.sink("x", queue="mail"),
    "task sink.bi: declared twice": lambda app: app.sink("bi"),
    "document: '' is not a name": lambda app: app.document(""),
    "document: 'a b' is not a name": lambda app: app.document("a b"),
    "document price: declared twice": lambda app: app.document("price"),
    "task price: a kind of documents has this name": lambda app: app.task(name="price")(print),
    "document sink.bi: declared twice": lambda app: app.document("sink.bi"),
    "document x: sinks: 'lake' is not a sink of this app; declare it first": lambda app: app.document("x", sinks="lake"),
    "task x: sinks: 7 is not a sink": lambda app: app.task(name="x", sinks=7)(work),
    "task x: sinks= with batch=": lambda app: app.task(name="x", sinks="bi", batch=(10, 5))(lambda calls: None),
    "task x: on: 'price' is neither a document": lambda app: app.task(name="x", on="price")(take),
    "task x: its queue 'steps.fifo' keeps order, but documents have none": lambda app: app.task(
        name="x", on=app.document("y"), queue="steps.fifo", serial_key="document"
    )(take),
    "task x is called with one argument, a document, which is a dict": lambda app: app.task(name="x", on=app.document("y"))(lambda: None),
    "task x is called with one argument, a document, which is a dict:": lambda app: app.document("y", sinks=app.task(name="x")(work)),
}


@pytest.mark.parametrize("words", DECLARATIONS)
def test_a_declaration_that_cannot_be_honoured_is_refused_with_what_to_write(app: Sedano, words: str) -> None:
    with pytest.raises(OptionError) as refused:
        DECLARATIONS[words](app)
    assert words.rstrip(":") in str(refused.value)


def test_an_unknown_option_of_a_sink_is_refused(app: Sedano) -> None:
    with pytest.raises(UnknownOption, match="shard: not an option"):
        app.sink("x", shard=7)  # type: ignore[call-arg]


def test_a_task_of_another_app_is_no_source_of_documents(app: Sedano) -> None:
    other = Sedano("other").task(name="elsewhere")(work)
    with pytest.raises(OptionError, match="on: elsewhere is neither a document"):
        app.task(name="x", on=other)(take)


def test_the_calls_of_a_map_share_a_message_so_a_task_with_sinks_is_not_mapped(app: Sedano) -> None:
    with_sinks = app.task(name="x", sinks="bi")(work)
    source = app.task(name="y")(work)
    source.map([1, 2])
    app.task(name="z", on=source)(take)
    for one in (with_sinks, source):
        with pytest.raises(OptionError, match="sinks or subscribers of its documents"):
            one.map([1, 2])


@pytest.mark.parametrize("wrong", ["a b", "é", "x" * 260])
def test_an_id_that_a_document_cannot_have_is_refused(app: Sedano, wrong: str) -> None:
    with pytest.raises(OptionError, match="cannot be the id of a document"):
        app.document("other").publish(1, id=wrong)


@pytest.mark.parametrize(
    ("attempt", "error", "raised"),
    [
        (1, Unavailable("away"), Unavailable),
        (2, Unavailable("away"), Reject),
        (3, Unavailable("away"), Reject),
        (0, NotAccepted("no"), Reject),
    ],
)
def test_a_delivery_ends_where_the_sink_refuses_for_good_or_its_attempts_are_over(
    attempt: int, error: Exception, raised: type[Exception]
) -> None:
    def fails(_: Any) -> None:
        raise error

    sinks = memory.MemorySinks()
    spec = TaskSpec("deliver", print, Parameters(lambda *_, **__: None), retry=Retry(max_retries=2))
    registry = Registry(tasks={"deliver": spec}, bound=replace(memory.ports(), sinks=sinks))
    body, context = delivering(registry, "lake"), TaskContext(Command("m", "t", "deliver", attempt=attempt), 1, 30.0, 1)
    within = contextvars.copy_context()
    within.run(CURRENT.set, context)
    within.run(asyncio.run, body({"id": "d-1"}))
    assert sinks.documents("lake") == [{"id": "d-1"}]
    sinks.failing["lake"] = fails
    with pytest.raises(raised) as refused:
        within.run(asyncio.run, body({"id": "d-2"}))
    assert str(refused.value) == (f"sink lake: {error}" if raised is Reject else "away")
