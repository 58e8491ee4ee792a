"""Measuring whole agents: three methods trained for a moment, commands, and another physics."""

from dataclasses import replace

import numpy as np
import pytest

from evaluate.born import born
from evaluate.conftest import DAMAGES, SHORT, STUDY
from runs import A1, POINT, quickly
from ursa import Agent
from ursa.errors import UserError
from ursa.evaluate.definitions import distinct
from ursa.evaluate.measure import delta, measure, ruler
from ursa.evaluate.results import load, save
from ursa.evaluate.study import Study, failing, job
from ursa.robot.damage import parse
from ursa.robot.registry import robot
from ursa.run.settings import configure

pytestmark = pytest.mark.usefixtures("short")


BASELINES = [  # test_whole.py measures them, too; here each would compile for half a minute
    pytest.param(name, marks=pytest.mark.soak) for name in ("dominic", "daydreamer")
]


@pytest.mark.parametrize("method", ["ursa", *BASELINES])
def test_a_run_is_measured_and_written(measured, method, tmp_path):
    out, found = measured(method)
    source = found.source
    assert (source.run, source.method, source.robot, source.task) == (out.name, method, *WHERE)
    assert (source.seed, source.steps, source.engine, source.tick) == (0, 160, "mujoco", 0.005)
    assert found.skills.joint_angle.shape == (8, 12)
    assert np.isfinite(found.skills.ret).all()
    assert [it.scenario for it in found.damages] == ["undamaged", *DAMAGES]
    for it in found.damages:
        assert it.again.shape == (2,)
        assert len(it.tried) == len(it.trial_ret) == 8
        assert 0 <= it.chosen < len(it.ret)
        np.testing.assert_array_equal(it.ret[it.tried][:1], it.trial_ret[:1])
    whole = found.damages[0].ret
    np.testing.assert_array_equal(whole, found.skills.ret[: len(whole)])
    assert found.tracking is None
    assert found.notes == {"nonfinite": 0.0, "known": len(Agent.load(out).skills), "drawn": 0.0}
    assert found.curve is not None
    assert found.curve.steps.tolist() == [160.0]
    save(found, tmp_path / "it.json")
    assert load(tmp_path / "it.json").damages[2].tried.tolist() == found.damages[2].tried.tolist()


WHERE = ("a1", "forward")


def test_ursa_searches_among_its_skills(measured):
    _, found = measured("ursa")
    assert found.delta is not None
    assert found.delta > 0
    assert found.ruler is not None
    for it in found.damages:
        assert len(it.ret) == 8
        assert sorted(it.tried) == list(range(8))  # as many trials as skills here
        assert it.trial_ret.tolist() == it.ret[it.tried].tolist()
        assert it.ret[it.chosen] == it.trial_ret.max()
    expected = int(found.skills.value.argmax())
    assert [it.tried[0] for it in found.damages] == [expected] * 3


def test_dominic_tries_all_of_its_skills_and_takes_the_best(measured):
    _, found = measured("dominic")
    assert found.delta is None
    assert found.ruler is None
    np.testing.assert_array_equal(found.skills.z, np.eye(8))
    for it in found.damages:
        assert it.tried.tolist() == list(range(8))
        assert it.chosen == it.ret.argmax()
    assert found.skills.feature.shape == (8, 13)  # no phi: the mean posture


def test_skills_of_dominic_are_told_apart_by_the_features_of_a_yardstick(measured):
    tool, mine = (Agent.load(measured(it)[0]) for it in ("ursa", "dominic"))
    few = replace(STUDY, damages={})
    found = measure(mine, few, yardstick=tool)
    assert tool.repertoire is not None
    assert found.skills.feature.shape == (8, 2)
    delta = float(tool.repertoire.delta)
    apart = distinct(found.skills.feature, np.asarray(tool.repertoire.ruler), delta)
    assert found.notes["distinct"] == apart.sum()
    assert 1 <= apart.sum() <= 8
    assert found.ruler is None  # it aims at none of these features: nothing can be missed


def test_a_yardstick_must_have_features_of_the_same_postures(measured, tmp_path):
    mine = Agent.load(measured("dominic")[0])
    with pytest.raises(UserError, match="an agent of dominic has no features"):
        job(mine, STUDY, mine)
    config = configure("tiny", {"task": "velocity", "skill": {"feature": "identity"}})
    other = Agent.load(born(config, tmp_path / "run"))
    with pytest.raises(UserError, match="its task is velocity, this agent's forward"):
        job(mine, STUDY, other)


