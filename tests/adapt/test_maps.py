"""A hundred maps with known answers: trials find what damage has left. And their benchmark."""

import json

import numpy as np
import pytest
from benchmarks import ite as bench


@pytest.fixture(scope="module")
def outcome():
    known = {}

    def searched(damage, error):
        if (damage, error) not in known:
            known[damage, error] = bench.searched(damage, error)
        return known[damage, error]

    return searched


@pytest.mark.parametrize("damage", bench.DAMAGES)
def test_eight_trials_find_the_best_remaining_skill_in_95_maps_of_100(outcome, damage):
    """Found: the very skill that returns most of all 512 after the damage was tried."""
    ours, _ = outcome(damage, 0.0).found.sum(axis=0)
    assert ours >= 95


@pytest.mark.parametrize("damage", bench.DAMAGES)
def test_with_a_wrong_prior_it_does_twice_as_well_as_the_prior_s_order(outcome, damage):
    found = outcome(damage, 0.1)
    for ours, order in (found.found.sum(axis=0), found.near.sum(axis=0)):
        assert ours >= 2 * order
    ours, order = found.short.mean(axis=0)
    assert ours <= order / 2


def test_a_map_is_what_it_is_said_to_be():
    chart, truth = bench.analytic(3, "disc", 0.0)
    assert chart.place.shape == (512, 2)
    assert (chart.prior.min(), chart.prior.max()) == (0, 1)
    far = np.linalg.norm(chart.place - chart.place[chart.prior.argmax()], axis=1)
    # The box of the skills is the unit square but for a hundredth.
    np.testing.assert_allclose((chart.prior - truth)[far < 0.19], 0.8)
    np.testing.assert_allclose((chart.prior - truth)[far > 0.21], 0, atol=1e-12)
    _, dipped = bench.analytic(3, "dip", 0.0)
    hurt = (chart.prior - dipped)[np.abs(far - 0.2) < 0.01]
    np.testing.assert_allclose(hurt, 0.8 * np.exp(-0.5), atol=0.05)
    other, wrong = bench.analytic(3, "dip", 0.1)
    np.testing.assert_array_equal(other.prior, chart.prior)
    assert np.sqrt(np.square(wrong - dipped).mean()) == pytest.approx(0.1)
    again, _ = bench.analytic(4, "dip", 0.1)
    assert (again.prior != chart.prior).any()


def test_an_outcome_counts_what_it_says(capsys):
    short = np.array([[0.0, 0.2], [0.05, 0.0], [0.1, 0.1], [0.0, 0.3]])
    found = bench.Outcome(short == 0, short)
    bench.tell("disc", 0.1, found)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["case"].split(": ")[1] for line in lines] == ["found", "near", "mean shortfall"]
    assert all(line["case"].startswith("disc, prior error 0.1, 4 maps") for line in lines)
    assert [line["value"] for line in lines] == [2, 3, 0.0375]
    assert [line["ratio"] for line in lines] == [2, 3, 0.25]


def test_the_time_of_a_choice_is_measured(capsys):
    bench.choosing((3,))
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert line["case"] == "choose among 512 skills after 3 trials"
    assert line["value"] > 0


def test_nested_work_is_clocked_once(monkeypatch):
    class Work:
        def inner(self):
            return 1

        def outer(self):
            return self.inner() + self.inner()

    now = iter([0.0, 10.0, 11.0, 20.0])
    monkeypatch.setattr("benchmarks.ite.time.perf_counter", lambda: next(now))
    with bench.clocked((Work, "inner"), (Work, "outer")) as clock:
        assert Work().outer() == 2  # from 0 to 20; the inner ones begin at 10 and 11
        assert clock.seconds == 20.0
    assert Work().inner() == 1  # nobody looks at the clock any more
    assert clock.seconds == 20.0
