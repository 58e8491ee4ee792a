"""LeggedBody: actions in, readings out, over any physics engine.

action -> motion (affine map, filter, interpolation) -> damage -> delay -> engine -> sensor noise
-> estimator -> Reading. What diverges is reported, set down again, and never passed on.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np
from jaxtyping import Bool, Float

from ursa.robot import damage as wounds
from ursa.robot import estimator, motion
from ursa.robot.body import checked, marked
from ursa.robot.damage import Damage, Injury
from ursa.robot.disturbance import LARGEST_SEED, Disturbance, chance, delay, disturbed, pushes
from ursa.robot.engine import Engine, Ticks
from ursa.robot.estimator import EstimatorState
from ursa.robot.motion import MotionConfig
from ursa.robot.number import whole
from ursa.robot.reading import Reading
from ursa.robot.saved import check_fit, label

Array = np.ndarray
log = logging.getLogger("ursa")
EPISODE = 2**62  # counter of the draws made once per body, far from any control step


class LeggedBody:
    """`engine.count` robots with legs. See `body.Body` for the verbs."""

    def __init__(
        self,
        engine: Engine,
        *,
        motion_config: MotionConfig | None = None,
        disturbance: Disturbance | None = None,
        settle: float = 0.0,
        seed: int = 0,
    ) -> None:
        whole("seed", seed, least=0, most=LARGEST_SEED)
        self.engine, self.spec, self.count = engine, engine.spec, engine.count
        self.exact: bool = getattr(engine, "exact", True)
        self._real: bool = getattr(engine, "real", False)  # who drives it says what happens to it
        self._motion_config = motion_config or MotionConfig()
        self._disturbance = disturbance or Disturbance()
        self._settle, self._seed = settle, seed
        self._ticks = round(self.spec.period / engine.tick)
        self._delay = delay("latency", self._disturbance.latency, engine.tick)
        self._jitter = delay("jitter", self._disturbance.jitter, engine.tick)
        self._lower, self._upper = self.spec.of_joints("lower"), self.spec.of_joints("upper")
        self._injury = wounds.sound(self.count, self.spec.action_size)
        self._rescued = np.zeros(self.count, bool)
        self._step = 0
        if self._disturbance.varied:
            rng = chance(seed, EPISODE)
            self.engine.vary(
                rng.uniform(*self._disturbance.friction, self.count),
                rng.uniform(*self._disturbance.mass, self.count),
            )
        self.rest()

    # ---- hands --------------------------------------------------------------------------------

    def rest(self, which: Bool[Array, " n"] | None = None) -> Reading:
        which = marked(which, self.count)
        self.engine.place(which)
        ticks = self.engine.look()
        angle = ticks.joint_angle[:, -1].copy()
        everyone = which.all()
        self._motion = (
            motion.begin(angle) if everyone else motion.restart(self._motion, angle, which)
        )
        self._estimate = (
            estimator.begin(self.count) if everyone else estimator.restart(self._estimate, which)
        )
        pending = np.repeat(angle[:, None], self._delay + self._jitter, axis=1)
        self._pending = (
            pending if everyone else np.where(which[:, None, None], pending, self._pending)
        )
        command = angle if everyone else np.where(which[:, None], angle, self._reading.command)
        if everyone:
            self._reading = self._read(ticks, command)
        else:
            self._reading = self._reading.merge(self._read(ticks, command, still=which), which)
        return self._reading

    def carry(self, which: Bool[Array, " n"]) -> Reading:
        which = marked(which, self.count)
        self.engine.carry(which)
        self._reading = replace(self._reading, truth=self.engine.truth())
        return self._reading

    # ---- time ---------------------------------------------------------------------------------

    def step(self, action: Array) -> Reading:
        action = checked(action, self)  # (n, A) from here on
        self._motion, target = motion.advance(
            self.spec, self._motion_config, self._motion, action, self._ticks
        )
        target = wounds.obey(self._injury, self.spec, target)
        if self._disturbance.quiet:
            ticks = self.engine.advance(target)
        else:
            target, ticks = self._disturbed(target, chance(self._seed, self._step))
        self._step += 1
        command = np.minimum(np.maximum(target[:, -1], self._lower), self._upper)
        self._rescued = self.engine.diverged().copy()
        if self._rescued.any():
            return self._rescue(ticks, command)
        self._reading = self._read(ticks, command)
        return self._reading

    @property
    def rescued(self) -> Bool[Array, " n"]:
        return self._rescued

    def _disturbed(self, target: Array, rng: np.random.Generator) -> tuple[Array, Ticks]:
        """Targets as they reach the motors, and the ticks as noisy sensors tell them."""
        target = self._delayed(target, rng)
        if self._disturbance.push:
            self.engine.push(pushes(self._disturbance, self.count, self.spec.period, rng))
        ticks = self.engine.advance(target)
        if self._disturbance.noisy:
            ticks = disturbed(ticks, self._disturbance, rng)
        return target, ticks

    def _delayed(self, target: Array, rng: np.random.Generator) -> Float[Array, "n k A"]:
        """Targets as they reach the motors, `latency` (+ up to `jitter`) after they were sent."""
        longest = self._delay + self._jitter
        if not longest:
            return target
        line = np.concatenate([self._pending, target], axis=1)
        self._pending = line[:, self._ticks :]
        extra = rng.integers(0, self._jitter + 1, self.count)
        at = longest - self._delay - extra[:, None] + np.arange(self._ticks)
        return np.take_along_axis(line, at[:, :, None], axis=1)

    def _rescue(self, ticks: Ticks, command: Array) -> Reading:
        """Set diverged robots down again; their numbers go no further."""
        lost = self._rescued
        if not self._real:
            which = np.flatnonzero(lost).tolist()
            log.warning("physics diverged for robot %s; set down again", which)
        clean = {f.name: getattr(ticks, f.name).copy() for f in fields(ticks)}
        for name, field in clean.items():
            field[lost] = 1.0 if name == "quaternion" else 0  # replaced by rest() just below
        self._reading = self._read(Ticks(**clean), command)
        self.rest(lost)
        self._rescued = lost
        return self._reading

    def _read(self, ticks: Ticks, command: Array, still: Array | None = None) -> Reading:
        """The reading after these ticks. Robots in `still` were just placed and have no past."""
        if still is None:
            self._estimate, velocity, height = self._estimated(self._estimate, ticks)
        else:
            _, velocity, height = self._estimated(estimator.begin(self.count), ticks)
        work = np.maximum(ticks.torque * ticks.joint_speed, 0.0).reshape(self.count, -1)
        return Reading(
            spec=self.spec,
            joint_angle=ticks.joint_angle[:, -1].copy(),
            joint_speed=ticks.joint_speed[:, -1].copy(),
            torque=ticks.torque.mean(axis=1),
            power=work.sum(axis=1) / ticks.torque.shape[1],
            quaternion=ticks.quaternion[:, -1].copy(),
            gyro=ticks.gyro[:, -1].copy(),
            acceleration=ticks.acceleration[:, -1].copy(),
            contact=ticks.contact[:, -1].copy(),
            command=command,
            velocity=velocity.copy(),  # the estimator keeps its own
            height=height.copy(),
            truth=self.engine.truth(),
        )

    def _estimated(
        self, state: EstimatorState, ticks: Ticks
    ) -> tuple[EstimatorState, Array, Array]:
        tick, settle = self.engine.tick, self._settle
        return estimator.update(self.spec, tick, state, ticks, settle=settle)

    # ---- damage and state ---------------------------------------------------------------------

    def damage(self, damages: Sequence[Damage], which: Bool[Array, " n"] | None = None) -> None:
        which, damages = marked(which, self.count), wounds.fitting(damages, self.spec)
        self._injury = wounds.injure(self._injury, damages, which, self._reading.joint_angle)
        self.engine.impair(wounds.impairment(self._injury))

    def save(self) -> dict[str, Array]:
        state = label(self.spec, self.count, self.engine.tick)
        state |= {f"engine.{name}": value for name, value in self.engine.save().items()}
        for part, value in (
            ("motion", self._motion),
            ("estimate", self._estimate),
            ("injury", self._injury),
        ):
            state |= {f"{part}.{f.name}": getattr(value, f.name).copy() for f in fields(value)}
        reading = self._reading
        for f in fields(reading):
            if f.name not in ("spec", "truth"):
                state[f"reading.{f.name}"] = getattr(reading, f.name).copy()
        return state | {"pending": self._pending.copy(), "step": np.array(self._step)}

    def restore(self, state: Mapping[str, Array]) -> Reading:
        def part(name: str) -> dict[str, Array]:
            start = name + "."
            return {key[len(start) :]: v for key, v in state.items() if key.startswith(start)}

        check_fit(state, self.save())
        self.engine.restore(part("engine"))
        self._motion = motion.MotionState(**part("motion"))
        self._estimate = EstimatorState(**part("estimate"))
        self._injury = Injury(**part("injury"))
        self._pending, self._step = state["pending"].copy(), int(state["step"])
        self._rescued = np.zeros(self.count, bool)
        self._reading = Reading(spec=self.spec, truth=self.engine.truth(), **part("reading"))
        return self._reading

    def close(self) -> None:
        self.engine.close()
