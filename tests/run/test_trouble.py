"""Seeds whose updates fail: counted, rolled back one by one, given up after three attempts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ursa.run.trouble import ATTEMPTS, Trouble


def test_only_failures_in_a_row_count():
    dropped = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    trouble = Trouble.none(2).after(dropped, 1)
    assert trouble.failures.tolist() == [1, 3]
    assert trouble.due(3).tolist() == [False, True]
    assert trouble.due(4).tolist() == [False, False]


def test_a_column_of_many_updates_counts_them_all_or_none():
    trouble = Trouble.none(2).after(np.array([[1.0, 0.75], [1.0, 1.0]]), 4)
    assert trouble.failures.tolist() == [8, 4]


def test_a_failure_is_pending_until_an_update_succeeds_or_the_seed_is_rolled_back():
    trouble = Trouble.none(2).after(np.array([[1.0, 0.0]]), 1)
    assert trouble.pending()
    assert not trouble.after(np.zeros((1, 2)), 1).pending()
    assert not trouble.rolled(0).pending()


def test_the_count_goes_on_from_line_to_line():
    trouble = Trouble.none(1).after(np.ones((2, 1)), 1).after(np.ones((3, 1)), 1)
    assert trouble.failures.tolist() == [5]


def test_rolling_back_is_counted_for_that_seed_alone():
    trouble = Trouble.none(2).after(np.ones((4, 2)), 1).rolled(1)
    assert trouble.failures.tolist() == [4, 0]
    assert trouble.attempts.tolist() == trouble.rollbacks.tolist() == [0, 1]


def test_one_good_update_makes_the_attempts_count_from_zero():
    trouble = Trouble.none(1).rolled(0).after(np.array([[0.0], [1.0]]), 1)
    assert trouble.attempts.tolist() == [0]
    assert trouble.rollbacks.tolist() == [1]


def test_after_three_attempts_in_vain_a_seed_is_left_alone_and_a_run_of_such_seeds_is_hopeless():
    trouble = Trouble.none(2)
    for _ in range(ATTEMPTS):
        trouble = trouble.after(np.array([[1.0, 0.0]] * 5), 1)
        assert trouble.due(5).tolist() == [True, False]
        assert not trouble.hopeless(5)
        trouble = trouble.rolled(0)
    trouble = trouble.after(np.array([[1.0, 0.0]] * 5), 1)
    assert trouble.due(5).tolist() == [False, False]
    assert not trouble.hopeless(5)  # the other seed learns
    assert not trouble.pending()  # and its checkpoints need not wait
    alone = Trouble(failures=np.array([5]), attempts=np.array([3]), rollbacks=np.array([3]))
    assert alone.hopeless(5)


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 40))
def test_where_the_lines_are_cut_makes_no_difference(failed, cut):
    dropped = np.array(failed, float).reshape(-1, 1)
    whole = Trouble.none(1).after(dropped, 2)
    parts = Trouble.none(1).after(dropped[:cut], 2).after(dropped[cut:], 2)
    assert whole.failures.tolist() == parts.failures.tolist()
