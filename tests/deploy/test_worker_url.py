"""The worker's own address (`worker_url=true`) on the local endpoint: a direct call is one signed request, and no other gets in."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from urllib.error import HTTPError

import pytest

from sedano.local import LocalStage, local_stage
from tests.plugins.resources import CODE

CLIENT = """
from walks import app, echo

assert app.invoke(echo, "now") == "now"
assert app.invoke(echo.s("é" * 50_000).set(task_id="direct"), timeout=50) == app.result("direct").get(timeout=0) == "é" * 50_000
app.close()
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """A stage whose worker has an address."""
    with local_stage(app="walks:app", code=CODE, directory=tmp_path_factory.mktemp("url"), worker_url="true") as made:
        yield made


def test_a_direct_call_goes_through_the_address_of_the_worker(stage: LocalStage) -> None:
    url = stage.environment["SEDANO_WORKER_URL"]
    assert url.startswith(stage.endpoint.url)
    paths = os.pathsep.join([str(CODE), *(path for path in sys.path if path)])
    own = {name: text for name, text in os.environ.items() if not name.startswith(("SEDANO_", "AWS_"))}
    environment = {**own, **stage.environment, "SEDANO_WORKER": url, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_request_without_a_signature_does_not_get_in(stage: LocalStage) -> None:
    request = urllib.request.Request(stage.environment["SEDANO_WORKER_URL"], b"{}")  # noqa: S310 - the stage on this machine
    with pytest.raises(HTTPError) as refused, urllib.request.urlopen(request, timeout=30):  # noqa: S310 - as above
        raise AssertionError("it was answered")
    assert refused.value.code == 403
