"""Claims about bodies and physics: told of every method, by numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from evaluate.claimed import ROWS, one, put, put_as, ramp, seed_of
from evaluate.made import there
from ursa.evaluate.claims import CLAIMS, filled

METHODS = ("URSA", "DOMiNiC", "DayDreamer", "URSA, velocity")


@pytest.mark.parametrize("name", METHODS)
def test_what_motors_give_is_told_of_every_method(tmp_path, name):
    method, task = (name.lower(), "forward") if "," not in name else ("ursa", "velocity")
    # The 21 rad/s of the motors are passed once; a half goes forward, twice as hard.
    joint_speed, torque = np.full(ROWS, 5.0), np.full(ROWS, 0.5)
    joint_speed[3], torque[4] = 23.1, 0.9
    power, speed = np.repeat([30.0, 60.0], 8), np.repeat([0.0, 0.2], 8)
    columns = {"joint_speed": joint_speed, "torque": torque, "power": power, "speed": speed}
    leapt = np.zeros(ROWS)
    leapt[0] = 0.21  # on the spot, so of no moving skill
    put(tmp_path, seed_of(method, 0, task=task, airborne=leapt, **columns))
    found = {
        it.claim.text.split(" ")[0 if "power" in it.claim.text else 1]: it
        for it in filled(tmp_path)
        if it.claim.number == "6" and it.claim.text.endswith(f": {name}")
    }
    told = {key: found[key].ours for key in ("joint", "torque", "that", "power")}
    assert told == {
        "joint": "1.10 (n = 1)",
        "torque": "0.900 (n = 1)",
        "that": "0.0625 (n = 1)",  # one of 16 leaps
        "power": "45.0 (n = 1)" if task == "velocity" else "60.0 (n = 1)",
    }
    assert [found[key].verdict for key in told] == ["no", "yes", "no", "-"]
    asked = "rq3" if task == "velocity" else "rq1"
    assert found["joint"].claim.question == asked


RUNS = dict(zip(METHODS, ("ursa", "dominic", "daydreamer", "ursa"), strict=True))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("physics", "text"),
    [
        ("2ms", "median return at 2 ms physics"),
        ("solid", "median return where legs cannot pass through each other"),
        ("pybullet", "median return in PyBullet"),
    ],
)
def test_every_method_is_compared_with_itself_in_other_physics(tmp_path, name, physics, text):
    task = "velocity" if "velocity" in name else "forward"
    run = f"{task}-{RUNS[name]}"
    here = [
        seed_of(RUNS[name], seed, task=task, ret=np.full(ROWS, worth))
        for seed, worth in ((0, 10.0), (1, 100.0), (2, 1000.0))
    ]
    put(tmp_path, *here)
    mine = next(it for it in CLAIMS if it.text.startswith(text) and it.text.endswith(f": {name}"))
    assert one(tmp_path, mine.text).ours == "not run"
    for found, share in ((here[1], 0.5), (here[2], 0.8)):  # the first was not measured there
        less = replace(found, skills=replace(found.skills, ret=share * found.skills.ret))
        put_as(tmp_path, f"{run}-{physics}", there(less, physics))
    told = one(tmp_path, mine.text)
    assert told.ours == "0.500 and 0.800 (n = 2)"
    assert told.claim.question == "physics"


def test_in_physics_that_no_training_saw_skills_are_judged_alike(tmp_path):
    z = np.zeros((ROWS, 2))
    off = np.zeros((ROWS, 2))
    off[:12, 0] = 1.0  # four of sixteen are achieved
    unsafe = np.zeros(ROWS)
    unsafe[-2:] = 0.1
    found = seed_of("ursa", 0, z=z, feature=z + off, speed=ramp(1.5), unsafe=unsafe)
    found = replace(found, ruler=np.eye(2), delta=0.5)
    put_as(tmp_path, "forward-ursa-pybullet", there(found, "pybullet"))
    told = {it: one(tmp_path, f"in PyBullet: {it}").found.middle for it in ("fastest", "skills a")}
    assert told == pytest.approx({"fastest": 1.3, "skills a": 0.25})
    assert one(tmp_path, "in PyBullet: skills with a safe").found.middle == 14 / 16


def test_how_velocities_are_tracked_is_told_of_pybullet_too(tmp_path):
    found = seed_of("ursa", 0, task="velocity")
    tracked = found.tracking
    late = np.repeat(tracked.command[:, None] + np.array([0.08, -0.25]), 3, axis=1)
    found = replace(found, tracking=replace(tracked, late=late, whole=late))
    put_as(tmp_path, "velocity-ursa-pybullet", there(found, "pybullet"))
    told = [one(tmp_path, f"in PyBullet: tracking error, {it}") for it in ("m/s", "rad/s")]
    assert [it.found.middle for it in told] == pytest.approx([0.08, 0.25], abs=1e-5)
    assert {it.claim.question for it in told} == {"physics"}
