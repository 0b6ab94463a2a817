"""Secrets of webhooks: read as they were put, one a line; what was never put is asked for in so many words."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from sedano.aws.webhook_secrets import SsmSecretTexts, parameter
from sedano.errors import ConfigurationError
from sedano.memory import MemorySecretTexts
from sedano.ports.webhook_secrets import SecretTexts
from tests.plugins.resources import Resources

STAGE = "conformance"


class Store(NamedTuple):
    """The port, and how its owner puts a text there."""

    texts: SecretTexts
    put: Callable[[str, str], object]


@pytest.fixture(params=["memory", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def store(request: pytest.FixtureRequest) -> Store:
    """A store in which none of this module's secrets lies."""
    if request.param == "memory":
        kept: dict[str, str] = {}
        return Store(MemorySecretTexts(kept), kept.__setitem__)
    resources: Resources = request.getfixturevalue("resources" if request.param == "moto" else "ministack_resources")
    ssm = resources.session.client("ssm", endpoint_url=resources.endpoint_url)

    def put(webhook: str, text: str) -> None:
        ssm.put_parameter(Name=parameter(STAGE, webhook), Value=text, Type="SecureString", Overwrite=True)

    return Store(SsmSecretTexts(ssm, STAGE), put)


@pytest.mark.parametrize(
    ("text", "secrets"),
    [("one", ("one",)), ("whsec_a=\n whsec_b= \n\n", ("whsec_a=", "whsec_b=")), ("ä b\r\nc", ("ä b", "c")), ("\ufeffone\r\n", ("one",))],
)
def test_secrets_are_read_as_they_were_put(store: Store, text: str, secrets: tuple[str, ...]) -> None:
    store.put("github", text)
    assert store.texts.read("github") == secrets


def test_what_was_put_later_is_read_later(store: Store) -> None:
    for text in ("one", "two"):
        store.put("github", text)
        assert store.texts.read("github") == (text,)


def test_a_webhook_without_a_secret_is_named(store: Store) -> None:
    store.put("github", "one")
    with pytest.raises(ConfigurationError, match=r"webhook never: .*secret"):
        store.texts.read("never")
    store.put("blank", " \n")
    with pytest.raises(ConfigurationError, match=r"webhook blank: .*no secret"):
        store.texts.read("blank")
