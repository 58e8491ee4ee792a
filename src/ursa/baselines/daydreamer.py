"""DayDreamer: URSA without the skill constraint (paper, 5.1).

J = (1 - lambda_safe) V - lambda_safe C, and no z.
"""

from functools import partial
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ursa.agent.method import Method, Skills, Verdict, View, advantage
from ursa.behavior.critic import Signal, Values
from ursa.behavior.objective import objective
from ursa.config import BehaviorConfig
from ursa.world.imagine import Dream


def daydreamer(config: BehaviorConfig, tolerance: float) -> Method:
    """One skill of width zero, and the same safety as URSA."""
    return Method(
        name="daydreamer",
        skill_size=0,
        signals=(
            Signal("value", 1, scaled=True),
            Signal("cost", 1, discount=config.constraint_discount),
        ),
        constraints=("safe",) if config.safety else (),
        feel=feel,
        judge=partial(judge, tolerance),
        draw=no_skill,
    )


def no_skill(_: Key[Array, ""], count: int) -> Float[Array, "n 0"]:
    return jnp.zeros((count, 0))


def feel(dream: Dream, _: Skills, __: Any) -> Values:
    return {"value": dream.reward[..., None], "cost": dream.cost[..., None]}


def judge(tolerance: float, view: View, _: Any) -> Verdict:
    value, cost = advantage(view, "value"), view.returns["cost"][..., 0]
    nothing = jnp.zeros_like(value)
    violated = cost > tolerance
    return Verdict(
        objective=objective(
            value=value,
            miss=nothing,
            cost=cost,
            lambda_skill=nothing,
            lambda_safe=view.levels.get("safe", nothing),
        ),
        violated=dict.fromkeys(view.levels, violated),
        metrics={"safe/violated": violated.mean(), "safe/cost": cost.mean()},
    )
