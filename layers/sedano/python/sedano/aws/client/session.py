"""One botocore session. It is made before threads need it, makes one client for each service, has short timeouts and bounded retries, and
counts every attempt.

sedano uses botocore without boto3, finds services by name, and holds the garbage collector back: this makes the same clients for a fifth
less CPU at a cold start (measured with SQS and DynamoDB: boto3 197 ms, botocore 168, this 156). A client that is first made inside an
`atexit` handler cannot register its own clean-up and loses its messages, so a publisher requests its client before the first publication.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import NoCredentialsError
from botocore.loaders import Loader

from sedano.aws.client.answer_checks import require_answer
from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.errors import ConfigurationError

CLIENT_SETTING = "SEDANO_AWS_CLIENT"
CONNECT_TIMEOUT_S = 2
READ_TIMEOUT_S = 8
TRIES = 3
"""Attempts of one call, the first included."""
CONNECTIONS = 16
SERVICES = ("appconfigdata", "cloudwatch", "dynamodb", "events", "firehose", "lambda", "s3", "scheduler", "sns", "sqs", "ssm")
"""The services for which a client can be made."""
SLIM = ("dynamodb", "sqs")
"""The services of the slim client."""
_LOG = logging.getLogger(__name__)


class Session:
    """The AWS session of one process.

    Args:
        source: returns the botocore session when the first client is requested; by default one made from the environment. This session owns
            it: afterwards it finds only the services in `SERVICES`.
        endpoint_url: the endpoint of all services; by default `AWS_ENDPOINT_URL` of the environment, else AWS.
        slim: use the slim client (`sedano.aws.client.slim`); None: what SEDANO_AWS_CLIENT of the environment says.
        options: more options for botocore's `Config`, such as `read_timeout`; given by tests and local tools.
    """

    def __init__(
        self, source: Callable[[], Any] = botocore.session.get_session, endpoint_url: str | None = None, *,
        slim: bool | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """Remember how to make clients; nothing is loaded yet."""
        self._source = source
        self._endpoint_url = endpoint_url
        self._slim, self._options = slim, options
        self._session: Any = None
        self._clients: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._calls: dict[str, int] = {}
        self._counting = threading.Lock()

    def client(self, service: str) -> Any:
        """Return the client of *service* (`sqs`, `dynamodb`, `s3`), made at the first call.

        Raises:
            ConfigurationError: the environment names no Region, or names an invalid profile or endpoint.
        """
        with self._lock:
            if service not in self._clients:
                with _uncollected():
                    self._clients[service] = self._make(service)
            return self._clients[service]

    def single(self, service: str, seconds: float, **options: Any) -> Any:
        """Return a new client of *service* that makes one attempt for each call and waits *seconds* for the response; *options*: more
        options for botocore's `Config`.
        """
        return self.another(service, read_timeout=seconds, retries={"total_max_attempts": 1}, **options)

    def another(self, service: str, **options: Any) -> Any:
        """Return a new client of *service* with these *options* of botocore's `Config`, such as `region_name`."""
        with self._lock, _uncollected():
            return self._make(service, **options)

    def identity(self) -> tuple[Any, str, str | bool]:
        """Return the credentials with which this session signs, its Region ("" without one), and the certificates that it trusts: a file,
        or True for those of botocore.

        Raises:
            ConfigurationError: it finds no credentials, or the name of the file of certificates is empty.
        """
        with self._lock:
            if self._session is None:
                self._session = self._begun()
            found = self._session.get_credentials()
            region, file = map(self._session.get_config_variable, ("region", "ca_bundle"))
        if found is None:
            raise fault(NoCredentialsError(), "the credentials of this program")
        return found.get_frozen_credentials(), region or "", _trusted(file)

    def later(self, service: str) -> LateClient:
        """Return a placeholder that makes the client of *service* when it is first used."""
        return LateClient(self, service)

    @property
    def calls(self) -> Mapping[str, int]:
        """The number of requests sent, retries included, by `service.Operation`."""
        return self._calls

    def _make(self, service: str, **options: Any) -> Any:
        try:
            if self._session is None:
                self._session = self._begun()
            config = Config(**{"user_agent": _agent(self._session), **self._settings(), **options})
            client = self._session.create_client(service, config=config, endpoint_url=self._endpoint_url)
        except (*AWS_ERRORS, ValueError) as error:
            raise fault(error, f"a client for {service}") from error
        wrap = self._wrapping(service, client)
        client.meta.events.register("request-created", self._count)
        client.meta.events.register("before-parse", require_answer)
        return wrap(client)

    def _wrapping(self, service: str, client: Any) -> Callable[[Any], Any]:
        """Return what puts the slim client in front of *client*, whose events nothing observes yet; nothing, where botocore is needed."""
        if service not in SLIM or not (is_slim(os.environ) if self._slim is None else self._slim):
            return _unchanged
        from sedano.aws.client.slim.request_form import Declined, learned

        credentials = self._session.get_credentials()
        try:
            form = learned(client, service, credentials)
        except Declined as reason:
            _LOG.debug("calls of %s are made by botocore: %s", service, reason)
            return _unchanged
        from sedano.aws.client.slim.client import SlimClient

        return lambda client: SlimClient(client, service, form, credentials, self._count)

    def _settings(self) -> dict[str, Any]:
        return {
            "connect_timeout": CONNECT_TIMEOUT_S,
            "read_timeout": READ_TIMEOUT_S,
            "retries": {"mode": "standard", "total_max_attempts": TRIES},
            "max_pool_connections": CONNECTIONS,
            "parameter_validation": False,
            **self._options,
        }

    def _begun(self) -> Any:
        session = self._source()
        known = session.get_component("data_loader")
        session.register_component("data_loader", _Loader(known.search_paths))
        return session

    def _count(self, event_name: str, **_: Any) -> None:
        call = event_name.partition(".")[2]
        with self._counting:
            self._calls[call] = self._calls.get(call, 0) + 1


