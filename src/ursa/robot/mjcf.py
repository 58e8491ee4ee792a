"""RobotSpec -> MuJoCo model text (MJCF): primitive shapes, honest motors, contact settings.

Settings measured for this kind of robot: elliptic cone with impratio 10, implicitfast, default
solver iterations, contact time constant max(4 ms, 2 ticks). Links of a robot pass through
each other, unless it is to be solid.
"""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ursa.robot.spec import Joint, Leg, Link, RobotSpec, Shape

FRICTION = 0.8  # rubber feet on a lab floor; the floor's value rules (priority)
VOLTAGE = 24.0  # any value gives the same torque-speed line; MuJoCo's motor wants one
FLOOR, LINK = 1, 2  # bits of what geoms are and what they collide with
CONTACT_TIME = 0.004  # s, the stiffest contact that stays accurate at 2 ms

COLORS = {"trunk": "0.22 0.25 0.30 1", "hip": "0.95 0.55 0.15 1", "upper": "0.62 0.66 0.72 1"}
COLORS |= {"lower": "0.32 0.35 0.40 1", "foot": "0.10 0.10 0.10 1"}


def mjcf(spec: RobotSpec, *, tick: float, clip: bool = True, solid: bool = False) -> str:
    """The model of one robot on a floor. `clip` bounds the P part of the torque (see motors).

    Links of a `solid` robot collide with each other, but for those that a joint connects, and for
    trunk and thighs: shapes are primitives, and those two overlap by millimetres somewhere.
    """
    root = Element("mujoco", model=spec.name)
    SubElement(root, "compiler", angle="radian", autolimits="true")
    option = SubElement(root, "option", timestep=_n(tick), integrator="implicitfast")
    option.attrib |= {"cone": "elliptic", "impratio": "10"}
    SubElement(option, "flag", autoreset="disable")  # divergence is ours to report, not to hide
    solref = f"{max(CONTACT_TIME, 2 * tick):g} 1"
    default = SubElement(root, "default")
    kind, meets = (LINK, FLOOR | LINK) if solid else (0, FLOOR)
    geom = {"contype": str(kind), "conaffinity": str(meets)}
    SubElement(default, "geom", geom | {"condim": "3", "solref": solref})
    _scenery(root)
    world = SubElement(root, "worldbody")
    # tilted about one axis only: about two, shadow maps of an endless floor show speckles
    light = SubElement(world, "light", pos="0 -0.6 2", dir="0 0.3 -1", directional="true")
    light.attrib |= {"diffuse": "0.55 0.55 0.55", "specular": "0 0 0"}
    floor = SubElement(world, "geom", name="floor", type="plane", size="0 0 0.05")
    floor.attrib |= {
        "contype": str(FLOOR),
        "conaffinity": "0",
        "priority": "1",
        "material": "floor",
    }
    floor.attrib |= {"friction": f"{FRICTION} 0.005 0.0001", "solref": solref}
    _trunk(world, spec)
    if solid:
        _apart(root, spec)
    _motors(root, spec, clip)
    _locks(root, spec)
    _sensors(root, spec)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _scenery(root: Element) -> None:
    """How it looks; quality settings keep software rendering quick. Tiles are 0.5 m wide."""
    visual = SubElement(root, "visual")
    SubElement(visual, "quality", offsamples="0", shadowsize="2048")
    SubElement(visual, "global", offwidth="1280", offheight="960")
    SubElement(visual, "headlight", ambient="0.45 0.45 0.45", diffuse="0.15 0.15 0.15")
    SubElement(visual, "rgba", haze="0.86 0.89 0.93 1")
    asset = SubElement(root, "asset")
    sky = {"type": "skybox", "builtin": "gradient", "rgb1": "0.62 0.71 0.82"}
    SubElement(asset, "texture", sky | {"rgb2": "0.98 0.98 0.99", "width": "64", "height": "384"})
    tile = {"name": "tile", "type": "2d", "builtin": "checker", "rgb1": "0.86 0.87 0.89"}
    tile |= {"rgb2": "0.76 0.78 0.81", "width": "256", "height": "256"}
    SubElement(asset, "texture", tile)
    floor = {"name": "floor", "texture": "tile", "texrepeat": "2 2", "texuniform": "true"}
    SubElement(asset, "material", floor | {"reflectance": "0", "specular": "0"})


def _trunk(world: Element, spec: RobotSpec) -> None:
    assert spec.trunk is not None, "a point has no model"
    trunk = SubElement(world, "body", name="trunk", pos=f"0 0 {spec.rest_height}")
    SubElement(trunk, "freejoint", name="root")
    SubElement(trunk, "site", name="imu", size="0.01", group="4")
    camera = {"name": "follow", "mode": "trackcom", "pos": "0.35 -1.35 0.55"}
    SubElement(trunk, "camera", camera | {"xyaxes": "1 0.26 0 -0.09 0.33 0.94"})
    _inertial(trunk, spec.trunk)
    _shapes(trunk, spec.trunk.shapes, COLORS["trunk"])
    for index, leg in enumerate(spec.legs):
        _leg(trunk, leg, spec.joints[3 * index : 3 * index + 3])


