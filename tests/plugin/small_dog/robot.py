"""A quadruped of 8 kg: the A1 with legs of 15 cm, everything lighter in proportion."""

from dataclasses import replace

from ursa.robot.a1 import A1
from ursa.robot.spec import Leg, Link, RobotSpec, Shape

LIGHTER = 8.0 / A1.mass
SHORTER = 0.15 / 0.2


def scaled(link: Link) -> Link:
    """The same part, lighter and shorter along z."""
    x, y, z = link.center
    shapes = tuple(
        replace(shape, size=(*shape.size[:2], SHORTER * shape.size[2]), position=low(shape))
        if shape.kind == "box"
        else replace(shape, position=low(shape))
        for shape in link.shapes
    )
    return Link(
        mass=LIGHTER * link.mass,
        center=(x, y, SHORTER * z),
        inertia=tuple(LIGHTER * it for it in link.inertia),
        shapes=shapes,
    )


def low(shape: Shape) -> tuple[float, float, float]:
    return (shape.position[0], shape.position[1], SHORTER * shape.position[2])


def shortened(leg: Leg) -> Leg:
    hip, upper, lower = leg.links
    return replace(
        leg,
        upper_length=0.15,
        lower_length=0.15,
        foot_mass=LIGHTER * leg.foot_mass,
        links=(replace(hip, mass=LIGHTER * hip.mass), scaled(upper), scaled(lower)),
    )


SMALL_DOG: RobotSpec = replace(
    A1,
    name="small_dog",
    joints=tuple(replace(joint, kp=40.0, kd=1.0, torque=15.0) for joint in A1.joints),
    legs=tuple(shortened(leg) for leg in A1.legs),
    trunk=replace(A1.trunk, mass=LIGHTER * A1.trunk.mass),
    rest_height=0.207,  # 2 x 0.15 m x cos 0.9 + the foot's radius
    source="invented",
)


def small_dog() -> RobotSpec:
    """The same, for those who compute their robots."""
    return SMALL_DOG