def test_daydreamer_has_one_policy_and_eight_rollouts_of_it(measured):
    _, found = measured("daydreamer")
    assert found.skills.z.shape == (8, 0)
    for it in found.damages:
        assert it.ret.shape == (1,)
        assert it.tried.tolist() == [0] * 8
        assert len(set(it.trial_ret)) == 8  # chance tells them apart
        assert it.chosen == 0
    np.testing.assert_array_equal(found.damages[0].trial_ret, found.skills.ret)


def test_measuring_again_in_other_chunks_writes_the_same_bytes(measured, tmp_path):
    out, found = measured("ursa")
    again = measure(Agent.load(out), replace(STUDY, chunk=7), run=out)
    for name, one in (("one", found), ("other", again)):
        save(one, tmp_path / f"{name}.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()


@pytest.fixture
def quick():
    with quickly():
        yield


def test_velocity_commands_are_tracked_and_all_steps_were_announced(tmp_path, quick):
    config = configure("tiny", {"task": "velocity", "skill": {"feature": "identity"}})
    agent = Agent.load(born(config, tmp_path / "run"))
    few, heard = Study(skills=8, damages={}, grid=2, repeats=2, again=1), []
    found = measure(agent, few, watch=heard.append)
    it = found.tracking
    assert it is not None
    assert it.command.shape == (4, 2)
    assert it.late.shape == it.whole.shape == (4, 2, 2)
    assert np.isfinite(it.late).all()
    assert not np.allclose(it.late, it.whole)
    assert set(found.notes) >= {"estimate_gap/speed", "estimate_gap/yaw_rate"}
    # Yaw rate is what the gyroscope says; the speed is estimated by the robot itself.
    assert found.notes["estimate_gap/yaw_rate"] < 1e-6
    assert sum(heard) == job(agent, few).steps == SHORT * (8 + 1 + 8)
    assert found.curve is None  # nothing says where the agent comes from


def test_an_encoded_skill_is_no_velocity_command(tmp_path, quick):
    config = configure("tiny", {"task": "velocity"})
    assert config.skill.feature == "vae"
    assert not job(Agent.load(born(config, tmp_path / "run")), STUDY).follows


def test_another_physics_measures_the_same_agent(tmp_path, quick):
    pytest.importorskip("pybullet", reason="PyBullet is not installed: make setup")
    agent = Agent.load(born(A1, tmp_path / "run"))
    other = Study(skills=8, engine="pybullet", damages={}, again=1)
    found = measure(agent, other)
    assert (found.source.engine, found.source.tick) == ("pybullet", 0.002)
    assert np.isfinite(found.skills.ret).all()
    assert [it.scenario for it in found.damages] == ["undamaged"]
    assert job(agent, other).chunk == 64  # robots at a time: each has a world of its own


def test_a_threshold_that_was_fixed_is_the_one_skills_are_judged_by(tmp_path, quick):
    fixed = replace(POINT, skill=replace(POINT.skill, fixed_delta=0.25))
    found = measure(Agent.load(born(fixed, tmp_path / "run", known=5)), Study(skills=8))
    assert found.delta == 0.25
    assert found.notes["drawn"] == 3.0
    assert found.damages == ()  # a point has no legs to damage


@pytest.mark.parametrize("metric", ["euclidean", "literal"])
def test_skills_are_judged_whitened_whatever_metric_they_were_learnt_with(tmp_path, quick, metric):
    learnt = {
        name: Agent.load(
            born(
                replace(POINT, skill=replace(POINT.skill, metric=name, fixed_delta=fixed)),
                tmp_path / name,
                known=5,
            )
        )
        for name, fixed in (("whitened", 0.0), (metric, 0.25))
    }
    wanted, other = learnt["whitened"], learnt[metric]
    assert delta(other) == pytest.approx(delta(wanted), rel=1e-6)
    np.testing.assert_allclose(ruler(other), ruler(wanted), rtol=1e-6)
    assert other.repertoire is not None
    assert not np.allclose(other.repertoire.ruler, ruler(other))


def test_joints_fail_in_another_way_under_other_names():
    assert failing(DAMAGES, "frozen") == DAMAGES
    assert failing(DAMAGES, "limp") == {
        "FL.upper limp": "FL.upper:limp",
        "FR+BL limp": "FR:limp+BL:limp",
    }
    spec = robot("a1")
    (one, *_), two = (parse(it, spec) for it in failing(DAMAGES, "limp").values())
    assert (one.joint, one.kind) == (spec.joint_names.index("FL.upper"), "limp")
    assert [it.kind for it in two] == ["limp"] * 6


@pytest.mark.parametrize(
    "wrong", [{"skills": 7}, {"trials": 0}, {"grid": 1}, {"chunk": -1}, {"failure": ""}]
)
def test_a_study_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        Study(**wrong)
