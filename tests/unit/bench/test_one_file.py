"""What a task costs over one SQLite file, in transactions: the figure that no machine changes."""

from benchmarks import one_file


def test_a_batch_of_ten_claimed_tasks_takes_one_transaction_a_step_and_one_an_outcome() -> None:
    assert 0 < one_file.transactions() / one_file.COUNTED <= one_file.MOST_TRANSACTIONS
