"""The point robot with networks small enough to learn within a test, and its training."""

from collections.abc import Mapping
from typing import Any

from ursa.config import Config
from ursa.run.settings import configure
from ursa.run.trainer import Trainer

# Reward v_x, safe v_y <= 0.5, features (v_x, v_y); N_R 512, N_z 64; an update for each column.
SMALL: Mapping[str, Any] = {
    "robot": "point",
    "task": "point",
    "arena": 1e9,  # no hand is ever needed
    "world": {
        "deter": 32,
        "units": 32,
        "stoch": 8,
        "classes": 8,
        "encoder_units": 32,
        "head_units": 64,
        "kl_target": 0.3,  # nats: all that this world has to tell
    },
    "behavior": {
        "horizon": 8,
        "discount": 0.8,
        "margin": 0.5,
        "layers": 2,
        "units": 64,
        "multiplier_units": 32,
        "entropy_target": 0.3,
    },
    "optimizer": {"learning_rate": 1e-3},
    "skill": {
        "repertoire_size": 512,
        "distinct_skills": 64,
        "feature": "identity",
        "skill_period": 50,
        "refresh_period": 64,
    },
    "train": {
        "steps": 40_000,
        "robots": 16,
        "prefill": 1_024,
        "steps_per_update": 16,
        "batch": 16,
        "length": 16,
        "replay_size": 40_000,
    },
}


def config(method: str, **changes: Any) -> Config:
    """The settings of a method; changes are top-level values, or sections as mappings."""
    merged: dict[str, Any] = dict(SMALL)
    for name, value in changes.items():
        section = merged.get(name)
        merged[name] = {**section, **value} if isinstance(section, Mapping) else value
    return configure("tiny", {**merged, "method": method})


def trained(config: Config) -> Trainer:
    """The whole run, in this process; nothing is written."""
    trainer = Trainer(config)
    while trainer.column < trainer.plan.columns:
        trainer.turn()
    return trainer
