"""Tasks as values, right ones and wrong ones."""

import numpy as np

from small_dog import crouch
from ursa.task.task import Task


def crouch_task(spec):
    """A function from a spec to a Task, with names taken from the robot."""
    return Task(
        name="crouch",
        reward=crouch.reward,
        cost=crouch.cost,
        posture=crouch.posture,
        posture_names=tuple(f"{name}.thigh" for name in spec.leg_names),
    )


def no_task(spec):
    return {"reward": 1.0}


def broken_task(spec):
    raise ValueError("a bug of the author")


def mean_height(reading):
    return np.mean(reading.height)
