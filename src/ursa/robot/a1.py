"""Unitree A1: 12 joints, 12.5 kg. Every number with its source.

[U] the A1 description that PyBullet's data package ships (URDF: masses, inertias, geometry,
    joint limits); [D] the DayDreamer A1 environment (action ranges, gains of the real robot,
    filter, tick clip, reward pose); [M] maker's data sheet (33.5 N m peak torque, 21 rad/s).
"""

from ursa.robot.spec import LEG_PARTS, Joint, Leg, Link, Posture, RobotSpec, Shape

UPPER = LOWER = 0.2  # [U] thigh and calf length
OFFSET = 0.08505  # [U] hip joint to thigh joint

# [U] front-left hip, thigh, calf. The other legs are mirror images.
HIP = Link(
    mass=0.696,
    center=(-0.003311, 0.000635, 3.1e-05),
    inertia=(0.000469246, 0.00080749, 0.000552929, -9.409e-06, -3.42e-07, -4.66e-07),
    shapes=(
        Shape(kind="cylinder", size=(0.046, 0.04), axis=(0.0, 1.0, 0.0)),
        Shape(
            kind="cylinder", size=(0.041, 0.032), position=(0.0, 0.081, 0.0), axis=(0.0, 1.0, 0.0)
        ),
    ),
)
THIGH = Link(
    mass=1.013,
    center=(-0.003237, -0.022327, -0.027326),
    inertia=(0.005529065, 0.005139339, 0.001367788, 4.825e-06, 0.000343869, 2.2448e-05),
    shapes=(Shape(kind="box", size=(0.034, 0.0245, UPPER), position=(0.0, 0.0, -UPPER / 2)),),
)
CALF = Link(
    mass=0.166,
    center=(0.006435, 0.0, -0.107388),
    inertia=(0.002997972, 0.003014022, 3.2426e-05, 0.0, -0.000141163, 0.0),
    shapes=(Shape(kind="box", size=(0.016, 0.016, LOWER), position=(0.0, 0.0, -LOWER / 2)),),
)
TRUNK = Link(
    mass=4.713,  # [U]
    center=(0.012731, 0.002186, 0.000515),
    inertia=(0.01683993, 0.056579028, 0.064713601, 8.3902e-05, 0.000597679, 2.5134e-05),
    shapes=(Shape(kind="box", size=(0.267, 0.194, 0.114)),),
)

# part: hard limits [U], share of them the action spans [D], stance [D], standing [D], kd [D]
RANGES = {
    "hip": (-0.802851455917, 0.802851455917, 0.01, 0.99, 0.0, 0.0, 1.0),
    "upper": (-1.0471975512, 4.18879020479, 0.01, 0.90, 0.9, -0.2, 2.0),
    "lower": (-2.69653369433, -0.916297857297, 0.01, 0.60, -1.8, 1.0, 2.0),
}


def joint(leg: str, part: str) -> Joint:
    """The A1's legs are alike: same limits and the same meaning of an action on all four."""
    lower, upper, first, last, stance, standing, kd = RANGES[part]
    low, high = lower + first * (upper - lower), lower + last * (upper - lower)
    return Joint(
        name=f"{leg}.{part}",
        lower=lower,
        upper=upper,
        low=low,
        high=high,
        stance=stance,
        standing=(low + high) / 2 + standing * (high - low) / 2,  # [D] in action units
        kp=80.0,  # [D] gain on the real robot (its simulation used 100)
        kd=kd,
        torque=33.5,  # [M]
        speed=21.0,  # [M]
    )


def leg(name: str) -> Leg:
    """`name` is front or back (F, B), then right or left (R, L)."""
    x, y = (1 if name[0] == "F" else -1), (1 if name[1] == "L" else -1)
    return Leg(
        name=name,
        origin=(x * 0.183, y * 0.047, 0.0),  # [U]
        offset=y * OFFSET,
        upper_length=UPPER,
        lower_length=LOWER,
        foot_radius=0.02,  # [U]
        foot_mass=0.06,  # [U]
        links=(HIP.mirrored(x, y), THIGH.mirrored(1, y), CALF.mirrored(1, y)),
    )


LEGS = ("FR", "FL", "BR", "BL")  # the wire order of the robot (its rear legs are our back legs)

# Found by search at 0.3 of the gains, see docs/log.md: tuck in, swing the upper legs over, push.
ROLL = (
    Posture(below=(-0.7, 2.8, -2.45), above=(-0.1, -0.2, -2.45), time=0.55),
    Posture(below=(0.3, 3.4, -2.45), above=(-0.4, 0.8, -2.45), time=0.45),
    Posture(below=(0.7, 3.1, -2.45), above=(0.7, 3.3, -1.7), time=0.55),
    Posture(below=(-0.2, 3.3, -2.45), above=(-0.7, 2.9, -1.7), time=0.45),
    Posture(below=(0.6, 0.5, -1.8), above=(-0.6, 2.9, -2.45), time=0.6),
    Posture(below=(-0.3, 1.4, -2.45), above=(0.3, 0.3, -2.45), time=0.6),
    Posture(below=(0.4, 1.2, -2.4), above=(0.4, 1.2, -2.4), time=1.0),  # a wide crouch
)

A1 = RobotSpec(
    name="a1",
    joints=tuple(joint(name, part) for name in LEGS for part in LEG_PARTS),
    legs=tuple(leg(name) for name in LEGS),
    trunk=TRUNK,
    rest_height=0.27,  # kinematic height of the stance, 0.2686 m
    tick_clip=0.2,  # [D] rad
    filter_cutoff=1.5,  # [D] Hz
    roll=ROLL,
    source="PyBullet's A1 description; DayDreamer's A1 environment; Unitree's data sheet",
)
