"""The repertoire rule by brute force: every distance, every time. The oracle of these tests."""

import numpy as np

NOWHERE = -1


class Brute:
    """At most `size` points; `offer` inserts one and says which slot it took."""

    def __init__(self, size: int, dimensions: int, dtype: type = np.int64) -> None:
        self.size = size
        self.points = np.zeros((size, dimensions), dtype)
        self.filled = 0
        # All distances among the stored points and, last, the newcomer. Never to itself.
        self.square = np.full((size + 1, size + 1), _far(dtype), dtype)

    def offer(self, point: np.ndarray) -> int:
        """Insert a point where Algorithm 3 of the paper wants it."""
        if self.filled < self.size:
            slot, self.filled = self.filled, self.filled + 1
            self._set(slot, point)
            return slot
        self._fill(self.size, ((self.points - point) ** 2).sum(1))
        new = self.square[self.size]
        drop = most_crowded(self.square, self.size if new.min() == self.square.min() else None)
        if drop == self.size:
            return NOWHERE
        self._set(drop, point)
        return drop

    def nearest(self) -> tuple[np.ndarray, np.ndarray]:
        """Squared distance and index of every stored point's nearest other one."""
        square = self.square[: self.filled, : self.filled]
        return square.min(1), square.argmin(1)

    def _set(self, slot: int, point: np.ndarray) -> None:
        self.points[slot] = point
        square = np.full(self.size, _far(self.points.dtype.type), self.points.dtype)
        square[: self.filled] = ((self.points[: self.filled] - point) ** 2).sum(1)
        self._fill(slot, square)

    def _fill(self, row: int, square: np.ndarray) -> None:
        self.square[row, : self.size] = square
        self.square[: self.size, row] = square
        self.square[row, row] = _far(self.points.dtype.type)


def most_crowded(square: np.ndarray, one: int | None = None) -> int:
    """Of the closest pair, the row whose next neighbour is nearer; the higher index if tied.

    `one` is in the pair if given: a newcomer, whose index is the highest.
    """
    one = int(square.min(1).argmin()) if one is None else one
    other = int(square[one].argmin())
    one_next = np.delete(square[one], other).min()
    other_next = np.delete(square[other], one).min()
    if one_next == other_next:
        return max(one, other)
    return one if one_next < other_next else other


def squares(points: np.ndarray) -> np.ndarray:
    """All squared distances; to itself a point is far."""
    square = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.fill_diagonal(square, _far(square.dtype.type))
    return square


def _far(dtype: type) -> float:
    return np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else np.inf


def lattice(rng: np.random.Generator, count: int, dimensions: int) -> np.ndarray:
    """Whole numbers whose squared distances float32 holds exactly: no rounding, many ties."""
    reach = {1: 2000, 2: 1400, 3: 1100}[dimensions]  # D (2 reach)^2 < 2^24
    return rng.integers(-reach, reach + 1, (count, dimensions))
