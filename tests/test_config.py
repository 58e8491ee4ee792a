"""Configs: the paper's table row by row, presets that can run, and every complaint at once."""

from dataclasses import fields, is_dataclass, replace

import pytest

from ursa.config import (
    BehaviorConfig,
    Config,
    DominicConfig,
    OptimizerConfig,
    SkillConfig,
    TrainConfig,
    WorldConfig,
    check,
    complaints,
)
from ursa.errors import UserError
from ursa.presets import PRESETS, literal, paper, preset
from ursa.robot.registry import robot

# The table of hyperparameters at the end of the paper, its notation made plain.
TABLE = """
Imagination batch size N                 | 1024
Real environment exploration batch size  | 32
Total timesteps (in simulation)          | 1e6
Optimizer                                | Adam
Learning rate                            | 1e-4
Replay buffer size                       | 1e6
Discount factor gamma                    | 0.995
Imagination horizon H                    | 15
Target smoothing coefficient tau         | 0.02
Sampling period T                        | 250
Lambda Return lambda                     | 0.95
Repertoire size N_R                      | 4096
Target distinct skills N_z               | 512
Control frequency                        | 20 Hz
Number of skills n_dominic               | 8
Near-optimality constraint               | 0.9 of the value of the optimal policy
Target distance between skills l_0       | 1.0
"""
ROWS = dict(map(str.strip, line.split("|")) for line in TABLE.strip().splitlines())

OURS = {
    "Imagination batch size N": lambda c: c.train.batch * c.train.length,
    "Real environment exploration batch size": lambda c: c.train.robots,
    "Total timesteps (in simulation)": lambda c: c.train.steps,
    "Learning rate": lambda c: c.optimizer.learning_rate,
    "Replay buffer size": lambda c: c.train.replay_size,
    "Discount factor gamma": lambda c: c.behavior.discount,
    "Imagination horizon H": lambda c: c.behavior.horizon,
    "Target smoothing coefficient tau": lambda c: c.behavior.slow_rate,
    "Sampling period T": lambda c: c.skill.skill_period,
    "Lambda Return lambda": lambda c: c.behavior.return_lambda,
    "Repertoire size N_R": lambda c: c.skill.repertoire_size,
    "Target distinct skills N_z": lambda c: c.skill.distinct_skills,
    "Control frequency": lambda c: robot(c.robot).control_rate,
    "Number of skills n_dominic": lambda c: c.dominic.skills,
    "Near-optimality constraint": lambda c: c.dominic.optimality,
    "Target distance between skills l_0": lambda c: c.dominic.distance,
}
ELSEWHERE = {"Optimizer"}  # tests/nn/test_optimizer.py: the first step is Adam's


def test_the_table_has_a_reading_for_every_row():
    assert set(ROWS) == set(OURS) | ELSEWHERE
    assert len(ROWS) == 17


@pytest.mark.parametrize("row", OURS)
def test_the_paper_preset_is_the_paper_s_table(row):
    wanted = float(ROWS[row].split()[0])
    assert OURS[row](paper()) == wanted


def test_the_literal_preset_is_the_same_table_and_nothing_of_ours():
    for row, read in OURS.items():
        assert read(literal()) == read(paper()), row
    config = literal()
    assert config.behavior.constraint_discount == 0  # one gamma for all
    assert config.behavior.margin == 1  # violated beyond delta
    assert (config.skill.metric, config.skill.commit) == ("literal", "instant")
    assert config.velocity.gated


def test_the_paper_preset_trains_ursa_on_the_a1_by_its_sampler_threshold_and_safety():
    config = paper()
    assert (config.robot, config.task, config.method) == ("a1", "forward", "ursa")
    assert config.skill.skill_size == 2
    assert config.skill.sampler == "kde"
    assert config.skill.fixed_delta == 0
    assert config.behavior.safety


def test_the_rest_of_the_paper_preset_is_the_daydreamer_a1_configuration():
    world, behavior, optimizer = paper().world, paper().behavior, paper().optimizer
    assert (world.deter, world.units, world.stoch, world.classes) == (256, 256, 32, 32)
    assert (world.prior_layers, world.encoder_layers, world.head_layers) == (3, 4, 4)
    assert (world.encoder_units, world.head_units, behavior.units) == (512, 512, 512)
    assert (world.unimix, world.kl_target, world.kl_balance) == (0.01, 3.5, 0.8)
    assert (behavior.layers, behavior.min_std, behavior.max_std) == (4, 0.1, 1.0)
    assert behavior.entropy_target == 0.5
    assert (optimizer.epsilon, optimizer.clip, optimizer.weight_decay) == (1e-6, 100, 1e-2)
    assert (paper().train.batch, paper().train.length, paper().train.prefill) == (32, 32, 5000)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_run(name):
    config = preset(name)
    assert complaints(config) == []
    assert check(config) is config


def test_a_preset_takes_changes_and_an_unknown_one_names_the_known():
    assert preset("tiny", seed=3, method="dominic") == replace(
        preset("tiny"), seed=3, method="dominic"
    )
    with pytest.raises(
        UserError, match=r'unknown preset "papr".*laptop, literal, paper, tiny.*paper\?'
    ):
        preset("papr")


