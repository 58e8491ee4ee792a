"""How fast agents are measured: evaluation beside its simulator and its policy alone.

    python -m benchmarks.evaluate [--preset paper] [--robots 512] [--json FILE]

An agent of the preset's sizes that has learnt nothing, on the A1. The reference is the time that
the same robots' physics (`Body.step`) and the policy for all of them as one batch take, summed
over as many steps of the same kind; rewards, observations, safety, features and means are on the
side of the evaluation alone. Passes of the two take turns; the ratio is the median over pairs.
By the clock and by processor time: the latter does not mind who else uses the machine.
"""

import argparse
import statistics
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import report
from ursa.agent import act as acting
from ursa.agent.state import Policy, begin, policy
from ursa.config import Config
from ursa.env.arena import Arena, arena_of
from ursa.evaluate.crowd import Crowd
from ursa.evaluate.definitions import AGAIN, ROLLOUTS, STEPS
from ursa.presets import PRESETS, preset
from ursa.robot.damage import scenarios
from ursa.run.plan import plan
from ursa.skill.feature import phi

PAIRS = 3


def measure(config: Config, robots: int) -> None:
    """One JSON line for the rate, one for what that means for a seed."""
    place = arena_of(config, robots)
    made = plan(config, place)
    agent, law = begin(made.settings, 0), made.law.begin(0)
    encode = jax.jit(phi)
    crowd = Crowd(
        place=lambda count: arena_of(config, count),
        policy=policy(agent),
        feature=lambda rows: encode(law.feature, jnp.asarray(rows, jnp.float32)),
        chunk=robots,
    )
    size = made.settings.method.skill_size
    z = np.random.default_rng(0).standard_normal((robots, size))
    crowd.rollouts(z[:1], np.arange(1))  # compile
    alone(place, policy(agent), z, 2)
    pairs = []
    for _ in range(PAIRS):
        started = now()
        crowd.rollouts(z, np.arange(robots))
        pairs.append((now() - started, alone(place, policy(agent), z, STEPS)))
    cases = 1 + len(scenarios("simulated"))
    steps = STEPS * cases * (ROLLOUTS + AGAIN)
    for kind, name in enumerate(("", ", processor time")):
        rate = statistics.median(robots * STEPS / whole[kind] for whole, _ in pairs)
        report.emit(
            f"evaluation, {robots} robots, {1e3 * config.tick:g} ms physics{name}",
            rate,
            "control steps/s",
            "simulator + batched policy",
            statistics.median(both[kind] / whole[kind] for whole, both in pairs),
        )
        seed = f"one seed: {ROLLOUTS} skills x {cases} scenarios{name}"
        report.emit(seed, steps / rate / 60, "min")
    place.close()


def now() -> np.ndarray:
    """Seconds by the clock, and of all processors for this process."""
    return np.array([time.perf_counter(), time.process_time()])


def alone(place: Arena, acts: Policy, z: np.ndarray, steps: int) -> np.ndarray:
    """The time of as many steps if there were nothing but physics and one batch of the policy."""
    skills, still, spent = jnp.asarray(z, jnp.float32), jnp.zeros(()), np.zeros(2)
    carry, key = _begin(acts, place.count), jax.random.key(0)
    outcome = place.start()
    for step in range(steps):
        first = jnp.full(place.count, step == 0)
        started = now()
        seen, own = jnp.asarray(outcome.observation), jax.random.fold_in(key, step)
        carry, action = _act(acts, carry, seen, first, skills, still, own)
        chosen = np.asarray(action, float)
        spent += now() - started
        outcome, took = _stepped(place, chosen)
        spent += took
    return spent


def _stepped(place: Arena, action: np.ndarray) -> tuple:
    """The outcome of a step, and the seconds that `Body.step` took of it."""
    body, took = place.body, []
    step = body.step

    def timed(action: np.ndarray):
        started = now()
        reading = step(action)
        took.append(now() - started)
        return reading

    body.step = timed
    outcome = place.step(action)
    del body.step
    return outcome, took[0]


_begin = jax.jit(acting.begin, static_argnums=1)
_act = jax.jit(acting.act)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="laptop", choices=sorted(PRESETS))
    parser.add_argument("--robots", type=int, default=ROLLOUTS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same lines to FILE")
    options = parser.parse_args()
    with report.kept_in(options.json):
        measure(preset(options.preset), options.robots)


if __name__ == "__main__":
    main()
