"""URSA: reward, subject to staying at the skill and safe (paper, problem P3 and App. B.1)."""

from functools import partial
from typing import Any

from jaxtyping import Array, Float

from ursa.agent.method import Method, Skills, Verdict, View, advantage
from ursa.behavior.critic import Signal, Values
from ursa.behavior.objective import distance, objective, smooth_distance
from ursa.config import BehaviorConfig
from ursa.world.imagine import Dream


def ursa(config: BehaviorConfig, skill_size: int, tolerance: float) -> Method:
    """`tolerance`: average cost below which C counts as not positive (0 in the paper)."""
    constraints = ("skill", "safe") if config.safety else ("skill",)
    return Method(
        name="ursa",
        skill_size=skill_size,
        signals=(
            Signal("value", 1, scaled=True),
            Signal("psi", skill_size, discount=config.constraint_discount),
            Signal("cost", 1, discount=config.constraint_discount),
        ),
        constraints=constraints,
        feel=feel,
        judge=partial(judge, config, tolerance),
    )


def feel(dream: Dream, skills: Skills, _: Any) -> Values:
    """V averages reward, psi averages phi, C averages cost."""
    return {
        "value": dream.reward[..., None],
        "psi": skills.phi(dream.posture),
        "cost": dream.cost[..., None],
    }


def judge(config: BehaviorConfig, tolerance: float, view: View, _: Any) -> Verdict:
    """J_pi, and which of the two constraints are broken."""
    skills, average, cost = view.skills, view.returns["psi"], view.returns["cost"][..., 0]
    z = spread_over_time(skills.z, average.shape[0])
    off = distance(average, z, skills.whiten)
    near = smooth_distance(average, z, skills.whiten, config.huber)
    value = advantage(view, "value")
    lambda_skill = view.levels["skill"]
    lambda_safe = view.levels.get("safe", 0 * lambda_skill)
    violated = {"skill": off > config.margin * skills.delta, "safe": cost > tolerance}
    return Verdict(
        objective=objective(
            value=value,
            miss=near - skills.delta,
            cost=cost,
            lambda_skill=lambda_skill,
            lambda_safe=lambda_safe,
        ),
        violated={name: violated[name] for name in view.levels},
        metrics={
            "skill/distance": off.mean(),
            "skill/violated": violated["skill"].mean(),
            "skill/delta": skills.delta,
            "safe/violated": violated["safe"].mean(),
            "safe/cost": cost.mean(),
        },
    )


def spread_over_time(z: Float[Array, "N D"], horizon: int) -> Float[Array, "H N D"]:
    """The skill is held during a dream."""
    return z[None].repeat(horizon, 0)
