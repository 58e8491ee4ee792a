"""Diary: what the robots of each seed lived through between two log lines, averaged."""

import numpy as np

from ursa.env.arena import Outcome
from ursa.robot.clearance import airborne

Array = np.ndarray


class Diary:
    """Sums over control steps; one number per seed comes out."""

    def __init__(self, seeds: int) -> None:
        self._seeds = seeds
        self._sums: dict[str, Array] = {}
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
                values["robot/airborne"] = airborne(reading)
        for name, value in values.items():
            mean = value.reshape(self._seeds, -1).mean(axis=1)
            self._sums[name] = self._sums.get(name, 0.0) + mean
        self._count += 1

    def close(self) -> dict[str, list[float]]:
        """Means since the last close, per seed."""
        means = {name: (total / self._count).tolist() for name, total in self._sums.items()}
        self._sums, self._count = {}, 0
        return means