def is_slim(environment: Mapping[str, str], unless_set: str = "botocore") -> bool:
    """Return whether SEDANO_AWS_CLIENT of *environment* chooses the slim client (`sedano.aws.client.slim`); *unless_set*: the client
    that is chosen without the variable.

    Raises:
        ConfigurationError: the variable names another client.
    """
    chosen = environment.get(CLIENT_SETTING) or unless_set
    if chosen not in ("botocore", "slim"):
        raise ConfigurationError(f"{CLIENT_SETTING}: {chosen!r} is not an AWS client; write botocore or slim")
    return chosen == "slim"


def _trusted(file: str | None) -> str | bool:
    """Return what botocore's clients trust: *file*, that of the session's configuration, else the one that REQUESTS_CA_BUNDLE names."""
    named = os.environ.get("REQUESTS_CA_BUNDLE") if file is None else file
    if named is not None and not named.strip():
        raise ConfigurationError("AWS_CA_BUNDLE or REQUESTS_CA_BUNDLE is empty; write the path of a file of certificates, or unset it")
    return named or True


def _unchanged(client: Any) -> Any:
    return client


def _agent(session: Any) -> str:
    """Return the User-Agent of *session*'s clients. botocore puts its own together for each request anew, a sixth of its CPU."""
    app = session.get_config_variable("user_agent_appid")
    return f"{session.user_agent()} app/{app}" if app else str(session.user_agent())


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold the garbage collector back: a client is a hundred thousand lasting objects, which it would traverse again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Loader(Loader):
    """Finds the services that sedano uses without listing the directories of all four hundred; the listing is a tenth of a cold start."""

    def __init__(self, search_paths: Sequence[str]) -> None:
        super().__init__(extra_search_paths=search_paths, include_default_search_paths=False)

    def list_available_services(self, type_name: str) -> list[str]:
        return list(SERVICES)


class LateClient:
    """A placeholder for a client that is made when the first of its operations is looked up."""

    __slots__ = ("_service", "_session")

    def __init__(self, session: Session, service: str) -> None:
        """Replace the client of *service* of *session*."""
        self._session = session
        self._service = service

    def __getattr__(self, name: str) -> Any:
        """Return the client's own attribute."""
        return getattr(self._session.client(self._service), name)
