"""Agents that were just born, as a run would have published them: made in a second, not trained."""

from dataclasses import asdict
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from ursa import durable
from ursa.agent.state import begin
from ursa.config import Config
from ursa.env.arena import arena_of
from ursa.run import publish
from ursa.run.corridor import Discovered
from ursa.run.folder import write_whole
from ursa.run.plan import plan
from ursa.skill.feature import phi


def born(config: Config, out: Path, *, steps: int | None = None, known: int = 40) -> Path:
    """The folder of a run with agents that lived `steps` (default: all) and know `known` skills."""
    place = arena_of(config, 1)
    made, task = plan(config, place), place.task
    place.close()
    for seed in range(config.seed, config.seed + config.seeds):
        state, law = begin(made.settings, seed), made.law.begin(seed)
        lived = config.train.steps if steps is None else steps
        at = out / "agent" / f"seed_{seed}"
        publish.write(at / "agent.safetensors", publish.parts(state, law), lived, half=False)
        if isinstance(law, Discovered):
            low, high = np.array(task.posture_range).T
            rng = np.random.default_rng(seed)
            postures = rng.uniform(low, high, (known, len(low))).astype(np.float32)
            skills = np.asarray(phi(law.feature, jnp.asarray(postures)))
            law.repertoire.add(postures, skills).save(at / "repertoire.npz")
    write_whole(out / "agent" / "config.json", durable.to_json(asdict(config)))
    return out
