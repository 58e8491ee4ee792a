"""Unitree Go2: 12 joints, 15 kg. Every number with its source.

[U] Unitree's published description of the robot (URDF go2_description: masses, inertias,
    geometry, joint limits, torque and speed limits); [C] our choice, with its reason.
"""

from ursa.robot.spec import LEG_PARTS, Joint, Leg, Link, RobotSpec, Shape

UPPER = LOWER = 0.213  # [U]
OFFSET = 0.0955  # [U] hip joint to thigh joint

# [U] front-left hip, thigh, calf. The other legs are mirror images.
HIP = Link(
    mass=0.678,
    center=(-0.0054, 0.00194, -0.000105),
    inertia=(0.00048, 0.000884, 0.000596, -3.01e-06, 1.11e-06, -1.42e-06),
    shapes=(
        Shape(kind="cylinder", size=(0.046, 0.04), position=(0.0, 0.08, 0.0), axis=(0.0, 1.0, 0.0)),
    ),
)
THIGH = Link(
    mass=1.152,
    center=(-0.00374, -0.0223, -0.0327),
    inertia=(0.00584, 0.0058, 0.00103, 8.72e-05, -0.000289, 0.000808),
    shapes=(Shape(kind="box", size=(0.034, 0.0245, UPPER), position=(0.0, 0.0, -UPPER / 2)),),
)
CALF = Link(
    mass=0.154,
    center=(0.00548, -0.000975, -0.115),
    inertia=(0.00108, 0.0011, 3.29e-05, 3.4e-07, 1.72e-05, 8.28e-06),
    # [C] one capsule along the calf in place of the three cylinders of the description
    shapes=(Shape(kind="capsule", size=(0.012, 0.17), position=(0.0, 0.0, -0.1)),),
)
TRUNK = Link(
    mass=6.921,
    center=(0.021112, 0.0, -0.005366),
    inertia=(0.02448, 0.098077, 0.107, 0.00012166, 0.0014849, -3.12e-05),
    shapes=(
        Shape(kind="box", size=(0.3762, 0.0935, 0.114)),
        Shape(kind="cylinder", size=(0.05, 0.09), position=(0.285, 0.0, 0.01)),  # head
        Shape(kind="sphere", size=(0.047,), position=(0.293, 0.0, -0.06)),
    ),
)

# hard limits [U] (front and back thighs differ), peak torque [U], no-load speed [U]
LIMITS = {
    "hip": (-1.0472, 1.0472, 23.7, 30.1),
    "F.upper": (-1.5708, 3.4907, 23.7, 30.1),
    "B.upper": (-0.5236, 4.5379, 23.7, 30.1),
    "lower": (-2.7227, -0.83776, 35.55, 20.07),
}
# [C] what the action spans: the A1's angles, inside the Go2's limits, so that one action means
# much the same posture on both robots.
SPANS = {"hip": (-0.787, 0.787), "upper": (-0.518, 3.44), "lower": (-2.679, -1.3)}
STANDING = {"hip": 0.0, "upper": 0.8, "lower": -1.5}  # [C] the usual standing pose of a Go2


def joint(leg: str, part: str) -> Joint:
    """Front and back thighs have different hard limits but the same action span."""
    lower, upper, torque, speed = LIMITS.get(part) or LIMITS[f"{leg[0]}.{part}"]
    return Joint(
        name=f"{leg}.{part}",
        lower=lower,
        upper=upper,
        low=SPANS[part][0],
        high=SPANS[part][1],
        stance=STANDING[part],
        standing=STANDING[part],
        kp=80.0,  # [C] as on the A1: 20 % heavier, similar reach
        kd=1.0 if part == "hip" else 2.0,
        torque=torque,
        speed=speed,
    )


def leg(name: str) -> Leg:
    """`name` is front or back (F, B), then right or left (R, L)."""
    x, y = (1 if name[0] == "F" else -1), (1 if name[1] == "L" else -1)
    return Leg(
        name=name,
        origin=(x * 0.1934, y * 0.0465, 0.0),  # [U]
        offset=y * OFFSET,
        upper_length=UPPER,
        lower_length=LOWER,
        foot_radius=0.022,  # [U]
        foot_mass=0.04,  # [U]
        links=(HIP.mirrored(x, y), THIGH.mirrored(1, y), CALF.mirrored(1, y)),
    )


LEGS = ("FR", "FL", "BR", "BL")  # order of the motors on the robot's bus

GO2 = RobotSpec(
    name="go2",
    joints=tuple(joint(name, part) for name in LEGS for part in LEG_PARTS),
    legs=tuple(leg(name) for name in LEGS),
    trunk=TRUNK,
    rest_height=0.334,  # kinematic height of the standing pose, 0.3333 m
    tick_clip=0.2,  # [C] as on the A1
    filter_cutoff=1.5,  # [C] as on the A1
    source="Unitree's published Go2 description",
)
