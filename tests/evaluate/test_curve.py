"""Learning curves: windows over lines that do not end where windows do."""

from dataclasses import replace

import numpy as np
import pytest

from runs import TWO
from ursa.evaluate.curve import curve, journal_of, learnt
from ursa.journal import Journal
from ursa.run.train import train


def lines(*pairs):
    return [{"step": step, "kind": "train", "robot/reward": reward} for step, reward in pairs]


def test_a_line_counts_in_each_window_for_the_steps_it_has_there():
    found = curve(lines((40, 1.0), (80, 2.0), (120, 4.0), (150, 6.0)), window=100)
    assert found is not None
    assert found.steps.tolist() == [100.0, 150.0]  # the last window is what is left
    # 40 steps of 1, 40 of 2, 20 of 4: 200 / 100; then 20 of 4 and 30 of 6: 260 / 50.
    np.testing.assert_allclose(found.mean, [2.0, 5.2])
    # 0.4 * 1 + 0.4 * 0 + 0.2 * 4 = 1.2; 0.4 * 1.44 + 0.6 * 0.64 = 0.96
    np.testing.assert_allclose(found.deviation, np.sqrt([1.2, 0.96]))


def test_windows_that_end_with_a_line_leave_none_empty():
    found = curve(lines((50, 1.0), (100, 3.0), (200, 5.0)), window=100)
    assert found is not None
    assert found.steps.tolist() == [100.0, 200.0]
    assert found.mean.tolist() == [2.0, 5.0]
    assert found.deviation.tolist() == [1.0, 0.0]


def test_a_reward_that_was_not_a_number_is_not_averaged_away():
    found = curve(lines((50, 1.0), (100, None), (200, 5.0)), window=100)
    assert found is not None
    assert np.isnan(found.mean[0])
    assert found.mean[1] == 5.0


def test_a_window_is_a_quarter_of_an_hour_of_one_robot():
    found = curve(lines((18_000, 1.0), (36_000, 2.0), (37_000, 3.0)))
    assert found is not None
    assert found.steps.tolist() == [18_000.0, 36_000.0, 37_000.0]


@pytest.mark.parametrize(("seeds", "expected"), [(1, [0.5]), (2, [4.0])])
def test_the_lines_of_a_seed_are_found_by_its_number(tmp_path, seeds, expected):
    with Journal(tmp_path, seeds=seeds, first=5, tensorboard=False) as journal:
        journal.write(8, {"robot/reward": 0.5 if seeds == 1 else [3.0, 4.0]})
    found = learnt(tmp_path, 6 if seeds == 2 else 5, seeds)
    assert found is not None
    assert found.mean.tolist() == expected


def test_a_run_writes_where_its_curves_are_looked_for(tmp_path):
    train(replace(TWO, seed=5), tmp_path, quiet=True, stop=lambda: True)  # before its first step
    assert {path.name for path in tmp_path.glob("seed_*")} == {"seed_5", "seed_6"}
    for seed in (5, 6):
        assert (journal_of(tmp_path, seed, 2) / "metrics.jsonl").exists()


def test_a_published_agent_has_no_journal(tmp_path):
    assert learnt(tmp_path, 0, 1) is None
    assert journal_of(tmp_path, 0, 1) == tmp_path
