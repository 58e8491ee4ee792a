"""Row and Batch: what one control step leaves behind, and sequences of it. No JAX here.

Letters: n robots, B batch, L steps in time, O observation, A action, P posture. Leading axes
before these are seeds trained side by side. There is no skill in a row: skills are drawn anew
for every dream, so the past need not know them.

`ursa.replay` registers both with JAX; import it before one of them goes into a transform.
"""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float32

Array = Any  # NumPy on the host, JAX on a device


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How wide the vectors of a row are."""

    observation: int  # O
    action: int  # A
    posture: int  # P

    @property
    def bytes(self) -> int:
        """One step of one robot: three vectors, reward and cost as float32, two flags."""
        return 4 * (self.observation + self.action + self.posture + 2) + 2


@dataclass(frozen=True, kw_only=True)
class Row:
    """One control step of n robots."""

    observation: Float32[Array, "*seeds n O"]  # what the sensors say now
    action: Float32[Array, "*seeds n A"]  # clipped policy output that LED to this observation
    reward: Float32[Array, "*seeds n"]  # of arriving here
    cost: Float32[Array, "*seeds n"]  # of being here; safe means cost <= 0
    posture: Float32[Array, "*seeds n P"]  # what phi reads
    safe: Bool[Array, "*seeds n"]  # inside the task's safe set
    first: Bool[Array, "*seeds n"]  # the sequence starts anew here: start or intervention


@dataclass(frozen=True, kw_only=True)
class Batch:
    """B windows of L consecutive steps, each of one robot; the fields mean what a row's mean."""

    observation: Float32[Array, "*seeds B L O"]
    action: Float32[Array, "*seeds B L A"]
    reward: Float32[Array, "*seeds B L"]
    cost: Float32[Array, "*seeds B L"]
    posture: Float32[Array, "*seeds B L P"]
    safe: Bool[Array, "*seeds B L"]
    first: Bool[Array, "*seeds B L"]  # as recorded; index 0 is a start whatever it says
