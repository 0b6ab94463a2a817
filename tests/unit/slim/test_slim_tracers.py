"""Tracers that wrap functions of botocore see the calls: those of a client that would be slim are botocore's then."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import pytest
from botocore.client import BaseClient, ClientCreator
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.httpsession import URLLib3Session

from sedano.aws.client.session import Session
from sedano.aws.client.slim.client import SlimClient
from sedano.aws.client.slim.request_form import Declined, is_botocores, learned, way_of_calls
from tests.unit.slim.scripted import Scripted, client_of, slim, source

ASKED = {"TableName": "t", "Key": {"pk": {"S": "a"}}}
BOTOCORES = "amz-sdk-invocation-id"
Wrap = Callable[[Any, list[str]], Any]


def plainly(function: Any, seen: list[str]) -> Any:
    """Wrap *function* as a decorator does."""

    @functools.wraps(function)
    def traced(*given: Any, **named: Any) -> Any:
        seen.append(function.__name__)
        return function(*given, **named)

    return traced


class Proxy:
    """What wrapt, which most tracers use, makes of a function: it says of itself that it is the function, and is equal to it."""

    def __init__(self, function: Any, seen: list[str]) -> None:
        self._function, self._seen = function, seen

    @property
    def __class__(self) -> Any:
        return FunctionType

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __eq__(self, other: object) -> bool:
        return bool(self._function == other)

    def __hash__(self) -> int:
        return hash(self._function)

    def __get__(self, instance: Any, _: type) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *given: Any, **named: Any) -> Any:
        self._seen.append(self._function.__name__)
        return self._function(*given, **named)


@contextmanager
def traced_calls(owner: type, name: str, wrap: Wrap) -> Iterator[list[str]]:
    """Put a tracer around a function of botocore; what it sees is yielded."""
    original, seen = vars(owner)[name], list[str]()
    setattr(owner, name, wrap(original, seen))
    try:
        yield seen
    finally:
        setattr(owner, name, original)


WRAPS = pytest.mark.parametrize("wrap", [plainly, Proxy])
PLACES = pytest.mark.parametrize(
    ("owner", "name"),
    [
        (BaseClient, "_make_api_call"),
        (BaseClient, "_make_request"),
        (Endpoint, "make_request"),
        (Endpoint, "create_request"),
        (Endpoint, "prepare_request"),
        (Endpoint, "_send_request"),
        (Endpoint, "_send"),
        (URLLib3Session, "send"),
    ],
)


@WRAPS
@PLACES
def test_a_tracer_that_wraps_a_function_of_botocore_before_a_client_is_made_sees_its_calls(owner: type, name: str, wrap: Wrap) -> None:
    with traced_calls(owner, name, wrap) as seen, Scripted() as server:
        client = Session(lambda: source("AKIDTRACED"), server.url, slim=True).client("dynamodb")
        assert not isinstance(client, SlimClient)
        seen.clear()
        client.update_item(**ASKED)
        client.close()
    assert len(seen) == server.sends == 1


@WRAPS
@PLACES
def test_a_tracer_that_wraps_a_function_of_botocore_later_sees_the_calls_that_follow(owner: type, name: str, wrap: Wrap) -> None:
    with Scripted() as server, slim(server.url) as (client, _, _):
        client.update_item(**ASKED)
        with traced_calls(owner, name, wrap) as seen:
            client.update_item(**ASKED)
        client.update_item(**ASKED)
    assert len(seen) == 1
    assert [BOTOCORES in request.headers for request in server.received] == [False, True, False]


@WRAPS
def test_a_tracer_that_wraps_what_makes_the_operations_of_clients_is_known(wrap: Wrap) -> None:
    whole = "the calls of all clients are traced"
    with traced_calls(ClientCreator, "_create_api_method", wrap), pytest.raises(Declined, match=whole), slim("http://127.0.0.1:9"):
        pass


@WRAPS
@pytest.mark.parametrize("name", ["update_item", "_make_api_call"])
@pytest.mark.parametrize("of_the_class", [True, False])
def test_a_client_one_of_whose_operations_is_traced_is_left_to_botocore(name: str, of_the_class: bool, wrap: Wrap) -> None:
    client = client_of(source(), "dynamodb", "http://127.0.0.1:9")
    setattr(type(client) if of_the_class else client, name, wrap(getattr(type(client), name), []))
    with pytest.raises(Declined, match=f"{name} of the client is traced or replaced"):
        learned(client, "dynamodb", source().get_credentials())


def test_the_functions_of_botocore_as_it_is_are_known() -> None:
    assert all(map(is_botocores, way_of_calls()))
    assert not any(map(is_botocores, (None, len, lambda: None)))


@pytest.mark.parametrize("token", ["a  b", " a", "a ", "a    b "])
def test_a_session_token_with_spaces_that_botocore_would_not_sign_as_they_are_is_left_to_it(token: str) -> None:
    with pytest.raises(Declined, match="a session token with spaces"):
        learned(client_of(source(), "sqs", "http://127.0.0.1:9"), "sqs", Credentials("AKID", "secret", token))
