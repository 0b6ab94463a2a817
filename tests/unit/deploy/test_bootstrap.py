"""The template of the account's preparation is carried along, has a version, and fits into one request."""

from sedano.deploy.bootstrap import TEMPLATE, version

#: What `create_stack` takes of a template without a bucket.
MOST_BYTES = 51_200


def test_the_template_has_one_version_and_fits_into_a_request() -> None:
    text = TEMPLATE.read_text()
    assert version(text) >= 31
    assert text.count(f"Value: '{version(text)}'") == 2, "the parameter and the output"
    assert len(text.encode()) < MOST_BYTES
