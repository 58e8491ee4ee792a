"""A task as three functions: keep low without tipping over, in any posture."""

import numpy as np


def reward(before, after):
    return {"low": 0.3 - after.height, "calm": -0.1 * np.abs(after.joint_speed).sum(axis=1)}


def cost(reading):
    return np.abs(reading.gyro).max(axis=1) - 2.0


def posture(reading):
    return reading.joint_angle[:, 1::3]


posture_names = ("FR", "FL", "BR", "BL")
