"""The slim client under the configuration that botocore reads by itself: from variables of the environment, and from the user's file."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from moto.core.models import botocore_stubber

from sedano.aws.client.session import Session
from sedano.aws.client.slim.client import SlimClient
from sedano.aws.client.slim.request_form import Declined
from sedano.errors import ConfigurationError
from tests.certificates import certificate
from tests.unit.slim.scripted import Scripted, slim

READ_BY_BOTOCORE = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CONFIG_FILE")


@contextmanager
def variables(**given: str) -> Iterator[None]:
    """Set these variables of the environment, and no other of `READ_BY_BOTOCORE`, until the block ends."""
    before = {name: os.environ.pop(name, None) for name in READ_BY_BOTOCORE}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def source() -> Any:
    """A new session of botocore, without moto's handler."""
    session: Any = botocore.session.Session()
    session.unregister("before-send", botocore_stubber)
    session.set_credentials("AKIDCONFIGURED", "secret")
    session.set_config_variable("region", "eu-west-1")
    return session


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_the_file_of_certificates_that_botocore_trusts_is_trusted(tmp_path: Path, name: str) -> None:
    file = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with variables(**{name: str(file)}), Scripted(secure=context) as server:
        session = Session(source, server.url, slim=True)
        client = session.client("dynamodb")
        assert isinstance(client, SlimClient)
        assert client.update_item(TableName="t", Key={"pk": {"S": "a"}}, ReturnValues="ALL_NEW")["Attributes"] == {"pk": {"S": "a"}}
        assert "amz-sdk-invocation-id" not in server.received[0].headers, "botocore made the call"
        assert session.identity()[2] == str(file)


def test_the_file_of_the_configuration_comes_before_that_of_requests() -> None:
    with variables(AWS_CA_BUNDLE="/aws.pem", REQUESTS_CA_BUNDLE="/requests.pem"):
        assert Session(source).identity()[2] == "/aws.pem"
    with variables():
        assert Session(source).identity()[2] is True


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_an_empty_name_of_a_file_of_certificates_is_refused_as_botocore_refuses_it(name: str) -> None:
    with variables(**{name: " "}):
        with pytest.raises(ConfigurationError, match="CA_BUNDLE"):
            Session(source).identity()
        with pytest.raises(ConfigurationError, match="CA_BUNDLE"):
            Session(source, slim=True).client("sqs")


def test_keep_alive_in_the_users_file_is_left_to_botocore(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\ntcp_keepalive = true\n")
    with variables(AWS_CONFIG_FILE=str(tmp_path / "config")):
        session = source()
        with pytest.raises(Declined, match="TCP keep-alive"), slim("http://127.0.0.1:9", session=session):
            pass


@pytest.mark.parametrize("removed", ["_endpoint", "_endpoint.http_session", "_endpoint.http_session._verify"])
def test_a_client_of_another_kind_whose_trust_is_unknown_is_left_to_botocore(removed: str) -> None:
    session = source()
    made = session.create_client
    session.create_client = lambda *given, **options: _without(removed, made(*given, **options))
    with pytest.raises(Declined, match="a botocore of another kind"), slim("http://127.0.0.1:9", session=session):
        pass


def _without(path: str, client: Any) -> Any:
    *way, last = path.split(".")
    place = client
    for name in way:
        place = getattr(place, name)
    delattr(place, last)
    return client
