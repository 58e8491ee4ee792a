"""R: what the robot can do, a set of diverse skills; useful alone: `from ursa import Repertoire`.

The learner works with the pure functions `extend`, `refresh`, `reencode`, `thin` and those of
`ursa.skill.kde`; the methods here call them, compiled, after checking what they are given.
"""

import os
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import ArrayLike

from ursa.errors import UserError, unknown
from ursa.skill import archive, kde, table
from ursa.skill.distance import METRICS, Spread, unit_spread
from ursa.skill.rule import extend, place, thin
from ursa.skill.table import Table, ready, reencode, refresh

LARGEST = 2**24  # rows; their indices must be exact in float32
STRIDE = 256  # rows that `add` inserts between two refreshes


class Repertoire(Table):
    """At most N safe, diverse skills with the postures they came from; an immutable value."""

    @classmethod
    def empty(
        cls,
        size: int,
        posture_size: int,
        skill_size: int,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        distinct_skills: int | None = None,
        metric: str = "whitened",
        dtype: str = "float32",
    ) -> "Repertoire":
        """No skill yet. Postures outside lower .. upper will be refused; default: no limits.

        δ is meant for `distinct_skills` (N_z); default: an eighth of the size, as in the paper.
        """
        for name, value in (("posture_size", posture_size), ("skill_size", skill_size)):
            if value < 1:
                raise UserError(f"repertoire {name} = {value}, want at least 1")
        if not 1 <= size <= LARGEST:
            raise UserError(f"repertoire size = {size} rows, want 1 .. {LARGEST}")
        distinct = max(size // 8, 1) if distinct_skills is None else distinct_skills
        if not 1 <= distinct <= size:
            raise UserError(f"distinct_skills = {distinct}, want 1 .. the repertoire's size {size}")
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
        kind = jnp.dtype(dtype)
        blank = partial(np.zeros, dtype=kind)  # by numpy: nothing to compile for each shape
        columns = {
            "posture": blank((size, posture_size)),
            "skill": blank((size, skill_size)),
            "coordinate": blank((size, skill_size)),
            "nearest": np.full(size, np.inf, kind),
            "neighbour": np.zeros(size, np.int32),
            "filled": np.int32(0),
            "rejected": np.int32(0),
            "delta": blank(()),
            "lower": _limits("lower", lower, -np.inf, posture_size, kind),
            "upper": _limits("upper", upper, np.inf, posture_size, kind),
        }
        return cls(
            **{name: jnp.asarray(column) for name, column in columns.items()},
            spread=unit_spread(skill_size, kind),
            metric=METRICS[metric],
            distinct_skills=distinct,
        )

    def add(
        self, postures: ArrayLike, skills: ArrayLike | None = None, safe: ArrayLike | None = None
    ) -> "Repertoire":
        """Insert rows in order and measure anew every 256; a row is its own skill unless given."""
        kind, (_, wide) = self.skill.dtype, self.skill.shape
        rows = _rows("postures", postures, self.posture.shape[1], kind)
        features = rows if skills is None else _rows("skills", skills, wide, kind)
        count = rows.shape[0]
        if features.shape != (count, wide):
            raise UserError(
                f"skills have shape {features.shape}, want {(count, wide)}, one for each posture"
            )
        flags = np.ones(count, bool) if safe is None else np.asarray(safe)
        if flags.shape != (count,) or flags.dtype != bool:
            raise UserError(
                f"safe is {flags.dtype} {flags.shape}, want one bool per posture: ({count},)"
            )
        result = self
        for start in range(0, count, STRIDE):
            # Padded with rows that are not committed, so that one program serves every length.
            short = max(start + STRIDE - count, 0)
            part = slice(start, start + STRIDE)
            result = _add(
                result,
                np.pad(rows[part], ((0, short), (0, 0))),
                np.pad(features[part], ((0, short), (0, 0))),
                np.pad(flags[part], (0, short)),
            )
        return result

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count D"]:
        """Skills drawn from the kernel density of R; from N(0, I) until R is ready."""
        return _draw(self, key, count)

    def density(self, points: ArrayLike) -> Float[Array, " m"]:
        """The kernel density at points of shape (m, D)."""
        if not self.filled:
            raise UserError("this repertoire is empty and has no density; add skills first")
        return jnp.exp(_log_density(self, _rows("points", points, *self._wide())))

    def entropy(self) -> kde.Entropy:
        """Entropy of that density: estimate and lower bound, in nats."""
        return _entropy(self)

    def threshold(self, distinct_skills: int | None = None) -> Float[Array, ""]:
        """δ for so many distinct skills; default: the number the repertoire was made for."""
        distinct = self.distinct_skills if distinct_skills is None else distinct_skills
        if distinct < 1:
            raise UserError(f"distinct_skills = {distinct}, want at least 1")
        return table.delta(self, distinct)

    def thin(self, count: int) -> "Repertoire":
        """The `count` most spread out skills: the most crowded one is removed again and again."""
        if not 1 <= count <= int(self.filled):
            raise UserError(f"thin to {count} rows, want 1 .. {int(self.filled)}, the rows in use")
        thinned = _thin(self, count)
        return replace(thinned, distinct_skills=min(self.distinct_skills, count))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npz that numpy alone can read; see docs/repertoire.md."""
        archive.write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Repertoire":
        """Read what `save` wrote; a file that is damaged or of another version is refused."""
        arrays = archive.read(path)
        spread = Spread(*(jnp.asarray(arrays[name]) for name in SPREAD))
        columns = {name: jnp.asarray(value) for name, value in archive.fields(arrays).items()}
        return cls(
            **columns,
            spread=spread,
            metric=METRICS[str(arrays["metric"])],
            distinct_skills=int(arrays["distinct_skills"]),
        )

    def _wide(self) -> tuple[int, jnp.dtype]:
        return self.skill.shape[1], self.skill.dtype


SPREAD = ("mean", "factor", "whitener", "regular")


def _limits(
    name: str, given: ArrayLike | None, default: float, size: int, dtype: jnp.dtype
) -> np.ndarray:
    if given is None:
        return np.full(size, default, dtype)
    limits = np.asarray(given)
    if limits.shape != (size,) or np.isnan(limits).any():
        raise UserError(f"{name} = {limits}, want {size} numbers, one per column of a posture")
    return limits.astype(dtype)


def _rows(name: str, given: ArrayLike, wide: int, dtype: jnp.dtype) -> np.ndarray:
    rows = np.asarray(given)
    if rows.ndim != 2 or rows.shape[1] != wide or rows.dtype.kind not in "fiu":
        raise UserError(f"{name} are {rows.dtype} {rows.shape}, want numbers of shape (m, {wide})")
    return rows.astype(dtype)


@jax.jit
def _add(repertoire: Repertoire, postures: Array, skills: Array, safe: Array) -> Repertoire:
    return refresh(extend(repertoire, postures, skills, safe))


_draw = jax.jit(kde.draw, static_argnums=2)
_log_density = jax.jit(kde.log_density)
_entropy = jax.jit(kde.entropy)
_thin = jax.jit(thin, static_argnums=1)

__all__ = ["Repertoire", "extend", "place", "ready", "reencode", "refresh", "thin"]
