"""Which postures are offered to R: each safe instant, or the mean of a safe window.

The paper commits every safe instant. A robot that spins or hops is upright for an instant, and a
repertoire that keeps extremes then fills with what nobody can keep up; a window asks for it.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ursa.errors import UserError


class Window(eqx.Module):
    """What n robots did lately."""

    posture: Float[Array, "n W P"]  # the last W rows, newest last
    streak: Int[Array, " n"]  # how many rows in a row are safe and of one stretch


State = Window | tuple[()]
Offer = tuple[State, Float[Array, "n P"], Bool[Array, " n"]]


@runtime_checkable
class Commit(Protocol):
    """A rule for n robots: a fold over their rows in time."""

    def begin(self, robots: int, posture_size: int) -> State: ...

    def advance(
        self,
        state: State,
        postures: Float[Array, "n P"],
        safe: Bool[Array, " n"],
        first: Bool[Array, " n"],
    ) -> Offer:
        """The state one step later, a candidate for each robot, and whether to commit it."""
        ...


@dataclass(frozen=True)
class Instant:
    """Every safe posture, as in the paper."""

    def begin(self, robots: int, posture_size: int) -> tuple[()]:
        return ()

    def advance(
        self,
        state: tuple[()],
        postures: Float[Array, "n P"],
        safe: Bool[Array, " n"],
        first: Bool[Array, " n"],
    ) -> tuple[tuple[()], Float[Array, "n P"], Bool[Array, " n"]]:
        return state, postures, safe


@dataclass(frozen=True)
class Average:
    """The mean of a robot's last `length` postures, all safe, none from before a `first` row."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"commit window = {self.length} rows, want at least 1")

    def begin(self, robots: int, posture_size: int) -> Window:
        return Window(
            jnp.zeros((robots, self.length, posture_size), jnp.float32),
            jnp.zeros(robots, jnp.int32),
        )

    def advance(
        self,
        state: Window,
        postures: Float[Array, "n P"],
        safe: Bool[Array, " n"],
        first: Bool[Array, " n"],
    ) -> tuple[Window, Float[Array, "n P"], Bool[Array, " n"]]:
        newest = postures[:, None, :].astype(state.posture.dtype)
        rows = jnp.concatenate([state.posture[:, 1:], newest], axis=1)
        before = jnp.where(first, 0, state.streak)
        streak = jnp.where(safe, jnp.minimum(before + 1, self.length), 0)
        # Summed afresh, not carried: a posture that is not finite leaves with its row.
        return Window(rows, streak), jnp.mean(rows, axis=1), streak == self.length


def instant() -> Instant:
    return Instant()


def window(length: int) -> Average:
    return Average(length)
