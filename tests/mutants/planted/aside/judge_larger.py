"""The last judge of `till`: nothing that its folder set up may be left when a judge of another folder is asked alone."""

from tests.mutants.planted.till import larger


def test_the_larger_one_is_found() -> None:
    assert [larger(1, 2), larger(2, 1), larger(2, 2)] == [2, 2, 2]
