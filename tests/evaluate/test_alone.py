"""Claims about one robot alone: what is told of it, and how it is made."""

from dataclasses import replace

import numpy as np

from evaluate.claimed import ROWS, hurt, put_as, seed_of
from evaluate.made import made
from ursa.evaluate import shown
from ursa.evaluate.claims import CLAIMS, filled
from ursa.evaluate.results import Curve


def alone(method, seed, whole, legs, reward, leaps=0):
    """A seed of one robot, of whose rollouts some leap; its curve ends with half a window."""
    airborne = np.where(np.arange(ROWS) < leaps, 0.21, 0.2)
    found = hurt(seed_of(method, seed, airborne=airborne), [whole, *[1] * 4, *legs, 1])
    steps = np.array([18_000.0, 36_000.0, 45_000.0])
    curve = Curve(steps=steps, mean=np.array([0.1, reward, 99.0]), deviation=np.zeros(3))
    return replace(found, curve=curve)


def test_one_robot_alone_is_told_beside_the_other_damages(tmp_path):
    ursa = [alone("ursa", k, 300 + 100 * k, [5, 5, 1, 5], 2.0 + k, leaps=1) for k in (0, 1)]
    put_as(tmp_path, "alone-ursa", *ursa)
    others = [alone("daydreamer", k, 200, [4, 4, 2, 5], 1.5) for k in (0, 1)]
    put_as(tmp_path, "alone-daydreamer", *others)
    put_as(tmp_path, "small-ursa", *ursa[:1])
    begin = "one robot, 360 k steps: "
    found = [it for it in filled(tmp_path) if it.claim.text.startswith(begin)]
    assert [it.ours for it in found] == [
        "2, range 2 to 2 (n = 2)",  # of four legs one is lost, one tied
        "1.75, range 1.50 to 2.00 (n = 2)",
        "2.00 and 3.00 (n = 2)",  # the last whole quarter of an hour, not the rest after it
        "1.50 and 1.50 (n = 2)",
        "0 and 0 (n = 2)",  # what its true speed cannot have earned
        "0 and 0 (n = 2)",
        "0.0625 and 0.0625 (n = 2)",  # rollouts that leap
        "0 and 0 (n = 2)",
    ]
    assert [it.verdict for it in found] == ["-", "yes", *"------"]
    assert {it.claim.command for it in found} == {"ursa reproduce alone --results again"}
    small = [it for it in filled(tmp_path, "small") if it.found is not None]
    assert [(it.claim.text, it.ours) for it in small] == [
        (
            "one robot, 360 k steps, learner of a laptop's size: reward per step in the last "
            "quarter of an hour, URSA",
            "2.00 (n = 1)",
        ),
        (
            "one robot, 360 k steps, learner of a laptop's size: share of the return that its "
            "true speed cannot have earned, URSA",
            "0 (n = 1)",
        ),
        (
            "one robot, 360 k steps, learner of a laptop's size: rollouts that leap, URSA",
            "0.0625 (n = 1)",
        ),
    ]
    numbers = [it.number for it in CLAIMS if it.kind == "simulated"]
    assert numbers == sorted(numbers)


def test_a_curve_without_a_whole_window_tells_nothing():
    found = made("ursa", 0, rollouts=ROWS)
    short = Curve(steps=np.array([17_999.0]), mean=np.array([3.0]), deviation=np.zeros(1))
    assert shown.last_reward(replace(found, curve=short)) is None
    assert shown.last_reward(replace(found, curve=None)) is None
