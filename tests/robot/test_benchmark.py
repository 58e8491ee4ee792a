"""The simulator's benchmark compares like with like, and its lines have the one form."""

import json

import numpy as np
import pytest
from benchmarks import bodies, simulator

from ursa.robot.a1 import A1
from ursa.robot.registry import body


def lines(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_environment_is_compared_with_the_same_physics(capsys):
    simulator.against_raw("forward", 0.005, blocks=2, robots=2, threads=1)
    (line,) = lines(capsys)
    assert line["case"] == "environment step: 2 a1, forward, 5 ms physics, threads: 1"
    assert line["reference"].startswith("raw mujoco.batch stepping")
    assert 0 < line["ratio"] < 1.2
    assert line["value"] > 0


def test_other_physics_would_be_noticed(monkeypatch):
    monkeypatch.setattr(simulator, "WARM", 0)
    honest = simulator.Batch

    class Cheat(honest):
        def rollout(self, nstep, control, record):
            return super().rollout(nstep - 1, control[:, 1:], record=record)

    monkeypatch.setattr(simulator, "Batch", Cheat)
    with pytest.raises(AssertionError, match="other physics"):
        simulator.against_raw("forward", 0.005, blocks=1, robots=1, threads=1)


def test_the_ratio_is_the_median_of_pairs(monkeypatch, capsys):
    monkeypatch.setattr(simulator, "WARM", 1)
    pairs = [(9.0, 900.0), (2.0, 1.0), (4.0, 3.0), (1.0, 8.0)]  # the first is the warm-up
    simulator.compare("case", pairs, robots=5, reference="other")
    (line,) = lines(capsys)
    assert line["ratio"] == 0.75  # of 0.5, 0.75 and 8
    assert line["value"] == 25  # 5 robots x 10 steps in 2 s
    assert line["reference"] == "other: 16.67 control steps/s"  # in 3 s


def test_half_the_robots_trot_and_half_go_anywhere():
    first, second = simulator.acts(A1, 4, 2)
    assert first.shape == (simulator.STEPS, 4, 12)
    assert (first[:, 0] == first[:, 1]).all()
    assert (first[:, 2] == first[0, 2]).all()  # held for a block
    assert not np.isclose(first[0, 2], first[0, 3]).any()
    assert not np.isclose(first[0, 2], second[0, 2]).any()


def test_a_trot_is_measured_over_ten_seconds(capsys):
    bodies.trotting("a1", body(A1, threads=1))
    speed, tilt = lines(capsys)
    assert 0.28 < speed["value"] < 0.34
    assert 2 < tilt["value"] < 15
