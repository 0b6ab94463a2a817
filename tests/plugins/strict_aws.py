"""A strict AWS under every client in every test: a call that AWS would refuse fails the test that made it, in AWS's words.

`strict_aws`  the hook, for a test that passes a limit on purpose: `with strict_aws.allowing("sqs.total"): ...`
"""

from collections.abc import Iterator

import pytest

from tests.strict_aws.hook import StrictAws

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
