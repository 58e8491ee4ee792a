"""Rollouts: every robot holds one skill for 250 steps from standing (definitions: design, 5)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ursa.agent import act as acting
from ursa.agent.state import Policy
from ursa.env.arena import Arena, Outcome
from ursa.robot.clearance import airborne

Array = np.ndarray
STEPS = 250  # of a rollout
SETTLE = 50  # steps at its start that means leave out
Feature = Callable[[Array], Array]  # postures (rows) -> features


@dataclass(frozen=True)
class Rollouts:
    """What m robots did, one row each. Means are over the last 200 steps."""

    ret: Float[Array, " m"]  # sum of rewards
    posture: Float[Array, "m P"]  # mean of what phi reads
    feature: Float[Array, "m D"]  # mean of phi: not phi of the mean, where phi is a network
    joint_angle: Float[Array, "m A"]  # mean
    speed: Float[Array, " m"]  # mean true forward speed, m/s
    yaw_rate: Float[Array, " m"]  # mean true yaw rate, rad/s
    unsafe: Float[Array, " m"]  # share of steps outside the safe set
    airborne: Float[Array, " m"]  # share of steps in which nothing touches the floor
    joint_speed: Float[Array, " m"]  # 99th percentile over steps and joints, rad/s
    power: Float[Array, " m"]  # mean, W
    hand: Bool[Array, " m"]  # a hand was needed

    @property
    def safe(self) -> Bool[Array, " m"]:
        """No unsafe step in 250."""
        return (self.unsafe == 0) & ~self.hand

    @property
    def moving(self) -> Bool[Array, " m"]:
        """A safe rollout that goes forward at 0.1 m/s or more."""
        return self.safe & (self.speed >= 0.1)


@partial(jax.jit, static_argnames="count")
def _begin(policy: Policy, count: int) -> acting.Carry:
    return acting.begin(policy, count)


_act = jax.jit(acting.act)


def rollout(
    arena: Arena,
    policy: Policy,
    z: Float[Array, "m D"],
    *,
    feature: Feature | None = None,
    explore: bool = False,
    seed: int = 0,
) -> Rollouts:
    """Each robot of the arena follows its row of z; by default without the policy's noise.

    `feature` is phi; without it the posture itself counts as feature.
    """
    skills, amount = jnp.asarray(z, jnp.float32), jnp.asarray(float(explore))
    carry, key = _begin(policy, arena.count), jax.random.key(seed)

    def choose(outcome: Outcome, step: int) -> Array:
        nonlocal carry
        carry, action = _act(
            policy,
            carry,
            jnp.asarray(outcome.observation),
            jnp.full(arena.count, step == 0),
            skills,
            amount,
            jax.random.fold_in(key, step),
        )
        return np.asarray(action, float)

    return recorded(arena, choose, feature)


def aimless(arena: Arena, *, feature: Feature | None = None, seed: int = 0) -> Rollouts:
    """Every robot does anything at any time: uniform actions, the measure of what chance can do."""
    rng = np.random.default_rng([seed, 0xA1])
    shape = (arena.count, arena.body.spec.action_size)
    return recorded(arena, lambda *_: rng.uniform(-1.0, 1.0, shape), feature)


def recorded(
    arena: Arena, choose: Callable[[Outcome, int], Array], feature: Feature | None = None
) -> Rollouts:
    """What becomes of robots that start standing and do what `choose` says."""
    outcome = arena.start()
    kept: dict[str, list[Array]] = {}
    for step in range(STEPS):
        outcome = arena.step(choose(outcome, step))
        reading = outcome.reading
        truth, turn = reading.truth, reading.rotation
        assert truth is not None, "rollouts are judged by the simulator's truth"
        now = {
            "reward": outcome.reward,
            "posture": outcome.posture,
            "joint_angle": reading.joint_angle,
            "speed": (truth.velocity[:, :2] * turn[:, :2, 0]).sum(axis=1),
            "yaw_rate": reading.gyro[:, 2] if reading.spec.legs else 0 * outcome.cost,
            "unsafe": (~outcome.safe).astype(float),
            "airborne": airborne(reading),
            "joint_speed": np.abs(reading.joint_speed),
            "power": reading.power,
            "hand": outcome.stuck,
        }
        for name, value in now.items():
            kept.setdefault(name, []).append(value)
    stacked = {name: np.stack(values) for name, values in kept.items()}
    postures = stacked["posture"].reshape(-1, stacked["posture"].shape[-1])
    features = postures if feature is None else np.asarray(feature(postures), float)
    stacked["feature"] = features.reshape(STEPS, arena.count, -1)
    return _summed(stacked)


def _summed(kept: dict[str, Array]) -> Rollouts:
    late = {name: value[SETTLE:].mean(axis=0) for name, value in kept.items()}
    return Rollouts(
        ret=kept["reward"].sum(axis=0),
        posture=late["posture"],
        feature=late["feature"],
        joint_angle=late["joint_angle"],
        speed=late["speed"],
        yaw_rate=late["yaw_rate"],
        unsafe=kept["unsafe"].mean(axis=0),
        airborne=late["airborne"],
        joint_speed=np.percentile(kept["joint_speed"], 99, axis=(0, 2)),
        power=late["power"],
        hand=np.asarray(kept["hand"].any(axis=0)),
    )
