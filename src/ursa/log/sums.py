"""Sums: what rows and updates came to between two lines of a learner's journal."""

import numpy as np
from jaxtyping import Float

from ursa.log import rows as reading
from ursa.types import Row

Array = np.ndarray


class Sums:
    """What the rows and updates since the last line came to."""

    def __init__(self) -> None:
        self.rows = self.updates = 0
        self._lived = {"robot/reward": 0.0, "robot/unsafe": 0.0, "robot/begun": 0.0}
        self._learnt: list[Array] = []

    def add(self, rows: Row | None, metrics: Float[Array, "k M"]) -> None:
        self._learnt.append(metrics)
        self.updates += len(metrics)
        if rows is not None:
            self.rows += reading.count(rows)
            self._lived["robot/reward"] += float(rows.reward.astype(float).sum())
            self._lived["robot/unsafe"] += float((rows.cost > 0).sum())
            self._lived["robot/begun"] += float(rows.first.sum())

    def means(self, names: list[str]) -> dict[str, float]:
        found = (
            {name: total / self.rows for name, total in self._lived.items()} if self.rows else {}
        )
        if self.updates:
            means = np.concatenate(self._learnt).mean(axis=0).tolist()
            found |= dict(zip(names, means, strict=True))
        return found
