"""The first judge of `till`, in a folder of its own; the last one is in the same folder, and the others are not."""

from tests.mutants.planted.till import receipt


def test_a_receipt_names_what_was_paid_for() -> None:
    assert receipt(7, "7") == "7 7"
