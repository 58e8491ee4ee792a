"""Rollouts: every robot holds one skill from standing (definitions: `definitions.py`).

What a robot does is a function of policy, skill, damage, chance and seed: the same bits on one
machine, in an arena of any size and beside any others.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ursa.agent.state import Policy
from ursa.env.arena import Arena, Outcome
from ursa.evaluate import definitions
from ursa.evaluate.definitions import SETTLE, STEPS
from ursa.evaluate.pilot import Pilot, blocks
from ursa.robot.clearance import airborne
from ursa.robot.reading import Reading
from ursa.task.task import Task

Array = np.ndarray
Feature = Callable[[Array], Array]  # postures (rows) -> features
Choose = Callable[[Outcome, int], Array]  # what was seen, number of the step -> actions
Watch = Callable[[int], None]  # hears of control steps as they are made


@dataclass(frozen=True)
class Rollouts:
    """What m robots did, one row each. Means are over the last 200 steps."""

    ret: Float[Array, " m"]  # sum of rewards; NaN where the physics diverged
    posture: Float[Array, "m P"]  # mean of what phi reads
    feature: Float[Array, "m D"]  # mean of phi: not phi of the mean, where phi is a network
    joint_angle: Float[Array, "m A"]  # mean
    speed: Float[Array, " m"]  # mean true forward speed, m/s
    yaw_rate: Float[Array, " m"]  # mean true yaw rate, rad/s
    whole: Float[Array, "m 2"]  # these two over all steps
    unsafe: Float[Array, " m"]  # share of all steps outside the safe set
    airborne: Float[Array, " m"]  # share of steps in which nothing touches the floor
    joint_speed: Float[Array, " m"]  # 99th percentile over all steps and joints, rad/s
    torque: Float[Array, " m"]  # largest mean of a control step, over the motor's peak
    power: Float[Array, " m"]  # mean, W
    hand: Bool[Array, " m"]  # a hand was needed

    @property
    def safe(self) -> Bool[Array, " m"]:
        """No unsafe step in 250."""
        return definitions.safe(self.unsafe, self.hand)

    @property
    def moving(self) -> Bool[Array, " m"]:
        """A safe rollout that goes forward at 0.1 m/s or more."""
        return definitions.moving(self.speed, self.unsafe, self.hand)


def rollout(
    arena: Arena,
    policy: Policy,
    z: Float[Array, "m D"],
    *,
    chance: Int[Array, " m"] | None = None,
    feature: Feature | None = None,
    explore: bool = False,
    seed: int = 0,
    watch: Watch | None = None,
) -> Rollouts:
    """Each robot of the arena follows its row of z; by default without the policy's noise.

    `chance` tells rollouts of one skill apart; unset is the number of the row. `feature` is phi;
    without it the posture itself counts as feature.
    """
    chances = np.arange(len(z)) if chance is None else chance
    pilot = Pilot(policy, np.asarray(z), chances, explore=explore, seed=seed)
    return recorded(arena, pilot, feature, watch)


def aimless(arena: Arena, *, feature: Feature | None = None, seed: int = 0) -> Rollouts:
    """Every robot does anything at any time: uniform actions, the measure of what chance can do."""
    rng = np.random.default_rng([seed, 0xA1])
    shape = (arena.count, arena.body.spec.action_size)
    return recorded(arena, lambda *_: rng.uniform(-1.0, 1.0, shape), feature)


def recorded(
    arena: Arena, choose: Choose, feature: Feature | None = None, watch: Watch | None = None
) -> Rollouts:
    """What becomes of robots that start standing and do what `choose` says."""
    outcome = arena.start()
    kept: dict[str, list[Array]] = {}
    for step in range(STEPS):
        outcome = arena.step(choose(outcome, step))
        for name, value in _seen(arena, outcome).items():
            kept.setdefault(name, []).append(value)
        if watch is not None:
            watch(arena.count)
    stacked = {name: np.stack(values, axis=1) for name, values in kept.items()}  # robots lead
    stacked["feature"] = _features(stacked["posture"], feature)
    return _summed(stacked)


def joined(parts: list[Rollouts]) -> Rollouts:
    """The rows of all parts, in order."""
    columns = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Rollouts)}
    return Rollouts(**{name: np.concatenate(column) for name, column in columns.items()})


def _seen(arena: Arena, outcome: Outcome) -> dict[str, Array]:
    """What is kept of one step."""
    reading = outcome.reading
    truth, turn = reading.truth, reading.rotation
    assert truth is not None, "rollouts are judged by the simulator's truth"
    return {
        # A robot that its body had to set down again did not earn what came then.
        "reward": np.where(arena.body.rescued, np.nan, outcome.reward),
        "posture": outcome.posture,
        "joint_angle": reading.joint_angle,
        "speed": (truth.velocity[:, :2] * turn[:, :2, 0]).sum(axis=1),
        "yaw_rate": reading.gyro[:, 2],
        "unsafe": _unsafe(arena.task, reading),
        "airborne": airborne(reading),
        "joint_speed": np.abs(reading.joint_speed),
        "torque": np.abs(reading.torque) / reading.spec.of_joints("torque"),
        "power": reading.power,
        "hand": outcome.stuck,
    }


def _unsafe(task: Task, reading: Reading) -> Float[Array, " n"]:
    """1 outside the task's safe set, by the true state: the estimates may be fooled."""
    truth = reading.truth
    assert truth is not None
    known = replace(reading, velocity=truth.velocity, height=truth.position[:, 2])
    return (task.cost(known) > 0).astype(float)


def _features(posture: Float[Array, "m T P"], feature: Feature | None) -> Float[Array, "m T D"]:
    """phi of every posture, for as many robots at a time as the pilot acts for: the same bits."""
    if feature is None:
        return posture
    count, steps, _ = posture.shape
    found = [np.asarray(feature(part.reshape(-1, part.shape[-1]))) for part in blocks(posture)]
    return np.concatenate(found).astype(float).reshape(-1, steps, found[0].shape[-1])[:count]


def _summed(kept: dict[str, Array]) -> Rollouts:
    late = {name: value[:, SETTLE:].mean(axis=1) for name, value in kept.items()}
    moved = [kept[name].mean(axis=1) for name in ("speed", "yaw_rate")]
    return Rollouts(
        ret=kept["reward"].sum(axis=1),
        posture=late["posture"],
        feature=late["feature"],
        joint_angle=late["joint_angle"],
        speed=late["speed"],
        yaw_rate=late["yaw_rate"],
        whole=np.column_stack(moved),
        unsafe=kept["unsafe"].mean(axis=1),
        airborne=late["airborne"],
        joint_speed=np.percentile(kept["joint_speed"], 99, axis=(1, 2)),
        torque=kept["torque"].max(axis=(1, 2)),
        power=late["power"],
        hand=np.asarray(kept["hand"].any(axis=1)),
    )