def changed(path, value):
    """The paper's config with one dotted entry changed."""
    section, _, name = path.rpartition(".")
    config = paper()
    if not section:
        return replace(config, **{name: value})
    return replace(config, **{section: replace(getattr(config, section), **{name: value})})


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("world.deter", 0, "world.deter = 0: want at least 1"),
        ("behavior.horizon", -1, "behavior.horizon = -1: want at least 1"),
        ("train.batch", 0, "train.batch = 0: want at least 1"),
        ("train.unroll", -1, "train.unroll = -1: want at least 0"),
        ("skill.skill_period", 0, "skill.skill_period = 0: want at least 1"),
        ("dominic.skills", 2, "dominic.skills = 2: want at least 3"),
        ("seeds", 0, "seeds = 0: want at least 1"),
        ("seed", -1, "seed = -1: want at least 0"),
        ("tick", 0.0, "tick = 0.0: want > 0"),
        ("tick", float("nan"), "tick = nan: want a number"),
        ("arena", float("inf"), "arena = inf: want a number"),
        ("behavior.margin", 0.0, "behavior.margin = 0.0: want > 0"),
        ("behavior.huber", 0.0, "behavior.huber = 0.0: want > 0"),
        ("optimizer.learning_rate", -1e-4, "optimizer.learning_rate = -0.0001: want > 0"),
        ("optimizer.weight_decay", -1.0, "optimizer.weight_decay = -1.0: want >= 0"),
        ("world.unimix", 1.5, "world.unimix = 1.5: want 0 <= . <= 1"),
        ("behavior.return_lambda", 1.1, "behavior.return_lambda = 1.1: want 0 <= . <= 1"),
        ("behavior.discount", 1.0, "behavior.discount = 1.0: want 0 < . < 1"),
        ("behavior.slow_rate", 0.0, "behavior.slow_rate = 0.0: want 0 < . <= 1"),
        ("behavior.min_std", 2.0, "behavior.min_std = 2.0: want 0 < min_std < max_std = 1.0"),
        ("skill.fixed_delta", -0.1, "skill.fixed_delta = -0.1: want >= 0"),
        ("skill.feature", "ae", "skill.feature = 'ae': want one of vae, identity"),
        ("skill.commit", "late", "skill.commit = 'late': want one of auto, instant, window"),
        ("skill.metric", "l1", "skill.metric = 'l1': want one of whitened, euclidean, literal"),
        ("skill.sampler", "grid", "skill.sampler = 'grid': want one of kde, box"),
    ],
)
def test_an_impossible_value_is_named_with_what_is_allowed(path, value, says):
    assert complaints(changed(path, value)) == [says]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("skill.distinct_skills", 5000, "repertoire_size = 4096"),  # more skills than room
        ("train.prefill", 1023, "at least length * robots = 1024"),  # no sequence to draw
        ("train.replay_size", 2047, "at least 2 * length * robots = 2048"),
        ("train.steps_per_update", 33, "a multiple or a divisor of robots = 32"),
        ("train.steps", 1_000_001, "a multiple of robots = 32"),
        ("train.steps", 4_992, "more than prefill = 5000"),  # over before it learns
        ("seed", 2**31, "want the last at most 2147483647"),
    ],
)
def test_an_impossible_combination_is_refused(path, value, says):
    (found,) = complaints(changed(path, value))
    assert f"{path} = {value}" in found
    assert says in found


@pytest.mark.parametrize("steps", [1, 2, 16, 32, 64, 320])
def test_updates_may_come_several_a_step_or_every_few_steps(steps):
    assert complaints(changed("train.steps_per_update", steps)) == []


def test_every_complaint_is_reported_at_once():
    config = Config(
        seeds=0,
        world=WorldConfig(deter=-3),
        behavior=BehaviorConfig(discount=2.0, min_std=0.0),
        optimizer=OptimizerConfig(clip=0.0),
        skill=SkillConfig(metric="l1", sampler="grid"),
        train=TrainConfig(steps=100_001),
        dominic=DominicConfig(optimality=1.2),
    )
    names = (
        "seeds",
        "world.deter",
        "behavior.discount",
        "behavior.min_std",
        "optimizer.clip",
        "skill.metric",
        "skill.sampler",
        "train.steps",
        "dominic.optimality",
    )
    found = complaints(config)
    assert len(found) == len(names)
    with pytest.raises(UserError) as caught:
        check(config)
    message = str(caught.value)
    assert message.startswith("this run cannot start:\n  ")
    for name in names:
        assert f"\n  {name} = " in message


def numbers(section, path=""):
    for item in fields(section):
        value, name = getattr(section, item.name), path + item.name
        if is_dataclass(value):
            yield from numbers(value, f"{name}.")
        elif item.type in (int, float):
            yield name, item.type


@pytest.mark.parametrize(("path", "kind"), list(numbers(Config())))
def test_no_number_passes_unchecked(path, kind):
    """A whole number far below zero, a float that is none: each is refused by name."""
    bad = -(10**6) if kind is int else float("nan")
    assert any(it.startswith(f"{path} = {bad}") for it in complaints(changed(path, bad)))


def test_a_config_cannot_be_written_to():
    with pytest.raises(AttributeError):
        paper().train.steps = 3
