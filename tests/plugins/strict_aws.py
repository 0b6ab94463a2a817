"""A strict AWS under every client in every test: a call that AWS would refuse fails the test that made it, in AWS's words.

`strict_aws`    the hook, for a test that passes a limit on purpose: `with strict_aws.allowing("sqs.total"): ...`
`strict_child`  the environment for a child program that stands on it too: `subprocess.run(…, env=strict_child(os.environ))`
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.testing.strict_aws.hook import StrictAws
from tests.strict_aws.child import Strict, strict

STRICT = StrictAws()
STRICT.install()


@pytest.fixture
def strict_aws() -> StrictAws:
    """The hook that stands under every client."""
    return STRICT


@pytest.fixture(autouse=True)
def _nothing_that_aws_refuses() -> Iterator[None]:
    """Fail the test whose calls AWS would refuse, also where the code under test caught what the hook raised."""
    STRICT.taken()
    yield
    tripped = STRICT.taken()
    assert not tripped, "AWS would refuse:\n" + "\n".join(tripped)


@pytest.fixture
def strict_child(tmp_path: Path) -> Iterator[Strict]:
    """Return what makes an environment strict; fail the test whose child programs made a call that AWS would refuse."""
    notes = tmp_path / "refused-by-aws"
    yield lambda environment: strict(environment, notes)
    assert not notes.exists(), "AWS would refuse, of a child program:\n" + notes.read_text("utf-8")