def _leg(trunk: Element, leg: Leg, joints: tuple[Joint, ...]) -> None:
    axes = ("1 0 0", "0 1 0", "0 1 0")
    places = (leg.origin, (0.0, leg.offset, 0.0), (0.0, 0.0, -leg.upper_length))
    parent = trunk
    for joint, link, axis, place in zip(joints, leg.links, axes, places, strict=True):
        parent = SubElement(parent, "body", name=joint.name, pos=_n(*place))
        hinge = {"name": joint.name, "axis": axis, "range": _n(joint.lower, joint.upper)}
        hinge |= {"armature": _n(joint.armature), "damping": _n(joint.damping)}
        # the sum of a joint's actuators stays within what its motor can give
        hinge |= {"actuatorfrcrange": _n(-joint.torque, joint.torque)}
        SubElement(parent, "joint", hinge)
        last = joint is joints[-1]
        _inertial(parent, _with_foot(link, leg) if last else link)
        _shapes(parent, link.shapes, COLORS[joint.name.split(".")[1]])
    foot = {"name": f"{leg.name}.foot", "type": "sphere", "pos": _n(0, 0, -leg.lower_length)}
    SubElement(parent, "geom", foot | {"size": _n(leg.foot_radius), "rgba": COLORS["foot"]})
    SubElement(parent, "site", foot | {"size": _n(1.1 * leg.foot_radius), "group": "4"})


def _with_foot(link: Link, leg: Leg) -> Link:
    """Calf and foot as one rigid part (the foot as a solid ball)."""
    center, foot = np.array(link.center), np.array([0.0, 0.0, -leg.lower_length])
    mass = link.mass + leg.foot_mass
    common = (link.mass * center + leg.foot_mass * foot) / mass
    xx, yy, zz, xy, xz, yz = link.inertia
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    tensor = tensor + 0.4 * leg.foot_mass * leg.foot_radius**2 * np.eye(3)
    for part, at in ((link.mass, center), (leg.foot_mass, foot)):
        d = at - common
        tensor = tensor + part * (d @ d * np.eye(3) - np.outer(d, d))  # parallel axes
    order = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    xx, yy, zz, xy, xz, yz = (float(tensor[at]) for at in order)
    x, y, z = (float(c) for c in common)
    return Link(mass=mass, center=(x, y, z), inertia=(xx, yy, zz, xy, xz, yz))


def _inertial(body: Element, link: Link) -> None:
    inertial = SubElement(body, "inertial", pos=_n(*link.center), mass=_n(link.mass))
    inertial.set("fullinertia", _n(*link.inertia))


def _shapes(body: Element, shapes: tuple[Shape, ...], color: str) -> None:
    for shape in shapes:
        geom = SubElement(body, "geom", type=shape.kind, pos=_n(*shape.position), rgba=color)
        if shape.kind == "box":
            geom.set("size", _n(*(s / 2 for s in shape.size)))
        elif shape.kind == "sphere":
            geom.set("size", _n(*shape.size))
        else:
            geom.set("size", _n(shape.size[0], shape.size[1] / 2))
            geom.set("zaxis", _n(*shape.axis))


def _apart(root: Element, spec: RobotSpec) -> None:
    """Trunk and thighs never collide."""
    contact = SubElement(root, "contact")
    for leg in spec.legs:
        SubElement(contact, "exclude", body1="trunk", body2=f"{leg.name}.upper")


def _motors(root: Element, spec: RobotSpec, clip: bool) -> None:
    """PD inside the physics with a torque-speed line: torque (1 - speed / no-load speed).

    Clipping the target to within c of the measured angle at every tick is the same as clipping
    the P part of the torque to kp c. So with the clip on, P and D are two actuators, the first
    bounded by kp c; with it off, one motor does both. Both are bounded by the motor's torque,
    the second through the joint. Targets drive actuators 0..A-1; the others take no command.
    """
    actuator = SubElement(root, "actuator")
    bounded = clip and spec.tick_clip is not None
    for joint in spec.joints:
        reach = joint.kp * spec.tick_clip if bounded and spec.tick_clip else joint.torque
        motor = SubElement(actuator, "dcmotor", name=joint.name, joint=joint.name, input="pos")
        motor.set("nominal", _n(VOLTAGE, joint.torque, joint.speed))
        motor.set("saturation", _n(min(reach, joint.torque), 0, 0))
        motor.set("controller", _n(joint.kp, 0, 0 if bounded else joint.kd, 0, 0, VOLTAGE))
        motor.set("ctrlrange", _n(joint.lower, joint.upper))
    for joint in spec.joints if bounded else ():
        damper = SubElement(actuator, "general", name=f"{joint.name}.damper", joint=joint.name)
        damper.attrib |= {"biastype": "affine", "biasprm": _n(0, 0, -joint.kd), "gainprm": "0"}


def _locks(root: Element, spec: RobotSpec) -> None:
    """A switchable lock per joint, for damage; off unless a joint is seized."""
    equality = SubElement(root, "equality")
    for joint in spec.joints:
        lock = {"name": joint.name, "joint1": joint.name, "active": "false"}
        SubElement(equality, "joint", lock | {"solref": "0.02 1", "polycoef": "0 0 0 0 0"})


def _sensors(root: Element, spec: RobotSpec) -> None:
    sensor = SubElement(root, "sensor")
    SubElement(sensor, "accelerometer", name="acceleration", site="imu")
    for leg in spec.legs:
        SubElement(sensor, "touch", name=f"{leg.name}.foot", site=f"{leg.name}.foot")


def _n(*numbers: float) -> str:
    """Numbers as MJCF wants them, with all their digits."""
    return " ".join(repr(float(number)) for number in numbers)
