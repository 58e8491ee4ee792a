"""Diary: what the robots of each seed lived through between two log lines, averaged."""

import numpy as np

from ursa.env.arena import Outcome
from ursa.robot.clearance import OFF_GROUND, reach
from ursa.robot.reading import Reading

Array = np.ndarray


class Diary:
    """Sums over control steps; one number per seed comes out."""

    def __init__(self, seeds: int) -> None:
        self._seeds = seeds
        self._names: tuple[str, ...] = ()
        self._sums = np.zeros(())  # (names, seeds) once there are any
        self._readings: list[Reading] = []  # where the robots were: what touched is asked at once
        self._count = 0

    def add(self, outcome: Outcome) -> None:
        """One control step of all robots."""
        reading = outcome.reading
        values = {f"reward/{name}": term for name, term in outcome.terms.items()}
        values |= {
            "robot/reward": outcome.reward,
            "robot/unsafe": (~outcome.safe).astype(float),
            "robot/power": reading.power,
            "robot/joint_speed": np.abs(reading.joint_speed).max(axis=1),
            "robot/interventions": outcome.stuck.astype(float),
        }
        if reading.truth is not None:
            turn = reading.rotation
            values["robot/speed"] = (reading.truth.velocity[:, :2] * turn[:, :2, 0]).sum(axis=1)
            if reading.spec.legs:
                self._readings.append(reading)
        self._names = tuple(values)
        means = np.stack(list(values.values())).reshape(len(values), self._seeds, -1).mean(axis=2)
        self._sums = self._sums + means
        self._count += 1

    def close(self) -> dict[str, list[float]]:
        """Means since the last close, per seed."""
        found = (self._sums / self._count).tolist() if self._count else []
        means = dict(zip(self._names, found, strict=True))
        if self._readings:
            means["robot/airborne"] = self._airborne().tolist()
        self._names, self._sums, self._readings, self._count = (), np.zeros(()), [], 0
        return means

    def _airborne(self) -> Array:
        """Share of the steps in which no part of a robot touched the floor."""
        angle = np.concatenate([it.joint_angle for it in self._readings])
        quaternion = np.concatenate([it.quaternion for it in self._readings])
        height = np.concatenate([it.truth.position[:, 2] for it in self._readings if it.truth])
        up = height - reach(self._readings[0].spec, angle, quaternion) > OFF_GROUND
        return up.reshape(len(self._readings), self._seeds, -1).mean(axis=(0, 2))
