"""Serves ministack behind the filter, on the loopback port in GATEWAY_PORT: `python -m sedano.emulator`, in ministack's environment.

The run's credentials are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Functions sign with sessions that ministack issues them.
"""

import asyncio
import os
import resource
from collections.abc import Callable, Mapping

from hypercorn.asyncio import serve  # type: ignore[import-not-found]
from hypercorn.config import Config  # type: ignore[import-not-found]
from ministack import app as ministack  # type: ignore[import-not-found]
from ministack.core import iam_evaluator, tls  # type: ignore[import-not-found]

from sedano.emulator.request_filter import SignatureGate

HOST = "127.0.0.1"
ACCOUNT = "000000000000"
"""The account of every caller, and the key that functions sign with when IAM is not enforced."""
SECONDS_KEPT_ALIVE = 75


def secrets_of(environment: Mapping[str, str]) -> Callable[[str], str | None]:
    """Return a function that finds the secret of a key: of this run, of the functions (the same secret), or of an issued session."""
    secret = environment["AWS_SECRET_ACCESS_KEY"]
    own = {environment["AWS_ACCESS_KEY_ID"]: secret, ACCOUNT: secret}

    def find(key: str) -> str | None:
        if iam_evaluator.is_root_access_key(key):  # ministack's own keys for the developer, such as `test`, are not valid here
            return own.get(key)
        return getattr(iam_evaluator.resolve_credential(key, ACCOUNT), "secret_access_key", None)

    return find


def settings(port: int) -> Config:
    """Return the server's settings; with USE_SSL it uses TLS."""
    config = Config()
    config.bind = [f"{HOST}:{port}"]
    config.keep_alive_timeout = SECONDS_KEPT_ALIVE
    if tls.use_ssl_enabled():
        config.certfile, config.keyfile = tls.resolve_tls_material()
    return config


def main() -> None:
    """Serve until the process ends."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    port = int(os.environ["GATEWAY_PORT"])
    gate = SignatureGate(ministack.app, {f"{name}:{port}" for name in (HOST, "localhost")}, secrets_of(os.environ))
    asyncio.run(serve(gate, settings(port)))


if __name__ == "__main__":
    main()
