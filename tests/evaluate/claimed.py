"""Results of single seeds where claims look for them, with numbers that a test can work out."""

from dataclasses import replace

import numpy as np

from evaluate.made import SPEC, made, written
from ursa.evaluate import results
from ursa.evaluate.claim import Told
from ursa.evaluate.claims import filled
from ursa.robot.damage import scenarios

ROWS = 16
LOW, HIGH = SPEC.of_joints("low"), SPEC.of_joints("high")
NINE = list(scenarios("simulated"))


def seed_of(method, seed, *, task="forward", **skills):
    """A seed whose rollouts are all safe, with these columns replaced."""
    found = made(method, seed, task=task, rollouts=ROWS)
    calm = {"unsafe": np.zeros(ROWS), "hand": np.zeros(ROWS, bool)}
    return replace(found, skills=replace(found.skills, **(calm | skills)))


def put(folder, *seeds):
    """Results where `ursa reproduce` looks for them."""
    for path in written(folder, list(seeds)):
        place = folder / path.parent.name.removeprefix("a1-")
        place.mkdir(exist_ok=True)
        path.rename(place / path.name)
        if not any(path.parent.iterdir()):
            path.parent.rmdir()


def one(folder, text) -> Told:
    return next(it for it in filled(folder) if it.claim.text.startswith(text))


def ramp(top):
    return np.linspace(0, top, ROWS)


def at(*shares):
    """Mean joint angles: all joints at this share of their range, row by row in turn."""
    return LOW + np.resize(shares, ROWS)[:, None] * (HIGH - LOW)


def hurt(found, returns):
    """Fresh returns after the nine damages, and whole."""
    told = dict(zip(["undamaged", *NINE], returns, strict=True))
    return replace(
        found,
        damages=tuple(
            replace(it, again=np.full(5, float(told[it.scenario]))) for it in found.damages
        ),
    )


def put_as(folder, run, *seeds):
    """The same under another name than a seed's own."""
    (folder / run).mkdir(parents=True, exist_ok=True)
    for it in seeds:
        results.save(it, folder / run / f"seed_{it.source.seed}.json")
