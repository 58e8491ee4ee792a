"""Definitions: what a rollout is and what its numbers are called. Tests, reports and claims import
them from here, and nothing else says them.

A rollout is 250 control steps from standing with one skill held, acting without noise (the mean of
the clipped Gaussian), under a chance taken from a fixed list. Its return is the sum of the task's
rewards over all steps; its means are over the last 200.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float

Array = np.ndarray

STEPS = 250  # of a rollout
SETTLE = 50  # steps at its start that means leave out
MOVING = 0.1  # m/s of true forward speed, at least
LEAP = 0.2  # share of steps in the air beyond which a rollout is a leap
ROLLOUTS = 512  # of every method, for the numbers that methods are compared by
FEW = 8  # skills of each method where few are compared with few
TRIALS = 8  # after damage
AGAIN = 5  # fresh rollouts of what was chosen after damage
REST = 8  # first latents that V(s0, z) is averaged over
WINDOW = 18_000  # control steps of a learning curve's window: a quarter of an hour of one robot
GRID = 21  # commands along each axis of the tracking map
REPEATS = 3  # rollouts of each command
NEAR = 2.0  # thresholds from a known skill within which a command can be asked for
SPAN = (5.0, 95.0)  # percentiles between which achieved means span
DISTINCT = 2.0  # thresholds beyond which two achieved means are distinct

# How many rows of a results file a comparison looks at, always the first ones. URSA's rows begin
# with the FEW most spread out of its skills; a baseline's are its skills again and again.
PROTOCOLS: Mapping[str, Mapping[str, int]] = {
    "equal": {"ursa": ROLLOUTS, "dominic": ROLLOUTS, "daydreamer": ROLLOUTS},  # the headline
    "paper": {"ursa": ROLLOUTS, "dominic": FEW, "daydreamer": 1},  # every skill once
    "few": {"ursa": FEW, "dominic": FEW, "daydreamer": FEW},  # 8 against 8
}


def safe(unsafe: Float[Array, " m"], hand: Bool[Array, " m"]) -> Bool[Array, " m"]:
    """Safe rollouts: no unsafe step in 250 (by the task's safe set, on the true state), no hand."""
    return (unsafe == 0) & ~hand


def moving(
    speed: Float[Array, " m"], unsafe: Float[Array, " m"], hand: Bool[Array, " m"]
) -> Bool[Array, " m"]:
    """Moving skills: a safe rollout that goes forward, on average, at 0.1 m/s or more."""
    return safe(unsafe, hand) & (speed >= MOVING)


def leaps(airborne: Float[Array, " m"]) -> Bool[Array, " m"]:
    """Leaps: no part of the robot touches the floor in more than 20 % of the steps."""
    return airborne > LEAP


def unearned(
    ret: Float[Array, " m"], speed: Float[Array, " m"], desired: float
) -> Float[Array, " m"]:
    """Return of the forward task beyond what the true speed can have earned, at least 0.

    Upright and at the desired speed a step earns 1 + 5. The reward believes the robot's own
    estimate of its velocity; who learns to fool that shows here.
    """
    most = STEPS * (1.0 + 5.0 * np.clip(speed / desired, 0.0, 1.0))
    return np.maximum(ret - most, 0.0)


def separation(
    left: Float[Array, "*#m D"], right: Float[Array, "*#m D"], ruler: Float[Array, "D D"]
) -> Float[Array, "*m"]:
    """Whitened distance between features or skills; one is compared with many."""
    return np.linalg.norm((left - right) @ ruler.T, axis=-1)


def achieved(
    feature: Float[Array, "m D"], z: Float[Array, "m D"], ruler: Float[Array, "D D"], delta: float
) -> Bool[Array, " m"]:
    """Achieved skills: the mean of phi lies within the threshold of what was asked."""
    return separation(feature, z, ruler) <= delta


def distinct(
    feature: Float[Array, "m D"], ruler: Float[Array, "D D"], delta: float
) -> Bool[Array, " m"]:
    """Rows that are distinct from every row marked before them: more than two thresholds away."""
    marked = np.zeros(len(feature), bool)
    for row, here in enumerate(feature):
        others = feature[marked]
        marked[row] = (separation(others, here[None], ruler) > DISTINCT * delta).all()
    return marked


def tracking_error(
    reached: Float[Array, "c r D"], command: Float[Array, "c D"]
) -> Float[Array, "c D"]:
    """Tracking error of each command: how far its rollouts miss it, on average, per column."""
    return np.abs(reached - command[:, None]).mean(axis=1)


def span(feature: Float[Array, "m D"]) -> Float[Array, " D"]:
    """How wide achieved means lie: their 5-95 % range, per column."""
    low, high = np.percentile(feature, SPAN, axis=0)
    return high - low


def winner(again: Mapping[str, Float[Array, "seeds r"]]) -> str | None:
    """Damage win: the method with the highest median over seeds of its re-evaluated return.

    The return of a seed is the mean of its fresh rollouts. None where the highest is shared, or
    where a return is not a number.
    """
    medians = {method: float(np.median(returns.mean(axis=1))) for method, returns in again.items()}
    if not medians or not np.isfinite(list(medians.values())).all():
        return None
    best = max(medians.values())
    first = [method for method, median in medians.items() if median == best]
    return first[0] if len(first) == 1 else None
