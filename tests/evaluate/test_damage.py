"""What is tried after damage, what is chosen, and that it is tried afresh."""

import numpy as np
import pytest

from ursa.errors import UserError
from ursa.evaluate.damage import FRESH, Candidates, adapted, by_search, by_trying_all, scenarios
from ursa.robot import damage as wounds
from ursa.robot.a1 import A1
from ursa.robot.point import POINT


class Told:
    """A crowd whose returns are known: 100 z - 10 for each broken joint + chance / 1000."""

    def __init__(self):
        self.asked = []

    def rollouts(self, z, chance, damages=None):
        self.asked.append((z[:, 0].tolist(), chance.tolist()))
        broken = np.array([len(it) for it in damages or [()] * len(z)], float)
        self.ret = 100 * z[:, 0] - 10 * broken + chance / 1000
        return self


def test_all_candidates_are_tried_under_every_damage_with_the_same_chance():
    crowd, z = Told(), np.array([[1.0], [3.0], [2.0]])
    cases = scenarios(A1, {"FL.upper": "FL.upper", "FR": "FR"})
    undamaged = np.array([100.0, 300.001, 200.002])
    candidates = Candidates(z, skills=3, adapt=by_trying_all)
    found = adapted(crowd.rollouts, candidates, cases, undamaged, again=2)
    assert [it.scenario for it in found] == ["undamaged", "FL.upper", "FR"]
    assert crowd.asked[0] == ([1.0, 3.0, 2.0] * 2, [0, 1, 2] * 2)  # the sound ones were known
    np.testing.assert_allclose(found[0].ret, undamaged)
    np.testing.assert_allclose(found[1].ret, [90.0, 290.001, 190.002])
    np.testing.assert_allclose(found[2].ret, [70.0, 270.001, 170.002])  # a leg has three joints
    assert [it.chosen for it in found] == [1, 1, 1]
    assert [it.tried.tolist() for it in found] == [[0, 1, 2]] * 3


def test_what_was_chosen_is_tried_again_by_chances_that_no_trial_had():
    crowd, z = Told(), np.array([[1.0], [3.0]])
    cases = scenarios(A1, {"FR": "FR"})
    candidates = Candidates(z, skills=2, adapt=by_trying_all)
    found = adapted(crowd.rollouts, candidates, cases, np.array([100.0, 300.0]), again=2)
    assert crowd.asked[1] == ([3.0] * 4, [FRESH, FRESH + 1] * 2)
    np.testing.assert_allclose(found[0].again, [300 + FRESH / 1000, 300.001 + FRESH / 1000])
    np.testing.assert_allclose(found[1].again, [270 + FRESH / 1000, 270.001 + FRESH / 1000])


def test_who_has_one_skill_tries_it_again_and_again_and_can_choose_no_other():
    crowd, z = Told(), np.ones((8, 1))
    candidates = Candidates(z, skills=1, adapt=by_trying_all)
    undamaged = 100 + np.arange(8) / 1000
    (whole, hurt) = adapted(crowd.rollouts, candidates, scenarios(A1, {"FR": "FR"}), undamaged)
    assert whole.tried.tolist() == hurt.tried.tolist() == [0] * 8
    assert whole.ret.tolist() == [100.0]
    np.testing.assert_allclose(hurt.trial_ret, 70 + np.arange(8) / 1000)
    assert whole.chosen == hurt.chosen == 0
    assert hurt.again.shape == (5,)


def test_a_return_that_is_no_number_is_kept_but_not_chosen():
    order, chosen = by_trying_all(np.array([np.nan, 2.0, 5.0, np.nan]))
    assert (order, chosen) == ([0, 1, 2, 3], 2)
    assert by_trying_all(np.full(3, np.nan))[1] == 0


def test_a_search_begins_with_what_was_expected_most_and_chooses_the_best_of_its_trials():
    z = np.linspace(0, 1, 21)[:, None]  # neighbours lie half a length scale apart
    value = 1 - np.abs(z[:, 0] - 0.5)
    ret = 250 * value.copy()
    ret[6:15] = 0.0  # the middle is broken
    order, chosen = by_search(z, value, trials=8)(ret)
    assert order[0] == 10
    assert len(order) == len(set(order)) == 8
    assert chosen == max(order, key=lambda row: ret[row])
    assert ret[chosen] == ret.max()


def test_a_search_goes_on_after_a_trial_without_a_number():
    z, value = np.linspace(0, 1, 9)[:, None], np.linspace(1, 0, 9)
    ret = 250 * value
    ret[0] = np.nan
    order, chosen = by_search(z, value, trials=3)(ret)
    assert order[0] == 0
    assert chosen in order[1:]
    assert by_search(z, value, trials=3)(np.full(9, np.nan))[1] == 0


def test_the_nine_damages_of_the_study_come_after_the_undamaged_robot():
    cases = scenarios(A1, wounds.scenarios("simulated"))
    assert next(iter(cases)) == "undamaged"
    assert [len(it) for it in cases.values()] == [0, 1, 1, 1, 1, 3, 3, 3, 3, 6]


def test_a_robot_without_legs_has_no_such_damages_and_unknown_places_are_refused():
    assert scenarios(POINT, wounds.scenarios("simulated")) == {}
    with pytest.raises(UserError, match="XX"):
        scenarios(A1, {"odd": "XX.upper"})
