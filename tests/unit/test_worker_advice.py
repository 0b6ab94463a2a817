"""A process is warned about root's rights, and about more threads than one core has use for."""

import pytest

from sedano.model.worker_advice import AS_ROOT, MOST_THREADS, ROOT, Declarations, advice


@pytest.mark.parametrize(
    ("uid", "lanes", "blocking", "words"),
    [
        (1000, MOST_THREADS, 5, ()),
        (1000, MOST_THREADS + 1, 0, ()),
        (1000, MOST_THREADS + 1, 1, ("11 bodies at once, and 1 of the tasks",)),
        (ROOT, 1, 1, ("the worker runs as root",)),
        (ROOT, 40, 3, ("the worker runs as root", "40 bodies at once, and 3 of the tasks")),
    ],
)
def test_advice_names_what_to_change(uid, lanes, blocking, words):
    found = advice(uid, lanes, blocking)
    assert [one.startswith(begin) for one, begin in zip(found, words, strict=True)] == [True] * len(words)


def test_advice_says_what_to_write_instead():
    assert "DynamicUser= in systemd" in AS_ROOT
    assert "use at most 10 and more --processes" in advice(1000, 11, 1)[0]


def test_declarations_that_hold_on_lambda_alone_are_named_with_what_holds_here():
    (found,) = advice(1000, 1, 1, Declarations(of_batches=("app.threads(…)", "app.prefer(…)")))
    assert found.startswith("app.threads(…) and app.prefer(…) holds on Lambda alone: ")
    assert "--concurrency" in found


def test_a_rate_of_each_worker_is_named_where_a_process_has_several():
    alone = Declarations(per_worker=("sync",))
    assert advice(1000, 1, 1, alone) == ()
    assert len(advice(1000, 2, 1, alone)) == 1
    (found,) = advice(1000, 4, 1, alone)
    assert found.startswith("the rate of sync counts for each worker, and each of 4 lanes is one; ")
